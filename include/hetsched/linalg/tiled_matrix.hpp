// SPDX-License-Identifier: MIT
#pragma once
// Dense matrices cut into square tiles, or into blocks of columns, that tasks work on.

#include <hetsched/core/array_view.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/handles/partition.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace hetsched::linalg {

/// The view of a tile of a matrix that is LayoutLeft, column-major, or LayoutRight, row-major.
template <class T, class Layout>
using TileViewOf =
    std::conditional_t<std::is_same_v<Layout, LayoutRight>, RowTileView<T>, TileView<T>>;

namespace detail {

/// What Eigen's dense matrices, maps and blocks have in common.
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

template <class M>
[[nodiscard]] constexpr bool stored_by_rows() noexcept {
  if constexpr (requires { M::IsRowMajor; }) {
    return M::IsRowMajor;
  } else {
    return false;
  }
}

template <class M>
using LayoutOf = std::conditional_t<stored_by_rows<M>(), LayoutRight, LayoutLeft>;

/// Element (i, j) is `data[i + j * ld]`, or `data[i * ld + j]` where Layout is LayoutRight.
template <class T, class Layout = LayoutLeft>
struct DenseRegion {
  T* data;
  std::size_t rows;
  std::size_t cols;
  std::size_t ld;

  template <class Rt>
  [[nodiscard]] Handle<TileViewOf<T, Layout>> add_to(Rt& rt) const {
    if constexpr (std::is_same_v<Layout, LayoutRight>) {
      return rt.data(row_major(data, rows, cols, ld));
    } else {
      return rt.data(data, rows, cols, ld);
    }
  }
};

/// The region of an Eigen matrix, map or block; `user` wants it, for messages.
template <dense_matrix M>
DenseRegion<ElementOf<M>, LayoutOf<M>> region_of(M& matrix, char const* user) {
  constexpr bool by_rows = stored_by_rows<M>();
  if (matrix.innerStride() != 1) {
    throw Error(ErrorCode::bad_data,
                user,
                std::string("the elements of a ") + (by_rows ? "row" : "column") +
                    " are not contiguous (inner stride " + std::to_string(matrix.innerStride()) +
                    ")");
  }
  auto const rows = static_cast<std::size_t>(matrix.rows());
  auto const cols = static_cast<std::size_t>(matrix.cols());
  auto const stride = static_cast<std::size_t>(matrix.outerStride());
  auto const length = by_rows ? cols : rows;
  return {.data = matrix.data(),
          .rows = rows,
          .cols = cols,
          .ld = (by_rows ? rows : cols) <= 1 ? std::max(length, stride) : stride};
}

/// Of so many rows or columns each, the last one ragged.
[[nodiscard]] constexpr std::size_t blocks_in(std::size_t extent, std::size_t block) noexcept {
  return extent / block + (extent % block == 0 ? 0 : 1);
}

/// A region cut into a grid of equal blocks, the last row and column of them ragged; no blocks in a
/// direction that is empty.
template <class T, class Layout = LayoutLeft>
class TileGrid {
  static_assert(std::is_same_v<Layout, LayoutLeft> || std::is_same_v<Layout, LayoutRight>,
                "hetsched: a tiled matrix is LayoutLeft, column-major, or LayoutRight, row-major");

public:
  using Tile = Handle<TileViewOf<T, Layout>>;

  template <class Rt>
  TileGrid(Rt& rt, DenseRegion<T, Layout> region, Blocks blocks)
      : rows_(region.rows), cols_(region.cols), blocks_(blocks), whole_(region.add_to(rt)),
        tiles_(rt.partition(whole_, blocks)) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return cols_; }

  [[nodiscard]] std::size_t tile_rows() const noexcept { return blocks_in(rows_, blocks_.rows); }

  [[nodiscard]] std::size_t tile_cols() const noexcept { return blocks_in(cols_, blocks_.cols); }

  [[nodiscard]] Tile const& operator()(std::size_t i, std::size_t j) const noexcept {
    HETSCHED_ASSERT(i < tile_rows() && j < tile_cols(), "no such tile");
    return tiles_(i, j);
  }

private:
  std::size_t rows_;
  std::size_t cols_;
  Blocks blocks_;
  Tile whole_;
  Partition<TileViewOf<T, Layout>> tiles_; // goes before whole_
};

