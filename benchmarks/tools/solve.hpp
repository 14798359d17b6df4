// SPDX-License-Identifier: MIT
#pragma once
// hs::solve_plan, compiled apart: Gecode's headers take long.

#include <hetsched/plans/annealing.hpp>

namespace benchmarks {

namespace hs = hetsched;

/// Only there in programs with solve.cpp, which needs Gecode.
[[nodiscard]] hs::SolvedPlan solve(hs::TaskGraph const& graph,
                                   hs::Platform const& platform,
                                   hs::ClassTimes const& times,
                                   hs::StaticPlan const& start,
                                   hs::SearchLimits const& limits);

} // namespace benchmarks
