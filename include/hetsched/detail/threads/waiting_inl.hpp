// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: looking for work, sleeping, waking, and the waits behind every kind of sync.

#include <hetsched/detail/dataflow/outcomes.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/threads/task_execution.hpp>
#include <hetsched/detail/threads/waiting.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE void Seating::notify_outside() {
  // This is an RMW, so it is ordered with the waiter's RMW: one of the two sees the other.
  if (waiters_.fetch_add(0, std::memory_order_acq_rel) > 0) {
    events_.fetch_add(1, std::memory_order_acq_rel);
    events_.notify_all();
  }
}

// ---- looking for work ----

/// The scheduler has no task for the worker now. Waits until there is one or `done`, and executes
/// the task.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::work_when_found(ThreadWorker& worker,
                                                               Condition const& done) {
  WatchPause const unwatched;
  if (this_thread.backlog != nullptr) [[unlikely]] {
    backlogs->hand_over_all();
  }
  if (auto* const task = this_thread.task) {
    task->publish_children(); // so the thread that completes the last child wakes this one
  }
  auto const ends = [&] { return done() || (worker.aside != nullptr && has_aside(worker)); };
  if (auto const task = find_task(worker, Condition::that(ends))) {
    execute_in_wait(worker, task, done);
  } else if (worker.attempt != nullptr) {
    run_attempt(worker);
  }
}

/// Spins briefly, then sleeps, until there is a task or `done()`. Measures the idle time.
[[gnu::cold]] HETSCHED_INLINE TaskId ThreadCore::find_task(ThreadWorker& worker,
                                                           Condition const& done) {
  // Spinning as long as a wake-up costs bounds the loss to twice the optimum; a sleep and wake-up
  // took 5 to 10 us on a 2-core EPYC VM, 100 polls of empty queues about as long. A poll of long
  // queues full of what may not run here takes longer.
  constexpr std::int64_t longest_ns = 10000;
  auto const begin = clock();
  TaskId found;
  for (int poll = 0; poll < idle_polls && !found && worker.attempt == nullptr && !done(); ++poll) {
    if (poll < idle_polls / 2) {
      cpu_relax();
    } else {
      yield_core();
    }
    found = take(worker);
    if (clock().ns - begin.ns > longest_ns) {
      break;
    }
  }
  if (!found) {
    found = sleep_until_task(worker, done);
  }
  note_idle(worker, begin);
  return found;
}

[[gnu::cold]] HETSCHED_INLINE TaskId ThreadCore::sleep_until_task(ThreadWorker& worker,
                                                                  Condition const& done) {
  auto const id = worker.info.id;
  auto& parking = waiting_.parking;
  auto const has_attempt = [&worker] { return worker.attempt != nullptr; };
  TaskId found;
  ExternalTasks::Watch watch(*this);
  while (!found && !has_attempt() && !done()) {
    parking.announce(id);
    found = take(worker);
    if (!found && !has_attempt()) {
      found = take_claimed(worker);
    }
    if (!found && !has_attempt() && before_sleep()) {
      found = take_unscoped(worker);
    }
    if (found || has_attempt() || done()) {
      if (!parking.retract(id)) { // claimed meanwhile, perhaps for another task: wakes others
        wake_all(WakeReason::task);
      }
      break;
    }
    if (is_to_reconsider()) {
      pause_for(200000); // as an announced sleeper, because others rely on that
      if (parking.retract(id)) {
        continue;
      } // claimed meanwhile: `park` says why, without sleep
    }
    if (watch.looks_instead()) {
      if (parking.retract(id)) {
        continue;
      } // claimed meanwhile: `park` says why, without sleep
    }
    auto const reason = parking.park(id);
    found = reason == WakeReason::lifted ? take_unscoped(worker) : take(worker);
    if (!found && reason == WakeReason::task && done()) {
      wake_all(WakeReason::task); // woken for a task that this worker may have missed
    }
  }
  return found;
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::note_idle(ThreadWorker& worker, Instant begin) {
  auto const since = std::max(begin.ns, stats_base_.since_ns.load(std::memory_order_relaxed));
  auto const now = clock();
  worker.counts.idle_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now.ns - since)));
  if (recorder_) {
    if (auto const* const body = current_task(); body != nullptr) {
      recorder_->waited(worker.info.id, body->id(), begin, now);
    }
  }
}

/// The calling thread, of the program, begins or ends to work in the seat.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::note_seated(bool sits) {
  if (recorder_) {
    recorder_->seated(sits, clock());
  }
}

