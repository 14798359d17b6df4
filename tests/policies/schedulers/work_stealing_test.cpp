// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::WorkStealing;

template hs::Wake WorkStealing<>::push(PlacementArchetype const&, hs::TaskId, hs::WorkerId);

/// Whose pop and steal these have.
using FromAnyVictim = hs::detail::
    StealingQueues<hs::policies::WorkStealingDeque, hs::policies::Fifo, hs::policies::RandomVictim>;

template hs::TaskId FromAnyVictim::pop(PlacementArchetype const&, hs::WorkerId);
template std::size_t
FromAnyVictim::peek(PlacementArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template hs::Stolen FromAnyVictim::steal(PlacementArchetype const&, hs::WorkerId);

/// As WorkStealing<>, but for the victim.
using MostLoaded = WorkStealing<hs::policies::WorkStealingDeque, hs::policies::MostLoadedVictim>;

template hs::Wake MostLoaded::push(PlacementArchetype const&, hs::TaskId, hs::WorkerId);

using FromMostLoaded = hs::detail::StealingQueues<hs::policies::WorkStealingDeque,
                                                  hs::policies::Fifo,
                                                  hs::policies::MostLoadedVictim>;

template hs::TaskId FromMostLoaded::pop(PlacementArchetype const&, hs::WorkerId);
template hs::Stolen FromMostLoaded::steal(PlacementArchetype const&, hs::WorkerId);

namespace work_stealing_test {

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

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("WorkStealing: has push, pop and steal, runs concurrently and ignores priorities") {
  constexpr unsigned hooks = hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_steal;
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

TEST_CASE("WorkStealing: from the most loaded worker") {
  constexpr unsigned hooks = hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_steal;
  static_assert(hs::hooks_of<MostLoaded, PlacementArchetype>() == hooks);

  ScriptedContext ctx{{ArchHost, ArchHost, ArchHost, ArchCUDA}};
  constexpr hs::WorkerId gpu{3};
  MostLoaded scheduler(ctx.workers());
  auto const push = [&](hs::WorkerId from, hs::ArchMask archs) {
    auto const task = ctx.add({.archs = archs});
    scheduler.push(ctx, task, from);
    return task;
  };
  constexpr auto host = hs::ArchMask::only(ArchHost);
  auto const shared = push(w0, both);
  auto const oldest = push(w1, host);
  auto const second = push(w1, host);
  push(w1, host);

  CHECK(scheduler.steal(ctx, gpu) == shared); // the three of worker 1 are not for it
  push(w0, host);
  push(w2, host);
  push(w2, host);
  CHECK(scheduler.steal(ctx, w2) == oldest); // has most, but is the thief
  push(w2, host);
  CHECK(scheduler.pop(ctx, w2));
  CHECK(scheduler.pop(ctx, w2));
  CHECK(scheduler.steal(ctx, w0) == second);
  CHECK(scheduler.steal(ctx, w0));
  CHECK(scheduler.steal(ctx, w0));
  CHECK(scheduler.steal(ctx, w0) == hs::no_task); // one is left, its own
  CHECK(scheduler.pop(ctx, w0));
}

TEST_CASE("WorkStealing: inboxes count as load") {
  ScriptedContext ctx{{ArchHost, ArchCUDA, ArchCUDA}};
  MostLoaded scheduler(ctx.workers());
  std::vector<hs::TaskId> sent;
  for (int k = 0; k < 3; ++k) { // to worker 0, the only one that can
    sent.push_back(ctx.add({.archs = both}));
    scheduler.push(ctx, sent.back(), w0);
  }
  auto const rest = ctx.add({.archs = hs::ArchMask::only(ArchHost)});
  scheduler.push(ctx, rest, w1);
  for (int k = 0; k < 3; ++k) {
    auto const task = ctx.add({.archs = both});
    scheduler.push(ctx, task, w1);
  }
  CHECK(scheduler.steal(ctx, w2) == sent[0]); // four to three, then three to three
}

// Against queues that the test keeps itself.
TEST_CASE("WorkStealing: from the most loaded of those that have something for the thief") {
  std::mt19937_64 dice(1);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    ScriptedContext ctx{{ArchHost, ArchHost, ArchHost, ArchCUDA, ArchCUDA}};
    MostLoaded scheduler(ctx.workers());
    std::vector<std::deque<std::pair<hs::TaskId, hs::ArchMask>>> queues(5);
    for (int step = 0; step < 300; ++step) {
      auto const w = dice() % 5;
      hs::WorkerId const worker{static_cast<int>(w)};
      auto const arch = ctx.workers()[w].arch;
      if (dice() % 2 == 0) {
        auto const archs = dice() % 2 == 0 ? both : hs::ArchMask::only(arch);
        auto const task = ctx.add({.archs = archs});
        scheduler.push(ctx, task, worker);
        queues[w].emplace_back(task, archs);
        continue;
      }
      auto const has_something = [&](std::size_t victim) {
        auto const& queue = queues[victim];
        return victim != w && !queue.empty() && queue.front().second.has(arch);
      };
      std::size_t most = 0;
      for (std::size_t victim = 0; victim < 5; ++victim) {
        most = has_something(victim) ? std::max(most, queues[victim].size()) : most;
      }
      auto const task = scheduler.steal(ctx, worker).task;
      REQUIRE(static_cast<bool>(task) == (most != 0));
      for (std::size_t victim = 0; task && victim < 5; ++victim) {
        if (has_something(victim) && queues[victim].front().first == task) {
          REQUIRE(queues[victim].size() == most);
          queues[victim].pop_front();
          most = 0;
        }
      }
      REQUIRE(most == 0); // it was somebody's oldest
    }
  }
}

TEST_CASE("WorkStealing: among many loaded workers, the one that has something") {
  ScriptedContext ctx{std::vector<hs::Arch>(130, ArchHost)};
  MostLoaded scheduler(ctx.workers());
  for (int w = 1; w < 129; ++w) {
    auto const task = ctx.add({});
    ctx.forbid(task, w0);
    for (int k = 0; k < 2; ++k) {
      scheduler.push(ctx, k == 0 ? task : ctx.add({}), hs::WorkerId{w});
    }
  }
  CHECK(scheduler.steal(ctx, w0) == hs::no_task);
  auto const wanted = ctx.add({});
  scheduler.push(ctx, wanted, hs::WorkerId{129});
  CHECK(scheduler.steal(ctx, w0) == wanted);
  CHECK(scheduler.steal(ctx, w0) == hs::no_task);
}

/// Its size is of a time before any push.
struct Late : hs::policies::Lifo {
  [[nodiscard]] std::size_t size() const noexcept { return 0; }
};

TEST_CASE("WorkStealing: a load that does not show yet hides no task") {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchHost}};
  WorkStealing<Late, hs::policies::MostLoadedVictim> scheduler(ctx.workers());
  auto const task = ctx.add({});
  scheduler.push(ctx, task, w2);
  CHECK(scheduler.steal(ctx, w0) == task);
}

TEST_SUITE_END();

} // namespace work_stealing_test
