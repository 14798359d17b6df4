// SPDX-License-Identifier: MIT
#pragma once
// Loops as kernels, and CUDA's own handles, for bodies of tasks on GPUs. It needs nothing of the
// CUDA toolkit: nvcc brings what a kernel needs, and other compilers see declarations only.
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

#include <hetsched/core/device_code.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

struct CUstream_st;   // cudaStream_t is a pointer to it
struct cublasContext; // and cublasHandle_t to this

namespace hetsched::gpu {

/// The cudaStream_t to launch in, on the device it belongs to; null on emulated devices.
[[nodiscard]] inline CUstream_st* native(GpuStream const& stream) noexcept {
  return static_cast<CUstream_st*>(stream.native());
}

/// A cublasHandle_t bound to that stream, in host pointer mode; null on emulated devices. For this
/// body only: nobody else uses it meanwhile.
[[nodiscard]] inline cublasContext* cublas(GpuStream const& stream) noexcept {
  return static_cast<cublasContext*>(stream.blas());
}

namespace detail {

#ifdef __CUDACC__

inline constexpr bool compiled_by_nvcc = true;

inline void check_cuda(cudaError_t error, char const* call) {
  if (error != cudaSuccess) {
    throw Error(
        ErrorCode::device_failed, "cuda", std::string(call) + ": " + cudaGetErrorString(error));
  }
}

/// While it lives, the stream's device is the calling thread's current one: a kernel cannot be
/// launched otherwise.
class DeviceOf {
public:
  explicit DeviceOf([[maybe_unused]] CUstream_st* stream) {
#if CUDART_VERSION >= 12080 // before, a process that uses several devices has to see to it itself
    int device = 0;
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaStreamGetDevice(stream, &device), "cudaStreamGetDevice");
    if (device == before_) {
      before_ = -1;
    } else {
      check_cuda(cudaSetDevice(device), "cudaSetDevice");
    }
#endif
  }

  DeviceOf(DeviceOf const&) = delete;
  DeviceOf& operator=(DeviceOf const&) = delete;

  ~DeviceOf() {
    if (before_ >= 0) {
      (void)cudaSetDevice(before_);
    }
  }

private:
  int before_ = -1; // -1: leave it
};

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
  if (stream.native() == nullptr) {
    bool const given = stream.run_emulated([n, f] {
      for (std::size_t i = 0; i < n; ++i) {
        f(i);
      }
    });
    if (!given) {
      throw Error(ErrorCode::cannot_run, stream.driver().name, "this device runs no loops");
    }
    return;
  }
#ifdef __CUDACC__
  constexpr std::size_t threads = 256;
  constexpr std::size_t most_blocks = std::size_t{1} << 20U; // beyond, threads make several steps
  detail::DeviceOf const current(native(stream));
  auto const blocks = std::min((n + threads - 1) / threads, most_blocks);
  detail::for_each_kernel<<<static_cast<unsigned>(blocks),
                            static_cast<unsigned>(threads),
                            0,
                            native(stream)>>>(n, f);
  detail::check_cuda(cudaGetLastError(), "for_each_index");
#else
  throw Error(ErrorCode::cannot_run,
              "for_each_index",
              "on a CUDA device it needs a file that was compiled by nvcc");
#endif
}

} // namespace hetsched::gpu
