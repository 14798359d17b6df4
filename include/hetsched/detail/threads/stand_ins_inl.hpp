// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: what runs on top of a body that waits, and what runs on another stack.

#include <hetsched/detail/threads/task_execution.hpp>
#include <hetsched/detail/threads/waiting.hpp>

#include <exception>
#include <utility>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE void StandIns::tell(StandIn& stand_in, Call what) noexcept {
  stand_in.called.store(what, std::memory_order_release);
  stand_in.called.notify_one();
}

[[gnu::cold]] HETSCHED_INLINE bool
StandIns::call(ThreadCore& core, ThreadWorker& worker, TaskId task) {
  StandIn* idle = nullptr;
  {
    std::lock_guard const guard(lock_);
    if (idle_ != nullptr) {
      idle = std::exchange(idle_, idle_->next);
    }
  }
  if (idle != nullptr) {
    idle->worker = &worker;
    idle->first = task;
    tell(*idle, sit);
    return true;
  }
  try {
    Owned<StandIn> fresh(new StandIn{core, &worker, task});
    fresh->called.store(sit, std::memory_order_relaxed);
    fresh->thread.start(&ThreadCore::run_stand_in, fresh.get());
    std::lock_guard const guard(lock_);
    fresh->before = all_;
    all_ = fresh.release();
    return true;
  } catch (std::exception const&) { // no memory or no thread left
    return false;
  }
}

[[gnu::cold]] HETSCHED_INLINE bool StandIns::wait_for_call(StandIn& stand_in) noexcept {
  stand_in.called.wait(none, std::memory_order_acquire);
  return stand_in.called.exchange(none, std::memory_order_acquire) == sit;
}

[[gnu::cold]] HETSCHED_INLINE void StandIns::give_back(WaitingAside& thread) noexcept {
  std::lock_guard const guard(lock_);
  thread.back.store(1, std::memory_order_release);
  thread.back.notify_one();
}

[[gnu::cold]] HETSCHED_INLINE void StandIns::wait(WaitingAside& thread) noexcept {
  thread.back.wait(0, std::memory_order_acquire);
  std::lock_guard const guard(lock_); // whoever gave it back does not look at `thread` any more
}

[[gnu::cold]] HETSCHED_INLINE void StandIns::be_idle(StandIn& stand_in) noexcept {
  std::lock_guard const guard(lock_);
  stand_in.next = std::exchange(idle_, &stand_in);
}

[[gnu::cold]] HETSCHED_INLINE void StandIns::stop() noexcept {
  while (auto* const last = all_) {
    tell(*last, end);
    last->thread.join();
    all_ = last->before;
    delete last;
  }
}

// ---- waiting in a body ----

/// Whether the task may run on the stack of the calling thread, which waits for `done`. Bodies that
/// wait further down cannot go on before it ends, so it must be one that they wait for, or one that
/// cannot wait itself. See docs/internals.md.
[[gnu::cold]] HETSCHED_INLINE bool
ThreadCore::may_run_on_top(TaskRecord const& task, Condition const& done) const noexcept {
  auto const& type = task.type_of();
  if (!done.in_body || done.only_when_idle || type.kind == TaskKind::merge ||
      type.attempt_at != 0 || (this_thread.task != nullptr && descends(task, this_thread.task))) {
    return true;
  }
  auto const* member = done.group != nullptr ? &task : nullptr;
  while (member != nullptr && member->group != done.group) {
    member = member->parent.load(std::memory_order_relaxed);
  }
  return member != nullptr;
}

/// Executes a task while the calling thread waits for `done`.
[[gnu::cold]] HETSCHED_INLINE void
ThreadCore::execute_in_wait(ThreadWorker& worker, TaskId id, Condition const& done) {
  if (may_run_on_top(*TaskRecord::from(id), done)) {
    execute(worker, id);
    return;
  }
  bool called = false;
  wait_aside(worker, done, [&] { return called = stand_ins_.call(*this, worker, id); });
  if (!called) { // without a thread for it, most programs still end right
    execute(worker, id);
  }
}

