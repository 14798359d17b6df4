// SPDX-License-Identifier: MIT

#include "runs.hpp"

#include <hetsched/hetsched.hpp>
#include <hetsched/platform/platform_json.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../../common/progress.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace lima2015 {

namespace hs = hetsched;

namespace {

/// The Figures' members.
template <class Visit>
void each_figure(Visit&& visit) {
  visit([](auto& figures) -> auto& { return figures.seconds; });
  visit([](auto& figures) -> auto& { return figures.bytes; });
  visit([](auto& figures) -> auto& { return figures.from_host; });
  visit([](auto& figures) -> auto& { return figures.to_host; });
  visit([](auto& figures) -> auto& { return figures.hit_percent; });
  visit([](auto& figures) -> auto& { return figures.idle_cores; });
  visit([](auto& figures) -> auto& { return figures.idle_gpus; });
  visit([](auto& figures) -> auto& { return figures.tasks_on_gpu; });
  visit([](auto& figures) -> auto& { return figures.stolen; });
  visit([](auto& figures) -> auto& { return figures.link; });
}

Figures<double> figures_of(hs::Stats const& stats, hs::Platform const& machine) {
  Figures<double> figures{};
  figures.seconds = stats.elapsed.seconds();
  double hits = 0;
  double uses = 0;
  for (auto const& device : stats.devices) {
    figures.from_host += static_cast<double>(device.bytes_from_host);
    figures.to_host += static_cast<double>(device.bytes_to_host);
    figures.bytes += static_cast<double>(device.bytes_from_peers);
    hits += static_cast<double>(device.hits);
    uses += static_cast<double>(device.hits + device.misses);
  }
  auto const with_host = figures.from_host + figures.to_host;
  figures.bytes += with_host;
  figures.hit_percent = uses > 0 ? 100 * hits / uses : 0;
  auto const link = common_link(machine);
  figures.link = link > 0 ? 100 * with_host / link / figures.seconds : 0;
  auto const cores = static_cast<std::size_t>(machine.classes[0].workers);
  double idle[2] = {};
  double tasks[2] = {};
  for (std::size_t w = 0; w < stats.workers.size(); ++w) {
    auto const on = w < cores ? 0 : 1;
    idle[on] += stats.workers[w].idle.seconds();
    tasks[on] += static_cast<double>(stats.workers[w].executed);
  }
  auto const percent = [&](double sum, int workers) {
    return workers != 0 ? 100 * sum / figures.seconds / workers : 0;
  };
  figures.idle_cores = percent(idle[0], machine.classes[0].workers);
  figures.idle_gpus = percent(idle[1], machine.classes[1].workers);
  figures.tasks_on_gpu = 100 * tasks[1] / (tasks[0] + tasks[1]);
  figures.stolen = 100 * static_cast<double>(stats.steals) / (tasks[0] + tasks[1]);
  return figures;
}

/// A queue without `peek`: no data are sent ahead, and a GPU commits itself to one task beyond the
/// running one. None of the paper's strategies prefetches: sec. 2 describes prefetching as others'
/// (heft-tmdp-pr).
template <class Queue>
struct Undisclosed : Queue {
  std::size_t peek(std::span<hs::TaskId> next) = delete;
};

using UndisclosedFifo = Undisclosed<hs::policies::Fifo>;
using UndisclosedDeque = Undisclosed<hs::policies::WorkStealingDeque>;

static_assert(hs::task_queue<UndisclosedFifo> && !hs::peekable_queue<UndisclosedFifo>);
static_assert(hs::owned_queue<UndisclosedDeque> && !hs::peekable_queue<UndisclosedDeque>);

/// Algorithm 2 by the letter. The library's own rule for ties keeps data where they are written,
/// and so comes closer to LocalityAware than the paper's DataAware does.
using ByTheLetter = hs::policies::DataAware<UndisclosedDeque,
                                            hs::policies::Mailbox,
                                            hs::policies::RandomVictim,
                                            hs::policies::DataTies::alike>;

/// Runs the graph under the paper's strategy. All strategies share one engine.
Figures<double>
run(std::string const& strategy, hs::Simulation const& config, hs::TaskGraph const& graph) {
  using hs::policies::AnyScheduler;
  namespace policies = hs::policies;
  constexpr auto* what = "the paper's, nothing sent ahead";
  policies::add_scheduler<policies::WorkStealing<UndisclosedDeque>>({"paper:ws", what});
  policies::add_scheduler<ByTheLetter>({"paper:dataaware", what});
  policies::add_scheduler<policies::LocalityAware<UndisclosedDeque>>({"paper:locality", what});
  policies::add_scheduler<policies::XkaapiHeft<UndisclosedFifo>>({"paper:heft", what});
  auto const name = "paper:" + strategy.substr(0, strategy.find('+'));
  hs::SimulatedRuntime<AnyScheduler, hs::policies::Lru> rt(config, AnyScheduler::Config{name});
  rt.run(graph);
  return figures_of(rt.stats(), config.platform);
}

} // namespace

