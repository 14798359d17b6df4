// SPDX-License-Identifier: MIT
// DataAware and LocalityAware: which worker a task is sent to.

#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::DataAware;
using hs::policies::LocalityAware;

template hs::Wake DataAware<>::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::Wake LocalityAware<>::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);

namespace to_the_data_test {

constexpr auto r = hs::AccessMode::read;
constexpr auto w = hs::AccessMode::write;
constexpr auto rw = hs::AccessMode::read_write;
constexpr hs::WorkerId g2{2};
constexpr hs::WorkerId g3{3};
constexpr auto only_host = hs::ArchMask::only(ArchHost);
constexpr auto only_gpu = hs::ArchMask::only(ArchCUDA);
constexpr auto both = only_host | only_gpu;

// Bits of memory nodes: host memory, and those of the GPUs.
constexpr std::uint64_t host = 1;
constexpr std::uint64_t on_g2 = 2;
constexpr std::uint64_t on_g3 = 4;

/// Workers 0 and 1 are host cores, 2 and 3 GPUs.
template <class S>
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA, ArchCUDA}};
  S scheduler{ctx.workers()};

  hs::TaskId add(std::vector<hs::ArgumentView> arguments, hs::ArchMask archs = both) {
    return ctx.add({.archs = archs, .arguments = std::move(arguments)});
  }

  /// Where it went, by the workers' own pops.
  hs::WorkerId pushed(hs::TaskId task, hs::WorkerId from) {
    wake = scheduler.push(ctx, task, from);
    for (auto const& info : ctx.workers()) {
      if (auto const got = scheduler.pop(ctx, info.id)) {
        CHECK(got == task);
        return info.id;
      }
    }
    return hs::no_worker;
  }

  hs::Wake wake = hs::Wake::none();
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE_TEMPLATE("DataAware, LocalityAware: steal, run concurrently, ignore priorities",
                   S,
                   DataAware<>,
                   LocalityAware<>,
                   DataAware<hs::policies::Lifo, hs::policies::Fifo>) {
  static_assert(hs::hooks_of<S, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_steal));
  static_assert(S::threading == hs::Threading::concurrent);
  static_assert(S::priority_scope == hs::PriorityScope::none);
}

TEST_CASE("DataAware: to the worker with the most valid bytes") {
  Machine<DataAware<>> m;
  CHECK(m.pushed(m.add({{r, 10, 1, on_g2}, {r, 30, 2, on_g3}, {rw, 15, 3, on_g2}}), w0) == g3);
  CHECK(m.wake == hs::Wake::worker(g3));
  CHECK(m.pushed(m.add({{r, 20, 1, on_g2 | on_g3}, {r, 15, 2, on_g2}}), w0) == g2);
  // Written data count, too, as in algorithm 2; and only workers that can run the task.
  CHECK(m.pushed(m.add({{w, 20, 1, on_g3}}), w0) == g3);
  CHECK(m.pushed(m.add({{r, 10, 1, on_g2 | host}}, only_host), g2) != g2);
  CHECK(m.pushed(m.add({{r, 10, 1, host}, {r, 1, 2, on_g3}}, only_gpu), w1) == g3);
}

TEST_CASE("DataAware: among equals its maker, then by lot") {
  Machine<DataAware<>> m;
  for (int k = 0; k < 20; ++k) {
    CHECK(m.pushed(m.add({{r, 10, 1, host | on_g3}}), w1) == w1);
    CHECK(m.wake == hs::Wake::any());
    CHECK(m.pushed(m.add({}), g2) == g2); // no data
  }
  std::set<hs::WorkerId> met;
  for (int k = 0; k < 60; ++k) {
    met.insert(m.pushed(m.add({{r, 10, 1, host | on_g3}}), g2));
  }
  CHECK(met == std::set{w0, w1, g3});
}

