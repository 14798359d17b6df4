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
  int ordinal = 0;          // its number at the driver
  std::size_t capacity = 0; // bytes for data; 0: what the driver has
  std::string options;      // for the driver
  bool own_pages = false;   // each copy of a datum lies on pages of its own (Check::access)
};

/// Reads a list such as `cuda:0,1;emu:2@256MB?latency=10us`: entries separated by semicolons, each
/// for one driver. A colon begins the numbers of devices for cuda (without it: all), and how many
/// for emu (without it: 1). An @ begins the memory of each, with KB, MB or GB, powers of 1024. A
/// question mark begins options for the driver. `none`, or an empty text: no devices. Throws an
/// Error(bad_config) that names the entry and `source`, the setting that the text comes from.
///
/// `cuda_devices` answers how many there are. It is called only if the list asks for all.
[[nodiscard]] std::vector<DeviceChoice>
read_device_list(std::string_view text, char const* source, int (*cuda_devices)());

} // namespace hetsched::detail
