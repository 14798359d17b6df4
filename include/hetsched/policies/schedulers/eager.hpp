// SPDX-License-Identifier: MIT
#pragma once
// One central queue.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <cstddef>
#include <span>

namespace hetsched::policies {

/// Decides: all ready tasks in one queue; a free worker takes the first that it can run.
/// Source: StarPU's eager, as used in Kumar 2017, sec. 1.1.1.
/// Cost: push and pop as the queue's, one lock shared by all workers.
/// Needs: placement_context.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: the queue, a task_queue.
/// Limits: the queue's lock; no locality; no look at data or times.
template <class Queue>
class Eager {
  static_assert(task_queue<Queue>,
                "hetsched: Eager<Queue> needs a task_queue: push and pop; see concepts/queue.hpp");

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope =
      Queue::ordered_by_priority ? PriorityScope::global : PriorityScope::none;

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
