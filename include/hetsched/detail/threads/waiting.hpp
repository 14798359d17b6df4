// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: waking others after a push, and the nesting rule, as far as every task passes
// through.

#include <hetsched/detail/threads/thread_core.hpp>

#include <utility>

namespace hetsched::detail {

[[gnu::always_inline]] inline void ThreadCore::apply(Wake wake, TaskId task) {
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
