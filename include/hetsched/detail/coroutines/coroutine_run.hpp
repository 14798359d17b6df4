// SPDX-License-Identifier: MIT
#pragma once
// How a worker runs coroutines, and how others get some of them.

#include <hetsched/detail/coroutines/join.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/suspending.hpp>

#include <coroutine>
#include <new>
#include <utility>

namespace hetsched::detail {

/// The part of a coroutine task that depends on no type: its first coroutine, and where it goes on.
class RootCoroutine {
public:
  RootCoroutine() { first_.local = 1; }

  RootCoroutine(RootCoroutine const&) = delete;
  RootCoroutine& operator=(RootCoroutine const&) = delete;

  /// Its first coroutine, a child of `first()`, is made.
  void begin(std::coroutine_handle<> coroutine) noexcept { next_ = coroutine; }

  [[nodiscard]] Join& first() noexcept { return first_; }

  /// Called in the body of the task, each time. Returns whether the coroutine has ended.
  bool run();

  /// `suspension` has begun: the run ends, and the task goes on with `next` when that is over.
  void wait_at(std::coroutine_handle<> next) noexcept {
    next_ = next;
    this_run.suspends = true;
  }

  Suspension suspension;

private:
  Join first_;
  std::coroutine_handle<> next_;
};

/// Coroutines that may run in any task begin or end: they can neither spawn nor wait for data,
/// as it would be by chance below which task they did.
void enter_forks() noexcept;
void leave_forks() noexcept;

/// Gives the oldest coroutine that has not begun to other workers, as a task, unless none would
/// take it.
void give_oldest() noexcept;

/// The coroutine of `join.parent` goes on in this run.
inline void go_on(CoroutineRun& run, Join const& join) noexcept {
  if (join.root != nullptr) {
    leave_forks();
  }
  run.next = join.parent;
}

/// No local child of the join is left, but some are away: they will see to its parent. Then the
/// parent is away, too, and so on.
inline void leave_to_others(Join& join) noexcept {
  auto* left = &join;
  do {
    if (left->root != nullptr) {
      left->root->suspension.begin(*this_run.task);
      left->root->wait_at(left->parent);
      return;
    }
    auto& parent = *left->parent_state;
    if (parent.away) {
      return;
    }
    left = parent.join;
    left->send_away(parent);
  } while (left->local == 0);
}

/// The last local child of a shared join has ended.
[[gnu::noinline]] inline void end_local(CoroutineRun& run, Join& join) noexcept {
  if (join.others.load(std::memory_order_acquire) != 1) {
    leave_to_others(join); // before the others can know
    if (join.others.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      run.next = run.pop();
      return;
    }
    if (join.root != nullptr) {
      run.suspends = false;
    }
  }
  go_on(run, join);
}

/// A child that was away has ended.
[[gnu::noinline]] inline void end_away(CoroutineRun& run, Join& join) noexcept {
  auto* const root = join.root; // others may resume the parent at once
  if (join.others.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    run.next = run.pop();
  } else if (root != nullptr) {
    Suspensions::resume(*run.core, root->suspension);
    run.next = run.pop();
  } else {
    run.next = join.parent;
  }
}

/// A child of the join has ended: chooses who is next.
[[gnu::always_inline]] inline void end_child(CoroutineRun& run, Join& join, bool away) noexcept {
  if (away) [[unlikely]] {
    end_away(run, join);
  } else if (--join.local != 0) {
    run.next = run.pop();
  } else if (join.shared) [[unlikely]] {
    end_local(run, join);
  } else {
    go_on(run, join);
  }
}

/// Runs what is `next`, until nothing can go on here. No coroutine resumes another one itself, so
/// chains of any length need no stack.
inline void run_coroutines(CoroutineRun& run) {
  while (run.next) {
    std::exchange(run.next, nullptr).resume();
    if (auto* const join = std::exchange(run.ended, nullptr)) {
      end_child(run, *join, run.ended_away);
    }
  }
}

/// A run of the calling thread, above the one that it may be in.
class RunGuard {
public:
  explicit RunGuard(RootCoroutine* root) noexcept : outer_(std::exchange(this_run, {})) {
    this_run.core = static_cast<ThreadCore*>(const_cast<void*>(this_thread.core));
    this_run.task = this_thread.task;
    this_run.root = root;
  }

  RunGuard(RunGuard const&) = delete;
  RunGuard& operator=(RunGuard const&) = delete;

  ~RunGuard() { this_run = outer_; }

private:
  CoroutineRun outer_;
};

inline bool RootCoroutine::run() {
  auto& run = this_run;
  if (this_thread.task->goes_on()) {
    Suspensions::come_back(*this_thread.task);
  }
  if (this_thread.backlog != nullptr) [[unlikely]] { // the task may not end when the body returns
    backlogs->leave();
  }
  RunGuard const guard(this);
  run.next = std::exchange(next_, nullptr);
  run_coroutines(run);
  if (run.suspends) {
    leave_forks();
    Suspensions::leave(suspension);
  }
  return !run.suspends;
}

// ---- forks ----

inline constinit BodySink fork_sink("a coroutine of when_all: start it by async");

inline void enter_forks() noexcept {
  this_run.in_forks = true;
  this_thread.task = nullptr;
  this_thread.capture = static_cast<CaptureSink*>(&fork_sink);
  this_thread.capture_core = this_run.core;
}

inline void leave_forks() noexcept {
  this_run.in_forks = false;
  this_thread.task = this_run.task;
  this_thread.capture = nullptr;
  this_thread.capture_core = nullptr;
}

/// The body of a fork that became a task.
inline void run_fork(void* /*runtime*/, TaskRecord& task) {
  RunGuard const guard(nullptr);
  auto& run = this_run;
  run.next = *static_cast<std::coroutine_handle<>*>(task.values());
  enter_forks();
  run_coroutines(run);
  leave_forks();
}

inline constexpr TaskType fork_type = [] {
  TaskType type{
      "hetsched fork", TaskKind::user, ArchMask::only(ArchHost), {}, &run_fork, nullptr, nullptr};
  type.value_bytes = sizeof(std::coroutine_handle<>);
  type.value_align = alignof(std::coroutine_handle<>);
  type.in_parent = true;
  return laid_out(type, false);
}();

/// Whether the last fork that became a task still waits to be taken. If the task has ended, its
/// record is another's.
[[nodiscard]] inline bool is_waiting(TaskId task) noexcept {
  if (!task) {
    return false;
  }
  auto const& record = *TaskRecord::from(task);
  return record.id() == task && record.state.load(std::memory_order_relaxed) == TaskState::ready;
}

[[gnu::cold]] inline void give_oldest() noexcept {
  auto& run = this_run;
  auto* const fork = run.oldest;
  // The last local child of a join stays: this run would never see that the join has none left.
  if (fork == nullptr || fork->state->join->local < 2 || is_waiting(run.given)) {
    return;
  }
  auto& join = *fork->state->join;
  auto handle = fork->coroutine;
  run.take_oldest();
  join.send_away(*fork->state);
  leave_forks();
  auto construct = [&](void* where) { new (where) std::coroutine_handle<>(handle); };
  try {
    run.given = Suspensions::spawn(*run.core, fork_type, ValueMaker::calling(construct));
  } catch (...) { // there is no memory, or the scheduler throws: this run does it
    fork->state->away = false;
    ++join.local;
    join.others.fetch_sub(1, std::memory_order_relaxed);
    run.put_back_oldest(*fork);
  }
  enter_forks();
}

} // namespace hetsched::detail
