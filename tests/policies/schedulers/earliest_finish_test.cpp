// SPDX-License-Identifier: MIT
// XkaapiHeft and the Dmda family: dates worked out on paper.

#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::Dmda;
using hs::policies::Dmdar;
using hs::policies::Dmdas;
using hs::policies::XkaapiHeft;

/// Whose hooks XkaapiHeft<> and Dmdas have.
using InOrder = hs::detail::EarliestFinish<hs::policies::Fifo, hs::policies::Fifo>;
using ByPriority =
    hs::detail::EarliestFinish<hs::policies::PriorityHeap, hs::policies::PriorityHeap>;

template hs::Wake InOrder::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId ByPriority::pop(ContextArchetype const&, hs::WorkerId);
template hs::TaskId Dmdar::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t ByPriority::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template std::size_t Dmdar::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace earliest_finish_test {

constexpr hs::WorkerId g2{2};

/// Workers 0 and 1 are host cores, 2 is a GPU.
template <class S>
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA}};
  S scheduler{ctx.workers()};

  hs::TaskId add(std::optional<std::int64_t> cpu,
                 std::optional<std::int64_t> gpu,
                 std::int64_t transfer = 0,
                 std::int32_t priority = 0) {
    auto const task = ctx.add({.priority = priority, .archs = both, .transfer = {transfer}});
    if (cpu) {
      ctx.predict(task, ArchHost, {*cpu});
    }
    if (gpu) {
      ctx.predict(task, ArchCUDA, {*gpu});
    }
    return task;
  }

  /// The worker that is woken for it.
  hs::WorkerId pushed(hs::TaskId task) { return scheduler.push(ctx, task, w0).target(); }

  /// The worker takes its next task, and it ends at a time.
  hs::TaskId run(hs::WorkerId worker, std::int64_t end) {
    auto const task = scheduler.pop(ctx, worker);
    if (task) {
      ctx.set_running(worker, task);
      ctx.set_now({end});
      scheduler.epilogue(ctx, task, worker, hs::Duration{});
      ctx.set_running(worker, hs::no_task);
    }
    return task;
  }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("XkaapiHeft, Dmda: hooks and declarations") {
  constexpr unsigned least = hs::hook_push | hs::hook_pop | hs::hook_epilogue;
  static_assert(hs::hooks_of<XkaapiHeft<>, ContextArchetype>() ==
                (least | hs::hook_push_activated | hs::hook_peek));
  static_assert(hs::hooks_of<Dmda<>, ContextArchetype>() == (least | hs::hook_peek));
  static_assert(hs::hooks_of<Dmdas, ContextArchetype>() == (least | hs::hook_peek));
  static_assert(hs::hooks_of<Dmdar, ContextArchetype>() == (least | hs::hook_peek));
  static_assert(Dmda<>::priority_scope == hs::PriorityScope::none);
  static_assert(Dmdas::priority_scope == hs::PriorityScope::per_queue);
}

TEST_CASE_TEMPLATE("XkaapiHeft, Dmda: to the worker that ends it first",
                   S,
                   XkaapiHeft<>,
                   Dmda<>,
                   Dmdar,
                   Dmdas,
                   XkaapiHeft<hs::policies::PriorityHeap>) {
  Machine<S> m;
  CHECK(m.pushed(m.add(40, 10)) == g2); // until 10
  CHECK(m.pushed(m.add(40, 10)) == g2); // 20
  CHECK(m.pushed(m.add(25, 10)) == w0); // 25, not 30
  CHECK(m.pushed(m.add(30, 10)) == w1); // 30 on both: the lower number
}

TEST_CASE_TEMPLATE("XkaapiHeft, Dmda: transfers count, and hide behind what the worker does",
                   S,
                   XkaapiHeft<>,
                   Dmda<>,
                   Dmdar) {
  Machine<S> m;
  CHECK(m.pushed(m.add(40, 10, 35)) == w0); // 45 on the GPU
  CHECK(m.pushed(m.add(60, 10, 35)) == g2); // 45: the kernel waits for the data
  CHECK(m.pushed(m.add(90, 10, 30)) == g2); // 45 + 30 + 10 < 90; there by 45, it ends at 55
  CHECK(m.pushed(m.add(66, 10)) == g2);     // 65 < 66 on worker 1
}

TEST_CASE_TEMPLATE(
    "XkaapiHeft, Dmda: dates are corrected when tasks end", S, XkaapiHeft<>, Dmda<>, Dmdar, Dmdas) {
  Machine<S> m;
  auto const first = m.add(500, 100);
  auto const second = m.add(500, 20);
  CHECK(m.pushed(first) == g2);
  CHECK(m.pushed(second) == g2);
  CHECK(m.run(g2, 5) == first);         // it was to end at 100
  CHECK(m.pushed(m.add(50, 10)) == g2); // at 5 + 20 + 10, on a core at 55
}

