// SPDX-License-Identifier: MIT
#pragma once
// Jacobi's iteration for Poisson's equation, by tiles.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/runtime/runtime.hpp>
#include <hetsched/stencil/gpu_kernels.hpp>
#include <hetsched/stencil/kernels.hpp>
#include <hetsched/stencil/poisson_grid.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace hetsched {

namespace stencil {

/// The edges of a tile, copied to lines of their own: tile; north, south, west, east.
template <class T>
struct CopyEdges : Task<5>::Signature<R<TileView<T>>,
                                      W<TileView<T>>,
                                      W<TileView<T>>,
                                      W<TileView<T>>,
                                      W<TileView<T>>> {
  static constexpr std::string_view name = "edges";
};

/// A tile copied to the other copy of the points.
template <class T>
struct CopyTile : Task<2>::Signature<R<TileView<T>>, W<TileView<T>>> {
  static constexpr std::string_view name = "copy";
};

/// One sweep of a tile: points; the lines north, south, west and east of it; b; the new points; and
/// their own edges.
template <class T>
struct Sweep : Task<11>::Signature<R<TileView<T>>,
                                   R<TileView<T>>,
                                   R<TileView<T>>,
                                   R<TileView<T>>,
                                   R<TileView<T>>,
                                   R<TileView<T>>,
                                   W<TileView<T>>,
                                   W<TileView<T>>,
                                   W<TileView<T>>,
                                   W<TileView<T>>,
                                   W<TileView<T>>> {
  static constexpr std::string_view name = "sweep";
};

/// A tile's part of the squared residual: points; the lines around them; b; the sum.
template <class T>
struct SquaredResidual : Task<7>::Signature<R<TileView<T>>,
                                            R<TileView<T>>,
                                            R<TileView<T>>,
                                            R<TileView<T>>,
                                            R<TileView<T>>,
                                            R<TileView<T>>,
                                            CW<double, Sum<double>>> {
  static constexpr std::string_view name = "residual";
};

} // namespace stencil

template <class T>
struct TaskBodyCPU<stencil::CopyEdges<T>> {
  void operator()(TileView<T const> u,
                  TileView<T> north,
                  TileView<T> south,
                  TileView<T> west,
                  TileView<T> east) const {
    stencil::kernels::copy_edges(u, {north, south, west, east});
  }
};

template <class T>
struct TaskBodyCPU<stencil::CopyTile<T>> {
  void operator()(TileView<T const> from, TileView<T> to) const {
    stencil::kernels::copy(from, to);
  }
};

template <class T>
struct TaskBodyCPU<stencil::Sweep<T>> {
  void operator()(TileView<T const> u,
                  TileView<T const> above,
                  TileView<T const> below,
                  TileView<T const> left,
                  TileView<T const> right,
                  TileView<T const> b,
                  TileView<T> next,
                  TileView<T> north,
                  TileView<T> south,
                  TileView<T> west,
                  TileView<T> east) const {
    stencil::kernels::sweep(u, {above, below, left, right}, b, next);
    stencil::kernels::copy_edges<T>(next, {north, south, west, east});
  }
};

template <class T>
struct TaskBodyCPU<stencil::SquaredResidual<T>> {
  void operator()(TileView<T const> u,
                  TileView<T const> above,
                  TileView<T const> below,
                  TileView<T const> left,
                  TileView<T const> right,
                  TileView<T const> b,
                  double& squares) const {
    squares += stencil::kernels::squared_residual(u, {above, below, left, right}, b);
  }
};

template <class T>
struct TaskBodyGPU<stencil::CopyEdges<T>> {
  void operator()(GpuStream& stream,
                  TileView<T const> u,
                  TileView<T> north,
                  TileView<T> south,
                  TileView<T> west,
                  TileView<T> east) const {
    gpu::copy(stream, gpu::row(u, 0), gpu::row(north, 0));
    gpu::copy(stream, gpu::row(u, u.rows() - 1), gpu::row(south, 0));
    gpu::copy(stream, gpu::column(u, 0), gpu::column(west, 0));
    gpu::copy(stream, gpu::column(u, u.cols() - 1), gpu::column(east, 0));
  }
};

template <class T>
struct TaskBodyGPU<stencil::CopyTile<T>> {
  void operator()(GpuStream& stream, TileView<T const> from, TileView<T> to) const {
    gpu::copy(stream, from, to);
  }
};

template <class T>
struct TaskBodyGPU<stencil::Sweep<T>> {
  void operator()(GpuStream& stream,
                  TileView<T const> u,
                  TileView<T const> above,
                  TileView<T const> below,
                  TileView<T const> left,
                  TileView<T const> right,
                  TileView<T const> b,
                  TileView<T> next,
                  TileView<T> north,
                  TileView<T> south,
                  TileView<T> west,
                  TileView<T> east) const {
    stencil::sweep<T>(stream,
                      {u, {above, below, left, right}, b, next, {north, south, west, east}});
  }
};

