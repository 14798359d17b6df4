// SPDX-License-Identifier: MIT
#include <hetsched/policies/schedulers/scioto.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::SciotoDouble;
using hs::policies::SciotoSingle;

template hs::Wake SciotoSingle::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::Wake SciotoDouble<>::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);

namespace scioto_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId gpu{1};
constexpr auto only_gpu = hs::ArchMask::only(ArchCUDA);
constexpr auto both = hs::ArchMask::only(ArchHost) | only_gpu;

template <class S>
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  S scheduler;

  /// A task that takes `cpu` on the core and 100 on the GPU.
  hs::TaskId push(std::optional<std::int64_t> cpu, hs::ArchMask archs = both) {
    auto const task = ctx.add({.archs = archs});
    if (cpu) {
      ctx.predict(task, ArchHost, {*cpu});
    }
    ctx.predict(task, ArchCUDA, {100});
    CHECK(scheduler.push(ctx, task, hs::no_worker) == hs::Wake::any());
    return task;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Scioto: hooks and declarations") {
  constexpr unsigned least = hs::hook_push | hs::hook_pop | hs::hook_peek;
  static_assert(hs::hooks_of<SciotoSingle, ContextArchetype>() == least);
  static_assert(hs::hooks_of<SciotoDouble<>, ContextArchetype>() == (least | hs::hook_steal));
  static_assert(SciotoSingle::threading == hs::Threading::serialized);
}

TEST_CASE("SciotoSingle: cores from one end, GPUs from the other, the oldest among equals") {
  Machine<SciotoSingle> m;
  auto const middle = m.push(200);
  auto const middle_too = m.push(200);
  auto const fast = m.push(900);
  auto const slow = m.push(50);
  auto const gpu_only = m.push(std::nullopt, only_gpu);
  CHECK(m.pop(core) == slow);
  CHECK(m.pop(gpu) == gpu_only); // infinite
  CHECK(m.pop(gpu) == fast);
  CHECK(m.pop(gpu) == middle);
  auto const more = m.push(200);
  CHECK(m.pop(core) == middle_too);
  CHECK(m.pop(core) == more);
  CHECK(m.pop(gpu) == hs::no_task);
  // Nobody gets what he cannot run; an unknown time is in the middle.
  auto const unknown = m.push(std::nullopt);
  auto const forbidden = m.push(std::nullopt, only_gpu);
  auto const worse = m.push(90);
  auto const better = m.push(110);
  m.ctx.forbid(forbidden, gpu);
  CHECK(m.pop(gpu) == better);
  CHECK(m.pop(core) == worse);
  CHECK(m.pop(core) == unknown);
  CHECK(m.pop(core) == hs::no_task);
  CHECK(m.pop(gpu) == hs::no_task);
}

TEST_CASE("SciotoDouble: each class its own queue first, then the other's end") {
  Machine<SciotoDouble<>> m;
  auto const fast = m.push(300);
  auto const faster = m.push(900);
  auto const equal = m.push(100);
  CHECK(m.pop(gpu) == fast);
  CHECK(m.pop(gpu) == faster);
  CHECK(m.pop(gpu) == hs::no_task);
  auto const slow = m.push(50);
  CHECK(m.scheduler.steal(m.ctx, gpu) == slow); // the newest
  CHECK(m.pop(core) == equal);
  auto const gpu_only = m.push(std::nullopt, only_gpu);
  CHECK(m.scheduler.steal(m.ctx, core) == hs::no_task);
  CHECK(m.pop(gpu) == gpu_only);
}

TEST_SUITE_END();

} // namespace scioto_test
