// SPDX-License-Identifier: MIT
#pragma once
// A sparse matrix in dense blocks, as data of a runtime.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/sparse/block_pattern.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::sparse {

/// A square matrix of which some blocks are there: dense, column-major, `block` x `block` elements,
/// each one datum. Super-blocks of `super` x `super` blocks (the last ones smaller) have their
/// blocks side by side in memory, down the columns.
///
/// A block's reuse index is that of its super-block, the sum of row and column: the further to the
/// lower right, the more often LU uses it. All elements are 0 at first.
///
/// Source: the multigrain sparse LU, sec. 3.1 (figure 1b), index as in sec. 4.1.
///
/// It must outlive the tasks that were spawned on its blocks: `rt.sync()` before it goes. Its
/// elements may be looked at and written after a sync, until the next spawn. Movable.
template <class T>
class BlockMatrix {
public:
  using Block = Handle<TileView<T>>;

  /// Throws Error(bad_data) if the matrix is empty, or a block or super-block is.
  template <class Rt>
  BlockMatrix(Rt& rt, BlockPattern pattern, std::size_t block, std::size_t super = 5)
      : pattern_(std::move(pattern)), block_(block), super_(super) {
    if (pattern_.size() == 0 || block == 0 || super == 0) {
      throw Error(ErrorCode::bad_data,
                  "BlockMatrix",
                  "needs at least one block of at least one element: " +
                      std::to_string(pattern_.size()) + " blocks of " + std::to_string(block) +
                      " in super-blocks of " + std::to_string(super));
    }
    auto const size = pattern_.size();
    handles_.resize(size * size);
    for (std::size_t column = 0; column < supers(); ++column) {
      for (std::size_t row = 0; row < supers(); ++row) {
        allocate(rt, row, column);
      }
    }
  }

  BlockMatrix(BlockMatrix&&) noexcept = default;
  BlockMatrix& operator=(BlockMatrix&&) = delete;

  [[nodiscard]] BlockPattern const& pattern() const noexcept { return pattern_; }

  /// Blocks in a row; elements in a row of a block; blocks in a row of a super-block; super-blocks
  /// in a row.
  [[nodiscard]] std::size_t size() const noexcept { return pattern_.size(); }

  [[nodiscard]] std::size_t block_size() const noexcept { return block_; }

  [[nodiscard]] std::size_t super_size() const noexcept { return super_; }

  [[nodiscard]] std::size_t supers() const noexcept {
    return (pattern_.size() + super_ - 1) / super_;
  }

  /// Elements in a row of the matrix.
  [[nodiscard]] std::size_t rows() const noexcept { return pattern_.size() * block_; }

  /// A block that is there, as data of tasks. Throws Error(bad_call) if it is not there.
  [[nodiscard]] Block const& operator()(std::size_t i, std::size_t j) const {
    if (!pattern_.at(i, j)) {
      throw Error(ErrorCode::bad_call,
                  "BlockMatrix",
                  "block (" + std::to_string(i) + ", " + std::to_string(j) + ") is empty");
    }
    return handles_[i + j * size()];
  }

  /// The elements of a block that is there, in host memory. Throws as the call operator does.
  [[nodiscard]] TileView<T> elements(std::size_t i, std::size_t j) const {
    return {static_cast<T*>((*this)(i, j).record()->home.base), block_, block_, block_};
  }

  /// That of the block's super-block, and of the block until a program gives it another one.
  [[nodiscard]] std::int32_t reuse_index(std::size_t i, std::size_t j) const noexcept {
    return static_cast<std::int32_t>(i / super_ + j / super_);
  }

private:
  template <class Rt>
  void allocate(Rt& rt, std::size_t row, std::size_t column) {
    std::vector<std::size_t> places;
    for (auto j = column * super_; j < size() && j < (column + 1) * super_; ++j) {
      for (auto i = row * super_; i < size() && i < (row + 1) * super_; ++i) {
        if (pattern_.at(i, j)) {
          places.push_back(i + j * size());
        }
      }
    }
    auto const elements = block_ * block_;
    // Memory that nobody has touched takes none: in virtual time nobody touches it.
    memory_.emplace_back(static_cast<T*>(std::calloc(places.size() * elements, sizeof(T))));
    if (memory_.back() == nullptr && !places.empty()) {
      throw std::bad_alloc();
    }
    for (std::size_t k = 0; k < places.size(); ++k) {
      auto& handle = handles_[places[k]];
      handle = rt.data(memory_.back().get() + k * elements, block_, block_, block_);
      handle.reuse(reuse_index(row * super_, column * super_));
    }
  }

  BlockPattern pattern_;
  std::size_t block_;
  std::size_t super_;

  struct Free {
    void operator()(T* memory) const noexcept { std::free(memory); }
  };

  std::vector<std::unique_ptr<T, Free>> memory_; // of each super-block
  std::vector<Block> handles_;                   // go before the memory
};

} // namespace hetsched::sparse
