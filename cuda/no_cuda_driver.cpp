// SPDX-License-Identifier: MIT
// hetsched_cuda_driver() where the build had no CUDA toolkit: there are no devices.

#include <hetsched/device.h>

#include "last_error.hpp"

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
  hs_driver driver{}; // nothing else can be called: there is no device
  driver.version = HETSCHED_DEVICE_INTERFACE;
  driver.name = "cuda";
  driver.last_error = hetsched::devices::last_error;
  driver.count = count;
  driver.open = open;
  return driver;
}

} // namespace

hs_driver const* hetsched_cuda_driver() {
  static auto const driver = make_driver();
  return &driver;
}
