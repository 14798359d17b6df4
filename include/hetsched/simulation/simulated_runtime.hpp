// SPDX-License-Identifier: MIT
#pragma once
// The runtime in virtual time: the same application code and the same policies on a machine that a
// Platform describes.

#include <hetsched/detail/virtual_time/replay_graph.hpp>
#include <hetsched/detail/virtual_time/virtual_core_of.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/runtime/graph_runs.hpp>
#include <hetsched/runtime/runtime.hpp>

namespace hetsched {

/// The engine of virtual time. Spawns register tasks as ever, and cost no virtual time; a sync lets
/// virtual time pass until they are complete. No body runs, so data keep what they held: each
/// execution takes what the platform says, and so do transfers if Simulation::transfers asks for
/// it. Deterministic for a seed: on one platform, with one scheduler, two runs are the same to the
/// nanosecond, whatever the compiler.
///
/// For one thread at a time. `sync(handle)`, which a program asks for to look at a value, and tasks
/// whose bodies take the runtime, with which they may spawn, throw Error(bad_call): capture such a
/// program's graph in a real run and simulate that. A task type without a time on the platform
/// throws Error(cannot_run) at its spawn. If a scheduler keeps a task from all idle workers for
/// ever, the sync throws Error(bad_call).
struct VirtualEngine {
  using BaseCore = detail::VirtualCore;

  template <class Scheduler, class PerfModel>
  using Core = detail::VirtualCoreOf<Scheduler, PerfModel>;

  static constexpr detail::AttemptFunctions const* attempts =
      nullptr; // tasks are abortable as such

  [[nodiscard]] static detail::ExplanationsFactory explanations() noexcept {
    return &detail::make_explanations<detail::VirtualCore::Context>;
  }

  using Config = Simulation;
  using Replay = detail::GraphReplay;
  static constexpr bool computes = false; // values

  using OwnConfig = Config const&; // nothing is filled in

  static void resolve(Config const& config) { detail::check_simulation(config); }

  [[nodiscard]] static Priorities priorities(Config const& config) noexcept {
    return config.priorities;
  }
};

/// `stats().elapsed` is the makespan, in virtual time, as are all durations in it.
template <class Scheduler = policies::WorkStealing<>,
          class Cache = policies::Lru,
          class PerfModel = policies::NoModel>
using SimulatedRuntime = Runtime<Scheduler, Cache, PerfModel, VirtualEngine>;

} // namespace hetsched
