// SPDX-License-Identifier: MIT
#pragma once
// Highest priority first, over all workers.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <cstddef>
#include <span>

namespace hetsched::policies {

/// Decides: a free worker takes the ready task of highest priority that it can run, the one pushed
///   first among equals.
/// Source: StarPU's prio; priorities as in Kumar 2017, sec. 1.1.1.
/// Cost: push and pop as the queue's, O(log Q), one lock shared by all workers.
/// Needs: placement_context.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: the queue, a priority_queue.
/// Limits: the queue's lock; no look at data or times.
template <class Queue>
class Priority {
  static_assert(priority_queue<Queue>,
                "hetsched: Priority<Queue> needs a priority_queue; see "
                "concepts/queue.hpp");

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::global;

  template <placement_context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    queue_.push(task, ctx.task(task).priority);
    return Wake::any();
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return queue_.pop([&](TaskId task) { return ctx.can_run(task, worker); });
  }

  /// Other workers may take the tasks meanwhile.
  template <placement_context Ctx>
    requires peekable_queue<Queue>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    return queue_.peek(next, [&](TaskId task) { return ctx.can_run(task, worker); });
  }

private:
  Queue queue_;
};

} // namespace hetsched::policies
