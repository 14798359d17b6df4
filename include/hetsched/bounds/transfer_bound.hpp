// SPDX-License-Identifier: MIT
#pragma once
// A lower bound on makespans that includes transfers. Needs Clp.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/bounds/bound_search.hpp>
#include <hetsched/detail/bounds/transfer_model.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <cstddef>
#include <utility>

namespace hetsched {

/// The iterative bound (linear_bounds.hpp) with transfers: never above the time from the begin of a
/// run in virtual time to the end of its last task, with transfers of the same kind. All data must
/// be in host memory, and there only, when the run begins, and they must not be partitioned or
/// joined between the tasks. At least the iterative bound; rounded up to a whole nanosecond.
///
/// The linear program divides tasks among classes, as that of the iterative bound. In a schedule
/// each task is on one class. The program's conditions hold for every schedule, whatever the
/// scheduler, the cache, the window and what is sent ahead:
/// - Paths. Let one task write what another one reads, and one of them run on a device and the
///   other one on the host. The datum must then cross after the writer's end and before the
///   reader's begin. No route is faster than the fastest one alone. All data for one task enter
///   the same device, and a device's lane performs one transfer at a time. The condition counts the
///   transfer times the difference of the parts on devices, so it holds if that is -1, 0 or 1.
///   Tasks on devices wait likewise for the data that only the host has in the beginning. If
///   tasks commute, it is not known which one has written last, and nothing is counted after them.
///   Neither is it after reductions.
/// - Areas. Between a task's end and the makespan lies, at least, the longest path behind it, on
///   the places that make it shortest; and before its begin the longest path to it. No two workers
///   have the same first task, nor the same last task. So a class of P workers is idle for the sum,
///   over k up to P, of the k-th shortest path to a task and the k-th shortest path behind one. A
///   worker without a task is idle all the time; no term may be greater than a makespan that is
///   known to be a bound.
/// - Bytes. What a task, or none, wrote is a version of a datum. If it was written in one place,
///   host or device, and a task in the other place reads it, the version crosses at least once, by
///   a route between the host and a device. No byte crosses a lane or a link faster than that
///   allows; transfers in both directions share a link. Copies between devices are not counted.
///   Transfers into devices end before a reader begins, which takes time itself.
///
/// Transfers home at the end of a run are not counted: makespans are without them. With free
/// transfers, only areas are more than in the iterative bound.
///
/// Throws Error: bad_call naming a task that no worker can run, or unless there are times for each
/// task and the platform's workers; bad_config if the platform lacks a route or a link; numerical
/// if the solver gives up. Cost: that of the iterative bound, and some programs more if bytes
/// matter.
[[nodiscard]] inline Duration transfer_bound(TaskGraph const& graph,
                                             ClassTimes const& times,
                                             Platform const& platform,
                                             Simulation::Transfers transfers) {
  detail::check_times(graph, times);
  bool same = times.workers.size() == platform.classes.size();
  for (std::size_t c = 0; same && c < times.workers.size(); ++c) {
    same = times.workers[c] == platform.classes[c].workers;
  }
  if (!same) {
    throw Error(ErrorCode::bad_call, "times", "are not for the workers of the platform");
  }
  auto area = detail::area_division(times);
  detail::TransferModel const model(graph, times, platform, transfers, area.bound);
  return detail::search_bound(model.model(), std::move(area.shares), model.bound());
}

} // namespace hetsched
