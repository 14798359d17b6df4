// SPDX-License-Identifier: MIT
#pragma once
// Schedulers by name, in two files: they take long to compile.

#include <hetsched/hetsched.hpp>
#include <hetsched/simulated_runtime.hpp>

#include "known_times.hpp"
#include "schedulers.hpp"

#include <span>
#include <string_view>

namespace kumar2017 {

struct Policy {
  std::string_view name;
  Outcome (*run)(hs::Simulation const&, hs::TaskGraph const&, hs::Allocation const&);
};

template <class Scheduler>
Outcome
simulate(hs::Simulation const& config, hs::TaskGraph const& graph, hs::Allocation const& allowed) {
  hs::SimulatedRuntime<Scheduler, hs::policies::Lru, KnownTimes> rt(config);
  rt.run(graph, allowed);
  return outcome_of(rt.stats(), config.platform);
}

/// HeteroPrio's forms.
[[nodiscard]] std::span<Policy const> hetero_prio_policies();

} // namespace kumar2017
