// SPDX-License-Identifier: MIT
#pragma once
// Values of tasks that come and go.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A hash table by task, with open addressing, which keeps its memory. Tasks that are neighbours in
/// memory, as those spawned one after the other often are, are neighbours in it, too. For one
/// thread at a time. Its order cannot be seen. O(1) expected.
template <class Value>
class TaskTable {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The table takes no memory until it has more than `size` tasks.
  void make_room(std::size_t size) {
    while (2 * size > entries_.size()) {
      grow();
    }
  }

  /// Inserts a task that is not in the table.
  void insert(TaskId task, Value const& value) {
    make_room(size_ + 1);
    ++size_;
    place({task, value});
  }

  /// Takes out a task that is in the table.
  Value take(TaskId task) {
    auto hole = home(task);
    while (entries_[hole].task != task) {
      HETSCHED_ASSERT(entries_[hole].task, "the task is in the table");
      hole = next(hole);
    }
    auto const value = entries_[hole].value;
    --size_;
    // Entries behind the hole that are there because their own places were taken move up.
    for (auto k = next(hole); entries_[k].task; k = next(k)) {
      if (distance(home(entries_[k].task), k) >= distance(hole, k)) {
        entries_[hole] = entries_[k];
        hole = k;
      }
    }
    entries_[hole].task = no_task;
    return value;
  }

private:
  struct Entry {
    TaskId task;
    Value value;
  };

  /// Tasks are at addresses of whole cache lines; large ones have powers of two between them.
  [[nodiscard]] std::size_t home(TaskId task) const noexcept {
    auto const line = task.value / 64;
    return static_cast<std::size_t>(line ^ line >> 6U ^ line >> 12U) & (entries_.size() - 1);
  }

  [[nodiscard]] std::size_t next(std::size_t k) const noexcept {
    return (k + 1) & (entries_.size() - 1);
  }

  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return (to - from) & (entries_.size() - 1);
  }

  void place(Entry const& entry) noexcept {
    auto k = home(entry.task);
    while (entries_[k].task) {
      k = next(k);
    }
    entries_[k] = entry;
  }

  void grow() {
    std::vector<Entry> larger(entries_.empty() ? 16 : 2 * entries_.size());
    auto const before = std::exchange(entries_, std::move(larger));
    for (auto const& entry : before) {
      if (entry.task) {
        place(entry);
      }
    }
  }

  std::vector<Entry> entries_; // a power of two of them; no_task: empty
  std::size_t size_ = 0;
};

} // namespace hetsched::detail
