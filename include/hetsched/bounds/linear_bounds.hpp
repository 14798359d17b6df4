// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds that are linear programs: the area bound on any number of classes of workers, and
// the iterative bound. Needs Clp.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_program.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hetsched {
namespace detail {

/// Paths that are longer than `makespan`, the longest first, none through a task of another; `most`
/// at most.
[[nodiscard]] inline std::vector<std::vector<std::uint32_t>>
longer_paths(TaskGraph const& graph,
             std::vector<double> const& durations,
             double makespan,
             std::size_t most) {
  auto const tasks = static_cast<std::uint32_t>(graph.size());
  std::vector<double> before(tasks); // longest path to a task's start
  std::vector<double> from(tasks);   // and from there on
  std::vector<std::uint32_t> previous(tasks, tasks);
  std::vector<std::uint32_t> next(tasks, tasks);
  for (std::uint32_t v = 0; v < tasks; ++v) { // edges go from lower to higher numbers
    for (auto const w : graph.successors(v)) {
      if (before[v] + durations[v] > before[w]) {
        before[w] = before[v] + durations[v];
        previous[w] = v;
      }
    }
  }
  for (auto v = tasks; v-- > 0;) {
    for (auto const w : graph.successors(v)) {
      if (from[w] > from[v]) {
        from[v] = from[w];
        next[v] = w;
      }
    }
    from[v] += durations[v];
  }
  std::vector<std::uint32_t> through;
  for (std::uint32_t v = 0; v < tasks; ++v) {
    if (before[v] + from[v] > makespan) {
      through.push_back(v);
    }
  }
  std::sort(through.begin(), through.end(), [&](std::uint32_t v, std::uint32_t w) {
    auto const a = before[v] + from[v];
    auto const b = before[w] + from[w];
    return a != b ? a > b : v < w;
  });
  std::vector<bool> taken(tasks);
  std::vector<std::vector<std::uint32_t>> paths;
  for (auto const v : through) {
    if (taken[v] || paths.size() == most) {
      continue;
    }
    auto& path = paths.emplace_back();
    for (auto w = v; w != tasks; w = previous[w]) {
      path.push_back(w);
    }
    std::reverse(path.begin(), path.end());
    for (auto w = next[v]; w != tasks; w = next[w]) {
      path.push_back(w);
    }
    for (auto const w : path) {
      taken[w] = true;
    }
  }
  return paths;
}

/// Tasks that take the same time on each class, as one that takes the sum.
struct TaskGroups {
  ClassTimes times;
  std::vector<std::size_t> group; // of each task
  std::vector<std::int64_t> count;

  explicit TaskGroups(ClassTimes const& all) : times{all.workers, {}} {
    auto const classes = static_cast<std::ptrdiff_t>(all.workers.size());
    std::map<std::vector<Duration>, std::size_t> known;
    for (std::size_t v = 0; v < all.tasks(); ++v) {
      auto const first = all.times.begin() + static_cast<std::ptrdiff_t>(v) * classes;
      std::vector<Duration> task_times(first, first + classes);
      auto const [found, fresh] = known.try_emplace(std::move(task_times), known.size());
      group.push_back(found->second);
      if (fresh) {
        count.push_back(0);
      }
      ++count[found->second];
    }
    times.times.resize(known.size() * all.workers.size());
    for (auto const& [class_times, number] : known) {
      for (std::size_t c = 0; c < class_times.size(); ++c) {
        times.times[number * class_times.size() + c] =
            class_times[c] == ClassTimes::never ? class_times[c]
                                                : Duration{class_times[c].ns * count[number]};
      }
    }
  }

  /// How long each task takes if all of a group are cut alike.
  [[nodiscard]] std::vector<double> spread(std::vector<double> const& of_groups) const {
    std::vector<double> result;
    result.reserve(group.size());
    for (auto const number : group) {
      result.push_back(of_groups[number] / static_cast<double>(count[number]));
    }
    return result;
  }
};

} // namespace detail

/// The area bound on any number of classes (Kumar 2017, sec. 2.3.1), rounded up to a whole
/// nanosecond. Throws Error: bad_call naming a task that no worker can run; numerical if the solver
/// gives up. Cost: a linear program with a column for each class but one and each of the tasks that
/// differ in their times.
[[nodiscard]] inline Duration linear_area_bound(ClassTimes const& times) {
  detail::TaskGroups const groups(times);
  detail::BoundProgram program(groups.times);
  program.solve();
  return program.proven();
}

/// The iterative bound of Kumar 2017, sec. 3.4: the area bound's linear program and, for each path
/// through the graph, that it is no longer than the makespan. Paths are added until there is a
/// solution, on the way between those found so far, in which none is longer by more than a part in
/// 1e9. At least the area bound and the critical path; rounded up to a whole nanosecond. Throws
/// Error: bad_call naming a task that no worker can run, or unless there are times for each task;
/// numerical if the solver gives up. Cost: some ten to a hundred linear programs with a column for
/// each task and class but one, and up to some thousand rows.
[[nodiscard]] inline Duration iterative_bound(TaskGraph const& graph, ClassTimes const& times) {
  constexpr std::size_t most_paths = 64; // at a time
  constexpr int most_idle = 8;           // solutions until a path is forgotten
  constexpr double tolerance = 1e-9;
  constexpr double stay = 0.8; // how slowly the point that is cut off follows the solutions
  if (times.tasks() != graph.size()) {
    throw Error(ErrorCode::bad_call,
                "times",
                "of " + std::to_string(times.tasks()) + " tasks for a graph of " +
                    std::to_string(graph.size()));
  }
  auto bound = critical_path(graph, shortest_times(times));
  detail::TaskGroups const groups(times);
  detail::BoundProgram area(groups.times);
  area.solve();
  bound = std::max(bound, area.proven());
  auto durations = groups.spread(area.durations());
  auto const cut = [&](double makespan, std::size_t most) {
    return detail::longer_paths(graph, durations, makespan * (1 + tolerance), most);
  };
  auto paths = cut(static_cast<double>(bound.ns), most_paths);
  if (paths.empty()) {
    return bound; // tasks can be cut so that no path is too long
  }
  // Solutions are corners and jump to and fro. What lies between the old ones and the new one is
  // cut off instead: that converges far sooner, and ends when it is a solution itself.
  detail::BoundProgram program(times);
  double last = 0;
  int patience = most_idle; // grows whenever the makespan does not: no path is forgotten for ever
  for (;;) {
    for (auto const& path : paths) {
      program.add_path(path);
    }
    program.flush();
    program.solve();
    bound = std::max(bound, program.proven());
    auto const corner = program.durations();
    if (detail::longer_paths(graph, corner, program.makespan() * (1 + tolerance), 1).empty()) {
      return bound;
    }
    for (std::size_t v = 0; v < durations.size(); ++v) {
      durations[v] = stay * durations[v] + (1 - stay) * corner[v];
    }
    paths = cut(program.makespan(), most_paths);
    if (paths.empty()) {
      return bound;
    }
    patience += program.makespan() > last * (1 + tolerance) ? 0 : 1;
    last = program.makespan();
    program.forget_paths(patience);
  }
}

} // namespace hetsched
