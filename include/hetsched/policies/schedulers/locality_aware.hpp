// SPDX-License-Identifier: MIT
#pragma once
// Work stealing by the owner-computes rule.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/stealing_queues.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::policies {

/// Decides: a ready task goes to the mailbox of a worker whose memory node has a valid copy of the
///   first datum that it writes. One of several copies is drawn by lot, and one of the workers that
///   share it; but the worker that made the task keeps it if it is one of these, or if there is no
///   copy, or if the task writes nothing. Idle workers steal from queues and mailboxes.
/// Source: Lima et al. 2015, sec. 4.3.3, algorithm 3.
/// Cost: push O(W + data); pop O(1); steal O(W).
/// Needs: context: valid copies, and what the target runs, to wake a thief if it is busy.
/// Threading: concurrent.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: the queue, an owned_queue; the inbox, a task_queue; the victim, as of WorkStealing.
/// Limits: knows neither priorities nor times; one datum decides, however small. Cores own host
///   memory together, caches or not.
template <class Queue, class Inbox, class Victim>
class LocalityAware : private detail::StealingQueues<Queue, Inbox, Victim> {
  static_assert(
      owned_queue<Queue> && task_queue<Inbox>,
      "hetsched: LocalityAware<Queue, Inbox> needs an owned_queue (push, pop and steal) and a "
      "task_queue; see concepts/queue.hpp");
  using Queues = detail::StealingQueues<Queue, Inbox, Victim>;

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::none;

  using Queues::peek;
  using Queues::pop;
  using Queues::Queues;
  using Queues::steal;

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    return Queues::give(ctx, task, view, target(ctx, view, worker), worker);
  }

private:
  /// Whose mailbox; no_worker: the maker keeps it.
  template <context Ctx>
  static WorkerId target(Ctx const& ctx, TaskView const& view, WorkerId maker) {
    for (std::size_t k = 0; k < view.arguments; ++k) {
      auto const argument = view.argument(k);
      if (!writes(argument.mode)) {
        continue;
      }
      std::uint64_t copies = 0;
      for (auto const& info : ctx.workers()) {
        bool const owns = view.archs.has(info.arch) && argument.valid_at(info.node);
        copies |= owns ? detail::node_bit(info) : 0;
      }
      return detail::draw_worker(ctx, view.archs, copies, maker);
    }
    return no_worker;
  }
};

} // namespace hetsched::policies