/// `size`, which is not 0.
inline std::size_t tile_size(std::size_t size, char const* user) {
  if (size == 0) {
    throw Error(ErrorCode::bad_data, user, "tile size is 0");
  }
  return size;
}

} // namespace detail

/// A rows x cols matrix in the caller's memory, registered as one region and partitioned into tiles
/// of `tile` x `tile` elements, the last row and column of tiles ragged. Nothing is copied.
///
/// `T` is the element type, const for memory that tasks may only read. The Layout is LayoutLeft,
/// column-major, or LayoutRight, row-major: so are the views of its tiles. A matrix without
/// elements has no tiles in the direction that is empty. Registration costs O(tiles).
///
/// It must outlive the tasks that were spawned on its tiles, and the memory must outlive it:
/// `rt.sync()` before it goes. While it lives, the region is partitioned: spawn on tiles only.
/// Move-only; made outside `Runtime::capture`.
template <class T, class Layout = LayoutLeft>
class TiledMatrix {
public:
  using Element = T;
  using MatrixLayout = Layout;
  using Tile = Handle<TileViewOf<T, Layout>>;

  /// Element (i, j) is `data[i + j * ld]`, or `data[i * ld + j]` if it is row-major. Throws
  /// Error(bad_data): tile == 0, ld < rows, or cols if row-major, null pointer to elements, overlap
  /// with another region.
  template <class Rt>
  TiledMatrix(Rt& rt, T* data, std::size_t rows, std::size_t cols, std::size_t ld, std::size_t tile)
      : tile_(detail::tile_size(tile, "TiledMatrix")),
        grid_(rt, {data, rows, cols, ld}, tiles(tile)) {}

  /// An Eigen matrix, map or block: `TiledMatrix a(rt, matrix, 128)`.
  template <class Rt, detail::dense_matrix M>
    requires std::is_same_v<detail::LayoutOf<M>, Layout>
  TiledMatrix(Rt& rt, M& matrix, std::size_t tile)
      : tile_(detail::tile_size(tile, "TiledMatrix")),
        grid_(rt, detail::region_of(matrix, "TiledMatrix"), tiles(tile)) {}

  /// A row-major matrix: `TiledMatrix a(rt, hs::row_major(data, rows, cols, ld), 128)`.
  template <class Rt>
    requires std::is_same_v<LayoutRight, Layout>
  TiledMatrix(Rt& rt, RowTileView<T> matrix, std::size_t tile)
      : TiledMatrix(rt, matrix.data(), matrix.rows(), matrix.cols(), matrix.ld(), tile) {}

  [[nodiscard]] std::size_t rows() const noexcept { return grid_.rows(); }

  [[nodiscard]] std::size_t cols() const noexcept { return grid_.cols(); }

  [[nodiscard]] std::size_t tile_size() const noexcept { return tile_; }

  /// Tiles in a column of the grid.
  [[nodiscard]] std::size_t tile_rows() const noexcept { return grid_.tile_rows(); }

  /// Tiles in a row of the grid.
  [[nodiscard]] std::size_t tile_cols() const noexcept { return grid_.tile_cols(); }

  /// The tile in row i < tile_rows() and column j < tile_cols() of the grid. Its first element is
  /// (i * tile_size(), j * tile_size()) of the matrix.
  [[nodiscard]] Tile const& operator()(std::size_t i, std::size_t j) const noexcept {
    return grid_(i, j);
  }

private:
  std::size_t tile_;
  detail::TileGrid<T, Layout> grid_;
};

template <class Rt, class T>
TiledMatrix(Rt&, T*, std::size_t, std::size_t, std::size_t, std::size_t) -> TiledMatrix<T>;

template <class Rt, detail::dense_matrix M>
TiledMatrix(Rt&, M&, std::size_t) -> TiledMatrix<detail::ElementOf<M>, detail::LayoutOf<M>>;

