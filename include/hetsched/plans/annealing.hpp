// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by simulated annealing, within a time limit.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/plans/list_scheduler.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/detail/plans/local_search.hpp>
#include <hetsched/detail/plans/schedule_list.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/search_limits.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hetsched {

namespace detail {

/// Simulated annealing over such lists.
class AnnealedPlan {
public:
  AnnealedPlan(TaskGraph const& graph,
               ClassTimes const& times,
               StaticPlan const& start,
               SearchLimits const& limits)
      : graph_(graph), classes_(static_cast<std::uint32_t>(times.workers.size())), limits_(limits),
        random_(limits.seed), list_(graph, times, start) {}

  /// The best that was found.
  void run(StaticPlan& plan) {
    plan_ = &plan;
    auto const first = list_.evaluate(ScheduleList::too_long);
    keep(first);
    local_search(*this, first, Cooling{*this, clock_seconds()});
  }

  // ---- for local_search ----

  void change() {
    moved_ = ScheduleList::nobody;
    changed_.clear();
    auto const task = any_task();
    auto const what = unit();
    if (what < 0.25) {
      give_class(task, below(classes_));
    } else if (what < 0.5) {
      trade_classes(task);
    } else {
      move(task);
      if (what > 0.85) {
        give_class(task, below(classes_));
      }
    }
  }

  void take_back() {
    if (moved_ != ScheduleList::nobody) {
      list_.move(moved_, from_);
    }
    for (auto const& changed : changed_) {
      list_.set_class(changed.task, changed.before);
    }
  }

  std::int64_t evaluate(std::int64_t most) { return list_.evaluate(most); }

  std::int64_t keep(std::int64_t makespan) {
    list_.critical_path(path_);
    if (makespan < best_) {
      best_ = makespan;
      plan_->makespan = {best_};
      plan_->steps = list_.steps();
    }
    return makespan;
  }

private:
  struct Class {
    std::uint32_t task;
    std::uint32_t before;
  };

  /// How much longer a step may make the schedule, less and less.
  struct Cooling {
    AnnealedPlan& plan;
    double began;
    double part = 0; // of what may be spent
    std::uint64_t steps = 0;

    [[nodiscard]] bool more() {
      auto const& limits = plan.limits_;
      if (part >= 1 || plan.best_ <= limits.enough.ns) {
        return false;
      }
      ++steps;
      if (steps % 64 == 0 && limits.seconds > 0) {
        part = std::max(part, (clock_seconds() - began) / limits.seconds);
      }
      if (limits.evaluations > 0) {
        part = std::max(part, static_cast<double>(steps) / static_cast<double>(limits.evaluations));
      }
      return true;
    }

    // Tried on Cholesky of 12 and 24 tiles on haswell_k40: hotter, large graphs do not cool down.
    [[nodiscard]] std::int64_t most(std::int64_t current) {
      auto const heat = 0.4 * static_cast<double>(plan.best_) /
                        static_cast<double>(plan.graph_.size()) * std::pow(0.03, part);
      return static_cast<std::int64_t>(static_cast<double>(current) -
                                       heat * std::log(1 - plan.unit()));
    }
  };

  /// Every other time one that the end depends on.
  std::uint32_t any_task() {
    return random_.next() % 2 == 0 ? path_[below(static_cast<std::uint32_t>(path_.size()))]
                                   : below(static_cast<std::uint32_t>(graph_.size()));
  }

  void give_class(std::uint32_t task, std::uint32_t its_class) {
    if (list_.can_run(task, its_class)) {
      changed_.push_back({task, list_.class_of(task)});
      list_.set_class(task, its_class);
    }
  }

  /// With a task of its type that is on another class, if one is found.
  void trade_classes(std::uint32_t task) {
    for (int tries = 0; tries < 8; ++tries) {
      auto const other = below(static_cast<std::uint32_t>(graph_.size()));
      if (graph_.nodes()[other].type == graph_.nodes()[task].type &&
          list_.class_of(other) != list_.class_of(task)) {
        auto const its_class = list_.class_of(task);
        give_class(task, list_.class_of(other));
        give_class(other, its_class);
        return;
      }
    }
  }

  /// Near or, every other time, anywhere.
  void move(std::uint32_t task) {
    auto [from, to] = list_.range(task);
    auto const place = list_.place(task);
    if (random_.next() % 2 == 0) {
      constexpr std::uint32_t near = 12;
      from = std::max(from, place - std::min(place, near));
      to = std::min(to, place + near);
    }
    moved_ = task;
    from_ = place;
    list_.move(task, from + below(to - from + 1));
  }

  /// From 0 to below `limit`.
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((random_.next() >> 32U) * limit >> 32U);
  }

  /// From 0 to below 1.
  double unit() { return static_cast<double>(random_.next() >> 11U) * 0x1p-53; }

  TaskGraph const& graph_;
  std::uint32_t const classes_;
  SearchLimits const limits_;
  RandomStream random_;
  ScheduleList list_;
  std::vector<std::uint32_t> path_; // of the current schedule
  std::uint32_t moved_ = ScheduleList::nobody;
  std::uint32_t from_ = 0;
  std::vector<Class> changed_;
  StaticPlan* plan_ = nullptr; // the best so far
  std::int64_t best_ = never_ends;
};

} // namespace detail

/// The best plan that simulated annealing finds from `start` on, such as the best heuristic's, in
/// the time that it has; never a longer one. Its makespan is the plan's, followed without transfers
/// and noise. `times` are class_times of the graph on the platform.
///
/// A schedule is a list of tasks with a class of worker for each; a step moves a task in the list,
/// gives it another class, or has two of a type trade classes, every other time one on the path
/// that the makespan depends on. Steps that make it longer are taken with a probability that falls
/// with the time spent. This is in the place of the constraint program of Kumar 2017, sec. 2.3.2
/// and 3.5, which runs for hours: like that at any size but the smallest, it proves nothing of what
/// it finds; bounds.hpp does.
///
/// Cost: the limits; an evaluation is O(tasks W + edges), often less. Thread-safe.
/// Throws Error(bad_call) without limits, Error(bad_input) if the start does not fit the graph, the
/// platform and the times.
[[nodiscard]] inline StaticPlan search_plan(TaskGraph const& graph,
                                            Platform const& platform,
                                            ClassTimes const& times,
                                            StaticPlan const& start,
                                            SearchLimits const& limits = {}) {
  detail::check_search(graph, platform, times, start, limits);
  auto plan = detail::empty_plan(graph, platform);
  if (graph.size() != 0) {
    detail::AnnealedPlan(graph, times, start, limits).run(plan);
  }
  return plan;
}

} // namespace hetsched
