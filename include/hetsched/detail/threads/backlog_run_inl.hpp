// SPDX-License-Identifier: MIT
#pragma once
// Definitions of backlog_run.hpp: tasks run in program order.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/threads/backlog_run.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace hetsched::detail {

inline void Backlogs::run(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
  look(core);
  if (!task.type_of().takes_runtime || task.goes_on() ||
      task.depth.load(std::memory_order_relaxed) >= most_depth) {
    call(core, worker, task);
    return;
  }
  Backlog mine{this_thread.backlog, task};
  this_thread.backlog = &mine;
  call(core, worker, task);
  if (mine.first != nullptr) {
    auto* const suspension = std::exchange(this_thread.suspension, nullptr);
    run_all(core, worker, mine);
    this_thread.suspension = suspension;
  }
  this_thread.backlog = mine.outer;
}

[[gnu::always_inline]] inline void
Backlogs::call(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
  if (worker.attention == attention_backlog) [[likely]] {
    core.call_body(worker, task);
  } else {
    core.run_hooked(worker, task);
  }
}

/// Runs the tasks of a backlog, unless it is handed over first.
inline void Backlogs::run_all(ThreadCore& core, ThreadWorker& worker, Backlog& backlog) {
  while (backlog.first != nullptr) {
    look(core);
    if (backlog.first == nullptr) {
      break;
    }
    if (backlog.first->type_of().kind != TaskKind::user) [[unlikely]] {
      ThreadCore::Host host(core, &worker, &backlog.parent, ThreadCore::Host::Origin::spawned);
      auto& task = backlog.pop();
      enqueue(task);
      granted(host, task);
    } else if (backlog.spoilt) [[unlikely]] {
      skip_first(core, worker, backlog);
    } else {
      run_first(core, worker, backlog);
    }
  }
}

[[gnu::always_inline]] inline void
Backlogs::run_first(ThreadCore& core, ThreadWorker& worker, Backlog& backlog) {
  auto& task = backlog.pop();
  backlog.running = &task;
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.info.id.value, std::memory_order_relaxed);
  this_thread.task = &task;
  worker.running.store(&task, std::memory_order_release);
  if (task.type_of().takes_runtime) {
    run(core, worker, task);
  } else {
    call(core, worker, task);
  }
  worker.running.store(&backlog.parent, std::memory_order_release);
  this_thread.task = &backlog.parent;
  worker.counts.executed.add(task.type_of().counted);
  if (!task.never_shared_children() || task.domain.load(std::memory_order_acquire) != nullptr)
      [[unlikely]] {
    leave_children(core, backlog, task);
  }
  core.finish_body(worker, task);
  backlog.running = nullptr;
}

/// The body has returned. If it has children left, those behind it in the backlog wait for them.
[[gnu::noinline]] inline void
Backlogs::leave_children(ThreadCore& core, Backlog& backlog, TaskRecord& task) {
  if (!task.postponed) {
    return;
  }
  if (task.domain.load(std::memory_order_acquire) != nullptr) {
    core.merge_children(*this_thread.worker, task);
  }
  if (task.children_left() != 0 && !try_to_hand_over(backlog)) { // no memory: waits for them here
    auto* const parent = std::exchange(this_thread.task, &task);
    core.await_children(task);
    this_thread.task = parent;
  }
}

/// A task failed, and what it should have written is not known: neither is what needs it.
[[gnu::cold]] inline void
Backlogs::skip_first(ThreadCore& core, ThreadWorker& worker, Backlog& backlog) {
  auto& task = backlog.pop();
  task.failed = true;
  task.cancelled = true;
  worker.counts.cancelled.add();
  core.finish_body(worker, task);
}

inline void Backlogs::end(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
  auto& backlog = *this_thread.backlog;
  if (task.failed) [[unlikely]] {
    if (!backlog.spoilt && try_to_hand_over(backlog)) {
      core.release_arguments(worker, task);
      ThreadCore::BareHost(core, &worker, nullptr).recycle(task);
      return;
    }
    backlog.spoilt = true;
    backlog.parent.failed = true;
  }
  if (auto const* const domain = backlog.parent.domain.load(std::memory_order_acquire)) {
    count(task, domain, ~std::uint32_t{0});
  }
  if (auto* const destroy = task.type_of().destroy_values) {
    destroy(task.values());
  }
  ThreadCore::BareHost(core, &worker, nullptr).recycle(task);
}

inline void Backlogs::run_own(ThreadCore& core, TaskRecord& task) {
  auto& backlog = *this_thread.backlog;
  if (&backlog.parent == &task) {
    run_all(core, *this_thread.worker, backlog);
  }
}

inline void Backlogs::begin_again(ThreadCore& core, TaskRecord& task) {
  auto& backlog = *this_thread.backlog;
  if (&backlog.parent == &task && !core.waiting_.failed.load(std::memory_order_relaxed)) {
    backlog.handed_over = false;
  }
}

} // namespace hetsched::detail
