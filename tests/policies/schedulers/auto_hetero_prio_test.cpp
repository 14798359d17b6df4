// SPDX-License-Identifier: MIT
// AutoHeteroPrio: scores of types, the nearest node and what waits long enough, worked out on
// paper.

#include <hetsched/detail/policies/type_orders.hpp>
#include <hetsched/policies/schedulers/auto_hetero_prio.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using namespace scripted;
using hs::detail::TypeOrders;
using hs::policies::AutoHeteroPrio;

template hs::TaskId AutoHeteroPrio::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t
AutoHeteroPrio::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace auto_hetero_prio_test {

constexpr hs::WorkerId g2{2};
constexpr hs::WorkerId g3{3};
constexpr auto r = hs::AccessMode::read;
constexpr auto rw = hs::AccessMode::read_write;
constexpr std::size_t cores = 0;
constexpr std::size_t gpus = 1;

/// Workers 0 and 1 are cores, 2 and 3 GPUs with nodes 1 and 2.
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA, ArchCUDA}};
  AutoHeteroPrio scheduler{ctx.workers()};

  hs::TaskId push(std::string const& type,
                  std::int64_t on_core,
                  std::int64_t on_gpu,
                  hs::testing::ScriptedTask task = {},
                  hs::WorkerId by = w0) {
    task.archs = both;
    task.type = type;
    auto const id = ctx.add(std::move(task));
    ctx.predict(id, ArchHost, {on_core});
    ctx.predict(id, ArchCUDA, {on_gpu});
    CHECK(scheduler.push(ctx, id, by) == hs::Wake::worker(on_core <= on_gpu ? w1 : g3));
    return id;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  template <std::size_t Size>
  std::array<hs::TaskId, Size> peek(hs::WorkerId worker) {
    std::array<hs::TaskId, Size> next;
    CHECK(scheduler.peek(ctx, worker, next) == Size);
    return next;
  }
};

TEST_CASE("AutoHeteroPrio: hooks and declarations") {
  static_assert(hs::hooks_of<AutoHeteroPrio, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_prepare));
  static_assert(AutoHeteroPrio::threading == hs::Threading::serialized);
  static_assert(AutoHeteroPrio::priority_scope == hs::PriorityScope::none);
}

hs::detail::AffinityType
type(std::string name, std::int64_t tasks, std::int64_t on_core, std::int64_t on_gpu) {
  hs::detail::AffinityType one;
  one.name = std::move(name);
  one.tasks = tasks;
  one.archs = both;
  one.sums[cores] = {on_core, on_core == 0 ? 0 : 1};
  one.sums[gpus] = {on_gpu, on_gpu == 0 ? 0 : 1};
  return one;
}

using Order = std::vector<std::size_t>;

TEST_CASE("TypeOrders: what is released, how busy classes are, and where tasks ran") {
  std::vector<hs::TaskGraph::Node> nodes(3);
  nodes[0].accesses = {{0, hs::AccessMode::write}};
  nodes[1].accesses = {{1, hs::AccessMode::write}};
  nodes[2].accesses = {{1, r}};
  hs::TaskGraph const graph(nodes, {8, 8});
  std::vector const types{type("a", 2, 4, 2), type("b", 1, 4, 2)}; // units: 2 and 1
  hs::detail::AffinityWorkers const workers{1, 1};
  TypeOrders orders;
  orders.learn(graph, std::array<std::size_t, 3>{0, 1, 0}, 2);
  CHECK(orders.orders(types, workers)[gpus] == Order{0, 1}); // no task has run: all alike
  CHECK(orders.orders(types, workers)[cores] == Order{0, 1});

  orders.count_taken(0, ArchCUDA); // so the end of b releases one unit of work for GPUs
  CHECK(orders.orders(types, workers)[gpus] == Order{1, 0});  // 2 before 1
  CHECK(orders.orders(types, workers)[cores] == Order{0, 1}); // -1 before -2

  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  ctx.set_running(w1, ctx.add({.archs = both}));
  orders.count_busy(ctx); // GPUs need no work: 1 - 1 each
  CHECK(orders.orders(types, workers)[gpus] == Order{0, 1});
}

TEST_CASE("TypeOrders: first what only one class can run, and what has no times") {
  std::vector types{type("a", 1, 9, 1), type("b", 1, 5, 0), type("c", 1, 3, 1)};
  types[2].archs = hs::ArchMask::only(ArchCUDA);
  TypeOrders orders;
  orders.make_room(3);
  auto const found = orders.orders(types, {2, 1});
  CHECK(found[gpus] == Order{1, 2, 0});
  CHECK(found[cores] == Order{1, 0});
  CHECK(orders.orders(types, {2, 0})[gpus].empty());
}

TEST_CASE("AutoHeteroPrio: each class has the types on which it gains most") {
  Machine m;
  auto const less = m.push("less", 40, 20);
  auto const more = m.push("more", 100, 10);
  auto const for_core = m.push("other", 10, 30);
  CHECK(m.peek<3>(g2) == std::array{more, less, for_core});
  CHECK(m.pop(w0) == for_core);
  CHECK(!m.pop(w0)); // one waits of each, for two GPUs
  CHECK(m.pop(g2) == more);
  CHECK(m.pop(g3) == less);
}

