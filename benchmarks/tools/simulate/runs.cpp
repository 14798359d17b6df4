// SPDX-License-Identifier: MIT
// Simulations, each under one scheduler. All schedulers share one engine.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/reuse_profile.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../../../examples/common/chosen_cache.hpp"
#include "../../../examples/common/static_name.hpp"
#include "run.hpp"

namespace benchmarks {

using namespace hs::policies;

hs::Simulation simulation(Case const& instance, Options const& options, std::uint64_t seed) {
  return {.platform = instance.platform,
          .algorithm = options.machine.kernels_of(),
          .precision = options.machine.arithmetic(),
          .tile = options.machine.tile,
          .library = instance.library,
          .serve = options.serve == "cpu" ? hs::Simulation::Serve::cpu : hs::Simulation::Serve::gpu,
          .transfers = transfers_of(options.comm),
          .window = options.window,
          .explain = options.explain,
          .memory_trace = options.memory_trace,
          .noise = options.noise,
          .noise_is = options.noise_is == "task" ? hs::Simulation::Noise::per_task
                                                 : hs::Simulation::Noise::per_type,
          .seed = seed,
          .priorities = priorities(options.rank),
          .time_decisions = !options.deterministic && !options.speed};
}

namespace {

Result run(std::string const& scheduler,
           Case const& instance,
           Options const& options,
           std::uint64_t seed) {
  auto config = simulation(instance, options, seed);
  config.record = !options.trace.empty();
  config.reuse_profile = options.reuse_profile;
  Result result;
  hs::PlanRecorder recorder;
  if (options.comm != "free" || !options.gantt.empty() || options.record) {
    config.on_task = [&](hs::SimulatedTask const& task) {
      result.makespan = task.end - hs::Instant{};
      recorder(task);
      if (!options.gantt.empty()) {
        result.gantt.add(task);
      }
    };
  }
  hs::SimulatedRuntime<AnyScheduler, example::ChosenCache> rt(config,
                                                              AnyScheduler::Config{scheduler});
  auto const begin = hs::detail::clock_seconds();
  rt.run(instance.graph, instance.allowed);
  result.real_seconds = hs::detail::clock_seconds() - begin;
  result.stats = rt.stats();
  if (!options.trace.empty()) {
    result.trace = rt.trace();
  }
  if (options.record) {
    result.plan = recorder.plan(instance.graph, instance.platform);
  }
  if (options.comm == "free") {
    result.makespan = result.stats.elapsed;
  }
  for (auto const& type : result.stats.types) {
    auto const on = type.arch == hs::ArchHost ? 0 : 1;
    auto const* const kernel = instance.platform.find(type.name,
                                                      options.machine.kernels_of(),
                                                      options.machine.arithmetic(),
                                                      options.machine.tile,
                                                      instance.library);
    auto const count = static_cast<std::int64_t>(type.count);
    if (kernel->on(0) && kernel->on(1)) {
      result.equal_cpu[on] += {kernel->on(0)->mean.ns * count};
      result.equal_gpu[on] += {kernel->on(1)->mean.ns * count};
    } else {
      result.comparable[on] = false;
    }
  }
  return result;
}

/// The options of a run that is not the one asked for: it shows nothing.
Options beforehand(Options const& options) {
  auto quiet = options;
  quiet.rank = "min";
  quiet.noise = 0;
  quiet.gantt.clear();
  quiet.explain.clear();
  quiet.trace.clear();
  quiet.memory_trace.clear();
  quiet.reuse_profile.clear();
  quiet.record = false;
  quiet.deterministic = true; // measures nothing
  return quiet;
}

/// The same graph on another machine.
Case elsewhere(Case const& instance, hs::Platform const& platform) {
  return {platform,
          instance.graph,
          instance.tiles,
          instance.library,
          instance.related,
          instance.times,
          {}};
}

} // namespace

hs::Priorities priorities(std::string const& rank) {
  return rank == "min"   ? hs::Priorities::bottom_min
         : rank == "avg" ? hs::Priorities::bottom_avg
                         : hs::Priorities::own;
}

Result simulate(std::string const& scheduler,
                Case const& instance,
                Options const& options,
                std::uint64_t seed) {
  if (scheduler.starts_with(example::static_prefix)) {
    add_scheduler<StaticSchedule>({scheduler, "follows a schedule"}, instance.plan);
  } else if (scheduler == "heteroprio:lookahead") {
    auto const plan = add_lookahead(options.effort, simulation(instance, options, seed));
    auto result = run(scheduler, instance, options, seed);
    result.planned = plan->seconds;
    return result;
  } else if (scheduler == "portfolio") {
    auto const begin = hs::detail::clock_seconds();
    auto const best = best_candidate(instance.graph, simulation(instance, options, seed));
    auto const seconds = hs::detail::clock_seconds() - begin;
    add_scheduler<AnyScheduler>({scheduler, ""}, AnyScheduler::Config{best.name});
    auto result = run(scheduler, instance, options, seed);
    result.ranking = best.ranking;
    result.planned = seconds;
    return result;
  }
  return run(scheduler, instance, options, seed);
}

std::vector<hs::StaticPlan> heuristics(Case const& instance,
                                       hs::Platform const& platform,
                                       Options const& options,
                                       std::string const& comm) {
  auto quiet = beforehand(options);
  quiet.comm = comm;
  quiet.record = true;
  auto const there = elsewhere(instance, platform);
  std::vector<char const*> names{"heteroprio", "heftp", "dmdas", "dualhp"};
  if (comm != "free") {
    names.insert(names.end(), {"heterogeneous", "heteroprio:affinity", "multiprio", "darts"});
  }
  std::vector<hs::StaticPlan> plans;
  for (auto const* const name : names) {
    plans.push_back(simulate(name, there, quiet, options.seed).plan);
  }
  return plans;
}

hs::Duration followed(Case const& instance,
                      hs::Platform const& platform,
                      Options const& options,
                      hs::policies::StaticSchedule::Config const& config) {
  auto there = elsewhere(instance, platform);
  there.plan = config;
  auto const name = std::string(example::static_prefix) + "search";
  return simulate(name, there, beforehand(options), options.seed).makespan;
}

} // namespace benchmarks
