// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: taking, executing and completing tasks, as far as only some tasks need it.

#include <hetsched/detail/dataflow/outcomes.hpp>
#include <hetsched/detail/threads/task_execution.hpp>

#include <algorithm>
#include <ctime>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace hetsched::detail {

// ---- taking ----

/// `take` while tasks are recorded or explained.
[[gnu::cold]] HETSCHED_INLINE TaskId ThreadCore::take_watched(ThreadWorker& worker) {
  auto const asked = worker.ended.ns != 0 ? std::exchange(worker.ended, {}) : clock();
  auto const id = worker.info.id;
  auto task = policies_->pop(id);
  bool const stolen = !task && policies_->has(hook_steal);
  if (stolen) {
    task = steal_with(worker, [&] { return policies_->steal(id); });
  }
  if (!task && waiting_.unpushed.any()) {
    task = take_unpushed(worker);
  }
  if (task) {
    auto const now = clock();
    if (recorder_) {
      worker.taking = {asked, now, stolen};
      if (worker.drives_device() || TaskRecord::from(task)->type_of().special) {
        recorder_->taken(id, id, task, std::exchange(worker.taking, {}));
      }
    }
    note_taken(id, task, now);
    worker.owed_wake = no_task;
  }
  return task;
}

[[gnu::cold]] HETSCHED_INLINE void
ThreadCore::note_taken(WorkerId worker, TaskId task, Instant now) noexcept {
  if (explainer_.on()) {
    explainer_.taken(task, worker, now);
  }
}

/// Called where a hook threw: the scheduler has not taken the task, which is ready. Without memory
/// that is all; of another exception the program learns, too.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::keep_unpushed(TaskRecord& task) noexcept {
  try {
    throw;
  } catch (std::bad_alloc const&) {
  } catch (...) {
    root_->failure.offer(
        failure_log_.add(std::current_exception(), "hetsched push", task.label_text()));
  }
  auto const id = task.id();
  waiting_.unpushed.add(task);
  wake_for(id);
}

[[gnu::cold]] HETSCHED_INLINE TaskId ThreadCore::take_unpushed(ThreadWorker& worker) {
  auto* const task =
      waiting_.unpushed.take([&](TaskRecord const& kept) { return can_run(kept, worker.info.id); });
  if (task == nullptr) {
    return no_task;
  }
  worker.owed_wake = no_task;
  return task->id();
}

/// See steal_with. Returns when the theft begins.
HETSCHED_INLINE std::int64_t ThreadCore::pause_before_theft(ThreadWorker const& worker) {
  constexpr std::int64_t patience = 32;
  constexpr std::int64_t longest_pause_ns = 10000;
  auto now = monotonic_ns();
  if (worker.theft.body.ns < worker.theft.took_ns) {
    auto const until =
        worker.theft.at_ns + std::min(patience * worker.theft.took_ns, longest_pause_ns);
    while (now < until) {
      cpu_relax();
      now = monotonic_ns();
    }
  }
  return now;
}

// These make contexts of their own, so the contexts of the hooks stay in registers. A task that is
// ready when it is spawned needs no other event to say so.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::watch_ready(TaskId task, WorkerId by, bool spawned) {
  if (recorder_ && !spawned) {
    // When the task that it waited for ended.
    auto const ended = by ? crew_.workers[by.index()].ended : Instant{};
    recorder_->ready(by, task, ended.ns != 0 ? ended : clock());
  } else if (recorder_ && TaskRecord::from(task)->access_count == 0) { // others: see note_spawn
    recorder_->spawned(by, *TaskRecord::from(task), clock());
  }
  if (explainer_.on()) {
    explainer_.ready(Context(*this), task);
  }
}

/// For a task with data that is about to be registered.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::note_spawn(TaskRecord& task, WorkerId by) {
  if (recorder_) {
    recorder_->spawned(by, task, clock());
  }
  if (devices_) {
    devices_->note_spawn(task);
  }
}

/// The task holds all its data. Returns whether it was bound: the scheduler or the device then has
/// it already.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::unbind(TaskRecord& task) {
  // If it was bound, that was before its predecessors ended, and this thread comes here after that.
  if (!is_early(task.binding.load(std::memory_order_relaxed))) {
    return false;
  }
  bool const queued = task.state.load(std::memory_order_relaxed) == TaskState::ready;
  if (task.binding.exchange(Binding::none, std::memory_order_seq_cst) == Binding::undone) {
    return false;
  }
  if (queued) { // any worker may run it from now on, and any may find it
    wake_all(WakeReason::task);
  }
  return true;
}

// ---- executing ----

[[gnu::cold]] HETSCHED_INLINE void refuse_given(ThreadCore& core, WorkerId worker) {
  end_by_policy(policy_called("scheduler", core.policies().rules().name),
                text("pop or steal gave %s a task twice, or one that was not pushed",
                     worker_called(worker).c_str()));
}

