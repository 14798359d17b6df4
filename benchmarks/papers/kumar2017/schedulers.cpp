// SPDX-License-Identifier: MIT

#include "schedulers.hpp"

#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/dynamic_heft.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>

#include "policies.hpp"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace kumar2017 {

namespace {

constexpr std::array other_policies{
    Policy{"random", simulate<hs::policies::Random<>>},
    Policy{"dmda", simulate<hs::policies::Dmda<>>},
    Policy{"dmdas", simulate<hs::policies::Dmdas>},
    Policy{"heft", simulate<hs::policies::DynamicHeft>},
    Policy{"heftp", simulate<hs::policies::DynamicHeftp<>>},
    Policy{"heftp:let", simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::local_time>>},
    Policy{"heftp:gb", simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::gpus_busy>>},
    Policy{"heftp:mms",
           simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::min_makespan>>},
    Policy{"dualhp", simulate<hs::policies::DualHP>}};

Policy const* find_policy(std::string const& name) {
  for (auto const those : {std::span<Policy const>(other_policies), hetero_prio_policies()}) {
    for (auto const& its : those) {
      if (its.name == name) {
        return &its;
      }
    }
  }
  return nullptr;
}

} // namespace

bool is_scheduler(std::string const& name) {
  return find_policy(name) != nullptr;
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
          .priorities = rank,
          .on_task = options.on_task};
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
  auto const* const policy = find_policy(name);
  if (policy == nullptr) {
    throw hs::Error(hs::ErrorCode::bad_input, name, "is no scheduler");
  }
  auto const config = simulation_of(its, options);
  KnownTimes::Scope const scope(options.known);
  if (options.rank == "fifo") {
    std::vector<std::int32_t> const none(its.graph.size());
    return policy->run(config, its.graph.with_priorities(none), options.allowed);
  }
  return policy->run(config, its.graph, options.allowed);
}

Outcome follow(hs::StaticPlan const& plan,
               std::vector<std::string> const& gpus_take,
               Case const& its,
               RunOptions const& options) {
  using Scheduler = hs::policies::StaticSchedule;
  auto const config = simulation_of(its, options);
  KnownTimes::Scope const scope(options.known);
  hs::SimulatedRuntime<Scheduler, hs::policies::Lru, KnownTimes> rt(
      config,
      Scheduler::Config{.plan = std::make_shared<hs::StaticPlan const>(plan),
                        .gpus_take = gpus_take});
  rt.run(its.graph);
  return outcome_of(rt.stats(), its.platform);
}

} // namespace kumar2017
