// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on cores and GPUs, at most 4/3 as long as the shortest schedule.

#include <hetsched/detail/independent/allotment_knapsack.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <cstdint>
#include <span>

namespace hetsched {

/// The 4/3-approximation. For a guess L it asks for the least area on the m cores, W, such that
/// (mu, mu': how many tasks on cores are longer than 2/3 L, and than 1/3 L but not 2/3 L)
///   2 mu + mu' <= 2 m, and likewise on the k GPUs,
///   the area on GPUs, each task's rounded down to a multiple of L / (3 n), is at most k L,
/// and no task goes where it takes longer than L. In a schedule of length L who runs a task longer
/// than 2/3 L runs no other longer than 1/3 L, and nobody runs three of these: it is such a choice
/// with W <= m L. So if W > m L, there is none. Else longest_first() is no longer than 4/3 L:
///   Tasks longer than 2/3 L come first, each to a worker of its own. The next, up to 2/3 L, find
///   one with at most one such task: the least loaded is one, and the task ends by 4/3 L. Others,
///   p <= 1/3 L, start no later than when all others of the class, shared out evenly, are done,
///   and end by A / w + p (1 - 1 / w) on w workers with A to do. On cores A <= m L: at most 4/3 L.
///   On GPUs A <= k L + L / 3, since rounding hides less than n L / (3 n): at most
///   L + L / (3 k) + L / 3 - L / (3 k) = 4/3 L.
/// Source: Bleuse et al. 2015, sec. 3, which proves 4/3 + 1 / (3 k): it lets such a task start when
///   all of A is done, itself included. Its program has mu and mu' as two states, O(n^2 m^2 k^3).
/// Cost of a guess: O(n^2 m k^2) and as many bits, up to 12 n^2 m k^2; less where few tasks are
///   longer than 1/3 L.
struct DualApprox43 {
  double tolerance = 0;                 // of the search: ratio 4/3 (1 + tolerance)
  std::int64_t most_states = 1LL << 33; // beyond, an error: as many bits are 1 GiB

  /// Throws as heft() does, and Error(bad_input) if the tolerance is not in [0, 1] or the tasks
  /// take more than most_states.
  [[nodiscard]] BatchSchedule operator()(std::span<TaskTimes const> tasks,
                                         TwoClasses machine) const {
    detail::Batch const batch(tasks, machine);
    detail::AllotmentKnapsack const knapsack(batch, 3, true, most_states);
    return detail::search_guess(batch, 4.0 / 3, tolerance, knapsack);
  }
};

} // namespace hetsched
