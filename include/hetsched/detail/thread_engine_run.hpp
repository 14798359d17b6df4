// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: executing and completing tasks.

#include <hetsched/detail/thread_engine_host.hpp>

namespace hetsched::detail {

template <class S, class C, class P>
inline TaskId ThreadCore<S, C, P>::take(ThreadWorker& worker) {
  if constexpr (has_reconsider<S, Context>) {
    if (undecided_.load(std::memory_order_relaxed) != 0 && worker.attempt == nullptr) {
      worker.attempt = spoliate(worker);
    }
    if (worker.attempt != nullptr) {
      return no_task;
    }
  }
  if (explainer_.watches()) [[unlikely]] {
    return take_watched(worker);
  }
  Context const ctx(*this);
  auto const id = worker.info.id;
  auto task = locked([&] { return scheduler_.pop(ctx, id); });
  if (!task) [[unlikely]] {
    task = steal(worker);
    if (!task) {
      return no_task;
    }
  }
  note_taken(worker);
  return task;
}

template <class S, class C, class P>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::note_taken(ThreadWorker& worker) {
  worker.owed_wake = no_task;
  if constexpr (!has_steal<S, Context>) {
    if (scopes_lifted_.load(std::memory_order_relaxed)) {
      scopes_lifted_.store(false, std::memory_order_relaxed);
    }
  }
}

/// `take`, which somebody wants to know of.
template <class S, class C, class P>
[[gnu::noinline]] TaskId ThreadCore<S, C, P>::take_watched(ThreadWorker& worker) {
  auto const asked = worker.ended.ns != 0 ? std::exchange(worker.ended, {}) : clock();
  Context const ctx(*this);
  auto const id = worker.info.id;
  auto task = locked([&] { return scheduler_.pop(ctx, id); });
  bool const stolen = !task;
  if (stolen) {
    task = steal(worker);
  }
  if (task) {
    auto const now = clock();
    if (recorder_) {
      worker.taking = {asked, now, stolen};
      if (worker.drives_device() || TaskRecord::from(task)->type_of().special) {
        recorder_->taken(id, id, task, std::exchange(worker.taking, {}));
      }
    }
    if (explainer_.on()) {
      explainer_.taken(task, id, now);
    }
    note_taken(worker);
  }
  return task;
}

template <class S, class C, class P>
[[gnu::noinline]] TaskId ThreadCore<S, C, P>::steal([[maybe_unused]] ThreadWorker& worker) {
  if constexpr (has_steal<S, Context>) {
    // A theft from a queue whose owner is at work takes the cache lines of the queue and of the
    // task away from it, and the owner fetches them back: it loses about what the theft takes. For
    // a body that takes less nobody gains, so the thief then stays away long enough for the owner
    // not to lose more than a part in `patience`.
    constexpr std::int64_t patience = 32;
    constexpr std::int64_t longest_pause_ns = 10000;
    auto now = monotonic_ns();
    if (worker.stolen_body.ns < worker.theft_ns) {
      auto const until =
          worker.last_theft_ns + std::min(patience * worker.theft_ns, longest_pause_ns);
      while (now < until) {
        cpu_relax();
        now = monotonic_ns();
      }
    }
    Context const ctx(*this);
    Stolen const stolen{locked([&] { return scheduler_.steal(ctx, worker.info.id); })};
    if (stolen.task) {
      worker.steals.add();
      worker.last_theft_ns = monotonic_ns();
      worker.theft_ns = stolen.contested ? worker.last_theft_ns - now : 0;
      worker.clocked = clocks_ || stolen.contested;
    }
    return stolen.task;
  } else {
    return no_task;
  }
}

template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::execute(ThreadWorker& worker, TaskId id) {
  execute_inline(worker, id);
}

/// `execute` for the loop that nested tasks pass through.
template <class S, class C, class P>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::execute_inline(ThreadWorker& worker,
                                                                       TaskId id) {
  auto& task = *TaskRecord::from(id);
  HETSCHED_ASSERT(task.id() == id && task.state.load() == TaskState::ready,
                  "scheduler gave a task twice, or one that it was not given");
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.info.id.value, std::memory_order_relaxed);
  if ((task.group != nullptr || failed_.load(std::memory_order_relaxed)) && is_to_be_skipped(task))
      [[unlikely]] {
    worker.cancelled.add();
    record_not_run(worker, task);
  } else {
    auto* const outer = std::exchange(this_thread.task, &task);
    worker.running.store(&task, std::memory_order_release);
    run_body(worker, task);
    if constexpr (has_reconsider<S, Context>) { // which may look at the task until then
      locked([&] { worker.running.store(outer, std::memory_order_release); });
    } else {
      worker.running.store(outer, std::memory_order_release);
    }
    this_thread.task = outer;
    worker.executed.add(task.type_of().counted);
  }
  finish_body(worker, task);
}