/// The last look before sleep, for two conditions that no other thread reports: all tasks are
/// complete, or all workers sleep although bodies wait. Returns whether that is so: then the worker
/// looks once more, for any task.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::before_sleep() {
  // This RMW orders the counters of this worker with drain's look at them. The thread that comes
  // second in the modification order sees the other.
  waiting_.sleep_events.fetch_add(1, std::memory_order_acq_rel);
  if (waiting_.drain_waiters.load(std::memory_order_relaxed) > 0 && quiescent()) {
    waiting_.parking.unpark(WorkerId{0}, WakeReason::condition);
    waiting_.seating.notify_outside();
  }
  if (!policies_->has(hook_steal)) {
    ask_lost_if_all_sleep();
  }
  return lift_scopes_if_all_sleep();
}

/// Whether all workers have announced sleep.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::all_sleep() const noexcept {
  bool const vacant = waiting_.seating.state(std::memory_order_seq_cst) == Seat::free;
  return waiting_.parking.count_asleep() + (vacant ? 1 : 0) == static_cast<int>(crew_.infos.size());
}

/// Bodies that wait may need tasks that their workers do not run on top of them. If all workers
/// sleep, each looks for any task once, and runs it on another stack. Not if they did so before and
/// nothing has happened since. Returns whether they do.
///
/// The events are read before the look that counts: while `all_sleep` looks a thread may sit down
/// in seat 0 and spawn, and what it does then would count as seen. The last one to announce sleep
/// sees all events, as announcements are RMWs of one word.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::lift_scopes_if_all_sleep() {
  if (!all_sleep()) {
    return false;
  }
  auto const now = events();
  bool some_wait = waiting_.aside.load(std::memory_order_seq_cst) != 0;
  for (auto const& worker : crew_.workers) { // a sleeper has set its scope before it announced
    some_wait = some_wait || worker.scope.load(std::memory_order_relaxed) != nullptr;
  }
  if (!some_wait || !all_sleep() ||
      waiting_.lifted_at.exchange(now, std::memory_order_seq_cst) == now) {
    return false;
  }
  wake_all(WakeReason::lifted);
  return true;
}

/// Takes a task whatever the worker waits for.
[[gnu::cold]] HETSCHED_INLINE TaskId ThreadCore::take_unscoped(ThreadWorker& worker) {
  auto* const scope = worker.scope.exchange(nullptr, std::memory_order_relaxed);
  auto const task = take(worker);
  worker.scope.store(scope, std::memory_order_relaxed);
  return task;
}

// ---- waiting ----

/// Waits for `done()` and works meanwhile. Inside a task it works on descendants of `scope` only
/// (null: on any task).
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::wait(TaskRecord* scope, Condition const& done) {
  if (done()) {
    return;
  }
  WatchPause const unwatched;
  if (this_thread.backlog != nullptr) [[unlikely]] {
    backlogs->hand_over_all();
  }
  if (this_thread.core != this) {
    ProgramWait const waits(checked_ != nullptr && this_thread.core == nullptr);
    wait_outside(done);
  } else if (this_thread.capture != nullptr) [[unlikely]] { // of another runtime: ignored here
    auto own = this_thread;
    own.capture = nullptr;
    ThreadStateGuard const state(own);
    wait_inside(scope, done);
  } else {
    wait_inside(scope, done);
  }
}

/// A worker waits.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::wait_inside(TaskRecord* scope,
                                                           Condition const& done) {
  auto& worker = *this_thread.worker;
  auto* const outer = enter_scope(worker, scope);
  worker.counts.waits.add();
  auto within = done;
  within.in_body = true;
  work_in_wait(worker, within);
  worker.scope.store(outer, std::memory_order_relaxed);
}

