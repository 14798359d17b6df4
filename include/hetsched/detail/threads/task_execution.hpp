// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: taking and executing tasks, as far as every task passes through it.

#include <hetsched/detail/threads/replay_link.hpp>
#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/detail/threads/thread_host.hpp>

#include <algorithm>
#include <utility>

namespace hetsched::detail {

/// Ends the program: the scheduler gave the worker what none should begin.
[[noreturn]] void refuse_given(ThreadCore& core, WorkerId worker);

/// With assertions: checks what the scheduler gave.
[[gnu::always_inline]] inline void check_is_ready([[maybe_unused]] ThreadCore& core,
                                                  [[maybe_unused]] ThreadWorker const& worker,
                                                  [[maybe_unused]] TaskRecord const& task,
                                                  [[maybe_unused]] TaskId id) {
#ifndef NDEBUG
  if (task.id() != id || task.state.load() != TaskState::ready) [[unlikely]] {
    refuse_given(core, worker.info.id);
  }
#endif
}

/// A task is ready: hands it to the scheduler, or keeps it if that throws. If it was ready when it
/// was `spawned`, no event records that.
[[gnu::always_inline]] inline void ThreadCore::push(TaskRecord& task, WorkerId from, bool spawned) {
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  auto const id = task.id();
  if (explainer_.watches()) [[unlikely]] {
    watch_ready(id, from, spawned);
  }
  try {
    if (crew_.one_class) [[likely]] {
      apply(policies_->push(id, from), id);
    } else {
      push_beside_devices(task, from);
    }
  } catch (...) {
    keep_unpushed(task);
  }
}

/// Calls `steal`, the scheduler's hook.
///
/// A theft from a queue whose owner is at work takes the cache lines of the queue and of the task
/// away from the owner. The owner has to fetch them back, so it loses about as much time as the
/// theft takes. If the body takes less, the theft gains nothing. The thief then stays away so long
/// that the owner loses no more than one part in `patience`.
template <class Steal>
TaskId ThreadCore::steal_with(ThreadWorker& worker, Steal&& steal) {
  auto const begin = pause_before_theft(worker);
  Stolen const stolen = steal();
  if (stolen.task) {
    worker.counts.steals.add();
    worker.theft.at_ns = monotonic_ns();
    worker.theft.took_ns = stolen.contested ? worker.theft.at_ns - begin : 0;
    if (stolen.contested) {
      worker.attention |= attention_clock;
    }
  }
  return stolen.task;
}

/// `execute` for the loop that nested tasks pass through.
[[gnu::always_inline]] inline void ThreadCore::execute_inline(ThreadWorker& worker, TaskId id) {
  auto& task = *TaskRecord::from(id);
  check_is_ready(*this, worker, task, id);
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.info.id.value, std::memory_order_relaxed);
  if ((task.group != nullptr || waiting_.failed.load(std::memory_order_relaxed)) &&
      is_to_be_skipped(task)) [[unlikely]] {
    worker.counts.cancelled.add();
    record_not_run(worker, task);
  } else {
    auto* const outer = std::exchange(this_thread.task, &task);
    worker.running.store(&task, std::memory_order_release);
    run_body(worker, task);
    if ((worker.attention & attention_hooks) != 0) [[unlikely]] { // reconsider may look until then
      show_running_guarded(worker, outer);
    } else {
      worker.running.store(outer, std::memory_order_release);
    }
    this_thread.task = outer;
    worker.counts.executed.add(task.type_of().counted);
  }
  finish_body(worker, task);
}

[[gnu::always_inline]] inline void ThreadCore::run_body(ThreadWorker& worker, TaskRecord& task) {
  if (task.type_of().special && begin_special(worker, task)) [[unlikely]] {
    return;
  }
  if (devices_ && task.access_count != 0 && !acquire_on_host(worker, task)) [[unlikely]] {
    return;
  }
  if (worker.attention != no_attention) [[unlikely]] {
    run_watched(worker, task);
  } else {
    call_body(worker, task);
  }
}

[[gnu::always_inline]] inline void ThreadCore::call_body(ThreadWorker& worker, TaskRecord& task) {
  try {
    task.type_of().run(runtime_, task);
  } catch (...) {
    fail(worker, task, std::current_exception());
  }
}

/// The body has returned. Completes the task. If children are left, the last of them does that.
[[gnu::always_inline]] inline void ThreadCore::finish_body(ThreadWorker& worker, TaskRecord& task) {
  if (!task.never_shared_children() || task.domain.load(std::memory_order_acquire) != nullptr)
      [[unlikely]] {
    finish_parent(worker, task);
  } else if (auto* const parent = complete(worker, task)) {
    complete_all(worker, parent);
  }
}

/// Releases the task's data, and tells its group and its parent. Returns the parent if that
/// completes, too.
[[gnu::always_inline]] inline TaskRecord* ThreadCore::complete(ThreadWorker& worker,
                                                               TaskRecord& task) {
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  auto* const group = task.group;
  if (task.unqueued) [[unlikely]] {
    end_otherwise(worker, task);
  } else {
    if (!task.type_of().leaves_none) {
      release_arguments(worker, task);
    }
    BareHost(*this, &worker, nullptr).recycle(task);
  }
  if (group != nullptr) [[unlikely]] {
    leave_group(*group);
  }
  TaskRecord* completed_parent = nullptr;
  if (parent != nullptr) {
    if (parent == this_thread.task) { // the parent waits in a sync further down this stack
      --parent->unpublished_children;
    } else {
      completed_parent = tell_parent(worker, *parent);
    }
  }
  worker.counts.completed
      .add(); // must be last: a drain may then return, and its caller may destroy groups
  return completed_parent;
}

[[gnu::always_inline]] inline void ThreadCore::BareHost::ready(TaskRecord& task, bool again) {
  core_.push(task, from(), !again);
}

} // namespace hetsched::detail
