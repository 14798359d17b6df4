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

/// A task's execution in virtual time.
struct SimulatedTask {
  std::string_view type;
  std::string_view label;
  std::uint64_t number = 0; // from 0 on, in the order of the beginnings
  WorkerId worker;
  Instant begin;
  Instant end;
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

  Platform platform = {};
  /// Which kernels the task types are, by name: see Platform::find. Without a library: the first
  /// in the platform's list that has the first task's kernel.
  std::string algorithm = {};
  Precision precision = Precision::double_precision;
  std::size_t tile = 0;
  std::string library = {};
  Serve serve = Serve::gpu;
  /// Execution times are off by a factor drawn uniformly from 1 - noise to 1 + noise; below 1.
  double noise = 0;
  Noise noise_is = Noise::per_type;
  /// Of the schedulers' random streams and of the noise.
  std::uint64_t seed = 1;
  /// Measures how long the scheduler's hooks really take, for SimulatedRuntime::decision_time.
  bool time_decisions = false;
  /// Called at each task's end, in the order of the ends.
  std::function<void(SimulatedTask const&)> on_task = {};
};

namespace detail {

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
  if (!(config.noise >= 0 && config.noise < 1)) {
    refuse("Simulation::noise", std::to_string(config.noise) + " is not from 0 to below 1");
  }
}

} // namespace detail
} // namespace hetsched
