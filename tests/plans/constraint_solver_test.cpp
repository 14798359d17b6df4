// SPDX-License-Identifier: MIT
// The solver, which needs Gecode, against exhaustive search.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/plans/constraint_solver.hpp>
#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/best_schedule.hpp"
#include "../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace constraint_solver_test {

hs::SearchLimits nodes(std::uint64_t count) {
  hs::SearchLimits limits;
  limits.seconds = 0;
  limits.evaluations = count;
  return limits;
}

/// From 1 to `longest`; the second class cannot run some tasks.
hs::ClassTimes random_times(hs::Platform const& platform,
                            std::size_t tasks,
                            std::uint64_t longest,
                            std::mt19937_64& random) {
  hs::ClassTimes times{{platform.classes[0].workers, platform.classes[1].workers}, {}};
  for (std::size_t v = 0; v < 2 * tasks; ++v) {
    bool const missing = v % 2 == 1 && random() % 6 == 0;
    hs::Duration const time{1 + static_cast<std::int64_t>(random() % longest)};
    times.times.push_back(missing ? hs::ClassTimes::never : time);
  }
  return times;
}

hs::ClassTimes named_times(hs::TaskGraph const& graph, hs::Platform const& platform) {
  return hs::class_times(graph, platform, "test", hs::Precision::double_precision, 0, "by hand");
}

TEST_SUITE_BEGIN("static schedules");

TEST_CASE("solver: the shortest of all on small graphs, and it says so") {
  std::mt19937_64 random(7);
  int better = 0;
  for (int k = 0; k < 240; ++k) {
    auto const tasks = 4 + random() % 4;
    auto const graph = schedules::random_graph(tasks, random);
    auto const platform =
        simulated::machine(1 + static_cast<int>(random() % 2), 1 + static_cast<int>(random() % 2));
    auto const times = random_times(platform, tasks, 20, random);
    auto const best = schedules::BestSchedule(graph, times).makespan();
    auto const start = hs::heft_plan(graph, platform, times);
    auto const found = hs::solve_plan(graph, platform, times, start, nodes(1'000'000));
    CHECK(found.proved());
    CHECK(found.plan.makespan.ns == best);
    CHECK(found.bound.ns == best);
    hs::check_plan(found.plan, graph, start.workers);
    better += found.plan.makespan < start.makespan ? 1 : 0;
  }
  CHECK(better >= 40);
}

TEST_CASE("solver: times that are rounded prove nothing false") {
  std::mt19937_64 random(8);
  int proved = 0;
  int best_found = 0;
  for (int k = 0; k < 60; ++k) {
    auto const graph = schedules::random_graph(6, random);
    auto const platform = simulated::machine(1, 2);
    // Few lengths, so that many schedules are equal but for what rounding takes away.
    auto times = random_times(platform, 6, 4, random);
    for (auto& time : times.times) {
      if (time != hs::ClassTimes::never) {
        time.ns = (time.ns << 36) + static_cast<std::int64_t>(random() % 2048);
      }
    }
    auto const best = schedules::BestSchedule(graph, times).makespan();
    auto const start = hs::heft_plan(graph, platform, times);
    auto const found = hs::solve_plan(graph, platform, times, start, nodes(1'000'000));
    CHECK(found.bound.ns <= best);
    CHECK(found.plan.makespan.ns >= best);
    CHECK(found.bound.ns > best - 6 * 4096); // ticks of 2^38 / 2^30 or a few times that
    proved += found.proved() ? 1 : 0;
    best_found += found.plan.makespan.ns == best ? 1 : 0;
  }
  CHECK(proved < best_found);
}

TEST_CASE("solver: plans that take what they say, no longer than the start, and bounds below") {
  using hs::policies::StaticSchedule;
  constexpr std::array<std::string_view, 3> types{"Even", "Fast", "Mix"};
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    auto const graph = hs::layered_graph({types, seed}, 5, 6, 0.3);
    auto const platform = simulated::machine(2, 2);
    auto const times = named_times(graph, platform);
    auto const start = hs::heft_plan(graph, platform, times);
    auto const found = hs::solve_plan(graph, platform, times, start, nodes(300));
    hs::check_plan(found.plan, graph, found.plan.workers);
    hs::SimulatedRuntime<StaticSchedule> rt(
        simulated::on(2, 2),
        StaticSchedule::Config{.plan = std::make_shared<hs::StaticPlan const>(found.plan)});
    rt.run(graph);
    CHECK(rt.stats().elapsed == found.plan.makespan);
    CHECK(found.plan.makespan <= start.makespan);
    CHECK(found.bound >= hs::critical_path(graph, hs::shortest_times(times)));
    CHECK(found.bound <= found.plan.makespan);
    auto const again = hs::solve_plan(graph, platform, times, start, nodes(300));
    CHECK(again.plan == found.plan);
    CHECK(again.bound == found.bound);
    better += found.plan.makespan < start.makespan ? 1 : 0;
  }
  CHECK(better >= 1);
}

TEST_CASE("solver: ends in time, or at what is enough, and takes sensible input only") {
  constexpr std::array<std::string_view, 2> types{"Even", "Mix"};
  auto const graph = hs::layered_graph({types, 3}, 8, 12, 0.3);
  auto const platform = simulated::machine(3, 2);
  auto const times = named_times(graph, platform);
  auto const start = hs::heft_plan(graph, platform, times);
  auto limits = nodes(0);
  CHECK_THROWS_WITH_AS((void)hs::solve_plan(graph, platform, times, start, limits),
                       "hetsched: SearchLimits: there are none",
                       hs::Error);
  limits.seconds = 0.05;
  auto const begin = std::chrono::steady_clock::now();
  auto const found = hs::solve_plan(graph, platform, times, start, limits);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  CHECK(found.plan.makespan <= start.makespan);
  CHECK(!found.proved()); // else this shows nothing of limits
  limits.seconds = 1e9;
  limits.enough = start.makespan;
  CHECK(hs::solve_plan(graph, platform, times, start, limits).plan.makespan <= start.makespan);
  auto const other = simulated::machine(3, 1);
  CHECK_THROWS_WITH_AS((void)hs::solve_plan(graph, other, named_times(graph, other), start, limits),
                       "hetsched: schedule: is for 3 workers of class 0 and 2 of class 1, and "
                       "there are 3 workers of "
                       "class 0 and 1 of class 1",
                       hs::Error);
  auto never = times;
  auto const gpu = start.workers.size() - 1;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    never.times[2 * v + 1] = hs::ClassTimes::never;
  }
  auto wrong = start;
  wrong.steps.front() = {wrong.steps.front().task, hs::WorkerId{static_cast<std::int32_t>(gpu)}};
  CHECK_THROWS_WITH_AS((void)hs::solve_plan(graph, platform, never, wrong, limits),
                       doctest::Contains("on worker 4, which cannot run it"),
                       hs::Error);
  hs::ClassTimes const nothing{times.workers, {}};
  CHECK(hs::solve_plan({}, platform, nothing, hs::heft_plan({}, platform, nothing)).proved());
}

} // namespace constraint_solver_test
