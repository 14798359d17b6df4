// SPDX-License-Identifier: MIT
#include <hetsched/capture.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"
#include "../../support/simulated_machine.hpp"
#include "../../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::detail::HeftForecast;
using hs::policies::Dmdas;
using hs::policies::Heft;
using hs::policies::Heftp;
using hs::policies::LookAhead;

using Let = Heftp<LookAhead::local_time>;
using Gb = Heftp<LookAhead::gpus_busy>;
using Mms = Heftp<LookAhead::min_makespan>;
using Forms = hs::policies::HeftpForms;

template hs::Wake Heft::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId hs::detail::EarliestFinish<hs::policies::Fifo, hs::policies::Fifo>::pop(
    ContextArchetype const&, hs::WorkerId); // which is Heft's
template void
Forms::prepare(ContextArchetype const&, hs::TaskGraph const&, std::span<hs::ExpectedTimes const>);
template hs::Wake Forms::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Forms::pop(ContextArchetype const&, hs::WorkerId);
template void Forms::epilogue(ContextArchetype const&, hs::TaskId, hs::WorkerId, hs::Duration);

namespace heft_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId gpu{1};

struct Increment : hs::Task<1>::Signature<hs::RW<int>> {};

/// One core and one GPU.
template <class Scheduler>
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  Scheduler scheduler{ctx.workers()};

  hs::TaskId add(std::int64_t cpu, std::int64_t on_gpu, int priority) {
    auto const task =
        ctx.add({.priority = priority,
                 .archs = hs::ArchMask::only(ArchHost) | hs::ArchMask::only(ArchCUDA)});
    ctx.predict(task, ArchHost, {cpu});
    ctx.predict(task, ArchCUDA, {on_gpu});
    return task;
  }

  hs::Wake push(hs::TaskId task) { return scheduler.push(ctx, task, hs::no_worker); }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }
};

/// On a machine of one core and one GPU: `chain` tasks of 40 there and 10 here, one after the
/// other; t, the same with the lowest priority; and after the first of the chain some of 5 on the
/// core only, one after the other.
hs::TaskGraph graph(int chain, int on_core) {
  constexpr auto rw = hs::AccessMode::read_write;
  std::vector<hs::TaskGraph::Node> nodes;
  for (int k = 0; k < chain; ++k) {
    nodes.push_back({"Fast", "c" + std::to_string(k), 9, {}, {{0, rw, nullptr}}});
  }
  nodes.front().accesses.push_back({1, rw, nullptr});
  nodes.push_back({"Fast", "t", 0, {}, {{2, rw, nullptr}}});
  for (int k = 0; k < on_core; ++k) {
    nodes.push_back({"HostOnly", "h" + std::to_string(k), 5, {}, {{1, rw, nullptr}}});
  }
  return {std::move(nodes), {4, 4, 4}};
}

/// Of 60 tasks on 12 data.
hs::TaskGraph random_graph(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<hs::TaskGraph::Node> nodes;
  for (int k = 0; k < 60; ++k) {
    auto const* const type = std::array{"Even", "Fast", "Mix", "HostOnly", "GpuOnly"}[dice() % 5];
    auto const first = static_cast<std::uint32_t>(dice() % 12);
    auto const priority = static_cast<std::int32_t>(dice() % 6);
    nodes.push_back({type, "", priority, {}, {{first, hs::AccessMode::read_write, nullptr}}});
    if (auto const second = static_cast<std::uint32_t>(dice() % 12); second != first) {
      nodes.back().accesses.push_back({second, hs::AccessMode::read, nullptr});
    }
  }
  return {std::move(nodes), std::vector<std::size_t>(12, 4)};
}

struct Outcome {
  std::int64_t makespan;
  int where; // t ran
  std::int64_t begin;

  friend bool operator==(Outcome const&, Outcome const&) = default;

  friend std::ostream& operator<<(std::ostream& out, Outcome const& outcome) {
    return out << outcome.makespan << ", t on " << outcome.where << " at " << outcome.begin;
  }
};

template <class Scheduler>
Outcome outcome(hs::TaskGraph const& tasks, int cores = 1, int gpus = 1) {
  Outcome result{};
  auto config = simulated::on(cores, gpus);
  config.on_task = [&result](hs::SimulatedTask const& task) {
    if (task.label == "t") {
      result.where = task.worker.value;
      result.begin = task.begin.ns;
    }
  };
  hs::SimulatedRuntime<Scheduler> rt(config);
  rt.run(tasks);
  result.makespan = rt.stats().elapsed.ns;
  return result;
}

} // namespace heft_test

template <>
struct hetsched::TaskBodyCPU<heft_test::Increment> {
  void operator()(int& number) const { ++number; }
};

