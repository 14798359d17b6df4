// SPDX-License-Identifier: MIT
#pragma once
// Tasks that are ordered against each other, and the first failure among them.

#include <hetsched/core/error.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

namespace hetsched::detail {

struct AccessQueue;

/// The first failure of a domain or group, until a sync rethrows it.
struct Failure {
  std::exception_ptr error;
  FailureReport report;
};

/// Holds at most one failure: the first. Thread-safe. A release store publishes the Failure to the
/// thread that takes it with acquire.
class FailureSlot {
public:
  FailureSlot() = default;
  FailureSlot(FailureSlot const&) = delete;
  FailureSlot& operator=(FailureSlot const&) = delete;

  ~FailureSlot() { delete first_.load(std::memory_order_acquire); }

  void offer(Owned<Failure> failure) noexcept {
    Failure* expected = nullptr;
    if (first_.compare_exchange_strong(expected, failure.get(), std::memory_order_acq_rel)) {
      failure.release();
    }
  }

  [[nodiscard]] Owned<Failure> take() noexcept {
    if (empty()) {
      return Owned<Failure>();
    }
    std::lock_guard const guard(lock_);
    return Owned<Failure>(first_.exchange(nullptr, std::memory_order_acq_rel));
  }

  /// Drops the failure if it is that one: somebody was told.
  void forget(std::exception_ptr const& error) noexcept {
    std::lock_guard const guard(lock_);
    auto const* const failure = first_.load(std::memory_order_acquire);
    if (failure != nullptr && failure->error == error) {
      delete first_.exchange(nullptr, std::memory_order_acq_rel);
    }
  }

  [[nodiscard]] bool empty() const noexcept {
    return first_.load(std::memory_order_acquire) == nullptr;
  }

  /// The first failure's exception, left in place; null if there is none.
  [[nodiscard]] std::exception_ptr peek() const noexcept {
    std::lock_guard const guard(lock_); // nobody takes and frees it meanwhile
    auto const* failure = first_.load(std::memory_order_acquire);
    return failure == nullptr ? nullptr : failure->error;
  }

private:
  Atomic<Failure*> first_{nullptr};
  mutable SpinLock lock_; // between peek and take
};

/// Tasks that are ordered against each other: all those spawned outside any task, or all children
/// of one task. Reference-counted: by its owner and by every region registered in it.
struct Domain {
  TaskRecord* owner = nullptr; // the parent of the tasks; null: tasks spawned outside any task
  Atomic<std::int32_t> references{1};
  Atomic<std::uint32_t> epoch{1};   // a datum is poisoned if its mark equals this
  SpinLock lock;                    // guards the two lists
  AccessQueue* inherited = nullptr; // queues of data that the parent task declared
  AccessQueue* unmerged = nullptr;  // queues whose last accesses are contributions
  FailureSlot failure;
};

/// The domain of a task's children. Made when first needed, by the thread that executes the task or
/// by one that executes a child that failed: acq_rel publishes it to the other.
[[nodiscard]] inline Domain& children_domain(TaskRecord& task) {
  auto* domain = task.domain.load(std::memory_order_acquire);
  if (domain == nullptr) {
    Owned<Domain> fresh(new Domain);
    fresh->owner = &task;
    if (task.domain.compare_exchange_strong(domain, fresh.get(), std::memory_order_acq_rel)) {
      domain = fresh.release();
    }
  }
  return *domain;
}

} // namespace hetsched::detail
