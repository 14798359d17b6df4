// SPDX-License-Identifier: MIT
#pragma once
// HeteroPrio that places what GPUs take by where the data are.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/cores_help.hpp>
#include <hetsched/detail/policies/ratio_of_times.hpp>
#include <hetsched/detail/policies/spoliation.hpp>

#include <utility>

namespace hetsched::detail {

/// The task with the least acceleration factor, of similar ones the lowest priority, of equals the
/// oldest. Factors are alike in four magnitudes for each doubling.
struct LeastAccelerated {
  template <context Ctx, class Queue, class Accept>
  static TaskId choose(Ctx const& ctx, Queue& queue, Accept const& accept) {
    return queue.least(
        [&ctx](TaskId task) {
          return std::pair(magnitude_of(ratio_of_times(ctx, task), 4), ctx.task(task).priority);
        },
        accept);
  }

  /// A GPU can begin it anew, and no link is kept busy for it.
  template <context Ctx>
  static bool whatever_it_takes(Ctx const& ctx, TaskId task, Duration transfer) {
    return transfer == Duration{} && ctx.task(task).abortable;
  }
};

} // namespace hetsched::detail

namespace hetsched::policies {

/// Decides: HeteroPrio's sides, and on each side the place by the time that transfers take. Tasks
///   that GPUs accelerate (see Heterogeneous) queue for the GPU that is expected to end them first,
///   with what it has and what it must fetch; others for any worker so. GPUs run the highest
///   priority of their queues first. A core that has nothing takes over, from the GPU that will be
///   busy for longest, the least acceleration factor, then the lowest priority: if it needs at most
///   10/3 of the time for which that GPU has work, or if nothing must be fetched and the task may
///   be aborted. A GPU that has nothing begins anew what a core runs and it would end earlier, with
///   its transfers (spoliation).
/// Source: Kumar 2017, sec. 5.2.2 (sides, spoliation) and Bramas 2019 (LAHP: queues for each memory
///   node); how they go together is our own (docs/hetero_prio.md).
/// Cost: push O(W + data); pop O(log Q), for an idle core O(Q), for a GPU that waits for data
///   O(Q x data); reconsider O(W + data).
/// Needs: context: predicted times and transfers; free memory, if it is limited; priorities, such
///   as Priorities::bottom_min.
/// Threading: serialized: what others run is looked at.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: as of Heterogeneous and HeteroPrio; without tasks that may be aborted it is the former
///   but for what cores take.
class HeteroPrioAffinity : public detail::CoresHelp<detail::LeastAccelerated> {
public:
  static constexpr auto threading = Threading::serialized;

  using CoresHelp::CoresHelp;

  template <context Ctx>
  TaskId reconsider(Ctx const& ctx, WorkerId worker) {
    if (ctx.workers()[worker.index()].arch == ArchHost || has_ready(ctx, worker)) {
      return no_task;
    }
    return detail::spoliated_by(ctx, worker, [](WorkerInfo const& other, TaskId, TaskView const&) {
      return other.arch == ArchHost;
    });
  }
};

} // namespace hetsched::policies
