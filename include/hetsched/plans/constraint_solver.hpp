// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by constraint programming, within a time limit, with a lower bound
// that is proved. Needs Gecode, which searches.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/plans/constraint_space.hpp>
#include <hetsched/detail/plans/list_scheduler.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/detail/plans/schedule_list.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/search_limits.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/platform.hpp>

#include <gecode/search.hh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {
namespace detail {

/// Ends a search when its slice of nodes or all that may be spent is.
class SolverStop : public Gecode::Search::Stop {
public:
  explicit SolverStop(SearchLimits const& limits) : limits_(limits), began_(clock_seconds()) {}

  /// At each node.
  bool stop(Gecode::Search::Statistics const&, Gecode::Search::Options const&) override {
    if (is_over() || nodes_ == slice_) {
      return true;
    }
    ++nodes_;
    return false;
  }

  void slice(std::uint64_t nodes) { slice_ = nodes_ + nodes; }

  [[nodiscard]] bool is_over() const {
    return (limits_.evaluations != 0 && nodes_ >= limits_.evaluations) ||
           (limits_.seconds > 0 && clock_seconds() - began_ >= limits_.seconds);
  }

private:
  SearchLimits const& limits_;
  double const began_;
  std::uint64_t nodes_ = 0;
  std::uint64_t slice_ = 0;
};

/// Branch and bound through all schedules. In turn with that, a makespan between bound and best is
/// asked for: if a search of a few nodes, of more each time, shows that there is none, that is the
/// bound.
class ConstraintSolver {
public:
  ConstraintSolver(TaskGraph const& graph,
                   Platform const& platform,
                   ClassTimes const& times,
                   StaticPlan const& start,
                   SearchLimits const& limits)
      : times_(times), limits_(limits), class_of_(classes_of_workers(times)),
        best_{retimed(graph, times, empty_plan(graph, platform), start), {}},
        state_{graph,
               times.workers,
               SolverTicks(times, best_.plan.makespan),
               Gecode::Int::Limits::max,
               {},
               Predecessors(graph),
               {}} {
    auto const shortest = shortest_times(times);
    best_.bound = std::max(critical_path(graph, shortest), area_bound(times).value_or(Duration{}));
    for (auto const level : bottom_levels(graph, shortest)) {
      state_.levels.push_back(level.ns);
    }
    aim();
  }

  [[nodiscard]] SolvedPlan run() {
    if (is_enough()) {
      return best_;
    }
    SolverStop stop(limits_);
    ConstraintSpace root(state_);
    if (root.status() == Gecode::SS_FAILED) {
      prove(state_.most);
      return best_;
    }
    Gecode::Search::Options options;
    options.stop = &stop;
    raise_bound(root, stop, options, 1);
    Engine all(&root, options);
    for (std::uint64_t nodes = 500; !is_enough() && !stop.is_over(); nodes *= 2) {
      stop.slice(8 * nodes);
      if (!explore(all)) {
        prove(state_.most);
        break;
      }
      raise_bound(root, stop, options, nodes);
    }
    return best_;
  }

private:
  using Engine = Gecode::DFS<ConstraintSpace>;

  /// The start as the plan's list has it: each task on the first worker that is free.
  static StaticPlan retimed(TaskGraph const& graph,
                            ClassTimes const& times,
                            StaticPlan plan,
                            StaticPlan const& start) {
    ScheduleList<> list(graph, times, start);
    plan.makespan = {list.evaluate(ScheduleList<>::too_long)};
    plan.steps = list.steps();
    return plan;
  }

  [[nodiscard]] bool is_enough() const {
    return best_.proved() || best_.plan.makespan <= limits_.enough;
  }

  /// None takes so many ticks or fewer. As none is looked for that is not shorter than the best,
  /// that says nothing of longer ones.
  void prove(int ticks) {
    auto const longer = std::min(state_.ticks.of(ticks + 1), best_.plan.makespan);
    best_.bound = std::max(best_.bound, longer);
  }

  /// Looks for plans that are shorter than the best from now on, first for what has its classes.
  void aim() {
    state_.most = std::min(state_.most, state_.ticks.below(best_.plan.makespan));
    state_.classes.resize(state_.graph.size());
    for (auto const& [task, worker] : best_.plan.steps) {
      state_.classes[task] = static_cast<int>(class_of_[worker.index()]);
    }
  }

