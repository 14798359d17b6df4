// SPDX-License-Identifier: MIT
// The engine of virtual time on machines made by hand: schedules worked out on paper, an
// independent check of schedules of random programs, and the same order as real threads.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/schedulers.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using hs::Simulation;
using simulated::Add;
using simulated::Alone;
using simulated::Cell;
using simulated::cells;
using simulated::Even;
using simulated::Fast;
using simulated::GpuOnly;
using simulated::HostOnly;
using simulated::kernel;
using simulated::Mix;
using simulated::on;
using simulated::RandomSpawns;
using simulated::Swap;
using support::contains;
using support::message_of;

namespace simulated_runtime_test {

struct Unknown : hs::Task<0>::Signature<> {
  static constexpr std::string_view name = "Unknown";
};

struct Spawning : hs::Task<0>::Signature<> {
  static constexpr std::string_view name = "Spawning";
};

} // namespace simulated_runtime_test

template <>
struct hetsched::TaskBodyCPU<simulated_runtime_test::Unknown> : simulated::NoBody<> {};

template <>
struct hetsched::TaskBodyCPU<simulated_runtime_test::Spawning> {
  template <class Rt>
  void operator()(Rt& rt) const {
    rt.template spawn<Alone>()();
  }
};

namespace simulated_runtime_test {

TEST_SUITE_BEGIN("simulation");

TEST_CASE_TEMPLATE("SimulatedRuntime: a chain and independent tasks", S, HETSCHED_ALL_SCHEDULERS) {
  std::vector<int> memory(6);
  {
    hs::SimulatedRuntime<S> rt(on(1, 0));
    auto const x = cells(rt, memory);
    for (int k = 0; k < 5; ++k) {
      rt.template spawn<Even>()(x[0]);
      rt.template spawn<Fast>()(x[1]);
    }
    CHECK(rt.stats().elapsed == Duration{0}); // spawns take no time
    rt.sync();
    CHECK(rt.stats().elapsed == Duration{250});
    CHECK(rt.stats().executed == 10);
    CHECK(rt.stats().idle == Duration{0});
    rt.reset_stats();
    rt.template spawn<Even>()(x[0]);
    rt.sync();
    CHECK(rt.stats().elapsed == Duration{10}); // time goes on
    CHECK(rt.stats().types.size() == 1);
  }
  CHECK(memory == std::vector<int>(6));
}

TEST_CASE("SimulatedRuntime: who is served first") {
  // One core (Fast: 40) and one GPU (10). One task: to whom it is offered first. Eager knows no
  // better: two take 40, three 40: the GPU does two while the core does one.
  auto const makespan = [](Simulation::Serve serve, int tasks) {
    auto config = on(1, 1);
    config.serve = serve;
    std::vector<int> memory(9);
    hs::SimulatedRuntime<hs::policies::Eager<>> rt(config);
    auto const x = cells(rt, memory);
    for (int k = 0; k < tasks; ++k) {
      rt.spawn<Fast>()(x[static_cast<std::size_t>(k)]);
    }
    rt.sync();
    return rt.stats().elapsed.ns;
  };
  CHECK(makespan(Simulation::Serve::gpu, 1) == 10);
  CHECK(makespan(Simulation::Serve::cpu, 1) == 40);
  CHECK(makespan(Simulation::Serve::gpu, 2) == 40);
  CHECK(makespan(Simulation::Serve::gpu, 5) == 40);
  // The fourth end on the GPU meets the first on the core, and the sixth task is served as said.
  CHECK(makespan(Simulation::Serve::gpu, 6) == 50);
  CHECK(makespan(Simulation::Serve::cpu, 6) == 80);
}

TEST_CASE("SimulatedRuntime: reads go side by side, writes one after the other") {
  // Two cores. W x; then two that read x into y and z; then one that reads y into x: it waits for
  // both readers of x. 10 + 30 + 30.
  std::vector<int> memory(3);
  hs::SimulatedRuntime<hs::policies::Eager<>> rt(on(2, 0));
  auto const x = cells(rt, memory);
  rt.spawn<Even>()(x[0]);
  rt.spawn<Mix>()(x[0], x[1]);
  rt.spawn<Mix>()(x[0], x[2]);
  rt.spawn<Mix>()(x[1], x[0]);
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{70});
  CHECK(rt.stats().idle == Duration{40}); // of the second core: before 10 and after 40
}

