// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds that are linear programs: the area bound on any number of classes of workers, and
// the iterative bound. Needs Clp.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>
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

  /// The part of each task on each class if all of a group are divided alike.
  [[nodiscard]] std::vector<double> spread(std::vector<double> const& of_groups) const {
    auto const classes = static_cast<std::ptrdiff_t>(times.workers.size());
    std::vector<double> result;
    result.reserve(group.size() * times.workers.size());
    for (auto const number : group) {
      auto const first = of_groups.begin() + static_cast<std::ptrdiff_t>(number) * classes;
      result.insert(result.end(), first, first + classes);
    }
    return result;
  }
};

/// The bound of a model with its paths; at least `bound`, which no makespan is below. The search
/// for long paths starts where tasks are divided as `shares` says: see DividedTasks.
[[nodiscard]] inline Duration
bound_with_paths(BoundModel const& model, std::vector<double> shares, Duration bound) {
  constexpr std::size_t most_paths = 64; // at a time
  constexpr double tolerance = 1e-9;
  constexpr double stay = 0.8; // how slowly the point that is cut off follows the solutions
  BoundPaths paths(model);
  BoundProgram program(model);
  auto makespan = static_cast<double>(bound.ns);
  auto const cut = [&](std::vector<double> const& point) {
    bool added = false;
    paths.longer(DividedTasks(model, point),
                 makespan * (1 + tolerance),
                 most_paths,
                 [&](BoundRow row) { added |= program.add(row); });
    return added;
  };
  // Solutions are corners and jump to and fro. What lies between the old ones and the new one is
  // cut off instead, which converges sooner; or the new one, if the program has all of that.
  for (auto again = cut(shares); again;) {
    program.solve();
    bound = std::max(bound, program.proven());
    makespan = program.makespan();
    auto const corner = program.shares();
    for (std::size_t k = 0; k < shares.size(); ++k) {
      shares[k] = stay * shares[k] + (1 - stay) * corner[k];
    }
    again = cut(shares) || cut(corner);
  }
  return bound;
}

} // namespace detail

/// The area bound on any number of classes (Kumar 2017, sec. 2.3.1), rounded up to a whole
/// nanosecond. Throws Error: bad_call naming a task that no worker can run; numerical if the solver
/// gives up. Cost: a linear program with a column for each class but one and each of the tasks that
/// differ in their times.
[[nodiscard]] inline Duration linear_area_bound(ClassTimes const& times) {
  detail::TaskGroups const groups(times);
  detail::BoundModel const model(groups.times);
  detail::BoundProgram program(model);
  program.solve();
  return program.proven();
}

/// The iterative bound of Kumar 2017, sec. 3.4: the area bound's linear program and, for each path
/// through the graph, that it is no longer than the makespan. The program has a column for each
/// task's start, and a row for each step along paths that were too long; the thesis' has a row for
/// each path. Steps are added until no path is longer than the makespan by more than a part in 1e9.
/// At least the area bound and the critical path; rounded up to a whole nanosecond. Throws Error:
/// bad_call naming a task that no worker can run, or unless there are times for each task;
/// numerical if the solver gives up. Cost: some ten linear programs with a column for each task and
/// class, and a row for each edge at most.
[[nodiscard]] inline Duration iterative_bound(TaskGraph const& graph, ClassTimes const& times) {
  if (times.tasks() != graph.size()) {
    throw Error(ErrorCode::bad_call,
                "times",
                "of " + std::to_string(times.tasks()) + " tasks for a graph of " +
                    std::to_string(graph.size()));
  }
  auto const path = critical_path(graph, shortest_times(times));
  detail::TaskGroups const groups(times);
  detail::BoundModel const all(groups.times);
  detail::BoundProgram area(all);
  area.solve();
  return detail::bound_with_paths(detail::BoundModel(graph, times),
                                  groups.spread(area.shares()),
                                  std::max(path, area.proven()));
}

} // namespace hetsched
