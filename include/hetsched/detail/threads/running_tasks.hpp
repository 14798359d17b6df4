// SPDX-License-Identifier: MIT
#pragma once
// What policies see a worker run: of a device's, which has launched several tasks, the oldest.

#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>

#include <atomic>
#include <mutex>

namespace hetsched::detail {

/// Policies see the worker run this task from now on; null: none.
inline void show_running(ThreadCore& core, ThreadWorker& worker, TaskRecord* task) {
  auto const now = core.clock();
  auto until = now;
  bool const abortable = task != nullptr && task->type_of().attempt_at != 0;
  if (task != nullptr) {
    if (auto const expected = core.policies().predict(view_of(*task), worker.info.arch)) {
      until = now + expected->mean;
    }
  }
  worker.busy_since_ns.store(abortable ? now.ns : 0, std::memory_order_relaxed);
  worker.busy_until_ns.store(until.ns, std::memory_order_relaxed);
  worker.running.store(task, std::memory_order_release);
}

/// The worker has begun the task, or, of a device's, launched it.
inline void note_running(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
  auto& launched = worker.launched;
  std::lock_guard const guard(launched.lock);
  if (worker.drives_device()) {
    launched.tasks.push_back(&task);
    if (launched.tasks.size() == 1) {
      show_running(core, worker, &task);
    }
  } else {
    show_running(core, worker, &task);
  }
}

/// It is over there, or may be gone soon.
inline void forget_running(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
  auto& launched = worker.launched;
  std::lock_guard const guard(launched.lock);
  launched.tasks.remove(&task);
  if (worker.running.load(std::memory_order_relaxed) == &task) {
    show_running(core, worker, launched.tasks.empty() ? nullptr : launched.tasks[0]);
  }
}

} // namespace hetsched::detail
