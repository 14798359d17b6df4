// SPDX-License-Identifier: MIT
#include "simulated.hpp"

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/simulation.hpp>

#include "../support/dice.hpp"
#include "../support/invented_times.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace soak {
namespace {

using hs::policies::AnyScheduler;

constexpr std::array<std::string_view, 4> types{"a", "b", "c", "d"};

/// Cores, and GPUs on one bus. Each type has a time on at least one class.
hs::Platform draw_platform(support::Dice& dice, std::size_t bytes) {
  hs::Platform platform;
  platform.name = "drawn";
  int const cpus = 1 + dice.below(6);
  int const gpus = dice.below(4);
  platform.classes = {{"cpu", hs::ArchHost, cpus, ""}, {"cuda", hs::ArchCUDA, gpus, ""}};
  for (auto const type : types) {
    hs::Platform::Kernel kernel;
    kernel.name = type;
    kernel.library = "by lot";
    kernel.algorithms = {"random"};
    bool const on_gpus = gpus > 0 && dice.chance(80);
    bool const on_cpus = !on_gpus || dice.chance(80);
    for (bool const known : {on_cpus, on_gpus}) {
      kernel.times.push_back(known ? std::optional(hs::Platform::KernelTime{
                                         {1 + dice.below(1 << dice.below(20))}, {}, {}})
                                   : std::nullopt);
    }
    platform.kernels.push_back(std::move(kernel));
  }
  auto const nodes = static_cast<std::size_t>(gpus) + 1;
  for (std::size_t n = 0; n < nodes; ++n) {
    platform.nodes.push_back({"node " + std::to_string(n), n == 0 ? 0 : bytes});
  }
  platform.routes.assign(nodes * nodes,
                         {1e6 * (1 + dice.below(20'000)), hs::Duration{dice.below(10'000)}, {}});
  platform.links = {{"bus", 1e6 * (1 + dice.below(20'000))}};
  for (std::size_t n = 1; n < nodes; ++n) {
    platform.routes[n].links = {0};
    platform.routes[n * nodes].links = {0};
  }
  return platform;
}

hs::TaskGraph draw_graph(support::Dice& dice, std::uint64_t seed, std::size_t bytes) {
  hs::RandomGraph const common{.types = types, .seed = seed, .bytes = bytes};
  auto const number = [&](int most) { return static_cast<std::size_t>(1 + dice.below(most)); };
  switch (dice.below(3)) {
  case 0:
    return hs::erdos_graph(common, number(200), dice.of({0.0, 0.01, 0.05, 0.5}));
  case 1:
    return hs::layered_graph(common, number(20), number(20), dice.of({0.05, 0.2, 1.0}));
  default:
    return hs::fork_join_graph(common, number(10), number(20));
  }
}

/// What is wrong with a run: each task has one execution that is not aborted, after those before
/// it; a worker does one thing at a time.
std::string
check(hs::TaskGraph const& graph, std::vector<hs::SimulatedTask> tasks, hs::Instant end) {
  std::vector<hs::SimulatedTask const*> runs(graph.size());
  for (auto const& task : tasks) {
    if (task.aborted) {
      continue;
    }
    auto*& run = runs.at(static_cast<std::size_t>(task.node));
    if (run != nullptr) {
      return "node " + std::to_string(task.node) + " ran twice";
    }
    run = &task;
  }
  for (std::size_t v = 0; v < graph.size(); ++v) {
    if (runs[v] == nullptr) {
      return "node " + std::to_string(v) + " did not run";
    }
    if (runs[v]->end > end) {
      return "node " + std::to_string(v) + " ends after the makespan";
    }
    for (auto const w : graph.successors(v)) {
      if (runs[w] != nullptr && runs[w]->begin < runs[v]->end) {
        return "node " + std::to_string(w) + " began before " + std::to_string(v) + " ended";
      }
    }
  }
  std::sort(tasks.begin(), tasks.end(), [](auto const& a, auto const& b) {
    return std::tuple(a.worker.value, a.begin.ns, a.end.ns) <
           std::tuple(b.worker.value, b.begin.ns, b.end.ns);
  });
  for (std::size_t k = 1; k < tasks.size(); ++k) {
    if (tasks[k].worker == tasks[k - 1].worker && tasks[k].begin < tasks[k - 1].end) {
      return "worker " + std::to_string(tasks[k].worker.value) + " ran two tasks at a time";
    }
  }
  return "";
}

/// One task's begin, end and worker after the other, for comparison.
std::string digest(std::vector<hs::SimulatedTask> const& tasks) {
  std::string all;
  for (auto const& task : tasks) {
    all += std::to_string(task.node) + '@' + std::to_string(task.worker.value) + ':' +
           std::to_string(task.begin.ns) + '-' + std::to_string(task.end.ns) +
           (task.aborted ? "x " : " ");
  }
  return all;
}

} // namespace

bool run_simulated(std::uint64_t seed) {
  support::Dice dice(seed);
  auto const names = hs::policies::shipped_schedulers();
  AnyScheduler::Config const scheduler{std::string(
      names[static_cast<std::size_t>(dice.below(static_cast<int>(names.size())))].name)};
  std::size_t const bytes = 256U << static_cast<unsigned>(dice.below(12));
  auto const graph = draw_graph(dice, seed, bytes);
  std::size_t widest = 1;
  for (auto const& node : graph.nodes()) {
    widest = std::max(widest, node.accesses.size());
  }
  hs::Simulation simulation;
  simulation.platform =
      draw_platform(dice, widest * bytes * static_cast<std::size_t>(1 + dice.below(3)));
  simulation.algorithm = "random";
  using enum hs::Simulation::Transfers;
  simulation.transfers = dice.of({free, model, shared});
  simulation.window = dice.of({1, 2, 4});
  simulation.serve = dice.of({hs::Simulation::Serve::cpu, hs::Simulation::Serve::gpu});
  simulation.priorities =
      dice.of({hs::Priorities::own, hs::Priorities::bottom_min, hs::Priorities::bottom_avg});
  simulation.noise = dice.of({0.0, 0.0, 0.3});
  simulation.seed = seed;
  std::printf("seed %llu: virtual time, scheduler %s, tasks %zu, cpus %d, gpus %d, transfers %d, "
              "window %d, serve %d, priorities %d, noise %g\n",
              static_cast<unsigned long long>(seed),
              scheduler.name.c_str(),
              graph.size(),
              simulation.platform.classes[0].workers,
              simulation.platform.classes[1].workers,
              static_cast<int>(simulation.transfers),
              simulation.window,
              static_cast<int>(simulation.serve),
              static_cast<int>(simulation.priorities),
              simulation.noise);
  std::fflush(stdout);
  std::string first;
  for (int k = 0; k < 2; ++k) {
    std::vector<hs::SimulatedTask> tasks;
    simulation.on_task = [&](hs::SimulatedTask const& task) { tasks.push_back(task); };
    std::string problem;
    try {
      hs::SimulatedRuntime<AnyScheduler, hs::policies::Lru, InventedTimes> rt(simulation,
                                                                              scheduler);
      rt.run(graph);
      problem = check(graph, tasks, hs::Instant{rt.stats().elapsed.ns});
    } catch (std::exception const& error) {
      problem = error.what();
    }
    auto const now = digest(tasks);
    if (problem.empty() && k > 0 && now != first) {
      problem = "the second run differs from the first one";
    }
    first = now;
    if (!problem.empty()) {
      std::printf("  %s\n", problem.c_str());
      return false;
    }
  }
  return true;
}

} // namespace soak
