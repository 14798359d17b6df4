// SPDX-License-Identifier: MIT
#pragma once
// A task of a batch that a solver places, and a worker that could get it.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/policies/times_by_class.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace hetsched::detail {

/// A ready task, and what was decided for it.
struct BatchTask {
  TaskId task;
  std::size_t number; // among those given
  TaskTimes times;
  WorkerId worker; // that it was given to
  bool on_gpu;

  [[nodiscard]] Duration length() const noexcept { return on_gpu ? times.gpu : times.cpu; }
};

/// Of the task's data, on a node.
[[nodiscard]] inline std::size_t valid_bytes(TaskView const& task, NodeId node) {
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < task.arguments; ++k) {
    auto const argument = task.argument(k);
    bytes += argument.valid_at(node) ? argument.bytes : 0;
  }
  return bytes;
}

/// A worker that a task could go to.
struct Candidate {
  WorkerId worker;
  bool can;          // run it now
  bool early;        // it would end soon enough there
  std::size_t bytes; // of its data are there
  Instant free;      // when the worker is

  /// Who can run it now, then who would end it soon enough. Among these the one with the most of
  /// its data, among others the one that is free first.
  [[nodiscard]] bool is_better_than(Candidate const& other) const noexcept {
    if (can != other.can || early != other.early) {
      return can != other.can ? can : early;
    }
    return early && bytes != other.bytes ? bytes > other.bytes
           : free != other.free          ? free < other.free
                                         : bytes > other.bytes;
  }
};

/// A task's times; nothing if some class that could run it has no time for it.
template <context Ctx>
[[nodiscard]] std::optional<TaskTimes> batch_times(Ctx const& ctx, TaskId task) {
  TaskTimes times{TaskTimes::never, TaskTimes::never};
  bool const known = for_each_class(ctx, task, [&](Arch arch, Duration time) {
    auto& longest = arch == ArchHost ? times.cpu : times.gpu;
    longest = std::max(longest, time);
  });
  return known ? std::optional(times) : std::nullopt;
}

/// The solver, for sets that are solved again and again.
template <class Solver>
[[nodiscard]] Solver coarse() {
  Solver solver;
  if constexpr (requires { solver.tolerance; }) {
    solver.tolerance = 1e-3;
  }
  if constexpr (requires { solver.most_states; }) {
    solver.most_states = std::int64_t{1} << 22;
  }
  return solver;
}

} // namespace hetsched::detail
