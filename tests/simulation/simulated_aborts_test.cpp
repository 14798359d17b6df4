// SPDX-License-Identifier: MIT
// Tasks that are stopped half way in virtual time: schedules worked out on paper.

#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/testing/archetypes.hpp>

#include "../support/aborting_schedulers.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using hs::Simulation;
using hs::policies::HeteroPrio;
using simulated::Add;
using simulated::array;
using simulated::arrays;
using simulated::cells;
using simulated::Even;
using simulated::Fast;
using simulated::GpuOnly;
using simulated::HostOnly;
using simulated::joined;
using simulated::kernel;
using simulated::Mix;
using simulated::on;
using simulated::waited;
using support::contains;
using support::message_of;
using Transfers = Simulation::Transfers;

namespace simulated_aborts_test {

/// "label worker begin end", in the order of the ends; "!" in front of what was stopped.
using Log = std::vector<std::string>;

Simulation logging_to(Log& log, Simulation config) {
  config.on_task = [&log](hs::SimulatedTask const& task) {
    log.push_back((task.aborted ? "!" : "") + std::string(task.label) + " " +
                  std::to_string(task.worker.value) + " " + std::to_string(task.begin.ns) + " " +
                  std::to_string(task.end.ns));
  };
  return config;
}

Simulation serving_cores(Simulation config) {
  config.serve = Simulation::Serve::cpu;
  return config;
}

/// Answers what it should not.
enum class Wrong : std::uint8_t {
  its_own,
  one_that_waits,
  one_that_contributes,
  one_with_followers,
  without_end
};

template <Wrong W>
struct Mistaken : OldestFirst {
  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    auto const other = ctx.running({1 - worker.value});
    if constexpr (W == Wrong::its_own) {
      return ctx.running(worker);
    } else if constexpr (W == Wrong::one_that_waits) {
      return other && !ready.empty() ? ready.front() : hs::no_task;
    } else if constexpr (W == Wrong::one_that_contributes) {
      return other;
    } else if constexpr (W == Wrong::one_with_followers) {
      return other && !ctx.task(other).abortable ? other : hs::no_task;
    } else {
      return other && ctx.task(other).abortable ? other : hs::no_task;
    }
  }
};

/// Notes until when the core is expected to be busy whenever the GPU may take something over.
struct Watching : OldestFirst {
  struct Config {
    std::vector<std::int64_t>* seen;
  } config;

  explicit Watching(std::span<hs::WorkerInfo const>, Config const& knobs = {nullptr})
      : config(knobs) {}

  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    if (worker.value == 1 && ctx.running({0})) {
      config.seen->push_back((ctx.busy_until({0}) - hs::Instant{}).ns);
    }
    return hs::no_task;
  }
};

/// First come, first served; then as algorithm 3.
struct OldestOrAnothers : OldestFirst {
  HeteroPrio nothing_ready;

  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    bool const found = std::any_of(
        ready.begin(), ready.end(), [&](hs::TaskId task) { return ctx.can_run(task, worker); });
    return found ? hs::no_task : nothing_ready.reconsider(ctx, worker);
  }
};

/// Has nothing for any but worker 0.
struct ForTheFirst : Preempting {
  template <class Ctx>
  hs::TaskId pop(Ctx const& ctx, hs::WorkerId worker) {
    return worker.value == 0 ? Preempting::pop(ctx, worker) : hs::no_task;
  }
};

TEST_SUITE_BEGIN("simulation");

TEST_CASE("Simulated aborts: the engine sees the hooks") {
  using Ctx = hs::testing::ContextArchetype;
  constexpr unsigned least = hs::hook_push | hs::hook_pop;
  static_assert(hs::hooks_of<HeteroPrio, Ctx>() == (least | hs::hook_peek | hs::hook_reconsider));
  static_assert(hs::hooks_of<Preempting, Ctx>() == (least | hs::hook_preempt));
  static_assert(hs::hooks_of<RandomAborts, Ctx>() ==
                (least | hs::hook_reconsider | hs::hook_preempt));
}

