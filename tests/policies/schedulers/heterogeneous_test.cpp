// SPDX-License-Identifier: MIT
// Heterogeneous: what it corrects in heftp, worked out on paper.

#include <hetsched/policies/schedulers/heterogeneous.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>

namespace hs = hetsched;
using namespace scripted;
using hs::policies::Heterogeneous;

using Base = hs::detail::CoresHelp<hs::detail::LeastUrgent>; // g++ instantiates no inherited member

template hs::TaskId Base::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t Base::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace heterogeneous_test {

constexpr hs::WorkerId gpu{2};
constexpr hs::NodeId gpu_memory{1};

/// Workers 0 and 1 are cores, 2 is a GPU. A task takes 100 on a core and 10 on the GPU.
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA}};
  Heterogeneous scheduler{ctx.workers()};

  hs::TaskId add(std::int32_t priority = 0, std::int64_t on_core = 100, std::int64_t on_gpu = 10) {
    auto const task = ctx.add({.priority = priority, .archs = both});
    ctx.predict(task, ArchHost, {on_core});
    ctx.predict(task, ArchCUDA, {on_gpu});
    return task;
  }

  hs::Wake push(hs::TaskId task) { return scheduler.push(ctx, task, hs::no_worker); }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  /// The GPU takes a task and runs it from now on.
  hs::TaskId begin() {
    auto const task = pop(gpu);
    ctx.set_running(gpu, task);
    return task;
  }

  void end(hs::TaskId task, std::int64_t at, std::int64_t took) {
    ctx.set_now({at});
    scheduler.epilogue(ctx, task, gpu, {took});
    ctx.set_running(gpu, hs::no_task);
  }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Heterogeneous: hooks and declarations") {
  static_assert(
      hs::hooks_of<Heterogeneous, ContextArchetype>() ==
      (hs::hook_push | hs::hook_pop | hs::hook_push_activated | hs::hook_epilogue | hs::hook_peek));
  static_assert(Heterogeneous::threading == hs::Threading::concurrent);
  static_assert(Heterogeneous::priority_scope == hs::PriorityScope::per_queue);
}

TEST_CASE("Heterogeneous: only GPUs are asked for what they accelerate most") {
  Machine m;
  for (int k = 0; k < 10; ++k) {
    CHECK(m.push(m.add()) == hs::Wake::worker(gpu)); // the last ends at 100
  }
  CHECK(m.push(m.add(0, 25, 10)) == hs::Wake::worker(gpu)); // a quarter of the factor 10
  CHECK(m.push(m.add(0, 24, 10)) == hs::Wake::worker(w0));
  auto const refused = m.add();
  m.ctx.forbid(refused, gpu); // it is lost
  CHECK(m.push(refused) == hs::Wake::worker(w1));
  CHECK(m.pop(w1) == refused);
  CHECK(m.push(m.add(0, 10000, 10)) == hs::Wake::worker(gpu));
  CHECK(m.push(m.add(0, 100, 10)) == hs::Wake::worker(w0)); // 10 is little now
}

TEST_CASE("Heterogeneous: cores are asked, too, for what its data make slow on a GPU") {
  Machine m;
  auto const push = [&m](std::int64_t transfer) {
    auto const task = m.ctx.add({.archs = both, .transfer = {transfer}});
    m.ctx.predict(task, ArchHost, {100});
    m.ctx.predict(task, ArchCUDA, {10});
    return m.push(task);
  };
  for (int k = 0; k < 20; ++k) {
    CHECK(push(89) == hs::Wake::worker(gpu)); // 99 on an idle GPU, however much it has to do
  }
  CHECK(push(91) == hs::Wake::worker(w0));
  CHECK(push(91) == hs::Wake::worker(w1));
  CHECK(push(500) == hs::Wake::worker(w0));
}

TEST_CASE("Heterogeneous: an idle core takes over the last task of a GPU that has enough") {
  Machine m;
  CHECK(m.push(m.add(7)) == hs::Wake::worker(gpu));
  CHECK(m.ctx.task(m.begin()).priority == 7);
  CHECK(m.push(m.add(3)) == hs::Wake::worker(gpu)); // the GPU is busy until 20
  auto const last = m.add(1);
  CHECK(m.push(last) == hs::Wake::worker(w0)); // 30: a core may take 100
  std::array<hs::TaskId, 2> next;
  CHECK(m.scheduler.peek(m.ctx, w1, next) == 1);
  CHECK(next[0] == last);
  CHECK(m.pop(w1) == last);
  CHECK(m.scheduler.peek(m.ctx, w0, next) == 0); // 20 again: a core may take 66
  CHECK(!m.pop(w0));
  CHECK(m.ctx.task(m.pop(gpu)).priority == 3);
}