Mean Means::metric(std::string const& name) const {
  // The mean of a constant divided by the time. The interval is of first order.
  auto const over_time = [this](double constant) {
    auto const value = constant / seconds.value;
    return Mean{value, value * seconds.half / seconds.value};
  };
  if (name == "time") {
    return seconds;
  }
  if (name == "speed") {
    return over_time(1);
  }
  if (name == "speedup") {
    return over_time(serial_seconds);
  }
  if (name == "gflops") {
    return over_time(flops / 1e9);
  }
  if (name == "bytes") {
    return bytes;
  }
  if (name == "gigabytes") {
    return {bytes.value / 1e9, bytes.half / 1e9};
  }
  if (name == "hit_percent") {
    return hit_percent;
  }
  throw hs::Error(hs::ErrorCode::bad_call, "metric", name + " is not known");
}

Runs::Runs(Claims const& claims, std::string file, int runs, std::uint64_t seed)
    : claims_(claims), file_(std::move(file)), platform_(hs::read_platform(file_)), runs_(runs),
      seed_(seed) {
  if (platform_.links.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, file_, "says nothing of the links that routes share");
  }
}

std::size_t Runs::tasks(Configuration const& configuration) const {
  return tasks_of(claims_,
                  configuration.workload,
                  tiles_of(claims_, configuration.workload, configuration.at["n"]));
}

int Runs::runs_of(Configuration const& configuration) const {
  constexpr std::size_t many_tasks = 40'000;
  constexpr int few = 3;
  return configuration.strategy.starts_with("heft") ? 1
         : tasks(configuration) > many_tasks        ? std::min(runs_, few)
                                                    : runs_;
}

hs::TaskGraph const&
Runs::graph(hs::Platform const& machine, std::string const& workload, std::size_t tiles) {
  auto const [found, fresh] = graphs_.try_emplace({workload, tiles});
  if (fresh) {
    found->second = graph_of(machine, claims_, workload, tiles);
  }
  return found->second;
}

Means const& Runs::of(Configuration const& configuration) {
  auto const [found, fresh] = known_.try_emplace(configuration);
  if (!fresh) {
    return found->second;
  }
  auto const& workload = claims_.workloads.at(configuration.workload);
  auto const machine = machine_of(platform_, file_, claims_, configuration);
  auto& means = found->second;
  means.tiles = tiles_of(claims_, configuration.workload, configuration.at["n"]);
  means.runs = runs_of(configuration);
  auto const& tasks = graph(machine, configuration.workload, means.tiles);
  hs::Simulation config{.platform = machine,
                        .algorithm = configuration.workload,
                        .precision = workload.precision,
                        .tile = workload.tile,
                        .library = library_of(machine, workload, configuration.workload),
                        .transfers = hs::Simulation::Transfers::shared,
                        .window = claims_.window};
  std::vector<Figures<double>> all;
  for (int k = 0; k < means.runs; ++k) {
    config.seed = seed_ + static_cast<std::uint64_t>(k);
    all.push_back(run(configuration.strategy, config, tasks));
  }
  each_figure([&](auto const& member) {
    std::vector<double> values;
    for (auto const& figures : all) {
      values.push_back(member(figures));
    }
    member(means) = papers::mean_of(values);
  });
  if (configuration.workload == "cholesky" || configuration.workload == "lu") {
    means.flops = flops_of(claims_, configuration.workload, means.tiles);
  } else if (configuration.workload == "saxpy") {
    auto const bytes = static_cast<double>(3 * sizeof(float) * workload.tile * means.tiles);
    means.serial_seconds = bytes / claims_.memory.core;
  }
  return means;
}

void Runs::simulate(std::vector<Configuration> const& those) {
  std::set<Configuration> const missing(those.begin(), those.end());
  auto const weight = [this](Configuration const& configuration) {
    return static_cast<double>(tasks(configuration)) * runs_of(configuration);
  };
  double all = 0;
  for (auto const& configuration : missing) {
    all += weight(configuration);
  }
  benchmarks::Progress progress(missing.size(), all);
  for (auto const& configuration : missing) {
    (void)of(configuration);
    progress.done(weight(configuration));
  }
}

} // namespace lima2015
