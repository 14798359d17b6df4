// SPDX-License-Identifier: MIT
#include "runtime_programs.hpp"

#include <hetsched/policies/schedulers/eager.hpp>

#include "device_programs.hpp"

namespace interleavings {

namespace {

struct Default {
  using Runtime = hs::Runtime<>;

  static Runtime make(hs::Config const& config) { return Runtime(config); }
};

/// One central queue: the oldest first, whoever asks.
struct OldestFirst {
  using Runtime = hs::Runtime<hs::policies::Eager<>>;

  static Runtime make(hs::Config const& config) { return Runtime(config); }
};

constexpr Program oldest_first[] = {
    {"groups in bodies, oldest first", Programs<OldestFirst>::groups_in_bodies},
    {"partition in a body, oldest first", Programs<OldestFirst>::partition_in_a_body},
};

} // namespace

std::span<Program const> oldest_first_programs() {
  return oldest_first;
}

std::span<Program const> runtime_programs() {
  return Programs<Default>::all;
}

std::span<Program const> meeting_programs() {
  return Programs<Default>::meetings;
}

std::span<Program const> device_programs() {
  return DevicePrograms<Default>::all;
}

} // namespace interleavings
