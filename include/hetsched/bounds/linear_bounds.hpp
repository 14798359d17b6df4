// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds that are linear programs: the area bound on any number of classes of workers, and
// the iterative bound. Needs Clp.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>
#include <hetsched/detail/bounds/bound_search.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <utility>

namespace hetsched {
/// The area bound on any number of classes (Kumar 2017, sec. 2.3.1), rounded up to a whole
/// nanosecond. Throws Error: bad_call naming a task that no worker can run; numerical if the solver
/// gives up. Cost: a linear program with a column for each class but one and each of the tasks that
/// differ in their times.
[[nodiscard]] inline Duration linear_area_bound(ClassTimes const& times) {
  return detail::area_division(times).bound;
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
  detail::check_times(graph, times);
  auto const path = critical_path(graph, shortest_times(times));
  auto area = detail::area_division(times);
  return detail::search_bound(
      detail::BoundModel(graph, times), std::move(area.shares), std::max(path, area.bound));
}

} // namespace hetsched