TEST_CASE("Heterogeneous: the last is the lowest priority, of equals the newest") {
  Machine m;
  m.push(m.add(9));
  (void)m.begin();
  auto const oldest = m.add(1);
  auto const newest = m.add(1);
  m.push(oldest);
  m.push(newest);
  m.push(m.add(5));
  m.push(m.add(5));
  m.ctx.forbid(newest, w0); // a device claims it
  CHECK(m.pop(w0) == oldest);
  CHECK(m.pop(w1) == newest);
}

TEST_CASE("Heterogeneous: a core takes over nothing from a GPU that does not run yet") {
  Machine m;
  for (int k = 0; k < 6; ++k) {
    CHECK(m.push(m.add()) == hs::Wake::worker(gpu)); // it may sleep
  }
  CHECK(!m.pop(w0));
}

TEST_CASE("Heterogeneous: cores leave alone what they do too little of") {
  Machine m;
  m.push(m.add());
  (void)m.begin();
  for (int k = 0; k < 8; ++k) {
    m.push(m.add(1, 241, 10)); // 2 cores do less than 1/12 of what the GPU does
  }
  CHECK(!m.pop(w0));
  auto const shared = m.add(0, 240, 10);
  m.push(shared);
  CHECK(m.pop(w0) == shared);
}

TEST_CASE("Heterogeneous: a GPU tells the two tasks that come next, a core all") {
  Machine m;
  std::array<hs::TaskId, 8> next;
  for (std::int32_t const priority : {1, 3, 2}) {
    m.push(m.add(priority));
  }
  CHECK(m.scheduler.peek(m.ctx, gpu, next) == 2);
  CHECK(m.ctx.task(next[0]).priority == 3);
  CHECK(m.ctx.task(next[1]).priority == 2);
  for (int k = 0; k < 3; ++k) {
    auto const task = m.ctx.add({.archs = hs::ArchMask::only(ArchHost)});
    m.ctx.predict(task, ArchHost, {10});
    m.ctx.forbid(task, w1);
    CHECK(m.push(task) == hs::Wake::worker(w0));
  }
  CHECK(m.scheduler.peek(m.ctx, w0, next) == 3);
}

TEST_CASE("Heterogeneous: of those made ready together the highest priority chooses first") {
  Machine m;
  m.push(m.add());
  m.end(m.begin(), 10, 10);
  std::array<hs::TaskId, 2> const ready{m.add(1, 15, 10), m.add(2, 15, 10)};
  std::array<hs::Wake, 2> wakes;
  m.scheduler.push_activated(m.ctx, ready, w0, wakes);
  CHECK(wakes[1] == hs::Wake::worker(gpu));
  CHECK(wakes[0] == hs::Wake::worker(w0)); // 15 rather than 20
}

TEST_CASE(
    "Heterogeneous: a GPU that waits long, or has a full memory and waits, has the nearest first") {
  Machine m;
  auto const add = [&m](std::int32_t priority, std::uint64_t valid_nodes) {
    auto const task = m.ctx.add({.priority = priority,
                                 .archs = hs::ArchMask::only(ArchCUDA),
                                 .arguments = {{hs::AccessMode::read, 100, 1, valid_nodes}}});
    m.ctx.predict(task, ArchCUDA, {10});
    m.push(task);
    return task;
  };
  constexpr std::uint64_t at_host = 1;
  constexpr std::uint64_t at_gpu = 2;
  auto const full = m.ctx.nodes()[1].capacity_bytes;
  std::array<hs::TaskId, 2> next;
  auto const next_two = [&] {
    CHECK(m.scheduler.peek(m.ctx, gpu, next) == 2);
    return next;
  };
  auto const first = add(9, at_host);
  auto const second = add(5, at_host);
  auto const third = add(4, at_host);
  auto const fourth = add(3, at_gpu);

  CHECK(m.begin() == first);
  m.end(first, 10, 10); // it did not wait
  m.ctx.set_used_bytes(gpu_memory, full);
  CHECK(next_two() == std::array{second, third});
  CHECK(m.begin() == second);
  m.end(second, 30, 10); // its data came at 20
  auto const fifth = add(4, at_host);
  CHECK(next_two() == std::array{fourth, third});
  m.ctx.set_used_bytes(gpu_memory, full / 2);
  CHECK(next_two() == std::array{third, fifth});
  CHECK(m.begin() == third);
  m.end(third, 100, 10); // and at 90: it waited for 70 of 100
  CHECK(next_two() == std::array{fourth, fifth});
  m.ctx.set_used_bytes(gpu_memory, full);
  CHECK(m.pop(gpu) == fourth);
  CHECK(m.pop(gpu) == fifth);
  CHECK(!m.pop(gpu));
}

TEST_CASE("Heterogeneous: what no model knows goes to whoever is free") {
  Machine m;
  auto const unknown = m.ctx.add({.archs = both});
  CHECK(m.push(unknown) == hs::Wake::any());
  CHECK(m.pop(w1) == unknown);
}

TEST_SUITE_END();

} // namespace heterogeneous_test
