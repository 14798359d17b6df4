// SPDX-License-Identifier: MIT
#pragma once
// Loops as kernels, for bodies of tasks on GPUs. It needs nothing of the CUDA toolkit: nvcc brings
// what a kernel needs, and other compilers see declarations only.
//
//     struct Scale {
//       double factor;
//       hs::VectorView<double> y;
//       HETSCHED_DEVICE void operator()(std::size_t i) const { y[i] *= factor; }
//     };
//
//     void hs::TaskBodyGPU<ScaleTask>::operator()(
//         hs::GpuStream& stream, double factor, hs::VectorView<double> y) const {
//       hs::gpu::for_each_index(stream, y.size(), Scale{factor, y});
//     }
//
// A file with such a body is compiled by nvcc (`nvcc -x cu -std=c++20 -c body.cpp`) to run on CUDA
// and emulated devices, or by any C++20 compiler to run on emulated ones only. Define the body in
// one file: in a header it would be two different functions of one name.

#include <hetsched/gpu/launch.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace hetsched::gpu {

namespace detail {

#ifdef __CUDACC__

inline constexpr bool compiled_by_nvcc = true;

template <class F>
__global__ void for_each_kernel(std::size_t n, F f) {
  auto const step = std::size_t{blockDim.x} * gridDim.x;
  for (auto i = std::size_t{blockDim.x} * blockIdx.x + threadIdx.x; i < n; i += step) {
    f(i);
  }
}

#else

inline constexpr bool compiled_by_nvcc = false;

#endif

} // namespace detail

/// Calls f(i) for every i < n, as one kernel in the stream, in no order. f is copied to the device:
/// what it points to must be device memory. Nothing is done if n is 0.
///
/// Throws Error(device_failed) if the kernel is refused, and Error(cannot_run) on a CUDA device if
/// this call was compiled by something else than nvcc.
template <class F, bool ByNvcc = detail::compiled_by_nvcc>
void for_each_index(GpuStream& stream, std::size_t n, F f) {
  static_assert(std::is_trivially_copyable_v<F>,
                "hetsched: a kernel's function is copied bytewise");
  if (n == 0) {
    return;
  }
  auto const loop = [n, f] {
    for (std::size_t i = 0; i < n; ++i) {
      f(i);
    }
  };
#ifdef __CUDACC__
  constexpr std::size_t threads = 256;
  constexpr std::size_t most_blocks = std::size_t{1} << 20U; // beyond, threads make several steps
  auto const blocks = std::min((n + threads - 1) / threads, most_blocks);
  auto const launches = [&](CUstream_st* queue) {
    detail::for_each_kernel<<<static_cast<unsigned>(blocks),
                              static_cast<unsigned>(threads),
                              0,
                              queue>>>(n, f);
  };
  detail::launch_as("for_each_index", stream, launches, loop);
#else
  if (!detail::emulated(stream, loop)) {
    throw Error(ErrorCode::cannot_run,
                "for_each_index",
                "on a CUDA device it needs a file that was compiled by nvcc");
  }
#endif
}

} // namespace hetsched::gpu
