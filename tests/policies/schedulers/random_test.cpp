// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::PriorityHeap;
using hs::policies::Random;

template hs::Wake Random<>::push(PlacementArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Random<>::pop(PlacementArchetype const&, hs::WorkerId);
template std::size_t Random<>::peek(PlacementArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace random_test {

/// Whom 300 tasks from outside go to on three host cores.
std::vector<hs::WorkerId> targets(std::uint64_t seed) {
  ScriptedContext ctx({ArchHost, ArchHost, ArchHost}, seed);
  Random<> scheduler(ctx.workers());
  std::vector<hs::WorkerId> result;
  for (int i = 0; i < 300; ++i) {
    result.push_back(scheduler.push(ctx, ctx.add({}), hs::no_worker).target());
  }
  return result;
}

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Random: has push, pop and peek; runs concurrently") {
  static_assert(hs::hooks_of<Random<>, PlacementArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek));
  static_assert(hs::hooks_of<Random<hs::policies::Mailbox>, PlacementArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek));
  static_assert(Random<>::threading == hs::Threading::concurrent);
}

TEST_CASE("Random: promises about priorities what its queues do") {
  static_assert(Random<>::priority_scope == hs::PriorityScope::none);
  static_assert(Random<PriorityHeap>::priority_scope == hs::PriorityScope::per_queue);
}

TEST_CASE("Random: wakes the worker that it drew, and only that one finds the task") {
  ScriptedContext ctx({ArchHost, ArchHost, ArchHost});
  Random<> scheduler(ctx.workers());
  auto const task = ctx.add({});
  auto const target = scheduler.push(ctx, task, hs::no_worker).target();

  REQUIRE(target);
  for (auto const& info : ctx.workers()) {
    if (info.id != target) {
      CHECK(scheduler.pop(ctx, info.id) == hs::no_task);
    }
  }
  CHECK(scheduler.pop(ctx, target) == task);
}

TEST_CASE("Random: draws from the workers of a class that can run the task") {
  ScriptedContext ctx({ArchHost, ArchCUDA, ArchHost});
  Random<> scheduler(ctx.workers());
  for (int i = 0; i < 20; ++i) {
    auto const gpu_task = ctx.add({.archs = hs::ArchMask::only(ArchCUDA)});
    CHECK(scheduler.push(ctx, gpu_task, hs::WorkerId{0}) == hs::Wake::worker(hs::WorkerId{1}));
    CHECK(scheduler.push(ctx, ctx.add({}), hs::WorkerId{1}).target() != hs::WorkerId{1});
  }
}

TEST_CASE("Random: all workers alike, and the same for the same seed") {
  auto const drawn = targets(3);
  std::array<int, 3> count{};
  for (auto const worker : drawn) {
    ++count[worker.index()];
  }

  for (int const tasks : count) {
    CHECK(tasks > 60); // of 100 expected: five standard deviations
  }
  CHECK(drawn == targets(3));
  CHECK(drawn != targets(4));
}

TEST_CASE("Random: goes by speed where all times are known") {
  ScriptedContext ctx({ArchHost, ArchCUDA, ArchHost});
  Random<> scheduler(ctx.workers());
  std::array<int, 3> count{};
  for (int i = 0; i < 600; ++i) {
    auto const task =
        ctx.add({.archs = hs::ArchMask::only(ArchHost) | hs::ArchMask::only(ArchCUDA)});
    ctx.predict(task, ArchHost, {400});
    if (i % 2 == 0) {
      ctx.predict(task, ArchCUDA, {100});
    }
    auto const target = scheduler.push(ctx, task, hs::no_worker).target();
    count[target.index()] += i % 2 == 0 ? 1 : 1000;
  }
  // Of 300 with all times known, 4 in 6 to the GPU; of 300 others, a third.
  CHECK(count[1] % 1000 > 160);
  CHECK(count[1] % 1000 < 240);
  CHECK(count[1] / 1000 > 60);
  CHECK(count[1] / 1000 < 140);
  CHECK(count[0] % 1000 > 20);
  CHECK(count[2] % 1000 > 20);
}

TEST_CASE("Random: the first pushed comes first, or the highest in a priority queue") {
  ScriptedContext ctx({ArchHost});
  Random<> plain(ctx.workers());
  Random<PriorityHeap> ordered(ctx.workers());
  auto const low = ctx.add({.priority = 1});
  auto const high = ctx.add({.priority = 2});
  for (auto const task : {low, high}) {
    plain.push(ctx, task, hs::no_worker);
    ordered.push(ctx, task, hs::no_worker);
  }

  CHECK(plain.pop(ctx, hs::WorkerId{0}) == low);
  CHECK(ordered.pop(ctx, hs::WorkerId{0}) == high);
}

TEST_SUITE_END();

} // namespace random_test
