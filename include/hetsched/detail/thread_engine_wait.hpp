// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: looking for work, sleeping, waking, and the waits behind every kind of sync.

#include <hetsched/detail/thread_engine.hpp>
#include <hetsched/detail/thread_engine_run.hpp>

#include <ctime>

namespace hetsched::detail {

/// Runs tasks until `done()`; the loop of every worker and of every thread that waits in a seat
/// (Lima et al. 2015, algorithm 1).
template <class S, class C, class P>
template <class Done>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::work_until(ThreadWorker& worker,
                                                                   Done&& done) {
  for (;;) {
    if constexpr (!std::decay_t<Done>::only_when_idle) {
      if (done()) {
        break;
      }
    }
    if (auto const task = take(worker)) {
      if constexpr (std::decay_t<Done>::is_hot) {
        execute_inline(worker, task);
      } else {
        execute(worker, task);
      }
      continue;
    }
    if (has_attempt(worker)) {
      run_attempt(worker, *std::exchange(worker.attempt, nullptr));
      continue;
    }
    if (done()) {
      break;
    }
    if (auto* const waiting = this_thread.task) {
      waiting->publish_children(); // so that whoever completes the last one wakes this thread
    }
    if (auto const task = find_task(worker, done)) {
      execute(worker, task);
    } else if (has_attempt(worker)) {
      run_attempt(worker, *std::exchange(worker.attempt, nullptr));
    }
  }
  if (worker.owed_wake) [[unlikely]] {
    wake_for(std::exchange(worker.owed_wake, no_task)); // this worker will not take it after all
  }
}

/// Spins briefly, then sleeps, until there is a task or `done()`. Measures the idle time.
template <class S, class C, class P>
template <class Done>
TaskId ThreadCore<S, C, P>::find_task(ThreadWorker& worker, Done& done) {
  // Spinning as long as a wake-up costs bounds the loss to twice the optimum; a sleep and wake-up
  // took 5 to 10 us on a 2-core EPYC VM, 100 polls of empty queues about as long. A poll of long
  // queues full of what may not run here takes longer.
  constexpr int polls = 100;
  constexpr std::int64_t longest_ns = 10000;
  auto const id = worker.info.id;
  auto const begin = clock();
  TaskId found;
  for (int poll = 0; poll < polls && !found && !has_attempt(worker) && !done(); ++poll) {
    if (poll < polls / 2) {
      cpu_relax();
    } else {
      sched_yield();
    }
    found = take(worker);
    if (clock().ns - begin.ns > longest_ns) {
      break;
    }
  }
  while (!found && !has_attempt(worker) && !done()) {
    parking_.announce(id);
    found = take(worker);
    if (!found && !has_attempt(worker)) {
      before_sleep();
      if (scopes_lifted_.load(std::memory_order_relaxed)) {
        found = take(worker);
      }
    }
    bool const wait_a_little = is_to_reconsider();
    if (wait_a_little && !found && !has_attempt(worker) && !done()) {
      timespec const pause{0, 200000}; // as an announced sleeper: others count on that
      nanosleep(&pause, nullptr);
    }
    if (found || has_attempt(worker) || wait_a_little || done()) {
      if (!parking_.retract(id)) { // claimed meanwhile, perhaps for another task: pass it on
        wake_all(WakeReason::task);
      }
      if (wait_a_little && !found && !has_attempt(worker) && !done()) {
        continue;
      }
      break;
    }
    auto const reason = parking_.park(id);
    found = take(worker);
    if (!found && reason == WakeReason::task && done()) {
      wake_all(WakeReason::task); // woken for a task that this worker may have missed: pass it on
    }
  }
  auto const since = std::max(begin.ns, stats_since_ns_.load(std::memory_order_relaxed));
  auto const now = clock();
  worker.idle_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now.ns - since)));
  if (recorder_) {
    if (auto const* const body = current_task(); body != nullptr) {
      recorder_->waited(id, body->id(), begin, now);
    }
  }
  return found;
}

