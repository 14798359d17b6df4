// SPDX-License-Identifier: MIT
#pragma once
// Suspensions, for programs with bodies that suspend themselves.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/failures.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <exception>
#include <mutex>

namespace hetsched::detail {

[[gnu::cold]] inline void Suspensions::leave(Suspension& suspension) noexcept {
  ++suspension.task->unpublished_children; // itself: until it comes back
  this_thread.suspension = &suspension;
}

[[gnu::cold]] inline void Suspensions::come_back(TaskRecord& task) noexcept {
  task.children.fetch_add(TaskRecord::body_bias - 1, std::memory_order_acq_rel);
}

[[gnu::cold]] inline void
Suspensions::begin_to_await(ThreadCore& core, DataWaiter& waiter, Suspension& suspension) {
  waiter.access.carried.suspension = &suspension;
  ThreadCore::Spawner spawner(core);
  register_accesses(spawner.host(), waiter.task);
}

[[gnu::cold]] inline std::exception_ptr Suspensions::end_to_await(ThreadCore& core,
                                                                  DataWaiter& waiter) {
  return core.end_await_data(waiter);
}

/// Whoever leaves the group last sees that somebody waits, and then the suspension in the list: it
/// is there before the waiter is counted.
[[gnu::cold]] inline bool
Suspensions::begin_to_await(ThreadCore& core, GroupState& group, Suspension& suspension) {
  auto& waiting = core.waiting_.for_groups;
  suspension.group = &group;
  {
    std::lock_guard const guard(waiting.lock);
    suspension.next = waiting.first;
    waiting.first = &suspension;
    waiting.any.store(true, std::memory_order_relaxed);
  }
  group.state.fetch_add(GroupState::one_waiter, std::memory_order_acq_rel);
  if (!group.empty()) {
    return true;
  }
  std::lock_guard const guard(waiting.lock);
  auto** link = &waiting.first;
  while (*link != nullptr && *link != &suspension) {
    link = &(*link)->next;
  }
  if (*link == nullptr) {
    return true; // another thread has found that, and resumes it
  }
  *link = suspension.next;
  waiting.any.store(waiting.first != nullptr, std::memory_order_relaxed);
  return false;
}

[[gnu::cold]] inline void Suspensions::leave_group(ThreadCore& core, GroupState& group) {
  core.leave_group(group);
}

inline bool Suspensions::any_core_asleep(ThreadCore const& core) noexcept {
  auto const& parking = core.waiting_.parking;
  if (!parking.any_asleep() || core.crew_.one_class) [[likely]] {
    return parking.any_asleep();
  }
  bool found = false;
  parking.find_asleep([&](WorkerId worker) {
    found = core.crew_.infos[worker.index()].arch == ArchHost;
    return found;
  });
  return found;
}

[[gnu::cold]] inline TaskId
Suspensions::spawn(ThreadCore& core, TaskType const& type, ValueMaker values) {
  auto host = ThreadCore::BareHost::of_running_task(core);
  TaskDraft<ThreadCore, ThreadCore::BareHost, true> draft(core, host, type, no_attributes, {});
  values.construct(values.arguments, draft.values());
  auto const id = draft.id();
  draft.submit();
  return id;
}

} // namespace hetsched::detail
