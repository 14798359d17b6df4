// SPDX-License-Identifier: MIT
// What the verdict says of programs that are slow for one known reason each.

#include <hetsched/core/explanation.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/trace/analysis/trace_verdict.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

/// What a program did on two workers.
template <class Scheduler = hs::policies::WorkStealing<>, class Program>
hs::Trace trace_of(Program const& program) {
  auto config = support::on_cpus(2);
  config.record = true;
  hs::Runtime<Scheduler> rt(config);
  program(rt);
  rt.sync();
  return rt.trace();
}

/// The verdict on that.
template <class Scheduler = hs::policies::WorkStealing<>, class Program>
hs::Verdict verdict_on(Program const& program) {
  auto const verdict = hs::verdict_of(trace_of<Scheduler>(program));
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

/// Tasks of `length` on one worker, one begun every `period`, all ready from the start.
hs::Trace regular(hs::Duration length, hs::Duration period) {
  hs::Trace trace;
  trace.workers = {{"core 0", hs::ArchHost, hs::host_node}};
  trace.types = {{"small"}};
  for (std::int64_t k = 0; k < 1000; ++k) {
    hs::Trace::Task task;
    task.outcome = hs::Trace::Outcome::done;
    task.worker = hs::WorkerId{0};
    task.spawned = task.ready = hs::Instant{};
    task.begin = hs::Instant{k * period.ns};
    task.end = task.begin + length;
    task.asked = task.taken = task.admitted = task.begin;
    trace.tasks.push_back(task);
  }
  return trace;
}

TEST_CASE("verdict: what is too small a task") {
  CHECK(hs::verdict_of(regular({1'000}, {10'000})).why == Slowness::small_tasks);
  CHECK(hs::verdict_of(regular({9'000}, {19'900})).why == Slowness::small_tasks);
  CHECK(hs::verdict_of(regular({9'000}, {20'100})).why == Slowness::scheduler);
  CHECK(hs::verdict_of(regular({6'000}, {10'000})).why == Slowness::scheduler);
  CHECK(hs::verdict_of(regular({9'500}, {10'000})).why == Slowness::nothing);
}

TEST_CASE("verdict: tasks that are too small") {
  // On one core, where the run does not depend on when a second thread gets its turn. A sanitizer
  // on a busy machine makes 20 us of a spawn: the verdict is then another one, by its own rule.
  for (int run = 0; run < 3; ++run) {
    auto config = support::on_cpus(1);
    config.record = true;
    hs::Runtime<> rt(config);
    for (int k = 0; k < 20'000; ++k) {
      rt.spawn()([] {});
    }
    rt.sync();
    auto const trace = rt.trace();
    auto const [begin, end] = hs::span_of(trace);
    hs::Duration executed;
    for (auto const& task : trace.tasks) {
      executed += task.end - task.begin;
    }
    auto const each = (end - begin).ns / 20'000;
    CAPTURE(each);
    CAPTURE(executed.ns);
    CHECK(2 * executed.ns < (end - begin).ns); // an empty body is less than what it costs
    CHECK((hs::verdict_of(trace).why == Slowness::small_tasks) == (each < 20'000));
  }
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
  auto const trace = trace_of([](auto& rt) {
    for (int k = 0; k < 4; ++k) {
      rt.spawn()([] { pause(5); });
    }
    rt.spawn(hs::label("late"))([] { pause(60); });
  });
  auto const verdict = hs::verdict_of(trace);
  CAPTURE(verdict.text);
  CHECK(verdict.why == Slowness::imbalance);
  auto const late = std::max_element(
      trace.tasks.begin(), trace.tasks.end(), [](auto& x, auto& y) { return x.end < y.end; });
  CHECK(late->end - late->begin >= hs::Duration{60'000'000});
  CHECK(verdict.text.find("The last to end, late, took " + hs::to_text(late->end - late->begin)) !=
        std::string::npos);
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
