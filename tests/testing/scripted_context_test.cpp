// SPDX-License-Identifier: MIT
#include <hetsched/testing/scripted_context.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <set>

namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::testing::ScriptedContext;

namespace scripted_context_test {

constexpr hs::WorkerId host{0};
constexpr hs::WorkerId gpu{1};

TEST_SUITE_BEGIN("testing");

TEST_CASE("ScriptedContext: can_run follows classes, groups and what is forbidden") {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  auto const task = ctx.add({.group = 2});

  CHECK(ctx.can_run(task, host));
  CHECK(!ctx.can_run(task, gpu));
  ctx.forbid(task, host);
  CHECK(!ctx.can_run(task, host));
  ctx.permit(task, host);
  ctx.restrict_to(host, 1);
  CHECK(!ctx.can_run(task, host));
  ctx.restrict_to(host, 2);
  CHECK(ctx.can_run(task, host));
}

TEST_CASE("ScriptedContext: views show what was scripted") {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  auto const task = ctx.add(
      {.priority = 4,
       .graph_node = 7,
       .label = "here",
       .arguments = {{hs::AccessMode::read, 100, 1, 0b01}, {hs::AccessMode::write, 30, 2, 0b10}}});

  auto const view = ctx.task(task);
  CHECK(view.priority == 4);
  CHECK(view.graph_node == 7);
  CHECK(view.label == "here");
  REQUIRE(view.arguments == 2);
  CHECK(view.argument(1).bytes == 30);
  CHECK(ctx.valid_bytes(task, hs::host_node) == 100);
  CHECK(ctx.valid_bytes(task, hs::NodeId{1}) == 30);
  CHECK(ctx.free_bytes(hs::host_node) == std::numeric_limits<std::size_t>::max());
  CHECK(ctx.free_bytes(hs::NodeId{1}) < std::numeric_limits<std::size_t>::max());
}

TEST_CASE("ScriptedContext: counts views of tasks that ended or never were") {
  ScriptedContext ctx({ArchHost});
  auto const task = ctx.add({});
  static_cast<void>(ctx.task(task));
  CHECK(ctx.stale_views() == 0);

  ctx.finish(task);
  static_cast<void>(ctx.task(task));
  static_cast<void>(ctx.task(hs::TaskId{64}));
  static_cast<void>(ctx.task(hs::no_task));
  CHECK(ctx.stale_views() == 3);
  CHECK(!ctx.number(hs::no_task));
  CHECK(ctx.number(task) == 0U);
}

TEST_CASE("ScriptedContext: times are as set") {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  auto const task = ctx.add({.transfer = hs::Duration{50}});
  ctx.predict(task, ArchCUDA, hs::Duration{20});
  ctx.set_now({100});
  ctx.set_busy_until(host, {130});
  ctx.set_running(host, task);

  CHECK(ctx.predicted(task, gpu)->mean == hs::Duration{20});
  CHECK(!ctx.predicted(task, host));
  CHECK(ctx.transfer(task, gpu) == hs::Duration{50});
  CHECK(ctx.transfer(task, host) == hs::Duration{});
  CHECK(ctx.busy_until(host) == hs::Instant{130});
  CHECK(ctx.busy_until(gpu) == hs::Instant{100});
  CHECK(ctx.running(host) == task);
  CHECK(!ctx.running(gpu));
}

TEST_CASE("ScriptedContext: one stream of random numbers for each worker and outside") {
  ScriptedContext ctx({ArchHost, ArchHost}, 5);
  ScriptedContext same({ArchHost, ArchHost}, 5);
  std::set<std::uint64_t> numbers;
  for (auto const worker : {host, gpu, hs::no_worker, host}) {
    numbers.insert(ctx.random(worker));
  }

  CHECK(numbers.size() == 4);
  CHECK(numbers.count(same.random(hs::no_worker)) == 1); // streams do not disturb each other
}

TEST_SUITE_END();

} // namespace scripted_context_test