TEST_CASE("DataAware: among equals the node that has what the task writes") {
  // As many bytes on both GPUs, and its maker's node has some of them.
  auto const equal = [](auto& m) { return m.add({{r, 10, 1, on_g2}, {rw, 10, 2, on_g3}}); };
  Machine<DataAware<>> m;
  CHECK(m.pushed(equal(m), g2) == g3);
  CHECK(m.pushed(m.add({{r, 11, 1, on_g2}, {rw, 10, 2, on_g3}}), g3) == g2); // more bytes first
  CHECK(m.pushed(m.add({{rw, 10, 1, on_g2}, {rw, 10, 2, on_g3}}), g2) == g2);
  Machine<DataAware<hs::policies::WorkStealingDeque,
                    hs::policies::Mailbox,
                    hs::policies::RandomVictim,
                    hs::policies::DataTies::alike>>
      other;
  CHECK(other.pushed(equal(other), g2) == g2);
  std::map<hs::WorkerId, int> met;
  for (int k = 0; k < 60; ++k) {
    ++met[other.pushed(equal(other), w0)];
  }
  CHECK(met.size() == 2);
}

TEST_CASE("LocalityAware: to an owner of the first datum that it writes") {
  Machine<LocalityAware<>> m;
  CHECK(m.pushed(m.add({{r, 100, 1, on_g3}, {rw, 1, 2, on_g2}, {w, 9, 3, on_g3}}), w0) == g2);
  CHECK(m.wake == hs::Wake::worker(g2));
  // One of the copies by lot, each as often, and one of those who share it. Its maker is preferred
  // to those that use the same copy as it, not to others.
  std::map<hs::WorkerId, int> met_by;
  for (int k = 0; k < 600; ++k) {
    ++met_by[m.pushed(m.add({{rw, 10, 1, host | on_g3}}), g3)];
  }
  CHECK(met_by.size() == 3);
  CHECK(std::abs(met_by[g3] - 300) < 80);
  CHECK(std::abs(met_by[w0] - 150) < 70);
  met_by.clear();
  for (int k = 0; k < 600; ++k) {
    ++met_by[m.pushed(m.add({{rw, 10, 1, host | on_g3}}), w1)];
  }
  CHECK(met_by.size() == 2);
  CHECK(std::abs(met_by[w1] - 300) < 80);
  CHECK(std::abs(met_by[g3] - 300) < 80);
  CHECK(m.pushed(m.add({{rw, 10, 1, host}}), w1) == w1);
  CHECK(m.wake == hs::Wake::any());
  std::set<hs::WorkerId> met;
  for (int k = 0; k < 60; ++k) {
    met.insert(m.pushed(m.add({{rw, 10, 1, host}}), g3));
  }
  CHECK(met == std::set{w0, w1});
  // Nothing is written, or no owner can run it: its maker, or whoever can.
  CHECK(m.pushed(m.add({{r, 100, 1, on_g3}}), w1) == w1);
  CHECK(m.pushed(m.add({{rw, 10, 1, on_g3}}, only_host), w0) == w0);
  CHECK(m.pushed(m.add({{rw, 10, 1, host}}, only_gpu), g3) == g3);
  met.clear();
  for (int k = 0; k < 40; ++k) {
    met.insert(m.pushed(m.add({{rw, 10, 1, host}}, only_gpu), w0));
  }
  CHECK(met == std::set{g2, g3});
}

TEST_CASE_TEMPLATE("DataAware, LocalityAware: what one is sent, others may steal",
                   S,
                   DataAware<>,
                   LocalityAware<>) {
  Machine<S> m;
  auto const task = m.add({{rw, 10, 1, on_g3}});
  CHECK(m.scheduler.push(m.ctx, task, w0) == hs::Wake::worker(g3));
  CHECK(m.scheduler.pop(m.ctx, w1) == hs::no_task);
  CHECK(m.scheduler.steal(m.ctx, w1).task == task);
  // While the target is busy, somebody else is woken, who can.
  m.ctx.set_running(g3, m.add({}));
  auto const other = m.add({{rw, 10, 1, on_g3}}, only_gpu);
  CHECK(m.scheduler.push(m.ctx, other, w0) == hs::Wake::any());
  CHECK(m.scheduler.steal(m.ctx, w1).task == hs::no_task);
  CHECK(m.scheduler.steal(m.ctx, g2).task == other);
}

TEST_SUITE_END();

} // namespace to_the_data_test
