// SPDX-License-Identifier: MIT
#pragma once
// CUDA's own handles and kernels of one's own, for bodies of tasks on GPUs: see
// docs/cuda_kernels.md. It needs nothing of the CUDA toolkit: nvcc brings what a kernel needs, and
// other compilers see declarations only.

#include <hetsched/core/device_code.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <string>
#include <utility>

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

#endif

/// Queues `emulate()` in the stream of an emulated device, and answers whether the device is one.
/// Throws Error(cannot_run) if it is another one without CUDA.
template <class Emulate>
bool emulated(GpuStream& stream, Emulate&& emulate) {
  if (stream.native() != nullptr) {
    return false;
  }
  if (!stream.run_emulated(std::forward<Emulate>(emulate))) {
    throw Error(ErrorCode::cannot_run, stream.driver().name, "this device runs no loops");
  }
  return true;
}

#ifdef __CUDACC__

/// `launch`; `call` names it in the error.
template <class Launches, class Emulate>
void launch_as(char const* call, GpuStream& stream, Launches const& launches, Emulate&& emulate) {
  if (!emulated(stream, std::forward<Emulate>(emulate))) {
    DeviceOf const current(native(stream));
    launches(native(stream));
    check_cuda(cudaGetLastError(), call);
  }
}

#endif

} // namespace detail

#ifdef __CUDACC__

/// Launches kernels of one's own, in a file for nvcc. On a CUDA device `launches(stream)` is called
/// at once, with that device as the current one; what it launches must be in that cudaStream_t. On
/// an emulated device `emulate()` is called in the order of the stream, later and perhaps on
/// another thread, and does the same work on the same views: so it holds copies of what it needs.
///
///     hs::gpu::launch(
///         stream,
///         [&](cudaStream_t queue) { kernel<<<blocks, threads, 0, queue>>>(n, y.data()); },
///         [n, y] { on_host(n, y.data()); });
///
/// Throws Error(device_failed) if CUDA refuses the launch, and Error(cannot_run) on a device
/// without CUDA that is not emulated.
template <class Launches, class Emulate>
void launch(GpuStream& stream, Launches const& launches, Emulate&& emulate) {
  detail::launch_as("launch", stream, launches, std::forward<Emulate>(emulate));
}

#endif

} // namespace hetsched::gpu
