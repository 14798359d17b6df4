// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: what a device refused, and what becomes of tasks when a device is lost.

#include <hetsched/detail/threads/task_execution.hpp>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE bool
ThreadCore::takes_though_lost(TaskRecord const& task, ThreadWorker const& worker) const noexcept {
  return (this_thread.worker == &worker && worker.launched.gives_back) || is_left_to_lost(task);
}

/// The worker's device is lost: nobody gives the worker a task any more, but for those that only
/// lost devices could run. Their workers let them fail.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::retire(ThreadWorker& worker) {
  if (!worker.launched.lost.exchange(true, std::memory_order_seq_cst)) {
    // seq_cst, as the look in is_left_to_lost: a push that precedes it is seen by who is woken.
    waiting_.retired_devices.fetch_add(1, std::memory_order_seq_cst);
    wake_all(WakeReason::task);
  }
}

/// Hands a task that this worker's device refused back to the scheduler: for the host if it has a
/// body there, else for another device. Returns false if no worker is left that can run it.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::run_elsewhere(ThreadWorker& worker,
                                                             TaskRecord& task) {
  bool const lost = devices_->window(worker.info.node).lost();
  if (lost) {
    retire(worker);
  }
  if (ArchMask{task.archs.load(std::memory_order_relaxed)}.has(ArchHost)) {
    task.archs.store(ArchMask::only(ArchHost).bits, std::memory_order_relaxed);
  } else if (!lost || is_left_to_lost(task)) {
    return false;
  }
  if (task.type_of().reduces) {
    return_copies(task);
  }
  worker.counts.rerun.add();
  give_back(worker, task);
  return true;
}

/// Hands a task that the worker had back to the scheduler. If the worker's device is lost, nobody
/// has made the task ready: others might not find it where the worker keeps its own. If that was
/// the last device, a task that the host can run is for the host.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::give_back(ThreadWorker& worker, TaskRecord& task) {
  bool const lost = worker.launched.lost.load(std::memory_order_relaxed);
  if (lost && waiting_.retired_devices.load(std::memory_order_relaxed) == device_count() &&
      ArchMask{task.archs.load(std::memory_order_relaxed)}.has(ArchHost)) {
    task.archs.store(ArchMask::only(ArchHost).bits, std::memory_order_relaxed);
  }
  BareHost(*this, lost ? nullptr : &worker, nullptr).ready(task, true);
}

/// A scheduler that does not steal may keep tasks for a worker whose device is lost. If all workers
/// sleep, that worker looks for them, unless nothing has happened since it did.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::ask_lost_if_all_sleep() {
  if (waiting_.retired_devices.load(std::memory_order_seq_cst) == 0) {
    return;
  }
  auto const now = events() + 1; // before the look: see lift_scopes_if_all_sleep
  if (!all_sleep()) {
    return;
  }
  if (waiting_.lost_asked.exchange(now, std::memory_order_seq_cst) == now) {
    return;
  }
  for (auto const& worker : crew_.workers) {
    if (worker.launched.lost.load(std::memory_order_relaxed)) {
      waiting_.parking.unpark(worker.info.id, WakeReason::task);
    }
  }
}

} // namespace hetsched::detail
