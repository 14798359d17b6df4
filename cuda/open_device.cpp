// SPDX-License-Identifier: MIT
#include "device_set.hpp"

#include <algorithm>

namespace hetsched::detail {

OpenDevice::OpenDevice(hs_driver const& its_driver,
                       DeviceChoice const& choice,
                       NodeId its_node,
                       int compute_streams)
    : driver(its_driver), node(its_node) {
  try {
    require(driver.open(choice.ordinal, choice.capacity, choice.options.c_str(), &device));
    name = driver.describe(device);
    std::size_t unused = 0;
    std::size_t total = 0;
    require(driver.memory(device, &unused, &total));
    // What the driver and the libraries need beside our block on a device that others use, too.
    auto const available = choice.driver == "cuda" ? unused - unused / 10 : unused;
    capacity = choice.capacity == 0 ? available : std::min(choice.capacity, unused);
    require(driver.allocate(device, capacity, &memory_));
    require(driver.stream_create(device, &in));
    require(driver.stream_create(device, &out));
    for (int k = 0; k < compute_streams; ++k) {
      hs_stream* stream = nullptr;
      require(driver.stream_create(device, &stream));
      compute.push_back(stream);
    }
  } catch (...) {
    close();
    throw;
  }
}

OpenDevice::~OpenDevice() {
  close();
}

hs_event* OpenDevice::take_event() {
  if (!events_.empty()) {
    auto* const event = events_.back();
    events_.pop_back();
    return event;
  }
  hs_event* event = nullptr;
  return driver.event_create(device, &event) == hs_ok ? event : nullptr;
}

void OpenDevice::close() noexcept {
  if (device == nullptr) {
    return;
  }
  for (auto* stream : compute) {
    driver.stream_destroy(stream);
  }
  for (auto* stream : {in, out}) {
    if (stream != nullptr) {
      driver.stream_destroy(stream);
    }
  }
  for (auto* event : events_) {
    driver.event_destroy(event);
  }
  if (memory_ != nullptr) {
    driver.release(device, memory_);
  }
  driver.close(device);
}

void OpenDevice::require(hs_status status) const {
  if (status != hs_ok) {
    throw Error(ErrorCode::bad_config, name.empty() ? driver.name : name, driver.last_error());
  }
}

} // namespace hetsched::detail
