// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"
#include "../../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::Multigrain;

template hs::Wake Multigrain<>::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);

namespace multigrain_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId other{1};
constexpr hs::WorkerId gpu{2};
constexpr auto only_core = hs::ArchMask::only(ArchHost);
constexpr auto only_gpu = hs::ArchMask::only(ArchCUDA);
constexpr auto both = only_core | only_gpu;

template <class S = Multigrain<>>
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA}};
  S scheduler;

  explicit Machine(bool guided = true) : scheduler(ctx.workers(), {.guided = guided}) {}

  hs::TaskId push(hs::ArchMask archs,
                  std::int32_t reuse = 0,
                  hs::WorkerId maker = hs::no_worker,
                  bool spawns = true) {
    auto const task = ctx.add({.archs = archs,
                               .arguments = {{.bytes = 8, .data = 1, .reuse = -100},
                                             {.bytes = 8, .data = 2, .reuse = reuse}},
                               .spawns = spawns});
    CHECK(scheduler.push(ctx, task, maker) == hs::Wake::any());
    return task;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  hs::TaskId steal(hs::WorkerId worker) { return scheduler.steal(ctx, worker); }

  /// A core breaks the task down now.
  void begin(hs::WorkerId worker, hs::TaskId task) { ctx.set_running(worker, task); }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Multigrain: hooks and declarations") {
  static_assert(hs::hooks_of<Multigrain<>, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_steal));
  static_assert(Multigrain<>::threading == hs::Threading::serialized);
}

TEST_CASE("Multigrain: GPUs take the highest reuse index, cores the lowest") {
  Machine<> m;
  auto const two = m.push(both, 2);
  auto const nine = m.push(both, 9);
  auto const one = m.push(both, 1);
  auto const nine_again = m.push(both, 9);
  auto const least_but_not_for_cores = m.push(only_gpu, 0);
  std::array<hs::TaskId, 8> next{};
  REQUIRE(m.scheduler.peek(m.ctx, gpu, next) == 5);
  CHECK(next[0] == nine_again);
  CHECK(next[1] == nine);
  CHECK(next[2] == two);
  CHECK(m.pop(gpu) == nine_again);
  CHECK(m.pop(core) == hs::no_task); // there is nothing small
  CHECK(m.steal(core) == one);
  CHECK(m.pop(gpu) == nine);
  CHECK(m.pop(gpu) == two);
  CHECK(m.pop(gpu) == least_but_not_for_cores);
  CHECK(m.pop(gpu) == hs::no_task);
  CHECK(m.steal(gpu) == hs::no_task);
}

TEST_CASE("Multigrain: unguided, the two ends of a deque") {
  Machine<> m(false);
  auto const first = m.push(both, 9);
  auto const second = m.push(both, 1);
  auto const third = m.push(both, 5);
  CHECK(m.pop(gpu) == third);
  CHECK(m.steal(core) == first);
  CHECK(m.pop(gpu) == second);
}

TEST_CASE("Multigrain: a core's own tasks, then those of other cores, then a super-task") {
  Machine<> m;
  auto const large = m.push(both, 3);
  auto const older = m.push(only_core, 0, core);
  auto const newer = m.push(only_core, 0, core);
  auto const last = m.push(only_core, 0, core);
  CHECK(m.pop(gpu) == large);
  auto const another = m.push(both, 3);
  CHECK(m.pop(core) == last);
  CHECK(m.pop(other) == hs::no_task);
  CHECK(m.steal(other) == older);
  CHECK(m.pop(core) == newer);
  CHECK(m.pop(core) == hs::no_task);
  CHECK(m.steal(core) == another);
}

TEST_CASE("Multigrain: small tasks that no core makes are dealt out") {
  Machine<> m;
  std::vector<hs::TaskId> made;
  for (int k = 0; k < 4; ++k) {
    made.push_back(m.push(only_core, 0, k % 2 == 0 ? hs::no_worker : gpu));
  }
  CHECK(m.pop(other) == made[2]);
  CHECK(m.pop(other) == made[0]);
  CHECK(m.pop(other) == hs::no_task);
  CHECK(m.pop(core) == made[3]);
  CHECK(m.pop(core) == made[1]);
}

TEST_CASE("Multigrain: one core at a time breaks a super-task down") {
  Machine<> m;
  auto const first = m.push(both, 1);
  auto const second = m.push(both, 2);
  auto const whole = m.push(both, 3, hs::no_worker, false); // a core, too, runs it as it is
  auto const third = m.push(both, 4);
  CHECK(m.steal(core) == first);
  m.begin(core, first);
  CHECK(m.steal(other) == whole);
  CHECK(m.steal(other) == hs::no_task);
  auto const small = m.push(only_core, 0, core);
  CHECK(m.steal(other) == small);
  CHECK(m.steal(other) == second); // `first` has begun to give tasks
  m.begin(other, second);
  CHECK(m.steal(core) == hs::no_task);
  m.begin(other, hs::no_task); // it has ended, and spawned nothing
  CHECK(m.steal(core) == third);
}

/// Adds up what it is given: on a device at once, on cores in a task for each datum.
struct Increment : hs::Task<1>::Signature<hs::RW<hs::Each<int>>> {
  template <class Rt>
  static void cpu(Rt& rt, hs::Each<hs::Handle<int>> all) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      rt.spawn()([](int& x) { ++x; }, hs::read_write(all[k]));
    }
  }
};

TEST_CASE("Multigrain: on threads, super-tasks that spawn") {
  for (int const cpus : {1, 2, 4}) {
    hs::Runtime<Multigrain<>> rt(support::on_cpus(cpus));
    std::vector<int> values(60);
    std::vector<std::vector<hs::Handle<int>>> blocks(6);
    for (std::size_t k = 0; k < values.size(); ++k) {
      blocks[k / 10].push_back(rt.data(values[k]));
    }
    for (int round = 0; round < 20; ++round) {
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        rt.spawn<Increment>(hs::reuse(static_cast<int>(b)))(blocks[b]);
      }
    }
    rt.sync();
    CHECK(values == std::vector<int>(60, 20));
    CHECK(rt.stats().executed == 20 * 6 * 11);
  }
}

TEST_SUITE_END();

} // namespace multigrain_test
