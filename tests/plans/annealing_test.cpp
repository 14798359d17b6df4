// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/lookahead/engine_simulator.hpp>
#include <hetsched/plans/annealing.hpp>
#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>

#include "../support/best_schedule.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace annealing_test {

constexpr std::array<std::string_view, 3> types{"Even", "Fast", "Mix"};

hs::ClassTimes times_of(hs::TaskGraph const& graph, hs::Platform const& platform) {
  return hs::class_times(graph, platform, "test", hs::Precision::double_precision, 0, "by hand");
}

hs::SearchLimits tries(std::uint64_t evaluations) {
  hs::SearchLimits limits;
  limits.seconds = 0;
  limits.evaluations = evaluations;
  return limits;
}

hs::Duration
followed(hs::StaticPlan const& plan, hs::TaskGraph const& graph, hs::Simulation const& machine) {
  using hs::policies::StaticSchedule;
  StaticSchedule::Config const config{.plan = std::make_shared<hs::StaticPlan const>(plan)};
  return {hs::EngineSimulator<>::run<StaticSchedule>(graph, machine, config).makespan};
}

TEST_SUITE_BEGIN("static schedules");

TEST_CASE("static HEFT and search: plans that take what they say, the search's no longer") {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    auto const graph = hs::layered_graph({types, seed}, 6, 7, 0.3);
    auto const platform = simulated::machine(2, 2);
    auto const times = times_of(graph, platform);
    for (auto const rank : {hs::Priorities::bottom_min, hs::Priorities::bottom_avg}) {
      auto const start = hs::heft_plan(graph, platform, times, rank);
      hs::check_plan(start, graph, start.workers);
      CHECK(followed(start, graph, simulated::on(2, 2)) == start.makespan);
      CHECK(start.makespan >= hs::critical_path(graph, hs::shortest_times(times)));
      auto const found = hs::search_plan(graph, platform, times, start, tries(1500));
      hs::check_plan(found, graph, found.workers);
      CHECK(followed(found, graph, simulated::on(2, 2)) == found.makespan);
      CHECK(found.makespan <= start.makespan);
      CHECK(found == hs::search_plan(graph, platform, times, start, tries(1500)));
      better += found.makespan < start.makespan ? 1 : 0;
    }
  }
  CHECK(better >= 5); // list scheduling is hard to beat on such
}

TEST_CASE("search: the shortest of all on small graphs") {
  int optimal = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto const graph = hs::erdos_graph({types, seed}, 7, 0.25);
    auto const platform = simulated::machine(1, 2);
    auto const times = times_of(graph, platform);
    auto const start = hs::heft_plan(graph, platform, times);
    auto const best = schedules::BestSchedule(graph, times).makespan();
    auto const found = hs::search_plan(graph, platform, times, start, tries(3000)).makespan.ns;
    CHECK(found >= best);
    optimal += found == best ? 1 : 0;
  }
  CHECK(optimal == 30);
}

TEST_CASE("search with transfers: the plan takes what it says when it is followed") {
  using Transfers = hs::Simulation::Transfers;
  constexpr std::array<std::string_view, 4> with_cores{"Even", "Fast", "Mix", "HostOnly"};
  int better = 0;
  int runs = 0;
  for (auto const transfers : {Transfers::model, Transfers::shared}) {
    for (std::uint64_t seed = 1; seed <= support::seeds(10, 3); ++seed) {
      auto const graph = hs::layered_graph({with_cores, seed, 20}, 6, 7, 0.2);
      auto machine = simulated::joined(2, 2, transfers, 8);
      if (seed % 2 == 0) {
        machine = simulated::with_memory(machine, std::size_t{256} * 10);
      }
      auto const times = times_of(graph, machine.platform);
      auto const start = hs::heft_plan(graph, machine.platform, times);
      int asked = 0;
      auto const follow = [&](hs::StaticPlan const& plan) {
        ++asked;
        hs::check_plan(plan, graph, start.workers);
        return followed(plan, graph, machine);
      };
      auto const found =
          hs::search_plan(graph, machine.platform, times, start, tries(1500), {transfers, follow});
      CHECK(found.makespan == follow(found));
      CHECK(found.makespan <= follow(start));
      CHECK(asked > 3);
      CHECK(found == hs::search_plan(
                         graph, machine.platform, times, start, tries(1500), {transfers, follow}));
      ++runs;
      better += found.makespan < follow(start) ? 1 : 0;
      auto const estimated =
          hs::search_plan(graph, machine.platform, times, start, tries(1500), {transfers});
      hs::check_plan(estimated, graph, start.workers);
      CHECK(estimated.makespan >= hs::critical_path(graph, hs::shortest_times(times)));
    }
  }
  CHECK(5 * better >= 4 * runs); // the start knows nothing of transfers
}

TEST_CASE("search with transfers: a platform must say what they take") {
  auto const graph = hs::layered_graph({types, 3}, 6, 7, 0.3);
  auto const platform = simulated::machine(2, 2);
  auto const times = times_of(graph, platform);
  auto const start = hs::heft_plan(graph, platform, times);
  CHECK_THROWS_WITH_AS(
      (void)hs::search_plan(
          graph, platform, times, start, tries(10), {.kind = hs::Simulation::Transfers::shared}),
      doctest::Contains("has no routes between its 3 memory nodes"),
      hs::Error);
}

TEST_CASE("search: ends in time, or at what is enough, and takes sensible limits only") {
  auto const graph = hs::layered_graph({types, 3}, 6, 7, 0.3);
  auto const platform = simulated::machine(2, 2);
  auto const times = times_of(graph, platform);
  auto const start = hs::heft_plan(graph, platform, times);
  auto limits = tries(0);
  CHECK_THROWS_WITH_AS((void)hs::search_plan(graph, platform, times, start, limits),
                       "hetsched: SearchLimits: there are none",
                       hs::Error);
  limits.seconds = 0.05;
  CHECK(hs::search_plan(graph, platform, times, start, limits).makespan <= start.makespan);
  limits.seconds = 1e9;
  limits.enough = start.makespan;
  CHECK(hs::search_plan(graph, platform, times, start, limits).makespan <= start.makespan);
  auto const other = simulated::machine(2, 1);
  CHECK_THROWS_AS((void)hs::search_plan(graph, other, times_of(graph, other), start, limits),
                  hs::Error);
  hs::ClassTimes const nobody{times.workers,
                              std::vector(times.times.size(), hs::ClassTimes::never)};
  CHECK_THROWS_WITH_AS((void)hs::search_plan(graph, platform, nobody, start, limits),
                       doctest::Contains(", which cannot run it"),
                       hs::Error);
  CHECK(hs::search_plan(
            {}, platform, {times.workers, {}}, hs::heft_plan({}, platform, {times.workers, {}}))
            .steps.empty());
}

} // namespace annealing_test