template <class S, class C, class P>
[[gnu::noinline, gnu::cold]] void ThreadCore<S, C, P>::record_not_run(ThreadWorker& worker,
                                                                      TaskRecord const& task) {
  if (recorder_) {
    auto const id = worker.info.id;
    auto const now = clock();
    auto const taking = std::exchange(worker.taking, {});
    auto const how = task.cancelled ? Trace::Outcome::cancelled : Trace::Outcome::failed;
    recorder_->ran(id, id, task.id(), taking, now, now, how);
  }
}

/// Whether the task's group was cancelled, or a task failed that should have written its data.
template <class S, class C, class P>
[[gnu::noinline]] bool ThreadCore<S, C, P>::is_to_be_skipped(TaskRecord& task) {
  bool const skipped =
      task.group != nullptr && task.group->cancelled.load(std::memory_order_relaxed);
  task.failed = !skipped && failed_.load(std::memory_order_relaxed) && needs_poisoned(task);
  task.cancelled = skipped || task.failed;
  return task.cancelled && task.type_of().kind != TaskKind::merge;
}

/// Of a task that reduces, or is abortable. True if its body is not to run now: an attempt will.
template <class S, class C, class P>
[[gnu::noinline]] bool ThreadCore<S, C, P>::begin_special(ThreadWorker& worker, TaskRecord& task) {
  if (task.type_of().attempt_at != 0) {
    worker.attempt = begin_attempts(worker, task); // runs when the task waits for it
    return true;
  }
  lease_copies(task);
  return false;
}

template <class S, class C, class P>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::run_body(ThreadWorker& worker,
                                                                 TaskRecord& task) {
  if (task.type_of().special && begin_special(worker, task)) [[unlikely]] {
    return;
  }
  if (devices_ && task.access_count != 0 && !acquire_on_host(worker, task)) [[unlikely]] {
    return;
  }
  if constexpr (has_prologue<S, Context>) {
    Context const ctx(*this);
    locked([&] { scheduler_.prologue(ctx, task.id(), worker.info.id); });
  }
  Duration time;
  if (P::measures || worker.clocked) {
    time = call_body_measured(worker, task);
  } else {
    call_body(worker, task);
  }
  if constexpr (has_epilogue<S, Context>) {
    Context const ctx(*this);
    locked([&] { scheduler_.epilogue(ctx, task.id(), worker.info.id, time); });
  }
}

template <class S, class C, class P>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::call_body(ThreadWorker& worker,
                                                                  TaskRecord& task) {
  try {
    task.type_of().run(runtime_, task);
  } catch (...) {
    fail(worker, task, std::current_exception());
  }
}

/// Brings what the task needs to host memory; false if it failed for that.
template <class S, class C, class P>
[[gnu::noinline]] bool ThreadCore<S, C, P>::acquire_on_host(ThreadWorker& worker,
                                                            TaskRecord& task) {
  try {
    devices_->acquire_on_host(task, false);
  } catch (...) {
    fail(worker, task, std::current_exception());
    record_not_run(worker, task);
  }
  return !task.failed;
}

template <class S, class C, class P>
[[gnu::noinline]] Duration ThreadCore<S, C, P>::call_body_measured(ThreadWorker& worker,
                                                                   TaskRecord& task) {
  worker.clocked = clocks_; // not for the sake of a theft, what may run inside this body
  auto const taking = std::exchange(worker.taking, {}); // the body may execute others
  // With devices, data may have been waited for since it was taken.
  auto const begin = taking.at.ns != 0 && !devices_ ? taking.at : clock();
  if constexpr (P::measures) {
    auto const expected = model_.predict(view_of(task), worker.info.arch);
    worker.busy_until_ns.store((begin + (expected ? expected->mean : Duration{})).ns,
                               std::memory_order_relaxed);
  }
  call_body(worker, task);
  auto const time = clock() - begin;
  worker.stolen_body = time;
  if (timing_) {
    worker.times.add(task.type_of(), time);
  }
  if (recorder_) {
    auto const id = worker.info.id;
    recorder_->ran(id,
                   id,
                   task.id(),
                   taking,
                   begin,
                   begin + time,
                   task.failed ? Trace::Outcome::failed : Trace::Outcome::done);
    worker.ended = begin + time;
  }
  if constexpr (P::measures) {
    model_.record(view_of(task), worker.info.arch, time);
  }
  return time;
}

/// `error` ended the body.
template <class S, class C, class P>
void ThreadCore<S, C, P>::fail(ThreadWorker& worker, TaskRecord& task, std::exception_ptr error) {
  failed_.store(true, std::memory_order_relaxed); // before any data are marked: ordered as they are
  task.failed = true;
  worker.failed.add();
  pass_up(task,
          failure_log_.add(
              std::move(error), std::string(task.type_of().name), std::string(task.label_text())));
}

/// Hands a task's failure to whoever syncs on it: its group, else its parent's domain.
template <class S, class C, class P>
void ThreadCore<S, C, P>::pass_up(TaskRecord const& task, Owned<Failure> failure) {
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  auto& slot = task.group != nullptr ? task.group->failure
               : parent != nullptr   ? children_domain(*parent).failure
                                     : root_->failure;
  slot.offer(std::move(failure));
}

