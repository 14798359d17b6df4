// SPDX-License-Identifier: MIT
#pragma once
// How a runtime in virtual time is set up: the machine, and what is left to choice.

#include <hetsched/error.hpp>
#include <hetsched/platform_model.hpp>

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
  std::uint64_t number = 0; // from 0 on, in the order of the beginnings
  WorkerId worker;
  Instant begin;
  Instant end;
  bool aborted = false;   // it was stopped at its end, and the task runs again
  std::int32_t node = -1; // in the graph that is run, see TaskView::graph_node
};

/// The first parameter of a simulated runtime: `SimulatedRuntime<S> rt(Simulation{.platform = p})`.
struct Simulation {
  /// Which class of idle worker is offered work first when several are idle at the same time; the
  /// results depend on it. Within a class, lower numbers first.
  enum class Serve : std::uint8_t { cpu, gpu };

  enum class Noise : std::uint8_t {
    per_type, // one factor for each task type and class (Kumar 2017, sec. 3.5)
    per_task  // drawn anew for each execution (sec. 3.8.3)
  };

  /// What moving data costs.
  enum class Transfers : std::uint8_t {
    free,  // nothing: every memory node has everything, without limit
    model, // latency + bytes / bandwidth * GPUs (Lima et al. 2015, sec. 4.2, eq. 1)
    shared // latency, and then a max-min fair share of the links that the route crosses
  };

  Platform platform = {};
  /// Which kernels the task types are, by name: see Platform::find. Without a library: the first
  /// in the platform's list that has the first task's kernel.
  std::string algorithm = {};
  Precision precision = Precision::double_precision;
  std::size_t tile = 0;
  std::string library = {};
  Serve serve = Serve::gpu;
  /// Unless free, each GPU has a memory of its own, as large as the platform says and kept by the
  /// runtime's Cache, and performs one transfer at a time from it and one to it.
  Transfers transfers = Transfers::free;
  /// How many tasks a GPU's worker commits itself to, so that the data of some come while the
  /// kernel of another runs; 1 if transfers are free.
  int window = 4;
  /// Of which tasks to print on stderr why they went where they went, see Runtime::explain.
  std::string explain = {};
  /// A file for what decides which bytes move: docs/gpu.md has the format. Empty: none.
  std::string memory_trace = {};
  /// As Config::trace, trace_memory and record, in virtual time.
  std::string trace = {};
  std::uint64_t trace_memory = std::uint64_t{1} << 30U;
  bool record = false;
  /// Execution times are off by a factor drawn uniformly from 1 - noise to 1 + noise; below 1.
  double noise = 0;
  Noise noise_is = Noise::per_type;
  /// Of the schedulers' random streams and of the noise.
  std::uint64_t seed = 1;
  /// Of the tasks of a graph that is run as a whole.
  Priorities priorities = Priorities::own;
  /// Measures how long the scheduler's hooks really take, for SimulatedRuntime::decision_time.
  bool time_decisions = false;
  /// Called at the end of each execution, in the order of the ends.
  std::function<void(SimulatedTask const&)> on_task = {};
};

namespace detail {

/// Whether every transfer that there can be has a route, and those links that may be shared.
template <class Refuse>
void check_routes(Simulation const& config, Refuse const& refuse) {
  constexpr std::size_t most_nodes = 64; // a bit each
  auto const& platform = config.platform;
  std::size_t nodes = 1;
  for (auto const& its : platform.classes) {
    nodes += its.arch != ArchHost ? static_cast<std::size_t>(its.workers) : 0;
  }
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

/// Checks all. Throws Error(bad_config).
inline void check_simulation(Simulation const& config) {
  auto const refuse = [](char const* culprit, std::string const& why) {
    throw Error(ErrorCode::bad_config, culprit, why);
  };
  int workers = 0;
  for (auto const& its : config.platform.classes) {
    if (its.workers < 0 || its.workers > 1'000'000) {
      refuse("Simulation::platform", std::to_string(its.workers) + " workers in a class");
    }
    workers += its.workers;
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
