// SPDX-License-Identifier: MIT
#pragma once
// The machines and tasks of the conformance kit for schedulers.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/testing/findings.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

/// The workers of a scenario.
struct Machine {
  std::string name;
  std::vector<Arch> archs;
};

/// The kit's knowledge of one task. Threads that push and threads that take write different fields.
/// Both kinds are read together only when one thread is left.
struct Entry {
  ScriptedTask task;
  std::atomic<bool> pushed{false}; // set before the hook is called
  std::atomic<bool> taken{false};
  // of the push; stamps count hook calls, over all threads
  WorkerId from;
  Wake wake = Wake::none();
  std::uint64_t push_begin = 0;
  std::uint64_t push_end = 0;
  // of the poll that took it
  WorkerId taker;
  bool stolen = false;
  std::uint64_t take_begin = 0;
  std::uint64_t take_end = 0;
  TaskId outer; // the task in whose body the taker waits
};

/// Whether a scheduler of this scope promises `a` before `b` to pops of the worker. The push of a
/// task shows its queue: tasks of one pusher with the same classes and the same Wake share a queue.
/// It is that of the worker that the Wake names, or else the pusher's own.
[[nodiscard]] inline bool
precedes(PriorityScope scope, Entry const& a, Entry const& b, WorkerId worker) noexcept {
  if (scope == PriorityScope::none) {
    return false;
  }
  if (scope == PriorityScope::per_queue) {
    auto const owner = a.wake.target() ? a.wake.target() : a.from;
    if (a.from != b.from || !(a.wake == b.wake) || a.task.archs != b.task.archs ||
        owner != worker) {
      return false;
    }
  }
  return a.task.priority > b.task.priority ||
         (a.task.priority == b.task.priority && a.push_end < b.push_begin);
}

/// Of a graph whose tasks no model knows.
[[nodiscard]] inline std::vector<ExpectedTimes> unknown_times(TaskGraph const& graph) {
  std::vector<ExpectedTimes> times;
  for (auto const& node : graph.nodes()) {
    times.push_back({node.archs, {}});
  }
  return times;
}

/// The tasks of a scenario. With threads, everything but `add` may be called from any.
class Ledger {
public:
  explicit Ledger(ScriptedContext& context) noexcept : context_(context) {}

  TaskId add(ScriptedTask task) {
    entries_.emplace_back().task = task;
    return context_.add(std::move(task));
  }

  [[nodiscard]] Entry& operator[](TaskId task) { return entries_[number(task)]; }

  /// Null for an id that was not pushed.
  [[nodiscard]] Entry* pushed(TaskId task) {
    auto const number = context_.number(task);
    return number && entries_[*number].pushed.load() ? &entries_[*number] : nullptr;
  }

  /// From 0, in the order in which they were added.
  [[nodiscard]] std::size_t number(TaskId task) const { return *context_.number(task); }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  [[nodiscard]] Entry const& at(std::size_t number) const noexcept { return entries_[number]; }

  /// The first task that was pushed and has not come out.
  [[nodiscard]] TaskId first_pending() const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].pushed.load() && !entries_[i].taken.load()) {
        return context_.task_id(i);
      }
    }
    return no_task;
  }

  /// "task 3 (priority 2, classes 1, pushed by worker 0)"
  [[nodiscard]] std::string describe(TaskId task) const {
    auto const& entry = entries_[number(task)];
    return "task " + std::to_string(number(task)) + " (priority " +
           std::to_string(entry.task.priority) + ", classes " +
           std::to_string(entry.task.archs.bits) + ", pushed by " + describe(entry.from) + ")";
  }

  [[nodiscard]] static std::string describe(WorkerId worker) {
    return worker ? "worker " + std::to_string(worker.value) : "an outside thread";
  }

private:
  ScriptedContext& context_;
  std::deque<Entry> entries_; // entries stay where they are
};

} // namespace hetsched::testing::detail
