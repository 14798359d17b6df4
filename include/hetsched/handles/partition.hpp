// SPDX-License-Identifier: MIT
#pragma once
// A region cut into parts that tasks use independently.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/handles/handle.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched {

/// The parts of a partitioned region, as a grid. Made by `Runtime::partition`, ended by
/// `Runtime::join` or by the destructor. Tasks on parts wait for earlier tasks on the whole. Tasks
/// spawned on the whole after the join wait for tasks on parts. A spawn must not name the whole
/// while it is partitioned, nor a part after the join (Error(bad_access)). The join of a whole
/// joins partitions of its parts, too. Movable; may outlive the runtime.
template <class D>
class Partition {
public:
  using End = void (*)(detail::PartitionState& state);

  Partition() = default;

  Partition(Partition&& other) noexcept
      : end_(other.end_), state_(std::exchange(other.state_, nullptr)), rows_(other.rows_),
        parts_(std::move(other.parts_)) {}

  Partition& operator=(Partition&& other) noexcept {
    std::swap(end_, other.end_);
    std::swap(state_, other.state_);
    std::swap(rows_, other.rows_);
    std::swap(parts_, other.parts_);
    return *this;
  }

  ~Partition() { join(); }

  /// Parts in a column, and in a row, of the grid.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return rows_ == 0 ? 0 : parts_.size() / rows_; }

  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }

  [[nodiscard]] Handle<D> const& operator()(std::size_t i, std::size_t j) const noexcept {
    return parts_[i + j * rows_];
  }

  /// The k-th part, down the columns.
  [[nodiscard]] Handle<D> const& operator[](std::size_t k) const noexcept { return parts_[k]; }

  /// For the library.
  Partition(End end, detail::PartitionState* state, std::size_t rows, std::vector<Handle<D>> parts)
      : end_(end), state_(state), rows_(rows), parts_(std::move(parts)) {}

  /// For the library: gives the region back, once. The parts' handles stay, but cannot be used.
  void join() {
    if (auto* const state = std::exchange(state_, nullptr)) {
      end_(*state);
    }
  }

private:
  End end_ = nullptr;
  detail::PartitionState* state_ = nullptr;
  std::size_t rows_ = 0;
  std::vector<Handle<D>> parts_;
};

} // namespace hetsched