namespace heft_test {

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("Heft: hooks and declarations") {
  constexpr unsigned least = hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_epilogue;
  static_assert(hs::hooks_of<Heft, ContextArchetype>() == least);
  static_assert(hs::hooks_of<Heftp<>, ContextArchetype>() == (least | hs::hook_push_activated));
  static_assert(hs::hooks_of<Mms, ContextArchetype>() ==
                (least | hs::hook_push_activated | hs::hook_prepare));
  static_assert(Heft::threading == hs::Threading::serialized);
  static_assert(Mms::threading == hs::Threading::serialized);
  static_assert(Mms::priority_scope == hs::PriorityScope::per_queue);
}

TEST_CASE("Heft: to who ends it first, in the order in which tasks become ready") {
  Machine<Heft> m;
  auto const first = m.add(25, 10, 0);
  auto const second = m.add(25, 10, 9);
  auto const third = m.add(25, 10, 0);
  CHECK(m.push(first) == hs::Wake::worker(gpu));
  CHECK(m.push(second) == hs::Wake::worker(gpu)); // 20 before 25
  CHECK(m.push(third) == hs::Wake::worker(core)); // 25 before 30
  CHECK(m.pop(gpu) == first);
  CHECK(m.pop(gpu) == second);
  CHECK(m.pop(gpu) == hs::no_task);
  CHECK(m.pop(core) == third);
}

TEST_CASE("Heftp: workers run the highest priority of their queue first") {
  Machine<Heftp<>> m;
  auto const low = m.add(90, 10, 1);
  auto const high = m.add(90, 10, 2);
  auto const high_too = m.add(90, 10, 2);
  for (auto const task : {low, high, high_too}) {
    CHECK(m.push(task) == hs::Wake::worker(gpu));
  }
  CHECK(m.pop(gpu) == high);
  CHECK(m.pop(gpu) == high_too);
  CHECK(m.pop(gpu) == low);
}

TEST_CASE("Heftp: the highest priority of what becomes ready at once chooses first") {
  Machine<Heftp<>> m;
  std::array const tasks{m.add(10, 10, 1), m.add(10, 10, 3)};
  std::array<hs::Wake, 2> wakes;
  m.scheduler.push_activated(m.ctx, tasks, hs::no_worker, wakes);
  CHECK(wakes[1] == hs::Wake::worker(core));
  CHECK(wakes[0] == hs::Wake::worker(gpu));
}

TEST_CASE("Heftp: all that is in a queue counts, for Dmdas what is not lower") {
  Machine<Heftp<>> all;
  Machine<Dmdas> higher;
  for (int k = 0; k < 3; ++k) {
    CHECK(all.push(all.add(100, 10, 1)) == hs::Wake::worker(gpu));
    CHECK(higher.push(higher.add(100, 10, 1)) == hs::Wake::worker(gpu));
  }
  CHECK(all.push(all.add(25, 10, 2)) == hs::Wake::worker(core)); // 25 before 30 + 10
  CHECK(higher.push(higher.add(25, 10, 2)) == hs::Wake::worker(gpu));
}

TEST_CASE("Heftp: look-ahead, schedules worked out on paper") {
  SUBCASE("t would wait for a chain of 3, and end at 40") {
    // GPU: c0 c1 c2 t, 10 each. On the core t ends at 40, too: +LET puts it there. Then the GPU is
    // idle from 30 on, so +GB does not, nor does +MMS: nothing is gained.
    auto const tasks = graph(3, 0);
    CHECK(outcome<Heft>(tasks) == Outcome{40, 1, 10});
    CHECK(outcome<Heftp<>>(tasks) == Outcome{40, 1, 30});
    CHECK(outcome<Let>(tasks) == Outcome{40, 0, 0});
    CHECK(outcome<Gb>(tasks) == Outcome{40, 1, 30});
    CHECK(outcome<Mms>(tasks) == Outcome{40, 1, 30});
  }
  SUBCASE("of 4, and end at 50") {
    auto const tasks = graph(4, 0);
    CHECK(outcome<Heft>(tasks) == Outcome{50, 1, 10});
    CHECK(outcome<Heftp<>>(tasks) == Outcome{50, 1, 40});
    CHECK(outcome<Let>(tasks) == Outcome{40, 0, 0});
    CHECK(outcome<Gb>(tasks) == Outcome{40, 0, 0});
    CHECK(outcome<Mms>(tasks) == Outcome{40, 0, 0});
  }
  SUBCASE("of 4, but the core is needed for something else") {
    // h0 to h4 can begin at 10; behind t on the core, they end at 40 + 25.
    auto const tasks = graph(4, 5);
    CHECK(outcome<Heftp<>>(tasks) == Outcome{50, 1, 40});
    CHECK(outcome<Let>(tasks) == Outcome{65, 0, 0});
    CHECK(outcome<Gb>(tasks) == Outcome{65, 0, 0});
    CHECK(outcome<Mms>(tasks) == Outcome{50, 1, 40});
  }
}

TEST_CASE("HeftForecast: what ends at the same time is seen to before anybody begins anything") {
  // On the core a, on the GPU b; both end at 10. Then c, which follows a, and d, which follows b
  // and has a higher priority, are the core's: c runs from 15 to 25, though the forecast is asked
  // for when only a's end has been told.
  constexpr auto never = HeftForecast::never;
  constexpr auto rw = hs::AccessMode::read_write;
  hs::TaskGraph const tasks(std::vector<hs::TaskGraph::Node>{{"a", "", 0, {}, {{0, rw, nullptr}}},
                                                             {"b", "", 0, {}, {{1, rw, nullptr}}},
                                                             {"c", "", 1, {}, {{0, rw, nullptr}}},
                                                             {"d", "", 2, {}, {{1, rw, nullptr}}}},
                            {4, 4});
  std::vector<HeftForecast::Times> times(4);
  for (auto& of_task : times) {
    of_task.fill(never);
  }
  times[0][0] = 10;
  times[1][1] = 10;
  times[2][0] = 10;
  times[3][0] = 5;
  ScriptedContext const ctx({ArchHost, ArchCUDA});
  HeftForecast forecast(ctx.workers());
  forecast.begin(tasks, times);
  CHECK(forecast.knows(3));
  CHECK(!forecast.knows(-1));
  forecast.give(0, core);
  forecast.give(1, gpu);
  forecast.take(0, core, 0);
  forecast.take(1, gpu, 0);
  forecast.end(0, core, 10);

  struct Watch {
    static bool idle(hs::Arch, std::int64_t) { return true; }

    static bool ended(HeftForecast::Node node, std::int64_t) { return node != 2; }
  };

  CHECK(forecast.choose(10, 2, {0xff}).end == 20);
  CHECK(!forecast.choose(10, 2, hs::ArchMask::only(ArchCUDA)).worker);
  CHECK(forecast.go_on(10, 2, core, {}, Watch{}) == 25);
  forecast.begin(tasks, {});
  CHECK(!forecast.knows(3));
}

TEST_CASE("Heftp: no look-ahead without a graph") {
  auto const makespan = []<class Scheduler>(Scheduler const*) {
    std::vector<int> memory(2);
    hs::SimulatedRuntime<Scheduler> rt(simulated::on(1, 1));
    auto const x = simulated::cells(rt, memory);
    for (int k = 0; k < 4; ++k) {
      rt.template spawn<simulated::Fast>(hs::priority(9))(x[0]);
    }
    rt.template spawn<simulated::Fast>()(x[1]);
    return simulated::waited(rt);
  };
  CHECK(makespan(static_cast<Heftp<> const*>(nullptr)) == 50);
  CHECK(makespan(static_cast<Mms const*>(nullptr)) == 50);
  CHECK(makespan(static_cast<Gb const*>(nullptr)) == 50);
}

TEST_CASE("Heftp: graphs on threads") {
  std::vector<int> numbers(6);
  hs::Runtime<Mms, hs::policies::Lru, OneMicrosecond> rt(support::on_cpus(2));
  std::vector<hs::Handle<int>> data;
  for (auto& number : numbers) {
    data.push_back(rt.data(number));
  }
  auto const program = rt.capture([&] {
    for (int k = 0; k < 120; ++k) {
      rt.spawn<Increment>(hs::priority(k % 7))(data[static_cast<std::size_t>(k * k % 6)]);
    }
  });
  for (int run = 1; run <= 5; ++run) {
    rt.run(program);
    rt.spawn<Increment>()(data[0]); // of no graph
    rt.sync();
    CHECK(std::accumulate(numbers.begin(), numbers.end(), 0) == 121 * run);
  }
}

TEST_CASE("Heftp: with +MMS no graph ends later than without") {
  // Each decision takes the earlier of two ends, of which one is what the decision before took; so
  // does the last, whose end is the makespan. Unless what is simulated differs from what happens.
  int earlier = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto const tasks = random_graph(seed);
    auto const without = outcome<Heftp<>>(tasks, 2, 2).makespan;
    auto const with = outcome<Mms>(tasks, 2, 2).makespan;
    CAPTURE(seed);
    CHECK(with <= without);
    earlier += with < without ? 1 : 0;
  }
  CHECK(earlier > 0);
}

TEST_SUITE_END();

} // namespace heft_test
