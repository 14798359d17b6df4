// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by local search, within a time limit.

#include <hetsched/bottom_levels.hpp>
#include <hetsched/bounds.hpp>
#include <hetsched/detail/random_stream.hpp>
#include <hetsched/error.hpp>
#include <hetsched/platform_model.hpp>
#include <hetsched/static_heft.hpp>
#include <hetsched/static_plan.hpp>
#include <hetsched/task_graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// What search_plan or solve_plan may spend. At least one limit is not 0.
struct SearchLimits {
  double seconds = 10; // of real time; 0: no limit
  /// Of schedules, nodes; 0: no limit. If it is the only one, the plan is always the same.
  std::uint64_t evaluations = 0;
  Duration enough; // ends when the makespan is no longer, such as a lower bound
  std::uint64_t seed = 1;
};

/// A plan, and what is known of all.
struct SolvedPlan {
  StaticPlan plan;
  Duration bound; // no plan is shorter

  /// No plan is shorter than this one.
  [[nodiscard]] bool proved() const noexcept { return plan.makespan <= bound; }
};

namespace detail {

/// Of a clock that only goes forward.
[[nodiscard]] inline double clock_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// In the order of their numbers.
[[nodiscard]] inline std::vector<std::size_t> classes_of_workers(ClassTimes const& times) {
  std::vector<std::size_t> class_of;
  for (std::size_t c = 0; c < times.workers.size(); ++c) {
    class_of.insert(class_of.end(), static_cast<std::size_t>(times.workers[c]), c);
  }
  return class_of;
}

/// Throws what a search from there would: see search_plan.
inline void check_search(TaskGraph const& graph,
                         Platform const& platform,
                         ClassTimes const& times,
                         StaticPlan const& start,
                         SearchLimits const& limits) {
  if (!(limits.seconds > 0) && limits.evaluations == 0) {
    throw Error(ErrorCode::bad_call, "SearchLimits", "there are none");
  }
  check_plan(start, graph, workers_of(platform));
  auto const class_of = classes_of_workers(times);
  for (auto const& [task, worker] : start.steps) {
    if (times.on(task, class_of[worker.index()]) == ClassTimes::never) {
      PlanCheck const check(start, graph);
      check.refuse("has " + check.text(task) + " on worker " + std::to_string(worker.value) +
                   ", which cannot run it");
    }
  }
}

/// A list of tasks, each behind what it depends on, and a class of worker for each. It stands for
/// the schedule in which each task in turn goes to the worker of its class that can begin it first;
/// of those that are free by then the one that became so last.
class ScheduleList {
public:
  static constexpr auto nobody = std::numeric_limits<std::uint32_t>::max();
  static constexpr auto too_long = std::numeric_limits<std::int64_t>::max();

  ScheduleList(TaskGraph const& graph, ClassTimes const& times, StaticPlan const& start)
      : graph_(graph), times_(times), places_(graph.size()), classes_(graph.size()),
        begins_(graph.size()), ends_(graph.size()), workers_(graph.size()), holders_(graph.size()) {
    auto const class_of = classes_of_workers(times);
    first_.push_back(0);
    for (auto const workers : times.workers) {
      first_.push_back(first_.back() + static_cast<std::size_t>(workers));
    }
    for (auto const& [task, worker] : start.steps) {
      places_[task] = static_cast<std::uint32_t>(list_.size());
      classes_[task] = static_cast<std::uint32_t>(class_of[worker.index()]);
      list_.push_back(task);
    }
    predecessors_.resize(graph.size());
    for (std::uint32_t u = 0; u < graph.size(); ++u) {
      for (auto const v : graph.successors(u)) {
        predecessors_[v].push_back(u);
      }
    }
    for (auto const level : bottom_levels(graph, ranking_times(times, Priorities::bottom_min))) {
      levels_.push_back(level.ns);
    }
  }

  /// The makespan, or too_long as soon as that is sure to be above `most`.
  std::int64_t evaluate(std::int64_t most) {
    free_.assign(first_.back(), 0);
    last_.assign(first_.back(), nobody);
    std::int64_t makespan = 0;
    for (auto const v : list_) {
      std::int64_t ready = 0;
      auto holder = nobody;
      for (auto const u : predecessors_[v]) {
        if (ends_[u] > ready) {
          ready = ends_[u];
          holder = u;
        }
      }
      auto const c = classes_[v];
      auto worker = first_[c];
      for (auto w = worker + 1; w < first_[c + 1]; ++w) {
        bool const in_time = free_[w] <= ready;
        if (free_[worker] > ready ? free_[w] < free_[worker]
                                  : in_time && free_[w] > free_[worker]) {
          worker = w;
        }
      }
      if (free_[worker] > ready) {
        ready = free_[worker];
        holder = last_[worker];
      }
      if (ready + levels_[v] > most) {
        return too_long;
      }
      auto const end = ready + times_.on(v, c).ns;
      begins_[v] = ready;
      ends_[v] = end;
      workers_[v] = static_cast<std::uint32_t>(worker);
      holders_[v] = holder;
      free_[worker] = end;
      last_[worker] = v;
      if (end > makespan) {
        makespan = end;
        latest_ = v;
      }
    }
    return makespan > most ? too_long : makespan;
  }

