// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace soak {

/// Runs a random graph on a random machine in virtual time, twice. Prints the settings, and what is
/// wrong. Whether all is right.
bool run_simulated(std::uint64_t seed);

} // namespace soak
