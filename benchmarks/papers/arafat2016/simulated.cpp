// SPDX-License-Identifier: MIT

#include "simulated.hpp"

#include <hetsched/collections/simulated_collection.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/platform/network_json.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "../common/text.hpp"

#include <cstddef>
#include <set>

namespace arafat2016 {

namespace {

/// What workers of both kinds did.
struct Done {
  double busy[2] = {}; // seconds; of cores, of GPUs
  double tasks[2] = {};
  std::set<int> ranks;
  std::string trace;
};

template <class Steal>
Outcome run(hs::CollectionSimulation config, Workload const& work, std::string const& trace) {
  Done done;
  auto const& classes = config.node.platform.classes;
  auto const cores = classes[0].workers;
  config.on_task = [&](int rank, hs::SimulatedTask const& task) {
    bool const on_gpu = task.worker.value >= cores;
    done.busy[on_gpu ? 1 : 0] += (task.end - task.begin).seconds();
    done.tasks[on_gpu ? 1 : 0] += 1;
    done.ranks.insert(rank);
    if (!trace.empty()) {
      done.trace += papers::text("%d,%s%d,%d,%lld,%lld\n",
                                 rank,
                                 on_gpu ? "gpu" : "cpu",
                                 static_cast<int>(task.worker.value) - (on_gpu ? cores : 0),
                                 static_cast<int>(task.node),
                                 static_cast<long long>(task.begin.ns),
                                 static_cast<long long>(task.end.ns));
    }
  };
  hs::SimulatedCollection<Steal> collection(config);
  collection.run(work.graph, work.homes, work.on);
  auto const stats = collection.stats();
  Outcome outcome;
  outcome.seconds = stats.elapsed.seconds();
  outcome.gigabytes = static_cast<double>(stats.values.bytes) / 1e9;
  for (auto const& rank : stats.ranks) {
    outcome.steals += static_cast<double>(rank.tasks.steals);
    outcome.tries += static_cast<double>(rank.tasks.steal_attempts);
    outcome.stolen += static_cast<double>(rank.tasks.stolen);
  }
  outcome.gpu_tasks = 100 * done.tasks[1] / (done.tasks[0] + done.tasks[1]);
  auto const percent = [&](std::size_t kind) {
    auto const workers = kind < classes.size() ? classes[kind].workers : 0;
    auto const all = static_cast<double>(workers) * static_cast<double>(done.ranks.size());
    return workers == 0 ? 0 : 100 * done.busy[kind] / (outcome.seconds * all);
  };
  outcome.cpu_busy_percent = percent(0);
  outcome.gpu_busy_percent = percent(1);
  if (!trace.empty()) {
    hs::detail::replace_file(trace, "rank,worker,task,begin_ns,end_ns\n" + done.trace);
  }
  return outcome;
}

} // namespace

Machine read_machine(std::string const& platform,
                     std::string const& cpu_platform,
                     std::string const& network) {
  Machine machine;
  machine.both = hs::read_platform(platform).in_groups(team_cores);
  if (machine.both.devices() != 1 || machine.both.links.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, platform, "has not one GPU with links of its own");
  }
  machine.gpu = machine.both;
  for (auto& kernel : machine.gpu.kernels) {
    kernel.times[0].reset();
  }
  machine.cpu = hs::read_platform(cpu_platform);
  machine.network = hs::read_network(network);
  machine.network.sharing = hs::Network::Sharing::fair;
  return machine;
}

Outcome
simulate(Setup const& setup, Machine const& machine, TaskTime const& times, Workload const& work) {
  hs::CollectionSimulation config;
  config.node.platform = *setup.platform;
  config.node.algorithm = "scioto";
  config.node.library = "derived";
  config.node.tile = 1000; // of a kernel whose times `times` replaces
  config.node.transfers = hs::Simulation::Transfers::shared;
  config.node.window = setup.window;
  config.node.task_time = times;
  config.network = machine.network;
  config.costs = setup.costs;
  config.ranks = setup.ranks;
  config.options.gpu_tasks = setup.gpu_tasks;
  config.options.seed = setup.seed;
  config.estimate = setup.estimate;
  config.options.keep_kind = true;
  config.options.leave_to_faster = setup.leave_to_faster;
  switch (setup.thief) {
  case Thief::nobody:
    return run<hs::NoStealing>(config, work, setup.trace);
  case Thief::single_ended:
    return run<hs::SingleEnded>(config, work, setup.trace);
  case Thief::double_queue:
    return run<hs::DoubleQueue>(config, work, setup.trace);
  case Thief::either_end:
    return run<hs::EitherEnd<>>(config, work, setup.trace);
  case Thief::gpu_ended:
    return run<hs::GpuEnded<2>>(config, work, setup.trace);
  case Thief::double_ended:
    return run<hs::DoubleEnded<8>>(config, work, setup.trace);
  }
  return {};
}

} // namespace arafat2016
