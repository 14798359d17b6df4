// SPDX-License-Identifier: MIT

#include "schedulers.hpp"

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "known_times.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace kumar2017 {

namespace {

using hs::policies::AnyScheduler;

/// Runs any scheduler. All schedulers share one engine.
Outcome simulate(std::string const& name,
                 Case const& instance,
                 hs::TaskGraph const& graph,
                 RunOptions const& options) {
  auto const config = simulation_of(instance, options);
  KnownTimes::Scope const scope(options.known);
  hs::SimulatedRuntime<AnyScheduler, hs::policies::Lru, KnownTimes> rt(config,
                                                                       AnyScheduler::Config{name});
  rt.run(graph, options.allowed);
  return outcome_of(rt.stats(), config.platform);
}

} // namespace

bool is_scheduler(std::string const& name) {
  auto const names = hs::policies::scheduler_names();
  return std::any_of(names.begin(), names.end(), [&](auto const& one) { return one.name == name; });
}

hs::Simulation simulation_of(Case const& instance, RunOptions const& options) {
  auto const rank = options.rank == "avg"    ? hs::Priorities::bottom_avg
                    : options.rank == "fifo" ? hs::Priorities::own
                                             : hs::Priorities::bottom_min;
  return {.platform = instance.platform,
          .algorithm = instance.algorithm,
          .precision = hs::Precision::double_precision,
          .tile = 960,
          .library = instance.library,
          .serve = instance.gpus_first ? hs::Simulation::Serve::gpu : hs::Simulation::Serve::cpu,
          .noise = options.per_task_noise,
          .noise_is = hs::Simulation::Noise::per_task,
          .seed = options.seed,
          .priorities = rank,
          .on_task = options.on_task};
}

Outcome outcome_of(hs::Stats const& stats, hs::Platform const& platform) {
  Outcome outcome;
  outcome.makespan = stats.elapsed;
  std::size_t worker = 0;
  for (auto const& one : platform.classes) {
    std::size_t const side = one.arch == hs::ArchCUDA ? 1 : 0;
    outcome.workers[side] += one.workers;
    for (int k = 0; k < one.workers; ++k, ++worker) {
      outcome.idle[side] += stats.workers[worker].idle;
      outcome.cpus_used += side == 0 && stats.workers[worker].executed > 0 ? 1 : 0;
    }
  }
  for (auto const& type : stats.types) {
    outcome.count[type.name][type.arch == hs::ArchCUDA ? 1 : 0] += type.count;
  }
  return outcome;
}

Outcome run(std::string const& name, Case const& instance, RunOptions const& options) {
  if (options.rank == "fifo") {
    std::vector<std::int32_t> const none(instance.graph.size());
    return simulate(name, instance, instance.graph.with_priorities(none), options);
  }
  return simulate(name, instance, instance.graph, options);
}

Outcome follow(hs::StaticPlan const& plan,
               std::vector<std::string> const& gpus_take,
               Case const& instance,
               RunOptions const& options) {
  constexpr auto* name = "static";
  using Scheduler = hs::policies::StaticSchedule;
  hs::policies::add_scheduler<Scheduler>(
      {name, "follows a plan"},
      Scheduler::Config{.plan = std::make_shared<hs::StaticPlan const>(plan),
                        .gpus_take = gpus_take});
  auto anywhere = options;
  anywhere.allowed = {};
  return simulate(name, instance, instance.graph, anywhere);
}

} // namespace kumar2017
