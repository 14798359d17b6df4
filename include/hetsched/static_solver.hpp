// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by constraint programming, within a time limit, with a lower bound
// that is proved. Needs Gecode, which searches.

#include <hetsched/bottom_levels.hpp>
#include <hetsched/bounds.hpp>
#include <hetsched/detail/plan_space.hpp>
#include <hetsched/error.hpp>
#include <hetsched/platform_model.hpp>
#include <hetsched/static_heft.hpp>
#include <hetsched/static_plan.hpp>
#include <hetsched/static_search.hpp>
#include <hetsched/task_graph.hpp>

#include <gecode/search.hh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched {
namespace detail {

/// Ends a search when its slice of nodes or all that may be spent is.
class SolverStop : public Gecode::Search::Stop {
public:
  explicit SolverStop(SearchLimits const& limits) : limits_(limits), began_(seconds()) {}

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
           (limits_.seconds > 0 && seconds() - began_ >= limits_.seconds);
  }

private:
  static double seconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  SearchLimits const& limits_;
  double const began_;
  std::uint64_t nodes_ = 0;
  std::uint64_t slice_ = 0;
};

/// Branch and bound through all schedules and, in turn with that, through those that are like the
/// best known but for some tasks (large neighbourhood search). Each makes the other's bound.
class PlanSolver {
public:
  PlanSolver(TaskGraph const& graph,
             Platform const& platform,
             ClassTimes const& times,
             StaticPlan const& start,
             SearchLimits const& limits)
      : times_(times), limits_(limits),
        best_{retimed(graph, times, empty_plan(graph, platform), start), {}},
        state_{graph, times.workers, SolverTicks(times, best_.plan.makespan),
               RandomStream(limits.seed), 0, {}, {}, {}} {
    auto const shortest = shortest_times(times);
    best_.bound = std::max(critical_path(graph, shortest), area_bound(times).value_or(Duration{}));
    for (auto const level : bottom_levels(graph, shortest)) {
      state_.levels.push_back(level.ns);
    }
    state_.predecessors.resize(graph.size());
    for (std::uint32_t u = 0; u < graph.size(); ++u) {
      for (auto const v : graph.successors(u)) {
        state_.predecessors[v].push_back(u);
      }
    }
    for (std::uint32_t c = 0; c < times.workers.size(); ++c) {
      first_.push_back(class_of_.size());
      class_of_.insert(class_of_.end(), static_cast<std::size_t>(times.workers[c]), c);
    }
    aim();
  }

  [[nodiscard]] SolvedPlan run() {
    if (is_enough()) {
      return best_;
    }
    PlanSpace root(state_);
    if (root.status() == Gecode::SS_FAILED) {
      prove();
      return best_;
    }
    raise_bound(root);
    SolverStop stop(limits_);
    Gecode::Search::Options options;
    options.stop = &stop;
    Gecode::DFS<PlanSpace> all(&root, options);
    while (!is_enough() && !stop.is_over()) {
      stop.slice(slice);
      if (!explore(all)) {
        prove();
        break;
      }
      for (auto left = slice; left > 0 && !is_enough() && !stop.is_over(); left -= few) {
        stop.slice(few);
        look_near(root, options);
      }
    }
    return best_;
  }

private:
  static constexpr std::int64_t slice = 2000; // nodes of each search in turn
  static constexpr std::int64_t few = 400;    // and of a neighbourhood

  using Engine = Gecode::DFS<PlanSpace>;

  /// The start as the plan's list has it: each task on the first worker that is free.
  static StaticPlan retimed(TaskGraph const& graph,
                            ClassTimes const& times,
                            StaticPlan plan,
                            StaticPlan const& start) {
    ScheduleList list(graph, times, start);
    plan.makespan = {list.evaluate(ScheduleList::too_long)};
    plan.steps = list.steps();
    return plan;
  }

  [[nodiscard]] bool is_enough() const {
    return best_.proved() || best_.plan.makespan <= limits_.enough;
  }

  /// There are none that are shorter than what was looked for.
  void prove() {
    best_.bound = std::max(best_.bound, state_.ticks.of(state_.most + 1));
  }

  /// Looks for plans that are shorter than the best from now on, and near it.
  void aim() {
    auto const shorter = state_.ticks.below(best_.plan.makespan);
    state_.most = state_.most == 0 ? shorter : std::min(state_.most, shorter);
    state_.classes.resize(state_.graph.size());
    begins_.assign(state_.graph.size(), 0);
    ends_.assign(state_.graph.size(), 0);
    std::vector<std::int64_t> free(class_of_.size());
    for (auto const& [task, worker] : best_.plan.steps) {
      auto const c = class_of_[worker.index()];
      auto begin = free[worker.index()];
      for (auto const u : state_.predecessors[task]) {
        begin = std::max(begin, ends_[u]);
      }
      begins_[task] = begin;
      ends_[task] = begin + times_.on(task, c).ns;
      free[worker.index()] = ends_[task];
      state_.classes[task] = static_cast<int>(c);
    }
  }