/// The last look before sleep, at what nobody is told of otherwise: that everything is complete,
/// and that all workers sleep although nested tasks wait (their children are in queues that only
/// workers with another scope look into): then the nesting rule is lifted for a moment.
template <class S, class C, class P>
void ThreadCore<S, C, P>::before_sleep() {
  // This RMW orders the counters of this worker against drain's look at them: whoever comes second
  // in its modification order sees the other.
  sleep_events_.fetch_add(1, std::memory_order_acq_rel);
  if (drain_waiters_.load(std::memory_order_relaxed) > 0 && quiescent()) {
    parking_.unpark(WorkerId{0}, WakeReason::condition);
    notify_outside();
  }
  if constexpr (!has_steal<S, Context>) {
    bool const vacant = seat_.load(std::memory_order_seq_cst) == Seat::free;
    if (nested_waiters_.load(std::memory_order_seq_cst) > 0 &&
        !scopes_lifted_.load(std::memory_order_seq_cst) &&
        parking_.count_asleep() + (vacant ? 1 : 0) == static_cast<int>(infos_.size())) {
      scopes_lifted_.store(true, std::memory_order_seq_cst);
      wake_all(WakeReason::task);
    }
  }
}

/// Waits for `done()`, working meanwhile: inside a task on descendants of `scope` only (null: on
/// anything).
template <class S, class C, class P>
template <class Done>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::wait(TaskRecord* scope, Done&& done) {
  if (done()) {
    return;
  }
  if (this_thread.core != this) {
    wait_outside(done);
  } else if (this_thread.capture != nullptr) [[unlikely]] { // of another runtime: not meant here
    wait_uncaptured(scope, done);
  } else {
    wait_inside(scope, done);
  }
}

template <class S, class C, class P>
template <class Done>
[[gnu::noinline]] void ThreadCore<S, C, P>::wait_uncaptured(TaskRecord* scope, Done& done) {
  ThreadStateGuard const state({this, this_thread.worker, this_thread.task, nullptr, nullptr});
  wait_inside(scope, done);
}

/// A worker waits.
template <class S, class C, class P>
template <class Done>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::wait_inside(TaskRecord* scope, Done& done) {
  auto& worker = *this_thread.worker;
  auto* const outer = worker.scope.load(std::memory_order_relaxed);
  worker.scope.store(scope, std::memory_order_relaxed);
  if constexpr (has_steal<S, Context>) { // no queue is closed to a worker that looks everywhere
    work_until(worker, done);
  } else {
    nested_waiters_.fetch_add(1, std::memory_order_seq_cst);
    work_until(worker, done);
    nested_waiters_.fetch_sub(1, std::memory_order_seq_cst);
  }
  worker.scope.store(outer, std::memory_order_relaxed);
}

/// An outside thread waits: in the seat if it can have it, else asleep.
template <class S, class C, class P>
template <class Done>
void ThreadCore<S, C, P>::wait_outside(Done& done) {
  outside_waiters_.fetch_add(1, std::memory_order_acq_rel);
  for (;;) {
    auto const events = outside_events_.load(std::memory_order_acquire);
    sleep_events_.fetch_add(1, std::memory_order_acq_rel); // as in before_sleep
    if (done()) {
      break;
    }
    if (try_seat(Seat::taken)) {
      {
        auto& worker = workers_[0];
        AffinityGuard const bound(worker.info.cpu);
        ThreadStateGuard const state({this, &worker, nullptr, nullptr, nullptr});
        work_until(worker, done);
      }
      leave_seat();
      break;
    }
    auto taken = Seat::taken;
    if (seat_.load(std::memory_order_relaxed) != Seat::wanted &&
        !seat_.compare_exchange_strong(taken, Seat::wanted, std::memory_order_acq_rel)) {
      sched_yield(); // it is free, or will be at once: its holder may need this core
      continue;
    }
    outside_events_.wait(events, std::memory_order_acquire);
  }
  outside_waiters_.fetch_sub(1, std::memory_order_acq_rel);
}

