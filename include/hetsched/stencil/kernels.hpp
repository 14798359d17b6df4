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

#include <hetsched/data.hpp>
#include <hetsched/detail/assert.hpp>

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

/// `use(i, j, sum)` for every point, down the columns.
template <class T, class Use>
void for_each_point(TileView<T const> u, Sides<TileView<T const>> const& halo, Use&& use) {
  HETSCHED_ASSERT(u.rows() != 0 && halo.north.cols() == u.cols() && halo.west.rows() == u.rows(),
                  "shapes");
  auto const last = u.rows() - 1;
  for (std::size_t j = 0; j < u.cols(); ++j) {
    T const* const centre = &u(0, j);
    T const* const left = j == 0 ? halo.west.data() : &u(0, j - 1);
    T const* const right = j + 1 == u.cols() ? halo.east.data() : &u(0, j + 1);
    auto const visit = [&](std::size_t i, T up, T down) {
      use(i, j, (up + down) + (left[i] + right[i]));
    };
    visit(0, halo.north(0, j), last == 0 ? halo.south(0, j) : centre[1]);
    for (std::size_t i = 1; i < last; ++i) {
      visit(i, centre[i - 1], centre[i + 1]);
    }
    if (last != 0) {
      visit(last, centre[last - 1], halo.south(0, j));
    }
  }
}

/// One Jacobi step. 5 flops a point.
template <class T>
void sweep(TileView<T const> u,
           Sides<TileView<T const>> const& halo,
           TileView<T const> b,
           TileView<T> next) {
  for_each_point(u, halo, [&](std::size_t i, std::size_t j, T sum) {
    next(i, j) = T(0.25) * (sum + b(i, j));
  });
}

/// The sum of r^2.
template <class T>
[[nodiscard]] double
squared_residual(TileView<T const> u, Sides<TileView<T const>> const& halo, TileView<T const> b) {
  double squares = 0;
  for_each_point(u, halo, [&](std::size_t i, std::size_t j, T sum) {
    auto const r = static_cast<double>((sum + b(i, j)) - T(4) * u(i, j));
    squares += r * r;
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
