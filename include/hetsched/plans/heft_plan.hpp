// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by list scheduling.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/detail/plans/list_scheduler.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <cstddef>
#include <cstdint>

namespace hetsched {

/// HEFT with insertion: tasks in the order of their ranks, the highest first, each to the worker
/// that ends it first, in the earliest gap that is long enough; the lowest number among equals.
/// Ranks are bottom levels as `rank` says (bottom_min or bottom_avg), or the graph's priorities
/// (own). What a task depends on goes before it, whatever the ranks. Transfers are free.
///
/// `times` are class_times of the graph on the platform.
///
/// Source: HEFT of Topcuoglu et al., as Kumar 2017 cites it (sec. 3.3, 3.6), there dynamic, without
/// gaps, and with the ranks of bottom_min.
/// Cost: O(tasks (log tasks + W gaps) + edges). Thread-safe: a pure function.
/// Throws Error(bad_call) if the times are not the graph's, or nobody can run a task.
[[nodiscard]] inline StaticPlan heft_plan(TaskGraph const& graph,
                                          Platform const& platform,
                                          ClassTimes const& times,
                                          Priorities rank = Priorities::bottom_min) {
  auto plan = detail::empty_plan(graph, platform);
  detail::ListScheduler list(graph, times);
  list.run(detail::list_ranks(graph, times, rank),
           [&](std::size_t task, std::int64_t ready) { return list.earliest(task, ready); });
  plan.makespan = list.makespan();
  plan.steps = list.steps();
  return plan;
}

} // namespace hetsched