template <class S, class C, class P>
bool ThreadCore<S, C, P>::try_seat(Seat how) noexcept {
  auto free = Seat::free; // acquire pairs with leave_seat
  return seat_.load(std::memory_order_relaxed) == Seat::free &&
         seat_.compare_exchange_strong(free, how, std::memory_order_acquire);
}

template <class S, class C, class P>
inline void ThreadCore<S, C, P>::leave_seat() {
  if (seat_.load(std::memory_order_relaxed) == Seat::spawning) { // nobody else changes that
    seat_.store(Seat::free, std::memory_order_release);
  } else if (seat_.exchange(Seat::free, std::memory_order_acq_rel) == Seat::wanted) {
    notify_outside();
  }
}

template <class S, class C, class P>
void ThreadCore<S, C, P>::drain() {
  drain_waiters_.fetch_add(1, std::memory_order_seq_cst);
  int merges = 0;
  do {
    wait(nullptr, Drained{{}, this});
    Spawner spawner(*this);
    merges = merge_all(spawner.host(), *root_);
  } while (merges != 0);
  drain_waiters_.fetch_sub(1, std::memory_order_seq_cst);
}

template <class S, class C, class P>
void ThreadCore<S, C, P>::await_children(TaskRecord& task) {
  do {
    wait(&task, ChildrenDone{{}, &task});
  } while (task.domain.load(std::memory_order_acquire) != nullptr &&
           merge_children(*this_thread.worker, task) != 0);
}

template <class S, class C, class P>
void ThreadCore<S, C, P>::await_group(GroupState& group) {
  group.state.fetch_add(GroupState::one_waiter, std::memory_order_acq_rel);
  // Members need not descend from the waiting task: it may run anything.
  wait(nullptr, Until([&group] { return group.empty(); }));
  group.state.fetch_sub(GroupState::one_waiter, std::memory_order_acq_rel);
}

/// Whether whoever holds a queue alone in the domain of `task`'s children (null: outside any) may
/// write: not below a task that only reads the datum, for others may read it at the same time.
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

template <class S, class C, class P>
std::exception_ptr ThreadCore<S, C, P>::await_data(AccessQueue& queue, TaskRecord* scope) {
  struct {
    TaskRecord task;
    Access access;
  } waiter{{}, {&queue, nullptr, nullptr, AccessMode::read_write, false, 0}};

  static_assert(sizeof(waiter) == sizeof(TaskRecord) + sizeof(Access));
  bool const inside = this_thread.core == this;
  Host::start_record(waiter.task, wait_type, current_task());
  waiter.task.access_count = 1;
  waiter.task.worker.store(inside ? this_thread.worker->info.id.value : 0,
                           std::memory_order_relaxed);
  {
    Spawner spawner(*this);
    register_accesses(spawner.host(), waiter.task);
  }
  wait(scope, Until([&waiter] {
         return waiter.task.state.load(std::memory_order_acquire) == TaskState::running;
       }));
  std::exception_ptr error;
  try {
    // What a task declared is its body's to use.
    auto const whither = &queue == &queue.data->home ? Whither::home : Whither::host;
    take_data(replicas_of(queue), whither, may_write(queue, current_task()));
  } catch (...) { // lost with its device
    error = std::current_exception();
  }
  if (queue.poisoned()) {
    error = queue.domain->failure.peek();
    if (error == nullptr) { // a group has it, or another thread's sync took it
      error = std::make_exception_ptr(Error(
          ErrorCode::cancelled, queue.data->describe(), "was to be written by a task that failed"));
    }
  }
  Spawner spawner(*this);
  release_accesses(spawner.host(), waiter.task);
  return error;
}

