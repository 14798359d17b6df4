// SPDX-License-Identifier: MIT
#pragma once
// Windows of MPI, and the operations on them that are under way.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/tell_each.hpp>
#include <hetsched/detail/cluster/window_calls.hpp>
#include <hetsched/detail/cluster/windows.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

[[nodiscard]] inline MPI_Datatype mpi_type(WindowElement element) noexcept {
  switch (element) {
  case WindowElement::byte:
    return MPI_BYTE;
  case WindowElement::word:
    return MPI_INT64_T;
  case WindowElement::f32:
    return MPI_FLOAT;
  default:
    return MPI_DOUBLE;
  }
}

/// Rows of elements as one of MPI's types. MPI keeps what operations use of it.
class MpiRows {
public:
  MpiRows(WindowElement element, std::size_t rows, std::size_t columns, std::size_t stride) {
    check_mpi(MPI_Type_create_hvector(static_cast<int>(rows),
                                      static_cast<int>(columns),
                                      static_cast<MPI_Aint>(stride * size_of(element)),
                                      mpi_type(element),
                                      &type_),
              "MPI_Type_create_hvector");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  }

  MpiRows(MpiRows const&) = delete;
  MpiRows& operator=(MpiRows const&) = delete;

  ~MpiRows() { MPI_Type_free(&type_); }

  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }

private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// What MpiRmaTransport does. Get and fetch_add are over with their requests. MPI says of a put or
/// an accumulate only that the memory here is free, and of compare_swap nothing: a flush ends them,
/// one for each target and poll.
class MpiRmaState {
public:
  struct Memory {
    MPI_Win window = MPI_WIN_NULL;
    std::byte* part = nullptr;
  };

