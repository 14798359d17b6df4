// SPDX-License-Identifier: MIT
#pragma once
// A binary heap of ready tasks under one lock.

#include <hetsched/concepts/queue.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace hetsched::policies {

/// Decides: highest priority first; first come, first served among equals.
/// Source: the textbook.
/// Cost: push and pop O(log Q) for Q tasks; pop O(Q) when the first task is refused.
/// Needs: nothing of the context.
/// Threading: any operation from any thread; one mutex.
/// Deterministic: yes, for one thread.
/// Knobs: none.
/// Limits: its lock is one for all users.
class PriorityHeap {
public:
  static constexpr bool ordered_by_priority = true;

  void push(TaskId task, std::int32_t priority) {
    std::lock_guard const guard(mutex_);
    heap_.push_back({task, priority, pushed_++});
    std::push_heap(heap_.begin(), heap_.end(), after);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex_);
    if (heap_.empty()) {
      return no_task;
    }
    if (accept(heap_.front().task)) {
      std::pop_heap(heap_.begin(), heap_.end(), after);
      auto const task = heap_.back().task;
      heap_.pop_back();
      return task;
    }
    return pop_beyond_first(accept);
  }

private:
  struct Entry {
    TaskId task;
    std::int32_t priority;
    std::uint64_t arrival;
  };

  static bool after(Entry const& a, Entry const& b) noexcept {
    return a.priority != b.priority ? a.priority < b.priority : a.arrival > b.arrival;
  }

  template <class Accept>
  TaskId pop_beyond_first(Accept& accept) {
    auto best = heap_.end();
    for (auto it = heap_.begin() + 1; it != heap_.end(); ++it) {
      if ((best == heap_.end() || after(*best, *it)) && accept(it->task)) {
        best = it;
      }
    }
    if (best == heap_.end()) {
      return no_task;
    }
    auto const task = best->task;
    *best = heap_.back();
    heap_.pop_back();
    std::make_heap(heap_.begin(), heap_.end(), after);
    return task;
  }

  std::mutex mutex_;
  std::vector<Entry> heap_;
  std::uint64_t pushed_ = 0;
};

static_assert(priority_queue<PriorityHeap>);

} // namespace hetsched::policies