/// The calling thread leaves the worker. `hand_over()` gives it to another thread, or returns
/// false. Waits until it comes back.
template <class HandOver>
[[gnu::cold]] void
ThreadCore::wait_aside(ThreadWorker& worker, Condition const& done, HandOver&& hand_over) {
  pay_owed_wake(worker);
  if (this_thread.backlog != nullptr) [[unlikely]] {
    backlogs->hand_over_all();
  }
  if (this_thread.task != nullptr) {
    this_thread.task->publish_children();
  }
  auto* const scope = worker.scope.load(std::memory_order_relaxed);
  auto* const running = worker.running.load(std::memory_order_relaxed);
  WaitingAside mine{done, worker.aside};
  worker.aside = &mine;
  worker.scope.store(nullptr, std::memory_order_relaxed);
  worker.running.store(nullptr, std::memory_order_release);
  waiting_.aside.fetch_add(1, std::memory_order_seq_cst);
  if (hand_over()) {
    stand_ins_.wait(mine);
  } else {
    worker.aside = mine.next;
  }
  waiting_.aside.fetch_sub(1, std::memory_order_seq_cst);
  worker.scope.store(scope, std::memory_order_relaxed);
  worker.running.store(running, std::memory_order_release);
}

/// A thread that waits aside and can go on, off the worker's list; null: there is none. `idle`: the
/// worker has no task.
[[gnu::cold]] HETSCHED_INLINE WaitingAside* ThreadCore::take_aside(ThreadWorker& worker,
                                                                   bool idle) {
  for (auto** link = &worker.aside; *link != nullptr; link = &(*link)->next) {
    if (auto& thread = **link; (idle || !thread.done.only_when_idle) && thread.done()) {
      *link = thread.next;
      return &thread;
    }
  }
  return nullptr;
}

[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::has_aside(ThreadWorker const& worker) {
  for (auto const* thread = worker.aside; thread != nullptr; thread = thread->next) {
    if (!thread->done.only_when_idle && thread->done()) {
      return true;
    }
  }
  return false;
}

/// The calling thread waits for `done`, and others wait aside. If one of them can go on, it does.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::let_go_on(ThreadWorker& worker,
                                                         Condition const& done) {
  if (auto* const thread = take_aside(worker, false)) {
    WatchPause const unwatched;
    wait_aside(worker, done, [&] {
      stand_ins_.give_back(*thread);
      return true;
    });
  }
}

/// Runs tasks until `done`, which the calling thread waits for with a body further down its stack.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::work_in_wait(ThreadWorker& worker,
                                                            Condition const& done) {
  while (!done()) {
    if (worker.aside != nullptr) {
      let_go_on(worker, done);
    }
    if (auto const task = take(worker)) {
      execute_in_wait(worker, task, done);
    } else if (!done()) {
      work_when_found(worker, done);
    }
  }
  pay_owed_wake(worker);
}

/// The thread in seat 0 gives it up, for longer than a spawn. If threads wait aside there, one of
/// them takes its place.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::leave_seat() {
  auto& worker = crew_.workers[0];
  if (auto* const thread = worker.aside) {
    worker.aside = thread->next;
    stand_ins_.give_back(*thread);
  } else {
    waiting_.seating.leave();
  }
}

/// A stand-in's thread from its beginning to its end.
[[gnu::cold]] HETSCHED_INLINE void* ThreadCore::run_stand_in(void* argument) {
  auto& stand_in = *static_cast<StandIn*>(argument);
  while (StandIns::wait_for_call(stand_in)) {
    stand_in.core.sit_in(stand_in);
  }
  return nullptr;
}

/// A stand-in sits in its worker until a thread that waits aside can go on there, or, in seat 0,
/// until none is left.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::sit_in(StandIn& stand_in) {
  auto& worker = *stand_in.worker;
  bind_this_thread(worker.info.cpu);
  WaitingAside* next = nullptr;
  {
    ThreadStateGuard const state({this, &worker, nullptr, nullptr, nullptr});
    auto const over = [&] {
      next = next != nullptr ? next : take_aside(worker, true);
      return next != nullptr || worker.aside == nullptr;
    };
    execute(worker, stand_in.first);
    while (worker.aside != nullptr && next == nullptr) {
      if ((next = take_aside(worker, false)) != nullptr) {
        break;
      }
      if (auto const task = take(worker)) {
        execute(worker, task);
      } else if (!over()) {
        work_when_found(worker, Condition::that(over));
      }
    }
    pay_owed_wake(worker);
  }
  stand_ins_.be_idle(stand_in);
  if (next != nullptr) {
    stand_ins_.give_back(*next);
  } else {
    waiting_.seating.leave();
  }
}

} // namespace hetsched::detail
