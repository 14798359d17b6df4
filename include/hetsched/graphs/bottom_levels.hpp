// SPDX-License-Identifier: MIT
#pragma once
// The longest path from each task of a graph to the graph's end, and priorities by its length.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hetsched {

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

/// For each task, the time of the longest path from the task's start to the end of the graph,
/// including the task (Kumar 2017, sec. 2.2.2). Throws Error(bad_call) unless there is a duration
/// for each task. Cost: O(tasks + edges).
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

/// Priorities in the order of the levels: 0 for the lowest level, and one more for each further
/// level. Equal levels get equal priorities. Cost: O(n log n).
[[nodiscard]] inline std::vector<std::int32_t> priorities_of(std::span<Duration const> levels) {
  std::vector<Duration> distinct(levels.begin(), levels.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::int32_t> priorities;
  priorities.reserve(levels.size());
  for (auto const level : levels) {
    auto const place = std::lower_bound(distinct.begin(), distinct.end(), level);
    priorities.push_back(static_cast<std::int32_t>(place - distinct.begin()));
  }
  return priorities;
}

} // namespace hetsched
