// SPDX-License-Identifier: MIT
// Darts: plans, what comes next in them, cores, and what it foretells, worked out on paper.

#include <hetsched/policies/schedulers/darts.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace hs = hetsched;
using namespace scripted;
using hs::policies::Darts;

template hs::TaskId Darts::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t Darts::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace darts_test {

constexpr hs::WorkerId g1{1};
constexpr hs::WorkerId g2{2};
constexpr hs::NodeId n1{1};
constexpr hs::NodeId n2{2};
constexpr auto r = hs::AccessMode::read;
constexpr auto rw = hs::AccessMode::read_write;

/// Where a datum is valid: bits of nodes.
constexpr std::uint64_t on_host = 0b001;
constexpr std::uint64_t on_first = 0b010;
constexpr std::uint64_t on_second = 0b100;

hs::ArgumentView datum(std::uint64_t id, std::uint64_t where = on_host, hs::AccessMode mode = r) {
  return {mode, 100, id, where};
}

/// Worker 0 is a core, 1 and 2 are GPUs.
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchCUDA, ArchCUDA}};
  Darts scheduler{ctx.workers()};

  hs::TaskId push(std::vector<hs::ArgumentView> arguments,
                  std::int32_t priority = 0,
                  std::int64_t on_core = 100000) {
    auto const id =
        ctx.add({.priority = priority, .archs = both, .arguments = std::move(arguments)});
    ctx.predict(id, ArchHost, {on_core});
    ctx.predict(id, ArchCUDA, {10});
    (void)scheduler.push(ctx, id, w0);
    return id;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  std::vector<hs::TaskId> peek(hs::WorkerId worker, std::size_t most) {
    std::vector<hs::TaskId> next(most);
    next.resize(scheduler.peek(ctx, worker, next));
    return next;
  }
};

using Tasks = std::vector<hs::TaskId>;

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Darts: hooks and declarations") {
  static_assert(hs::hooks_of<Darts, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_future_uses));
  static_assert(Darts::threading == hs::Threading::serialized);
}

TEST_CASE("Darts: plans what lacks nothing, the most urgent first") {
  Machine m;
  auto const lacks = m.push({datum(1)}, 9);
  auto const there = m.push({datum(2, on_host | on_first)}, 1);
  auto const urgent = m.push({datum(2, on_host | on_first)}, 2);
  m.push({datum(1)});
  CHECK(m.pop(g1) == urgent);
  CHECK(m.pop(g1) == there);
  CHECK(m.pop(g1) == lacks);
}

TEST_CASE("Darts: then the datum of which most tasks lack nothing else, and these tasks") {
  Machine m;
  auto const two = datum(2, on_host | on_first);
  auto const alone = m.push({datum(1), two}, 9);
  auto const first = m.push({datum(3), two});
  auto const both_lack = m.push({datum(3), datum(4)}, 9);
  auto const second = m.push({datum(3), two}, 1);
  CHECK(m.peek(g1, 4) == Tasks{second, first});
  CHECK(m.scheduler.future_uses(3, n1) == hs::FutureUses{2, 3});
  CHECK(m.scheduler.future_uses(3, n2) == hs::FutureUses{0, 3});
  CHECK(m.pop(g1) == second);
  CHECK(m.scheduler.future_uses(3, n1) == hs::FutureUses{1, 2});
  CHECK(m.pop(g1) == first); // datum 3 is on the way
  CHECK(m.pop(g1) == alone);
  CHECK(m.pop(g1) == both_lack); // it lacks one now, as `alone` did
  CHECK(!m.pop(g1));
  CHECK(m.scheduler.future_uses(3, n1) == hs::FutureUses{});
}

TEST_CASE("Darts: else the task that lacks the fewest bytes") {
  Machine m;
  m.push({datum(1), datum(2), datum(3)}, 9);
  auto const least = m.push({datum(4), datum(5)});
  CHECK(m.pop(g1) == least);
}

TEST_CASE(
    "Darts: a GPU plans its share, another has the rest, and then takes from the longest plan") {
  Machine m;
  Tasks tasks;
  for (int k = 0; k < 6; ++k) {
    tasks.push_back(m.push({datum(1)}, 6 - k));
  }
  CHECK(m.peek(g1, 8) == Tasks{tasks[0], tasks[1], tasks[2]});
  CHECK(m.peek(g2, 8) == Tasks{tasks[3]}); // half of the three that are left, and
  CHECK(m.pop(g2) == tasks[3]);
  CHECK(m.pop(g2) == tasks[4]);
  CHECK(m.pop(g2) == tasks[5]);
  CHECK(m.pop(g2) == tasks[2]); // the least urgent of the first GPU
  CHECK(m.pop(g1) == tasks[0]);
}

