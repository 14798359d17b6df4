// SPDX-License-Identifier: MIT
#pragma once
// Schedules computed beforehand by list scheduling.

#include <hetsched/bottom_levels.hpp>
#include <hetsched/bounds.hpp>
#include <hetsched/error.hpp>
#include <hetsched/platform_model.hpp>
#include <hetsched/static_plan.hpp>
#include <hetsched/task_graph.hpp>
#include <hetsched/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// When a worker has nothing to do.
class IdleTimes {
public:
  /// The earliest time from `ready` on at which it has nothing to do for so long.
  [[nodiscard]] std::int64_t earliest(std::int64_t ready, std::int64_t length) const {
    auto const late = [](Gap const& gap, std::int64_t at) { return gap.end <= at; };
    auto its = std::lower_bound(gaps_.begin(), gaps_.end(), ready, late);
    while (std::max(its->begin, ready) + length > its->end) { // the last has no end
      ++its;
    }
    return std::max(its->begin, ready);
  }

  /// It has from then on, for so long: inside a gap.
  void fill(std::int64_t begin, std::int64_t length) {
    if (length == 0) {
      return;
    }
    auto const late = [](Gap const& gap, std::int64_t at) { return gap.end <= at; };
    auto const its = std::lower_bound(gaps_.begin(), gaps_.end(), begin, late);
    Gap const behind{begin + length, its->end};
    its->end = begin;
    auto const next = its->begin == its->end ? gaps_.erase(its) : std::next(its);
    if (behind.begin != behind.end) {
      gaps_.insert(next, behind);
    }
  }

private:
  struct Gap {
    std::int64_t begin;
    std::int64_t end;
  };

  std::vector<Gap> gaps_{{0, std::numeric_limits<std::int64_t>::max()}}; // by time
};

/// Each task's time on the fastest class that can run it, or on average over the workers that can:
/// for bottom levels. Throws Error(bad_call) naming a task that no worker can run.
[[nodiscard]] inline std::vector<Duration> ranking_times(ClassTimes const& times, Priorities rank) {
  std::vector<Duration> ranking;
  for (std::size_t v = 0; v < times.tasks(); ++v) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t sum = 0;
    std::int64_t workers = 0;
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      if (times.workers[c] > 0 && times.on(v, c) != ClassTimes::never) {
        least = std::min(least, times.on(v, c).ns);
        sum += times.on(v, c).ns * times.workers[c];
        workers += times.workers[c];
      }
    }
    if (workers == 0) {
      refuse_task(v);
    }
    ranking.push_back({rank == Priorities::bottom_avg ? sum / workers : least});
  }
  return ranking;
}

/// Lists of tasks made into schedules.
class ListScheduler {
public:
  using Ranks = std::span<std::int64_t const>;

  /// Both stay the caller's. Throws Error(bad_call) if the times are not the graph's.
  ListScheduler(TaskGraph const& graph, ClassTimes const& times) : graph_(graph), times_(times) {
    if (times.tasks() != graph.size() && graph.size() != 0) {
      throw Error(ErrorCode::bad_call,
                  "times",
                  "of " + std::to_string(times.tasks()) + " tasks given for a graph of " +
                      std::to_string(graph.size()));
    }
  }

