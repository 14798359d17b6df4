// SPDX-License-Identifier: MIT
#pragma once
// A scheduler's `peek` by the rule by which its `pop` chooses.

#include <hetsched/core/types.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace hetsched::detail {

/// Writes what one pop after the other would choose, and returns how many that are. `first(accept)`
/// answers the first task that `accept` allows, or no_task, and leaves the task where it is.
/// `accept` is the worker's. O(next.size()) calls of `first`, which asks O(next.size()) more of
/// each task.
template <class Accept, class First>
std::size_t peek_each(std::span<TaskId> next, Accept const& accept, First const& first) {
  std::size_t count = 0;
  while (count < next.size()) {
    auto const written = next.first(count);
    auto const task = first([&](TaskId other) {
      return std::find(written.begin(), written.end(), other) == written.end() && accept(other);
    });
    if (!task) {
      break;
    }
    next[count++] = task;
  }
  return count;
}

} // namespace hetsched::detail
