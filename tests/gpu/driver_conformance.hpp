// SPDX-License-Identifier: MIT
#pragma once
// What every driver has to do, checked on its first device. Not for drivers without devices.

#include <hetsched/gpu/device.h>

namespace devices_test {

void check_description(hs_driver const* driver);
void check_memory(hs_driver const* driver);
void check_adoption(hs_driver const* driver);
void check_pinning(hs_driver const* driver);
void check_copies(hs_driver const* driver);
void check_events(hs_driver const* driver);
void check_waits(hs_driver const* driver);
void check_wrong_calls(hs_driver const* driver);
/// Against plain loops; nothing if the driver has no BLAS.
void check_blas(hs_driver const* driver);
/// Nothing if the driver has no LAPACK.
void check_lapack(hs_driver const* driver);

} // namespace devices_test