/// Spawning has gone too far ahead: runs tasks, or waits for others to. Looks every few spawns
/// only.
template <class S, class C, class P>
void ThreadCore<S, C, P>::throttle(ThreadWorker* worker) {
  constexpr std::uint32_t interval = 16;
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
    // Nested: only descendants may run here, and waiting could wait for oneself: work while there
    // is any of one's own, then go on.
    auto* const outer = worker->scope.load(std::memory_order_relaxed);
    worker->scope.store(current_task(), std::memory_order_relaxed);
    while (live() >= max_live_) {
      auto const task = take(*worker);
      if (has_attempt(*worker)) {
        run_attempt(*worker, *std::exchange(worker->attempt, nullptr));
        continue;
      }
      if (!task) {
        break;
      }
      execute(*worker, task);
    }
    worker->scope.store(outer, std::memory_order_relaxed);
    return;
  }
  if (worker != nullptr) {
    seat_.store(Seat::taken, std::memory_order_relaxed); // for longer than a spawn: see leave_seat
  }
  for (int idle = 0; live() >= max_live_; ++idle) {
    // Without the seat, somebody else has it and works; but may leave it at any time.
    bool const seated = worker != nullptr || try_seat(Seat::taken);
    if (seated && work_outside(idle >= 100)) {
      idle = 0;
    } else if (idle < 100) {
      sched_yield();
    } else if (!seated) {
      timespec const pause{0, 50000};
      nanosleep(&pause, nullptr);
    }
    if (seated && worker == nullptr) {
      leave_seat();
    }
  }
}

/// In the seat, outside any task: runs one task if there is any (true). If not, and `patient`,
/// sleeps a little: as an announced sleeper, for the others may wait for the nesting rule to be
/// lifted.
template <class S, class C, class P>
bool ThreadCore<S, C, P>::work_outside(bool patient) {
  auto& worker = workers_[0];
  ThreadStateGuard const state({this, &worker, nullptr, nullptr, nullptr});
  if (auto const task = take(worker)) {
    execute(worker, task);
    return true;
  }
  if (has_attempt(worker)) {
    run_attempt(worker, *std::exchange(worker.attempt, nullptr));
    return true;
  }
  if (patient) {
    timespec const pause{0, 50000};
    parking_.announce(worker.info.id);
    before_sleep();
    nanosleep(&pause, nullptr);
    parking_.retract(worker.info.id);
  }
  return false;
}

/// Whether all tasks are complete. Completions are read first: both counts only grow, and none
/// completes that was not spawned, so equality proves that all had completed at the first reading.
template <class S, class C, class P>
bool ThreadCore<S, C, P>::quiescent() const noexcept {
  auto const completed = completed_total();
  return spawned_total() == completed;
}

template <class S, class C, class P>
std::uint64_t ThreadCore<S, C, P>::live() const noexcept {
  auto const completed = completed_total();
  return spawned_total() - completed;
}

template <class S, class C, class P>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::apply(Wake wake, TaskId task) {
  if (wake.is_any()) {
    if (parking_.any_asleep()) {
      wake_for(task);
    }
  } else if (auto const worker = wake.target(); worker && parking_.is_asleep(worker)) {
    parking_.unpark(worker, WakeReason::task);
  }
}

/// Wakes one sleeper that can run the task, if there is any.
template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::wake_for(TaskId task) {
  parking_.find_asleep([&](WorkerId worker) {
    return can_run(*TaskRecord::from(task), worker) && parking_.unpark(worker, WakeReason::task);
  });
}

template <class S, class C, class P>
void ThreadCore<S, C, P>::wake_all(WakeReason reason) {
  parking_.find_asleep([&](WorkerId worker) {
    parking_.unpark(worker, reason);
    return false;
  });
}

/// Tells outside threads asleep in wait_outside to look at their conditions again.
template <class S, class C, class P>
void ThreadCore<S, C, P>::notify_outside() {
  // An RMW, so that it is ordered with the waiter's own: one of the two sees the other.
  if (outside_waiters_.fetch_add(0, std::memory_order_acq_rel) > 0) {
    outside_events_.fetch_add(1, std::memory_order_acq_rel);
    outside_events_.notify_all();
  }
}

} // namespace hetsched::detail
