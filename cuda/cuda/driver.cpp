// SPDX-License-Identifier: MIT
// CUDA's table, its part on devices and memory, and its errors.

#include "../last_error.hpp"
#include "calls.hpp"

#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace hetsched::cuda {
namespace {

using devices::fail;

hs_status status_of(cudaError_t error) {
  constexpr int contained = 226; // not in the headers of every CUDA 12
  constexpr int tensor_memory_leak = 721;
  if (static_cast<int>(error) == contained || static_cast<int>(error) == tensor_memory_leak) {
    return hs_lost;
  }
  switch (error) {
  case cudaSuccess:
    return hs_ok;
  case cudaErrorNotReady:
    return hs_not_ready;
  case cudaErrorMemoryAllocation:
    return hs_no_memory;
  case cudaErrorNoDevice:
  case cudaErrorInsufficientDriver:
  case cudaErrorStubLibrary:
  case cudaErrorSystemDriverMismatch:
  case cudaErrorSystemNotReady:
  case cudaErrorCompatNotSupportedOnDevice:
    return hs_no_driver;
  // After these the context of the process on the device answers nothing else.
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchTimeout:
  case cudaErrorContextIsDestroyed:
  case cudaErrorAssert:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure:
  case cudaErrorECCUncorrectable:
  case cudaErrorNvlinkUncorrectable:
  case cudaErrorMpsClientTerminated:
  case cudaErrorExternalDevice:
  case cudaErrorCudartUnloading:
  case cudaErrorUnknown:
    return hs_lost;
  default:
    return hs_failed;
  }
}

/// For devices::set_device_calls.
struct DeviceCalls {
  static hs_status count(int* devices) {
    *devices = 0;
    auto const status = check(nullptr, cudaGetDeviceCount(devices), "cudaGetDeviceCount");
    return status == hs_ok ? hs_ok : hs_no_driver; // whatever is wrong with it
  }

