// SPDX-License-Identifier: MIT
#pragma once
// The kernels of stencil/jacobi.hpp for CUDA devices. A program that is to run them includes this
// in one file, compiled by nvcc, and links that: `nvcc -x cu -std=c++20 -c jacobi_kernels.cpp`.
// There is nothing to call.

#include <hetsched/core/device_code.hpp>
#include <hetsched/gpu/for_each.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/stencil/gpu_kernels.hpp>

#include <cstddef>

namespace hetsched::stencil {

/// One point of a sweep, as stencil/kernels.hpp computes it, and its copy in the tile's edges.
template <class T>
struct SweepPoint {
  SweepTile<T> tile;

  HETSCHED_DEVICE void operator()(std::size_t index) const {
    auto const& u = tile.u;
    auto const rows = u.rows();
    auto const cols = u.cols();
    auto const i = index % rows;
    auto const j = index / rows;
    T const above = i == 0 ? tile.halo.north(0, j) : u(i - 1, j);
    T const below = i + 1 == rows ? tile.halo.south(0, j) : u(i + 1, j);
    T const left = j == 0 ? tile.halo.west(i, 0) : u(i, j - 1);
    T const right = j + 1 == cols ? tile.halo.east(i, 0) : u(i, j + 1);
    T const value = T(0.25) * (((above + below) + (left + right)) + tile.b(i, j));
    tile.next(i, j) = value;
    if (i == 0) {
      tile.edges.north(0, j) = value;
    }
    if (i + 1 == rows) {
      tile.edges.south(0, j) = value;
    }
    if (j == 0) {
      tile.edges.west(i, 0) = value;
    }
    if (j + 1 == cols) {
      tile.edges.east(i, 0) = value;
    }
  }
};

#ifdef __CUDACC__
namespace detail {

template <class T>
void launch_sweep(GpuStream& stream, SweepTile<T> const& tile) {
  gpu::for_each_index(stream, tile.u.rows() * tile.u.cols(), SweepPoint<T>{tile});
}

inline bool const cuda_kernels_announced = [] {
  cuda_sweep<float> = &launch_sweep<float>;
  cuda_sweep<double> = &launch_sweep<double>;
  return true;
}();

} // namespace detail
#endif

} // namespace hetsched::stencil
