// SPDX-License-Identifier: MIT
#include "solve.hpp"

#include <hetsched/plans/constraint_solver.hpp>

namespace benchmarks {

hs::SolvedPlan solve(hs::TaskGraph const& graph,
                     hs::Platform const& platform,
                     hs::ClassTimes const& times,
                     hs::StaticPlan const& start,
                     hs::SearchLimits const& limits) {
  return hs::solve_plan(graph, platform, times, start, limits);
}

} // namespace benchmarks
