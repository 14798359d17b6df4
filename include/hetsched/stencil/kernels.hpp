// SPDX-License-Identifier: MIT
#pragma once
// Sequential kernels on one tile of a grid with a 5-point stencil.
//
// For every point of a tile u, with its four neighbours up, down, left and right taken from the
// tile or, at its edges, from the lines around it (`halo`):
//
//     sum = (up + down) + (left + right)      next = (sum + b) / 4      r = (sum + b) - 4 u
//
// in this order, so that a grid gives the same bits whatever its tiles. Multiplying by 4 and 1/4 is
// exact: fused multiply-add changes nothing.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>

#include <algorithm>
#include <cstddef>

namespace hetsched::stencil {

/// The four lines along a tile: its own outermost ones, or the ones around it. North and south are
/// one row each, west and east one column.
template <class Line>
struct Sides {
  Line north;
  Line south;
  Line west;
  Line east;
};

namespace kernels {

/// One column of a tile with what is around it: the columns beside it, a point above and below.
template <class T>
struct Column {
  T const* points;
  T const* left;
  T const* right;
  T above;
  T below;
};

/// `use(j, column)` for every column of the tile.
template <class T, class Use>
void for_each_column(TileView<T const> u, Sides<TileView<T const>> const& halo, Use&& use) {
  HETSCHED_ASSERT(u.rows() != 0 && halo.north.cols() == u.cols() && halo.west.rows() == u.rows(),
                  "shapes");
  for (std::size_t j = 0; j < u.cols(); ++j) {
    use(j,
        Column<T>{&u(0, j),
                  j == 0 ? halo.west.data() : &u(0, j - 1),
                  j + 1 == u.cols() ? halo.east.data() : &u(0, j + 1),
                  halo.north(0, j),
                  halo.south(0, j)});
  }
}

/// `use(i, sum)` for every point of a column. The loop has no branch, so that compilers vectorise
/// it.
template <class T, class Use>
void for_each_point(Column<T> const column, std::size_t rows, Use&& use) {
  auto const* const points = column.points;
  auto const* const left = column.left;
  auto const* const right = column.right;
  auto const last = rows - 1;
  use(0, (column.above + (last == 0 ? column.below : points[1])) + (left[0] + right[0]));
  for (std::size_t i = 1; i < last; ++i) {
    use(i, (points[i - 1] + points[i + 1]) + (left[i] + right[i]));
  }
  if (last != 0) {
    use(last, (points[last - 1] + column.below) + (left[last] + right[last]));
  }
}

/// One Jacobi step. 5 flops a point.
template <class T>
void sweep(TileView<T const> u,
           Sides<TileView<T const>> const& halo,
           TileView<T const> b,
           TileView<T> next) {
  for_each_column(u, halo, [&](std::size_t j, Column<T> const& column) {
    auto const* const right_hand = &b(0, j);
    auto* const result = &next(0, j);
    for_each_point(column, u.rows(), [=](std::size_t i, T sum) {
      result[i] = T(0.25) * (sum + right_hand[i]);
    });
  });
}

/// The sum of r^2.
template <class T>
[[nodiscard]] double
squared_residual(TileView<T const> u, Sides<TileView<T const>> const& halo, TileView<T const> b) {
  double squares = 0;
  for_each_column(u, halo, [&](std::size_t j, Column<T> const& column) {
    for_each_point(column, u.rows(), [&](std::size_t i, T sum) {
      auto const r = static_cast<double>((sum + b(i, j)) - T(4) * u(i, j));
      squares += r * r;
    });
  });
  return squares;
}

template <class T>
void copy(TileView<T const> from, TileView<T> to) {
  for (std::size_t j = 0; j < from.cols(); ++j) {
    std::copy_n(&from(0, j), from.rows(), &to(0, j));
  }
}

/// Copies the tile's outermost rows and columns to lines of their own.
template <class T>
void copy_edges(TileView<T const> u, Sides<TileView<T>> const& edges) {
  auto const last = u.rows() - 1;
  for (std::size_t j = 0; j < u.cols(); ++j) {
    edges.north(0, j) = u(0, j);
    edges.south(0, j) = u(last, j);
  }
  std::copy_n(&u(0, 0), u.rows(), edges.west.data());
  std::copy_n(&u(0, u.cols() - 1), u.rows(), edges.east.data());
}

} // namespace kernels
} // namespace hetsched::stencil
