// SPDX-License-Identifier: MIT
#pragma once
// Definitions of thread_host.hpp.

#include <hetsched/detail/threads/thread_host.hpp>

namespace hetsched::detail {

HETSCHED_INLINE void ThreadCore::BareHost::count_rejected() noexcept {
  if (worker_ != nullptr) {
    worker_->counts.rejected.add();
  } else {
    core_.outsiders_.rejected.fetch_add(1, std::memory_order_relaxed);
  }
}

HETSCHED_INLINE void ThreadCore::BareHost::count_completed() noexcept {
  if (worker_ != nullptr) {
    worker_->counts.completed.add();
  } else {
    core_.outsiders_.completed.fetch_add(1, std::memory_order_release);
  }
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::BareHost::uncount_spawn(TaskRecord& task) noexcept {
  if (task.group != nullptr) {
    task.group->state.fetch_sub(1, std::memory_order_relaxed);
  }
  count_rejected();
  uncount_hint(task);
}

HETSCHED_INLINE void ThreadCore::BareHost::count_hint(TaskRecord& hint) noexcept {
  count_spawn(hint);
  count_rejected();
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::BareHost::uncount_hint(TaskRecord& hint) noexcept {
  if (auto* const parent = hint.parent.load(std::memory_order_relaxed)) {
    --parent->unpublished_children;
  }
  count_completed();
  core_.before_sleep(); // another thread may have begun to wait for this task
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::Host::note_division(PartitionState const& state,
                                                                   bool joined) {
  if (core_.recorder_) [[unlikely]] {
    record_division(*core_.recorder_, from(), state, joined, core_.clock());
  }
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::Host::wait_granted(TaskRecord& task) {
  if (auto* const suspension = task.accesses()[0].carried.suspension) {
    auto& suspended = *suspension->task;
    if (!suspension->arrive()) {
      return;
    }
    if (origin_ == Origin::activated) {
      activate(suspended);
    } else {
      BareHost::ready(suspended, true);
    }
    return;
  }
  WorkerId const waiter{task.worker.load(std::memory_order_relaxed)};
  task.state.store(TaskState::running, std::memory_order_release); // the waiter may leave now
  if (waiter) {
    core_.waiting_.parking.unpark(waiter, WakeReason::condition);
  }
  core_.waiting_.seating.notify_outside();
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::Host::give_to_device(TaskRecord& hint) {
  auto& worker = core_.crew_.driver_of(hint.accesses()[0].carried.hint.node);
  hint.state.store(TaskState::ready, std::memory_order_relaxed);
  {
    std::lock_guard const guard(worker.mail.lock);
    hint.next = nullptr;
    (worker.mail.first == nullptr ? worker.mail.first : worker.mail.last->next) = &hint;
    worker.mail.last = &hint;
  }
  worker.mail.there.store(true, std::memory_order_seq_cst); // before the look at who sleeps
  core_.waiting_.parking.unpark(worker.info.id, WakeReason::condition);
}

[[gnu::cold]] HETSCHED_INLINE void ThreadCore::Host::fail(TaskRecord& holder,
                                                          std::exception_ptr error) {
  core_.waiting_.failed.store(true, std::memory_order_relaxed); // as in ThreadCore::fail
  fail_division(holder, core_.failure_log_, std::move(error));
}

[[gnu::cold]] HETSCHED_INLINE TaskRecord& ThreadCore::Host::new_merge(AccessQueue& queue,
                                                                      ReductionOps const& ops) {
  auto& task = *queue.spare_merge;
  queue.spare_merge = task.next;
  // A merge forced by a thread that is not in the domain (the last handle dies there) is waited
  // for there: it need not count as a child.
  start_record(task, merge_type, queue.domain->owner == spawner_ ? spawner_ : nullptr);
  task.access_count = 1;
  new (task.accesses())
      Access{&queue, nullptr, {.merge = &ops}, AccessMode::read_write, false, 0, 0};
  if (core_.recorder_) [[unlikely]] {
    core_.recorder_->spawned(from(), task, core_.clock());
  }
  count_spawn(task);
  if (worker_ != nullptr) {
    worker_->counts.merges.add();
  } else {
    core_.outsiders_.merges.fetch_add(1, std::memory_order_relaxed);
  }
  return task;
}

HETSCHED_INLINE void ThreadCore::Host::flush() noexcept {
  std::span const tasks(reinterpret_cast<TaskId const*>(batch_.data()), count_);
  count_ = 0;
  if (core_.explainer_.watches()) [[unlikely]] {
    for (auto const id : tasks) {
      core_.watch_ready(id, from(), false);
    }
  }
  if (tasks.size() == 1 && !core_.policies_->has(hook_push_activated)) {
    try {
      push_alone(tasks[0]);
    } catch (...) {
      core_.keep_unpushed(*TaskRecord::from(tasks[0]));
    }
    return;
  }
  alignas(Wake) std::array<std::byte, batch_size * sizeof(Wake)> answers; // uninitialised
  std::span const wakes(reinterpret_cast<Wake*>(answers.data()), tasks.size());
  alignas(NodeId) std::array<std::byte, batch_size * sizeof(NodeId)> devices; // uninitialised
  auto* const preferred = reinterpret_cast<NodeId*>(devices.data());
  bool const one_class = core_.crew_.one_class;
  for (std::size_t k = 0; !one_class && k < tasks.size(); ++k) {
    preferred[k] = core_.preferred_device(*TaskRecord::from(tasks[k]));
  }
  try {
    core_.policies_->push_activated(tasks, from(), wakes);
  } catch (...) {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      if (wakes[k] == not_pushed) {
        core_.keep_unpushed(*TaskRecord::from(tasks[k]));
        wakes[k] = Wake::none();
      }
    }
  }
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    if (one_class || !core_.offer(wakes[k], tasks[k], preferred[k])) {
      wake_activated(wakes[k], tasks[k]);
    }
  }
}

HETSCHED_INLINE void ThreadCore::Host::push_alone(TaskId task) {
  if (core_.crew_.one_class) [[likely]] {
    wake_activated(core_.policies_->push(task, from()), task);
    return;
  }
  auto const preferred = core_.preferred_device(*TaskRecord::from(task));
  auto const wake = core_.policies_->push(task, from());
  if (!core_.offer(wake, task, preferred)) {
    wake_activated(wake, task);
  }
}

/// The finishing worker takes one of the tasks itself, so one wake-up can be saved; `pay_owed_wake`
/// makes up for it if the worker leaves without taking any.
HETSCHED_INLINE void ThreadCore::Host::wake_activated(Wake wake, TaskId task) {
  if (wake.is_any() && worker_ != nullptr && !worker_->owed_wake && !worker_->drives_device() &&
      core_.can_run(*TaskRecord::from(task), worker_->info.id)) {
    worker_->owed_wake = task;
  } else {
    core_.apply(wake, task);
  }
}

} // namespace hetsched::detail
