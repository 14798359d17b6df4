// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: executing and completing tasks.

#include <hetsched/detail/thread_engine_host.hpp>

namespace hetsched::detail {

template <class S, class P>
inline bool ThreadCore<S, P>::take(ThreadWorker& worker, TaskId& task, bool& stolen) {
  Context const ctx(*this);
  auto const id = worker.info.id;
  stolen = false;
  task = locked([&] { return scheduler_.pop(ctx, id); });
  if constexpr (has_steal<S, Context>) {
    if (!task) {
      Context const steal_ctx(*this);
      task = locked([&] { return scheduler_.steal(steal_ctx, id); });
      stolen = static_cast<bool>(task);
    }
  }
  if (!task) {
    return false;
  }
  worker.owed_wake = no_task;
  if constexpr (!has_steal<S, Context>) {
    if (scopes_lifted_.load(std::memory_order_relaxed)) {
      scopes_lifted_.store(false, std::memory_order_relaxed);
    }
  }
  return true;
}

template <class S, class P>
void ThreadCore<S, P>::execute(ThreadWorker& worker, TaskId id, bool stolen) {
  auto& task = *TaskRecord::from(id);
  HETSCHED_ASSERT(task.id() == id && task.state.load() == TaskState::ready,
                  "scheduler gave a task twice, or one that it was not given");
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.info.id.value, std::memory_order_relaxed);
  task.children.store(TaskRecord::body_bias, std::memory_order_relaxed);
  bool const skipped =
      task.group != nullptr && task.group->cancelled.load(std::memory_order_relaxed);
  task.failed = !skipped && failed_.load(std::memory_order_relaxed) && needs_poisoned(task);
  task.cancelled = skipped || task.failed;
  bool const merge = task.type_of().kind == TaskKind::merge;
  if (task.cancelled && !merge) {
    worker.cancelled.add();
  } else {
    auto const outer = worker.running.load(std::memory_order_relaxed);
    worker.running.store(id.value, std::memory_order_release);
    run_body(worker, task);
    worker.running.store(outer, std::memory_order_release);
    if (!merge) {
      worker.executed.add();
      worker.steals.add(stolen ? 1 : 0);
    }
  }
  finish_body(worker, task);
}

template <class S, class P>
[[gnu::always_inline]] inline void ThreadCore<S, P>::run_body(ThreadWorker& worker,
                                                              TaskRecord& task) {
  if (task.has_reduce) {
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      if (access.mode == AccessMode::reduce && !access.duplicate) {
        lease_copy(access);
      }
    }
  }
  if constexpr (has_prologue<S, Context>) {
    Context const ctx(*this);
    locked([&] { scheduler_.prologue(ctx, task.id(), worker.info.id); });
  }
  bool const measured = P::measures || timing_;
  auto const begin = measured ? clock() : Instant{};
  if constexpr (P::measures) {
    auto const expected = model_.predict(view_of(task), worker.info.arch);
    worker.busy_until_ns.store((begin + (expected ? expected->mean : Duration{})).ns,
                               std::memory_order_relaxed);
  }
  auto* const outer = std::exchange(this_thread.task, &task);
  try {
    task.type_of().run(runtime_, task);
  } catch (...) {
    fail(worker, task);
  }
  this_thread.task = outer;
  auto const time = measured ? clock() - begin : Duration{};
  if (timing_) {
    worker.times.add(task.type_of(), time);
  }
  if constexpr (P::measures) {
    model_.record(view_of(task), worker.info.arch, time);
  }
  if constexpr (has_epilogue<S, Context>) {
    Context const ctx(*this);
    locked([&] { scheduler_.epilogue(ctx, task.id(), worker.info.id, time); });
  }
}