TEST_CASE("Simulated aborts: an idle GPU takes over what it ends earlier") {
  // Fast takes 40 on the core, 10 on the GPU, which is free at 10.
  Log log;
  std::vector<int> memory(2);
  hs::SimulatedRuntime<HeteroPrio> rt(logging_to(log, on(1, 1)));
  auto const x = cells(rt, memory);
  rt.spawn<Fast>(hs::label("a"))(x[0]);
  rt.spawn<Fast>(hs::label("b"))(x[1]);
  rt.sync();
  CHECK(log == Log{"a 1 0 10", "!b 0 0 10", "b 1 10 20"});
  auto const stats = rt.stats();
  CHECK(stats.elapsed == Duration{20});
  CHECK(stats.executed == 2);
  CHECK(stats.aborted == 1);
  CHECK(stats.wasted == Duration{10});
  CHECK(stats.workers[0].aborted == 1);
  CHECK(stats.workers[0].wasted == Duration{10});
  CHECK(stats.workers[0].idle == Duration{20}); // what went for nothing counts as idle
  CHECK(stats.workers[1].idle == Duration{0});
  REQUIRE(stats.types.size() == 1); // nothing of what was stopped
  CHECK(stats.types[0].count == 2);
  CHECK(stats.types[0].total == Duration{20});
  rt.reset_stats();
  CHECK(rt.stats().aborted == 0);
  CHECK(rt.stats().workers[0].wasted == Duration{0});
}

TEST_CASE("Simulated aborts: at the instant at which it began") {
  Log log;
  std::vector<int> memory(1);
  hs::SimulatedRuntime<HeteroPrio> rt(logging_to(log, serving_cores(on(1, 1))));
  auto const x = cells(rt, memory);
  rt.spawn<Fast>(hs::label("a"))(x[0]);
  rt.sync();
  CHECK(log == Log{"!a 0 0 0", "a 1 0 10"});
  CHECK(rt.stats().aborted == 1);
  CHECK(rt.stats().wasted == Duration{0});
}