TEST_CASE("XkaapiHeft: what was made ready at once goes by speedup, the highest first") {
  Machine<XkaapiHeft<>> m;
  // Speedups 2, 10, 5; the GPU gets them in the order 10, 5, 2 as long as it ends them first.
  std::vector const tasks{m.add(40, 20), m.add(100, 10), m.add(100, 20)};
  std::vector<hs::Wake> wakes(3, hs::Wake::none());
  m.scheduler.push_activated(m.ctx, tasks, w0, wakes);
  CHECK(wakes[1] == hs::Wake::worker(g2)); // 10
  CHECK(wakes[2] == hs::Wake::worker(g2)); // 30
  CHECK(wakes[0] == hs::Wake::worker(w0)); // 40, not 50
  CHECK(m.run(g2, 10) == tasks[1]);
  CHECK(m.run(g2, 30) == tasks[2]);
}

TEST_CASE_TEMPLATE("XkaapiHeft, Dmda: a task of unknown time is tried by whoever is free",
                   S,
                   XkaapiHeft<>,
                   Dmda<>,
                   Dmdar,
                   Dmdas) {
  Machine<S> m;
  auto const known = m.add(10, 100);
  auto const unknown = m.add(10, std::nullopt); // on the GPU: never as 0
  CHECK(m.scheduler.push(m.ctx, unknown, w0) == hs::Wake::any());
  CHECK(m.pushed(known) == w0);
  CHECK(m.run(w0, 5) == known); // what is its own comes first
  CHECK(m.run(g2, 9) == unknown);
  CHECK(m.run(w1, 9) == hs::no_task);
}

TEST_CASE("Dmdas: only what is not lower is before a task, and runs before it") {
  Machine<Dmdas> m;
  auto const low = m.add(500, 100, 0, 1);
  auto const high = m.add(130, 50, 0, 5);
  auto const equal = m.add(90, 60, 0, 5);
  CHECK(m.pushed(low) == g2);
  CHECK(m.pushed(high) == g2);  // at 50, before `low`; 130 on a core
  CHECK(m.pushed(equal) == w0); // 90; behind `high` on the GPU 110
  CHECK(m.run(g2, 50) == high);
  CHECK(m.run(g2, 150) == low);
  std::array<hs::TaskId, 2> next;
  CHECK(m.scheduler.peek(m.ctx, w0, next) == 1);
  CHECK(next[0] == equal);
}

TEST_CASE("Dmdar: first what lacks the fewest bytes on the worker's node, then the oldest") {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  Dmdar scheduler(ctx.workers());
  constexpr hs::WorkerId gpu{1};
  auto const add = [&](std::vector<hs::ArgumentView> arguments) {
    auto const task =
        ctx.add({.archs = hs::ArchMask::only(ArchCUDA), .arguments = std::move(arguments)});
    ctx.predict(task, ArchCUDA, {10});
    CHECK(scheduler.push(ctx, task, hs::no_worker) == hs::Wake::worker(gpu));
    return task;
  };
  constexpr auto r = hs::AccessMode::read;
  constexpr auto w = hs::AccessMode::write;
  constexpr auto rw = hs::AccessMode::read_write;
  auto const all = add({{r, 100, 1, 1}, {rw, 50, 2, 1}});
  auto const half = add({{r, 100, 1, 3}, {rw, 50, 2, 1}});
  auto const none = add({{r, 100, 1, 2}, {w, 500, 2, 1}});
  auto const half_too = add({{r, 50, 3, 1}});
  for (auto const task : {none, half, half_too, all}) {
    CHECK(scheduler.pop(ctx, gpu) == task);
  }
}

TEST_CASE_TEMPLATE("XkaapiHeft, Dmda: what was taken and never ended is forgotten",
                   S,
                   XkaapiHeft<>,
                   Dmda<>) {
  Machine<S> m;
  CHECK(m.pushed(m.add(1000, 500)) == g2);
  CHECK(m.scheduler.pop(m.ctx, g2)); // and cancelled: no epilogue
  m.ctx.set_now({600});
  CHECK(m.pushed(m.add(100, 10)) == g2);
  CHECK(m.run(g2, 610));
  CHECK(m.pushed(m.add(20, 15)) == g2); // at 625
}

TEST_SUITE_END();

} // namespace earliest_finish_test
