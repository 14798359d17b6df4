// SPDX-License-Identifier: MIT
#pragma once
// The order in which a task's data are locked.

#include <hetsched/detail/dataflow/data_registry.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace hetsched::detail {

/// The order in which queues are locked.
[[nodiscard]] inline bool before(AccessQueue const* a, AccessQueue const* b) noexcept {
  return reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b);
}

/// The distinct queues of a task in address order: the order in which they are locked.
class LockOrder {
public:
  /// For a task that other threads do not know. Duplicate parameters are folded into the first,
  /// with the stronger mode.
  explicit LockOrder(TaskRecord& task) : size_(task.access_count) {
    if (!has_few()) {
      order_many(task);
      return;
    }
    first_ = few_.data();
    for (std::size_t i = 0; i < size_; ++i) {
      few_[i] = task.accesses() + i;
    }
    if (sort_few()) [[unlikely]] {
      fold();
    }
  }

  struct Registered {};

  /// The same order again, once the task is registered. Writes nothing in the task: who registered
  /// it may still be unlocking by it. What is read was written before a queue's lock was released
  /// that the reader, or who granted the task to the reader, has held since.
  LockOrder(TaskRecord& task, Registered /*unused*/) noexcept : size_(task.access_count) {
    if (!has_few()) {
      first_ = kept(task);
      size_ = static_cast<std::size_t>(std::find(first_, first_ + size_, nullptr) - first_);
      return;
    }
    first_ = few_.data();
    size_ = 0;
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      if (!access.duplicate) {
        few_[size_++] = &access;
      }
    }
    (void)sort_few();
  }

  [[nodiscard]] Access** begin() noexcept { return first_; }

  [[nodiscard]] Access** end() noexcept { return first_ + size_; }

  [[nodiscard]] std::span<Access* const> all() const noexcept { return {first_, size_}; }

private:
  /// Where the order of a task with more than a few data is kept: up to a null pointer, or full.
  static Access** kept(TaskRecord& task) noexcept {
    return reinterpret_cast<Access**>(task.accesses() + task.access_count);
  }

  [[nodiscard]] bool has_few() const noexcept { return size_ <= few_.size(); }

  static bool precedes(Access const* a, Access const* b) noexcept {
    return a->queue != b->queue ? before(a->queue, b->queue) : a->index < b->index;
  }

  static int compare(void const* a, void const* b) noexcept {
    auto const* const left = *static_cast<Access* const*>(a);
    auto const* const right = *static_cast<Access* const*>(b);
    return left == right ? 0 : precedes(left, right) ? -1 : 1;
  }

  [[gnu::noinline]] void order_many(TaskRecord& task) {
    first_ = kept(task);
    for (std::size_t i = 0; i < size_; ++i) {
      first_[i] = task.accesses() + i;
    }
    std::qsort(static_cast<void*>(first_), size_, sizeof(Access*), compare);
    fold();
    if (size_ < task.access_count) {
      first_[size_] = nullptr;
    }
  }

  /// By insertion. Whether some queue is there more than once.
  [[nodiscard]] bool sort_few() noexcept {
    bool repeated = false;
    for (std::size_t i = 1; i < size_; ++i) {
      auto* const access = few_[i];
      auto const* const queue = access->queue;
      auto at = i;
      for (; at > 0 && before(queue, few_[at - 1]->queue); --at) {
        few_[at] = few_[at - 1];
      }
      few_[at] = access;
      repeated = repeated || (at > 0 && few_[at - 1]->queue == queue);
    }
    return repeated;
  }

  [[gnu::noinline]] void fold() {
    std::size_t last = 0;
    for (std::size_t i = 1; i < size_; ++i) {
      auto& first = *first_[last];
      auto& other = *first_[i];
      if (first.queue != other.queue) {
        first_[++last] = &other;
        continue;
      }
      other.duplicate = true;
      first.mode = stronger(first, other);
    }
    size_ = last + 1;
  }

  static AccessMode stronger(Access& a, Access& b) {
    bool const contributes = a.mode == AccessMode::reduce || b.mode == AccessMode::reduce;
    if (contributes && (a.mode != b.mode || AccessQueue::op_of(a) != AccessQueue::op_of(b))) {
      throw Error(ErrorCode::bad_access,
                  a.queue->data->describe(),
                  "given to one task both as a contribution (CW) and in another mode");
    }
    return a.mode == b.mode ? a.mode : AccessMode::read_write;
  }

  std::size_t size_;
  std::array<Access*, few_data> few_; // uninitialised: written up to size_
  Access** first_ = nullptr;          // in few_, or behind the accesses
};

} // namespace hetsched::detail
