// SPDX-License-Identifier: MIT
#include "runtime_programs.hpp"

#include <hetsched/policies/schedulers/eager.hpp>

#include "claim_programs.hpp"
#include "device_programs.hpp"

namespace interleavings {

namespace {

template <class... Policies>
struct With {
  using Runtime = hs::Runtime<Policies...>;

  static Runtime make(hs::Config const& config) { return Runtime(config); }
};

using Default = With<>;

/// One central queue: the oldest first, whoever asks.
using OldestFirst = With<hs::policies::Eager<>>;

/// The same, with times of tasks.
template <std::int64_t Host, std::int64_t Device>
using Timed = With<hs::policies::Eager<>, hs::policies::Lru, FixedTimes<Host, Device>>;

using FastHost = Timed<1, 1000000000>; // a core ends any claimed task sooner
using FastDevice = Timed<1000000000, 1>;

constexpr Program claimed[] = {
    {"claimed beside thieves", ClaimPrograms<Default>::on_one},
    {"claimed beside thieves by two", ClaimPrograms<Default>::on_two},
    {"made ready together beside thieves", ClaimPrograms<Default>::made_ready_together},
    {"claimed and waited for beside thieves", ClaimPrograms<Default>::waited_for_in_a_body},
    {"claimed and lost beside thieves", ClaimPrograms<Default>::lost<2>},
    {"claimed", ClaimPrograms<OldestFirst>::on_one},
    {"claimed by two", ClaimPrograms<OldestFirst>::on_two},
    {"claimed and waited for", ClaimPrograms<OldestFirst>::waited_for_in_a_body},
    {"claimed and lost at event 1", ClaimPrograms<OldestFirst>::lost<1>},
    {"claimed and lost at event 3", ClaimPrograms<OldestFirst>::lost<3>},
    {"claimed beside a failure", ClaimPrograms<OldestFirst>::beside_a_failure},
    {"claimed, cores are faster", ClaimPrograms<FastHost>::on_one},
    {"made ready together, cores are faster", ClaimPrograms<FastHost>::made_ready_together},
    {"claimed and waited for, cores are faster", ClaimPrograms<FastHost>::waited_for_in_a_body},
    {"claimed and lost, cores are faster", ClaimPrograms<FastHost>::lost<2>},
    {"claimed, the device is faster", ClaimPrograms<FastDevice>::on_one},
    {"claimed by two, devices are faster", ClaimPrograms<FastDevice>::on_two},
    {"claimed and lost, the device is faster", ClaimPrograms<FastDevice>::lost<2>},
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

std::span<Program const> claim_programs() {
  return claimed;
}

std::span<Program const> device_programs() {
  return DevicePrograms<Default>::all;
}

} // namespace interleavings
