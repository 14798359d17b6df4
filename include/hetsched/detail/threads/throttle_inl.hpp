// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: threads that have spawned too far ahead (Config::max_live_tasks).

#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/threads/task_execution.hpp>
#include <hetsched/detail/threads/waiting.hpp>

namespace hetsched::detail {

/// Runs tasks, or waits until others have run them. Looks only every few spawns.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::throttle(ThreadWorker* worker) {
  constexpr std::uint32_t interval = 16;
  if (this_thread.looks) {
    return;
  }
  if (worker != nullptr && ++worker->spawns_since_check < interval) {
    return;
  }
  if (worker != nullptr) {
    worker->spawns_since_check = 0;
  }
  if (live() < max_live_) {
    return;
  }
  if (this_thread.core == this) {
    work_nested(*worker);
    return;
  }
  ProgramWait const waits(checked_ != nullptr && this_thread.core == nullptr);
  auto& seating = waiting_.seating;
  if (worker != nullptr) {
    seating.keep(); // kept for longer than a spawn: see Seating::leave
    note_seated(true);
  }
  for (int idle = 0; live() >= max_live_; ++idle) {
    // Without the seat: another thread has it and works, but may leave it at any time.
    bool const seated = worker != nullptr || seating.try_take(Seat::taken);
    if (seated && worker == nullptr) {
      note_seated(true);
    }
    if (seated && work_outside(idle >= 100)) {
      idle = 0;
    } else if (idle < 100) {
      yield_core();
    } else if (!seated) {
      pause_for(50000);
    }
    if (seated && worker == nullptr) {
      note_seated(false);
      leave_seat();
    }
  }
  if (worker != nullptr) {
    note_seated(false);
  }
}

/// In a body that has spawned too far ahead. Only descendants may run here, and a task that waits
/// might wait for itself. So this works while there is a descendant to run, then goes on.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::work_nested(ThreadWorker& worker) {
  auto* const outer = worker.scope.load(std::memory_order_relaxed);
  worker.scope.store(current_task(), std::memory_order_relaxed);
  auto const below = [this] { return live() < max_live_; };
  while (!below() && run_one(worker, Condition::in_body_that(below))) {
  }
  worker.scope.store(outer, std::memory_order_relaxed);
}

/// Executes the worker's next task; the thread waits for `done`. Returns false if the scheduler has
/// none now.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::run_one(ThreadWorker& worker,
                                                       Condition const& done) {
  if (auto const task = take(worker)) {
    execute_in_wait(worker, task, done);
  } else if (worker.attempt != nullptr) {
    run_attempt(worker);
  } else {
    return false;
  }
  return true;
}

/// In the seat, outside any task: runs one task if there is one, and returns true. Otherwise, if
/// `patient`, sleeps a little. It announces this sleep, because the others may wait for the nesting
/// rule to be lifted.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::work_outside(bool patient) {
  auto& worker = crew_.workers[0];
  ThreadStateGuard const state({this, &worker, nullptr, nullptr, nullptr});
  auto const below = [this] { return live() < max_live_; };
  auto const done = Condition::that(below);
  if (worker.aside != nullptr) {
    let_go_on(worker, done);
  }
  if (run_one(worker, done)) {
    return true;
  }
  if (waiting_.outside.load(std::memory_order_relaxed) != nullptr) {
    ExternalTasks::look_if_due(*this); // what it waits for may come from there
  }
  if (patient) {
    waiting_.parking.announce(worker.info.id);
    before_sleep();
    pause_for(50000);
    if (!waiting_.parking.retract(worker.info.id)) { // as in sleep_until_task
      wake_all(WakeReason::task);
    }
  }
  return false;
}

} // namespace hetsched::detail
