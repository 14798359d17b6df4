// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::Eager;
using hs::policies::PriorityHeap;

template hs::Wake Eager<>::push(PlacementArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Eager<>::pop(PlacementArchetype const&, hs::WorkerId);
template std::size_t Eager<>::peek(PlacementArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace eager_test {

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Eager: has push and pop, runs concurrently") {
  static_assert(hs::hooks_of<Eager<>, PlacementArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek));
  static_assert(hs::hooks_of<Eager<hs::policies::Mailbox>, PlacementArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek));
  static_assert(Eager<>::threading == hs::Threading::concurrent);
}

TEST_CASE("Eager: promises about priorities what its queue does") {
  static_assert(Eager<>::priority_scope == hs::PriorityScope::none);
  static_assert(Eager<PriorityHeap>::priority_scope == hs::PriorityScope::global);
}

TEST_CASE("Eager: first come, first served, whoever pushed") {
  ScriptedContext ctx({ArchHost, ArchHost, ArchHost});
  Eager<> scheduler;
  auto const a = ctx.add({});
  auto const b = ctx.add({.priority = 9});
  auto const c = ctx.add({});

  CHECK(scheduler.push(ctx, a, w2) == hs::Wake::any());
  CHECK(scheduler.push(ctx, b, hs::no_worker) == hs::Wake::any());
  CHECK(scheduler.push(ctx, c, w0) == hs::Wake::any());

  CHECK(scheduler.pop(ctx, w1) == a);
  CHECK(scheduler.pop(ctx, w0) == b);
  CHECK(scheduler.pop(ctx, w2) == c);
  CHECK(scheduler.pop(ctx, w0) == hs::no_task);
}

TEST_CASE("Eager: a worker looks behind what it cannot run") {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  Eager<> scheduler;
  auto const gpu_task = ctx.add({.archs = hs::ArchMask::only(ArchCUDA)});
  auto const host_task = ctx.add({});
  scheduler.push(ctx, gpu_task, hs::no_worker);
  scheduler.push(ctx, host_task, hs::no_worker);

  CHECK(scheduler.pop(ctx, w0) == host_task);
  CHECK(scheduler.pop(ctx, w0) == hs::no_task);
  CHECK(scheduler.pop(ctx, w1) == gpu_task);
}

TEST_CASE("Eager: a worker that waits in a task takes its children only") {
  ScriptedContext ctx({ArchHost});
  Eager<> scheduler;
  auto const other = ctx.add({});
  auto const child = ctx.add({.group = 1});
  scheduler.push(ctx, other, w0);
  scheduler.push(ctx, child, w0);
  ctx.restrict_to(w0, 1);

  CHECK(scheduler.pop(ctx, w0) == child);
  CHECK(scheduler.pop(ctx, w0) == hs::no_task);
  ctx.restrict_to(w0, 0);
  CHECK(scheduler.pop(ctx, w0) == other);
}

TEST_CASE("Eager: gives the queue its tasks' priorities") {
  ScriptedContext ctx({ArchHost});
  Eager<PriorityHeap> scheduler;
  auto const low = ctx.add({.priority = -1});
  auto const high = ctx.add({.priority = 1});
  scheduler.push(ctx, low, w0);
  scheduler.push(ctx, high, w0);

  CHECK(scheduler.pop(ctx, w0) == high);
  CHECK(scheduler.pop(ctx, w0) == low);
}

TEST_SUITE_END();

} // namespace eager_test
