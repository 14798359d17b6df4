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
class DistributedPartition : public PartGrid<DistributedHandle<D>> {
  using Grid = PartGrid<DistributedHandle<D>>;

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
      : Grid(rows, std::move(parts)), end_(end), runtime_(runtime), alive_(std::move(alive)),
        whole_(std::move(whole)), here_(std::move(here)) {}

  /// For the library.
  void join_here() { here_.join(); }

private:
  void swap(DistributedPartition& other) noexcept {
    std::swap<Grid>(*this, other);
    std::swap(end_, other.end_);
    std::swap(runtime_, other.runtime_);
    std::swap(alive_, other.alive_);
    std::swap(whole_, other.whole_);
    std::swap(here_, other.here_);
  }

  End end_ = nullptr; // null: it was joined
  void* runtime_ = nullptr;
  std::weak_ptr<void> alive_; // the runtime
  DistributedHandle<D> whole_;
  Partition<D> here_; // at home
};

} // namespace hetsched