namespace stencil {

namespace detail {

template <class Rt, class Grid>
void copy_edges(Rt& rt, Grid const& grid, int copy, std::size_t i, std::size_t j) {
  auto const own = grid.edges(copy, i, j);
  rt.template spawn<CopyEdges<typename Grid::Element>>()(
      grid.points(0, i, j), own.north, own.south, own.west, own.east);
}

template <class Grid, class Use>
void for_each_tile(Grid const& grid, Use&& use) {
  for (std::size_t j = 0; j < grid.tile_cols(); ++j) {
    for (std::size_t i = 0; i < grid.tile_rows(); ++i) {
      use(i, j);
    }
  }
}

} // namespace detail

/// A grid in tiles: PoissonGrid, or DistributedPoissonGrid.
template <class Grid>
concept poisson_grid = requires(Grid const& grid, int copy, std::size_t k) {
  typename Grid::Element;
  grid.tile_rows();
  grid.tile_cols();
  grid.points(copy, k, k);
  grid.b(k, k);
  grid.edges(copy, k, k).north;
  grid.halo(copy, k, k).north;
};

/// Makes `sweeps` Jacobi steps: every point becomes (sum of its four neighbours + b) / 4, computed
/// from the step before. The result is in the caller's u, bit for bit that of sequential sweeps in
/// the order of additions that kernels.hpp states.
///
/// Asynchronous: spawns tasks of types edges, copy and sweep and returns; `rt.sync()` waits. May be
/// captured. On several ranks (a DistributedRuntime and a DistributedPoissonGrid) every rank calls
/// it. A sweep of a tile waits for the sweep before of that tile and its neighbours, for no
/// barrier. Priorities are bottom levels with unit times: the sweeps that are left.
///
/// All run on GPUs, too, with the same bits. On CUDA devices that takes a file in the program that
/// includes stencil/cuda_jacobi.hpp and is compiled by nvcc: without it, sweeps there fail with
/// Error(cannot_run).
///
/// Costs a task per tile and sweep, one per tile to begin with and, for an odd number of sweeps,
/// another to copy the tile, so that the last sweep ends in u. 5 flops per point and sweep, for 3
/// elements moved: bound by memory unless both copies and b stay in the caches.
///
/// Source: the Jacobi 2D of Lima et al. 2015, sec. 5.2, which leaves its tiles and borders open;
/// the edges as data of their own are ours.
template <class Rt, poisson_grid Grid>
void jacobi(Rt& rt, Grid const& grid, std::size_t sweeps) {
  using T = typename Grid::Element;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: jacobi works on float or double");
  if (sweeps == 0) {
    return;
  }
  int from = sweeps % 2 == 0 ? 0 : 1;
  detail::for_each_tile(grid, [&](std::size_t i, std::size_t j) {
    detail::copy_edges(rt, grid, from, i, j);
    if (from == 1) {
      rt.template spawn<CopyTile<T>>()(grid.points(0, i, j), grid.points(1, i, j));
    }
  });
  for (std::size_t left = sweeps; left > 0; --left, from = 1 - from) {
    constexpr std::size_t highest = std::numeric_limits<std::int32_t>::max();
    auto const level = priority(static_cast<std::int32_t>(std::min(left, highest)));
    detail::for_each_tile(grid, [&](std::size_t i, std::size_t j) {
      auto const around = grid.halo(from, i, j);
      auto const own = grid.edges(1 - from, i, j);
      rt.template spawn<Sweep<T>>(level)(grid.points(from, i, j),
                                         around.north,
                                         around.south,
                                         around.west,
                                         around.east,
                                         grid.b(i, j),
                                         grid.points(1 - from, i, j),
                                         own.north,
                                         own.south,
                                         own.west,
                                         own.east);
    });
  }
}

/// squares := ||b - A u||^2, the squared 2-norm of the system's residual for the u that there is.
///
/// Asynchronous: spawns a task and two per tile, of types edges and residual, whose contributions
/// are summed (CW) in no fixed order. In double for float, too. May be captured. `squares`: a
/// handle of a double.
template <class Rt, poisson_grid Grid, class Scalar>
void squared_residual(Rt& rt, Grid const& grid, Scalar const& squares) {
  using T = typename Grid::Element;
  rt.spawn(label("no residual yet"))([](double& sum) { sum = 0; }, write(squares));
  detail::for_each_tile(
      grid, [&](std::size_t i, std::size_t j) { detail::copy_edges(rt, grid, 0, i, j); });
  detail::for_each_tile(grid, [&](std::size_t i, std::size_t j) {
    auto const around = grid.halo(0, i, j);
    rt.template spawn<SquaredResidual<T>>()(grid.points(0, i, j),
                                            around.north,
                                            around.south,
                                            around.west,
                                            around.east,
                                            grid.b(i, j),
                                            squares);
  });
}

} // namespace stencil
} // namespace hetsched
