// SPDX-License-Identifier: MIT
// DeviceSet: the loop of a worker that drives a device, compiled here for all schedulers.

#include <hetsched/detail/threads/device_driver.hpp>

#include "device_set.hpp"

namespace hetsched::detail {

void DeviceSet::drive(ThreadCore& core, ThreadWorker& worker) {
  DeviceDriver(core, worker, window(worker.info.node)).work();
}

} // namespace hetsched::detail
