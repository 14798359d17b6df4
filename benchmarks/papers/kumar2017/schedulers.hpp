// SPDX-License-Identifier: MIT
#pragma once
// One run of a scheduler in virtual time, and its results.

#include <hetsched/plans/allocation.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/simulation.hpp>

#include "machines.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kumar2017 {

/// A number for cores (or groups of them), and one for GPUs.
template <class Number>
using BySide = std::array<Number, 2>;

struct Outcome {
  hs::Duration makespan;
  BySide<hs::Duration> idle{}; // summed over workers; includes aborted executions
  BySide<int> workers{};
  int cpus_used = 0;                                  // that ran a task to its end
  std::map<std::string, BySide<std::uint64_t>> count; // tasks of each type
  int k = 0;                                          // of the hint that was best, see best_k
};

/// A scheduler by the name that benchmarks/simulate has for it.
[[nodiscard]] bool is_scheduler(std::string const& name);

struct RunOptions {
  std::string rank = "min"; // min, avg or fifo
  std::uint64_t seed = 1;
  double per_task_noise = 0;
  Case const* known = nullptr; // whose times schedulers get; null: the case's own
  hs::Allocation allowed = {}; // classes for each task; empty: all
  std::function<void(hs::SimulatedTask const&)> on_task = {};
};

/// Transfers free. Throws Error(bad_config) for a name that is none.
[[nodiscard]] Outcome run(std::string const& name, Case const& instance, RunOptions const& options);

/// Follows a plan; idle GPUs take tasks of the types given from others.
[[nodiscard]] Outcome follow(hs::StaticPlan const& plan,
                             std::vector<std::string> const& gpus_take,
                             Case const& instance,
                             RunOptions const& options);

/// Adds up idle times, workers and counts of a run.
[[nodiscard]] Outcome outcome_of(hs::Stats const& stats, hs::Platform const& platform);

/// The simulation of `run`.
[[nodiscard]] hs::Simulation simulation_of(Case const& instance, RunOptions const& options);

} // namespace kumar2017
