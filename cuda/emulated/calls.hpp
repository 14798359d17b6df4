// SPDX-License-Identifier: MIT
#pragma once
// What the files that fill the emulation's table share.

#include <hetsched/gpu/device.h>

#include "../table/driver_table.hpp"
#include "device.hpp"
#include "stream.hpp"

namespace hetsched::emulated {

inline constexpr auto as_device = devices::own<Device, hs_device>;
inline constexpr auto as_stream = devices::own<Stream, hs_stream>;
inline constexpr auto as_event = devices::own<Event, hs_event>;

// Each sets its part of the table.
void set_device_calls(hs_driver& driver);
void set_stream_calls(hs_driver& driver);
void set_blas_calls(hs_driver& driver);

} // namespace hetsched::emulated
