// SPDX-License-Identifier: MIT
#pragma once
// The contract of the containers that schedulers take as template parameters.

#include <hetsched/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched {

/// A predicate on task ids that takes everything: stands for any in the concepts below.
struct AnyTask {
  bool operator()(TaskId) const noexcept { return true; }
};

/// A container of ready tasks. All operations may be called from any thread at any time unless the
/// queue says otherwise (see `owned_queue`).
///
/// push(task, priority): adds it. Throws std::bad_alloc only.
/// pop(accept): removes and returns the task that the queue's order puts first among those that
///   `accept(task)` allows, or `no_task`. A queue may give up at the first refused task only if it
///   says so: `static constexpr bool gives_up_at_refusal = true`. `accept` may see a task that
///   another thread is taking, and must not block.
///
/// Visibility: a poll (pop or steal) that begins after a push returned finds the task or a queue
/// emptied by others, in one order that all threads agree on. That is: publish and look through a
/// lock, or by sequentially consistent operations. The engine's sleep protocol rests on it.
template <class Q>
concept task_queue =
    std::default_initializable<Q> && requires(Q& queue, TaskId task, std::int32_t priority) {
      { queue.push(task, priority) } -> std::same_as<void>;
      { queue.pop(AnyTask{}) } -> std::same_as<TaskId>;
    };

/// A queue with an owner: push and pop are called by one thread at a time (the worker that owns
/// it), `steal(accept)` by any, at any time, taking from the other end where there are two.
template <class Q>
concept owned_queue = task_queue<Q> && requires(Q& queue) {
  { queue.steal(AnyTask{}) } -> std::same_as<TaskId>;
};

/// A queue that yields higher priorities first, first come first served among equals.
template <class Q>
concept priority_queue = task_queue<Q> && Q::ordered_by_priority;

/// A queue that tells how many tasks it holds: exact while nobody uses it, else of some time of
/// late, a hint that orders nothing. From any thread, O(1).
template <class Q>
concept sized_queue = task_queue<Q> && requires(Q const& queue) {
  { queue.size() } noexcept -> std::same_as<std::size_t>;
};

/// A queue that can tell what pop will answer, if it may: `peek(next)` writes the first tasks in
/// its order, at most next.size(), and answers how many. O(next.size()^2).
template <class Q>
concept peekable_queue = task_queue<Q> && requires(Q& queue, std::span<TaskId> next) {
  { queue.peek(next) } -> std::same_as<std::size_t>;
};

/// Whether a refused task may hide those behind it.
template <class Q>
inline constexpr bool gives_up_at_refusal = [] {
  if constexpr (requires { Q::gives_up_at_refusal; }) {
    return static_cast<bool>(Q::gives_up_at_refusal);
  } else {
    return false;
  }
}();

} // namespace hetsched
