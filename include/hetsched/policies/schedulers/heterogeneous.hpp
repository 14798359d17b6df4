// SPDX-License-Identifier: MIT
#pragma once
// The scheduler to take for cores and GPUs if one does not want to study schedulers.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/cores_help.hpp>

namespace hetsched::detail {

/// The task that the GPU would run last.
struct LeastUrgent {
  template <context Ctx, class Queue, class Accept>
  static TaskId choose(Ctx const& /*ctx*/, Queue& queue, Accept const& accept) {
    return queue.last(accept);
  }

  template <context Ctx>
  static bool whatever_it_takes(Ctx const& /*ctx*/, TaskId /*task*/, Duration /*transfer*/) {
    return false;
  }
};

} // namespace hetsched::detail

namespace hetsched::policies {

/// Decides: as Heftp, and corrects what that does badly where transfers count. A task goes to the
///   queue of the worker that is expected to end it first, of those that one end makes ready the
///   highest priority first; workers run the highest priority of their queues first. But only GPUs
///   are asked if the task's acceleration factor, its time on a core over that on a GPU, is at
///   least a quarter of the greatest one so far, unless an idle core would end it first because of
///   its data. A core that has nothing takes over the last task of the GPU that will be busy for
///   longest, unless the core would take more than 10/3 of that time, or all cores together would
///   do less than 1/12 of what the GPUs do. A GPU runs what lacks the fewest bytes first, and tells
///   only two tasks, if it has of late waited for data for more than twice as long as its tasks
///   ran, or, with a memory that is full but for a tenth, for more than a tenth of that.
/// Source: HEFT as in Kumar 2017, sec. 3.6; the corrections are our own (docs/schedulers.md).
/// Cost: push O(W + data), under a lock that pushes share; pop O(log Q), for an idle core or a GPU
///   that waits for data O(Q x data).
/// Needs: context: predicted times and transfers, from a PerfModel or a platform; free memory, if
///   it is limited; priorities, such as Priorities::bottom_min.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: all that are not cores are GPUs. What a GPU has does not go to another GPU. Tasks of
///   unknown times go to whoever is free.
class Heterogeneous : public detail::CoresHelp<detail::LeastUrgent> {
public:
  using CoresHelp::CoresHelp;
};

} // namespace hetsched::policies