TEST_CASE("SimulatedRuntime: commuting tasks exclude each other, contributions do not") {
  std::vector<int> memory(2);
  hs::SimulatedRuntime<> rt(on(4, 0));
  auto const x = cells(rt, memory);
  for (int k = 0; k < 4; ++k) {
    rt.spawn<Swap>()(x[0]);
  }
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{40});
  rt.reset_stats();
  for (int k = 0; k < 4; ++k) {
    rt.spawn<Add>()(x[1]);
  }
  rt.spawn<Even>()(x[1]);
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{20});
  CHECK(rt.stats().merges == 1);
  CHECK(rt.stats().spawned == 5);
}

TEST_CASE("SimulatedRuntime: parts, and a region that goes while it is used") {
  std::vector<int> memory(8);
  hs::SimulatedRuntime<> rt(on(4, 0));
  {
    auto const whole = rt.data(memory);
    rt.spawn<Even>()(whole);
    {
      auto parts = rt.partition(whole, hs::Blocks{2, 1});
      for (std::size_t k = 0; k < parts.size(); ++k) {
        rt.spawn<Fast>()(parts[k]);
      }
    }
    rt.spawn<Even>()(whole);
    rt.sync();
    CHECK(rt.stats().elapsed == Duration{60});
    rt.spawn<Even>()(whole);
  }
  CHECK(contains(message_of([&] { rt.sync(); }), "its last handle was destroyed"));
  CHECK(rt.stats().executed == 7);
}

TEST_CASE("SimulatedRuntime: tasks of one type that are not alike") {
  auto const time = [](hs::TaskView const& task, hs::Arch arch, Duration of_type) {
    CHECK(task.type == "Even");
    auto const elements = static_cast<std::int64_t>(task.argument(0).bytes / sizeof(int));
    return Duration{of_type.ns * (elements - 1) + (arch == hs::ArchHost ? 100 : 0)};
  };
  std::vector<int> memory(8);
  auto config = on(1, 1);
  config.task_time = time;
  hs::SimulatedRuntime<hs::policies::Dmda<>> rt(config);
  auto const all = rt.data(memory);
  rt.spawn<Even>()(all);
  rt.spawn<Even>()(all); // Dmda sees 70 ns on the GPU, and 170 on the core
  rt.wait();
  CHECK(rt.stats().elapsed == Duration{140});
  CHECK(rt.stats().workers[1].executed == 2);

  auto gpu = on(0, 1);
  gpu.task_time = time;
  hs::SimulatedRuntime<> alone(gpu);
  auto const one = alone.data(memory.data(), 1);
  alone.spawn<Even>()(one); // at least 1 ns
  alone.wait();
  CHECK(alone.stats().elapsed == Duration{1});

  gpu.noise = 0.5;
  gpu.noise_is = Simulation::Noise::per_task;
  hs::SimulatedRuntime<> noisy(gpu);
  auto const same = noisy.data(memory);
  noisy.spawn<Even>()(same);
  noisy.wait();
  CHECK(noisy.stats().elapsed >= Duration{35});
  CHECK(noisy.stats().elapsed <= Duration{105});
  CHECK(noisy.stats().elapsed != Duration{70});
}

TEST_CASE("SimulatedRuntime: hints about memory do nothing if transfers are free") {
  std::vector<int> memory(1);
  hs::SimulatedRuntime<> rt(on(1, 1));
  auto const x = cells(rt, memory);
  hs::NodeId const node{1};
  rt.pin(x[0], node);
  rt.spawn<Even>()(x[0]);
  rt.prefetch(x[0], node);
  rt.evict(x[0], node);
  rt.unpin(x[0], node);
  rt.invalidate(x[0]);
  rt.wait();
  CHECK(rt.stats().executed == 1);
  CHECK(rt.stats().elapsed == Duration{10});
  CHECK(contains(message_of([&] { rt.prefetch(x[0], hs::NodeId{2}); }), "no memory node 2"));
}

