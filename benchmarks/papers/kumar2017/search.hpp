// SPDX-License-Identifier: MIT
#pragma once
// Static schedules by local search, where the thesis has constraint programming.

#include <hetsched/plans/static_plan.hpp>

#include "machines.hpp"

#include <cstdint>

namespace kumar2017 {

/// A schedule for the case's two classes of worker. Begins with the best of HeteroPrio's and
/// heftp's runs, all with rank min, and HEFT's plans. Then it gives a task, three times of four one
/// of a chain without gaps to the end, to the other class or another turn, makes a list schedule of
/// that (each task on the worker of its class that ends it first, gaps included), and keeps what is
/// longer by no more than a threshold, which falls to 0 four times. The same for the same seed: a
/// number of schedules ends it, not a time, 60 million over the tasks and at most 150,000. Cost:
/// about 15 s for 12 x 12 tiles of Cholesky.
[[nodiscard]] hs::StaticPlan searched_plan(Case const& instance, std::uint64_t seed = 1);

} // namespace kumar2017
