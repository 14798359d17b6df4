// SPDX-License-Identifier: MIT
#pragma once
// The settings of a runtime in virtual time: the machine, and everything left to choice.

#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/platform/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hetsched {

/// An execution of a task in virtual time.
struct SimulatedTask {
  std::string_view type;
  std::string_view label;
  std::uint64_t number = 0; // from 0, in the order of the begins
  WorkerId worker;
  Instant begin;
  Instant end;
  bool aborted = false;   // it was stopped at `end`, and the task runs again
  std::int32_t node = -1; // in the graph that is run, see TaskView::graph_node
};

/// The first parameter of a simulated runtime: `SimulatedRuntime<S> rt(Simulation{.platform = p})`.
struct Simulation {
  /// The class that is offered work first when workers of several classes are idle at the same
  /// time. The results depend on it. Within a class, lower numbers come first.
  enum class Serve : std::uint8_t { cpu, gpu };

  enum class Noise : std::uint8_t {
    per_type, // one factor for each task type and class (Kumar 2017, sec. 3.5)
    per_task  // one factor for each execution (sec. 3.8.3)
  };

  /// The cost of moving data.
  enum class Transfers : std::uint8_t {
    free,  // none: every memory node has everything, without limit
    model, // latency + bytes / bandwidth * GPUs (Lima et al. 2015, sec. 4.2, eq. 1)
    shared // latency, and then a max-min fair share of the links that the route crosses
  };

  Platform platform = {};
  /// They name the kernels of the task types: see Platform::find. Without a library: the first one
  /// in the platform's list that has the first task's kernel.
  std::string algorithm = {};
  Precision precision = Precision::double_precision;
  std::size_t tile = 0;
  std::string library = {};
  Serve serve = Serve::gpu;
  /// For types whose tasks are not alike: the time of one task on a class of worker, given the
  /// platform's for its type there, in proportion to the task's work if its spawn told that
  /// (hetsched::flops) and the platform's kernel has flops. At least 1 ns counts. It is what
  /// schedulers see, too. Without it a task takes what it would be given. It may look at the task's
  /// type, label, work and data.
  std::function<Duration(TaskView const&, Arch, Duration)> task_time = {};
  /// Unless transfers are free, each GPU has a memory of the platform's size, which the runtime's
  /// Cache manages. A GPU performs one transfer at a time from its memory and one to it.
  Transfers transfers = Transfers::free;
  /// Transfers that follow each other on a GPU's way in, or out, are one if their data lie side by
  /// side in host memory and the next one was asked for before the last one ended: they wait for
  /// one latency. Otherwise each waits for its own, as on real devices.
  bool packed = false;
  /// The number of tasks that a GPU prepares for while it has another one: it claims them, and
  /// their data are sent ahead. With 1 it takes one task after the other, and nothing is sent
  /// ahead; so it is if transfers are free.
  int window = 8;
  /// The tasks whose choice of worker is explained on stderr, see Runtime::explain.
  std::string explain = {};
  /// A file for the events that decide which bytes move, in the format of docs/gpu.md. Empty: none.
  std::string memory_trace = {};
  /// Like Config::trace, trace_memory and record, in virtual time.
  std::string trace = {};
  std::uint64_t trace_memory = std::uint64_t{1} << 30U;
  bool record = false;
  /// Like Config::reuse_profile.
  std::string reuse_profile = {};
  /// Execution times are multiplied by a factor drawn uniformly from 1 - noise to 1 + noise.
  /// Below 1.
  double noise = 0;
  Noise noise_is = Noise::per_type;
  /// Seed of the schedulers' random streams and of the noise.
  std::uint64_t seed = 1;
  /// The priorities of the tasks of a graph that is run as a whole.
  Priorities priorities = Priorities::own;
  /// Measures the real time that the scheduler's hooks take, for Stats::deciding.
  bool time_decisions = false;
  /// Called at the end of each execution, in the order of the ends.
  std::function<void(SimulatedTask const&)> on_task = {};
};

namespace detail {

/// Checks that every possible transfer has a route and that its links exist; if transfers share
/// links, that the platform has some.
template <class Refuse>
void check_routes(Simulation const& config, Refuse const& refuse) {
  constexpr std::size_t most_nodes = 64; // one bit each
  auto const& platform = config.platform;
  auto const nodes = 1 + platform.devices();
  if (nodes > most_nodes) {
    refuse("Simulation::transfers",
           "are not free, and " + std::to_string(nodes) + " memory nodes are more than " +
               std::to_string(most_nodes));
  }
  if (platform.nodes.size() < nodes ||
      platform.routes.size() != platform.nodes.size() * platform.nodes.size()) {
    refuse("Simulation::platform",
           "has no routes between its " + std::to_string(nodes) + " memory nodes");
  }
  for (std::size_t from = 0; from < nodes; ++from) {
    for (std::size_t to = 0; to < nodes; ++to) {
      auto const& route = platform.routes[from * platform.nodes.size() + to];
      auto const name = platform.nodes[from].name + ">" + platform.nodes[to].name;
      if (from != to && !(route.bytes_per_s > 0)) {
        refuse("Simulation::platform", "has no bandwidth for " + name);
      }
      for (auto const link : route.links) {
        if (link >= platform.links.size() || !(platform.links[link].bytes_per_s > 0)) {
          refuse("Simulation::platform", "has no link " + std::to_string(link) + ", of " + name);
        }
      }
    }
  }
  if (config.transfers == Simulation::Transfers::shared && nodes > 1 && platform.links.empty()) {
    refuse("Simulation::transfers",
           "cannot be shared: platform '" + platform.name + "' says nothing of its links");
  }
}

/// Checks all fields. Throws Error(bad_config).
inline void check_simulation(Simulation const& config) {
  auto const refuse = [](char const* culprit, std::string const& why) {
    throw Error(ErrorCode::bad_config, culprit, why);
  };
  int workers = 0;
  for (auto const& worker_class : config.platform.classes) {
    if (worker_class.workers < 0 || worker_class.workers > 1'000'000) {
      refuse("Simulation::platform", std::to_string(worker_class.workers) + " workers in a class");
    }
    workers += worker_class.workers;
  }
  if (workers == 0) {
    refuse("Simulation::platform", "has no worker");
  }
  if (config.window < 1 || config.window > 1024) {
    refuse("Simulation::window", std::to_string(config.window) + " is not from 1 to 1024");
  }
  if (config.transfers != Simulation::Transfers::free) {
    check_routes(config, refuse);
  }
  if (!(config.noise >= 0 && config.noise < 1)) {
    refuse("Simulation::noise", std::to_string(config.noise) + " is not from 0 to below 1");
  }
}

} // namespace detail
} // namespace hetsched
