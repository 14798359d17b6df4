// SPDX-License-Identifier: MIT
#pragma once
// How linear programs of bounds are solved: conditions are added where a solution breaks them.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_crossings.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>
#include <hetsched/detail/bounds/bound_paths.hpp>
#include <hetsched/detail/bounds/bound_program.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Throws Error(bad_call) unless there are times for each task.
inline void check_times(TaskGraph const& graph, ClassTimes const& times) {
  if (times.tasks() != graph.size()) {
    throw Error(ErrorCode::bad_call,
                "times",
                "of " + std::to_string(times.tasks()) + " tasks for a graph of " +
                    std::to_string(graph.size()));
  }
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

/// The area bound, and the part of each task on each class.
struct AreaDivision {
  Duration bound;
  std::vector<double> shares;
};

/// Throws as linear_area_bound does.
[[nodiscard]] inline AreaDivision area_division(ClassTimes const& times) {
  TaskGroups const groups(times);
  BoundModel const model(groups.times);
  BoundProgram program(model);
  program.solve();
  return {program.proven(), groups.spread(program.shares())};
}

/// The bound of a model with all its conditions; at least `bound`, which no makespan is below. The
/// search for conditions starts where tasks are divided as `shares` says: see DividedTasks.
[[nodiscard]] inline Duration
search_bound(BoundModel const& model, std::vector<double> shares, Duration bound) {
  constexpr std::size_t most_paths = 64; // at a time
  constexpr double tolerance = 1e-9;
  constexpr double stay = 0.8; // how slowly the point that is cut off follows the solutions
  BoundPaths paths(model);
  BoundProgram program(model);
  BoundCrossings crossings(model);
  auto makespan = static_cast<double>(bound.ns);
  auto const cut = [&](std::vector<double> const& point) {
    DividedTasks const tasks(model, point);
    auto added = crossings.cut(tasks, makespan, program);
    paths.longer(tasks, makespan * (1 + tolerance), most_paths, [&](BoundRow row) {
      added |= program.add(row);
    });
    return added;
  };
  // Solutions are corners and jump to and fro. What lies between the old ones and the new one is
  // cut off instead, which converges sooner; or the new one, if the program has all of that.
  for (auto again = cut(shares) || !model.idle.empty(); again;) {
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

} // namespace hetsched::detail
