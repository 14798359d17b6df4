// SPDX-License-Identifier: MIT
// hetsched_cuda_driver() where the build had no CUDA toolkit: there are no devices.

#include <hetsched/gpu/device.h>

#include "../table/driver_table.hpp"

namespace {

constexpr char const* why = "hetsched was built without CUDA";

hs_status count(int* devices) {
  *devices = 0;
  return hetsched::devices::fail(hs_no_driver, why);
}

hs_status open(int, size_t, char const*, hs_device** device) {
  *device = nullptr;
  return hetsched::devices::fail(hs_no_driver, why);
}

hs_driver make_driver() {
  auto driver = hetsched::devices::empty_table("cuda"); // there is no device to call more of
  driver.count = count;
  driver.open = open;
  return driver;
}

} // namespace

hs_driver const* hetsched_cuda_driver() {
  static auto const driver = make_driver();
  return &driver;
}
