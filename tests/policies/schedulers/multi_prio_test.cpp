// SPDX-License-Identifier: MIT
// MultiPrio: gains, criticality, local scores and work that waits, worked out on paper.

#include <hetsched/detail/policies/gains.hpp>
#include <hetsched/policies/schedulers/multi_prio.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hs = hetsched;
using namespace scripted;
using hs::policies::MultiPrio;

template hs::TaskId MultiPrio::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t MultiPrio::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace multi_prio_test {

constexpr hs::WorkerId g2{2};
constexpr auto r = hs::AccessMode::read;
constexpr auto rw = hs::AccessMode::read_write;

/// Workers 0 and 1 are cores, 2 is a GPU.
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA}};
  MultiPrio scheduler{ctx.workers()};

  hs::TaskId push(std::int64_t on_core,
                  std::int64_t on_gpu,
                  hs::testing::ScriptedTask task = {.archs = both}) {
    auto const id = ctx.add(std::move(task));
    ctx.predict(id, ArchHost, {on_core});
    ctx.predict(id, ArchCUDA, {on_gpu});
    CHECK(scheduler.push(ctx, id, w0) == hs::Wake::worker(on_core <= on_gpu ? w1 : g2));
    return id;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("MultiPrio: hooks and declarations") {
  static_assert(hs::hooks_of<MultiPrio, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_prepare));
  static_assert(MultiPrio::threading == hs::Threading::serialized);
}

TEST_CASE("Gains: over the best of the others, of the greatest difference so far") {
  std::array<std::int64_t, hs::max_archs> greatest{};
  auto const gains = [&greatest](std::vector<std::int64_t> const& times) {
    hs::detail::Gains one;
    for (std::size_t arch = 0; arch < times.size(); ++arch) {
      if (times[arch] != 0) {
        one.add(hs::Arch{static_cast<std::uint8_t>(arch)}, times[arch]);
      }
    }
    one.compare(greatest);
    return one;
  };
  auto const first = gains({100, 20});
  CHECK(first.best.index == 1);
  CHECK(first.best_time() == 20);
  CHECK(first.on[0] == 0);
  CHECK(first.on[1] == 1);
  auto const second = gains({60, 20}); // 40 of 80
  CHECK(second.on[0] == 0.25);
  CHECK(second.on[1] == 0.75);
  auto const equal = gains({10, 10});
  CHECK(equal.best.index == 0);
  CHECK(equal.on[1] == 0.5);
  CHECK(gains({0, 7}).on[1] == 1);            // only there
  CHECK(gains({60, 30, 40}).on[1] == 0.5625); // 40 - 30 of 80
}

TEST_CASE("MultiPrio: each class has what it gains most on, the other what waits long enough") {
  Machine m;
  auto const for_gpu = m.push(100, 10);
  auto const less = m.push(40, 20);
  auto const for_core = m.push(10, 30);
  CHECK(m.pop(w0) == for_core);
  CHECK(!m.pop(w0)); // 30 wait for the GPU: less than 40 and 100; forgotten
  m.push(500, 200);
  CHECK(!m.pop(w1)); // so are those two at the cores
  CHECK(m.pop(g2) != less);
  CHECK(m.pop(g2));
  CHECK(m.pop(g2));
  CHECK(!m.pop(g2));
  CHECK(for_gpu);
}

TEST_CASE("MultiPrio: a class that is not the best takes what others would have to wait for") {
  Machine m;
  std::vector<hs::TaskId> tasks;
  for (int k = 0; k < 5; ++k) {
    tasks.push_back(m.push(35, 10));
  }
  CHECK(m.pop(w0) == tasks[0]); // 50 wait for the GPU
  CHECK(m.pop(w1) == tasks[1]); // 40
  CHECK(!m.pop(w0));            // 30
  CHECK(m.pop(g2) == tasks[2]);
}

