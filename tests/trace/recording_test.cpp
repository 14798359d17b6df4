// SPDX-License-Identifier: MIT
// What engines record of a run.

#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"
#include "recorded.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace recording_test {

using hs::policies::Eager;
using hs::policies::WorkStealing;
using Outcome = hs::Trace::Outcome;

hs::Config recording(int cpus) {
  auto config = support::on_cpus(cpus);
  config.record = true;
  return config;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(hs::Trace const& trace) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (auto const& edge : trace.edges) {
    all.emplace_back(edge.from, edge.to);
  }
  return all;
}

TEST_SUITE_BEGIN("recording");

TEST_CASE_TEMPLATE("recording: tasks, data, edges and labels", S, WorkStealing<>, Eager<>) {
  hs::Runtime<S> rt(recording(2));
  int x = 0;
  std::vector<double> y(10);
  auto const hx = rt.data(x);
  auto const hy = rt.data(y);
  rt.spawn(hs::label("first"), hs::priority(3))([](int& value) { value = 1; }, hs::write(hx));
  rt.spawn()([](int const& value, hs::VectorView<double> all) { all[0] = value; },
             hs::read(hx),
             hs::write(hy));
  rt.spawn()([](int const&) {}, hs::read(hx));
  rt.spawn(hs::label("last"))([](int& value) { ++value; }, hs::read_write(hx));
  rt.spawn()([] {});
  rt.sync();
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  REQUIRE(trace.tasks.size() == 5);
  CHECK(!trace.simulated);
  CHECK(trace.dropped == 0);
  CHECK(trace.workers.size() == 2);
  CHECK(trace.workers[1].name == "core 1");
  REQUIRE(trace.nodes.size() == 1);
  CHECK(trace.nodes[0].name == "host memory");
  CHECK(trace.labels[trace.tasks[0].label] == "first");
  CHECK(trace.labels[trace.tasks[3].label] == "last");
  CHECK(trace.tasks[1].label == 0);
  CHECK(trace.tasks[0].priority == 3);
  REQUIRE(trace.data.size() == 2);
  CHECK(trace.data[0].bytes == sizeof(int));
  CHECK(trace.data[1].bytes == 10 * sizeof(double));
  CHECK(trace.accesses_of(1)[1].mode == hs::AccessMode::write);
  CHECK(trace.accesses_of(4).empty());
  CHECK(pairs(trace) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  CHECK(std::all_of(trace.tasks.begin(), trace.tasks.end(), [](auto const& task) {
    return task.outcome == Outcome::done;
  }));
}

TEST_CASE("recording: nested tasks have parents, and edges among siblings only") {
  using Rt = hs::Runtime<>;
  Rt rt(recording(2));
  std::vector<int> x(2);
  auto const h = rt.data(x);
  for (int k = 0; k < 3; ++k) {
    rt.spawn(hs::label("outer"))(
        [h](Rt& runtime, hs::VectorView<int>) {
          for (int n = 0; n < 4; ++n) {
            runtime.spawn(hs::label("inner"))([](hs::VectorView<int> all) { ++all[0]; },
                                              hs::read_write(h));
          }
          runtime.spawn()([] {});
        },
        hs::read_write(h));
  }
  rt.sync();
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  REQUIRE(trace.tasks.size() == 3 + 3 * 5);
  std::map<std::uint32_t, int> children;
  for (auto const& task : trace.tasks) {
    if (task.parent != hs::Trace::none) {
      ++children[task.parent];
      CHECK(trace.labels[trace.tasks[task.parent].label] == "outer");
    }
  }
  CHECK(children.size() == 3);
  for (auto const& [parent, count] : children) {
    CHECK(count == 5);
  }
  CHECK(trace.edges.size() == 2 + 3 * 3);
  for (auto const& [from, to] : trace.edges) {
    CHECK(trace.tasks[from].parent == trace.tasks[to].parent);
  }
  CHECK(x[0] == 12);
}

/// `change(region)` spawns a task on a region in parts, which are made and joined several times.
template <class Rt, class Change>
hs::Trace trace_of_parts(Rt& rt, Change const& change) {
  std::vector<int> x(8);
  auto const whole = rt.data(x);
  change(whole); // 0
  {
    auto const parts = rt.partition(whole, hs::block_rows(4));
    change(parts[0]); // 1
    change(parts[1]); // 2
    change(parts[0]); // 3
  }
  change(whole); // 4
  change(whole); // 5
  {
    auto const parts = rt.partition(whole, hs::block_rows(4));
    change(parts[1]); // 6
  }
  (void)rt.partition(whole, hs::block_rows(1)); // joined at once
  {
    auto const parts = rt.partition(whole, hs::block_rows(2));
    change(parts[3]); // 7
    change(parts[3]); // 8
    change(parts[0]); // 9
  }
  rt.sync();
  return rt.trace();
}

TEST_CASE("recording: what waits for a partition or a join depends on what that waited for") {
  auto const check = [](hs::Trace const& trace) {
    recorded::check_whole(trace);
    CHECK(trace.tasks.size() == 10);
    CHECK(pairs(trace) ==
          std::vector<std::pair<std::uint32_t, std::uint32_t>>{
              {0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {6, 9}});
  };
  hs::Runtime<> rt(recording(2));
  check(trace_of_parts(rt, [&](auto const& region) {
    rt.spawn()([](hs::VectorView<int> values) { ++values[0]; }, hs::read_write(region));
  }));
  auto config = simulated::on(2, 0);
  config.record = true;
  hs::SimulatedRuntime<> in_virtual_time(config);
  check(trace_of_parts(in_virtual_time, [&](auto const& region) {
    in_virtual_time.spawn<simulated::Even>()(region);
  }));
}

TEST_CASE("recording: parts that a task's children use") {
  hs::Runtime<> rt(recording(2));
  std::vector<int> x(8);
  auto const whole = rt.data(x);
  rt.spawn(hs::label("outer"))(
      [whole](hs::Runtime<>& runtime, hs::VectorView<int>) {
        auto const parts = runtime.partition(whole, hs::block_rows(4));
        for (int round = 0; round < 2; ++round) {
          for (std::size_t k = 0; k < parts.size(); ++k) {
            runtime.spawn()([](hs::VectorView<int> all) { ++all[0]; }, hs::read_write(parts[k]));
          }
        }
      },
      hs::read_write(whole));
  rt.spawn()([](hs::VectorView<int> all) { ++all[0]; }, hs::read_write(whole));
  rt.sync();
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  CHECK(trace.tasks.size() == 6);
  std::size_t among_children = 0;
  for (auto const& [from, to] : trace.edges) {
    among_children += trace.tasks[to].parent != hs::Trace::none ? 1 : 0;
  }
  CHECK(among_children == 2);
  CHECK(trace.edges.size() == 3);
}

TEST_CASE("recording: failed and cancelled tasks, reductions and what another runtime does") {
  hs::Runtime<> rt(recording(2));
  hs::Runtime<> other(recording(1));
  int x = 0;
  int sum = 0;
  auto const h = rt.data(x);
  auto const hsum = rt.data(sum);
  rt.spawn()([](int&) { throw std::runtime_error("no"); }, hs::read_write(h));
  rt.spawn()([](int const&) {}, hs::read(h));
  for (int k = 0; k < 4; ++k) {
    rt.spawn()([](int& value) { value += 1; }, hs::reduce<hs::Sum<int>>(hsum));
  }
  rt.spawn()([](int const& value) { CHECK(value == 4); }, hs::read(hsum));
  CHECK_THROWS(rt.sync());
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  CHECK(trace.tasks[0].outcome == Outcome::failed);
  CHECK(trace.tasks[1].outcome == Outcome::cancelled);
  auto const merges = std::count_if(trace.tasks.begin(), trace.tasks.end(), [&](auto const& task) {
    return trace.types[task.type].name == "hetsched merge";
  });
  CHECK(merges == static_cast<std::ptrdiff_t>(rt.stats().merges));
  CHECK(merges >= 1);
  CHECK(other.trace().tasks.empty());
}

TEST_CASE("recording: several threads at once") {
  hs::Runtime<> rt(recording(2));
  constexpr int each = 5000;
  auto const spawn_all = [&] {
    for (int k = 0; k < each; ++k) {
      rt.spawn()([] {});
    }
  };
  std::thread outside(spawn_all);
  spawn_all();
  outside.join();
  rt.sync();
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  CHECK(trace.tasks.size() == 2 * each);
  CHECK(trace.dropped == 0);
  std::map<std::int32_t, std::vector<std::pair<hs::Instant, hs::Instant>>> on;
  for (auto const& task : trace.tasks) {
    on[task.worker.value].emplace_back(task.begin, task.end);
  }
  for (auto& [worker, spans] : on) { // one at a time
    std::sort(spans.begin(), spans.end());
    for (std::size_t k = 1; k < spans.size(); ++k) {
      REQUIRE(spans[k - 1].second <= spans[k].first);
    }
  }
}

TEST_CASE("recording: ids that recur") {
  hs::Runtime<> rt(recording(1));
  constexpr std::size_t count = 66'000; // a record has fewer generations
  for (std::size_t k = 0; k < count; ++k) {
    rt.spawn(hs::priority(static_cast<std::int32_t>(k)))([] {});
    rt.wait();
  }
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  REQUIRE(trace.tasks.size() == count);
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < count; ++k) {
    auto const& task = trace.tasks[k];
    wrong += task.priority != static_cast<std::int32_t>(k) ? 1 : 0;
    wrong += k > 0 && task.begin < trace.tasks[k - 1].end ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("recording: what there is no memory for is counted, and the rest is whole") {
  auto config = recording(1);
  config.trace_memory = 600 << 10; // two chunks
  hs::Runtime<> rt(config);
  for (int k = 0; k < 20'000; ++k) {
    rt.spawn()([] {});
  }
  rt.sync();
  auto const trace = rt.trace();
  CHECK(trace.dropped > 1000);
  CHECK(trace.tasks.size() > 1000);
  CHECK(trace.tasks.size() < 20'000);
}

TEST_CASE("recording: a reset forgets; without recording there is no trace") {
  hs::Runtime<> rt(recording(1));
  rt.spawn()([] {});
  rt.sync();
  rt.reset_stats();
  CHECK(rt.trace().tasks.empty());
  rt.spawn()([] {});
  rt.sync();
  CHECK(rt.trace().tasks.size() == 1);
  hs::Runtime<> plain(support::on_cpus(1));
  CHECK(support::code_of([&] { (void)plain.trace(); }) == hs::ErrorCode::bad_call);
}

TEST_CASE("recording: HETSCHED_TRACE writes a file for each runtime") {
  auto const folder =
      std::filesystem::temp_directory_path() / ("hetsched-recording-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  auto const path = folder / "run.json";
  ::setenv("HETSCHED_TRACE", path.c_str(), 1);
  for (int k = 0; k < 2; ++k) {
    hs::Runtime<> rt(support::on_cpus(1));
    rt.spawn(hs::label("hello"))([] {});
  }
  ::unsetenv("HETSCHED_TRACE");
  for (auto const* const name : {"run.json", "run.2.json"}) {
    std::stringstream text;
    text << std::ifstream(folder / name).rdbuf();
    CHECK(text.str().find("\"trace-4\"") != std::string::npos);
    CHECK(text.str().find("\"hello\"") != std::string::npos);
  }
  auto config = support::on_cpus(1);
  config.trace = (folder / "missing" / "run.json").string();
  CHECK(support::code_of([&] { hs::Runtime<> rt(config); }) == hs::ErrorCode::bad_config);
  std::filesystem::remove_all(folder);
}

TEST_CASE("recording: while the program does not wait, worker 0 is idle because of the program") {
  auto config = support::on_cpus(2);
  config.record = true;
  hs::Runtime<> rt(config);
  for (int k = 0; k < 2; ++k) {
    rt.spawn()([] {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rt.sync();
  }
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  REQUIRE(!trace.syncs.empty()); // worker 1 may have ended all before a sync
  for (auto const& sync : trace.syncs) {
    CHECK(sync.worker == hs::WorkerId{0});
    CHECK(sync.begin <= sync.end);
  }
  auto const idle = hs::attribute_idle_time(trace);
  auto const elsewhere = [&](std::size_t worker) {
    return idle[worker].idle[static_cast<std::size_t>(hs::IdleCause::elsewhere)];
  };
  // The second pause lies between the tasks.
  CHECK(elsewhere(0) >= hs::Duration{20'000'000});
  CHECK(elsewhere(1) == hs::Duration{});
}

TEST_CASE("recording: a coroutine is there in parts, up to each wait and behind the last") {
  for (int const cpus : {1, 2}) {
    CAPTURE(cpus);
    hs::Runtime<> rt(recording(cpus));
    auto const sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    auto const work = [&] {
      sleep();
      return 1;
    };
    auto const sum = rt.async(hs::label("sum"), [&]() -> hs::Coroutine<int> {
      auto const first = rt.async(work);
      auto const second = rt.async(work);
      sleep();
      auto const a = co_await first;
      auto const b = co_await second;
      sleep();
      co_return a + b;
    });
    CHECK(sum.get() == 2);
    rt.sync();
    auto const trace = rt.trace();
    recorded::check_whole(trace);
    auto const own = std::find_if(trace.tasks.begin(), trace.tasks.end(), [&](auto const& task) {
      return trace.labels[task.label] == "sum";
    });
    REQUIRE(own != trace.tasks.end());
    auto const number = static_cast<std::size_t>(own - trace.tasks.begin());
    CHECK((cpus > 1 || !trace.parts.empty())); // nobody has run its children before it waits
    auto all = own->end - own->begin;
    for (auto const& part : trace.parts) {
      CHECK(part.task == number);
      CHECK(own->spawned <= part.begin);
      CHECK(part.end <= own->ready);
      all += part.end - part.begin;
    }
    auto const times = hs::execution_times(trace);
    CHECK(times[number] == all);
    CHECK(all >= hs::Duration{4'000'000});
    hs::Duration busy;
    for (auto const& worker : hs::attribute_idle_time(trace)) {
      busy += worker.busy;
    }
    CHECK(busy >= hs::Duration{8'000'000});
  }
}

TEST_CASE("recording: a thread that waits in a spawn is in worker 0") {
  auto config = support::on_cpus(1);
  config.record = true;
  config.max_live_tasks = 64;
  hs::Runtime<> rt(config);
  for (int k = 0; k < 1000; ++k) {
    rt.spawn()([] {});
  }
  auto const trace = rt.trace();
  auto const ran = std::count_if(trace.tasks.begin(), trace.tasks.end(), [](auto const& task) {
    return task.outcome == hs::Trace::Outcome::done;
  });
  CHECK(ran > 0);
  CHECK(!trace.syncs.empty());
  rt.sync();
}

TEST_CASE("recording: in virtual time, with transfers and evictions") {
  auto config = simulated::with_memory(
      simulated::joined(2, 2, hs::Simulation::Transfers::shared, 3), 3 * 256);
  config.record = true;
  hs::SimulatedRuntime<hs::policies::Dmda<>> rt(config);
  std::vector<int> memory(8);
  auto const cells = simulated::cells(rt, memory);
  for (int k = 0; k < 40; ++k) {
    rt.spawn<simulated::Fast>()(cells[static_cast<std::size_t>(k) % 8]);
  }
  rt.sync();
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  CHECK(trace.simulated);
  REQUIRE(trace.tasks.size() == 40);
  CHECK(trace.edges.size() == 32);
  auto const stats = rt.stats();
  recorded::check_counts(trace, stats);
  CHECK(!trace.transfers.empty());
  CHECK(!trace.evictions.empty());
  CHECK(hs::span_of(trace).second.ns <= stats.elapsed.ns);
}

TEST_CASE("recording: aborted tasks in virtual time") {
  auto config = simulated::on(1, 1);
  config.record = true;
  config.serve = hs::Simulation::Serve::cpu;
  using HeteroPrio = hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::sp>;
  hs::SimulatedRuntime<HeteroPrio> rt(config);
  std::vector<int> memory(2);
  auto const cells = simulated::cells(rt, memory);
  for (auto const& cell : cells) {
    rt.spawn<simulated::Fast>()(cell); // 40 on the core, 10 on the GPU, which takes over
  }
  rt.sync();
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  recorded::check_counts(trace, rt.stats());
  REQUIRE(trace.attempts.size() == 1);
  CHECK(trace.attempts[0].worker == hs::WorkerId{0});
  CHECK(trace.attempts[0].end == hs::Instant{10});
  auto const& again = trace.tasks[trace.attempts[0].task];
  CHECK(again.worker == hs::WorkerId{1});
  CHECK(again.begin == hs::Instant{10});
}

TEST_SUITE_END();

} // namespace recording_test
