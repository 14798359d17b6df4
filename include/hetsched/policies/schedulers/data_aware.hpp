// SPDX-License-Identifier: MIT
#pragma once
// Work stealing that sends tasks to their data.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/stealing_queues.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::policies {

/// Which of the nodes with equally many of a task's bytes DataAware prefers: those that have a
/// datum that the task writes (it stays there, and what is only read gets one more copy), or none.
enum class DataTies : bool { written_first, alike };

/// Decides: a ready task goes to the worker on whose memory node the most bytes of its data are
///   valid: to its own queue if that is the worker that made it, else to the other's mailbox. Idle
///   workers steal from queues and mailboxes. Among equal nodes those that have a datum that
///   the task writes (DataTies), then the maker's, then one by lot, and one of its workers by lot.
/// Source: Lima et al. 2015, sec. 4.3.2, algorithm 2, which leaves ties open.
/// Cost: push O(W + data x nodes); pop O(1); steal O(W).
/// Needs: context: valid copies, and what the target runs, to wake a thief if it is busy.
/// Threading: concurrent.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: the queue, an owned_queue; the inbox, a task_queue; the victim, as of WorkStealing; ties.
/// Limits: knows neither priorities nor times; what one worker's data attract may crowd there until
///   others are idle.
template <class Queue, class Inbox, class Victim, DataTies Ties>
class DataAware : private detail::StealingQueues<Queue, Inbox, Victim> {
  static_assert(
      owned_queue<Queue> && task_queue<Inbox>,
      "hetsched: DataAware<Queue, Inbox> needs an owned_queue (push, pop and steal) and a "
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
  template <context Ctx>
  static WorkerId target(Ctx const& ctx, TaskView const& view, WorkerId maker) {
    std::array<std::size_t, 64> valid{}; // bytes on each node
    std::size_t most = 0;
    std::uint64_t written = 0; // nodes that have some of what it writes
    for (std::size_t k = 0; k < view.arguments; ++k) {
      auto const argument = view.argument(k);
      written |= writes(argument.mode) ? argument.valid_nodes : 0;
      for (auto nodes = argument.valid_nodes; nodes != 0; nodes &= nodes - 1) {
        valid[static_cast<std::size_t>(std::countr_zero(nodes))] += argument.bytes;
      }
    }
    auto const workers = ctx.workers();
    auto const bytes = [&](WorkerInfo const& info) {
      auto const node = static_cast<std::size_t>(std::min(info.node.value, 63));
      return view.archs.has(info.arch) ? valid[node] : 0;
    };
    std::uint64_t nodes = 0;
    for (auto const& info : workers) {
      auto const held = bytes(info);
      nodes = (held > most ? 0 : nodes) | (held >= most ? detail::node_bit(info) : 0);
      most = std::max(most, held);
    }
    if (most == 0) {
      return no_worker; // the maker's
    }
    if (Ties == DataTies::written_first && (nodes & written) != 0) {
      nodes &= written;
    }
    auto const makers = maker ? detail::node_bit(workers[maker.index()]) & nodes : 0;
    return detail::draw_worker(ctx, view.archs, makers != 0 ? makers : nodes, maker);
  }
};

} // namespace hetsched::policies
