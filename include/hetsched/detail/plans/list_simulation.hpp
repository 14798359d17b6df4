// SPDX-License-Identifier: MIT
#pragma once
// What simulations of list scheduling are made of: ready tasks, running tasks, open dependencies.

#include <hetsched/core/types.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hetsched::detail {

/// What a task takes on each class of worker, in ns; `never_ends` where it cannot run.
using ArchTimes = std::array<std::int64_t, max_archs>;

inline constexpr auto never_ends = std::numeric_limits<std::int64_t>::max();

/// The tasks that each task of a graph depends on, in the order of their numbers.
class Predecessors {
public:
  Predecessors() = default;

  explicit Predecessors(TaskGraph const& graph) : first_(graph.size() + 1) {
    for (std::size_t v = 0; v < graph.size(); ++v) {
      first_[v + 1] = first_[v] + graph.predecessor_count(v);
    }
    tasks_.resize(first_.back());
    auto next = first_;
    for (std::uint32_t u = 0; u < graph.size(); ++u) {
      for (auto const v : graph.successors(u)) {
        tasks_[next[v]++] = u;
      }
    }
  }

  [[nodiscard]] std::span<std::uint32_t const> operator[](std::size_t task) const noexcept {
    return std::span(tasks_).subspan(first_[task], first_[task + 1] - first_[task]);
  }

private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> tasks_;
};

/// How many of the tasks that each task depends on have not ended.
class OpenDependencies {
public:
  /// Of `tasks` tasks that depend on `count(task)` each.
  template <class Count>
  void reset(std::size_t tasks, Count const& count) {
    counts_.resize(tasks);
    for (std::size_t v = 0; v < tasks; ++v) {
      counts_[v] = static_cast<std::uint32_t>(count(static_cast<std::uint32_t>(v)));
    }
  }

  /// Of a graph's tasks, none of which has ended.
  void reset(TaskGraph const& graph) {
    reset(graph.size(), [&](std::uint32_t v) { return graph.predecessor_count(v); });
  }

  /// Calls `ready(task)` for each task that depends on nothing now, by number.
  template <class Ready>
  void for_each_ready(Ready const& ready) const {
    for (std::uint32_t v = 0; v < counts_.size(); ++v) {
      if (counts_[v] == 0) {
        ready(v);
      }
    }
  }

  /// A task has ended that these depend on. Calls `ready(task)` for each that depends on nothing
  /// now.
  template <class Ready>
  void close(std::span<std::uint32_t const> successors, Ready const& ready) {
    for (auto const v : successors) {
      if (--counts_[v] == 0) {
        ready(v);
      }
    }
  }

private:
  std::vector<std::uint32_t> counts_;
};

/// Tasks that are ready: the highest rank goes first, and the least Task among equals.
template <class Task = std::uint32_t>
class ReadyTasks {
public:
  struct Entry {
    std::int64_t rank;
    Task task;

    friend bool operator<(Entry const& a, Entry const& b) noexcept {
      return a.rank != b.rank ? a.rank < b.rank : b.task < a.task;
    }
  };

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }

  void clear() noexcept { heap_.clear(); }

  void push(std::int64_t rank, Task task) {
    heap_.push_back({rank, task});
    std::push_heap(heap_.begin(), heap_.end());
  }

  Task pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    auto const task = heap_.back().task;
    heap_.pop_back();
    return task;
  }

  /// Takes out one for which `is(task)`, wherever it is. False if there is none. O(n).
  template <class Is>
  bool take(Is const& is, Task& taken) {
    auto const found = std::find_if(
        heap_.begin(), heap_.end(), [&](Entry const& entry) { return is(entry.task); });
    if (found == heap_.end()) {
      return false;
    }
    taken = found->task;
    heap_.erase(found);
    std::make_heap(heap_.begin(), heap_.end());
    return true;
  }

private:
  std::vector<Entry> heap_;
};

/// Tasks that run, and the loop through the moments at which they end.
class RunningTasks {
public:
  /// Of what ends at one moment, the lowest `order` is told first.
  struct Run {
    std::int64_t end;
    std::uint32_t order;
    std::uint32_t place; // where it runs

    friend bool operator<(Run const& a, Run const& b) noexcept { // of a heap: the first is greatest
      return a.end != b.end ? a.end > b.end : a.order > b.order;
    }
  };

  void clear() noexcept { heap_.clear(); }

  void push(Run const& run) {
    heap_.push_back(run);
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Ends what is over at `now`, then lets workers begin tasks: `ended(run, now)` of each, and
  /// `begin(now)`. Either answers whether to go on.
  template <class Ended, class Begin>
  bool step(std::int64_t now, Ended& ended, Begin& begin) {
    over_.clear(); // what `ended` begins at once has its turn in the next step
    while (!heap_.empty() && heap_.front().end <= now) {
      std::pop_heap(heap_.begin(), heap_.end());
      over_.push_back(heap_.back());
      heap_.pop_back();
    }
    for (auto const& run : over_) {
      if (!ended(run, now)) {
        return false;
      }
    }
    return begin(now);
  }

  /// Steps from end to end, until nothing runs or a call says to stop. When that was.
  template <class Ended, class Begin>
  std::int64_t go_on(std::int64_t now, Ended ended, Begin begin) {
    while (!heap_.empty()) {
      now = heap_.front().end;
      if (!step(now, ended, begin)) {
        break;
      }
    }
    return now;
  }

private:
  std::vector<Run> heap_;
  std::vector<Run> over_;
};

} // namespace hetsched::detail
