// SPDX-License-Identifier: MIT
#pragma once
// A solver for independent tasks whose type is not known to who calls it.

#include <hetsched/independent/independent_tasks.hpp>

#include <cstdint>
#include <span>

namespace hetsched::detail {

/// The knobs that solvers have in common, and one of them.
struct AnySolver {
  double tolerance = 0;
  std::int64_t most_states = 0; // where the solver has such a limit
  BatchSchedule (*solve)(AnySolver const&, std::span<TaskTimes const>, TwoClasses) = nullptr;

  [[nodiscard]] BatchSchedule operator()(std::span<TaskTimes const> tasks,
                                         TwoClasses machine) const {
    return solve(*this, tasks, machine);
  }
};

template <class Solver>
[[nodiscard]] BatchSchedule
solve_by(AnySolver const& knobs, std::span<TaskTimes const> tasks, TwoClasses machine) {
  Solver solver;
  solver.tolerance = knobs.tolerance;
  if constexpr (requires { solver.most_states; }) {
    solver.most_states = knobs.most_states;
  }
  return solver(tasks, machine);
}

} // namespace hetsched::detail
