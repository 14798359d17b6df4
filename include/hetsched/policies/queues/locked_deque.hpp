// SPDX-License-Identifier: MIT
#pragma once
// A double-ended queue under one lock: Fifo and Lifo.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>

namespace hetsched::policies {

enum class DequeOrder : bool { fifo, lifo };

/// Decides: Fifo gives the oldest accepted task, Lifo the newest. steal takes from the other end.
/// Source: the textbook.
/// Cost: push O(1); pop and steal O(1) if the first task is accepted, else O(tasks looked at).
/// Needs: nothing of the context.
/// Threading: any operation from any thread; one mutex. An empty deque answers without it.
/// Deterministic: yes, for one thread.
/// Knobs: the template parameter.
/// Limits: ignores priorities; all users share its one lock.
template <DequeOrder Order>
class LockedDeque {
public:
  static constexpr bool ordered_by_priority = false;

  void push(TaskId task, std::int32_t /*priority*/) {
    std::lock_guard const guard(mutex_);
    tasks_.push_back(task);
    count();
  }

  /// So many tasks more can be pushed without memory.
  void make_room(std::size_t more) {
    std::lock_guard const guard(mutex_);
    tasks_.reserve(tasks_.size() + more);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    return empty() ? no_task : Order == DequeOrder::fifo ? oldest(accept) : newest(accept);
  }

  template <class Accept>
  [[nodiscard]] TaskId steal(Accept&& accept) {
    return empty() ? no_task : Order == DequeOrder::fifo ? newest(accept) : oldest(accept);
  }

  /// O(tasks looked at).
  template <class Accept>
  [[nodiscard]] std::size_t peek(std::span<TaskId> next, Accept&& accept) {
    if (empty()) {
      return 0;
    }
    std::lock_guard const guard(mutex_);
    auto const size = tasks_.size() - first_;
    std::size_t count = 0;
    for (std::size_t i = 0; i < size && count < next.size(); ++i) {
      auto const task = tasks_[Order == DequeOrder::fifo ? first_ + i : tasks_.size() - 1 - i];
      if (accept(task)) {
        next[count++] = task;
      }
    }
    return count;
  }

  /// relaxed: a hint, from one moment or another. pop and steal look for the tasks under the lock.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

private:
  /// Called without the lock. seq_cst, like `count`: if the engine does not see after a push that a
  /// worker sleeps, this worker sees the push when it looks for the last time before it sleeps
  /// (concepts/queue.hpp, visibility).
  [[nodiscard]] bool empty() const noexcept { return size_.load(std::memory_order_seq_cst) == 0; }

  void count() noexcept { size_.store(tasks_.size() - first_, std::memory_order_seq_cst); }

  template <class Accept>
  [[gnu::noinline]] TaskId oldest(Accept& accept) {
    std::lock_guard const guard(mutex_);
    for (auto i = first_; i < tasks_.size(); ++i) {
      if (accept(tasks_[i])) {
        return take(i);
      }
    }
    return no_task;
  }

  template <class Accept>
  [[gnu::noinline]] TaskId newest(Accept& accept) {
    std::lock_guard const guard(mutex_);
    for (auto i = tasks_.size(); i > first_; --i) {
      if (accept(tasks_[i - 1])) {
        return take(i - 1);
      }
    }
    return no_task;
  }

  TaskId take(std::size_t i) noexcept {
    auto const task = tasks_[i];
    if (i == first_) {
      ++first_;
      if (2 * first_ >= tasks_.size()) { // each task moves at most once for each one that left
        tasks_.erase(0, first_);
        first_ = 0;
      }
    } else {
      tasks_.erase(i, i + 1);
    }
    count();
    return task;
  }

  detail::Mutex mutex_;
  detail::Array<TaskId> tasks_; // oldest first, from first_ on
  std::size_t first_ = 0;
  detail::Atomic<std::size_t> size_{0}; // written under the lock
};

using Fifo = LockedDeque<DequeOrder::fifo>;
using Lifo = LockedDeque<DequeOrder::lifo>;

static_assert(owned_queue<Fifo> && owned_queue<Lifo>);
static_assert(peekable_queue<Fifo> && peekable_queue<Lifo>);
static_assert(sized_queue<Fifo> && sized_queue<Lifo>);

} // namespace hetsched::policies
