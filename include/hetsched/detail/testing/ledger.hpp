// SPDX-License-Identifier: MIT
#pragma once
// The machines and tasks of the conformance kit for schedulers.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/testing/findings.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <atomic>
#include <cstdint>
#include <string>
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

} // namespace hetsched::testing::detail
