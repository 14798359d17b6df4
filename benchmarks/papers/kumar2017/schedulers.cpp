// SPDX-License-Identifier: MIT

#include "schedulers.hpp"

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/dynamic_heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/simulated_runtime.hpp>

#include "known_times.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace kumar2017 {

namespace {

template <class Scheduler>
Outcome simulate(hs::Simulation const& config, hs::TaskGraph const& graph) {
  hs::SimulatedRuntime<Scheduler, hs::policies::Lru, KnownTimes> rt(config);
  rt.run(graph);
  return outcome_of(rt.stats(), config.platform);
}

struct Policy {
  std::string_view name;
  Outcome (*run)(hs::Simulation const&, hs::TaskGraph const&);
};

constexpr std::array policies{
    Policy{"random", simulate<hs::policies::Random<>>},
    Policy{"dmda", simulate<hs::policies::Dmda<>>},
    Policy{"dmdas", simulate<hs::policies::Dmdas>},
    Policy{"heft", simulate<hs::policies::DynamicHeft>},
    Policy{"heftp", simulate<hs::policies::DynamicHeftp<>>},
    Policy{"heftp:let", simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::local_time>>},
    Policy{"heftp:gb", simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::gpus_busy>>},
    Policy{"heftp:mms",
           simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::min_makespan>>},
    Policy{"heteroprio", simulate<hs::policies::HeteroPrio>},
    Policy{"dualhp", simulate<hs::policies::DualHP>}};

Policy const* find(std::string const& name) {
  auto const* const found = std::find_if(
      policies.begin(), policies.end(), [&](Policy const& its) { return its.name == name; });
  return found == policies.end() ? nullptr : found;
}

} // namespace

bool is_scheduler(std::string const& name) {
  return find(name) != nullptr;
}

hs::Simulation simulation_of(Case const& its, RunOptions const& options) {
  auto const rank = options.rank == "avg"    ? hs::Priorities::bottom_avg
                    : options.rank == "fifo" ? hs::Priorities::own
                                             : hs::Priorities::bottom_min;
  return {.platform = its.platform,
          .algorithm = its.algorithm,
          .precision = hs::Precision::double_precision,
          .tile = 960,
          .library = its.library,
          .serve = hs::Simulation::Serve::cpu,
          .noise = options.per_task_noise,
          .noise_is = hs::Simulation::Noise::per_task,
          .seed = options.seed,
          .priorities = rank};
}

Outcome outcome_of(hs::Stats const& stats, hs::Platform const& platform) {
  Outcome its;
  its.makespan = stats.elapsed;
  std::size_t worker = 0;
  for (auto const& one : platform.classes) {
    std::size_t const side = one.arch == hs::ArchCUDA ? 1 : 0;
    its.workers[side] += one.workers;
    for (int k = 0; k < one.workers; ++k, ++worker) {
      its.idle[side] += stats.workers[worker].idle;
      its.cpus_used += side == 0 && stats.workers[worker].executed > 0 ? 1 : 0;
    }
  }
  for (auto const& type : stats.types) {
    its.count[type.name][type.arch == hs::ArchCUDA ? 1 : 0] += type.count;
  }
  return its;
}

Outcome run(std::string const& name, Case const& its, RunOptions const& options) {
  auto const* const policy = find(name);
  if (policy == nullptr) {
    throw hs::Error(hs::ErrorCode::bad_input, name, "is no scheduler");
  }
  auto const config = simulation_of(its, options);
  KnownTimes::Scope const scope(options.known);
  if (options.rank == "fifo") {
    std::vector<std::int32_t> const none(its.graph.size());
    return policy->run(config, its.graph.with_priorities(none));
  }
  return policy->run(config, its.graph);
}

} // namespace kumar2017
