// SPDX-License-Identifier: MIT
#pragma once
// The devices that a user asks for: HETSCHED_DEVICES and Config::devices.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// One device to open.
struct DeviceChoice {
  std::string driver;       // "cuda", "emu"
  int ordinal = 0;          // the driver's number of it
  std::size_t capacity = 0; // bytes for data; 0: what the driver has
  std::string options;      // for the driver
};

/// Reads a list such as `cuda:0,1;emu:2@256MB?latency=10us`: entries separated by semicolons, each
/// a driver; behind a colon, for cuda the numbers of devices (all, if there is no colon), for emu
/// how many (1); behind an @ the memory of each, with KB, MB or GB, powers of 1024; behind a
/// question mark options for the driver. `none`, or nothing: no devices. Throws Error(bad_config)
/// that names `source`, the setting that the text comes from, and the entry.
///
/// `cuda_devices`: how many there are, asked for only if all are meant.
[[nodiscard]] std::vector<DeviceChoice>
read_device_list(std::string_view text, char const* source, int (*cuda_devices)());

} // namespace hetsched::detail
