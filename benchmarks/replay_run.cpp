// SPDX-License-Identifier: MIT
// How well virtual time tells real time: a tile Cholesky factorisation runs on this machine's
// cores, and the simulator is given what it took of it, each task's duration, the dependencies and
// each worker's order of tasks, but no point in time. Without the runtime's own cost between tasks
// both makespans would be the same.

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "common/run_program.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace {

/// What one worker did, in order.
struct Executed {
  std::int32_t node; // of the graph
  hs::Instant begin;
  hs::Instant end;
  hs::Duration took;
};

std::mutex log_mutex;
std::map<std::int32_t, std::vector<Executed>> log_of; // by worker

/// Priority, and notes what was executed.
class Recorder {
public:
  static constexpr auto threading = hs::Threading::concurrent;
  static constexpr auto priority_scope = hs::PriorityScope::global;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    return scheduler_.push(ctx, task, worker);
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return scheduler_.pop(ctx, worker);
  }

  void prologue(hs::context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    std::lock_guard const guard(log_mutex);
    log_of[worker.value].push_back({ctx.task(task).graph_node, ctx.now(), {}, {}});
  }

  void epilogue(hs::context auto const& ctx, hs::TaskId, hs::WorkerId worker, hs::Duration took) {
    std::lock_guard const guard(log_mutex);
    log_of[worker.value].back().end = ctx.now();
    log_of[worker.value].back().took = took;
  }

private:
  hs::policies::Priority<> scheduler_;
};

/// Gives each worker its tasks in the given order, each as soon as it is ready.
class GivenOrder {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  struct Config {
    std::vector<std::vector<std::int32_t>> nodes; // by worker
  };

  explicit GivenOrder(std::span<hs::WorkerInfo const> workers, Config config = {})
      : config_(std::move(config)), next_(workers.size()) {
    config_.nodes.resize(workers.size());
  }

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId) {
    ready_[ctx.task(task).graph_node] = task;
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const&, hs::WorkerId worker) {
    auto const& nodes = config_.nodes[worker.index()];
    auto& next = next_[worker.index()];
    auto const found = next < nodes.size() ? ready_.find(nodes[next]) : ready_.end();
    if (found == ready_.end()) {
      return hs::no_task;
    }
    auto const task = found->second;
    ready_.erase(found);
    ++next;
    return task;
  }

private:
  Config config_;
  std::vector<std::size_t> next_;
  std::map<std::int32_t, hs::TaskId> ready_;
};

struct Options {
  std::size_t n = 4096;
  std::size_t tile = 512;
  int cpus = 2;
  int repeat = 3;
  bool json = false;
};

/// Runs it for real; the graph.
hs::TaskGraph record(Options const& options) {
  hs::Config config;
  config.cpus = options.cpus;
  config.devices = "none";
  config.timing = true;
  hs::Runtime<Recorder> rt(config);
  auto const n = options.n;
  std::vector<double> elements(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const distance = static_cast<double>(i > j ? i - j : j - i);
      elements[i + j * n] = i == j ? 2 * static_cast<double>(n) : 1 / (1 + distance);
    }
  }
  hs::linalg::TiledMatrix const a(rt, elements.data(), n, n, n, options.tile);
  auto const graph = rt.capture([&] { hs::linalg::cholesky(rt, a); });
  log_of.clear();
  rt.run(graph);
  return graph.tasks();
}

/// Every task is a type of its own, whose time is what it took.
hs::Duration simulate(hs::TaskGraph const& graph, int cpus) {
  std::vector<std::string> names(graph.size());
  std::vector<hs::TaskGraph::Node> nodes(graph.nodes().begin(), graph.nodes().end());
  std::vector<std::size_t> bytes(graph.data_bytes().begin(), graph.data_bytes().end());
  hs::Simulation config{.algorithm = "recorded"};
  config.platform.classes = {{"cpu", hs::ArchHost, cpus, ""}};
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    names[v] = std::to_string(v);
    nodes[v].type = names[v];
  }
  GivenOrder::Config order{std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(cpus))};
  for (auto const& [worker, executed] : log_of) {
    for (auto const& run : executed) {
      auto& kernel = config.platform.kernels.emplace_back();
      kernel.name = names[static_cast<std::size_t>(run.node)];
      kernel.algorithms = {"recorded"};
      kernel.times = {{{run.took, {}, {}}}};
      order.nodes[static_cast<std::size_t>(worker)].push_back(run.node);
    }
  }
  hs::SimulatedRuntime<GivenOrder> rt(config, order);
  rt.run(hs::TaskGraph(std::move(nodes), std::move(bytes)));
  return rt.stats().elapsed;
}

void print(Options const& options) {
  if (!options.json) {
    std::printf("  tasks  shortest ms  makespan s  simulated s  difference %%\n");
  }
  for (int k = 0; k < options.repeat; ++k) {
    auto const graph = record(options);
    hs::Instant begin{INT64_MAX};
    hs::Instant end;
    hs::Duration shortest{INT64_MAX};
    for (auto const& [worker, executed] : log_of) {
      for (auto const& run : executed) {
        begin = std::min(begin, run.begin);
        end = std::max(end, run.end);
        shortest = std::min(shortest, run.took);
      }
    }
    auto const real = (end - begin).seconds();
    auto const simulated = simulate(graph, options.cpus).seconds();
    auto const difference = 100 * (simulated / real - 1);
    if (options.json) {
      std::printf("{\"n\": %zu, \"tile\": %zu, \"cpus\": %d, \"tasks\": %zu, \"shortest_s\": %.9f, "
                  "\"makespan_s\": %.9f, \"simulated_s\": %.9f, \"difference_percent\": %.4f}\n",
                  options.n,
                  options.tile,
                  options.cpus,
                  graph.size(),
                  shortest.seconds(),
                  real,
                  simulated,
                  difference);
    } else {
      std::printf("%7zu %12.3f %11.6f %12.6f %13.3f\n",
                  graph.size(),
                  shortest.seconds() * 1e3,
                  real,
                  simulated,
                  difference);
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares a real run with its replay in virtual time.");
  app.add_option("--n", options.n, "rows of the matrix (default 4096)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--tile", options.tile, "size of the tiles (default 512)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--cpus", options.cpus, "workers (default 2)")->check(CLI::Range(1, 4096));
  app.add_option("--repeat", options.repeat, "runs (default 3)")->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("replay_run", app, argc, argv, [&] { print(options); });
}
