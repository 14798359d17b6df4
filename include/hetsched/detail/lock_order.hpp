// SPDX-License-Identifier: MIT
#pragma once
// The order in which a task's data are locked.

#include <hetsched/detail/array.hpp>
#include <hetsched/detail/data_registry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace hetsched::detail {

/// The order in which queues are locked.
[[nodiscard]] inline bool before(AccessQueue const* a, AccessQueue const* b) noexcept {
  return reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b);
}

/// The distinct queues of a task in address order: the order in which they are locked. Duplicate
/// parameters are folded into the first, with the stronger mode.
class LockOrder {
public:
  explicit LockOrder(TaskRecord& task) : size_(task.access_count) {
    auto* const accesses = task.accesses();
    if (size_ > few_.size()) {
      many_.reserve(size_);
    }
    first_ = size_ > few_.size() ? many_.begin() : few_.data();
    for (std::size_t i = 0; i < size_; ++i) {
      first_[i] = accesses + i;
    }
    if (size_ > 1) {
      sort();
      fold();
    }
  }

  [[nodiscard]] Access** begin() noexcept { return first_; }

  [[nodiscard]] Access** end() noexcept { return first_ + size_; }

private:
  static bool precedes(Access const* a, Access const* b) noexcept {
    return a->queue != b->queue ? before(a->queue, b->queue) : a->index < b->index;
  }

  static int compare(void const* a, void const* b) noexcept {
    auto const* const left = *static_cast<Access* const*>(a);
    auto const* const right = *static_cast<Access* const*>(b);
    return left == right ? 0 : precedes(left, right) ? -1 : 1;
  }

  void sort() {
    if (first_ != few_.data()) {
      std::qsort(static_cast<void*>(first_), size_, sizeof(Access*), compare);
      return;
    }
    for (std::size_t i = 1; i < size_; ++i) { // insertion: few
      auto* const access = first_[i];
      auto at = i;
      for (; at > 0 && precedes(access, first_[at - 1]); --at) {
        first_[at] = first_[at - 1];
      }
      first_[at] = access;
    }
  }

  void fold() {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < size_; ++i) {
      auto& first = *first_[kept];
      auto& other = *first_[i];
      if (first.queue != other.queue) {
        first_[++kept] = &other;
        continue;
      }
      other.duplicate = true;
      first.mode = stronger(first, other);
    }
    size_ = kept + 1;
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
  Access** first_ = nullptr;
  std::array<Access*, 12> few_{};
  Array<Access*> many_;
};

} // namespace hetsched::detail