TEST_CASE("AutoHeteroPrio: a core takes what would wait as long for each GPU") {
  Machine m;
  std::vector<hs::TaskId> tasks;
  for (int k = 0; k < 7; ++k) {
    tasks.push_back(m.push("t", 30, 10));
  }
  CHECK(m.pop(w0) == tasks[0]); // 7 of 2 x 3
  CHECK(m.pop(w1) == tasks[1]);
  CHECK(!m.pop(w0)); // 5
  CHECK(m.pop(g2) == tasks[2]);
  m.ctx.forbid(tasks[4], g2);
  CHECK(!m.pop(w0));
  m.ctx.forbid(tasks[4], g3);
  CHECK(m.pop(w0) == tasks[4]); // no GPU can run it now
}

TEST_CASE("AutoHeteroPrio: peek counts what it has told as taken") {
  ScriptedContext ctx{{ArchHost, ArchCUDA, hs::Arch{2}}};
  AutoHeteroPrio scheduler{ctx.workers()};
  std::vector<hs::TaskId> tasks;
  for (int k = 0; k < 4; ++k) {
    tasks.push_back(ctx.add({.archs = hs::ArchMask{7}}));
    ctx.predict(tasks.back(), ArchHost, {90});
    ctx.predict(tasks.back(), ArchCUDA, {10});
    ctx.predict(tasks.back(), hs::Arch{2}, {30});
    CHECK(scheduler.push(ctx, tasks.back(), w0) == hs::Wake::worker(w1));
  }
  std::array<hs::TaskId, 4> next;
  CHECK(scheduler.peek(ctx, w2, next) == 2); // 4 and 3 wait, then 2
  CHECK(next[0] == tasks[0]);
  CHECK(next[1] == tasks[1]);
  CHECK(scheduler.pop(ctx, w2) == tasks[0]);
  CHECK(scheduler.pop(ctx, w2) == tasks[1]);
  CHECK(!scheduler.pop(ctx, w2));
  CHECK(scheduler.peek(ctx, w1, next) == 2);
}

TEST_CASE("AutoHeteroPrio: to the node that lacks the fewest bytes, what is written counts more") {
  Machine m;
  auto const with = [](hs::ArgumentView const& a, hs::ArgumentView const& b) {
    return hs::testing::ScriptedTask{.arguments = {a, b}};
  };
  auto const at_host = m.push("t", 100, 10, with({r, 100, 1, 1}, {r, 100, 2, 1}));
  auto const at_2 = m.push("t", 100, 10, with({r, 120, 3, 2}, {rw, 100, 4, 4})); // 120 < 150
  auto const at_1 = m.push("t", 100, 10, with({r, 160, 5, 2}, {rw, 100, 6, 4})); // 160 > 150
  auto const pushed_there = m.push("t", 100, 10, {}, g3);
  CHECK(m.peek<4>(g2) == std::array{at_1, at_host, at_2, pushed_there});
  CHECK(m.peek<4>(g3) == std::array{at_2, pushed_there, at_host, at_1});
}

TEST_CASE(
    "AutoHeteroPrio: cores look at a type everywhere, GPUs at all types at their node first") {
  Machine m;
  auto const at = [](std::uint64_t nodes) {
    return hs::testing::ScriptedTask{.arguments = {{r, 100, 1, nodes}}};
  };
  auto const best_for_gpus = m.push("g", 100, 10, at(4));
  auto const good_for_gpus = m.push("c", 15, 30, at(1));
  auto const best_for_cores = m.push("d", 15, 60, at(2));
  CHECK(m.peek<3>(g2) == std::array{best_for_cores, good_for_gpus, best_for_gpus});
  CHECK(m.pop(w0) == best_for_cores);
  CHECK(m.pop(w0) == good_for_gpus);
}

TEST_CASE("AutoHeteroPrio: the highest priority of a queue, then the oldest") {
  Machine m;
  auto const low = m.push("t", 100, 10, {.priority = 1});
  auto const high = m.push("t", 100, 10, {.priority = 2});
  auto const later = m.push("t", 100, 10, {.priority = 2});
  CHECK(m.peek<3>(g2) == std::array{high, later, low});
}

TEST_CASE("AutoHeteroPrio: knows a graph before it runs, and forgets the last one") {
  std::vector<hs::TaskGraph::Node> nodes(2);
  nodes[0].type = "a";
  nodes[1].type = "b";
  hs::TaskGraph const graph(nodes, {});
  std::vector<hs::ExpectedTimes> times(2);
  times[0] = {both, {hs::Duration{10}, hs::Duration{10}}};
  times[1] = {both, {hs::Duration{90}, hs::Duration{10}}};
  Machine m;
  m.push("old", 10, 10);
  CHECK(m.pop(w0));
  m.scheduler.prepare(m.ctx, graph, times);
  CHECK(!m.pop(g2));
  auto const a = m.push("a", 10, 10, {.graph_node = 0});
  auto const b = m.push("b", 90, 10, {.graph_node = 1});
  CHECK(m.peek<2>(g2) == std::array{b, a});
}

TEST_CASE("AutoHeteroPrio: what no model knows goes to whoever is free") {
  Machine m;
  auto const unknown = m.ctx.add({.archs = both});
  CHECK(m.scheduler.push(m.ctx, unknown, w0) == hs::Wake::any());
  CHECK(m.peek<1>(g2) == std::array{unknown});
  CHECK(m.pop(w0) == unknown);
}

} // namespace auto_hetero_prio_test
