// SPDX-License-Identifier: MIT
#pragma once
// Task groups: a set of tasks to wait for or to cancel, across the graph.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/dataflow/failures.hpp>

namespace hetsched {

/// Tasks spawned with the attribute `in(group)`. `Runtime::sync(group)` waits for them and rethrows
/// the first exception among them. Thread-safe except for construction and destruction.
///
/// The destructor waits. A failure that no sync has rethrown then goes to the runtime's next
/// `sync()`. A group may outlive its runtime, whose destructor has then waited; the failure is told
/// on stderr. Captured tasks do not keep their group: without it the graph cannot be run.
class TaskGroup {
public:
  template <class Runtime>
  explicit TaskGroup(Runtime& runtime) : state_(runtime.new_group()), end_(&Runtime::end_group) {}

  TaskGroup(TaskGroup const&) = delete;
  TaskGroup& operator=(TaskGroup const&) = delete;

  ~TaskGroup() { end_(*state_); }

  /// Skips the tasks of the group that have not begun: their bodies do not run, and their data keep
  /// their values. Tasks outside the group that depend on them see those values. Running bodies go
  /// on, and may ask `is_cancelled()`. The group stays cancelled for later spawns into it.
  void cancel() noexcept { state_->cancelled.store(true, std::memory_order_relaxed); }

  [[nodiscard]] bool is_cancelled() const noexcept {
    return state_->cancelled.load(std::memory_order_relaxed);
  }

  /// For the library.
  [[nodiscard]] detail::GroupState& state() noexcept { return *state_; }

private:
  detail::GroupState* state_;
  void (*end_)(detail::GroupState&);
};

/// Spawn attribute: the task belongs to the group.
[[nodiscard]] inline GroupAttribute in(TaskGroup& group) noexcept {
  return {&group.state()};
}

} // namespace hetsched