TEST_CASE("Darts: a plan whose data are gone is made anew") {
  Machine m;
  auto const one = m.push({datum(1), datum(2, on_host | on_first)});
  auto const two = m.push({datum(1), datum(2, on_host | on_first)});
  auto const three = m.push({datum(1), datum(2, on_host | on_first)});
  m.push({datum(1), datum(2, on_host | on_first)});
  CHECK(m.pop(g1) == one);
  for (std::uint64_t k = 0; k < 8; ++k) { // so many taken since that datum 1 should be there
    m.push({datum(100 + k, on_host | on_first)}, 9);
    CHECK(m.pop(g1) != two);
  }
  auto const other = m.push({datum(3)}, 5);
  CHECK(m.scheduler.future_uses(1, n1).planned == 1);
  CHECK(m.pop(g1) == two);
  CHECK(m.pop(g1) == three);
  CHECK(other);
}

TEST_CASE("Darts: what becomes ready joins the plan of the GPU that has its data") {
  Machine m;
  auto const first = m.push({datum(1, on_host | on_first)});
  m.push({datum(1, on_host | on_first)});
  m.push({datum(1, on_host | on_first)});
  m.push({datum(1, on_host | on_first)});
  CHECK(m.pop(g1) == first);
  auto const urgent = m.push({datum(1, on_host | on_first)}, 5);
  CHECK(m.scheduler.future_uses(1, n1).planned == 2);
  CHECK(m.pop(g1) == urgent);
}

TEST_CASE("Darts: a task is left to the GPU that has the only copy of what it changes") {
  Machine m;
  auto const owned = m.push({datum(1, on_second, rw)}, 9);
  auto const other = m.push({datum(2), datum(3)});
  CHECK(m.pop(g1) == other);
  CHECK(m.pop(g1) == owned); // nothing else is left
  auto const read_only = m.push({datum(1, on_second)}, 9);
  auto const near = m.push({datum(4), datum(5)});
  CHECK(m.pop(g1) == read_only);
  CHECK(near);
}

TEST_CASE("Darts: a core has what it runs no later than a GPU, and GPUs leave that alone") {
  Machine m;
  auto const for_core = m.push({datum(1)}, 0, 10);
  CHECK(!m.pop(g1));
  auto const urgent = m.push({datum(1)}, 3, 5);
  CHECK(m.pop(w0) == urgent);
  CHECK(m.pop(w0) == for_core);
  m.push({datum(1)}, 0, 10);
  m.ctx.forbid(m.ctx.task_id(2), w0);
  CHECK(m.pop(g1)); // no core can run it
}

TEST_CASE("Darts: a core takes what GPUs gain least on if they have enough to do meanwhile") {
  Machine m;
  auto const less = m.push({datum(1)}, 0, 60);
  m.push({datum(2)}, 0, 70);
  m.push({datum(3)}, 0, 80);
  CHECK(!m.pop(w0)); // 30 wait: 15 for each GPU, of which 10/3 are 50
  m.push({datum(4)}, 0, 90);
  CHECK(m.pop(w0) == less); // 66
  CHECK(!m.pop(w0));        // 50
}

TEST_CASE("Darts: wakes an idle worker of the class that takes the task") {
  Machine m;
  auto const running = m.ctx.add({.archs = both});
  auto const add = [&m](std::int64_t on_core) {
    auto const task = m.ctx.add({.archs = both});
    m.ctx.predict(task, ArchHost, {on_core});
    m.ctx.predict(task, ArchCUDA, {10});
    return m.scheduler.push(m.ctx, task, w0);
  };
  CHECK(add(5) == hs::Wake::worker(w0));
  CHECK(add(100) == hs::Wake::worker(g2));
  m.ctx.set_running(g2, running);
  CHECK(add(100) == hs::Wake::worker(g1));
  m.ctx.set_running(g1, running);
  CHECK(add(100) == hs::Wake::any());
}

TEST_CASE("Darts: what a lost GPU had planned others have") {
  Machine m;
  auto const first = m.push({datum(1)});
  auto const second = m.push({datum(1)});
  CHECK(m.peek(g1, 4) == Tasks{first});
  for (auto const task : {first, second}) {
    m.ctx.forbid(task, g1);
    m.ctx.forbid(task, g2);
  }
  CHECK(m.pop(w0)); // no GPU can run it, so it need not wait
  CHECK(m.pop(w0));
}

TEST_CASE("Darts: without times, and without GPUs, everybody takes everything") {
  ScriptedContext cores{{ArchHost, ArchHost}};
  Darts scheduler{cores.workers()};
  auto const task = cores.add({});
  CHECK(scheduler.push(cores, task, w0) == hs::Wake::any());
  CHECK(scheduler.pop(cores, w1) == task);

  ScriptedContext mixed{{ArchHost, ArchCUDA}};
  Darts unknowing{mixed.workers()};
  for (int k = 0; k < 2; ++k) {
    (void)unknowing.push(mixed, mixed.add({.archs = both}), w0);
  }
  CHECK(unknowing.pop(mixed, w0));
  CHECK(unknowing.pop(mixed, w1));
}

TEST_SUITE_END();

} // namespace darts_test
