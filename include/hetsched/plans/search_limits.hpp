// SPDX-License-Identifier: MIT
#pragma once
// What searches for plans may spend, and what they answer.

#include <hetsched/core/time.hpp>
#include <hetsched/plans/static_plan.hpp>

#include <cstdint>

namespace hetsched {

/// What search_plan or solve_plan may spend. At least one limit is not 0.
struct SearchLimits {
  double seconds = 10; // of real time; 0: no limit
  /// Of schedules, nodes; 0: no limit. If it is the only one, the plan is always the same.
  std::uint64_t evaluations = 0;
  Duration enough; // ends when the makespan is no longer, such as a lower bound
  std::uint64_t seed = 1;
};

/// A plan, and what is known of all.
struct SolvedPlan {
  StaticPlan plan;
  Duration bound; // no plan is shorter

  /// No plan is shorter than this one.
  [[nodiscard]] bool proved() const noexcept { return plan.makespan <= bound; }
};

} // namespace hetsched
