// SPDX-License-Identifier: MIT
#pragma once
// What a GPU body is given to launch its kernels in.

#include <hetsched/core/error.hpp>
#include <hetsched/gpu/device.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace hetsched {

namespace detail {

/// Where GpuBranches gets its streams: of one task, while its body runs.
class BranchSource {
public:
  /// Streams that begin when the task's own has reached what it was given until now. Throws
  /// Error(device_failed).
  virtual void fork(std::span<hs_stream*> branches) = 0;

  /// The task's own stream waits for them. What fails in one of them fails the task.
  virtual void join(std::span<hs_stream* const> branches) noexcept = 0;

protected:
  ~BranchSource() = default;
};

} // namespace detail

/// The stream in which the body of a task launches its kernels. Valid while the body runs. A body
/// never waits for what it launched: the task is complete when the stream has reached the end of
/// it.
///
/// On a CUDA device `native()` is the cudaStream_t and `blas()` a cublasHandle_t bound to it; on an
/// emulated one both are null. `gpu_blas.hpp` has BLAS for all kinds of device,
/// `gpu/for_each.hpp` loops.
class GpuStream {
public:
  /// For the library. `places`: where the task's data are in device memory, in the order of its
  /// parameters. `branches`: see GpuBranches.
  GpuStream(hs_driver const& driver,
            hs_stream* stream,
            std::span<void* const> places,
            detail::BranchSource* branches = nullptr) noexcept
      : driver_(&driver), stream_(stream), places_(places), branches_(branches) {}

  GpuStream(GpuStream const&) = delete;
  GpuStream& operator=(GpuStream const&) = delete;

  [[nodiscard]] void* native() const noexcept { return driver_->stream_native(stream_); }

  [[nodiscard]] void* blas() const noexcept { return driver_->stream_blas(stream_); }

  /// The table of functions of this kind of device, and the stream as they know it.
  [[nodiscard]] hs_driver const& driver() const noexcept { return *driver_; }

  [[nodiscard]] hs_stream* stream() const noexcept { return stream_; }

  /// Throws Error(device_failed) with the device's words if an operation was refused.
  void check(hs_status status) const {
    if (status != hs_ok) {
      throw Error(ErrorCode::device_failed, driver_->name, driver_->last_error());
    }
  }

  /// Calls `f()` on a host thread that may address the device's memory, in the order of the stream.
  /// False, and nothing done, where there is no such thread: f is a kernel for emulated devices.
  template <class F>
  [[nodiscard]] bool run_emulated(F f) {
    auto* const call = new F(static_cast<F&&>(f));
    auto const status = driver_->run(
        stream_,
        [](void* argument) { (*static_cast<F*>(argument))(); },
        [](void* argument) { delete static_cast<F*>(argument); },
        call);
    if (status == hs_not_supported) {
      return false;
    }
    check(status);
    return true;
  }

  /// For the library: where the task's data are.
  [[nodiscard]] std::span<void* const> places() const noexcept { return places_; }

  [[nodiscard]] detail::BranchSource* branches() const noexcept { return branches_; }

private:
  hs_driver const* driver_;
  hs_stream* stream_;
  std::span<void* const> places_;
  detail::BranchSource* branches_; // null: it is one itself
};

} // namespace hetsched