  /// Frees the communicator, which nobody else uses.
  explicit MpiRmaState(MPI_Comm communicator)
      : communicator_(communicator), exceptions_(std::uncaught_exceptions()),
        rank_(rank_in(communicator)), windows_(rank_) {
    check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_size(communicator_, &ranks_), "MPI_Comm_size");
  }

  MpiRmaState(MpiRmaState const&) = delete;
  MpiRmaState& operator=(MpiRmaState const&) = delete;

  /// All ranks together. After an exception nothing is freed, because that might wait for others.
  ~MpiRmaState() {
    if (std::uncaught_exceptions() > exceptions_) {
      return;
    }
    try {
      (void)agree({.kind = WindowCall::Kind::end});
      windows_.each([](Memory& memory) { free_memory(memory); });
      MPI_Comm_free(&communicator_);
    } catch (std::exception const&) { // the ranks do not all end here
    }
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  [[nodiscard]] Windows<Memory>& windows() noexcept { return windows_; }

  [[nodiscard]] Windows<Memory> const& windows() const noexcept { return windows_; }

  [[nodiscard]] std::byte* part(Window window) { return windows_.at(window).memory.part; }

  /// What all ranks call together. Returns `elements` of each. Throws as allocate does.
  std::vector<std::uint64_t> agree(WindowCall const& call) {
    std::vector<WindowCall> calls(static_cast<std::size_t>(ranks_));
    share(call, calls);
    check_window_calls(calls);
    std::vector<std::uint64_t> elements;
    for (auto const& it : calls) {
      elements.push_back(it.elements);
    }
    return elements;
  }

  /// What each rank gives, to all; `all` is as long as there are ranks.
  template <class T>
  void share(T const& own, std::vector<T>& all) {
    check_mpi(
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, communicator_),
        "MPI_Allgather");
  }

  Window allocate(WindowElement element, std::size_t elements) {
    auto const size = size_of(element);
    auto const fits = elements <= static_cast<std::size_t>(PTRDIFF_MAX) / size;
    auto parts = agree({.kind = WindowCall::Kind::allocate,
                        .element = element,
                        .elements = fits ? elements : WindowCall::no_memory});
    Memory memory;
    auto const code = allocate_part(elements * size, static_cast<int>(size), memory);
    int const here = code != MPI_SUCCESS ? rank_ : ranks_;
    int first = ranks_; // that has failed
    check_mpi(MPI_Allreduce(&here, &first, 1, MPI_INT, MPI_MIN, communicator_), "MPI_Allreduce");
    if (first != ranks_) {
      throw Error(ErrorCode::rank_failed,
                  text("rank %d", first),
                  code != MPI_SUCCESS ? "MPI_Win_allocate: " + mpi_error_text(code)
                                      : "got no window from MPI_Win_allocate");
    }
    MPI_Win_set_errhandler(memory.window, MPI_ERRORS_RETURN);
    std::memset(memory.part, 0, elements * size);
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, memory.window), "MPI_Win_lock_all");
    check_mpi(MPI_Win_sync(memory.window), "MPI_Win_sync");
    check_mpi(MPI_Barrier(communicator_), "MPI_Barrier");
    return windows_.add(element, std::move(parts), memory);
  }

  void free(Window window) {
    (void)windows_.at(window);
    (void)agree({.kind = WindowCall::Kind::free, .window = window.number});
    free_memory(windows_.at(window).memory);
    windows_.remove(window);
  }

  void begin(Window window, RmaOperation it, std::uint64_t cookie) {
    auto const& entry = windows_.check(window, it.patch, it.stride, it.kind);
    it.element = entry.element;
    if (it.patch.size() == 0) {
      news_.push_back({cookie, 0});
      return;
    }
    auto under_way = std::make_shared<UnderWay>(
        UnderWay{.operation = it, .cookie = cookie, .window = entry.memory.window});
    under_way->needs_flush = it.gives();
    if (it.kind == RmaKind::compare_swap) {
      check_mpi(MPI_Compare_and_swap(&under_way->operation.desired,
                                     &under_way->operation.value,
                                     &under_way->found,
                                     MPI_INT64_T,
                                     it.patch.rank,
                                     static_cast<MPI_Aint>(it.patch.first),
                                     entry.memory.window),
                "MPI_Compare_and_swap");
      unflushed_.push_back(std::move(under_way));
    } else if (it.kind == RmaKind::fetch_add) {
      add(under_way, [&](MPI_Request* request) {
        return MPI_Rget_accumulate(&under_way->operation.value,
                                   1,
                                   MPI_INT64_T,
                                   &under_way->found,
                                   1,
                                   MPI_INT64_T,
                                   it.patch.rank,
                                   static_cast<MPI_Aint>(it.patch.first),
                                   1,
                                   MPI_INT64_T,
                                   MPI_SUM,
                                   entry.memory.window,
                                   request);
      });
    } else {
      begin_rows(under_way);
    }
  }

  template <class I>
  bool poll(I& inbox) {
    if (requests_.size() == 0) { // MPI works for others in calls only
      int flag = 0;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &flag, MPI_STATUS_IGNORE),
                "MPI_Iprobe");
    } else {
      done_.clear();
      requests_.collect(done_);
      for (auto& it : done_) {
        check_mpi(it.error, "one-sided operation");
        if (--it.info->parts == 0) {
          if (it.info->needs_flush) {
            unflushed_.push_back(std::move(it.info));
          } else {
            news_.push_back({it.info->cookie, it.info->found});
          }
        }
      }
    }
    flush();
    if (!news_.empty()) {
      windows_.each([](Memory& memory) { check_mpi(MPI_Win_sync(memory.window), "MPI_Win_sync"); });
    }
    return tell_each(news_, [&](News const& it) { inbox.done(it.cookie, it.found); });
  }

