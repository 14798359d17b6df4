// SPDX-License-Identifier: MIT
#pragma once
// What one-sided operations cost in virtual time, beside the network.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>

#include <string>

namespace hetsched {

/// Plain data. An operation is a message to its target and one back; those with values carry them
/// one way. Between the two the target sees to it, one operation after the other. Bandwidths in
/// bytes per second, above 0.
struct OneSidedCosts {
  Duration at_target{200};             // of each operation
  double accumulate_bytes_per_s = 4e9; // the target's, beside that: it adds what came
  /// From when an operation comes to its target until that sees it: 0 for a network that works on
  /// memory by itself; what a thread takes that looks for operations.
  Duration progress = {};
  /// Nobody looks while all cores of the target run bodies: an operation waits until one ends. So
  /// it is over messages, and with MPI's windows without hardware for them.
  bool between_bodies = false;
  double local_bytes_per_s = 8e9; // of a rank's operations on its own part, which are no messages
};

namespace detail {

/// Throws Error(bad_config).
inline void check_costs(OneSidedCosts const& costs) {
  auto const check = [](bool holds, char const* culprit, char const* why) {
    if (!holds) {
      throw Error(ErrorCode::bad_config, std::string("OneSidedCosts::") + culprit, why);
    }
  };
  check(costs.at_target.ns >= 0, "at_target", "is negative");
  check(costs.progress.ns >= 0, "progress", "is negative");
  check(costs.accumulate_bytes_per_s > 0, "accumulate_bytes_per_s", "is not above 0");
  check(costs.local_bytes_per_s > 0, "local_bytes_per_s", "is not above 0");
}

} // namespace detail
} // namespace hetsched
