// SPDX-License-Identifier: MIT
#pragma once
// Global Arrays as windows, and the operations on them that are under way.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/mpi_rma_self_test.hpp>
#include <hetsched/detail/cluster/mpi_rma_state.hpp>
#include <hetsched/detail/cluster/tell_each.hpp>
#include <hetsched/detail/cluster/window_calls.hpp>
#include <hetsched/detail/cluster/windows.hpp>
#include <hetsched/detail/core/text.hpp>

#if !__has_include(<ga.h>)
#error                                                                                             \
    "hetsched: cluster/ga_transport.hpp needs Global Arrays: libglobalarrays-dev, and to link -lga-mpich -larmci-mpich -lscalapack-mpich -llapack -lblas -lgfortran"
#include <ga_is_missing> // compilers end here, not 300 errors later
#endif

extern "C" {
#include <armci.h> // says nothing of C++
}
#include <ga.h>
#include <macdecls.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Between GA_Initialize and GA_Terminate.
class GaLibrary {
public:
  /// The windows, on which they stand, are tested.
  explicit GaLibrary(MpiRmaState const& /*tested*/)
      : owns_(GA_Initialized() == 0), exceptions_(std::uncaught_exceptions()) {
    if (owns_) {
      GA_Initialize();
    }
  }

  GaLibrary(GaLibrary const&) = delete;
  GaLibrary& operator=(GaLibrary const&) = delete;

  ~GaLibrary() {
    if (owns_ && std::uncaught_exceptions() == exceptions_) { // it waits for all ranks
      GA_Terminate();
    }
  }

private:
  bool owns_;
  int exceptions_;
};

/// What GaTransport does. A window of words is one of MPI: Global Arrays have Read_inc, and nothing
/// atomic with it that swaps; so is one of bytes. Any other is an array of one dimension, with a
/// block for each rank. A fence for each target and poll ends puts and accumulates.
class GaState {
public:
  struct Memory {
    int array = 0; // of GA; 0: a window of words
    Window words = {};
    std::byte* part = nullptr;
    std::vector<std::int64_t> first = {};     // element of each rank's part
    std::vector<std::byte*> parts_there = {}; // where each rank has its part, in its own memory
  };

  /// Frees the communicator, which nobody else uses.
  explicit GaState(MPI_Comm communicator)
      : words_(communicator), library_(tested(words_)), windows_(words_.rank()) {}

  GaState(GaState const&) = delete;
  GaState& operator=(GaState const&) = delete;

  /// All ranks together.
  ~GaState() {
    if (std::uncaught_exceptions() > exceptions_) {
      return;
    }
    try {
      (void)words_.agree({.kind = WindowCall::Kind::end});
      windows_.each([](Memory& memory) {
        if (memory.array != 0) {
          GA_Destroy(memory.array);
        }
      });
    } catch (std::exception const&) { // the ranks do not all end here
    }
  }

  [[nodiscard]] int rank() const noexcept { return words_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return words_.ranks(); }

  [[nodiscard]] Windows<Memory> const& windows() const noexcept { return windows_; }

  [[nodiscard]] std::byte* part(Window window) {
    auto& memory = windows_.at(window).memory;
    return memory.array != 0 ? memory.part : words_.part(memory.words);
  }

