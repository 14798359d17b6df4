// SPDX-License-Identifier: MIT
#pragma once
// The memory of a multifrontal factorisation.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/sparse/fronts.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// Whether a program will use all of a buffer, or, as one of several ranks, some of its pages,
/// which then are all that it takes.
enum class Use : bool { whole, some };

/// Numbers that nobody has written yet.
template <class T>
class Buffer {
public:
  Buffer() = default;

  /// Throws Error(bad_data) naming `what` and the size if the system has no such memory.
  Buffer(std::size_t size, char const* what, Use use = Use::whole) : size_(size) {
    constexpr std::size_t align = 64;
    constexpr std::size_t most = std::size_t{1} << 47U; // of a program's addresses
    if (size > most / sizeof(T)) {
      refuse(what);
    }
    auto const bytes = (size * sizeof(T) / align + 1) * align;
    if (use == Use::whole) {
      memory_.reset(static_cast<T*>(std::aligned_alloc(align, bytes)));
    } else if (void* const pages = ::mmap(nullptr,
                                          bytes,
                                          PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                          -1,
                                          0);
               pages != MAP_FAILED) {
      memory_ = {static_cast<T*>(pages), Free{bytes}};
    }
    if (memory_ == nullptr) {
      refuse(what);
    }
  }

  Buffer(Buffer&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}

  Buffer& operator=(Buffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] T* data() const noexcept { return memory_.get(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
  [[noreturn]] void refuse(char const* what) const {
    throw Error(ErrorCode::bad_data,
                what,
                hetsched::detail::text("needs %.3g MB of memory, which the system does not have",
                                       static_cast<double>(size_) * sizeof(T) / 1e6));
  }

  struct Free {
    std::size_t mapped = 0; // bytes, if they are pages of their own

    void operator()(T* memory) const noexcept {
      if (mapped == 0) {
        std::free(memory);
      } else {
        ::munmap(memory, mapped);
      }
    }
  };

  std::unique_ptr<T, Free> memory_;
  std::size_t size_ = 0;
};

/// Buffers that are used again. Thread-safe.
template <class T>
class BufferPool {
public:
  /// At least `size` numbers.
  [[nodiscard]] Buffer<T> take(std::size_t size) {
    {
      std::lock_guard const lock(mutex_);
      auto best = free_.end();
      for (auto it = free_.begin(); it != free_.end(); ++it) {
        if (it->size() >= size && (best == free_.end() || it->size() < best->size())) {
          best = it;
        }
      }
      if (best != free_.end() && best->size() <= 4 * size + 1024) {
        auto found = std::move(*best);
        free_.erase(best);
        return found;
      }
    }
    return Buffer<T>(size, "sparse factorisation");
  }

  void give_back(Buffer<T> buffer) {
    std::lock_guard const lock(mutex_);
    free_.push_back(std::move(buffer));
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard const lock(mutex_);
    std::size_t sum = 0;
    for (auto const& buffer : free_) {
      sum += buffer.size();
    }
    return sum;
  }

private:
  mutable hetsched::detail::Mutex mutex_;
  std::vector<Buffer<T>> free_;
};

/// What a front gives to its parent while both are worked on.
template <class T>
struct Contribution {
  T* data = nullptr; // F22
  Buffer<T> own;     // behind it, unless the memory stays
  hetsched::detail::Atomic<std::size_t> readers = 0;
};

/// Whether there are two factors or one.
enum class Form : bool {
  general,  // A = L U
  symmetric // A = L L^T
};

/// Tile (i, j) of a front's F22, which is at `data`.
template <class T>
[[nodiscard]] TileView<T> f22_tile(Front const& front, T* data, std::size_t i, std::size_t j) {
  auto const rows = front.blocks.size(i);
  auto const cols = front.blocks.size(j);
  return {data + front.blocks.begin(j) * front.m + front.blocks.begin(i) * cols,
          rows,
          cols,
          std::max<std::size_t>(1, rows)};
}

/// The numbers of one factorisation.
template <class T, Form F>
struct Numbers {
  explicit Numbers(Fronts const& plan, Use use)
      : factors(plan.factor_size, "sparse factorisation", use), pivots(at(plan.nodes.columns())),
        contributions(plan.fronts.size()) {}

  Buffer<T> factors;
  Buffer<T> tiles;                 // F22 of the tiled fronts, which stays
  std::vector<std::size_t> pivots; // by column, counted from the front's first row
  std::vector<T> values;           // of the scaled matrix
  double floor = 0;                // of pivots
  hetsched::detail::Atomic<std::size_t> replaced = 0;
  std::vector<Contribution<T>> contributions;
  BufferPool<T> pool;

  // ---- parts of a front ----

  [[nodiscard]] T* of(Front const& front) const noexcept { return factors.data() + front.factors; }

  [[nodiscard]] TileView<T> panel(Front const& front, std::size_t k) const noexcept {
    return {of(front) + front.panel(k), front.w, front.panels.size(k), front.w};
  }

  [[nodiscard]] TileView<T> upper(Front const& front, std::size_t j) const noexcept {
    return {of(front) + front.upper(j),
            front.w,
            front.blocks.size(j),
            std::max<std::size_t>(1, front.w)};
  }

  [[nodiscard]] TileView<T> lower(Front const& front, std::size_t i) const noexcept {
    auto const rows = front.blocks.size(i);
    return {of(front) + front.lower(i), rows, front.w, std::max<std::size_t>(1, rows)};
  }

  /// The rows with which those of a panel are exchanged, among the front's rows.
  [[nodiscard]] VectorView<std::size_t> pivots_of(Front const& front, std::size_t k) noexcept {
    return {pivots.data() + front.first + front.panels.begin(k), front.panels.size(k)};
  }

  /// Before a factorisation, after another that perhaps failed.
  void forget_contributions() {
    for (auto& given : contributions) {
      if (given.own.size() > 0) {
        pool.give_back(std::exchange(given.own, {}));
      }
      given.data = nullptr;
    }
    replaced.store(0, std::memory_order_relaxed);
  }

  /// One of the tasks that were to read front s's contribution has done so.
  void release(Index s) {
    auto& given = contributions[at(s)];
    if (given.readers.fetch_sub(1, std::memory_order_acq_rel) == 1 && given.own.size() > 0) {
      given.data = nullptr;
      pool.give_back(std::exchange(given.own, {}));
    }
  }
};

} // namespace hetsched::sparse::detail
