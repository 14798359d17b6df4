// SPDX-License-Identifier: MIT
#pragma once
// A queue that many threads fill without a lock: the tasks that others send to a worker.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>

#include <boost/lockfree/queue.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <span>

namespace hetsched::policies {

/// Decides: first in, first out among the tasks that are accepted.
/// Source: Boost.Lockfree's queue (Michael and Scott 1996).
/// Cost: push O(1), lock-free; pop O(1), under a lock that only takers share; O(tasks looked at) if
///   tasks are refused; pop of an empty mailbox is one load; peek O(tasks looked at), under the
///   same lock. Nobody can look into Boost's queue: peek moves what it looks at to a list of the
///   takers.
/// Needs: nothing of the context.
/// Threading: any operation from any thread. Boost's queue moves the tasks. `count_` decides
///   visibility. It is seq_cst on both sides, because Boost's own orders are weaker
///   (concepts/queue.hpp).
/// Deterministic: yes, for one thread.
/// Knobs: none.
/// Limits: ignores priorities; made for one taker, because several takers wait for each other.
///   Without their lock, each taker could hold tasks that the others do not see, or wait for ever.
class Mailbox {
public:
  static constexpr bool ordered_by_priority = false;

  /// Boost's constructor would lose what it has if the memory is used up on the way to 16.
  Mailbox() { queue_.reserve(16); }

  void push(TaskId task, std::int32_t /*priority*/) {
    push_again(task);
    count_.fetch_add(1, std::memory_order_seq_cst);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    if (count_.load(std::memory_order_seq_cst) <= 0) {
      return no_task;
    }
    std::lock_guard const guard(taking_);
    for (auto it = seen_.begin(); it != seen_.end(); ++it) {
      if (accept(*it)) {
        auto const task = *it;
        seen_.erase(it);
        count_.fetch_sub(1, std::memory_order_seq_cst);
        return task;
      }
    }
    std::uint64_t value = 0;
    while (queue_.pop(value)) {
      if (accept(TaskId{value})) {
        count_.fetch_sub(1, std::memory_order_seq_cst);
        return TaskId{value};
      }
      try {
        seen_.push_back(TaskId{value});
      } catch (std::bad_alloc const&) { // behind the others, in the memory that it had there
        push_again(TaskId{value});
        return no_task;
      }
    }
    return no_task;
  }

  template <class Accept>
  [[nodiscard]] std::size_t peek(std::span<TaskId> next, Accept&& accept) {
    if (count_.load(std::memory_order_seq_cst) <= 0) {
      return 0;
    }
    std::lock_guard const guard(taking_);
    std::size_t count = 0;
    for (std::size_t i = 0; count < next.size() && (i < seen_.size() || see_next()); ++i) {
      if (accept(seen_[i])) {
        next[count++] = seen_[i];
      }
    }
    return count;
  }

  /// relaxed: a hint, from one moment or another. A taker may count before the pusher does.
  [[nodiscard]] std::size_t size() const noexcept {
    auto const count = count_.load(std::memory_order_relaxed);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

private:
  /// Moves the oldest of queue_ behind those that were seen. Whether there was one, and memory.
  [[nodiscard]] bool see_next() {
    try {
      seen_.push_back({}); // before the task leaves its place
    } catch (std::bad_alloc const&) {
      return false;
    }
    std::uint64_t value = 0;
    if (!queue_.pop(value)) {
      seen_.pop_back();
      return false;
    }
    seen_.back() = TaskId{value};
    return true;
  }

  void push_again(TaskId task) {
    if (!queue_.push(task.value)) {
      throw std::bad_alloc();
    }
  }

  boost::lockfree::queue<std::uint64_t> queue_{0};
  detail::Atomic<std::int64_t> count_{0}; // pushed and not taken; grows after queue_ during a push
  detail::Mutex taking_;
  std::deque<TaskId> seen_; // refused, or looked at; older than all in queue_; guarded by taking_
};

static_assert(sized_queue<Mailbox> && peekable_queue<Mailbox>);

} // namespace hetsched::policies