  Window allocate(WindowElement element, std::size_t elements) {
    if (element == WindowElement::word || element == WindowElement::byte) {
      auto const words = words_.allocate(element, elements);
      return windows_.add(element, words_.windows().at(words).elements, {.words = words});
    }
    auto const fits = elements < static_cast<std::size_t>(PTRDIFF_MAX) / size_of(element);
    auto parts = words_.agree({.kind = WindowCall::Kind::allocate,
                               .element = element,
                               .elements = fits ? elements : WindowCall::no_memory});
    Memory memory;
    std::int64_t sum = 0;
    for (auto const part : parts) {
      memory.first.push_back(sum);
      sum += block_of(part, size_of(element));
    }
    std::array<std::int64_t, 1> size{sum};
    std::array<std::int64_t, 1> blocks{ranks()};
    std::string name = "hetsched";
    memory.array = NGA_Create_irreg64(
        type_of(element), 1, size.data(), name.data(), blocks.data(), memory.first.data());
    if (memory.array == 0) {
      throw Error(ErrorCode::rank_failed,
                  text("rank %d", rank()),
                  text("got no global array of %lld elements", static_cast<long long>(sum)));
    }
    auto const own = static_cast<std::size_t>(rank());
    auto low = memory.first[own];
    auto high = (own + 1 < memory.first.size() ? memory.first[own + 1] : sum) - 1;
    std::int64_t stride = 0;
    NGA_Access64(memory.array, &low, &high, static_cast<void*>(&memory.part), &stride);
    std::memset(memory.part, 0, static_cast<std::size_t>(high - low + 1) * size_of(element));
    NGA_Release_update64(memory.array, &low, &high);
    memory.parts_there.resize(memory.first.size());
    words_.share(memory.part, memory.parts_there);
    GA_Sync();
    return windows_.add(element, std::move(parts), std::move(memory));
  }

  void free(Window window) {
    auto const& memory = windows_.at(window).memory;
    (void)words_.agree({.kind = WindowCall::Kind::free, .window = window.number});
    if (memory.array == 0) {
      words_.free(memory.words);
    } else {
      GA_Destroy(memory.array);
    }
    windows_.remove(window);
  }

  void begin(Window window, RmaOperation it, std::uint64_t cookie) {
    auto const& entry = windows_.check(window, it.patch, it.stride, it.kind);
    auto const& memory = entry.memory;
    if (memory.array == 0) {
      words_.begin(memory.words, it, cookie);
      return;
    }
    it.element = entry.element;
    if (it.patch.size() == 0) {
      news_.push_back(cookie);
      return;
    }
    auto const size = size_of(it.element);
    auto const together = it.patch.rows != 1 && counts_by_int(it) ? it.patch.rows : 1;
    auto const whole = std::make_shared<UnderWay>(UnderWay{it, cookie, it.patch.rows / together});
    auto const to = static_cast<std::size_t>(it.patch.rank);
    for (std::size_t r = 0; r < it.patch.rows; r += together) {
      auto const at = it.patch.first + r * it.patch.stride;
      waiting_.push_back({.whole = whole,
                          .array = memory.array,
                          .rows = together,
                          .first = memory.first[to] + static_cast<std::int64_t>(at),
                          .there = memory.parts_there[to] + at * size,
                          .here = it.here + r * it.stride * size});
    }
    start();
  }

  template <class I>
  bool poll(I& inbox) {
    std::erase_if(started_, [&](Rows& row) {
      auto const over = row.rows == 1 ? NGA_NbTest(&row.handle) != 0   // 1: over
                                      : ARMCI_Test(&row.strided) == 0; // 0: over
      if (over && --row.whole->parts == 0) {
        over_here_.push_back(std::move(row.whole));
      }
      return over;
    });
    while (!over_here_.empty()) { // a fence ends puts and accumulates on their targets, too
      auto const target = over_here_.front()->operation.patch.rank;
      bool fenced = false;
      std::erase_if(over_here_, [&](auto const& it) {
        if (it->operation.patch.rank != target) {
          return false;
        }
        if (it->operation.gives() && !std::exchange(fenced, true)) {
          ARMCI_Fence(target);
        }
        news_.push_back(it->cookie);
        return true;
      });
    }
    start();
    auto const told = tell_each(news_, [&](std::uint64_t cookie) { inbox.done(cookie, 0); });
    return words_.poll(inbox) || told;
  }

private:
  static constexpr std::size_t most_started = 200; // GA 5.8 has 256 handles

  struct UnderWay {
    RmaOperation operation;
    std::uint64_t cookie = 0;
    std::size_t parts = 0; // that are not over
  };

  /// Rows that are one operation of GA or, if there are several, of ARMCI, on which GA stands.
  struct Rows {
    std::shared_ptr<UnderWay> whole;
    int array = 0;
    std::size_t rows = 1;
    std::int64_t first = 0;
    std::byte* there = nullptr; // in the target's memory
    std::byte* here = nullptr;
    ga_nbhdl_t handle = 0;
    armci_hdl_t strided = {};
  };

