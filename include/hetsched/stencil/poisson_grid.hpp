// SPDX-License-Identifier: MIT
#pragma once
// Poisson's equation on a grid cut into tiles that tasks work on.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/handles/partition.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/stencil/kernels.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace hetsched::stencil {

/// The linear system of the 5-point stencil on rows x cols points,
///
///     4 u(i, j) - u(i-1, j) - u(i+1, j) - u(i, j-1) - u(i, j+1) = b(i, j),
///
/// which is -Laplace(u) = f for b = h^2 f and grid spacing h, with u given on the boundary
/// (Dirichlet). `T` is float or double.
///
/// `u` has (rows + 2) x (cols + 2) elements: its outermost rows and columns are the boundary, which
/// is only read; its corners are not even that. `b` has rows x cols and may be const. Both stay in
/// the caller's memory, column by column; nothing is copied.
///
/// Beside them the grid owns a second copy of the points, for sweeps from one to the other, and for
/// each tile and copy its four edges as lines of their own. So a task on a tile declares exactly
/// what it reads: the tile, and of each neighbour the one line that it needs; and a neighbour's
/// next sweep waits for that line only, never for the whole tile. Costs rows x cols elements, and
/// about 8 / tile of that for the edges. Registration costs O(tiles).
///
/// It must outlive the tasks that were spawned on it, and the memory must outlive it: `rt.sync()`
/// before it goes. While it lives, u and b belong to it. Move-only; made outside
/// `Runtime::capture`.
template <class T>
class PoissonGrid {
public:
  using Element = T;
  using Tile = Handle<TileView<T>>;

  /// Tiles of `tile` x `tile` points, the last ones ragged. Throws Error(bad_data): tile == 0,
  /// shapes that do not fit, null pointer to elements, overlap with another region.
  template <class Rt, class TB>
  PoissonGrid(Rt& rt, TileView<T> u, TileView<TB> b, std::size_t tile)
      : rows_(checked(u, b, tile).rows()), cols_(b.cols()), spare_(rows_ * cols_),
        lines_(4 * (count(rows_, tile) * cols_ + count(cols_, tile) * rows_)),
        points_{{rt, u.data() + u.ld() + 1, rows_, cols_, u.ld(), tile},
                {rt, spare_.data(), rows_, cols_, std::max<std::size_t>(rows_, 1), tile}},
        b_(rt, static_cast<T const*>(b.data()), rows_, cols_, b.ld(), tile) {
    static_assert(std::is_same_v<std::remove_const_t<TB>, T>,
                  "hetsched: PoissonGrid needs u and b of one element type");
    if (tile_rows() == 0 || tile_cols() == 0) {
      return;
    }
    auto const row = [&](T* first, std::size_t ld) {
      return rt.partition(rt.data(first, 1, cols_, ld), tiles(1, tile));
    };
    auto const column = [&](T* first) {
      return rt.partition(rt.data(first, rows_, 1, rows_), tiles(tile, 1));
    };
    boundary_ = {row(&u(0, 1), u.ld()),
                 row(&u(rows_ + 1, 1), u.ld()),
                 column(&u(1, 0)),
                 column(&u(1, cols_ + 1))};
    T* next = lines_.data();
    for (auto& edges : edges_) {
      for (std::size_t i = 0; i < tile_rows(); ++i, next += 2 * cols_) {
        edges.north.push_back(row(next, 1));
        edges.south.push_back(row(next + cols_, 1));
      }
      for (std::size_t j = 0; j < tile_cols(); ++j, next += 2 * rows_) {
        edges.west.push_back(column(next));
        edges.east.push_back(column(next + rows_));
      }
    }
  }

  /// Points, without the boundary.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return cols_; }

  [[nodiscard]] std::size_t tile_size() const noexcept { return b_.tile_size(); }

  /// Tiles in a column of the grid, and in a row.
  [[nodiscard]] std::size_t tile_rows() const noexcept { return b_.tile_rows(); }

  [[nodiscard]] std::size_t tile_cols() const noexcept { return b_.tile_cols(); }

  /// Tile (i, j) of copy 0, which is the caller's u, or 1.
  [[nodiscard]] Tile const& points(int copy, std::size_t i, std::size_t j) const noexcept {
    return points_[copy](i, j);
  }

  [[nodiscard]] Handle<TileView<T const>> const& b(std::size_t i, std::size_t j) const noexcept {
    return b_(i, j);
  }

  /// The tile's own outermost lines.
  [[nodiscard]] Sides<Tile> edges(int copy, std::size_t i, std::size_t j) const noexcept {
    auto const& all = edges_[copy];
    return {all.north[i][j], all.south[i][j], all.west[j][i], all.east[j][i]};
  }

  /// The lines around the tile: edges of its neighbours, or the boundary.
  [[nodiscard]] Sides<Tile> halo(int copy, std::size_t i, std::size_t j) const noexcept {
    auto const& all = edges_[copy];
    return {i == 0 ? boundary_.north[j] : all.south[i - 1][j],
            i + 1 == tile_rows() ? boundary_.south[j] : all.north[i + 1][j],
            j == 0 ? boundary_.west[i] : all.east[j - 1][i],
            j + 1 == tile_cols() ? boundary_.east[i] : all.west[j + 1][i]};
  }

private:
  using Line = Partition<TileView<T>>; // a row or column of the whole grid, cut as the tiles are

  template <class TB>
  static TileView<TB> const&
  checked(TileView<T> const& u, TileView<TB> const& b, std::size_t tile) {
    auto const text = [](auto const& view) {
      return std::to_string(view.rows()) + " x " + std::to_string(view.cols());
    };
    if (tile == 0) {
      throw Error(ErrorCode::bad_data, "PoissonGrid", "tile size is 0");
    }
    if (u.rows() < 2 || u.cols() < 2 || u.rows() - 2 != b.rows() || u.cols() - 2 != b.cols()) {
      throw Error(ErrorCode::bad_data,
                  "PoissonGrid",
                  "the shapes do not fit: u is " + text(u) + ", b is " + text(b) +
                      "; u must have one more on each side, for the boundary");
    }
    if (u.data() == nullptr || u.ld() < u.rows()) {
      throw Error(ErrorCode::bad_data,
                  "PoissonGrid",
                  u.data() == nullptr ? "u has no memory"
                                      : "u's leading dimension " + std::to_string(u.ld()) +
                                            " is less than its rows");
    }
    return b;
  }

  static std::size_t count(std::size_t extent, std::size_t tile) noexcept {
    return extent / tile + (extent % tile == 0 ? 0 : 1);
  }

  std::size_t rows_;
  std::size_t cols_;
  std::vector<T> spare_; // memory of copy 1, and of the edges
  std::vector<T> lines_;
  linalg::TiledMatrix<T> points_[2];
  linalg::TiledMatrix<T const> b_;
  Sides<Line> boundary_;
  Sides<std::vector<Line>> edges_[2]; // of each tile row (north, south) or tile column
};

template <class Rt, class T, class TB>
PoissonGrid(Rt&, TileView<T>, TileView<TB>, std::size_t) -> PoissonGrid<T>;

} // namespace hetsched::stencil
