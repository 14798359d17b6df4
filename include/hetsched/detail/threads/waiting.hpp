// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: waking others after a push, and the nesting rule, as far as every task passes
// through.

#include <hetsched/detail/threads/thread_core.hpp>

#include <utility>

namespace hetsched::detail {

/// The device to which a task is offered when it is pushed, or the host. To be called before the
/// scheduler knows the task.
[[gnu::always_inline]] inline NodeId ThreadCore::offered_to(TaskRecord const& task) const {
  return crew_.one_class ? host_node : preferred_device(task);
}

/// Wakes whom the scheduler says, unless the task waits for the device to which it is offered.
[[gnu::always_inline]] inline void ThreadCore::apply(Wake wake, TaskId task, NodeId preferred) {
  if (preferred != host_node && offer(wake, task, preferred)) [[unlikely]] {
    return;
  }
  if (wake.is_any()) {
    if (waiting_.parking.any_asleep()) {
      wake_for(task);
    }
  } else if (auto const worker = wake.target(); worker && waiting_.parking.is_asleep(worker)) {
    wake_target(worker, task);
  }
}

/// A worker does not take the task that it should have taken.
[[gnu::always_inline]] inline void ThreadCore::pay_owed_wake(ThreadWorker& worker) {
  if (worker.owed_wake) [[unlikely]] {
    wake_for(std::exchange(worker.owed_wake, no_task));
  }
}

/// The worker waits, inside a task, for descendants of `scope` (null: for any task). Returns the
/// previous scope, for the end of the wait.
[[gnu::always_inline]] inline TaskRecord* ThreadCore::enter_scope(ThreadWorker& worker,
                                                                  TaskRecord* scope) {
  auto* const outer = worker.scope.load(std::memory_order_relaxed);
  worker.scope.store(scope, std::memory_order_relaxed);
  return outer;
}

} // namespace hetsched::detail
