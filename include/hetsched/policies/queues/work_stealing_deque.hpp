// SPDX-License-Identifier: MIT
#pragma once
// The lock-free deque of a work-stealing worker.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::policies {

/// Decides: last in, first out for the owner; first in, first out for thieves.
/// Source: Chase and Lev, Dynamic circular work-stealing deque, SPAA 2005. Here without fences, by
///   sequentially consistent accesses, because ThreadSanitizer does not model fences.
/// Cost: push and pop O(1), one locked instruction each; steal O(1), a compare-and-swap; peek O(1)
///   for each task that it answers. Doubling is amortised. Outgrown rings are kept until
///   destruction, because thieves may be reading them.
/// Needs: nothing of the context.
/// Threading: push, pop and peek by the owner only, steal by any thread; lock-free.
/// Deterministic: yes, for one thread.
/// Knobs: none.
/// Limits: ignores priorities; pop and steal look at one task and give up if it is refused.
class WorkStealingDeque {
public:
  static constexpr bool ordered_by_priority = false;
  static constexpr bool gives_up_at_refusal = true;

  /// Not by a default member initializer: there g++ 12 forgets to free what `new` has taken if the
  /// constructor of Ring throws.
  WorkStealingDeque() : ring_(new Ring(256, nullptr)) {}

  WorkStealingDeque(WorkStealingDeque const&) = delete;
  WorkStealingDeque& operator=(WorkStealingDeque const&) = delete;

  ~WorkStealingDeque() {
    auto* ring = ring_.load(std::memory_order_relaxed);
    while (ring != nullptr) {
      auto* const smaller = ring->smaller;
      delete ring;
      ring = smaller;
    }
  }

  [[gnu::always_inline]] void push(TaskId task, std::int32_t /*priority*/) {
    auto const bottom = bottom_.load(std::memory_order_relaxed); // own variable
    auto const top = top_.load(std::memory_order_acquire);       // pairs with a thief's exchange
    auto* ring = ring_.load(std::memory_order_relaxed);          // own variable
    if (bottom - top >= static_cast<std::int64_t>(ring->slots.size())) {
      ring = grow(top, bottom);
    }
    ring->slot(bottom).store(task.value, std::memory_order_relaxed);
    // Release publishes the slot and the task to thieves. seq_cst orders this store before the
    // engine's look at sleeping workers (concepts/queue.hpp, visibility).
    bottom_.store(bottom + 1, std::memory_order_seq_cst);
  }

  template <class Accept>
  [[nodiscard]] TaskId pop(Accept&& accept) {
    auto const last = bottom_.load(std::memory_order_relaxed) - 1;
    if (top_.load(std::memory_order_seq_cst) > last) { // top only grows: empty for certain
      return no_task;
    }
    auto* const ring = ring_.load(std::memory_order_relaxed);
    TaskId const task{ring->slot(last).load(std::memory_order_relaxed)};
    if (!accept(task)) {
      return no_task;
    }
    bottom_.store(last, std::memory_order_seq_cst); // before the look at top: both are seq_cst
    auto top = top_.load(std::memory_order_seq_cst);
    if (top < last) {
      return task;
    }
    bool const won =
        top == last && top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
    bottom_.store(last + 1, std::memory_order_relaxed);
    return won ? task : no_task;
  }

  template <class Accept>
  [[nodiscard]] TaskId steal(Accept&& accept) {
    for (;;) {
      auto top = top_.load(std::memory_order_seq_cst);
      auto const bottom = bottom_.load(std::memory_order_seq_cst);
      if (bottom <= top) {
        return no_task;
      }
      auto* const ring = ring_.load(std::memory_order_acquire); // pairs with grow
      TaskId const task{ring->slot(top).load(std::memory_order_relaxed)};
      if (!accept(task)) {
        return no_task;
      }
      if (top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst)) {
        contested_.store(bottom != seen_bottom_.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
        seen_bottom_.store(bottom, std::memory_order_relaxed);
        return task;
      }
    }
  }

  /// By the owner only. It looks at its own end, so nothing that it reads but `top_` is ever
  /// written by another thread, and relaxed loads are enough: of bottom_, ring_ and slots it sees
  /// its own last stores. An old top_ makes the answer longer than it should be, by tasks that
  /// thieves have taken; so does a theft right after the look. But it is no older than what the
  /// owner's last push read, which kept all slots from there on, so each slot that is read here has
  /// its task still.
  template <class Accept>
  [[nodiscard]] std::size_t peek(std::span<TaskId> next, Accept&& accept) {
    auto const top = top_.load(std::memory_order_relaxed);
    auto const bottom = bottom_.load(std::memory_order_relaxed);
    auto* const ring = ring_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    for (auto i = bottom; i > top && count < next.size(); --i) {
      TaskId const task{ring->slot(i - 1).load(std::memory_order_relaxed)};
      if (!accept(task)) {
        break;
      }
      next[count++] = task;
    }
    return count;
  }

  /// Whether the owner pushed or popped between the last two thefts. A hint.
  [[nodiscard]] bool contested() const noexcept {
    return contested_.load(std::memory_order_relaxed);
  }

  /// relaxed: a hint, from two moments. The thieves' end may have passed the owner's end that is
  /// seen here, and a pop in progress may count or not. pop and steal look again.
  [[nodiscard]] std::size_t size() const noexcept {
    auto const top = top_.load(std::memory_order_relaxed);
    auto const bottom = bottom_.load(std::memory_order_relaxed);
    return bottom <= top ? 0 : static_cast<std::size_t>(bottom - top);
  }

private:
  /// 2^k slots, used cyclically. Rings that thieves may still read stay reachable by `smaller`.
  struct Ring {
    Ring(std::size_t size, Ring* outgrown) : slots(size), smaller(outgrown) {}

    [[nodiscard]] detail::Atomic<std::uint64_t>& slot(std::int64_t i) const noexcept {
      return slots[static_cast<std::size_t>(i) & (slots.size() - 1)];
    }

    detail::FixedArray<detail::Atomic<std::uint64_t>> slots;
    Ring* smaller;
  };

  [[gnu::noinline]] Ring* grow(std::int64_t top, std::int64_t bottom) {
    auto* const full = ring_.load(std::memory_order_relaxed);
    auto* const larger = new Ring(2 * full->slots.size(), full);
    for (auto i = top; i < bottom; ++i) {
      larger->slot(i).store(full->slot(i).load(std::memory_order_relaxed),
                            std::memory_order_relaxed);
    }
    ring_.store(larger, std::memory_order_release); // pairs with steal's acquire
    return larger;
  }

  alignas(64) detail::Atomic<std::int64_t> top_{0};
  // Notes of the thieves, on the cache line that a theft writes anyway.
  detail::Atomic<std::int64_t> seen_bottom_{0};
  detail::Atomic<bool> contested_{false};
  alignas(64) detail::Atomic<std::int64_t> bottom_{0};
  detail::Atomic<Ring*> ring_;
};

static_assert(owned_queue<WorkStealingDeque> && peekable_queue<WorkStealingDeque>);
static_assert(sized_queue<WorkStealingDeque>);

} // namespace hetsched::policies
