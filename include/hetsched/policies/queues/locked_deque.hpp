// SPDX-License-Identifier: MIT
#pragma once
// A double-ended queue under one lock: Fifo and Lifo.

#include <hetsched/concepts/queue.hpp>

#include <deque>
#include <mutex>

namespace hetsched::policies {

enum class DequeOrder : bool { fifo, lifo };

/// Decides: Fifo gives the oldest accepted task, Lifo the newest; steal takes from the other end.
/// Source: the textbook.
/// Cost: push O(1); pop and steal O(1) when the first task is accepted, else O(tasks looked at).
/// Needs: nothing of the context.
/// Threading: any operation from any thread; one mutex.
/// Deterministic: yes, for one thread.
/// Knobs: the template parameter.
/// Limits: ignores priorities; its lock is one for all users.
template <DequeOrder Order>
class LockedDeque {
public:
  static constexpr bool ordered_by_priority = false;

  void push(TaskId task, std::int32_t /*priority*/) {
    std::lock_guard const guard(mutex_);
    tasks_.push_back(task);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    return Order == DequeOrder::fifo ? oldest(accept) : newest(accept);
  }

  template <class Accept>
  [[nodiscard]] TaskId steal(Accept&& accept) {
    return Order == DequeOrder::fifo ? newest(accept) : oldest(accept);
  }

private:
  template <class Accept>
  TaskId oldest(Accept& accept) {
    std::lock_guard const guard(mutex_);
    for (auto it = tasks_.begin(); it != tasks_.end(); ++it) {
      if (accept(*it)) {
        auto const task = *it;
        tasks_.erase(it);
        return task;
      }
    }
    return no_task;
  }

  template <class Accept>
  TaskId newest(Accept& accept) {
    std::lock_guard const guard(mutex_);
    for (auto it = tasks_.rbegin(); it != tasks_.rend(); ++it) {
      if (accept(*it)) {
        auto const task = *it;
        tasks_.erase(std::next(it).base());
        return task;
      }
    }
    return no_task;
  }

  std::mutex mutex_;
  std::deque<TaskId> tasks_;
};

using Fifo = LockedDeque<DequeOrder::fifo>;
using Lifo = LockedDeque<DequeOrder::lifo>;

static_assert(owned_queue<Fifo> && owned_queue<Lifo>);

} // namespace hetsched::policies
