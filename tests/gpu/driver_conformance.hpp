// SPDX-License-Identifier: MIT
#pragma once
// Checks what every driver must do, on its first device. The driver must have a device.

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
/// Compares BLAS with plain loops. Does nothing if the driver has no BLAS.
void check_blas(hs_driver const* driver);
/// Does nothing if the driver has no LAPACK.
void check_lapack(hs_driver const* driver);

} // namespace devices_test
