// SPDX-License-Identifier: MIT
#pragma once
// How drivers fill their tables: each part from a struct whose static functions have the names of
// the table's entries.

#include <hetsched/gpu/device.h>

#include "../last_error.hpp"

namespace hetsched::devices {

/// What a driver means by a handle: hs_device, hs_stream and hs_event are never defined.
template <class Own, class Handle>
[[nodiscard]] Own& own(Handle* handle) {
  return *reinterpret_cast<Own*>(handle);
}

/// A table without calls.
[[nodiscard]] inline hs_driver empty_table(char const* name) {
  hs_driver driver{};
  driver.version = HETSCHED_DEVICE_INTERFACE;
  driver.name = name;
  driver.last_error = last_error;
  return driver;
}

template <class Calls>
void set_device_calls(hs_driver& driver) {
  driver.count = Calls::count;
  driver.open = Calls::open;
  driver.close = Calls::close;
  driver.describe = Calls::describe;
  driver.memory = Calls::memory;
  driver.reaches = Calls::reaches;
  driver.allocate = Calls::allocate;
  driver.release = Calls::release;
  driver.adopt = Calls::adopt;
  driver.disown = Calls::disown;
  driver.allocate_pinned = Calls::allocate_pinned;
  driver.release_pinned = Calls::release_pinned;
  driver.pin = Calls::pin;
  driver.unpin = Calls::unpin;
  driver.renew = Calls::renew;
}

template <class Calls>
void set_stream_calls(hs_driver& driver) {
  driver.stream_create = Calls::stream_create;
  driver.stream_destroy = Calls::stream_destroy;
  driver.stream_synchronize = Calls::stream_synchronize;
  driver.stream_wait = Calls::stream_wait;
  driver.stream_device = Calls::stream_device;
  driver.stream_native = Calls::stream_native;
  driver.stream_blas = Calls::stream_blas;
  driver.event_create = Calls::event_create;
  driver.event_destroy = Calls::event_destroy;
  driver.event_record = Calls::event_record;
  driver.event_record_native = Calls::event_record_native;
  driver.event_query = Calls::event_query;
  driver.event_synchronize = Calls::event_synchronize;
  driver.event_elapsed = Calls::event_elapsed;
  driver.copy = Calls::copy;
  driver.fill = Calls::fill;
  driver.run = Calls::run;
}

} // namespace hetsched::devices