/// Called in the handler of the exception that ended the body.
template <class S, class P>
void ThreadCore<S, P>::fail(ThreadWorker& worker, TaskRecord& task) {
  failed_.store(true, std::memory_order_relaxed); // before any data are marked: ordered as they are
  task.failed = true;
  worker.failed.add();
  pass_up(task,
          failure_log_.add(std::current_exception(),
                           std::string(task.type_of().name),
                           std::string(task.label_text())));
}

/// Hands a task's failure to whoever syncs on it: its group, else its parent's domain.
template <class S, class P>
void ThreadCore<S, P>::pass_up(TaskRecord const& task, Owned<Failure> failure) {
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  auto& slot = task.group != nullptr ? task.group->failure
               : parent != nullptr   ? children_domain(*parent).failure
                                     : root_->failure;
  slot.offer(std::move(failure));
}

/// The body has returned: completes the task, unless children are left; then the last of them does.
template <class S, class P>
[[gnu::always_inline]] inline void ThreadCore<S, P>::finish_body(ThreadWorker& worker,
                                                                 TaskRecord& task) {
  if (auto* const domain = task.domain.load(std::memory_order_acquire)) {
    Host host(*this, &worker, &task, Host::Origin::spawned);
    merge_all(host, *domain);
  }
  if (task.children_left() != 0) {
    auto const change = task.unpublished_children - TaskRecord::body_bias;
    task.unpublished_children = 0;
    task.state.store(TaskState::waiting, std::memory_order_relaxed);
    // acq_rel: releases what the body wrote, acquires what children wrote
    if (task.children.fetch_add(change, std::memory_order_acq_rel) + change != 0) {
      return;
    }
  }
  for (auto* next = &task; next != nullptr;) {
    next = complete(worker, *next);
  }
}

/// Whether the calling thread, in the seat of `worker`, is in the body of a task whose child it
/// completes: what it reads here it has then written itself.
[[nodiscard]] inline bool is_running_here(TaskRecord const& parent,
                                          ThreadWorker const& worker) noexcept {
  return parent.worker.load(std::memory_order_relaxed) == worker.info.id.value &&
         parent.state.load(std::memory_order_relaxed) == TaskState::running;
}

/// Releases the task's data, tells its group and parent. Returns the parent if that completes too.
template <class S, class P>
[[gnu::always_inline]] inline TaskRecord* ThreadCore<S, P>::complete(ThreadWorker& worker,
                                                                     TaskRecord& task) {
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  auto* const group = task.group;
  if (auto* const domain = task.domain.load(std::memory_order_acquire)) {
    if (auto failure = domain->failure.take()) { // of a child, not asked for by any sync
      task.failed = true;
      pass_up(task, std::move(failure));
    }
    task.failed = task.failed || leaves_poison(*domain);
    task.domain.store(nullptr, std::memory_order_relaxed);
    release_domain(domain);
  }
  {
    Host host(*this, &worker, nullptr, Host::Origin::activated);
    if (task.access_count != 0) {
      release_accesses(host, task);
    }
    if (auto* const destroy = task.type_of().destroy_values) {
      destroy(task.values());
    }
    host.recycle(task);
  }
  if (group != nullptr) {
    auto const before = group->state.fetch_sub(1, std::memory_order_acq_rel);
    if (before == GroupState::one_waiter * (before >> 32U) + 1 && before > 1) {
      wake_all(WakeReason::condition);
      notify_outside();
    }
  }
  TaskRecord* completed_parent = nullptr;
  if (parent != nullptr && is_running_here(*parent, worker)) {
    --parent->unpublished_children; // waits in a sync below on this very stack
  } else if (parent != nullptr) {
    WorkerId const waiter{parent->worker.load(std::memory_order_relaxed)};
    auto const left = parent->children.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (left == 0) {
      completed_parent = parent;
    } else if (left == TaskRecord::body_bias && waiter != worker.info.id) {
      parking_.unpark(waiter, WakeReason::condition);
    }
  }
  worker.completed.add(); // last: a drain may return, and its caller destroy groups, after this
  return completed_parent;
}

} // namespace hetsched::detail
