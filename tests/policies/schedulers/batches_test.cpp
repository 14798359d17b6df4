// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/schedulers/batches.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::Accel32;
using hs::DualApprox2;
using hs::DualApprox43;
using hs::policies::Batches;

template hs::Wake Batches<Accel32>::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Batches<Accel32>::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t
Batches<Accel32>::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template void Batches<Accel32>::push_activated(ContextArchetype const&,
                                               std::span<hs::TaskId const>,
                                               hs::WorkerId,
                                               std::span<hs::Wake>);

namespace batches_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId gpu{1};
constexpr hs::WorkerId gpu_too{2};

/// A core on node 0, and two GPUs on nodes 1 and 2.
template <class Solver>
struct Machine {
  using Policy = Batches<Solver>;
  ScriptedContext ctx{{ArchHost, ArchCUDA, ArchCUDA}};
  Policy scheduler{ctx.workers()};

  /// With 8 bytes on a node.
  hs::TaskId add(std::optional<std::int64_t> on_core, std::int64_t on_gpu, int node = 0) {
    hs::ArgumentView const data{.bytes = 8, .valid_nodes = std::uint64_t{1} << node};
    auto const task = ctx.add({.archs = both, .arguments = {data}});
    if (on_core) {
      ctx.predict(task, ArchHost, {*on_core});
    }
    ctx.predict(task, ArchCUDA, {on_gpu});
    return task;
  }

  hs::Wake push(hs::TaskId task) { return scheduler.push(ctx, task, hs::no_worker); }

  std::vector<hs::WorkerId> activate(std::vector<hs::TaskId> const& tasks) {
    std::vector<hs::Wake> wakes(tasks.size());
    scheduler.push_activated(ctx, tasks, core, wakes);
    std::vector<hs::WorkerId> targets;
    for (auto const wake : wakes) {
      targets.push_back(wake.target());
    }
    return targets;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }
};

using Workers = std::vector<hs::WorkerId>;

struct Count : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "count";
};

} // namespace batches_test

template <>
struct hetsched::TaskBodyCPU<batches_test::Count> {
  void operator()(int& value) const { ++value; }
};