  /// `capacity` is not for CUDA devices to choose.
  static hs_status open(int ordinal, std::size_t, char const* options, hs_device** device) {
    *device = nullptr;
    int devices = 0;
    if (auto const status = count(&devices); status != hs_ok) {
      return status;
    }
    if (ordinal < 0 || ordinal >= devices) {
      return fail(hs_failed,
                  "open: there is no CUDA device " + std::to_string(ordinal) + " among " +
                      std::to_string(devices));
    }
    if (options != nullptr && *options != '\0') {
      return fail(hs_failed, std::string("open: CUDA devices have no option '") + options + "'");
    }
    auto opened = std::make_unique<Device>();
    opened->ordinal = ordinal;
    cudaDeviceProp properties{};
    auto status = check(
        opened.get(), cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    if (status != hs_ok) {
      return status;
    }
    opened->name = properties.name;
    Current const current(*opened);
    if (current.status() != hs_ok) {
      return current.status();
    }
    // Makes the context, so that a device that cannot be used is found out now.
    status = check(opened.get(), cudaFree(nullptr), "cudaFree");
    if (status == hs_ok) {
      *device = reinterpret_cast<hs_device*>(opened.release());
    }
    return status;
  }

  static void close(hs_device* device) { delete &as_device(device); }

  static char const* describe(hs_device* device) { return as_device(device).name.c_str(); }

  static hs_status memory(hs_device* device, std::size_t* unused, std::size_t* total) {
    auto& of = as_device(device);
    return on_device(of, "cudaMemGetInfo", [&] { return cudaMemGetInfo(unused, total); });
  }

  static int reaches(hs_device* from, hs_device* to) {
    auto const& first = as_device(from);
    auto const& second = as_device(to);
    int can = 1;
    if (first.ordinal != second.ordinal &&
        cudaDeviceCanAccessPeer(&can, first.ordinal, second.ordinal) != cudaSuccess) {
      (void)cudaGetLastError();
      return 0;
    }
    return can;
  }

  static hs_status allocate(hs_device* device, std::size_t bytes, void** memory) {
    *memory = nullptr;
    auto& of = as_device(device);
    return on_device(of, "cudaMalloc", [&] { return cudaMalloc(memory, bytes); });
  }

  static void release(hs_device* device, void* memory) {
    auto& of = as_device(device);
    Current const current(of);
    (void)check(&of, cudaFree(memory), "cudaFree");
  }

  static hs_status adopt(hs_device* device, void* memory, std::size_t) {
    auto& of = as_device(device);
    Current const current(of);
    if (current.status() != hs_ok) {
      return current.status();
    }
    cudaPointerAttributes what{};
    auto const status =
        check(&of, cudaPointerGetAttributes(&what, memory), "cudaPointerGetAttributes");
    if (status != hs_ok) {
      return status;
    }
    bool const on_a_device =
        what.type == cudaMemoryTypeDevice || what.type == cudaMemoryTypeManaged;
    return on_a_device && what.device == of.ordinal
               ? hs_ok
               : fail(hs_failed,
                      "adopt: this is no memory of CUDA device " + std::to_string(of.ordinal));
  }

  static void disown(hs_device*, void*) {}

  static hs_status allocate_pinned(hs_device* device, std::size_t bytes, void** memory) {
    *memory = nullptr;
    auto& of = as_device(device);
    return on_device(
        of, "cudaHostAlloc", [&] { return cudaHostAlloc(memory, bytes, cudaHostAllocPortable); });
  }

  static void release_pinned(hs_device* device, void* memory) {
    auto& of = as_device(device);
    Current const current(of);
    (void)check(&of, cudaFreeHost(memory), "cudaFreeHost");
  }

  static hs_status pin(hs_device* device, void* memory, std::size_t bytes) {
    auto& of = as_device(device);
    return on_device(of, "cudaHostRegister", [&] {
      return cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
    });
  }

  static void unpin(hs_device* device, void* memory) {
    auto& of = as_device(device);
    Current const current(of);
    (void)check(&of, cudaHostUnregister(memory), "cudaHostUnregister");
  }

  static void renew(hs_device*, void*, std::size_t) {}
};

void range_begin(char const* name) {
  nvtxRangePushA(name);
}

void range_end() {
  nvtxRangePop();
}

hs_driver make_driver() {
  auto driver = devices::empty_table("cuda");
  set_device_calls(driver);
  set_stream_calls(driver);
  set_blas_calls(driver);
  set_solver_calls(driver);
  driver.range_begin = range_begin;
  driver.range_end = range_end;
  return driver;
}

} // namespace

hs_status check(Device* device, cudaError_t error, char const* call) {
  auto const status = status_of(error);
  if (status == hs_ok) {
    return hs_ok;
  }
  (void)cudaGetLastError(); // else the program would find it after a call of its own
  if (status == hs_not_ready) {
    return hs_not_ready;
  }
  if (status == hs_lost && device != nullptr) {
    device->lost = true;
  }
  auto const where = device == nullptr ? "" : " on CUDA device " + std::to_string(device->ordinal);
  return fail(status,
              std::string(call) + where + ": " + cudaGetErrorName(error) + ", " +
                  cudaGetErrorString(error));
}

hs_status library_failure(Device* device, hs_status status, char const* call, char const* text) {
  // Their own status says little of what happened to the device.
  if (auto const error = cudaGetLastError(); status_of(error) == hs_lost) {
    return check(device, error, call);
  }
  return fail(status,
              std::string(call) + " on CUDA device " + std::to_string(device->ordinal) + ": " +
                  text);
}

Current::Current(Device& device) {
  if (device.lost) {
    status_ = fail(hs_lost, "CUDA device " + std::to_string(device.ordinal) + " is lost");
    return;
  }
  int previous = 0;
  status_ = check(&device, cudaGetDevice(&previous), "cudaGetDevice");
  if (status_ == hs_ok && previous != device.ordinal) {
    status_ = check(&device, cudaSetDevice(device.ordinal), "cudaSetDevice");
    previous_ = status_ == hs_ok ? previous : -1;
  }
}

Current::~Current() {
  if (previous_ >= 0) {
    (void)cudaSetDevice(previous_);
  }
}

bool enable_peer(Device& from, Device& to) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> enabled;
  std::lock_guard const lock(mutex);
  std::pair const pair(from.ordinal, to.ordinal);
  if (enabled.contains(pair)) {
    return true;
  }
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, from.ordinal, to.ordinal) != cudaSuccess || can == 0) {
    (void)cudaGetLastError();
    return false;
  }
  Current const current(from);
  auto const error = cudaDeviceEnablePeerAccess(to.ordinal, 0);
  (void)cudaGetLastError();
  if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled) {
    return false;
  }
  enabled.insert(pair);
  return true;
}

void set_device_calls(hs_driver& driver) {
  devices::set_device_calls<DeviceCalls>(driver);
}

} // namespace hetsched::cuda

hs_driver const* hetsched_cuda_driver() {
  static auto const driver = hetsched::cuda::make_driver();
  return &driver;
}
