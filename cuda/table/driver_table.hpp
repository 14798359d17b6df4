// SPDX-License-Identifier: MIT
#pragma once
// How drivers fill their tables: each part from a struct whose static functions have the names of
// the table's entries.

#include <hetsched/gpu/device.h>

#include "../last_error.hpp"

#include <new>

namespace hetsched::devices {

/// What a driver means by a handle: hs_device, hs_stream and hs_event are never defined.
template <class Own, class Handle>
[[nodiscard]] Own& own(Handle* handle) {
  return *reinterpret_cast<Own*>(handle);
}

/// `function` for a table: without memory it fails. No exception leaves a driver.
template <auto function>
struct Guarded;

template <class... Arguments, hs_status (*function)(Arguments...)>
struct Guarded<function> {
  static hs_status call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (std::bad_alloc const&) {
      return fail(hs_no_memory, "out of memory");
    }
  }
};

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
  driver.open = Guarded<&Calls::open>::call;
  driver.close = Calls::close;
  driver.describe = Calls::describe;
  driver.memory = Guarded<&Calls::memory>::call;
  driver.reaches = Calls::reaches;
  driver.allocate = Guarded<&Calls::allocate>::call;
  driver.release = Calls::release;
  driver.adopt = Guarded<&Calls::adopt>::call;
  driver.disown = Calls::disown;
  driver.allocate_pinned = Guarded<&Calls::allocate_pinned>::call;
  driver.release_pinned = Calls::release_pinned;
  driver.pin = Guarded<&Calls::pin>::call;
  driver.unpin = Calls::unpin;
  driver.renew = Calls::renew;
}

template <class Calls>
void set_stream_calls(hs_driver& driver) {
  driver.stream_create = Guarded<&Calls::stream_create>::call;
  driver.stream_destroy = Calls::stream_destroy;
  driver.stream_synchronize = Guarded<&Calls::stream_synchronize>::call;
  driver.stream_wait = Guarded<&Calls::stream_wait>::call;
  driver.stream_device = Calls::stream_device;
  driver.stream_native = Calls::stream_native;
  driver.stream_blas = Calls::stream_blas;
  driver.event_create = Guarded<&Calls::event_create>::call;
  driver.event_destroy = Calls::event_destroy;
  driver.event_record = Guarded<&Calls::event_record>::call;
  driver.event_record_native = Guarded<&Calls::event_record_native>::call;
  driver.event_query = Guarded<&Calls::event_query>::call;
  driver.event_synchronize = Guarded<&Calls::event_synchronize>::call;
  driver.event_elapsed = Guarded<&Calls::event_elapsed>::call;
  driver.copy = Guarded<&Calls::copy>::call;
  driver.fill = Guarded<&Calls::fill>::call;
  driver.run = Guarded<&Calls::run>::call;
}

} // namespace hetsched::devices
