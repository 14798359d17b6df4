// SPDX-License-Identifier: MIT
// What the verdict says of programs that are slow for one known reason each.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/trace/analysis/trace_verdict.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace verdict_test {

namespace hs = hetsched;
using hs::Slowness;

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// The verdict on a program on two workers.
template <class Scheduler = hs::policies::WorkStealing<>, class Program>
hs::Verdict verdict_on(Program const& program) {
  auto config = support::on_cpus(2);
  config.record = true;
  hs::Runtime<Scheduler> rt(config);
  program(rt);
  rt.sync();
  auto const verdict = hs::verdict_of(rt.trace());
  CAPTURE(verdict.text);
  CHECK(verdict.share > 0);
  CHECK(verdict.share <= 1);
  CHECK(verdict.text.size() > 20);
  return verdict;
}

/// Takes two milliseconds to find a task.
struct Slow : hs::policies::Eager<> {
  hs::TaskId pop(hs::context auto const& ctx, hs::WorkerId worker) {
    auto const task = Eager::pop(ctx, worker);
    if (task) {
      pause(2);
    }
    return task;
  }
};

TEST_SUITE_BEGIN("runtime");

TEST_CASE("verdict: nothing to gain") {
  CHECK(verdict_on([](auto& rt) {
          for (int k = 0; k < 40; ++k) {
            rt.spawn()([] { pause(5); });
          }
        }).why == Slowness::nothing);
}

TEST_CASE("verdict: tasks that are too small") {
  // Where the spawning thread is held up, a run is rightly called spawn-bound: one of five is not.
  bool found = false;
  for (int run = 0; run < 5 && !found; ++run) {
    auto const why = verdict_on([](auto& rt) {
                       for (int k = 0; k < 20'000; ++k) {
                         rt.spawn()([] {});
                       }
                     }).why;
    CHECK((why == Slowness::small_tasks || why == Slowness::program));
    found = why == Slowness::small_tasks;
  }
  CHECK(found);
}

TEST_CASE("verdict: a program that does not spawn in time") {
  CHECK(verdict_on([](auto& rt) {
          for (int k = 0; k < 20; ++k) {
            rt.spawn()([] { pause(1); });
            pause(5);
          }
        }).why == Slowness::program);
}

TEST_CASE("verdict: a program that computes between its syncs") {
  CHECK(verdict_on([](auto& rt) {
          for (int k = 0; k < 10; ++k) {
            for (int task = 0; task < 2; ++task) {
              rt.spawn()([] { pause(2); });
            }
            rt.sync();
            pause(6);
          }
        }).why == Slowness::program);
}

TEST_CASE("verdict: a chain, by name") {
  auto const verdict = verdict_on([](auto& rt) {
    double x = 0;
    auto const h = rt.data(x);
    for (int k = 0; k < 20; ++k) {
      rt.spawn(hs::label("step"))([](double&) { pause(5); }, hs::read_write(h));
    }
    rt.sync();
  });
  CHECK(verdict.why == Slowness::chain);
  CHECK(verdict.text.find("20 x step") != std::string::npos);
}

TEST_CASE("verdict: imbalance, and who is late") {
  auto const verdict = verdict_on([](auto& rt) {
    for (int k = 0; k < 4; ++k) {
      rt.spawn()([] { pause(5); });
    }
    rt.spawn(hs::label("late"))([] { pause(60); });
  });
  CHECK(verdict.why == Slowness::imbalance);
  CHECK(verdict.text.find("The last to end, late, took 60") != std::string::npos);
}

TEST_CASE("verdict: too few tasks between barriers") {
  CHECK(verdict_on([](auto& rt) {
          for (int k = 0; k < 20; ++k) {
            rt.spawn()([] { pause(5); });
            rt.sync();
          }
        }).why == Slowness::few_tasks);
}

TEST_CASE("verdict: a scheduler that is slow") {
  CHECK(verdict_on<Slow>([](auto& rt) {
          for (int k = 0; k < 40; ++k) {
            rt.spawn()([] { pause(1); });
          }
        }).why == Slowness::scheduler);
}

TEST_CASE("verdict: transfers, in virtual time") {
  // Two GPUs, one slow link; each task reads a datum of its own.
  auto config = simulated::joined(1, 2, hs::Simulation::Transfers::shared, 4);
  config.record = true;
  hs::SimulatedRuntime<hs::policies::Eager<>> rt(config);
  std::vector<int> memory(40);
  auto const cells = simulated::cells(rt, memory);
  for (auto const& cell : cells) {
    rt.spawn<simulated::GpuOnly>()(cell);
  }
  rt.sync();
  auto const verdict = hs::verdict_of(rt.trace());
  CAPTURE(verdict.text);
  CHECK(verdict.why == Slowness::transfers);
}

TEST_CASE("verdict: of nothing") {
  CHECK(hs::verdict_of(hs::Trace{}).text.empty());
}

TEST_SUITE_END();

} // namespace verdict_test
