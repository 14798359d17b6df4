// SPDX-License-Identifier: MIT
#pragma once
// What the files that fill CUDA's table share.
//
// Each call makes its device the thread's current one and sets it back, so that programs may call
// cudaSetDevice as they like. Nothing here uses the default stream or waits for a whole device.

#include <hetsched/gpu/device.h>

#include "../table/arguments.hpp"
#include "../table/driver_table.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

namespace hetsched::cuda {

struct Device {
  int ordinal = 0;
  std::string name{};
  std::atomic<bool> lost{false};
};

struct Stream {
  Device* device = nullptr;
  cudaStream_t native = nullptr;
  cublasHandle_t blas = nullptr;
  void* workspace = nullptr; // cuBLAS's
  void* solver = nullptr;    // cusolverDnHandle_t, made when first needed
  std::mutex mutex{};        // of the handles: they are for one thread at a time
};

struct Event {
  Device* device = nullptr;
  cudaEvent_t native = nullptr;
};

inline constexpr auto as_device = devices::own<Device, hs_device>;
inline constexpr auto as_stream = devices::own<Stream, hs_stream>;
inline constexpr auto as_event = devices::own<Event, hs_event>;

/// hs_ok and hs_not_ready as they are; else notes the failure for last_error, clears CUDA's own,
/// and marks the device as lost if it is. `call`: CUDA's name of it.
[[nodiscard]] hs_status check(Device* device, cudaError_t error, char const* call);
/// The same for cuBLAS.
[[nodiscard]] hs_status check(Device* device, cublasStatus_t status, char const* call);
/// For libraries on top of CUDA: the device may be lost behind their failure.
[[nodiscard]] hs_status
library_failure(Device* device, hs_status status, char const* call, char const* text);

/// While it lives, the device is the calling thread's current one.
class Current {
public:
  explicit Current(Device& device);
  Current(Current const&) = delete;
  Current& operator=(Current const&) = delete;
  ~Current();

  /// Whether it could be; hs_lost if the device is known to be.
  [[nodiscard]] hs_status status() const noexcept { return status_; }

private:
  int previous_ = -1; // -1: leave it
  hs_status status_;
};

/// What `call` answers, checked under its name, with the device as the thread's current one.
template <class F>
[[nodiscard]] hs_status on_device(Device& device, char const* name, F const& call) {
  Current const current(device);
  return current.status() != hs_ok ? current.status() : check(&device, call(), name);
}

/// What f(on) answers, unless the arguments are wrong: with the stream's device as the thread's
/// current one, and the stream's handles for this thread.
template <class F>
[[nodiscard]] hs_status with_handles(Stream& on, devices::Arguments const& arguments, F const& f) {
  if (auto const status = arguments.status(); status != hs_ok) {
    return status;
  }
  Current const current(*on.device);
  if (current.status() != hs_ok) {
    return current.status();
  }
  std::lock_guard const lock(on.mutex);
  return f(on);
}

/// Lets `from`'s kernels and copies reach `to`'s memory directly; false if they cannot.
bool enable_peer(Device& from, Device& to);

// Handles of a stream, for stream_create and stream_destroy.
[[nodiscard]] hs_status create_blas(Stream& stream);
void destroy_blas(Stream& stream);
void destroy_solver(Stream& stream);

// Each sets its part of the table.
void set_device_calls(hs_driver& driver);
void set_stream_calls(hs_driver& driver);
void set_blas_calls(hs_driver& driver);
void set_solver_calls(hs_driver& driver);

} // namespace hetsched::cuda
