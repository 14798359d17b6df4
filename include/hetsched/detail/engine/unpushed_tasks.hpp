// SPDX-License-Identifier: MIT
#pragma once
// Ready tasks that the scheduler did not take, because its hook threw.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <limits>
#include <mutex>
#include <utility>

namespace hetsched::detail {

/// Stands in the answers of push_activated for a task that the scheduler has not taken: no worker
/// has this number.
inline constexpr Wake not_pushed = Wake::worker(WorkerId{std::numeric_limits<std::int32_t>::max()});

/// A list of them, oldest first, linked by the records: it takes no memory. Workers for which the
/// scheduler has no task run these. Thread-safe.
class UnpushedTasks {
public:
  /// seq_cst, like `add`: a worker looks between its announcement of sleep and its sleep, as it
  /// looks into the scheduler (concepts/queue.hpp, visibility).
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }

  [[gnu::cold]] void add(TaskRecord& task) noexcept {
    std::lock_guard const guard(lock_);
    task.next = nullptr;
    *last_ = &task;
    last_ = &task.next;
    any_.store(true, std::memory_order_seq_cst);
  }

  /// Takes out the first task that `accept(task)` allows; null if there is none.
  template <class Accept>
  [[gnu::cold]] TaskRecord* take(Accept const& accept) noexcept {
    std::lock_guard const guard(lock_);
    for (auto** link = &first_; *link != nullptr; link = &(*link)->next) {
      auto* const task = *link;
      if (accept(*task)) {
        *link = task->next;
        last_ = last_ == &task->next ? link : last_;
        any_.store(first_ != nullptr, std::memory_order_seq_cst);
        return task;
      }
    }
    return nullptr;
  }

private:
  SpinLock lock_;
  Atomic<bool> any_{false};
  TaskRecord* first_ = nullptr;
  TaskRecord** last_ = &first_;
};

} // namespace hetsched::detail
