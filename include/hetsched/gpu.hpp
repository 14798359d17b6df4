// SPDX-License-Identifier: MIT
#pragma once
// Devices for a program: included in one of its files at least, which then links hetsched-devices.

#include <hetsched/core/version.hpp>
#include <hetsched/detail/engine/devices.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

/// For the library: in cuda/set/device_set.cpp.
hetsched::detail::Devices* hetsched_open_devices(hetsched::Config const& config,
                                                 hetsched::detail::CacheKind const& cache,
                                                 hetsched::detail::TransferCosts const& costs);

namespace hetsched::detail {

inline bool const devices_announced = [] {
  devices_factory = &hetsched_open_devices;
  return true;
}();

} // namespace hetsched::detail
