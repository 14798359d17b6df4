// SPDX-License-Identifier: MIT
#pragma once
// Work stealing.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/stealing_queues.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>

#include <span>

namespace hetsched::policies {

/// Decides: a worker runs the newest task of its own queue; an idle one steals the oldest of
///   another, trying each once: from a random one on, or the most loaded first. A task that its
///   maker cannot run, or that comes from outside the runtime, goes to the inbox of a random worker
///   that can; thieves look there too.
/// Source: Lima et al. 2015, sec. 4.1, algorithm 1, and sec. 4.3.1; with MostLoadedVictim StarPU's
///   `ws`, Kumar 2017, sec. 1.1.1. The thief runs what it stole instead of putting it into its own
///   queue first.
/// Cost: push and pop O(1); steal O(W), with MostLoadedVictim O(W) for each that refuses it.
/// Needs: placement_context.
/// Threading: concurrent.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: the queue, an owned_queue; the victim, RandomVictim or MostLoadedVictim.
/// Limits: knows neither priorities nor data; a task refused by a thief hides those behind it.
template <class Queue, class Victim>
class WorkStealing : private detail::StealingQueues<Queue, Fifo, Victim> {
  static_assert(owned_queue<Queue>,
                "hetsched: WorkStealing<Queue> needs an owned_queue: push, pop "
                "and steal; see concepts/queue.hpp");
  using Queues = detail::StealingQueues<Queue, Fifo, Victim>;

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::none;

  using Queues::peek;
  using Queues::pop;
  using Queues::Queues;
  using Queues::steal;

  template <placement_context Ctx>
  [[gnu::always_inline]] Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    auto const workers = ctx.workers();
    if (worker && view.archs.has(workers[worker.index()].arch)) {
      Queues::push_own(task, view.priority, worker);
    } else {
      (void)Queues::send_somewhere(ctx, task, worker);
    }
    return Wake::any();
  }
};

} // namespace hetsched::policies
