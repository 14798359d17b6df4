// SPDX-License-Identifier: MIT
// The solver, which needs Gecode, against exhaustive search.

#include <hetsched/bounds.hpp>
#include <hetsched/random_graphs.hpp>
#include <hetsched/static_heft.hpp>
#include <hetsched/static_solver.hpp>

#include "best_schedule.hpp"
#include "simulated_machine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace static_solver_test {

hs::SearchLimits nodes(std::uint64_t count) {
  hs::SearchLimits limits;
  limits.seconds = 0;
  limits.evaluations = count;
  return limits;
}

TEST_SUITE_BEGIN("static schedules");

TEST_CASE("solver: the shortest of all on small graphs, and it says so") {
  std::mt19937_64 random(7);
  int better = 0;
  for (int k = 0; k < 240; ++k) {
    auto const tasks = 4 + random() % 4;
    auto const graph = schedules::random_graph(tasks, random);
    auto const platform = simulated::machine(1 + random() % 2, 1 + random() % 2);
    hs::ClassTimes times{{platform.classes[0].workers, platform.classes[1].workers}, {}};
    for (std::size_t v = 0; v < 2 * tasks; ++v) {
      auto const missing = v % 2 == 1 && random() % 6 == 0;
      times.times.push_back(missing ? hs::ClassTimes::never
                                    : hs::Duration{1 + static_cast<std::int64_t>(random() % 20)});
    }
    auto const best = schedules::BestSchedule(graph, times).makespan();
    auto const start = hs::heft_plan(graph, platform, times);
    auto const found = hs::solve_plan(graph, platform, times, start, nodes(1'000'000));
    CHECK(found.proved());
    CHECK(found.plan.makespan.ns == best);
    CHECK(found.bound.ns == best);
    hs::check_plan(found.plan, graph, start.workers);
    better += found.plan.makespan < start.makespan ? 1 : 0;
  }
  MESSAGE(better);
  CHECK(better > 20);
}

} // namespace static_solver_test