/// The body has returned: completes the task, unless children are left; then the last of them does.
template <class S, class C, class P>
[[gnu::always_inline]] inline void ThreadCore<S, C, P>::finish_body(ThreadWorker& worker,
                                                                    TaskRecord& task) {
  if (!task.never_shared_children() || task.domain.load(std::memory_order_acquire) != nullptr)
      [[unlikely]] {
    finish_parent(worker, task);
  } else if (auto* const parent = complete(worker, task)) {
    complete_all(worker, parent);
  }
}

/// `finish_body` of a task with children that are not complete, or that named data or failed.
template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::finish_parent(ThreadWorker& worker, TaskRecord& task) {
  if (task.domain.load(std::memory_order_acquire) != nullptr) {
    merge_children(worker, task);
  }
  auto* const attempt =
      task.type_of().attempt_at != 0 && !worker.drives_device() ? worker.attempt : nullptr;
  if (settle_children(task)) {
    complete_all(worker, &task);
  } else if (attempt != nullptr) {
    worker.attempt = nullptr;
    run_attempt(worker, *attempt);
  }
}

/// At the end of a body: whether no child is left. If some are, the last of them completes the
/// task.
template <class S, class C, class P>
bool ThreadCore<S, C, P>::settle_children(TaskRecord& task) {
  auto const change = task.unpublished_children - TaskRecord::body_bias;
  bool const left = task.children_left() != 0;
  task.unpublished_children = 0;
  if (left) {
    task.state.store(TaskState::waiting, std::memory_order_relaxed);
    // acq_rel: releases what the body wrote, acquires what children wrote
    if (task.children.fetch_add(change, std::memory_order_acq_rel) + change != 0) {
      return false;
    }
  }
  return true;
}

/// Completes a task, its parent if that completes too, and so on.
template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::complete_all(ThreadWorker& worker, TaskRecord* task) {
  while (task != nullptr) {
    task->children.store(TaskRecord::body_bias, std::memory_order_relaxed); // as free records have
    if (task->domain.load(std::memory_order_acquire) != nullptr) {
      close_domain(*task);
    }
    task = complete(worker, *task);
  }
}

/// Inserts the merges of what the children of a task, which this thread executes, contributed; how
/// many.
template <class S, class C, class P>
[[gnu::noinline]] int ThreadCore<S, C, P>::merge_children(ThreadWorker& worker, TaskRecord& task) {
  Host host(*this, &worker, &task, Host::Origin::spawned);
  return merge_all(host, *task.domain.load(std::memory_order_acquire));
}

/// Releases the task's data, tells its group and parent. Returns the parent if that completes too.
template <class S, class C, class P>
[[gnu::always_inline]] inline TaskRecord* ThreadCore<S, C, P>::complete(ThreadWorker& worker,
                                                                        TaskRecord& task) {
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  auto* const group = task.group;
  if (!task.type_of().leaves_none) {
    release_arguments(worker, task);
  }
  BareHost(*this, &worker, nullptr).recycle(task);
  if (group != nullptr) [[unlikely]] {
    leave_group(*group);
  }
  TaskRecord* completed_parent = nullptr;
  if (parent != nullptr) {
    if (parent == this_thread.task) { // waits in a sync below, on this very stack
      --parent->unpublished_children;
    } else {
      completed_parent = tell_parent(worker, *parent);
    }
  }
  worker.completed.add(); // last: a drain may return, and its caller destroy groups, after this
  return completed_parent;
}

/// The task and its children are done with its domain.
template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::close_domain(TaskRecord& task) {
  auto* const domain = task.domain.load(std::memory_order_relaxed);
  if (auto failure = domain->failure.take()) { // of a child, not asked for by any sync
    task.failed = true;
    pass_up(task, std::move(failure));
  }
  task.failed = task.failed || leaves_poison(*domain);
  task.domain.store(nullptr, std::memory_order_relaxed);
  release_domain(domain);
}

template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::release_arguments(ThreadWorker& worker,
                                                              TaskRecord& task) {
  if (task.access_count != 0) {
    Host host(*this, &worker, nullptr, Host::Origin::activated);
    host.note_end(task);
    release_accesses(host, task);
  }
  if (auto* const destroy = task.type_of().destroy_values) {
    destroy(task.values());
  }
}

/// A task of the group is complete.
template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::leave_group(GroupState& group) {
  auto const before = group.state.fetch_sub(1, std::memory_order_acq_rel);
  if (before == GroupState::one_waiter * (before >> 32U) + 1 && before > 1) {
    wake_all(WakeReason::condition);
    notify_outside();
  }
}

/// A child of a task whose body is not the innermost of this thread is complete. Returns the parent
/// if that completes too.
template <class S, class C, class P>
[[gnu::noinline]] TaskRecord* ThreadCore<S, C, P>::tell_parent(ThreadWorker& worker,
                                                               TaskRecord& parent) {
  WorkerId const waiter{parent.worker.load(std::memory_order_relaxed)};
  auto const left = parent.children.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (left == 0) {
    return &parent;
  }
  if (left == TaskRecord::body_bias && waiter != worker.info.id) {
    parking_.unpark(waiter, WakeReason::condition);
  }
  return nullptr;
}

} // namespace hetsched::detail