HETSCHED_INLINE void ThreadCore::execute(ThreadWorker& worker, TaskId id) {
  execute_inline(worker, id);
}

/// After this the scheduler does not look at the task that this worker ran.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::show_running_guarded(ThreadWorker& worker,
                                                                    TaskRecord* task) {
  HookGuard const guard(*this);
  worker.running.store(task, std::memory_order_release);
}

/// The task's body will not run.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::record_not_run(ThreadWorker& worker,
                                                              TaskRecord& task) {
  if (devices_) {
    devices_->taken(task);
  }
  if (recorder_) {
    auto const id = worker.info.id;
    auto const now = clock();
    auto const taking = std::exchange(worker.taking, {});
    auto const how = task.cancelled ? TaskOutcome::cancelled : TaskOutcome::failed;
    recorder_->ran(id, id, task.id(), taking, now, now, how);
  }
}

/// Whether the task's group was cancelled, or a task failed that should have written its data.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::is_to_be_skipped(TaskRecord& task) {
  return !task.goes_on() && skip(task, waiting_.failed.load(std::memory_order_relaxed));
}

/// For a task that reduces or is abortable. Returns true if its body does not run: an attempt does
/// instead, or there is no memory for its contributions.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::begin_special(ThreadWorker& worker,
                                                             TaskRecord& task) {
  if (task.goes_on()) {
    return false; // it has its copies
  }
  if (task.type_of().attempt_at != 0) {
    // Runs when the task waits for it.
    worker.attempt = task.type_of().attempts->begin(*this, worker, task);
    return true;
  }
  try {
    lease_copies(task);
    return false;
  } catch (...) {
    fail(worker, task, std::current_exception());
    record_not_run(worker, task);
    return true;
  }
}

/// Brings the task's data to host memory. Returns false if its body is not to run because that
/// failed. A merge runs in any case: without the datum it drops the private copies.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::acquire_on_host(ThreadWorker& worker,
                                                               TaskRecord& task) {
  devices_->taken(task);
  if (task.cancelled || task.goes_on()) { // a merge; or a body that holds its data
    return true;
  }
  try {
    devices_->acquire_on_host(task);
  } catch (...) {
    fail(worker, task, std::current_exception());
    task.cancelled = task.type_of().kind == TaskKind::merge;
    if (!task.cancelled) {
      record_not_run(worker, task);
      return false;
    }
  }
  return true;
}

/// Runs a body around which there is something to do.
HETSCHED_INLINE void ThreadCore::run_watched(ThreadWorker& worker, TaskRecord& task) {
  if ((worker.attention & attention_backlog) != 0) {
    backlogs->run(*this, worker, task);
  } else {
    run_hooked(worker, task);
  }
}

/// Runs a body that is measured, or around which the scheduler has hooks.
HETSCHED_INLINE void ThreadCore::run_hooked(ThreadWorker& worker, TaskRecord& task) {
  if (policies_->has(hook_prologue)) {
    policies_->prologue(task.id(), worker.info.id);
  }
  Duration time;
  if ((worker.attention & attention_clock) != 0) {
    time = call_body_measured(worker, task);
  } else {
    call_body_watched(worker, task);
  }
  if (policies_->has(hook_epilogue)) {
    policies_->epilogue(task.id(), worker.info.id, time);
  }
}

HETSCHED_INLINE void ThreadCore::call_body_watched(ThreadWorker& worker, TaskRecord& task) {
  if ((worker.attention & attention_check) == 0) [[likely]] {
    call_body(worker, task);
    return;
  }
  if (task.type_of().kind != TaskKind::user) { // a merge
    touch_data([&] { call_body(worker, task); });
    return;
  }
  try {
    access_check->run(checked(worker, task));
  } catch (...) {
    fail(worker, task, std::current_exception());
  }
}

[[gnu::cold]] HETSCHED_INLINE CheckedBody ThreadCore::checked(ThreadWorker const& worker,
                                                              TaskRecord& task) const noexcept {
  return {checked_, &task, &task, worker.info.id, runtime_};
}

HETSCHED_INLINE Duration ThreadCore::call_body_measured(ThreadWorker& worker, TaskRecord& task) {
  worker.attention = attention_; // tasks inside this body are not watched because of a theft
  auto const taking = std::exchange(worker.taking, {}); // the body may execute others
  // With devices, the worker may have waited for data since it took the task.
  auto const begin = taking.at.ns != 0 && !devices_ ? taking.at : clock();
  if (policies_->measures()) {
    auto const expected = policies_->predict(view_of(task), worker.info.arch);
    worker.busy_until_ns.store((begin + (expected ? expected->mean : Duration{})).ns,
                               std::memory_order_relaxed);
  }
  call_body_watched(worker, task);
  auto const time = clock() - begin;
  worker.theft.body = time;
  if (timing_) {
    worker.times.add(task.type_of(), time);
  }
  if (recorder_) {
    auto const id = worker.info.id;
    auto const how = task.failed ? TaskOutcome::failed : TaskOutcome::done;
    if (this_thread.suspension != nullptr) {
      recorder_->left(id, task.id(), taking, begin, begin + time);
    } else {
      recorder_->ran(id, id, task.id(), taking, begin, begin + time, how);
    }
    worker.ended = begin + time;
  }
  if (policies_->measures()) {
    policies_->record(view_of(task), worker.info.arch, time);
  }
  return time;
}

