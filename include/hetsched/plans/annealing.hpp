// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by simulated annealing, within a time limit.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/plans/annealed_plan.hpp>
#include <hetsched/detail/plans/list_scheduler.hpp>
#include <hetsched/detail/plans/planned_copies.hpp>
#include <hetsched/detail/plans/schedule_list.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/search_limits.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <functional>
#include <utility>

namespace hetsched {

/// What search_plan knows of transfers.
struct PlannedTransfers {
  /// What the search estimates. If they are not free, the platform has routes and, to share them,
  /// links; its memories are as large as it says.
  Simulation::Transfers kind = Simulation::Transfers::free;
  /// Runs the graph by a plan, such as in virtual time, and answers the makespan. The search then
  /// asks it about the start and about plans that its estimate calls shorter by 0.2 % or more, and
  /// answers the shortest by that. Empty: the estimate decides.
  std::function<Duration(StaticPlan const&)> follow = {};
};

/// The best plan that simulated annealing finds from `start` on, such as the best heuristic's, in
/// the time that it has; never a longer one. Its makespan is the plan's, followed without transfers
/// and noise, or what `transfers` say: `follow`'s, or else the estimate of detail::PlannedCopies,
/// by which the plan may then be longer than the start. `times` are class_times of the graph on the
/// platform.
///
/// A schedule is a list of tasks with a class of worker for each, or a device if transfers cost
/// time; a step moves a task in the list, gives it another class or device, or has two of a type
/// trade theirs, every other time one on the path that the makespan depends on. Steps that make it
/// longer are taken with a probability that falls with the time spent. This is in the place of the
/// constraint program of Kumar 2017, sec. 2.3.2 and 3.5, which runs for hours: like that at any
/// size but the smallest, it proves nothing of what it finds; bounds.hpp does.
///
/// Cost: the limits; an evaluation is O(tasks W + edges), often less. Thread-safe.
/// Throws Error(bad_call) without limits, Error(bad_input) if the start does not fit the graph, the
/// platform and the times, Error(bad_config) if the platform lacks what transfers need, and what
/// `follow` throws.
[[nodiscard]] inline StaticPlan search_plan(TaskGraph const& graph,
                                            Platform const& platform,
                                            ClassTimes const& times,
                                            StaticPlan const& start,
                                            SearchLimits const& limits = {},
                                            PlannedTransfers const& transfers = {}) {
  using namespace detail;
  check_search(graph, platform, times, start, limits);
  auto plan = empty_plan(graph, platform);
  if (graph.size() == 0) {
    return plan;
  }
  plan.makespan = {never_ends};
  if (transfers.follow) {
    plan.steps = start.steps;
    plan.makespan = transfers.follow(start);
  }
  if (transfers.kind == Simulation::Transfers::free) {
    ScheduleList list(graph, times, start);
    AnnealedPlan(graph, std::move(list), limits, transfers.follow).run(plan);
  } else {
    check_simulation({.platform = platform, .transfers = transfers.kind});
    PlannedCopies copies(graph, platform, transfers.kind);
    ScheduleList list(graph, times, start, std::move(copies));
    AnnealedPlan(graph, std::move(list), limits, transfers.follow).run(plan);
  }
  return plan;
}

} // namespace hetsched