  /// Schedules all tasks. Of those behind whose predecessors no task is missing, the highest rank
  /// goes first, then the lowest number, to the worker `choose(task, ready)` says.
  template <class Choose>
  void run(Ranks ranks, Choose&& choose) {
    std::size_t workers = 0;
    for (auto const count : times_.workers) {
      workers += static_cast<std::size_t>(count);
    }
    idle_.assign(workers, {});
    ready_.assign(graph_.size(), 0);
    missing_.clear();
    next_.clear();
    begins_.clear();
    end_ = 0;
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      missing_.push_back(graph_.predecessor_count(v));
      if (missing_.back() == 0) {
        next_.emplace_back(ranks[v], -static_cast<std::int64_t>(v));
      }
    }
    std::make_heap(next_.begin(), next_.end());
    while (!next_.empty()) {
      std::pop_heap(next_.begin(), next_.end());
      auto const task = static_cast<std::uint32_t>(-next_.back().second);
      next_.pop_back();
      put(task, choose(task, ready_[task]), ranks);
    }
  }

  struct Place {
    std::size_t worker = 0;
    std::int64_t begin = 0;
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
  };

  /// Where it ends first, in the earliest gap that is long enough; the lowest number among equals.
  [[nodiscard]] Place earliest(std::size_t task, std::int64_t ready) const {
    Place best;
    std::size_t worker = 0;
    for (std::size_t c = 0; c < times_.workers.size(); ++c) {
      auto const time = times_.on(task, c);
      for (int k = 0; k < times_.workers[c]; ++k, ++worker) {
        if (time == ClassTimes::never) {
          continue;
        }
        auto const begin = idle_[worker].earliest(ready, time.ns);
        if (begin + time.ns < best.end) {
          best = {worker, begin, begin + time.ns};
        }
      }
    }
    return best;
  }

  [[nodiscard]] Duration makespan() const noexcept { return {end_}; }

  /// By their begins. Of what begins at one time, edges go from lower to higher numbers.
  [[nodiscard]] std::vector<StaticPlan::Step> steps() {
    std::sort(begins_.begin(), begins_.end(), [](Begin const& a, Begin const& b) {
      return std::tie(a.at, a.step.task) < std::tie(b.at, b.step.task);
    });
    std::vector<StaticPlan::Step> steps;
    for (auto const& its : begins_) {
      steps.push_back(its.step);
    }
    return steps;
  }

private:
  struct Begin {
    std::int64_t at;
    StaticPlan::Step step;
  };

  void put(std::uint32_t task, Place const& place, Ranks ranks) {
    idle_[place.worker].fill(place.begin, place.end - place.begin);
    begins_.push_back({place.begin, {task, WorkerId{static_cast<std::int32_t>(place.worker)}}});
    end_ = std::max(end_, place.end);
    for (auto const u : graph_.successors(task)) {
      ready_[u] = std::max(ready_[u], place.end);
      if (--missing_[u] == 0) {
        next_.emplace_back(ranks[u], -static_cast<std::int64_t>(u));
        std::push_heap(next_.begin(), next_.end());
      }
    }
  }

  TaskGraph const& graph_;
  ClassTimes const& times_;
  std::vector<IdleTimes> idle_;     // of each worker
  std::vector<std::int64_t> ready_; // when all that a task depends on has ended
  std::vector<std::uint32_t> missing_;
  std::vector<std::pair<std::int64_t, std::int64_t>> next_; // rank, -task: a heap
  std::vector<Begin> begins_;
  std::int64_t end_ = 0;
};

/// What a task's way to the end of the graph counts in a list, by `rank`. Throws Error(bad_call)
/// naming a task that no worker can run.
[[nodiscard]] inline std::vector<std::int64_t>
list_ranks(TaskGraph const& graph, ClassTimes const& times, Priorities rank) {
  auto const ranking = ranking_times(times, rank);
  std::vector<std::int64_t> ranks;
  if (rank == Priorities::own) {
    for (auto const& node : graph.nodes()) {
      ranks.push_back(node.priority);
    }
  } else {
    for (auto const level : bottom_levels(graph, ranking)) {
      ranks.push_back(level.ns);
    }
  }
  return ranks;
}

/// A plan without steps.
[[nodiscard]] inline StaticPlan empty_plan(TaskGraph const& graph, Platform const& platform) {
  StaticPlan plan;
  plan.platform = platform.name;
  plan.workers = workers_of(platform);
  plan.tasks = graph.size();
  plan.graph = graph_digest(graph);
  return plan;
}

} // namespace detail

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
