// SPDX-License-Identifier: MIT
// All runs that simulate is asked for, as rows of a table.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/plans/static_plan_json.hpp>

#include "../../../examples/common/chosen_cache.hpp"
#include "../../common/measured_run.hpp"
#include "../../common/progress.hpp"
#include "run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace benchmarks {

namespace {

/// Of --trace-times: the real run, and what is assumed.
void tell_measured(Machine const& machine, hs::Platform const& platform) {
  auto const& trace = machine.measured().trace();
  auto const [begin, end] = hs::span_of(trace);
  auto const gpus = std::count_if(trace.workers.begin(), trace.workers.end(), [](auto& worker) {
    return worker.arch != hs::ArchHost;
  });
  std::printf("the run itself, %s: %.6f s with %zu workers, of which %zd GPUs\n",
              trace.simulated ? "in virtual time" : "on threads",
              (end - begin).seconds(),
              trace.workers.size(),
              gpus);
  for (auto const& kernel : platform.kernels) {
    if (!kernel.measured) {
      std::printf("assumed: %s takes %.6f s on a GPU\n",
                  kernel.name.c_str(),
                  kernel.times[1]->mean.seconds());
    }
  }
}

void choose_cache(Options const& options) {
  auto const& names = example::ChosenCache::names;
  example::ChosenCache::choose(static_cast<std::size_t>(
      std::find(names.begin(), names.end(), options.cache) - names.begin()));
}

} // namespace

void print(Options const& options) {
  choose_cache(options);
  if (options.nodes != 0) {
    print_cluster(options);
    return;
  }
  auto described = options.machine.read();
  for (auto& node : described.nodes) {
    if (options.device_memory != 0 && &node != &described.nodes.front()) {
      node.capacity_bytes = options.device_memory;
    }
  }
  bool heading = !options.json;
  auto const those = schedulers_of(options.scheduler);
  // What a run takes goes with its tasks, and their number with the cube of the tiles in a row.
  auto const weight = [](std::optional<std::size_t> tiles) {
    auto const n = static_cast<double>(tiles.value_or(1));
    return n * n * n;
  };
  auto const each = static_cast<std::size_t>(options.repeat) * those.size();
  auto const sizes =
      options.machine.own_graph() ? options.machine.tiles : std::vector{std::size_t{1}};
  double all = 0;
  for (auto const tiles : sizes) {
    all += weight(tiles) * static_cast<double>(each);
  }
  check_one_run(options, sizes.size() * each);
  auto const plan = StaticChoice::of(options.scheduler);
  auto const slower = options.plans.inflate / 100;
  Progress progress(sizes.size() * each, all);
  options.machine.each_graph(described, [&](hs::TaskGraph graph, std::optional<std::size_t> tiles) {
    auto platform = options.plans.save.empty() ? described : described.with_slower_cores(slower);
    auto const library = options.machine.library_of(platform, graph);
    std::optional<double> related;
    if (options.related) {
      related = options.machine.make_related(platform, graph, library);
    }
    auto times = options.machine.times_of(platform, graph, library);
    if (options.rank == "fifo") {
      graph = graph.with_priorities(std::vector<std::int32_t>(graph.size()));
    }
    Case instance{platform, std::move(graph), tiles, library, related, std::move(times), {}};
    instance.bounds = options.bounds.of(
        instance.graph, options.machine, platform, library, tiles, instance.times, options.comm);
    instance.allowed = options.plans.allowed(instance.graph, platform, options.machine);
    if (plan) {
      auto const longer = options.plans.save.empty() ? slower : 0; // else they are already
      auto const bound = longer == 0 ? instance.bounds.best() : std::nullopt;
      auto const begin = hs::detail::clock_seconds();
      auto chosen_plan = plan->config_for(
          instance.graph,
          platform,
          options.machine,
          library,
          priorities(options.rank),
          longer,
          options.plans.limits(options.seed, bound.value_or(hs::Duration{})),
          {.transfers = transfers_of(options.comm),
           .heuristics =
               [&](hs::Platform const& on) {
                 return heuristics(instance, on, options, plan->searches() ? options.comm : "free");
               },
           .follow = [&](hs::Platform const& on,
                         auto const& config) { return followed(instance, on, options, config); }});
      instance.planned =
          plan->computes() ? std::optional(hs::detail::clock_seconds() - begin) : std::nullopt;
      instance.plan = std::move(chosen_plan.config);
      instance.plan_bound = longer == 0 ? chosen_plan.bound : std::nullopt;
    }
    for (auto const& scheduler : those) {
      for (int k = 0; k < options.repeat; ++k) {
        auto const seed = options.seed + static_cast<std::uint64_t>(k);
        auto result = simulate(scheduler, instance, options, seed);
        auto row = row_of(instance, options, scheduler, seed, result);
        if (!result.ranking.empty()) {
          row["ranking"] = result.ranking;
        }
        if (options.record) {
          hs::write_plan(result.plan, options.plans.save);
        }
        if (!options.gantt.empty()) {
          draw(instance, options, scheduler, result);
        }
        if (!options.trace.empty()) {
          write_trace(instance, options, scheduler, result);
        }
        progress.clear();
        if (options.json) {
          std::printf("%s\n", row.dump().c_str());
          progress.done(weight(tiles));
          continue;
        }
        if (std::exchange(heading, false)) {
          if (!options.machine.trace_times.empty()) {
            tell_measured(options.machine, platform);
          }
          auto const sizes_text = options.machine.trace_times.empty()
                                      ? options.machine.precision + ", tiles of " +
                                            std::to_string(options.machine.tile) + ", "
                                      : std::string();
          std::printf(
              "%s on %s: %d cores and %d GPUs, %s%s served first, virtual time\n"
              "tiles   tasks  scheduler       seed   makespan s    GFlop/s  ratio to bound  "
              "idle cores s   idle GPUs s\n",
              options.machine.dag.c_str(),
              platform.name.c_str(),
              platform.classes[0].workers,
              platform.classes[1].workers,
              sizes_text.c_str(),
              options.serve.c_str());
        }
        std::printf("%5s %7zu  %-13s %6llu %12.6f %10.1f %15.4f %13.3f %13.3f\n",
                    tiles ? std::to_string(*tiles).c_str() : "-",
                    instance.graph.size(),
                    scheduler.c_str(),
                    static_cast<unsigned long long>(seed),
                    row["makespan_s"].get<double>(),
                    tiles ? row["gflops"].get<double>() : 0.0,
                    row["ratio"].is_null() ? 0.0 : row["ratio"].get<double>(),
                    row["idle_cpu_s"].get<double>(),
                    row["idle_gpu_s"].get<double>());
        if (!result.ranking.empty()) {
          std::printf("%15s %s\n", "", result.ranking.c_str());
        }
        progress.done(weight(tiles));
      }
    }
  });
}

} // namespace benchmarks
