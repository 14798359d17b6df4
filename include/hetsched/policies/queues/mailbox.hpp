// SPDX-License-Identifier: MIT
#pragma once
// A queue that many threads fill without a lock: what a worker is sent by others.

#include <hetsched/concepts/queue.hpp>

#include <boost/lockfree/queue.hpp>

#include <atomic>
#include <cstddef>
#include <vector>

namespace hetsched::policies {

/// Decides: first in, first out; tasks that were refused go to the end.
/// Source: Boost.Lockfree's queue (Michael and Scott 1996).
/// Cost: push and pop O(1), lock-free; pop O(tasks looked at) when tasks are refused.
/// Needs: nothing of the context.
/// Threading: any operation from any thread; Boost's queue moves the tasks, `count_` decides
///   visibility: seq_cst on both sides, because Boost's own orders are weaker (concepts/queue.hpp).
/// Deterministic: yes, for one thread.
/// Knobs: none.
/// Limits: ignores priorities; a pop that sees tasks in another's hands waits for it to decide.
class Mailbox {
public:
  static constexpr bool ordered_by_priority = false;

  void push(TaskId task, std::int32_t /*priority*/) {
    if (!queue_.push(task.value)) {
      throw std::bad_alloc();
    }
    count_.fetch_add(1, std::memory_order_seq_cst);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    std::vector<std::uint64_t> refused; // allocates only if something is refused
    while (count_.load(std::memory_order_seq_cst) > 0) {
      std::uint64_t value = 0;
      TaskId found = no_task;
      while (!found && queue_.pop(value)) {
        if (accept(TaskId{value})) {
          found = TaskId{value};
        } else {
          refused.push_back(value);
        }
      }
      auto const count = found ? count_.fetch_sub(1, std::memory_order_seq_cst) : count_.load();
      auto const seen = static_cast<std::int64_t>(refused.size());
      for (auto const put_back : refused) {
        while (!queue_.push(put_back)) { // out of memory for a node just freed: try again
        }
      }
      refused.clear();
      if (found || count <= seen) {
        return found;
      }
      // Others hold tasks that they may put back: look again.
    }
    return no_task;
  }

private:
  boost::lockfree::queue<std::uint64_t> queue_{16};
  std::atomic<std::int64_t> count_{0}; // pushed and not taken; lags behind queue_ during a push
};

static_assert(task_queue<Mailbox>);

} // namespace hetsched::policies
