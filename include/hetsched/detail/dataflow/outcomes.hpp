// SPDX-License-Identifier: MIT
#pragma once
// What failures and cancelled groups mean for tasks: decisions for every engine, without its locks.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/dataflow/failures.hpp>
#include <hetsched/detail/dataflow/release.hpp>

#include <atomic>
#include <exception>
#include <new>
#include <utility>

namespace hetsched::detail {

/// Whether the body of a task that would begin now is skipped: its group was cancelled, or a task
/// failed that should have written its data. Says so in the task. `any_failed`: some task has. A
/// merge is not skipped: cancelled, it drops the private copies.
[[nodiscard, gnu::cold]] inline bool skip(TaskRecord& task, bool any_failed) noexcept {
  bool const unwanted =
      task.group != nullptr && task.group->cancelled.load(std::memory_order_relaxed);
  task.failed = !unwanted && any_failed && needs_poisoned(task);
  task.cancelled = unwanted || task.failed;
  return task.cancelled && task.type_of().kind != TaskKind::merge;
}

/// Hands a task's failure to its group, else to its parent's domain, else to the root domain, for
/// the sync there.
[[gnu::cold]] inline void pass_up(TaskRecord const& task, Domain& root, Owned<Failure> failure) {
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  auto* slot = task.group != nullptr ? &task.group->failure : &root.failure;
  if (task.group == nullptr && parent != nullptr) {
    try {
      slot = &children_domain(*parent).failure;
    } catch (std::bad_alloc const&) { // the sync outside all tasks rethrows it
    }
  }
  slot->offer(std::move(failure));
}

/// A task and its children are over, and do not use its domain any more.
[[gnu::cold]] inline void close_domain(TaskRecord& task, Domain& root) {
  auto* const domain = task.domain.load(std::memory_order_relaxed);
  if (auto failure = domain->failure.take()) { // of a child; no sync has asked for it
    task.failed = true;
    pass_up(task, root, std::move(failure));
  }
  task.failed = task.failed || leaves_poison(*domain);
  task.domain.store(nullptr, std::memory_order_relaxed);
  release_domain(domain);
}

/// The end of a sync of a domain: what was poisoned may be used again. Returns the failure that it
/// rethrows, if there is one.
[[nodiscard, gnu::cold]] inline Owned<Failure> end_sync(Domain& domain) noexcept {
  domain.epoch.fetch_add(1, std::memory_order_relaxed);
  return domain.failure.take();
}

/// What a sync of one datum throws when it is granted the datum. `lost`: the datum could not be
/// had from its device.
[[nodiscard, gnu::cold]] inline std::exception_ptr error_of(AccessQueue const& queue,
                                                            std::exception_ptr lost) {
  if (!queue.poisoned()) {
    return lost;
  }
  if (auto error = queue.domain->failure.peek(); error != nullptr) {
    return error;
  }
  // A group has the exception, or another thread's sync took it.
  return std::make_exception_ptr(Error(
      ErrorCode::cancelled, queue.data->describe(), "was to be written by a task that failed"));
}

} // namespace hetsched::detail