TEST_CASE("SimulatedRuntime: as many partitions in a row as the program likes") {
  std::vector<int> memory(2);
  hs::SimulatedRuntime<hs::policies::Eager<>> rt(on(1, 0));
  auto const whole = rt.data(memory);
  rt.spawn<Even>()(whole); // while it waits, all others do
  for (int k = 0; k < 20000; ++k) {
    auto parts = rt.partition(whole, hs::block_rows(1));
  }
  rt.spawn<Even>()(whole);
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{20});
}

TEST_CASE("SimulatedRuntime: groups") {
  std::vector<int> memory(2);
  hs::SimulatedRuntime<hs::policies::Eager<>> rt(on(1, 0));
  auto const x = cells(rt, memory);
  hs::TaskGroup first(rt);
  hs::TaskGroup second(rt);
  rt.spawn<Even>(hs::in(first))(x[0]);
  rt.spawn<Fast>(hs::in(second))(x[1]);
  rt.spawn<Even>(hs::in(second))(x[1]);
  rt.sync(first);
  CHECK(rt.stats().elapsed == Duration{10});
  second.cancel(); // the first of it has not begun either: no time has passed since
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{10});
  CHECK(rt.stats().cancelled == 2);
  CHECK(rt.stats().executed == 1);
}

TEST_CASE("SimulatedRuntime: runs the same graph as data") {
  hs::Runtime<> real({.cpus = 1, .devices = "none"});
  std::vector<int> memory(4);
  auto const x = cells(real, memory);
  auto const spawn_on = [](auto& rt, auto const& data) {
    for (std::size_t k = 0; k < 12; ++k) {
      rt.template spawn<Even>(hs::priority(static_cast<int>(k % 3)))(data[k % 4]);
      rt.template spawn<Mix>()(data[k % 3], data[3]);
      rt.template spawn<Add>()(data[(k + 1) % 4]);
    }
  };
  auto const graph = real.capture([&] { spawn_on(real, x); });
  for (int cpus = 1; cpus < 4; ++cpus) {
    hs::SimulatedRuntime<hs::policies::Eager<>> from_program(on(cpus, 1));
    auto const y = cells(from_program, memory);
    spawn_on(from_program, y);
    from_program.sync();
    hs::SimulatedRuntime<hs::policies::Eager<>> from_graph(on(cpus, 1));
    from_graph.run(graph.tasks());
    CHECK(from_graph.stats().elapsed == from_program.stats().elapsed);
    CHECK(from_graph.stats().executed == 36);
  }
}

TEST_CASE("SimulatedRuntime: noise") {
  auto const times = [](double noise, Simulation::Noise kind, std::uint64_t seed) {
    auto config = on(1, 0);
    config.noise = noise;
    config.noise_is = kind;
    config.seed = seed;
    config.platform.kernels[0] = kernel("Even", 1000000, std::nullopt);
    std::vector<std::int64_t> found;
    config.on_task = [&](hs::SimulatedTask const& task) {
      found.push_back((task.end - task.begin).ns);
    };
    std::vector<int> memory(1);
    hs::SimulatedRuntime<> rt(config);
    auto const x = cells(rt, memory);
    for (int k = 0; k < 500; ++k) {
      rt.spawn<Even>()(x[0]);
    }
    rt.sync();
    return found;
  };
  auto const extremes = [](std::vector<std::int64_t> const& all) {
    auto const [low, high] = std::minmax_element(all.begin(), all.end());
    return std::pair(*low, *high);
  };
  using enum Simulation::Noise;
  CHECK(extremes(times(0, per_task, 1)) == std::pair<std::int64_t, std::int64_t>(1000000, 1000000));
  auto const [low, high] = extremes(times(0.2, per_task, 1));
  CHECK(low >= 800000);
  CHECK(low < 810000);
  CHECK(high > 1190000);
  CHECK(high <= 1200000);
  auto const [first, last] = extremes(times(0.2, per_type, 1));
  CHECK(first == last);
  CHECK(first != 1000000);
  CHECK(times(0.2, per_type, 2).front() != first);
  CHECK(times(0.2, per_task, 3) == times(0.2, per_task, 3));
  CHECK(times(0.2, per_task, 3) != times(0.2, per_task, 4));
}