private:
  static constexpr std::size_t part_bytes = std::size_t{1} << 30U; // MPI counts by int

  struct UnderWay {
    RmaOperation operation;
    std::uint64_t cookie = 0;
    MPI_Win window = MPI_WIN_NULL;
    std::size_t parts = 0;
    std::int64_t found = 0;
    bool needs_flush = false;
  };

  struct News {
    std::uint64_t cookie = 0;
    std::int64_t found = 0;
  };

  static int rank_in(MPI_Comm communicator) {
    int rank = 0;
    check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    return rank;
  }

  /// MPICH 4.0 takes parts that are no multiple of 64 bytes for those of their neighbours.
  int allocate_part(std::size_t bytes, int element, Memory& memory) {
    constexpr std::size_t line = 64;
    MPI_Info info = MPI_INFO_NULL;
    check_mpi(MPI_Info_create(&info), "MPI_Info_create");
    MPI_Info_set(info, "alloc_shared_noncontig", "true"); // each part in pages of its own
    auto const code = MPI_Win_allocate(static_cast<MPI_Aint>((bytes / line + 1) * line),
                                       element,
                                       info,
                                       communicator_,
                                       static_cast<void*>(&memory.part),
                                       &memory.window);
    MPI_Info_free(&info);
    return code;
  }

  static void free_memory(Memory& memory) {
    MPI_Win_unlock_all(memory.window);
    MPI_Win_free(&memory.window);
  }

  template <class Start>
  void add(std::shared_ptr<UnderWay> const& it, Start&& start) {
    ++it->parts;
    check_mpi(requests_.add(it, start), "one-sided operation");
  }

  /// Get, put or accumulate: all rows together unless MPI cannot count them.
  void begin_rows(std::shared_ptr<UnderWay> const& under_way) {
    auto const& it = under_way->operation;
    auto const& patch = it.patch;
    auto const dense =
        patch.rows == 1 || (patch.stride == patch.columns && it.stride == patch.columns);
    if (!dense && it.bytes() <= part_bytes) {
      MpiRows const here(it.element, patch.rows, patch.columns, it.stride);
      MpiRows const there(it.element, patch.rows, patch.columns, patch.stride);
      // MPICH 4.0 ends such requests of MPI_Rget before the data come.
      under_way->needs_flush = true;
      begin_part(under_way, it.here, patch.first, 1, here.type(), there.type());
      return;
    }
    auto const rows = dense ? 1 : patch.rows;
    auto const columns = dense ? patch.size() : patch.columns;
    auto const most = part_bytes / size_of(it.element);
    auto const type = mpi_type(it.element);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; c += most) {
        begin_part(under_way,
                   it.here + (r * it.stride + c) * size_of(it.element),
                   patch.first + r * patch.stride + c,
                   static_cast<int>(std::min(most, columns - c)),
                   type,
                   type);
      }
    }
  }

  void begin_part(std::shared_ptr<UnderWay> const& under_way,
                  std::byte* here,
                  std::size_t first,
                  int count,
                  MPI_Datatype type,
                  MPI_Datatype there) {
    auto const to = under_way->operation.patch.rank;
    auto const at = static_cast<MPI_Aint>(first);
    auto const window = under_way->window;
    add(under_way, [&](MPI_Request* request) {
      switch (under_way->operation.kind) {
      case RmaKind::get:
        return MPI_Rget(here, count, type, to, at, count, there, window, request);
      case RmaKind::put:
        return MPI_Rput(here, count, type, to, at, count, there, window, request);
      default:
        return MPI_Raccumulate(here, count, type, to, at, count, there, MPI_SUM, window, request);
      }
    });
  }

  /// Ends what only a flush ends, once for each window and target.
  void flush() {
    while (!unflushed_.empty()) {
      auto const window = unflushed_.front()->window;
      auto const target = unflushed_.front()->operation.patch.rank;
      check_mpi(MPI_Win_flush(target, window), "MPI_Win_flush");
      std::erase_if(unflushed_, [&](auto const& it) {
        auto const over = it->window == window && it->operation.patch.rank == target;
        if (over) {
          news_.push_back({it->cookie, it->found});
        }
        return over;
      });
    }
  }

  MPI_Comm communicator_;
  int exceptions_;
  int rank_;
  int ranks_ = 0;
  Windows<Memory> windows_;
  MpiRequests<std::shared_ptr<UnderWay>> requests_;
  std::vector<MpiRequests<std::shared_ptr<UnderWay>>::Done> done_;
  std::vector<std::shared_ptr<UnderWay>> unflushed_; // MPI has the memory here no more
  std::deque<News> news_;
};

} // namespace hetsched::detail
