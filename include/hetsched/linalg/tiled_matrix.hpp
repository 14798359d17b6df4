// SPDX-License-Identifier: MIT
#pragma once
// Dense column-major matrices cut into square tiles that tasks work on.

#include <hetsched/data.hpp>
#include <hetsched/detail/assert.hpp>
#include <hetsched/error.hpp>
#include <hetsched/handle.hpp>
#include <hetsched/partition.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace hetsched::linalg {

namespace detail {

/// What Eigen's dense column-major matrices, maps and blocks have in common.
template <class M>
concept dense_matrix = requires(M& matrix) {
  { matrix.rows() } -> std::convertible_to<std::ptrdiff_t>;
  { matrix.cols() } -> std::convertible_to<std::ptrdiff_t>;
  { matrix.outerStride() } -> std::convertible_to<std::ptrdiff_t>;
  { matrix.innerStride() } -> std::convertible_to<std::ptrdiff_t>;
  { *matrix.data() };
};

template <class M>
using ElementOf = std::remove_reference_t<decltype(*std::declval<M&>().data())>;

} // namespace detail

/// A rows x cols matrix in the caller's memory, registered as one region and partitioned into tiles
/// of `tile` x `tile` elements, the last row and column of tiles ragged. Nothing is copied.
///
/// `T` is the element type, const for memory that tasks may only read. A matrix without elements
/// has no tiles in the direction that is empty. Registration costs O(tiles).
///
/// It must outlive the tasks that were spawned on its tiles, and the memory must outlive it:
/// `rt.sync()` before it goes. While it lives, the region is partitioned: spawn on tiles only.
/// Move-only; made outside `Runtime::capture`.
template <class T>
class TiledMatrix {
public:
  using Element = T;
  using Tile = Handle<TileView<T>>;

  /// Element (i, j) is `data[i + j * ld]`. Throws Error(bad_data): tile == 0, ld < rows, null
  /// pointer to elements, overlap with another region.
  template <class Rt>
  TiledMatrix(Rt& rt, T* data, std::size_t rows, std::size_t cols, std::size_t ld, std::size_t tile)
      : rows_(rows), cols_(cols), tile_(checked(tile)), whole_(rt.data(data, rows, cols, ld)),
        tiles_(rt.partition(whole_, tiles(tile))) {}

  /// An Eigen matrix, map or block, column-major: `TiledMatrix a(rt, matrix, 128)`.
  template <class Rt, detail::dense_matrix M>
  TiledMatrix(Rt& rt, M& matrix, std::size_t tile)
      : TiledMatrix(rt,
                    matrix.data(),
                    static_cast<std::size_t>(matrix.rows()),
                    static_cast<std::size_t>(matrix.cols()),
                    leading_dimension(matrix),
                    tile) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return cols_; }

  [[nodiscard]] std::size_t tile_size() const noexcept { return tile_; }

  /// Tiles in a column of the grid.
  [[nodiscard]] std::size_t tile_rows() const noexcept { return count(rows_); }

  /// Tiles in a row of the grid.
  [[nodiscard]] std::size_t tile_cols() const noexcept { return count(cols_); }

  /// The tile in row i < tile_rows() and column j < tile_cols() of the grid. Its first element is
  /// (i * tile_size(), j * tile_size()) of the matrix.
  [[nodiscard]] Tile const& operator()(std::size_t i, std::size_t j) const noexcept {
    HETSCHED_ASSERT(i < tile_rows() && j < tile_cols(), "no such tile");
    return tiles_(i, j);
  }

private:
  static std::size_t checked(std::size_t tile) {
    if (tile == 0) {
      throw Error(ErrorCode::bad_data, "TiledMatrix", "tile size is 0");
    }
    return tile;
  }

  template <class M>
  static std::size_t leading_dimension(M& matrix) {
    if constexpr (requires { M::IsRowMajor; }) {
      static_assert(!M::IsRowMajor, "hetsched: TiledMatrix needs column-major storage");
    }
    if (matrix.innerStride() != 1) {
      throw Error(ErrorCode::bad_data,
                  "TiledMatrix",
                  "the elements of a column are not contiguous (inner stride " +
                      std::to_string(matrix.innerStride()) + ")");
    }
    auto const rows = static_cast<std::size_t>(matrix.rows());
    auto const stride = static_cast<std::size_t>(matrix.outerStride());
    return matrix.cols() <= 1 ? std::max(rows, stride) : stride;
  }

  [[nodiscard]] std::size_t count(std::size_t extent) const noexcept {
    return extent / tile_ + (extent % tile_ == 0 ? 0 : 1);
  }

  std::size_t rows_;
  std::size_t cols_;
  std::size_t tile_;
  Tile whole_;
  Partition<TileView<T>> tiles_; // goes before whole_
};

template <class Rt, detail::dense_matrix M>
TiledMatrix(Rt&, M&, std::size_t) -> TiledMatrix<detail::ElementOf<M>>;

} // namespace hetsched::linalg
