// SPDX-License-Identifier: MIT
#pragma once
// The arrays of one rank, and the steps by which it works on them.

#include <hetsched/concepts/rma_port.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/collections/array_layout.hpp>
#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/steps.hpp>
#include <hetsched/detail/collections/wave.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Used by one thread at a time: the program's, or, while a collection is processed, whoever has
/// the lock of that.
class ArraySpace {
public:
  explicit ArraySpace(std::unique_ptr<RmaPort> port)
      : port_(std::move(port)), rma(*port_),
        words_(port_->allocate(WindowElement::word, Waves::words)), waves(rma, looks, words_, 0) {}

  ArraySpace(ArraySpace const&) = delete;
  ArraySpace& operator=(ArraySpace const&) = delete;

  /// The windows stay if a rank is gone, or an exception ends this: freeing waits for all ranks.
  ~ArraySpace() {
    if (rma.broken() || std::uncaught_exceptions() != exceptions_) {
      return;
    }
    try {
      sync();
      for (auto const& array : arrays_) {
        if (!array.freed) {
          port_->free(array.window);
        }
      }
      port_->free(words_);
    } catch (std::exception const&) { // a rank is gone
    }
  }

  [[nodiscard]] int rank() const { return port_->rank(); }

  [[nodiscard]] int ranks() const { return port_->ranks(); }

  [[nodiscard]] RmaPort& port() noexcept { return *port_; }

  // ---- arrays ----

  /// The number of the array, whose tiles have ranks. Collective.
  std::uint32_t add(ArrayLayout layout) {
    check_free("make");
    std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks()));
    for (std::size_t j = 0; j < layout.tile_columns(); ++j) {
      for (std::size_t i = 0; i < layout.tile_rows(); ++i) {
        auto& tile = layout.tiles[i + j * layout.tile_rows()];
        auto& size = sizes[static_cast<std::size_t>(tile.rank)];
        tile.first = size;
        size += layout.height(i) * layout.width(j);
      }
    }
    layout.window = port_->allocate(layout.element, sizes[static_cast<std::size_t>(rank())]);
    arrays_.push_back(std::move(layout));
    return static_cast<std::uint32_t>(arrays_.size() - 1);
  }

  /// Frees the memory of an array, of which then nothing can be named. Collective.
  void destroy(std::uint32_t array) {
    check_free("destroy");
    if (layout(array).freed) {
      throw Error(ErrorCode::bad_call, "destroy", "the array is destroyed already");
    }
    port_->free(layout(array).window);
    arrays_[array] = {};
    arrays_[array].freed = true;
  }

  [[nodiscard]] bool has(std::uint32_t array) const noexcept { return array < arrays_.size(); }

  /// Whether there is such a patch.
  [[nodiscard]] bool has(PatchOf const& patch) const noexcept {
    return has(patch.array) && layout(patch.array).has(patch);
  }

  [[nodiscard]] ArrayLayout const& layout(std::uint32_t array) const noexcept {
    HETSCHED_ASSERT(has(array), "no such array");
    return arrays_[array];
  }

  [[nodiscard]] void* memory(std::uint32_t array) { return port_->memory(layout(array).window); }

  // ---- one-sided ----

  /// Between the patch and `here`, a dense block unless `ld` says otherwise.
  [[nodiscard]] Step<> transfer(PatchUse how, PatchOf patch, void* here, std::size_t ld) {
    if (!has(patch)) { // destroyed since
      throw Error(ErrorCode::bad_data, "patch", "it is not of these global arrays");
    }
    auto const& array = layout(patch.array);
    std::vector<RmaResult> results(array.pieces(patch));
    auto next = results.begin();
    auto const bytes = size_of(array.element);
    array.each_piece(patch, [&](WindowPatch const& piece, std::size_t first) {
      auto const row = first % patch.rows;
      auto const column = first / patch.rows;
      auto* const at = static_cast<std::byte*>(here) + (row + column * ld) * bytes;
      rma.transfer(how, array.window, piece, at, ld, *next++);
    });
    for (auto& result : results) {
      co_await result;
    }
    for (auto const& result : results) {
      result.value();
    }
  }

  // ---- for the program's thread ----

  /// Waits for the steps. Throws what they throw.
  void drive(Step<> step) {
    check_free("an operation");
    Routines routines;
    routines.start(std::move(step));
    for (int idle = 0; routines.live() != 0;) {
      if (rma.is_idle() || idle > most_idle) { // waits for others, which may need this core
        pause_for(pause_ns);
      }
      idle = rma.poll() ? 0 : idle + 1;
      looks.look();
    }
    if (routines.failure()) {
      std::rethrow_exception(routines.failure());
    }
  }

  /// Waits until all ranks have come here.
  void sync() { (void)sum({}); }

  /// What all ranks bring here together. Collective.
  WaveCounts sum(WaveCounts own) {
    WaveCounts all;
    drive(sum_into(own, all));
    return all;
  }

  /// Whether a collection is being processed: nobody else may use the arrays then.
  void set_busy(bool busy) noexcept { busy_ = busy; }

  void check_free(char const* operation) const {
    if (busy_) {
      throw Error(ErrorCode::bad_call,
                  operation,
                  "not allowed while a collection is processed, as in the bodies of tasks");
    }
    rma.check_unbroken();
  }

private:
  static constexpr std::int64_t pause_ns = 20'000;
  static constexpr int most_idle = 1000;

  Step<> sum_into(WaveCounts own, WaveCounts& all) { all = (co_await waves.wave(own, false)).all; }

  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<RmaPort> port_;
  bool busy_ = false;

public:
  RmaOperations rma;
  Looks looks;

private:
  Window words_;

public:
  Waves waves;

private:
  std::deque<ArrayLayout> arrays_;
};

} // namespace hetsched::detail