  /// The factor of an accumulate.
  struct Ones {
    void* of(WindowElement element) noexcept {
      return element == WindowElement::f32 ? static_cast<void*>(&one32) : &one64;
    }

    float one32 = 1;
    double one64 = 1;
  };

  /// ARMCI counts bytes by int.
  static bool counts_by_int(RmaOperation const& it) noexcept {
    auto const most =
        static_cast<std::size_t>(std::numeric_limits<int>::max()) / size_of(it.element);
    return it.patch.rows <= most && it.patch.stride <= most && it.stride <= most;
  }

  static MpiRmaState& tested(MpiRmaState& words) {
    MpiRmaSelfTest(words).run();
    return words;
  }

  static int type_of(WindowElement element) noexcept {
    return element == WindowElement::f32 ? C_FLOAT : C_DBL;
  }

  /// Elements of a block that holds so many; none is empty. GA adds one, and MPICH 4.0 takes blocks
  /// that are no multiple of 64 bytes for those of their neighbours.
  static std::int64_t block_of(std::uint64_t elements, std::size_t size) noexcept {
    auto const line = 64 / size;
    return static_cast<std::int64_t>((elements / line + 1) * line + line - 1);
  }

  void start() {
    while (!waiting_.empty() && started_.size() < most_started) {
      started_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      auto& rows = started_.back();
      rows.rows == 1 ? start_row(rows) : start_rows(rows);
    }
  }

  static void start_row(Rows& row) {
    auto const& it = row.whole->operation;
    auto low = row.first;
    auto high = low + static_cast<std::int64_t>(it.patch.columns) - 1;
    std::int64_t stride = 0; // of further dimensions
    switch (it.kind) {
    case RmaKind::get:
      NGA_NbGet64(row.array, &low, &high, row.here, &stride, &row.handle);
      break;
    case RmaKind::put:
      NGA_NbPut64(row.array, &low, &high, row.here, &stride, &row.handle);
      break;
    default:
      Ones ones;
      NGA_NbAcc64(row.array, &low, &high, row.here, &stride, ones.of(it.element), &row.handle);
      break;
    }
  }

  static void start_rows(Rows& rows) {
    auto const& it = rows.whole->operation;
    auto const bytes = [&](std::size_t elements) {
      return static_cast<int>(elements * size_of(it.element));
    };
    std::array<int, 1> here{bytes(it.stride)};
    std::array<int, 1> there{bytes(it.patch.stride)};
    std::array<int, 2> count{bytes(it.patch.columns), static_cast<int>(rows.rows)};
    auto const to = it.patch.rank;
    auto* const handle = &rows.strided;
    ARMCI_INIT_HANDLE(handle);
    int code = 0;
    switch (it.kind) {
    case RmaKind::get:
      code = ARMCI_NbGetS(
          rows.there, there.data(), rows.here, here.data(), count.data(), 1, to, handle);
      break;
    case RmaKind::put:
      code = ARMCI_NbPutS(
          rows.here, here.data(), rows.there, there.data(), count.data(), 1, to, handle);
      break;
    default:
      Ones ones;
      code = ARMCI_NbAccS(it.element == WindowElement::f32 ? ARMCI_ACC_FLT : ARMCI_ACC_DBL,
                          ones.of(it.element),
                          rows.here,
                          here.data(),
                          rows.there,
                          there.data(),
                          count.data(),
                          1,
                          to,
                          handle);
      break;
    }
    if (code != 0) {
      throw Error(ErrorCode::rank_failed,
                  text("rank %d", to),
                  text("ARMCI refuses to %s rows: error %d", name_of(it.kind), code));
    }
  }

  int exceptions_ = std::uncaught_exceptions();
  MpiRmaState words_;
  GaLibrary library_;
  Windows<Memory> windows_;
  std::deque<Rows> waiting_;
  std::vector<Rows> started_;
  std::vector<std::shared_ptr<UnderWay>> over_here_; // during poll
  std::deque<std::uint64_t> news_;                   // cookies
};

} // namespace hetsched::detail
