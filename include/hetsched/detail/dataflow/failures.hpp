// SPDX-License-Identifier: MIT
#pragma once
// Failures: an exception in a body becomes a report, and a sync rethrows it.

#include <hetsched/core/stats.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace hetsched::detail {

/// What a task group shares with its tasks. The low half of `state` counts live tasks, the high
/// half threads that wait, so that the last task learns of waiters without touching the group
/// again. Reference-counted: by the program's TaskGroup and by every captured task of the group.
struct GroupState {
  static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32U;

  Atomic<std::uint64_t> state{0};
  Atomic<bool> cancelled{false};
  Atomic<bool> gone{false}; // the program's TaskGroup is
  Atomic<int> references{1};
  DataRegistry& registry; // of the runtime; a reference is held
  FailureSlot failure;

  explicit GroupState(DataRegistry& of_runtime) noexcept;
  GroupState(GroupState const&) = delete;
  GroupState& operator=(GroupState const&) = delete;
  ~GroupState();

  void release() noexcept {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  [[nodiscard]] bool empty() const noexcept {
    return (state.load(std::memory_order_acquire) & (one_waiter - 1)) == 0;
  }
};

/// The runtime or the group has ended, and no sync has asked for the failure: tells it on stderr.
void tell_unasked(Failure const& failure) noexcept;

/// Failed tasks of a runtime, the first `most` of them. Thread-safe.
class FailureLog {
public:
  static constexpr std::size_t most = 1000;

  FailureLog() = default;
  FailureLog(FailureLog const&) = delete;
  FailureLog& operator=(FailureLog const&) = delete;

  ~FailureLog() {
    while (auto* const node = first_) {
      first_ = node->next;
      delete node;
    }
  }

  /// Notes the failure of a task. Returns it for the sync that rethrows it. Without memory the log
  /// lacks the task; the first such failure is returned all the same, later ones are null.
  Owned<Failure> add(std::exception_ptr error, std::string_view task, std::string_view label);

  /// In the order in which they were added.
  template <class F>
  void for_each(F&& f) const {
    std::lock_guard const guard(mutex_);
    for (auto const* node = first_; node != nullptr; node = node->next) {
      f(node->report);
    }
  }

private:
  struct Node {
    FailureReport report;
    Node* next = nullptr;
  };

  mutable Mutex mutex_;
  Node* first_ = nullptr;
  Node** last_ = &first_;
  std::size_t count_ = 0;
  Owned<Failure> spare_{new Failure}; // for when there is no memory
};

/// Notes that the data of a partition are lost, for the sync of their domain. `holder` is the task
/// that holds the region in parts.
void fail_division(TaskRecord& holder, FailureLog& log, std::exception_ptr error);

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/dataflow/failures_inl.hpp>
#endif