  /// Of what was evaluated last, to the end: the tasks without which it would end earlier, from its
  /// end back, each held up by the next.
  void critical_path(std::vector<std::uint32_t>& path) const {
    path.clear();
    for (auto v = latest_; v != nobody; v = holders_[v]) {
      path.push_back(v);
    }
  }

  /// The places that the task may have, others being where they are: behind what it depends on.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> range(std::uint32_t task) const {
    std::uint32_t from = 0;
    auto to = static_cast<std::uint32_t>(list_.size()) - 1;
    for (auto const u : predecessors_[task]) {
      from = std::max(from, places_[u] + 1);
    }
    for (auto const v : graph_.successors(task)) {
      to = std::min(to, places_[v] - 1);
    }
    return {from, to};
  }

  void move(std::uint32_t task, std::uint32_t to) {
    auto place = places_[task];
    for (; place < to; ++place) {
      put(list_[place + 1], place);
    }
    for (; place > to; --place) {
      put(list_[place - 1], place);
    }
    put(task, to);
  }

  void set_class(std::uint32_t task, std::uint32_t its_class) { classes_[task] = its_class; }

  [[nodiscard]] std::uint32_t class_of(std::uint32_t task) const { return classes_[task]; }

  [[nodiscard]] std::uint32_t place(std::uint32_t task) const { return places_[task]; }

  [[nodiscard]] bool can_run(std::uint32_t task, std::uint32_t its_class) const {
    return times_.workers[its_class] > 0 && times_.on(task, its_class) != ClassTimes::never;
  }

  /// Of what was evaluated last, to the end.
  [[nodiscard]] std::vector<StaticPlan::Step> steps() const {
    auto tasks = list_;
    std::sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
      return begins_[a] != begins_[b] ? begins_[a] < begins_[b] : a < b;
    });
    std::vector<StaticPlan::Step> steps;
    for (auto const v : tasks) {
      steps.push_back({v, WorkerId{static_cast<std::int32_t>(workers_[v])}});
    }
    return steps;
  }

private:
  void put(std::uint32_t task, std::uint32_t place) {
    list_[place] = task;
    places_[task] = place;
  }

  TaskGraph const& graph_;
  ClassTimes const& times_;
  std::vector<std::size_t> first_; // worker of each class, and the number of all
  std::vector<std::vector<std::uint32_t>> predecessors_;
  std::vector<std::int64_t> levels_; // the shortest time from a begin to the end of all
  std::vector<std::uint32_t> list_;
  std::vector<std::uint32_t> places_; // in the list
  std::vector<std::uint32_t> classes_;
  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
  std::vector<std::uint32_t> workers_;
  std::vector<std::uint32_t> holders_; // whose end each task begins at
  std::vector<std::int64_t> free_;     // of each worker
  std::vector<std::uint32_t> last_;
  std::uint32_t latest_ = nobody;
};

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
    auto current = list_.evaluate(ScheduleList::too_long);
    auto best = current;
    auto const keep = [&] {
      plan.makespan = {best};
      plan.steps = list_.steps();
    };
    keep();
    list_.critical_path(path_);
    auto const began = clock_seconds();
    double part = 0; // of what may be spent
    for (std::uint64_t k = 1; part < 1 && best > limits_.enough.ns; ++k) {
      if (k % 64 == 0 && limits_.seconds > 0) {
        part = std::max(part, (clock_seconds() - began) / limits_.seconds);
      }
      if (limits_.evaluations > 0) {
        part = std::max(part, static_cast<double>(k) / static_cast<double>(limits_.evaluations));
      }
      // Tried on Cholesky of 12 and 24 tiles on haswell_k40: hotter, large graphs do not cool down.
      auto const heat = 0.4 * static_cast<double>(best) / static_cast<double>(graph_.size()) *
                        std::pow(0.03, part);
      auto const most = static_cast<double>(current) - heat * std::log(1 - unit());
      change();
      auto const makespan = list_.evaluate(static_cast<std::int64_t>(most));
      if (makespan == ScheduleList::too_long) {
        take_back();
        continue;
      }
      current = makespan;
      list_.critical_path(path_);
      if (current < best) {
        best = current;
        keep();
      }
    }
  }

private:
  struct Class {
    std::uint32_t task;
    std::uint32_t before;
  };

  /// One change, that can be taken back.
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
    for (auto const& its : changed_) {
      list_.set_class(its.task, its.before);
    }
  }

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
