// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <doctest/doctest.h>

#include <set>

namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::policies::WorkStealing;
using hs::testing::PlacementArchetype;
using hs::testing::ScriptedContext;

template hs::Wake WorkStealing<>::push(PlacementArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId WorkStealing<>::pop(PlacementArchetype const&, hs::WorkerId);
template hs::Stolen WorkStealing<>::steal(PlacementArchetype const&, hs::WorkerId);

namespace {

constexpr hs::WorkerId w0{0};
constexpr hs::WorkerId w1{1};
constexpr hs::WorkerId w2{2};

/// Workers 0 and 1 are host cores, worker 2 is a GPU.
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA}};
  WorkStealing<> scheduler{ctx.workers()};

  hs::TaskId push(hs::WorkerId from, hs::ArchMask archs = hs::ArchMask::only(ArchHost)) {
    auto const task = ctx.add({.archs = archs});
    CHECK(scheduler.push(ctx, task, from) == hs::Wake::any());
    return task;
  }
};

constexpr auto only_gpu = hs::ArchMask::only(ArchCUDA);
constexpr auto both = hs::ArchMask::only(ArchHost) | only_gpu;

} // namespace

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("WorkStealing: has push, pop and steal, runs concurrently and ignores priorities") {
  constexpr unsigned hooks = hs::hook_push | hs::hook_pop | hs::hook_steal;
  static_assert(hs::hooks_of<WorkStealing<>, PlacementArchetype>() == hooks);
  static_assert(hs::hooks_of<WorkStealing<hs::policies::Fifo>, PlacementArchetype>() == hooks);
  static_assert(WorkStealing<>::threading == hs::Threading::concurrent);
  static_assert(WorkStealing<>::priority_scope == hs::PriorityScope::none);
}

TEST_CASE("WorkStealing: takes its own newest task first") {
  Machine m;
  auto const first = m.push(w0);
  auto const second = m.push(w0);

  CHECK(m.scheduler.pop(m.ctx, w0) == second);
  CHECK(m.scheduler.pop(m.ctx, w0) == first);
  CHECK(m.scheduler.pop(m.ctx, w0) == hs::no_task);
}

TEST_CASE("WorkStealing: steals the oldest task of another") {
  Machine m;
  auto const first = m.push(w0);
  auto const second = m.push(w0);

  CHECK(m.scheduler.pop(m.ctx, w1) == hs::no_task);
  CHECK(m.scheduler.steal(m.ctx, w1) == first);
  CHECK(m.scheduler.steal(m.ctx, w1) == second);
  CHECK(m.scheduler.steal(m.ctx, w1) == hs::no_task);
  CHECK(m.scheduler.pop(m.ctx, w0) == hs::no_task);
}

TEST_CASE("WorkStealing: tells whether the victim is at work, if its queue does") {
  Machine m;
  m.push(w0);
  m.push(w0);
  CHECK(m.scheduler.steal(m.ctx, w1).contested);
  CHECK_FALSE(m.scheduler.steal(m.ctx, w1).contested);

  ScriptedContext pair({ArchHost, ArchHost});
  WorkStealing<hs::policies::Lifo> silent(pair.workers());
  silent.push(pair, pair.add({}), w0);
  auto const stolen = silent.steal(pair, w1);
  CHECK(stolen.task);
  CHECK_FALSE(stolen.contested);
}

TEST_CASE("WorkStealing: steals nothing from itself, and nothing alone") {
  Machine m;
  m.push(w1);
  CHECK(m.scheduler.steal(m.ctx, w1) == hs::no_task);

  ScriptedContext single({ArchHost});
  WorkStealing<> scheduler(single.workers());
  auto const task = single.add({});
  scheduler.push(single, task, w0);
  CHECK(scheduler.steal(single, w0) == hs::no_task);
  CHECK(scheduler.pop(single, w0) == task);
}

TEST_CASE("WorkStealing: sends what its maker cannot run to one who can") {
  Machine m;
  auto const task = m.push(w0, only_gpu);

  CHECK(m.scheduler.pop(m.ctx, w0) == hs::no_task);
  CHECK(m.scheduler.steal(m.ctx, w1) == hs::no_task);
  CHECK(m.scheduler.pop(m.ctx, w2) == task);
}

TEST_CASE("WorkStealing: spreads tasks from outside over all who can run them") {
  Machine m;
  std::set<hs::WorkerId> found;
  for (int i = 0; i < 50; ++i) {
    auto const task = m.push(hs::no_worker, i % 5 == 0 ? both : hs::ArchMask::only(ArchHost));
    for (auto const worker : {w0, w1, w2}) {
      if (m.scheduler.pop(m.ctx, worker) == task) {
        found.insert(worker);
      }
    }
  }

  CHECK(found == std::set{w0, w1, w2});
}

TEST_CASE("WorkStealing: a thief looks into inboxes, behind tasks that it cannot run") {
  Machine m;
  auto const refused = m.push(w2, hs::ArchMask::only(ArchHost)); // in w0's inbox or w1's
  m.ctx.forbid(refused, w0);
  m.ctx.forbid(refused, w1);
  std::set<hs::TaskId> behind;
  for (int i = 0; i < 3; ++i) {
    behind.insert(m.push(w2, hs::ArchMask::only(ArchHost)));
  }

  std::set<hs::TaskId> taken;
  while (auto const task = m.scheduler.steal(m.ctx, w0)) {
    taken.insert(task);
  }
  while (auto const task = m.scheduler.pop(m.ctx, w0)) {
    taken.insert(task);
  }
  CHECK(taken == behind);
}

TEST_CASE("WorkStealing: a worker that waits in a task takes its children only") {
  Machine m;
  auto const before = m.push(w0);
  auto const child = m.ctx.add({.group = 1});
  m.ctx.restrict_to(w0, 1);
  m.scheduler.push(m.ctx, child, w0);

  CHECK(m.scheduler.pop(m.ctx, w0) == child);
  CHECK(m.scheduler.pop(m.ctx, w0) == hs::no_task);
  m.ctx.restrict_to(w0, 0);
  CHECK(m.scheduler.pop(m.ctx, w0) == before);
}

TEST_SUITE_END();
