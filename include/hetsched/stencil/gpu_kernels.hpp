// SPDX-License-Identifier: MIT
#pragma once
// A Jacobi sweep of a tile on a GPU.
//
// The body of a task is declared, and defined, beside the task, in a header that host compilers
// see, but a kernel for CUDA must be compiled by nvcc. So the body calls it through a pointer,
// which is null unless stencil/cuda_jacobi.hpp, compiled by nvcc, is part of the program. A program
// for CPU cores links nothing; on emulated devices the loops of kernels.hpp serve.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/stencil/kernels.hpp>

#include <string>

namespace hetsched::stencil {

/// What a sweep of a tile works on, in device memory.
template <class T>
struct SweepTile {
  TileView<T const> u;
  Sides<TileView<T const>> halo;
  TileView<T const> b;
  TileView<T> next;
  Sides<TileView<T>> edges; // of next
};

namespace detail {

template <class T>
using SweepLauncher = void (*)(GpuStream& stream, SweepTile<T> const& tile);

/// For CUDA devices; set by stencil/cuda_jacobi.hpp before main begins.
template <class T>
inline constinit SweepLauncher<T> cuda_sweep = nullptr;

} // namespace detail

template <class T>
void sweep(GpuStream& stream, SweepTile<T> const& tile) {
  if (stream.native() == nullptr) {
    bool const given = stream.run_emulated([tile] {
      kernels::sweep(tile.u, tile.halo, tile.b, tile.next);
      kernels::copy_edges<T>(tile.next, tile.edges);
    });
    if (given) {
      return;
    }
  } else if (detail::cuda_sweep<T> != nullptr) {
    detail::cuda_sweep<T>(stream, tile);
    return;
  }
  throw Error(
      ErrorCode::cannot_run,
      "sweep",
      "this program has no kernel for " + std::string(stream.driver().name) +
          " devices: link a file that includes <hetsched/stencil/cuda_jacobi.hpp> and is compiled "
          "by nvcc, or use no such devices");
}

} // namespace hetsched::stencil