template <class Rt, class T>
TiledMatrix(Rt&, RowTileView<T>, std::size_t) -> TiledMatrix<T, LayoutRight>;

/// A matrix in square tiles, in which `a(i, j)` is what the tasks of a tile algorithm are spawned
/// on: TiledMatrix, and DistributedMatrix for several ranks.
template <class A>
concept tiled_matrix = requires(A const& a, std::size_t k) {
  typename A::Element;
  { a.rows() } -> std::same_as<std::size_t>;
  { a.cols() } -> std::same_as<std::size_t>;
  { a.tile_size() } -> std::same_as<std::size_t>;
  { a.tile_rows() } -> std::same_as<std::size_t>;
  { a.tile_cols() } -> std::same_as<std::size_t>;
  a(k, k);
};

namespace detail {

template <class A>
struct LayoutOfTiles {
  using Type = LayoutLeft;
};

template <class A>
  requires requires { typename A::MatrixLayout; }
struct LayoutOfTiles<A> {
  using Type = typename A::MatrixLayout;
};

/// Of a tiled matrix; DistributedMatrix is column-major.
template <class A>
using TileLayout = typename LayoutOfTiles<A>::Type;

template <class A>
inline constexpr bool is_column_major = std::is_same_v<TileLayout<A>, LayoutLeft>;

} // namespace detail

/// As TiledMatrix, but cut into blocks of `width` full columns, the last one ragged: for algorithms
/// that exchange rows.
template <class T, class Layout = LayoutLeft>
class ColumnBlocks {
public:
  using Element = T;
  using Block = Handle<TileViewOf<T, Layout>>;

  /// Throws as TiledMatrix does.
  template <class Rt>
  ColumnBlocks(
      Rt& rt, T* data, std::size_t rows, std::size_t cols, std::size_t ld, std::size_t width)
      : width_(detail::tile_size(width, "ColumnBlocks")),
        grid_(rt, {data, rows, cols, ld}, tiles(std::max<std::size_t>(rows, 1), width)) {}

  /// An Eigen matrix, map or block: `ColumnBlocks a(rt, matrix, 128)`.
  template <class Rt, detail::dense_matrix M>
    requires std::is_same_v<detail::LayoutOf<M>, Layout>
  ColumnBlocks(Rt& rt, M& matrix, std::size_t width)
      : ColumnBlocks(rt, detail::region_of(matrix, "ColumnBlocks"), width) {}

  /// A row-major matrix.
  template <class Rt>
    requires std::is_same_v<LayoutRight, Layout>
  ColumnBlocks(Rt& rt, RowTileView<T> matrix, std::size_t width)
      : ColumnBlocks(rt, matrix.data(), matrix.rows(), matrix.cols(), matrix.ld(), width) {}

  [[nodiscard]] std::size_t rows() const noexcept { return grid_.rows(); }

  [[nodiscard]] std::size_t cols() const noexcept { return grid_.cols(); }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }

  /// How many blocks; none if there are no columns.
  [[nodiscard]] std::size_t size() const noexcept { return grid_.tile_cols(); }

  /// Columns j * width() and following, j < size(), of a matrix that has rows.
  [[nodiscard]] Block const& operator[](std::size_t j) const noexcept { return grid_(0, j); }

private:
  template <class Rt>
  ColumnBlocks(Rt& rt, detail::DenseRegion<T, Layout> region, std::size_t width)
      : ColumnBlocks(rt, region.data, region.rows, region.cols, region.ld, width) {}

  std::size_t width_;
  detail::TileGrid<T, Layout> grid_;
};

template <class Rt, class T>
ColumnBlocks(Rt&, T*, std::size_t, std::size_t, std::size_t, std::size_t) -> ColumnBlocks<T>;

template <class Rt, detail::dense_matrix M>
ColumnBlocks(Rt&, M&, std::size_t) -> ColumnBlocks<detail::ElementOf<M>, detail::LayoutOf<M>>;

template <class Rt, class T>
ColumnBlocks(Rt&, RowTileView<T>, std::size_t) -> ColumnBlocks<T, LayoutRight>;

} // namespace hetsched::linalg