  /// By halving: makespans for which the constraints alone leave nothing.
  void raise_bound(PlanSpace& root) {
    int none = -1;
    int some = state_.most;
    while (none + 1 < some) {
      auto const middle = none + (some - none) / 2;
      std::unique_ptr<PlanSpace> const space(static_cast<PlanSpace*>(root.clone()));
      Gecode::rel(*space, space->makespan, Gecode::IRT_LQ, middle);
      (space->status() == Gecode::SS_FAILED ? none : some) = middle;
    }
    best_.bound = std::max(best_.bound, state_.ticks.of(none + 1));
  }

  /// False if there are no more.
  bool explore(Engine& engine) {
    while (std::unique_ptr<PlanSpace> const found{engine.next()}) {
      take(*found);
      if (is_enough()) {
        return true;
      }
    }
    return engine.stopped();
  }

  void take(PlanSpace const& found) {
    StaticPlan plan = best_.plan;
    int makespan = 0;
    for (int v = 0; v < found.size(); ++v) {
      auto const c = found.classes[v].val();
      makespan = std::max(makespan, found.begins[v].val() + found.ticks(v, c));
      plan.steps[static_cast<std::size_t>(v)] = {
          static_cast<std::uint32_t>(v),
          WorkerId{static_cast<std::int32_t>(first_[static_cast<std::size_t>(c)])}};
    }
    std::sort(plan.steps.begin(), plan.steps.end(), [&](auto const& a, auto const& b) {
      auto const begin = [&](auto const& step) {
        return found.begins[static_cast<int>(step.task)].val();
      };
      return std::pair(begin(a), a.task) < std::pair(begin(b), b.task);
    });
    state_.most = std::min(state_.most, makespan - 1);
    plan = retimed(state_.graph, times_, best_.plan, plan);
    if (plan.makespan < best_.plan.makespan) {
      best_.plan = std::move(plan);
      aim();
    }
  }

  /// Plans in which all but some tasks, those about a time or any, keep their class and what is
  /// before them on their worker. As many tasks as a few nodes are enough for.
  void look_near(PlanSpace& root, Gecode::Search::Options const& options) {
    auto const tasks = state_.graph.size();
    auto const is_free = freed(std::min(tasks, static_cast<std::size_t>(size_)));
    std::unique_ptr<PlanSpace> const space(static_cast<PlanSpace*>(root.clone()));
    Gecode::rel(*space, space->makespan, Gecode::IRT_LQ, state_.most);
    std::vector<int> last(class_of_.size(), -1);
    for (auto const& [task, worker] : best_.plan.steps) {
      if (is_free[task]) {
        continue;
      }
      auto const v = static_cast<int>(task);
      auto const c = state_.classes[task];
      Gecode::rel(*space, space->classes[v], Gecode::IRT_EQ, c);
      if (auto const u = std::exchange(last[worker.index()], v); u >= 0) {
        Gecode::linear(*space,
                       Gecode::IntArgs({1, -1}),
                       Gecode::IntVarArgs() << space->begins[v] << space->begins[u],
                       Gecode::IRT_GQ,
                       space->ticks(u, c));
      }
    }
    Engine engine(space.get(), options);
    bool const done = !explore(engine);
    auto const most = static_cast<double>(tasks);
    size_ = std::clamp(size_ * (done ? 1.02 : 0.98), 4.0, std::max(4.0, most));
  }

  std::vector<bool> freed(std::size_t count) {
    auto const tasks = state_.graph.size();
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    auto const kind = state_.random.next() % 4;
    auto const middle = state_.random.next() % tasks;
    for (std::size_t v = 0; v < tasks; ++v) {
      auto const apart = begins_[v] + ends_[v] - begins_[middle] - ends_[middle];
      order.emplace_back(kind == 0 ? state_.random.next()
                                   : static_cast<std::uint64_t>(apart < 0 ? -apart : apart),
                         v);
    }
    std::sort(order.begin(), order.end());
    std::vector<bool> is_free(tasks);
    for (std::size_t k = 0; k < count; ++k) {
      is_free[order[k].second] = true;
    }
    return is_free;
  }

  ClassTimes const& times_;
  SearchLimits const& limits_;
  SolvedPlan best_;
  SolverState state_;
  std::vector<std::size_t> first_; // worker of each class
  std::vector<std::size_t> class_of_;
  std::vector<std::int64_t> begins_; // of the best plan
  std::vector<std::int64_t> ends_;
  double size_ = 12; // of a neighbourhood
};

} // namespace detail

[[nodiscard]] inline SolvedPlan solve_plan(TaskGraph const& graph,
                                           Platform const& platform,
                                           ClassTimes const& times,
                                           StaticPlan const& start,
                                           SearchLimits const& limits = {}) {
  if (!(limits.seconds > 0) && limits.evaluations == 0) {
    throw Error(ErrorCode::bad_call, "SearchLimits", "there are none");
  }
  check_plan(start, graph, workers_of(platform));
  if (graph.size() == 0) {
    return {detail::empty_plan(graph, platform), {}};
  }
  return detail::PlanSolver(graph, platform, times, start, limits).run();
}

} // namespace hetsched
