// SPDX-License-Identifier: MIT
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"
#include "../../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::detail::DualApproximation;
using hs::policies::DualHP;

template hs::Wake DualHP::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId DualHP::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t DualHP::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);

namespace dual_hp_test {

constexpr auto only_core = hs::ArchMask::only(ArchHost);
constexpr auto only_gpu = hs::ArchMask::only(ArchCUDA);
constexpr auto both = only_core | only_gpu;

/// Cores, then one GPU. It is 1000.
struct Machine {
  explicit Machine(int cores = 1)
      : ctx([cores] {
          std::vector<hs::Arch> archs(static_cast<std::size_t>(cores), ArchHost);
          archs.emplace_back(ArchCUDA);
          return archs;
        }()),
        scheduler(ctx.workers()), gpu(cores) {
    ctx.set_now({1000});
  }

  hs::TaskId add(std::int64_t cpu, std::int64_t on_gpu, int priority, hs::ArchMask archs = both) {
    auto const task = ctx.add({.priority = priority, .archs = archs});
    ctx.predict(task, ArchHost, {cpu});
    ctx.predict(task, ArchCUDA, {on_gpu});
    return task;
  }

  hs::TaskId
  push(std::int64_t cpu, std::int64_t on_gpu, int priority = 0, hs::ArchMask archs = both) {
    auto const task = add(cpu, on_gpu, priority, archs);
    wake = scheduler.push(ctx, task, hs::no_worker);
    return task;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  void run(hs::WorkerId worker, std::int64_t more) {
    ctx.set_running(worker, ctx.add({}));
    ctx.set_busy_until(worker, {1000 + more});
  }

  ScriptedContext ctx;
  DualHP scheduler;
  hs::WorkerId core{0};
  hs::WorkerId gpu;
  hs::Wake wake;
};

std::string sides(DualApproximation const& guesses,
                  std::vector<DualApproximation::Times> const& tasks,
                  std::int64_t guess) {
  std::string told;
  bool const good = guesses.fill(tasks, guess, [&](std::size_t side) {
    told += side == DualApproximation::cores ? 'c' : 'g';
  });
  return good ? told : "no";
}

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("DualApproximation: what a guess does") {
  auto const never = DualApproximation::never;
  DualApproximation one;
  one.workers = {1, 1};
  SUBCASE("what is too long for one side goes to the other") {
    CHECK(sides(one, {{40, 10}, {10, 40}}, 10) == "gc");
    CHECK(sides(one, {{40, 10}, {10, 40}}, 9) == "no"); // each is too long for both
    CHECK(sides(one, {{never, 10}, {10, never}}, 10) == "gc");
  }
  SUBCASE("no more than the guess, by side, is forced upon it") {
    CHECK(sides(one, {{40, 10}, {40, 10}}, 20) == "gg");
    CHECK(sides(one, {{40, 10}, {40, 10}}, 19) == "no");
    CHECK(sides(one, {{10, 40}, {10, 40}}, 20) == "cc");
    CHECK(sides(one, {{10, 40}, {10, 40}}, 19) == "no");
  }
  SUBCASE("GPUs get what begins before the guess, cores the rest") {
    CHECK(sides(one, {{30, 20}, {30, 20}}, 30) == "gg"); // ends at 40, below twice the guess
    CHECK(sides(one, {{40, 10}, {40, 10}, {40, 10}, {40, 10}, {40, 10}}, 40) == "ggggc");
    CHECK(sides(one, {{40, 10}, {40, 10}, {40, 10}, {40, 10}, {40, 10}}, 41) == "ggggg");
    CHECK(sides(one, {{30, 10}, {20, 10}, {20, 10}, {20, 10}}, 20) == "no"); // 10 + 10, 20 + 20
  }
  SUBCASE("what is forced comes before what is filled") {
    CHECK(sides(one, {{20, 10}, {40, 15}, {20, 15}}, 20) == "ggc"); // 15, 15 + 10, no more
  }
  SUBCASE("what workers run counts") {
    one.busy = {0, 39};
    CHECK(sides(one, {{40, 10}}, 40) == "g");
    one.busy = {0, 40};
    CHECK(sides(one, {{40, 10}}, 40) == "c");
    one.busy = {1, 40};
    CHECK(sides(one, {{40, 10}}, 40) == "no");
    one.busy = {0, 41};
    CHECK(sides(one, {{40, 10}}, 40) == "no");
    one.workers = {2, 2}; // by side
    CHECK(sides(one, {{40, 10}}, 40) == "g");
  }
}

TEST_CASE("DualApproximation: the least guess") {
  DualApproximation one;
  one.workers = {1, 1};
  using Tasks = std::vector<DualApproximation::Times>;
  CHECK(one.least_guess(Tasks{{40, 10}}) == 10);
  CHECK(one.least_guess(Tasks{{40, 10}, {40, 10}}) == 20);
  CHECK(one.least_guess(Tasks(5, {40, 10})) == 40);
  CHECK(one.least_guess(Tasks(2, {30, 20})) == 30);
  one.busy = {100, 0};
  CHECK(one.least_guess(Tasks{{40, 10}}) == 100);
  one.workers = {0, 2};
  one.busy = {};
  CHECK(one.least_guess(Tasks(5, {DualApproximation::never, 10})) == 25);
}

TEST_CASE("DualHP: hooks and declarations") {
  static_assert(hs::hooks_of<DualHP, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek));
  static_assert(DualHP::threading == hs::Threading::serialized);
  static_assert(DualHP::priority_scope == hs::PriorityScope::none);
}

TEST_CASE("DualHP: the highest factor is the GPUs' first, then priority, then age") {
  // The guess is 40, for 4 tasks of 10 on the GPU.
  Machine m;
  SUBCASE("factor") {
    auto const low = m.push(39, 10, 9);
    for (int k = 0; k < 4; ++k) {
      m.push(40, 10);
    }
    CHECK(m.pop(m.core) == low);
    CHECK(m.pop(m.core) == hs::no_task);
  }
  SUBCASE("priority") {
    m.push(40, 10, 2);
    auto const low = m.push(40, 10, 1);
    for (int k = 0; k < 3; ++k) {
      m.push(40, 10, 2);
    }
    CHECK(m.pop(m.core) == low);
  }
  SUBCASE("age") {
    for (int k = 0; k < 4; ++k) {
      m.push(40, 10);
    }
    auto const last = m.push(40, 10);
    CHECK(m.pop(m.core) == last);
  }
}

TEST_CASE("DualHP: workers take the highest priority of their side, the oldest among equals") {
  Machine m;
  auto const first = m.push(40, 10, 3);
  auto const second = m.push(60, 10, 3);
  auto const urgent = m.push(50, 10, 8);
  auto const low = m.push(80, 10, 1);
  CHECK(m.pop(m.core) == hs::no_task);
  CHECK(m.pop(m.gpu) == urgent);
  m.ctx.forbid(first, m.gpu);
  CHECK(m.pop(m.gpu) == second);
  CHECK(m.pop(m.gpu) == low);
  CHECK(m.pop(m.gpu) == hs::no_task);
  m.ctx.permit(first, m.gpu);
  CHECK(m.pop(m.gpu) == first);
}

TEST_CASE("DualHP: shares out anew when a task becomes ready") {
  Machine m;
  auto const low = m.push(40, 10, 1);
  for (int k = 0; k < 3; ++k) {
    m.push(40, 10, 5);
  }
  CHECK(m.pop(m.core) == hs::no_task); // all four are the GPU's
  auto const last = m.push(40, 10, 5);
  CHECK(m.pop(m.core) == low);
  CHECK(m.pop(m.core) == hs::no_task);
  for (int k = 0; k < 3; ++k) {
    CHECK(m.pop(m.gpu) != last);
  }
  CHECK(m.pop(m.gpu) == last);
}

TEST_CASE("DualHP: counts what workers have yet to do") {
  SUBCASE("of the GPU") {
    Machine free_before;
    free_before.run(free_before.gpu, 39);
    free_before.push(40, 10);
    CHECK(free_before.pop(free_before.core) == hs::no_task);
    Machine busy;
    busy.run(busy.gpu, 40);
    auto const task = busy.push(40, 10);
    CHECK(busy.pop(busy.core) == task);
  }
  SUBCASE("of the cores, all together") {
    // Two cores that have 100 to do let no guess below 50 succeed; up to that the GPU is filled.
    Machine m(2);
    m.run(m.core, 100);
    m.run(m.gpu, 45);
    auto const task = m.push(40, 10);
    CHECK(m.pop({1}) == hs::no_task);
    CHECK(m.pop(m.gpu) == task);
  }
}

TEST_CASE("DualHP: wakes who gets one more") {
  Machine m(2);
  m.push(40, 10);
  CHECK(m.wake == hs::Wake::worker(m.gpu));
  for (int k = 0; k < 3; ++k) {
    m.push(40, 10);
    CHECK(m.wake == hs::Wake::worker(m.gpu));
  }
  m.push(40, 10); // the guess is 40: one for a core
  CHECK(m.wake == hs::Wake::any());
  m.push(10, 30, 0, only_core);
  CHECK(m.wake == hs::Wake::any());
}

TEST_CASE("DualHP: nothing is left to a side that sleeps") {
  // The fifth task, which only the GPU can run, makes one of the others the core's, of which the
  // answer can say nothing.
  Machine m;
  for (int k = 0; k < 4; ++k) {
    m.push(40, 10);
  }
  auto const forced = m.push(1, 10, 1, only_gpu);
  CHECK(m.wake == hs::Wake::worker(m.gpu));
  CHECK(m.pop(m.gpu) == forced);
  for (int k = 0; k < 3; ++k) {
    CHECK(m.pop(m.gpu));
  }
  CHECK(m.pop(m.gpu) == hs::no_task); // the core looks, too, at this time
  m.ctx.set_now({1010});
  SUBCASE("that sleeps") {
    CHECK(m.pop(m.gpu));
  }
  SUBCASE("that has something to do") {
    m.run(m.core, 100);
    CHECK(m.pop(m.gpu) == hs::no_task);
  }
  SUBCASE("that looks for itself") {
    CHECK(m.pop(m.core));
    CHECK(m.pop(m.gpu) == hs::no_task);
  }
}

TEST_CASE("DualHP: tasks of unknown times go to whoever has nothing else") {
  Machine m;
  auto const unknown = m.ctx.add({.priority = 9, .archs = both});
  CHECK(m.scheduler.push(m.ctx, unknown, hs::no_worker) == hs::Wake::any());
  auto const known = m.push(40, 10);
  CHECK(m.pop(m.gpu) == known);
  CHECK(m.pop(m.gpu) == unknown);
}

TEST_CASE("DualHP: schedules worked out on paper") {
  using simulated::Fast;
  using simulated::Mix;
  std::vector<std::string> log;
  auto config = simulated::on(1, 1);
  config.on_task = [&log](hs::SimulatedTask const& task) {
    log.push_back(std::string(task.label) + " " + std::to_string(task.worker.value) + " " +
                  std::to_string(task.begin.ns) + " " + std::to_string(task.end.ns));
  };
  std::vector<int> memory(6);
  hs::SimulatedRuntime<DualHP> rt(config);
  auto const x = simulated::cells(rt, memory);
  SUBCASE("guess 40: four tasks on the GPU, the lowest priority on the core") {
    for (auto const* const name : {"1", "3", "5", "4", "2"}) {
      rt.spawn<Fast>(hs::label(name),
                     hs::priority(*name - '0'))(x[static_cast<std::size_t>(*name - '1')]);
    }
    CHECK(simulated::waited(rt) == 40);
    CHECK(log ==
          std::vector<std::string>{"5 1 0 10", "4 1 10 20", "3 1 20 30", "1 0 0 40", "2 1 30 40"});
  }
  SUBCASE("guess 30: the GPU ends at 40, where one task each would end at 30") {
    rt.spawn<Mix>(hs::label("a"))(x[0], x[1]);
    rt.spawn<Mix>(hs::label("b"))(x[2], x[3]);
    CHECK(simulated::waited(rt) == 40);
    CHECK(log == std::vector<std::string>{"a 1 0 20", "b 1 20 40"});
  }
  SUBCASE("what becomes ready while the GPU is at work") {
    // b and c follow a (20 on the GPU), and d, of 20 there, is not taken yet. At 20: d, b and c are
    // ready; the least guess is 30, the GPU gets b and c (factor 4), and d, as 20 is below 30.
    rt.spawn<Mix>(hs::label("a"), hs::priority(1))(x[0], x[1]);
    rt.spawn<Mix>(hs::label("d"))(x[2], x[3]);
    rt.spawn<Fast>(hs::label("b"))(x[1]);
    rt.spawn<Fast>(hs::label("c"), hs::priority(1))(x[0]);
    CHECK(simulated::waited(rt) == 60);
    CHECK(log == std::vector<std::string>{"a 1 0 20", "c 1 20 30", "d 1 30 50", "b 1 50 60"});
  }
}

TEST_SUITE_END();

} // namespace dual_hp_test