TEST_CASE("MultiPrio: wakes an idle worker of the best class, because others may refuse the task") {
  Machine m;
  auto const running = m.ctx.add({.archs = both});
  m.ctx.set_running(w1, running);
  auto const add = [&m](std::int64_t on_core, std::int64_t on_gpu) {
    auto const task = m.ctx.add({.archs = both});
    m.ctx.predict(task, ArchHost, {on_core});
    m.ctx.predict(task, ArchCUDA, {on_gpu});
    return m.scheduler.push(m.ctx, task, w0);
  };
  CHECK(add(10, 20) == hs::Wake::worker(w0));
  CHECK(add(100, 10) == hs::Wake::worker(g2));
  m.ctx.set_running(g2, running);
  CHECK(add(100, 10) == hs::Wake::any()); // the GPU comes for it
}

TEST_CASE("MultiPrio: any class takes what no worker of the best one can run now") {
  Machine m;
  auto const task = m.push(100, 10);
  CHECK(!m.pop(w0)); // forgotten at the cores
  m.ctx.forbid(task, g2);
  CHECK(!m.pop(g2));
  CHECK(m.pop(w0) == task);
  auto const others = m.push(10, 100);
  std::array<hs::TaskId, 1> next;
  CHECK(m.scheduler.peek(m.ctx, g2, next) == 0);
  m.ctx.forbid(others, w0);
  CHECK(m.scheduler.peek(m.ctx, g2, next) == 0);
  m.ctx.forbid(others, w1);
  CHECK(m.scheduler.peek(m.ctx, g2, next) == 1);
  CHECK(m.pop(g2) == others);
}

TEST_CASE("MultiPrio: of equal gains the most critical, of the first ones the nearest") {
  Machine m;
  auto const add = [&m](std::int32_t priority, hs::ArgumentView const& argument) {
    return m.push(100, 10, {.priority = priority, .archs = both, .arguments = {argument}});
  };
  auto const far = add(9, {rw, 100, 1, 1});
  auto const reads = add(1, {r, 5000, 2, 3});
  auto const writes = add(0, {rw, 100, 3, 2}); // 100 * 100
  auto const far_too = add(5, {rw, 100, 4, 1});
  std::array<hs::TaskId, 3> next;
  CHECK(m.scheduler.peek(m.ctx, g2, next) == 3);
  CHECK(next == std::array{writes, reads, far});
  for (auto const task : {writes, reads, far, far_too}) {
    CHECK(m.pop(g2) == task);
  }
}

TEST_CASE("MultiPrio: only ten are compared, and only those of nearly the first one's gain") {
  Machine m;
  auto const first = m.push(110, 10);
  for (int k = 0; k < 9; ++k) {
    m.push(110, 10);
  }
  auto const eleventh =
      m.push(110, 10, {.archs = both, .arguments = {{r, 100, 1, 2}}}); // on the GPU
  CHECK(m.pop(g2) == first);
  CHECK(m.pop(g2) == eleventh);
  Machine other;
  auto const gains_all = other.push(110, 10);
  other.push(10, 80, {.archs = both, .arguments = {{r, 100, 1, 2}}}); // 0.15 on the GPU
  CHECK(other.pop(g2) == gains_all);
}

TEST_CASE("MultiPrio: in a graph, the task whose end makes most ready") {
  std::vector<hs::TaskGraph::Node> nodes(5);
  nodes[0].accesses = {{0, hs::AccessMode::write}};
  nodes[1].accesses = {{1, hs::AccessMode::write}};
  nodes[2].accesses = {{0, r}, {1, r}}; // half from each
  nodes[3].accesses = {{1, r}};
  hs::TaskGraph const graph(nodes, {8, 8});
  Machine m;
  m.scheduler.prepare(m.ctx, graph);
  auto const one_half = m.push(100, 10, {.archs = both, .graph_node = 0});
  auto const more = m.push(100, 10, {.archs = both, .graph_node = 1});
  CHECK(m.pop(g2) == more);
  CHECK(m.pop(g2) == one_half);
}

TEST_CASE("MultiPrio: what no model knows goes to whoever is free") {
  Machine m;
  auto const unknown = m.ctx.add({.archs = both});
  CHECK(m.scheduler.push(m.ctx, unknown, w0) == hs::Wake::any());
  std::array<hs::TaskId, 2> next;
  CHECK(m.scheduler.peek(m.ctx, g2, next) == 1);
  CHECK(next[0] == unknown);
  CHECK(m.pop(w1) == unknown);
}

TEST_SUITE_END();

} // namespace multi_prio_test
