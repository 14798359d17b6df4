// SPDX-License-Identifier: MIT
#pragma once
// The engine of virtual time, for policies that simulate others.

#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <algorithm>
#include <cstddef>

namespace hetsched {

/// Simulates policies on a graph in the engine of virtual time. If transfers are free, results do
/// not depend on Cache. A program that has this engine with another cache can name that cache here:
/// it then compiles no further engine.
template <class Cache = policies::Lru>
struct EngineSimulator {
  /// Runs the graph under Scheduler with these knobs. Throws what SimulatedRuntime throws.
  template <class Scheduler, class... Knobs>
  [[nodiscard]] static SimulatedSchedule
  run(TaskGraph const& graph, Simulation config, Knobs const&... knobs) {
    SimulatedSchedule schedule;
    schedule.side.resize(graph.size());
    schedule.begin.resize(graph.size());
    schedule.end.resize(graph.size());
    schedule.worker.resize(graph.size());
    auto const archs = workers_of(config.platform);
    config.on_task = [&](SimulatedTask const& task) {
      auto const node = static_cast<std::size_t>(task.node);
      if (!task.aborted) {
        schedule.side[node] = archs[task.worker.index()].index;
        schedule.begin[node] = task.begin.ns;
        schedule.end[node] = task.end.ns;
        schedule.worker[node] = task.worker;
        schedule.makespan = std::max(schedule.makespan, task.end.ns);
      }
    };
    SimulatedRuntime<Scheduler, Cache> rt(config, knobs...);
    rt.run(graph);
    return schedule;
  }
};

} // namespace hetsched