/// `error` ended the body.
[[gnu::cold]] HETSCHED_INLINE void
ThreadCore::fail(ThreadWorker& worker, TaskRecord& task, std::exception_ptr error) {
  // This comes before any data are marked, and is ordered like the marks.
  waiting_.failed.store(true, std::memory_order_relaxed);
  task.failed = true;
  worker.counts.failed.add();
  pass_up(task, *root_, failure_log_.add(std::move(error), task.type_of().name, task.label_text()));
}

// ---- completing ----

/// `finish_body` of a task with children that are not complete, or that named data or failed.
HETSCHED_INLINE void ThreadCore::finish_parent(ThreadWorker& worker, TaskRecord& task) {
  if (auto* const suspension = std::exchange(this_thread.suspension, nullptr)) [[unlikely]] {
    worker.counts.executed.add(0 - std::uint64_t{task.type_of().counted}); // not yet
    (void)settle_children(task);                                           // one is left
    if (suspension->arrive()) {
      push(task, worker.info.id, false);
    }
    return;
  }
  if (task.domain.load(std::memory_order_acquire) != nullptr) {
    merge_children(worker, task);
  }
  bool const abortable = task.type_of().attempt_at != 0;
  auto* const attempt = abortable && !worker.drives_device() ? worker.attempt : nullptr;
  if (settle_children(task)) {
    complete_all(worker, &task);
  } else if (attempt != nullptr) {
    run_attempt(worker);
  }
}

/// Runs the attempt that the worker has to begin at once.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::run_attempt(ThreadWorker& worker) {
  auto& attempt = *std::exchange(worker.attempt, nullptr);
  attempt.type_of().attempts->run(*this, worker, attempt);
}

/// At the end of a body. Returns whether no child is left. Otherwise the last child completes the
/// task.
HETSCHED_INLINE bool ThreadCore::settle_children(TaskRecord& task) {
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

/// Instead of the release of its data.
HETSCHED_INLINE void ThreadCore::end_otherwise(ThreadWorker& worker, TaskRecord& task) {
  if (task.postponed) {
    backlogs->end(*this, worker, task);
  } else {
    ReplayLink::of(task).end(*this, worker, task);
  }
}

/// Completes a task, then its parent if that completes, too, and so on.
HETSCHED_INLINE void ThreadCore::complete_all(ThreadWorker& worker, TaskRecord* task) {
  while (task != nullptr) {
    task->children.store(TaskRecord::body_bias, std::memory_order_relaxed); // as in free records
    if (task->domain.load(std::memory_order_acquire) != nullptr) {
      close_domain(*task, *root_);
    }
    task = complete(worker, *task);
  }
}

/// Inserts the merges for the contributions of a task's children. This thread executes the task.
/// Returns the number of merges.
[[gnu::cold]] HETSCHED_INLINE int ThreadCore::merge_children(ThreadWorker& worker,
                                                             TaskRecord& task) {
  Host host(*this, &worker, &task, Host::Origin::spawned);
  return merge_all(host, *task.domain.load(std::memory_order_acquire));
}

HETSCHED_INLINE void ThreadCore::release_arguments(ThreadWorker& worker, TaskRecord& task) {
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
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::leave_group(GroupState& group) {
  auto const before = group.state.fetch_sub(1, std::memory_order_acq_rel);
  if (before == GroupState::one_waiter * (before >> 32U) + 1 && before > 1) {
    wake_all(WakeReason::condition);
    waiting_.seating.notify_outside();
    if (waiting_.for_groups.any.load(std::memory_order_acquire)) {
      resume_for_groups();
    }
  }
}

/// A child of a task whose body is not the innermost of this thread is complete. Returns the parent
/// if that completes too.
HETSCHED_INLINE TaskRecord* ThreadCore::tell_parent(ThreadWorker& worker, TaskRecord& parent) {
  WorkerId const waiter{parent.worker.load(std::memory_order_relaxed)};
  auto const left = parent.children.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (left == 0) {
    return &parent;
  }
  if (left == TaskRecord::body_bias && waiter != worker.info.id) {
    waiting_.parking.unpark(waiter, WakeReason::condition);
  }
  return nullptr;
}

} // namespace hetsched::detail