  /// By halving: makespans for which a search of so many nodes shows that there are none.
  void raise_bound(ConstraintSpace& root,
                   SolverStop& stop,
                   Gecode::Search::Options const& options,
                   std::uint64_t nodes) {
    auto none = state_.ticks.below(best_.bound);
    auto some = state_.most + 1;
    while (none + 1 < some && !is_enough() && !stop.is_over()) {
      auto const middle = none + (some - none) / 2;
      std::unique_ptr<ConstraintSpace> const space(static_cast<ConstraintSpace*>(root.clone()));
      Gecode::rel(*space, space->makespan, Gecode::IRT_LQ, middle);
      stop.slice(nodes);
      Engine engine(space.get(), options);
      if (explore(engine)) {
        some = middle;
      } else {
        none = std::min(middle, state_.most);
        some = std::min(some, state_.most + 1);
        prove(none);
      }
    }
  }

  /// False if there are no more.
  bool explore(Engine& engine) {
    while (std::unique_ptr<ConstraintSpace> const found{engine.next()}) {
      take(*found);
      if (is_enough()) {
        return true;
      }
    }
    return engine.stopped();
  }

  void take(ConstraintSpace const& found) {
    std::vector<TimedStep> steps;
    int makespan = 0;
    for (int v = 0; v < found.size(); ++v) {
      auto const c = found.classes[v].val();
      makespan = std::max(makespan, found.begins[v].val() + found.ticks(v, c));
      auto const first = std::find(class_of_.begin(), class_of_.end(), static_cast<std::size_t>(c));
      steps.push_back(timed_step(found.begins[v].val(),
                                 static_cast<std::size_t>(v),
                                 static_cast<std::size_t>(first - class_of_.begin())));
    }
    StaticPlan plan = best_.plan;
    plan.steps = steps_by_begin(std::move(steps));
    state_.most = std::min(state_.most, makespan - 1);
    plan = retimed(state_.graph, times_, best_.plan, plan);
    if (plan.makespan < best_.plan.makespan) {
      best_.plan = std::move(plan);
      aim();
    }
  }

  ClassTimes const& times_;
  SearchLimits const& limits_;
  std::vector<std::size_t> class_of_; // the workers
  SolvedPlan best_;
  SolverState state_;
};

} // namespace detail

/// The shortest plan that constraint programming finds from `start` on, such as the best
/// heuristic's or search_plan's, in the time that it has; never a longer one. With it a bound that
/// no plan is below: the larger of critical path, area bound (two classes at most) and what the
/// constraints alone exclude; the plan's makespan once all schedules have been gone through,
/// and then it is proved to be the shortest. Its makespan is the plan's, followed without transfers
/// and noise. `times` are class_times of the graph on the platform.
///
/// The program has a begin and a class of worker for each task (detail::ConstraintSpace). Branch
/// and bound goes through all schedules, in turn with searches for much shorter ones, which raise
/// the bound when they find that there are none. Times count in ticks of which each is a multiple,
/// so that nothing is rounded; if that would be more than 2^30 for a schedule, rounded down to
/// longer ticks: bounds hold even so, but may then stay some ticks below the shortest plan
/// (detail::SolverTicks). So they may where a task that takes no time has to wait for a worker:
/// here it needs none.
///
/// Of the limits, `evaluations` are nodes of the search trees; nothing is by lot. Writing the
/// program down is not limited.
///
/// Source: the constraint program of Kumar 2017, sec. 2.3.2 and 3.5; how begins are decided:
/// detail::SetTimes. What can be gone through ends at a few tens of tasks.
/// Cost: the limits; a node is O(tasks^2) and more. Thread-safe.
/// Throws Error(bad_call) without limits or if nobody can run a task, Error(bad_input) if the start
/// does not fit the graph and the platform.
[[nodiscard]] inline SolvedPlan solve_plan(TaskGraph const& graph,
                                           Platform const& platform,
                                           ClassTimes const& times,
                                           StaticPlan const& start,
                                           SearchLimits const& limits = {}) {
  detail::check_search(graph, platform, times, start, limits);
  if (graph.size() == 0) {
    return {detail::empty_plan(graph, platform), {}};
  }
  return detail::ConstraintSolver(graph, platform, times, start, limits).run();
}

} // namespace hetsched