TEST_CASE("Simulated aborts: algorithm 3's worst case on one core and one GPU") {
  // Kumar 2017, theorem 5.8: two tasks of the same acceleration factor, phi = 1.618...: of 1 and
  // 1/phi on the GPU. Done the wrong way round, and the GPU, free at phi - 1, gains nothing by
  // taking over what the core runs until phi. The best way takes 1.
  auto config = on(1, 1);
  config.platform.kernels = {kernel("Even", 1'618'033'988, 1'000'000'000),
                             kernel("Fast", 1'000'000'000, 618'033'988)};
  std::vector<int> memory(2);
  {
    hs::SimulatedRuntime<HeteroPrio> rt(config);
    auto const x = cells(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Fast>()(x[1]);
    rt.sync();
    CHECK(rt.stats().elapsed == Duration{1'618'033'988});
    CHECK(rt.stats().aborted == 0);
  }
  // A little more on the core, and it does.
  config.platform.kernels[0] = kernel("Even", 1'618'033'989, 1'000'000'000);
  hs::SimulatedRuntime<HeteroPrio> rt(config);
  auto const x = cells(rt, memory);
  rt.spawn<Even>()(x[0]);
  rt.spawn<Fast>()(x[1]);
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{1'618'033'988});
  CHECK(rt.stats().aborted == 1);
  CHECK(rt.stats().wasted == Duration{618'033'988});
}

TEST_CASE("Simulated aborts: noise does not show in what a scheduler expects") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto config = on(1, 1);
    config.noise = 0.9;
    config.noise_is = Simulation::Noise::per_task;
    config.seed = seed;
    std::vector<int> memory(1);
    std::vector<std::int64_t> expected;
    hs::SimulatedRuntime<Watching> rt(config, Watching::Config{&expected});
    auto const x = cells(rt, memory);
    rt.spawn<Fast>(hs::SetArch(hs::ArchHost))(x[0]);
    rt.sync();
    REQUIRE(expected == std::vector<std::int64_t>{40});
  }
}

TEST_CASE("Simulated aborts: what finds no worker takes another's place") {
  // Two cores. At 10, `a` makes `b` and `c` ready; one core is free, on the other runs `low`, since
  // 0, which begins again when they have ended.
  Log log;
  std::vector<int> memory(4);
  hs::SimulatedRuntime<Preempting> rt(logging_to(log, on(2, 0)));
  auto const x = cells(rt, memory);
  rt.spawn<Even>(hs::label("a"), hs::priority(5))(x[0]);
  rt.spawn<Mix>(hs::label("b"), hs::priority(9))(x[0], x[1]);
  rt.spawn<Mix>(hs::label("c"), hs::priority(9))(x[0], x[2]);
  rt.spawn<Fast>(hs::label("low"))(x[3]);
  rt.sync();
  CHECK(log == Log{"a 0 0 10", "!low 1 0 10", "b 0 10 40", "c 1 10 40", "low 0 40 80"});
  CHECK(rt.stats().aborted == 1);
  CHECK(rt.stats().wasted == Duration{10});
  CHECK(rt.stats().workers[1].idle == Duration{10 + 40});
}

TEST_CASE("Simulated aborts: nobody makes room where somebody is idle") {
  // The GPU is idle, though it is given nothing, and the core has a task of a lower priority.
  std::vector<int> memory(2);
  hs::SimulatedRuntime<ForTheFirst> rt(serving_cores(on(1, 1)));
  auto const x = cells(rt, memory);
  rt.spawn<Even>()(x[0]);
  rt.sync();
  rt.spawn<Even>(hs::priority(-1))(x[0]);
  rt.spawn<Even>(hs::priority(0))(x[1]);
  rt.sync();
  CHECK(rt.stats().aborted == 0);
  CHECK(rt.stats().elapsed == Duration{30});
}

TEST_CASE("Simulated aborts: a scheduler's mistakes end in one error") {
  std::vector<int> memory(3);
  auto const error_of = [&]<Wrong W>(std::integral_constant<Wrong, W>, Simulation const& config) {
    hs::SimulatedRuntime<Mistaken<W>> rt(config);
    auto const x = cells(rt, memory);
    if constexpr (W == Wrong::one_that_contributes) {
      rt.template spawn<Add>()(x[0]);
    } else if constexpr (W == Wrong::one_with_followers) {
      rt.template spawn<GpuOnly>()(x[0]);
      rt.template spawn<GpuOnly>()(x[0]);
    } else {
      rt.template spawn<GpuOnly>()(x[0]);
      rt.template spawn<GpuOnly>()(x[1]);
      rt.template spawn<Even>()(x[0]);
    }
    return message_of([&] { rt.sync(); });
  };
  CHECK(contains(error_of(std::integral_constant<Wrong, Wrong::one_that_waits>{}, on(1, 1)),
                 "': answered to reconsider a task that no worker has taken"));
  CHECK(contains(error_of(std::integral_constant<Wrong, Wrong::one_that_contributes>{}, on(2, 0)),
                 "task 'Add', which is not abortable: it contributes to a reduction"));
  CHECK(contains(error_of(std::integral_constant<Wrong, Wrong::one_with_followers>{},
                          joined(1, 1, Transfers::model, 2)),
                 "task 'GpuOnly', which is not abortable: it is launched behind another task"));
  CHECK(contains(error_of(std::integral_constant<Wrong, Wrong::without_end>{}, on(0, 2)),
                 "aborts tasks over and over at one instant"));
  // A GPU with room in its window is asked while it runs something.
  CHECK(contains(
      error_of(std::integral_constant<Wrong, Wrong::its_own>{}, joined(1, 1, Transfers::model, 2)),
      "would abort a task of worker 1, to run it there again"));
  // On the core, where `GpuOnly` cannot run.
  CHECK(contains(error_of(std::integral_constant<Wrong, Wrong::without_end>{}, on(1, 1)),
                 "which it cannot run"));
}

TEST_CASE("Simulated aborts: data are as they were before the task began") {
  // 105 for each transfer. Even and Fast: slow on one side.
  std::vector<int> memory(3 * array);
  auto const machine = [](int window) {
    auto config = joined(1, 1, Transfers::model, window);
    config.platform.kernels = {kernel("Even", 10, 1000),
                               kernel("Fast", 1000, 10),
                               kernel("HostOnly", 300, std::nullopt),
                               kernel("GpuOnly", std::nullopt, 5)};
    return config;
  };
  {
    // The core has `a` from 0 on, the GPU `b`: its data come until 105, and it ends at 115. Then it
    // takes `a` over, whose data the core has not touched: they come until 220.
    Log log;
    hs::SimulatedRuntime<HeteroPrio> rt(logging_to(log, machine(1)));
    auto const x = arrays(rt, memory);
    rt.spawn<Fast>(hs::label("a"), hs::SetArch(hs::ArchHost))(x[2]);
    rt.spawn<Fast>(hs::label("b"))(x[1]);
    rt.spawn<Fast>(hs::label("c"))(x[0]);
    CHECK(waited(rt) == 1000); // `c` is on the GPU, from 115 on
    CHECK(rt.stats().aborted == 0);
    CHECK(log == Log{"b 1 105 115", "c 1 220 230", "a 0 0 1000"});
    log.clear();
    rt.reset_stats();
    rt.spawn<Fast>(hs::label("d"))(x[0]); // the GPU has them
    rt.spawn<Fast>(hs::label("e"))(x[2]);
    CHECK(waited(rt) == 10 + 105 + 10);
    CHECK(log == Log{"d 1 1000 1010", "!e 0 1000 1010", "e 1 1115 1125"});
    CHECK(rt.stats().devices[0].bytes_from_host == 100);
    CHECK(rt.stats().devices[0].bytes_to_host == 0);
    rt.sync(); // three arrays come home
    CHECK(rt.stats().elapsed.ns == 125 + 3 * 105);
  }
  {
    // `a` is the GPU's, and its data are on their way when the core would rather run it: they may
    // be written at 105, when they have arrived.
    Log log;
    hs::SimulatedRuntime<HeteroPrio> rt(logging_to(log, machine(1)));
    auto const x = arrays(rt, memory);
    rt.spawn<Even>(hs::label("a"))(x[0]);
    rt.sync();
    CHECK(log == Log{"a 0 105 115"});
    CHECK(rt.stats().aborted == 1);
    CHECK(rt.stats().wasted == Duration{0});
    CHECK(rt.stats().elapsed == Duration{115});
    CHECK(rt.stats().devices[0].bytes_to_host == 0);
  }
  for (int const window : {1, 2}) {
    // The core is busy until 300, the GPU from 105 on with `a`, which the core then takes over: its
    // data are in host memory still. The GPU goes on with `b`, at once if that is in its window.
    CAPTURE(window);
    Log log;
    hs::SimulatedRuntime<OldestOrAnothers> rt(logging_to(log, machine(window)));
    auto const x = arrays(rt, memory);
    rt.spawn<HostOnly>(hs::label("long"))(x[2]);
    rt.spawn<Even>(hs::label("a"))(x[0]);
    rt.spawn<GpuOnly>(hs::label("b"))(x[1]);
    CHECK(waited(rt) == (window == 2 ? 310 : 410));
    CHECK(log == (window == 2 ? Log{"long 0 0 300", "!a 1 105 300", "b 1 300 305", "a 0 300 310"}
                              : Log{"long 0 0 300", "!a 1 105 300", "a 0 300 310", "b 1 405 410"}));
    auto const stats = rt.stats();
    CHECK(stats.wasted == Duration{195});
    CHECK(stats.devices[0].kernels == Duration{195 + 5});
    CHECK(stats.devices[0].bytes_from_host == 200);
    CHECK(stats.devices[0].bytes_to_host == 0);
  }
}

TEST_SUITE_END();

} // namespace simulated_aborts_test
