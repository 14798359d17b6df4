// SPDX-License-Identifier: MIT
#pragma once
// Kernels that the host runs for an emulated device.

#include <hetsched/core/error.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <utility>

namespace support {

/// Throws what the device says if it is lost. In doctest's REQUIRE that would fail the test,
/// instead of ending the body.
template <class Kernel>
void launch(hetsched::GpuStream& stream, Kernel kernel) {
  if (!stream.run_emulated(std::move(kernel))) {
    throw hetsched::Error(hetsched::ErrorCode::bad_call, "kernel", "is for emulated devices");
  }
}

} // namespace support
