// SPDX-License-Identifier: MIT
#pragma once
// List scheduling with insertion: each task in turn gets its place among those that have one.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace hetsched::detail {

/// The times at which a worker is idle.
class IdleTimes {
public:
  /// The earliest time from `ready` on at which it is idle for this length.
  [[nodiscard]] std::int64_t earliest(std::int64_t ready, std::int64_t length) const {
    auto const late = [](Gap const& gap, std::int64_t at) { return gap.end <= at; };
    auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), ready, late);
    while (std::max(gap->begin, ready) + length > gap->end) { // the last has no end
      ++gap;
    }
    return std::max(gap->begin, ready);
  }

  /// It is busy from then on for this length. Both times are in one gap.
  void fill(std::int64_t begin, std::int64_t length) {
    if (length == 0) {
      return;
    }
    auto const late = [](Gap const& gap, std::int64_t at) { return gap.end <= at; };
    auto const gap = std::lower_bound(gaps_.begin(), gaps_.end(), begin, late);
    Gap const behind{begin + length, gap->end};
    gap->end = begin;
    auto const next = gap->begin == gap->end ? gaps_.erase(gap) : std::next(gap);
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

/// Makes schedules of lists of tasks.
class ListScheduler {
public:
  using Ranks = std::span<std::int64_t const>;

  /// The caller owns both. Throws Error(bad_call) if the times are not the graph's.
  ListScheduler(TaskGraph const& graph, ClassTimes const& times) : graph_(graph), times_(times) {
    if (times.tasks() != graph.size() && graph.size() != 0) {
      throw Error(ErrorCode::bad_call,
                  "times",
                  "of " + std::to_string(times.tasks()) + " tasks given for a graph of " +
                      std::to_string(graph.size()));
    }
  }

  /// Schedules all tasks. Of the tasks whose predecessors all have places, the highest rank goes
  /// first, then the lowest number. `choose(task, ready)` says the worker.
  template <class Choose>
  void run(Ranks ranks, Choose&& choose) {
    std::size_t workers = 0;
    for (auto const count : times_.workers) {
      workers += static_cast<std::size_t>(count);
    }
    idle_.assign(workers, {});
    ready_.assign(graph_.size(), 0);
    next_.clear();
    begins_.clear();
    end_ = 0;
    open_.reset(graph_);
    auto const enqueue = [&](std::uint32_t v) { next_.push(ranks[v], v); };
    open_.for_each_ready(enqueue);
    while (!next_.empty()) {
      auto const task = next_.pop();
      put(task, choose(task, ready_[task]));
      open_.close(graph_.successors(task), enqueue);
    }
  }

  struct Place {
    std::size_t worker = 0;
    std::int64_t begin = 0;
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
  };

  /// The place where the task ends first, in the earliest gap that is long enough. Of equal workers
  /// it is the lowest number.
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

  /// The steps by their begins. Steps with one begin are in an order that the edges allow.
  [[nodiscard]] std::vector<StaticPlan::Step> steps() const { return steps_by_begin(begins_); }

private:
  void put(std::uint32_t task, Place const& place) {
    idle_[place.worker].fill(place.begin, place.end - place.begin);
    begins_.push_back(timed_step(place.begin, task, place.worker));
    end_ = std::max(end_, place.end);
    for (auto const u : graph_.successors(task)) {
      ready_[u] = std::max(ready_[u], place.end);
    }
  }

  TaskGraph const& graph_;
  ClassTimes const& times_;
  std::vector<IdleTimes> idle_;     // of each worker
  std::vector<std::int64_t> ready_; // when all predecessors of a task have ended
  OpenDependencies open_;
  ReadyTasks<> next_; // tasks whose predecessors all have a place
  std::vector<TimedStep> begins_;
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

} // namespace hetsched::detail