/// An outside thread waits. It works in the seat if that is free, and otherwise sleeps.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::wait_outside(Condition const& done) {
  auto& seating = waiting_.seating;
  seating.begin_to_wait();
  for (;;) {
    auto const events = seating.events();
    waiting_.sleep_events.fetch_add(1, std::memory_order_acq_rel); // as in before_sleep
    if (done()) {
      break;
    }
    if (seating.try_take(Seat::taken)) {
      {
        auto& worker = crew_.workers[0];
        AffinityGuard const bound(worker.info.cpu);
        ThreadStateGuard const state({this, &worker, nullptr, nullptr, nullptr});
        note_seated(true);
        work_until(worker, done);
        note_seated(false);
      }
      leave_seat();
      break;
    }
    if (!seating.want()) {
      yield_core(); // the seat is free, or will be at once: its holder may need this core
      continue;
    }
    seating.sleep(events);
  }
  seating.end_to_wait();
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::drain() {
  waiting_.drain_waiters.fetch_add(1, std::memory_order_seq_cst);
  // This looks at all workers, so it is called only while there is no task here.
  auto const drained = [this] { return quiescent(); };
  auto done = Condition::that(drained);
  done.only_when_idle = true;
  // Another thread's drain may have inserted merges after this one found all tasks complete. They
  // are to be waited for, too.
  std::uint64_t known = 0;
  std::uint64_t merged = waiting_.merged.load(std::memory_order_acquire);
  do {
    known = merged;
    wait(nullptr, done);
    Spawner spawner(*this);
    std::lock_guard const guard(waiting_.merging);
    merged = waiting_.merged.load(std::memory_order_relaxed);
    if (merge_all(spawner.host(), *root_) != 0) {
      waiting_.merged.store(++merged, std::memory_order_release);
    }
  } while (merged != known);
  waiting_.drain_waiters.fetch_sub(1, std::memory_order_seq_cst);
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::await_group(GroupState& group) {
  group.state.fetch_add(GroupState::one_waiter, std::memory_order_acq_rel);
  // Members need not descend from the waiting task: its worker may take anything.
  auto const empty = [&group] { return group.empty(); };
  auto done = Condition::that(empty);
  done.group = &group;
  wait(nullptr, done);
  group.state.fetch_sub(GroupState::one_waiter, std::memory_order_acq_rel);
}

/// Whether the only holder of a queue in the domain of `task`'s children (null: outside any task)
/// may write. Below a task that only reads the datum it may not, because others may read it at the
/// same time.
[[nodiscard]] inline bool may_write(AccessQueue const& queue, TaskRecord* task) noexcept {
  if (task == nullptr || &queue == &queue.data->home) {
    return true;
  }
  for (auto const& access : std::span(task->accesses(), task->access_count)) {
    if (!access.duplicate && access.queue->data == queue.data) {
      return writes(access.mode);
    }
  }
  return true;
}

[[gnu::cold]] HETSCHED_INLINE std::exception_ptr ThreadCore::await_data(AccessQueue& queue,
                                                                        TaskRecord* scope) {
  bool const inside = this_thread.core == this;
  DataWaiter waiter(queue, current_task(), inside ? this_thread.worker->info.id.value : 0);
  {
    Spawner spawner(*this);
    if (queue.postponed.load(std::memory_order_acquire) != 0) [[unlikely]] {
      backlogs->await_owner(queue);
    }
    register_accesses(spawner.host(), waiter.task);
  }
  auto const granted = [&waiter] { return waiter.granted(); };
  wait(scope, Condition::that(granted));
  return end_await_data(waiter);
}

/// The waiting thread, or body, holds the datum.
[[gnu::cold]] HETSCHED_INLINE std::exception_ptr ThreadCore::end_await_data(DataWaiter& waiter) {
  auto& queue = *waiter.access.queue;
  std::exception_ptr lost;
  try {
    // The body may use the data that its task declared.
    auto const destination = &queue == &queue.data->home ? Destination::home : Destination::host;
    take_data(replicas_of(queue), destination, may_write(queue, current_task()));
  } catch (...) { // the datum was lost with its device
    lost = std::current_exception();
  }
  auto error = error_of(queue, std::move(lost));
  Spawner spawner(*this, Registers::postponable);
  release_accesses(spawner.host(), waiter.task);
  // Tasks may be ready now, and no task was completed for that.
  waiting_.syncs.fetch_add(1, std::memory_order_relaxed);
  lift_scopes_if_all_sleep();
  return error;
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::take_all_home(Domain const* domain,
                                                             TaskRecord* task) {
  devices_->take_all_home(domain, task);
}

// ---- waking ----

/// Wakes the worker that the scheduler named. If its device is lost, others may be able to reach
/// the task.
HETSCHED_INLINE void ThreadCore::wake_target(WorkerId worker, TaskId task) {
  waiting_.parking.unpark(worker, WakeReason::task);
  if (crew_.workers[worker.index()].launched.lost.load(std::memory_order_seq_cst)) [[unlikely]] {
    wake_for(task);
  }
}

/// Wakes one sleeper that can run the task, if there is any.
HETSCHED_INLINE void ThreadCore::wake_for(TaskId task) {
  bool woken = false;
  waiting_.parking.find_asleep([&](WorkerId worker) {
    woken = can_run(*TaskRecord::from(task), worker) &&
            waiting_.parking.unpark(worker, WakeReason::task);
    return woken;
  });
  if (!woken) {
    lift_scopes_if_all_sleep();
  }
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::wake_all(WakeReason reason) {
  waiting_.parking.find_asleep([&](WorkerId worker) {
    waiting_.parking.unpark(worker, reason);
    return false;
  });
}

} // namespace hetsched::detail
