// SPDX-License-Identifier: MIT
#pragma once
// Ending the accesses of tasks, which hands on the tasks that wait for them.

#include <hetsched/core/access.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/granting.hpp>

#include <atomic>
#include <mutex>
#include <span>
#include <utility>

namespace hetsched::detail {

/// Keeps the queue until pass_token, whatever tasks do meanwhile.
inline void keep(AccessQueue& queue) {
  queue.domain->references.fetch_add(1, std::memory_order_relaxed);
  queue.data->references.fetch_add(1, std::memory_order_relaxed);
}

/// `end_access` of a contribution or a commuting task. If it gave back a token that others wait
/// for, *token is set, for pass_token.
inline Access* end_special_access(Access& access, bool failed, AccessQueue** token) {
  auto& queue = *access.queue;
  std::lock_guard const guard(queue.lock);
  if (access.mode == AccessMode::commute) {
    queue.token_taken = false;
    if (queue.last_token_waiter != nullptr) {
      keep(queue);
      *token = &queue;
    }
  } else if (access.carried.copy != nullptr) {
    auto* const copy = PrivateCopy::of(access.carried.copy);
    copy->next = queue.copies;
    queue.copies = copy;
  }
  return queue.dequeue(failed);
}

/// Ends one access; returns the accesses granted by that.
[[gnu::always_inline]] inline Access* end_access(Access& access, bool failed) {
  auto& queue = *access.queue;
  queue.lock.lock();
  auto* const granted = queue.dequeue(failed);
  queue.lock.unlock();
  return granted;
}

/// Lets tasks that are parked with a free token try again, until one of them has it or none is
/// left. The references that `keep` took keep the queue: the tasks may run to their ends and the
/// datum go while this one looks for more.
template <class Host>
void pass_token(Host& host, AccessQueue& queue) {
  auto* const domain = queue.domain;
  auto* const data = queue.data;
  auto next_waiter = [&]() -> Access* {
    std::lock_guard const guard(queue.lock);
    auto* const last = queue.last_token_waiter;
    if (queue.token_taken || last == nullptr) {
      return nullptr;
    }
    auto* const first = last->next;
    last->next = first->next;
    queue.last_token_waiter = first == last ? nullptr : last;
    return first;
  };
  while (auto* const waiter = next_waiter()) {
    granted(host, task_of(*waiter));
  }
  release_record(data);
  release_domain(domain);
}

/// Hands on the tasks of a commuting group. The token is withheld until all of them are parked, so
/// that the highest priority has it first.
template <class Host>
[[gnu::noinline]] void grant_commuting(Host& host, AccessQueue& queue, Access* group) {
  bool withheld = false;
  {
    std::lock_guard const guard(queue.lock);
    withheld = !std::exchange(queue.token_taken, true); // else one that came later has it
    if (withheld) {
      keep(queue);
    }
  }
  grant_chain(host, group);
  if (withheld) {
    {
      std::lock_guard const guard(queue.lock);
      queue.token_taken = false;
    }
    pass_token(host, queue);
  }
}

/// Hands on the tasks of a group that has just got a datum; none: no group has.
template <class Host>
[[gnu::always_inline]] inline void grant_group(Host& host, AccessQueue& queue, Access* group) {
  if (group != nullptr && group->mode == AccessMode::commute && group->next != nullptr) {
    grant_commuting(host, queue, group);
  } else {
    grant_chain(host, group);
  }
}

template <class Host>
[[gnu::always_inline]] inline void
release_access(Host& host, TaskRecord const& task, Access& access) {
  bool failed = false;
  if (task.cancelled || task.failed) { // skipped only: leaves its data as they are, good or bad
    failed = writes(access.mode) && (task.failed || access.queue->poisoned());
  }
  if (access.mode != AccessMode::reduce && access.mode != AccessMode::commute) {
    grant_group(host, *access.queue, end_access(access, failed));
    return;
  }
  AccessQueue* token = nullptr;
  grant_group(host, *access.queue, end_special_access(access, failed, &token));
  if (token != nullptr) {
    pass_token(host, *token);
  }
}

/// Ends all accesses of a task that has completed and hands on the tasks that this makes ready.
template <class Host>
[[gnu::noinline]] void release_accesses(Host& host, TaskRecord& task) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (!access.duplicate) {
      release_access(host, task, access);
    }
  }
}

/// The same before the task completes, of those by which it writes: its results exist.
template <class Host>
[[gnu::noinline]] void release_written(Host& host, TaskRecord& task) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (!access.duplicate && writes(access.mode)) {
      access.duplicate = true; // nothing is left to do for it
      release_access(host, task, access);
    }
  }
}

/// Whether a task must be skipped because data it needs were never produced.
[[nodiscard]] inline bool needs_poisoned(TaskRecord const& task) noexcept {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    if (reads(access.mode) && access.queue->poisoned()) {
      return true;
    }
  }
  return false;
}

/// Whether children of a task that is over have spoilt data that it declared, and it did not sync
/// since: their failure may be in a group's hands, but what waits for the parent must not run.
[[nodiscard]] inline bool leaves_poison(Domain const& domain) noexcept {
  for (auto const* queue = domain.inherited; queue != nullptr; queue = queue->next_inherited) {
    if (queue->poisoned()) {
      return true;
    }
  }
  return false;
}

} // namespace hetsched::detail
