// SPDX-License-Identifier: MIT
#pragma once
// A scheduler's `peek` by the rule by which its `pop` chooses, and `pop` by the same.

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

/// The same for a container of entries that have a `task`. `find(accept)` answers the place of the
/// first that `accept` allows, or the end.
template <class Entries, class Accept, class Find>
std::size_t peek_entries(std::span<TaskId> next,
                         Entries const& entries,
                         Accept const& accept,
                         Find const& find) {
  return peek_each(next, accept, [&](auto const& allowed) {
    auto const found = find(allowed);
    return found == entries.end() ? no_task : found->task;
  });
}

/// Takes the entry at that place out, and returns its task; no_task at the end.
template <class Entries>
TaskId take_entry(Entries& entries, typename Entries::const_iterator place) {
  if (place == entries.end()) {
    return no_task;
  }
  auto const task = place->task;
  entries.erase(place);
  return task;
}

} // namespace hetsched::detail
