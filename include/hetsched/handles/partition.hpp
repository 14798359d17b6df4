// SPDX-License-Identifier: MIT
#pragma once
// A region cut into parts that tasks use independently.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/handles/handle.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// Where a region is cut into parts of any sizes: see `cuts`.
struct Cuts {
  std::vector<std::size_t> rows;
  std::vector<std::size_t> cols;
};

/// A shape for `partition`: each cut is the first row (column; for a vector the first element) of
/// the part behind it. Cuts ascend, and are neither 0 nor the end: n of them give n + 1 parts, and
/// none leaves that dimension whole.
[[nodiscard]] inline Cuts cuts(std::vector<std::size_t> rows, std::vector<std::size_t> cols = {}) {
  return {std::move(rows), std::move(cols)};
}

namespace detail {

[[noreturn, gnu::cold]] inline void
refuse_part(std::string const& part, std::size_t rows, std::size_t cols) {
  throw Error(ErrorCode::bad_call,
              "partition",
              text("has no part %s: it has %zu x %zu", part.c_str(), rows, cols));
}

} // namespace detail

/// The parts of a region as a grid. `Part`: a kind of handle.
template <class Part>
class PartGrid {
public:
  PartGrid() = default;

  /// Down the columns.
  PartGrid(std::size_t rows, std::vector<Part> parts) : rows_(rows), parts_(std::move(parts)) {}

  /// Parts in a column, and in a row, of the grid.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return rows_ == 0 ? 0 : parts_.size() / rows_; }

  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }

  /// Throws Error(bad_call) if there is no such part.
  [[nodiscard]] Part const& operator()(std::size_t i, std::size_t j) const {
    if (i >= rows_ || j >= cols()) [[unlikely]] {
      detail::refuse_part(detail::text("(%zu, %zu)", i, j), rows_, cols());
    }
    return parts_[i + j * rows_];
  }

  /// The k-th part, down the columns. Throws Error(bad_call) if there is no such part.
  [[nodiscard]] Part const& operator[](std::size_t k) const {
    if (k >= parts_.size()) [[unlikely]] {
      detail::refuse_part(detail::text("[%zu]", k), rows_, cols());
    }
    return parts_[k];
  }

private:
  std::size_t rows_ = 0;
  std::vector<Part> parts_;
};

/// The parts of a partitioned region, as a grid. Made by `Runtime::partition`, ended by
/// `Runtime::join` or by the destructor. Tasks on parts wait for earlier tasks on the whole. Tasks
/// spawned on the whole after the join wait for tasks on parts. A spawn must not name the whole
/// while it is partitioned, nor a part after the join (Error(bad_access)). The join of a whole
/// joins partitions of its parts, too. Movable; may outlive the runtime.
template <class D>
class Partition : public PartGrid<Handle<D>> {
  using Grid = PartGrid<Handle<D>>;

public:
  using End = void (*)(detail::PartitionState& state);

  Partition() = default;

  Partition(Partition&& other) noexcept
      : Grid(std::move(other)), end_(other.end_), state_(std::exchange(other.state_, nullptr)) {}

  Partition& operator=(Partition&& other) noexcept {
    std::swap<Grid>(*this, other);
    std::swap(end_, other.end_);
    std::swap(state_, other.state_);
    return *this;
  }

  ~Partition() { join(); }

  /// For the library.
  Partition(End end, detail::PartitionState* state, std::size_t rows, std::vector<Handle<D>> parts)
      : Grid(rows, std::move(parts)), end_(end), state_(state) {}

  /// For the library: gives the region back, once. The parts' handles stay, but cannot be used.
  void join() {
    if (auto* const state = std::exchange(state_, nullptr)) {
      end_(*state);
    }
  }

private:
  End end_ = nullptr;
  detail::PartitionState* state_ = nullptr;
};

} // namespace hetsched
