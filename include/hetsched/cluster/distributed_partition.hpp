// SPDX-License-Identifier: MIT
#pragma once
// A region that ranks share, cut into parts that tasks use independently.

#include <hetsched/cluster/distributed_handle.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/handles/partition.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched {

/// As Partition, of a datum of a DistributedRuntime: every rank makes it, and joins it or gives it
/// up, at the same place among its calls. The parts are data of their own, at home where the whole
/// is: what a task elsewhere reads of one is sent alone. After the runtime's end it can only be
/// destroyed.
///
/// A spawn that names the whole while it is partitioned, or a part after the join, throws
/// Error(bad_access) on the ranks that it concerns.
template <class D>
class DistributedPartition {
public:
  DistributedPartition() = default;

  DistributedPartition(DistributedPartition&& other) noexcept { swap(other); }

  DistributedPartition& operator=(DistributedPartition&& other) noexcept {
    swap(other);
    return *this;
  }

  ~DistributedPartition() {
    try {
      join();
    } catch (Error const&) { // the ranks have broken off, which the next call tells
    }
  }

  /// Parts in a column, and in a row, of the grid.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return rows_ == 0 ? 0 : parts_.size() / rows_; }

  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }

  /// Throws Error(bad_call) if there is no such part.
  [[nodiscard]] DistributedHandle<D> const& operator()(std::size_t i, std::size_t j) const {
    if (i >= rows_ || j >= cols()) [[unlikely]] {
      detail::refuse_part(detail::text("(%zu, %zu)", i, j), rows_, cols());
    }
    return parts_[i + j * rows_];
  }

  /// The k-th part, down the columns. Throws Error(bad_call) if there is no such part.
  [[nodiscard]] DistributedHandle<D> const& operator[](std::size_t k) const {
    if (k >= parts_.size()) [[unlikely]] {
      detail::refuse_part(detail::text("[%zu]", k), rows_, cols());
    }
    return parts_[k];
  }

  /// Gives the region back as a whole, once; joins partitions of its parts, too. Asynchronous:
  /// later tasks on the whole wait for the tasks on its parts. Throws what the ranks have broken
  /// off for.
  void join() {
    auto* const end = std::exchange(end_, nullptr);
    if (end != nullptr && !alive_.expired()) {
      end(runtime_, *this);
    }
  }

  /// The region.
  [[nodiscard]] DistributedHandle<D> const& whole() const noexcept { return whole_; }

  /// For the library.
  using End = void (*)(void* runtime, DistributedPartition& partition);

  /// For the library; `here`: of the rank where the region is at home.
  DistributedPartition(End end,
                       void* runtime,
                       std::weak_ptr<void> alive,
                       DistributedHandle<D> whole,
                       Partition<D> here,
                       std::size_t rows,
                       std::vector<DistributedHandle<D>> parts)
      : end_(end), runtime_(runtime), alive_(std::move(alive)), whole_(std::move(whole)),
        here_(std::move(here)), rows_(rows), parts_(std::move(parts)) {}

  /// For the library.
  void join_here() { here_.join(); }

private:
  void swap(DistributedPartition& other) noexcept {
    std::swap(end_, other.end_);
    std::swap(runtime_, other.runtime_);
    std::swap(alive_, other.alive_);
    std::swap(whole_, other.whole_);
    std::swap(here_, other.here_);
    std::swap(rows_, other.rows_);
    std::swap(parts_, other.parts_);
  }

  End end_ = nullptr; // null: it was joined
  void* runtime_ = nullptr;
  std::weak_ptr<void> alive_; // the runtime
  DistributedHandle<D> whole_;
  Partition<D> here_; // at home
  std::size_t rows_ = 0;
  std::vector<DistributedHandle<D>> parts_;
};

} // namespace hetsched
