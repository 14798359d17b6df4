// SPDX-License-Identifier: MIT
#pragma once
// What the files that fill the emulation's table share.

#include <hetsched/device.h>

#include "emulated_device.hpp"
#include "emulated_stream.hpp"

namespace hetsched::emulated {

// hs_device, hs_stream and hs_event are never defined: each driver casts to its own types.

inline Device& as_device(hs_device* device) {
  return *reinterpret_cast<Device*>(device);
}

inline Stream& as_stream(hs_stream* stream) {
  return *reinterpret_cast<Stream*>(stream);
}

inline Event& as_event(hs_event* event) {
  return *reinterpret_cast<Event*>(event);
}

// Each sets its part of the table.
void set_device_calls(hs_driver& driver);
void set_stream_calls(hs_driver& driver);
void set_blas_calls(hs_driver& driver);

} // namespace hetsched::emulated
