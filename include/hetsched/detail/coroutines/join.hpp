// SPDX-License-Identifier: MIT
#pragma once
// Coroutines that wait for coroutines: who waits for whom, and who goes on when one has ended.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/threads/suspension.hpp>

#include <coroutine>
#include <cstdint>

namespace hetsched::detail {

class RootCoroutine;
struct Join;

/// What the library knows of a coroutine: the base of all promises.
struct CoroutineState {
  Join* join = nullptr; // that waits for it, once it has begun
  bool away = false;    // of `join->others`
};

/// A coroutine that waits for others: its children.
///
/// The children are begun by one run (see CoroutineRun), and most of them end in it, without an
/// atomic instruction: `local` counts these, and the run alone uses it. A child that is spawned as
/// a task, or that waits for such a one when the run leaves it, is away: `others` counts it.
struct Join {
  std::coroutine_handle<> parent;
  CoroutineState* parent_state = nullptr; // null: a task's first coroutine
  RootCoroutine* root = nullptr;          // not null: the parent may go on in its own task only
  std::int32_t local = 0;
  bool shared = false; // `others` counts
  /// Children that are away, and one more while local ones are left. Who brings it to 0 sees what
  /// all children did: acq_rel. The run that began them adds, relaxed, while it has that one more.
  Atomic<std::int32_t> others{0};

  /// A local child is away from now on.
  void send_away(CoroutineState& child) noexcept {
    child.away = true;
    --local;
    int const change = local != 0 ? 1 : 0; // the last one takes the place of the one more
    if (shared) {
      others.fetch_add(change, std::memory_order_relaxed);
    } else {
      others.store(1 + change, std::memory_order_relaxed);
    }
    shared = true;
  }
};

/// A child that has not begun.
struct Fork {
  std::coroutine_handle<> coroutine;
  CoroutineState* state = nullptr;
  Fork* older = nullptr; // of one run
  Fork* newer = nullptr;
};

/// What one call of a task's body does with coroutines: it resumes one after the other, until none
/// can go on here. What waits to begin is a stack: this run takes the newest. Others get the
/// oldest, as a task, when a core has no work.
///
/// A thread has one run at a time. A body that waits inside a coroutine may have another one above
/// it.
struct CoroutineRun {
  std::coroutine_handle<> next; // null: none
  Join* ended = nullptr;        // of the coroutine that has just ended
  bool ended_away = false;      // whether that was away
  bool in_forks = false;        // coroutines that may run in any task
  bool suspends = false;        // the task's own coroutines wait
  Fork* newest = nullptr;
  Fork* oldest = nullptr;
  ThreadCore* core = nullptr;
  TaskRecord* task = nullptr;    // whose body this is
  RootCoroutine* root = nullptr; // null: the body is a fork's
  TaskId given = no_task;        // the last fork that became a task

  void push(Fork& fork) noexcept {
    fork.newer = nullptr;
    fork.older = newest;
    (newest == nullptr ? oldest : newest->newer) = &fork;
    newest = &fork;
  }

  /// Takes the newest; null if there is none.
  [[nodiscard]] std::coroutine_handle<> pop() noexcept {
    auto* const fork = newest;
    if (fork == nullptr) {
      return nullptr;
    }
    newest = fork->older;
    (newest == nullptr ? oldest : newest->newer) = nullptr;
    return fork->coroutine;
  }

  /// Takes the oldest, which is there.
  Fork& take_oldest() noexcept {
    auto& fork = *oldest;
    oldest = fork.newer;
    (oldest == nullptr ? newest : oldest->older) = nullptr;
    return fork;
  }

  void put_back_oldest(Fork& fork) noexcept {
    fork.older = nullptr;
    fork.newer = oldest;
    (oldest == nullptr ? newest : oldest->older) = &fork;
    oldest = &fork;
  }
};

inline constinit thread_local CoroutineRun this_run;
HETSCHED_PER_THREAD(this_run);

} // namespace hetsched::detail
