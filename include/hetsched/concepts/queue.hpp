// SPDX-License-Identifier: MIT
#pragma once
// The contract of the containers that schedulers take as template parameters.

#include <hetsched/core/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched {

/// A predicate that accepts every task. It stands for any predicate in the concepts below.
struct AnyTask {
  bool operator()(TaskId) const noexcept { return true; }
};

/// A container of ready tasks. Any thread may call any operation at any time, unless the queue says
/// otherwise (see `owned_queue`).
///
/// push(task, priority)  Adds the task. Throws only std::bad_alloc, and then has not added it. No
///   other operation throws.
/// pop(accept)  Removes and returns the first task in the queue's order that `accept(task)` allows,
///   or `no_task`. `accept` must not block. The queue may ask it about a task that another thread
///   is taking. A queue may give up when the first task is refused only if it declares
///   `static constexpr bool gives_up_at_refusal = true`.
///
/// Visibility: consider a poll (pop or steal) that begins after a push has returned. The poll finds
/// the task, or a queue that others have emptied, in one order on which all threads agree. To
/// achieve this, publish and look through a lock, or by sequentially consistent operations. The
/// engine's sleep protocol relies on it.
template <class Q>
concept task_queue =
    std::default_initializable<Q> && requires(Q& queue, TaskId task, std::int32_t priority) {
      { queue.push(task, priority) } -> std::same_as<void>;
      { queue.pop(AnyTask{}) } -> std::same_as<TaskId>;
    };

/// A queue with an owner. One thread at a time calls push and pop: the worker that owns the queue.
/// Any thread may call `steal(accept)` at any time. It takes from the other end, if there are two.
template <class Q>
concept owned_queue = task_queue<Q> && requires(Q& queue) {
  { queue.steal(AnyTask{}) } -> std::same_as<TaskId>;
};

/// A queue whose pop returns higher priorities first, and equal ones in the order of their pushes.
template <class Q>
concept priority_queue = task_queue<Q> && Q::ordered_by_priority;

/// A queue that knows how many tasks it holds. The number is exact while no thread uses the queue.
/// Otherwise it is that of some recent moment: a hint that orders nothing. Any thread, O(1).
template <class Q>
concept sized_queue = task_queue<Q> && requires(Q const& queue) {
  { queue.size() } noexcept -> std::same_as<std::size_t>;
};

/// A queue that can say what pop will return. `peek(next, accept)` writes what next.size() calls of
/// pop(accept), one after the other, would return, up to the first no_task, and returns their
/// number. It answers fewer only if it has no memory to look further. It removes nothing and leaves
/// the order as it is. Whoever may call pop may call it. While other threads use the queue, its
/// answer is that of some recent moment: a task may have been taken already.
template <class Q>
concept peekable_queue = task_queue<Q> && requires(Q& queue, std::span<TaskId> next) {
  { queue.peek(next, AnyTask{}) } -> std::same_as<std::size_t>;
};

/// Whether a refused task may hide the tasks behind it.
template <class Q>
inline constexpr bool gives_up_at_refusal = [] {
  if constexpr (requires { Q::gives_up_at_refusal; }) {
    return static_cast<bool>(Q::gives_up_at_refusal);
  } else {
    return false;
  }
}();

} // namespace hetsched
