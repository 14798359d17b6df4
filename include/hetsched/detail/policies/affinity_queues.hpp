// SPDX-License-Identifier: MIT
#pragma once
// A queue of ready tasks for each type, from which tasks are taken by priority from either end.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/policies/affinity_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Not thread-safe. Types are numbered as in AffinityTypes.
class AffinityQueues {
public:
  /// The highest priority first, then the oldest.
  struct Entry {
    std::int32_t priority;
    std::int64_t number;
    TaskId task;

    friend bool operator<(Entry const& a, Entry const& b) noexcept {
      return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
    }
  };

  void push(std::size_t type, std::int32_t priority, TaskId task) {
    if (type >= queues_.size()) {
      queues_.resize(type + 1);
    }
    queues_[type].insert({priority, ++pushed_, task});
  }

  /// Takes the first accepted task of a group's queues, treated as one queue.
  template <class Accept>
  TaskId take(AffinityPlan::Group const& group, Accept const& accept) {
    auto const best = find(group, accept);
    if (!best) {
      return no_task;
    }
    auto const task = best->entry->task;
    queues_[best->type].erase(best->entry);
    return task;
  }

  /// The same task, left where it is.
  template <class Accept>
  [[nodiscard]] TaskId first(AffinityPlan::Group const& group, Accept const& accept) const {
    auto const best = find(group, accept);
    return best ? best->entry->task : no_task;
  }

  /// The same for one queue, the highest priority first.
  template <class Accept>
  TaskId take(std::size_t type, Accept const& accept) {
    auto const found = find_in(type, true, accept);
    if (!found) {
      return no_task;
    }
    auto const task = found->entry->task;
    queues_[type].erase(found->entry);
    return task;
  }

  template <class Accept>
  [[nodiscard]] TaskId first(std::size_t type, Accept const& accept) const {
    auto const found = find_in(type, true, accept);
    return found ? found->entry->task : no_task;
  }

  /// The first accepted task of any type.
  template <class Accept>
  TaskId take_any(Accept const& accept) {
    for (std::size_t type = 0; type < queues_.size(); ++type) {
      if (auto const task = take(type, accept)) {
        return task;
      }
    }
    return no_task;
  }

  /// The highest priority of an accepted task.
  template <class Accept>
  [[nodiscard]] std::optional<std::int32_t> highest(Accept const& accept) const {
    std::optional<std::int32_t> highest;
    for (std::size_t type = 0; type < queues_.size(); ++type) {
      if (auto const found = find_in(type, true, accept)) {
        highest = std::max(highest.value_or(found->entry->priority), found->entry->priority);
      }
    }
    return highest;
  }

  /// The task's entry. Returns nothing if the task is not in that queue.
  [[nodiscard]] std::optional<Entry> entry_of(std::size_t type, TaskId task) const {
    if (type >= queues_.size()) {
      return std::nullopt;
    }
    auto const& queue = queues_[type];
    auto const found = std::find_if(
        queue.begin(), queue.end(), [&](Entry const& entry) { return entry.task == task; });
    return found == queue.end() ? std::nullopt : std::optional(*found);
  }

  [[nodiscard]] bool has(std::size_t type, Entry const& entry) const {
    return queues_[type].contains(entry);
  }

  /// Erases the entry. Returns whether it was there.
  bool erase(std::size_t type, Entry const& entry) { return queues_[type].erase(entry) != 0; }

private:
  using Queue = std::set<Entry>;

  struct Place {
    std::size_t type;
    Queue::const_iterator entry;
  };

  template <class Accept>
  [[nodiscard]] std::optional<Place> find(AffinityPlan::Group const& group,
                                          Accept const& accept) const {
    std::optional<Place> best;
    for (auto const type : group.types) {
      auto const found = find_in(type, group.highest, accept);
      if (found && (!best || (group.highest ? found->entry->priority > best->entry->priority
                                            : found->entry->priority < best->entry->priority))) {
        best = found;
      }
    }
    return best;
  }

  /// The first accepted entry of a queue, from one end or the other.
  template <class Accept>
  [[nodiscard]] std::optional<Place>
  find_in(std::size_t type, bool highest, Accept const& accept) const {
    if (type >= queues_.size()) {
      return std::nullopt;
    }
    auto const& queue = queues_[type];
    auto const good = [&](Entry const& entry) { return accept(entry.task); };
    if (highest) {
      auto const found = std::find_if(queue.begin(), queue.end(), good);
      return found == queue.end() ? std::nullopt : std::optional(Place{type, found});
    }
    auto const found = std::find_if(queue.rbegin(), queue.rend(), good);
    return found == queue.rend() ? std::nullopt
                                 : std::optional(Place{type, std::prev(found.base())});
  }

  std::vector<Queue> queues_; // of each type
  std::int64_t pushed_ = 0;
};

/// The types have other numbers now: calls `push` for each task that waits in these queues. Other
/// threads may have spawned some since the runtime was idle.
template <class Push>
void push_again(AffinityQueues& queues, Push const& push) {
  auto before = std::exchange(queues, {});
  while (auto const task = before.take_any([](TaskId) { return true; })) {
    push(task);
  }
}

} // namespace hetsched::detail