namespace batches_test {

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE_TEMPLATE("Batches: hooks and declarations", Solver, DualApprox2, DualApprox43, Accel32) {
  static_assert(
      hs::hooks_of<Batches<Solver>, ContextArchetype>() ==
      (hs::hook_push | hs::hook_push_activated | hs::hook_pop | hs::hook_peek | hs::hook_epilogue));
  static_assert(Batches<Solver>::threading == hs::Threading::serialized);
  CHECK(typename Batches<Solver>::Config{}.solver.tolerance == 1e-3);
}

TEST_CASE_TEMPLATE("Batches: what is ready at once, each where the solver says",
                   Solver,
                   DualApprox43,
                   Accel32) {
  Machine<Solver> m;
  //  core |2            |   A bound of 30. The GPUs end their own at 25 each.
  //  GPU  |0         |
  //  GPU  |1         |
  std::vector const tasks{m.add(500, 25), m.add(500, 25), m.add(30, 29)};
  CHECK(m.activate(tasks) == Workers{gpu, gpu_too, core});
  CHECK(m.pop(core) == tasks[2]);
  CHECK(m.pop(core) == hs::no_task);
  CHECK(m.pop(gpu) == tasks[0]);
  CHECK(m.pop(gpu_too) == tasks[1]);
}

TEST_CASE_TEMPLATE(
    "Batches: the longest of a worker first", Solver, DualApprox2, DualApprox43, Accel32) {
  Machine<Solver> m;
  std::vector const tasks{m.add(9000, 10), m.add(9000, 100), m.add(9000, 90)};
  CHECK(m.activate(tasks) == Workers{gpu_too, gpu, gpu_too});
  std::vector<hs::TaskId> next(3);
  CHECK(m.scheduler.peek(m.ctx, gpu_too, next) == 2);
  CHECK(next[0] == tasks[2]);
  CHECK(next[1] == tasks[0]);
  CHECK(m.pop(gpu_too) == tasks[2]);
}

TEST_CASE_TEMPLATE("Batches: to the data, as long as nobody waits for that",
                   Solver,
                   DualApprox2,
                   DualApprox43,
                   Accel32) {
  Machine<Solver> m;
  // Both lie on node 2, where the first of equals goes; by 10, that GPU ends no other.
  CHECK(m.activate({m.add(900, 10, 2), m.add(900, 10, 2)}) == Workers{gpu_too, gpu});
  // With 10 to do on each, 25 is the least for both.
  CHECK(m.activate({m.add(900, 15, 1), m.add(900, 15, 1)}) == Workers{gpu, gpu_too});
}

TEST_CASE("Batches: what workers have to do is part of the problem") {
  Machine<DualApprox43> m;
  CHECK(m.activate({m.add(9000, 40), m.add(9000, 40)}) == Workers{gpu, gpu_too});
  CHECK(m.activate({m.add(30, 20)}) == Workers{core}); // ends at 30, on a GPU at 60
  (void)m.pop(gpu);
  (void)m.pop(gpu_too);
  m.ctx.set_now({35});
  CHECK(m.activate({m.add(30, 20)}) == Workers{gpu}); // at 60, on the core, late itself, at 65
}

TEST_CASE("Batches: what is pushed one by one is placed anew when somebody looks for work") {
  Machine<Accel32> m;
  auto const first = m.add(5, 4);
  auto const second = m.add(100, 4);
  auto const third = m.add(100, 4);
  CHECK(m.push(first) == hs::Wake::worker(gpu));
  CHECK(m.push(second) == hs::Wake::worker(gpu_too));
  CHECK(m.push(third).target() != core);
  CHECK(m.pop(core) == first); // the GPUs have enough to do
  CHECK(m.pop(gpu) != hs::no_task);
  CHECK(m.pop(gpu_too) != hs::no_task);
}

TEST_CASE("Batches: only who was woken gets what others were woken for") {
  Machine<Accel32> m;
  auto const first = m.add(5, 4);
  CHECK(m.push(first) == hs::Wake::worker(gpu));
  auto const second = m.add(100, 4);
  CHECK(m.push(second) == hs::Wake::worker(gpu_too));
  CHECK(m.pop(gpu) == first); // the core sleeps
  CHECK(m.pop(gpu_too) == second);
  CHECK(m.pop(core) == hs::no_task);
}

TEST_CASE("Batches: a task of unknown time is tried by whoever is free") {
  Machine<DualApprox2> m;
  auto const unknown = m.add(std::nullopt, 10);
  CHECK(m.push(unknown) == hs::Wake::any());
  auto const other = m.add(std::nullopt, 10);
  CHECK(m.activate({m.add(900, 10), other}) == Workers{gpu, hs::no_worker});
  CHECK(m.pop(core) == unknown);
  CHECK(m.pop(core) == other);
}

TEST_CASE("Batches: a set for which DualApprox43 has no room goes by Accel32") {
  Machine<Accel32> expected;
  Machine<DualApprox43> m;
  Batches<DualApprox43> small(m.ctx.workers(), {.solver = {.most_states = 1}});
  std::vector<hs::TaskId> tasks;
  std::vector<hs::TaskId> same;
  for (std::int64_t k = 1; k <= 12; ++k) {
    tasks.push_back(m.add(k * 37 % 50 + 10, k * 11 % 20 + 5));
    same.push_back(expected.add(k * 37 % 50 + 10, k * 11 % 20 + 5));
  }
  std::vector<hs::Wake> wakes(tasks.size());
  small.push_activated(m.ctx, tasks, core, wakes);
  auto const targets = expected.activate(same);
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    CHECK(wakes[k] == hs::Wake::worker(targets[k]));
  }
}

TEST_CASE_TEMPLATE("Batches: runs on threads", Solver, DualApprox2, DualApprox43, Accel32) {
  hs::Runtime<Batches<Solver>, hs::policies::Lru, hs::policies::History> rt(
      {.cpus = 3, .bind = hs::Bind::none, .devices = "none"});
  std::vector<int> values(20);
  std::vector<hs::Handle<int>> handles;
  for (auto& value : values) {
    handles.push_back(rt.data(value));
  }
  for (int round = 0; round < 30; ++round) { // times are known from the third on
    for (auto const& handle : handles) {
      rt.template spawn<Count>()(handle);
    }
  }
  rt.sync();
  CHECK(values == std::vector<int>(20, 30));
}

TEST_SUITE_END();

} // namespace batches_test