/// Gives nothing to anybody.
struct Hoarder : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const&, hs::WorkerId) { return hs::no_task; }
};

/// Gives anything to anybody.
struct Careless : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const&, hs::WorkerId) {
    return ready.empty() ? hs::no_task : ready.front(); // and keeps it
  }
};

TEST_CASE("SimulatedRuntime: says what it cannot simulate") {
  std::vector<int> memory(1);
  hs::SimulatedRuntime<hs::policies::Eager<>> rt(on(1, 1));
  auto const x = cells(rt, memory);
  CHECK(contains(message_of([&] { rt.spawn<Unknown>()(); }), "no worker of platform 'paper'"));
  CHECK(contains(message_of([&] { rt.spawn<GpuOnly>(hs::SetArch(hs::ArchHost))(x[0]); }),
                 "no time for it on the class of worker"));
  CHECK(contains(message_of([&] { rt.spawn<Spawning>()(); }), "simulate a recorded graph"));
  CHECK(contains(message_of([&] { rt.sync(x[0]); }), "simulate a recorded graph"));
  rt.spawn<HostOnly>()(x[0]);
  rt.spawn<Alone>()();
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{5});
  CHECK(rt.stats().spawned == 2);
  CHECK(contains(message_of([] { hs::SimulatedRuntime<> none(on(0, 0)); }), "has no worker"));
  auto noisy = on(1, 0);
  noisy.noise = 1;
  CHECK(contains(message_of([&] { hs::SimulatedRuntime<> none(noisy); }), "Simulation::noise"));
}

TEST_CASE("SimulatedRuntime: a scheduler's mistakes end in one error") {
  std::vector<int> memory(2);
  {
    hs::SimulatedRuntime<Hoarder> rt(on(2, 0));
    auto const x = cells(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Even>()(x[1]);
    auto const message = message_of([&] { rt.sync(); });
    CHECK(contains(message, "scheduler '"));
    CHECK(contains(message, "Hoarder': keeps 2 tasks from 2 idle workers"));
  }
  {
    hs::SimulatedRuntime<Careless> rt(on(2, 0));
    auto const x = cells(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Even>()(x[1]);
    CHECK(contains(message_of([&] { rt.sync(); }), " gave worker 1 "));
  }
  {
    hs::SimulatedRuntime<Careless> rt(on(1, 1));
    auto const x = cells(rt, memory);
    rt.spawn<Even>(hs::SetArch(hs::ArchHost))(x[0]);
    CHECK(contains(message_of([&] { rt.sync(); }), "which it cannot run"));
  }
}

TEST_CASE_TEMPLATE("SimulatedRuntime: schedules keep all constraints and bounds",
                   S,
                   HETSCHED_ALL_SCHEDULERS) {
  std::vector<int> memory(7);
  hs::Runtime<> recorder({.cpus = 1, .devices = "none"});
  auto const recorded = cells(recorder, memory);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomSpawns const program(seed);
    auto const captured = recorder.capture([&] { program(recorder, recorded); });
    auto const& graph = captured.tasks();
    auto const cpus = static_cast<int>(seed % 4);
    auto const gpus = static_cast<int>(seed / 4 % 3);
    if (cpus == 0) {
      continue; // HostOnly
    }
    auto config = on(cpus, gpus);
    config.serve = seed % 2 == 0 ? Simulation::Serve::cpu : Simulation::Serve::gpu;
    std::vector<hs::SimulatedTask> done(graph.size());
    std::vector<bool> seen(graph.size());
    std::map<int, std::vector<hs::SimulatedTask>> of_worker;
    config.on_task = [&](hs::SimulatedTask const& task) {
      auto const v = static_cast<std::size_t>(std::stoi(std::string(task.label)));
      REQUIRE(!seen[v]);
      seen[v] = true;
      done[v] = task;
      of_worker[task.worker.value].push_back(task);
    };
    hs::SimulatedRuntime<S> rt(config);
    auto const x = cells(rt, memory);
    program(rt, x);
    rt.sync();
    REQUIRE(std::count(seen.begin(), seen.end(), true) == static_cast<int>(graph.size()));
    hs::Instant last;
    for (std::size_t v = 0; v < graph.size(); ++v) {
      auto const& kernels = config.platform.kernels;
      auto const kernel = std::find_if(kernels.begin(), kernels.end(), [&](auto const& candidate) {
        return candidate.name == graph.nodes()[v].type;
      });
      auto const on_gpu = done[v].worker.value >= cpus;
      REQUIRE(done[v].end - done[v].begin == kernel->on(on_gpu ? 1 : 0).value().mean);
      for (auto const next : graph.successors(v)) {
        REQUIRE(done[next].begin >= done[v].end);
      }
      last = std::max(last, done[v].end);
    }
    for (auto const& [worker, tasks] : of_worker) {
      for (std::size_t k = 1; k < tasks.size(); ++k) {
        REQUIRE(tasks[k].begin >= tasks[k - 1].end);
      }
    }
    REQUIRE(rt.stats().elapsed == last - hs::Instant{});
    auto const times = hs::class_times(
        graph, config.platform, "test", hs::Precision::double_precision, 0, "by hand");
    REQUIRE(hs::area_bound(times).value() <= rt.stats().elapsed);
    REQUIRE(hs::critical_path(graph, hs::shortest_times(times)) <= rt.stats().elapsed);
  }
}

struct Noted : hs::Task<2>::Signature<int, hs::RW<Cell>> {
  static constexpr std::string_view name = "Noted";
};

std::vector<int> noted;

} // namespace simulated_runtime_test

