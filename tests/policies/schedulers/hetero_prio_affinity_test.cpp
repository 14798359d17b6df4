// SPDX-License-Identifier: MIT
// HeteroPrioAffinity: what it does otherwise than Heterogeneous and HeteroPrio, worked out on
// paper.

#include <hetsched/policies/schedulers/hetero_prio_affinity.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hs = hetsched;
using namespace scripted;
using hs::policies::HeteroPrioAffinity;

template hs::TaskId
hs::detail::CoresHelp<hs::detail::LeastAccelerated>::pop(ContextArchetype const&, hs::WorkerId);
template hs::TaskId HeteroPrioAffinity::reconsider(ContextArchetype const&, hs::WorkerId);

namespace hetero_prio_affinity_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId gpu{1};
constexpr hs::WorkerId gpu_too{2};

/// Worker 0 is a core, the others are GPUs. A task takes 10 on a GPU.
struct Machine {
  explicit Machine(std::vector<hs::Arch> const& archs = {ArchHost, ArchCUDA})
      : ctx(archs), scheduler(ctx.workers()) {}

  ScriptedContext ctx;
  HeteroPrioAffinity scheduler;

  hs::TaskId add(std::int64_t on_core, std::int32_t priority = 0, bool abortable = true) {
    auto const task = ctx.add({.priority = priority, .archs = both, .abortable = abortable});
    ctx.predict(task, ArchHost, {on_core});
    ctx.predict(task, ArchCUDA, {10});
    return task;
  }

  hs::TaskId push(hs::TaskId task) {
    (void)scheduler.push(ctx, task, hs::no_worker);
    return task;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  hs::TaskId reconsider(hs::WorkerId worker) { return scheduler.reconsider(ctx, worker); }

  /// Each GPU takes a task and runs it until 10.
  void begin() {
    auto const gpus = ctx.workers().subspan(1);
    for (std::size_t k = 0; k < gpus.size(); ++k) {
      push(add(100, 9));
    }
    for (auto const& info : gpus) {
      run(info.id, pop(info.id), 10);
    }
  }

  void run(hs::WorkerId worker, hs::TaskId task, std::int64_t until) {
    CHECK(task);
    ctx.set_running(worker, task);
    ctx.set_busy_until(worker, {until});
  }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("HeteroPrioAffinity: hooks and declarations") {
  static_assert(hs::hooks_of<HeteroPrioAffinity, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_push_activated | hs::hook_epilogue |
                 hs::hook_peek | hs::hook_reconsider));
  static_assert(HeteroPrioAffinity::threading == hs::Threading::serialized);
}

TEST_CASE("HeteroPrioAffinity: a core takes over the least factor, then the lowest priority") {
  Machine m;
  m.begin();
  auto const high = m.push(m.add(60, 5));
  auto const low = m.push(m.add(61, 1)); // factors 6 and 6.1 are similar
  auto const last = m.push(m.add(100, 0));
  CHECK(m.pop(core) == low);
  CHECK(m.pop(core) == high);
  CHECK(m.pop(core) == last);
  CHECK(!m.pop(core));
}

TEST_CASE("HeteroPrioAffinity: whatever it takes, if the task may be aborted") {
  Machine m;
  m.begin();
  auto const stays = m.push(m.add(110, 0, false)); // more than 10/3 of 20
  CHECK(!m.pop(core));
  auto const goes = m.push(m.add(90, 1));
  CHECK(m.pop(core) == goes);
  CHECK(m.pop(gpu) == stays);
}

TEST_CASE("HeteroPrioAffinity: cores leave alone what they do too little of, abortable or not") {
  Machine m;
  m.begin();
  auto const shared = m.push(m.add(120)); // the core does a twelfth of what the GPU does
  CHECK(m.pop(core) == shared);
  m.push(m.add(121));
  CHECK(!m.pop(core));
}

TEST_CASE("HeteroPrioAffinity: a GPU that has nothing begins anew what a core runs for longer") {
  Machine m({ArchHost, ArchCUDA, ArchCUDA});
  m.begin();
  auto const taken = m.push(m.add(50));
  m.run(core, m.pop(core), 100);
  CHECK(m.ctx.running(core) == taken);
  m.ctx.set_now({10});
  m.ctx.set_running(gpu, hs::no_task);
  CHECK(m.reconsider(gpu) == taken);
  CHECK(!m.reconsider(core));

  auto const ready = m.push(m.add(100)); // the first GPU has it
  CHECK(!m.reconsider(gpu));
  CHECK(m.pop(gpu) == ready);

  m.ctx.set_busy_until(core, {20}); // the GPU would end it at 20, too
  CHECK(!m.reconsider(gpu_too));
}

TEST_CASE("HeteroPrioAffinity: nothing is begun anew that must not be aborted") {
  Machine m;
  m.begin();
  m.push(m.add(30, 0, false));
  m.run(core, m.pop(core), 100);
  m.ctx.set_running(gpu, hs::no_task);
  CHECK(!m.reconsider(gpu));
}

TEST_SUITE_END();

} // namespace hetero_prio_affinity_test
