// SPDX-License-Identifier: MIT
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::HeteroPrio;

template hs::Wake HeteroPrio::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId HeteroPrio::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t HeteroPrio::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template hs::TaskId HeteroPrio::reconsider(ContextArchetype const&, hs::WorkerId);

namespace hetero_prio_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId core_too{1};
constexpr hs::WorkerId gpu{2};
constexpr auto only_gpu = hs::ArchMask::only(ArchCUDA);
constexpr auto both = hs::ArchMask::only(ArchHost) | only_gpu;

struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA}};
  HeteroPrio scheduler;

  /// A task that takes `cpu` on a core and 100 on the GPU.
  hs::TaskId add(std::optional<std::int64_t> cpu,
                 std::int32_t priority = 0,
                 hs::ArchMask archs = both,
                 bool abortable = true,
                 std::int64_t transfer = 0) {
    auto const task = ctx.add(
        {.priority = priority, .archs = archs, .transfer = {transfer}, .abortable = abortable});
    if (cpu) {
      ctx.predict(task, ArchHost, {*cpu});
    }
    ctx.predict(task, ArchCUDA, {100});
    return task;
  }

  hs::TaskId
  push(std::optional<std::int64_t> cpu, std::int32_t priority = 0, hs::ArchMask archs = both) {
    auto const task = add(cpu, priority, archs);
    CHECK(scheduler.push(ctx, task, hs::no_worker) == hs::Wake::any());
    return task;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  /// A worker runs the task until then.
  hs::TaskId run(hs::WorkerId worker, std::int64_t until, hs::TaskId task) {
    ctx.set_running(worker, task);
    ctx.set_busy_until(worker, {until});
    return task;
  }

  hs::TaskId reconsider(hs::WorkerId worker) { return scheduler.reconsider(ctx, worker); }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("HeteroPrio: hooks and declarations") {
  static_assert(hs::hooks_of<HeteroPrio, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_reconsider));
  static_assert(HeteroPrio::threading == hs::Threading::serialized);
}

TEST_CASE("HeteroPrio: by acceleration factor, cores from one end, GPUs from the other") {
  Machine m;
  auto const middle = m.push(200);
  auto const fast = m.push(900);
  auto const slow = m.push(50);
  auto const gpu_only = m.push(std::nullopt, 0, only_gpu);
  auto const unknown = m.push(std::nullopt); // a factor of 1
  CHECK(m.pop(core) == slow);
  CHECK(m.pop(core) == unknown);
  CHECK(m.pop(gpu) == gpu_only); // no core runs it
  CHECK(m.pop(gpu) == fast);
  CHECK(m.pop(core) == middle);
  CHECK(m.pop(core) == hs::no_task);
  auto const forbidden = m.push(900);
  auto const other = m.push(300);
  m.ctx.forbid(forbidden, gpu);
  CHECK(m.pop(gpu) == other);
  CHECK(m.pop(gpu) == hs::no_task);
  CHECK(m.pop(core_too) == forbidden);
}

TEST_CASE("HeteroPrio: among equals the class that is faster takes the best, the other the last") {
  Machine m;
  SUBCASE("GPUs") {
    for (std::int64_t const cpu : {100, 500}) { // at a factor of 1, too
      auto const first = m.push(cpu, 5);
      auto const second = m.push(cpu, 5);
      auto const low = m.push(cpu, 1);
      auto const high = m.push(cpu, 9);
      CHECK(m.pop(gpu) == high);
      CHECK(m.pop(core) == low);
      CHECK(m.pop(gpu) == first);
      CHECK(m.pop(core) == second);
    }
  }
  SUBCASE("cores") {
    auto const first = m.push(50, -5);
    auto const second = m.push(50, -5);
    auto const low = m.push(50, -9);
    auto const high = m.push(50, -1);
    CHECK(m.pop(core) == high);
    CHECK(m.pop(gpu) == low);
    CHECK(m.pop(core) == first);
    CHECK(m.pop(gpu) == second);
  }
}

TEST_CASE("HeteroPrio: takes over what it ends earlier") {
  Machine m;
  m.ctx.set_now({1000});
  SUBCASE("the latest end of equal priorities, of the other class only") {
    m.run(core, 1200, m.add(300));
    auto const late = m.run(core_too, 1300, m.add(300));
    CHECK(m.reconsider(gpu) == late);
    CHECK(m.reconsider(core) == hs::no_task); // core_too is of its own class
  }
  SUBCASE("the highest priority before the latest end") {
    auto const urgent = m.run(core, 1200, m.add(300, 7));
    m.run(core_too, 1300, m.add(300, 3));
    CHECK(m.reconsider(gpu) == urgent);
  }
  SUBCASE("only if it ends earlier, its transfers included") {
    m.run(core, 1100, m.add(300, 7)); // 1000 + 100: no gain
    auto const gain = m.run(core_too, 1101, m.add(300));
    CHECK(m.reconsider(gpu) == gain);
    m.run(core_too, 1101, m.add(300, 0, both, true, 1));
    CHECK(m.reconsider(gpu) == hs::no_task);
  }
  SUBCASE("only if it ends earlier, after what the worker has already") {
    auto const task = m.run(core, 1300, m.add(300));
    m.ctx.set_busy_until(gpu, {1200}); // 1200 + 100: no gain
    CHECK(m.reconsider(gpu) == hs::no_task);
    m.ctx.set_busy_until(gpu, {1199});
    CHECK(m.reconsider(gpu) == task);
  }
  SUBCASE("cores from GPUs, too") {
    auto const task = m.run(gpu, 1200, m.add(150));
    CHECK(m.reconsider(core) == task);
  }
  SUBCASE("not what may not be aborted, or it cannot run, or of unknown time") {
    auto const fixed = m.run(core, 1300, m.add(300, 0, both, false));
    CHECK(m.reconsider(gpu) == hs::no_task);
    m.run(core, 1300, m.add(300, 0, hs::ArchMask::only(ArchHost)));
    CHECK(m.reconsider(gpu) == hs::no_task);
    auto const unknown = m.add(std::nullopt);
    m.run(gpu, 1300, unknown);
    CHECK(m.reconsider(core) == hs::no_task);
    CHECK(fixed);
  }
  SUBCASE("not while something is ready for it") {
    m.run(core, 1300, m.add(300));
    auto const ready = m.push(300);
    CHECK(m.reconsider(gpu) == hs::no_task);
    m.ctx.forbid(ready, gpu);
    CHECK(m.reconsider(gpu));
  }
}

TEST_SUITE_END();

} // namespace hetero_prio_test
