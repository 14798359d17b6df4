// SPDX-License-Identifier: MIT
#pragma once
// Static schedules by local search. The thesis uses constraint programming.

#include <hetsched/plans/static_plan.hpp>

#include "machines.hpp"

#include <cstdint>

namespace kumar2017 {

/// A schedule for the case's two classes of worker. The search begins with the best of HeteroPrio's
/// and heftp's runs, all with rank min, and HEFT's plans. Each step gives one task to the other
/// class or another turn. In three of four steps this is a task of a chain without gaps that ends
/// with the schedule. The step then makes a list schedule: each task goes to the worker of its
/// class that ends it first, gaps included. A schedule is kept if it is longer by no more than a
/// threshold, which falls to 0 four times. The search makes 60 million schedules divided by the
/// number of tasks, at most 150,000. So the same seed gives the same schedule. Cost: about 15 s for
/// 12 x 12 tiles of Cholesky.
[[nodiscard]] hs::StaticPlan searched_plan(Case const& instance, std::uint64_t seed = 1);

} // namespace kumar2017