template <>
struct hetsched::TaskBodyCPU<simulated_runtime_test::Noted> {
  void operator()(int number, Cell) const { simulated_runtime_test::noted.push_back(number); }
};

namespace simulated_runtime_test {

TEST_CASE_TEMPLATE("SimulatedRuntime: one worker does what a real one does, in the same order",
                   S,
                   HETSCHED_ALL_SCHEDULERS) {
  std::vector<int> memory(5);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const spawn_on = [&](auto& rt, auto const& x) {
      std::mt19937_64 dice(seed);
      for (int k = 0; k < 80; ++k) {
        auto const name = std::to_string(k);
        auto const priority = hs::priority(static_cast<int>(dice() % 5));
        rt.template spawn<Noted>(priority, hs::label(name))(k, x[dice() % x.size()]);
      }
      rt.sync();
    };
    noted.clear();
    {
      hs::Runtime<S> rt({.cpus = 1, .devices = "none"});
      auto const x = cells(rt, memory);
      spawn_on(rt, x);
    }
    auto config = on(1, 0);
    config.platform.kernels.push_back(kernel("Noted", 10, std::nullopt));
    std::vector<int> simulated;
    config.on_task = [&](hs::SimulatedTask const& task) {
      simulated.push_back(std::stoi(std::string(task.label)));
    };
    hs::SimulatedRuntime<S> rt(config);
    auto const x = cells(rt, memory);
    spawn_on(rt, x);
    REQUIRE(simulated == noted);
  }
}

TEST_CASE("SimulatedRuntime: a thousand workers") {
  std::vector<int> memory(3000);
  hs::SimulatedRuntime<> rt(on(900, 100));
  auto const x = cells(rt, memory);
  for (int k = 0; k < 4; ++k) {
    for (auto const& cell : x) {
      rt.spawn<Even>()(cell);
    }
  }
  rt.sync();
  CHECK(rt.stats().elapsed == Duration{120});
  CHECK(rt.stats().idle == Duration{0});
}

TEST_CASE("SimulatedRuntime: graphs with conditions are refused, as no values are computed") {
  std::vector<int> memory(1);
  int go = 1;
  hs::SimulatedRuntime<> rt(on(1, 0));
  auto const x = cells(rt, memory);
  auto const flag = rt.data(go);
  auto const graph = rt.capture([&] { rt.spawn_if(flag, [&] { rt.spawn<Even>()(x[0]); }); });
  CHECK(graph.tasks().size() == 1);
  CHECK(contains(message_of([&] { rt.run(graph); }), "the graph has conditions"));
  CHECK(contains(message_of([&] { rt.spawn_while(flag, [] {}); }), "computes no values"));
}

TEST_SUITE_END();

} // namespace simulated_runtime_test
