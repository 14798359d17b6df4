// SPDX-License-Identifier: MIT
#pragma once
// Schedules as lists of tasks, which searches change; and what searches check before they begin.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/plans/list_scheduler.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/detail/plans/planned_copies.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/search_limits.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/platform.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

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

/// A list of tasks, each behind its predecessors, and a seat for each task: a class of workers or,
/// if transfers cost time, one device. In its schedule, each task in turn goes to the worker of its
/// seat that can begin it first. Of the workers that are free by then, it is the one that became
/// free last. Copies: NoCopies or PlannedCopies, which says when data arrive.
template <class Copies = NoCopies>
class ScheduleList {
public:
  static constexpr auto nobody = std::numeric_limits<std::uint32_t>::max();
  static constexpr auto too_long = never_ends;

  ScheduleList(TaskGraph const& graph,
               ClassTimes const& times,
               StaticPlan const& start,
               Copies copies = {})
      : graph_(graph), times_(times), copies_(std::move(copies)), predecessors_(graph),
        places_(graph.size()), seat_of_(graph.size()), begins_(graph.size()), ends_(graph.size()),
        workers_(graph.size()), holders_(graph.size()) {
    std::vector<std::uint32_t> seats; // of each worker
    std::size_t devices = 0;          // that have seats of their own
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      auto const workers = static_cast<std::size_t>(times.workers[c]);
      auto const first = seats.size();
      bool const each = !Copies::everywhere && workers > 0 && start.workers[first] != ArchHost;
      for (std::size_t k = 0; k < (each ? workers : 1); ++k) {
        auto const node = each ? ++devices : 0;
        seats_.push_back({c, first + k, first + (each ? k + 1 : workers), node});
      }
      for (std::size_t k = 0; k < workers; ++k) {
        seats.push_back(static_cast<std::uint32_t>(seats_.size() - (each ? workers - k : 1)));
      }
    }
    free_.resize(seats.size());
    for (auto const& [task, worker] : start.steps) {
      places_[task] = static_cast<std::uint32_t>(list_.size());
      seat_of_[task] = seats[worker.index()];
      list_.push_back(task);
    }
    for (auto const level : bottom_levels(graph, ranking_times(times, Priorities::bottom_min))) {
      levels_.push_back(level.ns);
    }
  }

  /// Returns the makespan, or too_long as soon as the makespan is known to be above `most`.
  std::int64_t evaluate(std::int64_t most) {
    free_.assign(free_.size(), 0);
    last_.assign(free_.size(), nobody);
    copies_.reset();
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
      auto const& seat = seats_[seat_of_[v]];
      auto worker = seat.first;
      for (auto w = worker + 1; w < seat.end; ++w) {
        bool const in_time = free_[w] <= ready;
        if (free_[worker] > ready ? free_[w] < free_[worker]
                                  : in_time && free_[w] > free_[worker]) {
          worker = w;
        }
      }
      ready = copies_.bring(v, seat.node, ready, free_[worker]);
      if (free_[worker] > ready) {
        ready = free_[worker];
        holder = last_[worker];
      }
      if (ready + levels_[v] > most) {
        return too_long;
      }
      auto const end = ready + times_.on(v, seat.worker_class).ns;
      copies_.ran(v, seat.node, end);
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

  /// For the list that was evaluated last, to its end: a chain of tasks that determines the
  /// makespan, from the end back. Each task waits for the next one in the chain.
  void critical_path(std::vector<std::uint32_t>& path) const {
    path.clear();
    for (auto v = latest_; v != nobody; v = holders_[v]) {
      path.push_back(v);
    }
  }

  /// The places that the task may have while the others keep theirs: behind its predecessors,
  /// before its successors.
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

  [[nodiscard]] std::uint32_t seats() const noexcept {
    return static_cast<std::uint32_t>(seats_.size());
  }

  void set_seat(std::uint32_t task, std::uint32_t seat) { seat_of_[task] = seat; }

  [[nodiscard]] std::uint32_t seat_of(std::uint32_t task) const { return seat_of_[task]; }

  [[nodiscard]] std::uint32_t place(std::uint32_t task) const { return places_[task]; }

  [[nodiscard]] bool can_run(std::uint32_t task, std::uint32_t seat) const {
    auto const& there = seats_[seat];
    return there.first < there.end && times_.on(task, there.worker_class) != ClassTimes::never;
  }

  /// The steps of the list that was evaluated last, to its end.
  [[nodiscard]] std::vector<StaticPlan::Step> steps() const {
    std::vector<TimedStep> steps;
    for (auto const v : list_) {
      steps.push_back(timed_step(begins_[v], v, workers_[v]));
    }
    return steps_by_begin(std::move(steps));
  }

private:
  struct Seat {
    std::size_t worker_class;
    std::size_t first; // worker
    std::size_t end;   // behind the last worker
    std::size_t node;  // of memory; 0: the host
  };

  void put(std::uint32_t task, std::uint32_t place) {
    list_[place] = task;
    places_[task] = place;
  }

  TaskGraph const& graph_;
  ClassTimes const& times_;
  Copies copies_;
  std::vector<Seat> seats_;
  Predecessors predecessors_;
  std::vector<std::int64_t> levels_; // the shortest time from a begin to the end of all
  std::vector<std::uint32_t> list_;
  std::vector<std::uint32_t> places_; // in the list
  std::vector<std::uint32_t> seat_of_;
  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
  std::vector<std::uint32_t> workers_;
  std::vector<std::uint32_t> holders_; // the task at whose end each task begins
  std::vector<std::int64_t> free_;     // of each worker
  std::vector<std::uint32_t> last_;
  std::uint32_t latest_ = nobody;
};

} // namespace hetsched::detail
