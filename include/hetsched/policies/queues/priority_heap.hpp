// SPDX-License-Identifier: MIT
#pragma once
// A binary heap of ready tasks under one lock.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <span>

namespace hetsched::policies {

/// Decides: highest priority first; first come, first served among equals.
/// Source: the textbook.
/// Cost: push and pop O(log Q) for Q tasks; pop O(Q) if the first is refused; last, least O(Q).
/// Needs: nothing of the context.
/// Threading: any operation from any thread; one mutex.
/// Deterministic: yes, for one thread.
/// Knobs: none.
/// Limits: all users share its one lock.
class PriorityHeap {
public:
  static constexpr bool ordered_by_priority = true;

  [[gnu::always_inline]] void push(TaskId task, std::int32_t priority) {
    std::lock_guard const guard(mutex_);
    heap_.push_back({task, priority, pushed_++});
    rise(heap_.size() - 1);
    size_.store(heap_.size(), std::memory_order_relaxed);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex_);
    if (heap_.empty()) {
      return no_task;
    }
    if (accept(heap_[0].task)) {
      return take(0);
    }
    auto const best = best_beyond_first(accept);
    return best == 0 ? no_task : take(best);
  }

  /// O(v log v) if it looks at v tasks to find them, those that are refused among them.
  template <class Accept>
  [[nodiscard]] std::size_t peek(std::span<TaskId> next, Accept&& accept) {
    std::lock_guard const guard(mutex_);
    auto const later = [this](std::size_t a, std::size_t b) { return before(heap_[b], heap_[a]); };
    std::size_t count = 0;
    reached_.clear();
    try {
      for (std::size_t i = 0; count < next.size() && i < heap_.size();) {
        if (accept(heap_[i].task)) {
          next[count++] = heap_[i].task;
        }
        for (auto child = 2 * i + 1; child < std::min(2 * i + 3, heap_.size()); ++child) {
          reached_.push_back(child);
          std::push_heap(reached_.begin(), reached_.end(), later);
        }
        if (reached_.empty()) {
          break;
        }
        std::pop_heap(reached_.begin(), reached_.end(), later);
        i = reached_.pop_back();
      }
    } catch (std::bad_alloc const&) { // what it has found is right
    }
    return count;
  }

  /// The task that would come last of those accepted, or none. O(Q).
  template <class Accept>
  [[nodiscard]] TaskId last(Accept&& accept) {
    return first_by([](Entry const& a, Entry const& b) { return before(b, a); }, accept);
  }

  /// The accepted task with the least `key(task)`, the first among equals, or none. O(Q).
  template <class Key, class Accept>
  [[nodiscard]] TaskId least(Key const& key, Accept&& accept) {
    return first_by(
        [&key](Entry const& a, Entry const& b) {
          auto const of_a = key(a.task);
          auto const of_b = key(b.task);
          return of_a != of_b ? of_a < of_b : before(a, b);
        },
        accept);
  }

  /// relaxed, like its stores under the lock: a hint, from one moment or another.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

private:
  struct Entry {
    TaskId task;
    std::int32_t priority;
    std::uint64_t arrival;
  };

  static bool before(Entry const& a, Entry const& b) noexcept {
    return a.priority != b.priority ? a.priority > b.priority : a.arrival < b.arrival;
  }

  template <class Earlier, class Accept>
  TaskId first_by(Earlier const& earlier, Accept& accept) {
    std::lock_guard const guard(mutex_);
    Entry const* best = nullptr;
    for (auto const& entry : heap_) {
      if (accept(entry.task) && (best == nullptr || earlier(entry, *best))) {
        best = &entry;
      }
    }
    return best != nullptr ? best->task : no_task;
  }

  /// Position of the first accepted entry in the heap's order, without the top; 0 if there is none.
  template <class Accept>
  std::size_t best_beyond_first(Accept& accept) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < heap_.size(); ++i) {
      if ((best == 0 || before(heap_[i], heap_[best])) && accept(heap_[i].task)) {
        best = i;
      }
    }
    return best;
  }

  /// Removes the entry at `i`. The last entry takes its place and moves to where it belongs.
  TaskId take(std::size_t i) noexcept {
    auto const task = heap_[i].task;
    auto const last = heap_.pop_back();
    size_.store(heap_.size(), std::memory_order_relaxed);
    if (i < heap_.size()) {
      heap_[i] = last;
      rise(i);
      sink(i);
    }
    return task;
  }

  void rise(std::size_t i) noexcept {
    auto const entry = heap_[i];
    for (; i > 0 && before(entry, heap_[(i - 1) / 2]); i = (i - 1) / 2) {
      heap_[i] = heap_[(i - 1) / 2];
    }
    heap_[i] = entry;
  }

  void sink(std::size_t i) noexcept {
    auto const entry = heap_[i];
    for (auto child = 2 * i + 1; child < heap_.size(); child = 2 * i + 1) {
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) {
        ++child;
      }
      if (!before(heap_[child], entry)) {
        break;
      }
      heap_[i] = heap_[child];
      i = child;
    }
    heap_[i] = entry;
  }

  detail::Mutex mutex_;
  detail::Array<Entry> heap_;
  detail::Array<std::size_t>
      reached_; // in a peek: a heap of the places that may follow those looked at
  std::uint64_t pushed_ = 0;
  detail::Atomic<std::size_t> size_{0}; // of the heap, for threads that do not hold the lock
};

static_assert(priority_queue<PriorityHeap> && peekable_queue<PriorityHeap>);
static_assert(sized_queue<PriorityHeap>);

} // namespace hetsched::policies
