// SPDX-License-Identifier: MIT
#pragma once
// A search for a short schedule of a known graph whose data have to move.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/lookahead/ranked_plan_simulation.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/plans/annealing.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The steps of a schedule that was simulated.
[[nodiscard]] inline StaticPlan
plan_of(SimulatedSchedule const& schedule, TaskGraph const& graph, Platform const& platform) {
  auto plan = empty_plan(graph, platform);
  std::vector<TimedStep> steps;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    steps.push_back(timed_step(schedule.begin[v], v, schedule.worker[v].index()));
  }
  plan.steps = steps_by_begin(std::move(steps));
  plan.makespan = {schedule.makespan};
  return plan;
}

/// The plan by whose order and places a StaticPlan goes.
[[nodiscard]] inline RankedPlan ranked_plan(StaticPlan const& plan) {
  PlanSides const sides(plan.workers, true);
  RankedPlan ranked;
  ranked.side.resize(plan.tasks);
  ranked.rank.resize(plan.tasks);
  ranked.worker.resize(plan.tasks);
  auto rank = static_cast<std::int64_t>(plan.tasks);
  for (auto const& [task, worker] : plan.steps) {
    ranked.side[task] = sides.of_worker[worker.index()];
    ranked.rank[task] = rank--;
    ranked.worker[task] = worker;
  }
  return ranked;
}

/// The best of the candidates' schedules, improved by search_plan, which tries as many schedules as
/// there are in `effort` tasks. `follow(ranked)` simulates a RankedPlan, transfers included, and
/// answers its SimulatedSchedule. Fills what the plan says, but not what it is for.
template <class Follow>
void find_placed_plan(TaskGraph const& graph,
                      Simulation const& simulation,
                      std::span<SimulatedSchedule const> candidates,
                      std::uint64_t effort,
                      std::uint64_t seed,
                      Follow const& follow,
                      LookaheadPlan& found) {
  auto const best =
      std::min_element(candidates.begin(), candidates.end(), [](auto const& a, auto const& b) {
        return a.makespan < b.makespan;
      });
  auto const& platform = simulation.platform;
  auto const times =
      class_times(graph, platform, simulation.algorithm, simulation.precision, simulation.tile, {});
  SearchLimits limits;
  limits.seconds = 0;
  limits.evaluations = 1 + effort / std::max<std::size_t>(1, graph.size());
  limits.seed = seed;
  PlannedTransfers const transfers{simulation.transfers, [&](StaticPlan const& steps) {
                                     return Duration{follow(ranked_plan(steps)).makespan};
                                   }};
  auto const start = plan_of(*best, graph, platform);
  found.plan = ranked_plan(search_plan(graph, platform, times, start, limits, transfers));
  auto followed = follow(found.plan);
  found.makespan = followed.makespan;
  found.ends = std::move(followed.end);
}

} // namespace hetsched::detail
