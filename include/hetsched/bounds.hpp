// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds on the makespan of a captured graph on equal workers.

#include <hetsched/error.hpp>
#include <hetsched/stats.hpp>
#include <hetsched/task_graph.hpp>
#include <hetsched/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hetsched {

// The model: task v takes durations[v] >= 0 on any one of P equal workers, one worker per task, one
// task per worker at a time; a task starts after its predecessors have ended. Scheduling, transfers
// and reduction merges cost nothing, and what a task is allowed to run on (Node::archs) is not
// looked at. All that is left out can only make a real run longer, so in the model no makespan is
// below these bounds. Times measured in one run vary from task to task: with means of them the
// bounds are those of a run in which each task took its mean, which a real run may beat by chance.

namespace detail {

inline void check_durations(TaskGraph const& graph, std::span<Duration const> durations) {
  if (durations.size() != graph.size()) {
    throw Error(ErrorCode::bad_call,
                "durations",
                std::to_string(durations.size()) + " given for a graph of " +
                    std::to_string(graph.size()) + " tasks");
  }
}

} // namespace detail

/// One duration per task of the graph: the mean measured for its type, rounded down to whole
/// nanoseconds. Types are told apart by name, so sizes are not (a ragged tile gets the mean of
/// all); if `types` has a name for several classes of worker, the shortest mean counts. Throws
/// Error(bad_call) naming a task type of the graph without measurements, for instance because
/// Config::timing was off. Cost: O(tasks * types).
[[nodiscard]] inline std::vector<Duration> mean_durations(TaskGraph const& graph,
                                                          std::span<TypeStats const> types) {
  std::vector<Duration> durations;
  durations.reserve(graph.size());
  for (auto const& node : graph.nodes()) {
    TypeStats const* best = nullptr;
    auto const mean = [](TypeStats const& type) {
      return type.total.ns / static_cast<std::int64_t>(type.count);
    };
    for (auto const& type : types) {
      if (type.name == node.type && type.count != 0 &&
          (best == nullptr || mean(type) < mean(*best))) {
        best = &type;
      }
    }
    if (best == nullptr) {
      throw Error(ErrorCode::bad_call,
                  "task type '" + std::string(node.type) + "'",
                  "has no measured times (is Config::timing on?)");
    }
    durations.push_back({mean(*best)});
  }
  return durations;
}

/// For each task, the time of the longest path from its start to the end of the graph, itself
/// included (Kumar 2017, sec. 2.2.2). Throws Error(bad_call) unless there is a duration per task.
/// Cost: O(tasks + edges).
[[nodiscard]] inline std::vector<Duration> bottom_levels(TaskGraph const& graph,
                                                         std::span<Duration const> durations) {
  detail::check_durations(graph, durations);
  std::vector<Duration> levels(graph.size());
  for (std::size_t v = graph.size(); v-- > 0;) { // edges go from lower to higher numbers
    Duration longest;
    for (auto const successor : graph.successors(v)) {
      longest = std::max(longest, levels[successor]);
    }
    levels[v] = durations[v] + longest;
  }
  return levels;
}

/// The longest path through the graph: the makespan on as many workers as one likes. 0 for a graph
/// without tasks. Tasks that commute have no edge between them: that they exclude each other is
/// left out, which keeps the bound valid. Throws Error(bad_call) unless there is a duration per
/// task. Cost: O(tasks + edges).
[[nodiscard]] inline Duration critical_path(TaskGraph const& graph,
                                            std::span<Duration const> durations) {
  auto const levels = bottom_levels(graph, durations);
  auto const longest = std::max_element(levels.begin(), levels.end());
  return longest == levels.end() ? Duration{} : *longest;
}

/// The work shared out evenly with all dependencies ignored: sum of durations / workers, rounded up
/// to a whole nanosecond, because makespans are whole. For equal workers the linear program of
/// Kumar 2017, sec. 2.3.1, has this solution. Throws Error(bad_call) unless there is a duration per
/// task and workers >= 1. Cost: O(tasks).
[[nodiscard]] inline Duration
area_bound(TaskGraph const& graph, std::span<Duration const> durations, int workers) {
  detail::check_durations(graph, durations);
  if (workers < 1) {
    throw Error(ErrorCode::bad_call, "workers", std::to_string(workers) + " is less than 1");
  }
  Duration work;
  for (auto const duration : durations) {
    work += duration;
  }
  return {work.ns / workers + (work.ns % workers == 0 ? 0 : 1)};
}

/// The larger of area bound and critical path.
[[nodiscard]] inline Duration
makespan_bound(TaskGraph const& graph, std::span<Duration const> durations, int workers) {
  return std::max(area_bound(graph, durations, workers), critical_path(graph, durations));
}

} // namespace hetsched
