// SPDX-License-Identifier: MIT
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::Priority;

template hs::Wake Priority<>::push(PlacementArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Priority<>::pop(PlacementArchetype const&, hs::WorkerId);
template std::size_t
Priority<>::peek(PlacementArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace priority_test {

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Priority: has push and pop, runs concurrently, and orders globally") {
  static_assert(hs::hooks_of<Priority<>, PlacementArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek));
  static_assert(Priority<>::threading == hs::Threading::concurrent);
  static_assert(Priority<>::priority_scope == hs::PriorityScope::global);
}

TEST_CASE("Priority: the highest first, the oldest among equals, whoever pushed") {
  ScriptedContext ctx({ArchHost, ArchHost, ArchHost});
  Priority<> scheduler;
  auto const low = ctx.add({.priority = -5});
  auto const first = ctx.add({.priority = 3});
  auto const plain = ctx.add({});
  auto const second = ctx.add({.priority = 3});

  CHECK(scheduler.push(ctx, low, w0) == hs::Wake::any());
  CHECK(scheduler.push(ctx, first, w1) == hs::Wake::any());
  CHECK(scheduler.push(ctx, plain, hs::no_worker) == hs::Wake::any());
  CHECK(scheduler.push(ctx, second, w0) == hs::Wake::any());

  CHECK(scheduler.pop(ctx, w2) == first);
  CHECK(scheduler.pop(ctx, w0) == second);
  CHECK(scheduler.pop(ctx, w1) == plain);
  CHECK(scheduler.pop(ctx, w2) == low);
  CHECK(scheduler.pop(ctx, w0) == hs::no_task);
}

TEST_CASE("Priority: a worker takes the highest that it can run now") {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  Priority<> scheduler;
  auto const gpu_task = ctx.add({.priority = 9, .archs = hs::ArchMask::only(ArchCUDA)});
  auto const high = ctx.add({.priority = 5});
  auto const child = ctx.add({.priority = 1, .group = 1});
  for (auto const task : {child, high, gpu_task}) {
    scheduler.push(ctx, task, hs::no_worker);
  }

  ctx.restrict_to(w0, 1);
  CHECK(scheduler.pop(ctx, w0) == child);
  ctx.restrict_to(w0, 0);
  CHECK(scheduler.pop(ctx, w0) == high);
  CHECK(scheduler.pop(ctx, w0) == hs::no_task);
  CHECK(scheduler.pop(ctx, w1) == gpu_task);
}

TEST_SUITE_END();

} // namespace priority_test
