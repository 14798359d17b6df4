// SPDX-License-Identifier: MIT
// Data that have to move in virtual time: schedules worked out on paper, and random programs on
// small memories.

#include <hetsched/policies/caches/fifo_cache.hpp>
#include <hetsched/policies/caches/next_use.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/aborting_schedulers.hpp"
#include "../support/schedulers.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using hs::Simulation;
using simulated::Add;
using simulated::array;
using simulated::arrays;
using simulated::Cell;
using simulated::Even;
using simulated::GpuMix;
using simulated::GpuOnly;
using simulated::HostOnly;
using simulated::joined;
using simulated::kernel;
using simulated::Mix;
using simulated::on;
using simulated::RandomSpawns;
using simulated::Set;
using simulated::waited;
using simulated::with_memory;
using support::contains;
using support::message_of;
using Transfers = Simulation::Transfers;

namespace simulated_transfers_test {

/// Reads a list of data.
struct Gather : hs::Task<2>::Signature<hs::R<hs::Each<Cell>>, hs::RW<Cell>> {
  static constexpr std::string_view name = "Gather";

  static void cpu(hs::Each<hs::VectorView<int const>>, Cell) { throw std::logic_error("it ran"); }

  static void gpu(hs::Each<hs::VectorView<int const>>, Cell) { throw std::logic_error("it ran"); }
};

/// The task's priority is the number of the worker that runs it.
struct AsTold : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const found = std::find_if(ready.begin(), ready.end(), [&](hs::TaskId task) {
      return ctx.task(task).priority == worker.value;
    });
    if (found == ready.end()) {
      return hs::no_task;
    }
    auto const task = *found;
    ready.erase(found);
    return task;
  }
};

using Eager = hs::policies::Eager<>;

TEST_SUITE_BEGIN("simulation");

TEST_CASE("Simulated transfers: latency + bytes / bandwidth * GPUs, once for each datum") {
  std::vector<int> memory(4 * array);
  {
    hs::SimulatedRuntime<Eager> rt(joined(0, 1, Transfers::model));
    auto const x = arrays(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Even>()(x[0]);
    CHECK(waited(rt) == 105 + 10 + 10);
    rt.sync(); // and home
    auto const stats = rt.stats();
    CHECK(stats.elapsed.ns == 125 + 105);
    REQUIRE(stats.devices.size() == 1);
    auto const& device = stats.devices[0];
    CHECK(device.name == "node 1");
    CHECK(device.hits == 1);
    CHECK(device.misses == 1);
    CHECK(device.bytes_from_host == 100);
    CHECK(device.bytes_to_host == 100);
    CHECK(device.transfers == Duration{210});
    CHECK(device.kernels == Duration{20});
    CHECK(device.hidden == Duration{0});
    rt.reset_stats();
    rt.spawn<Even>()(x[0]); // the program may have written it since
    CHECK(waited(rt) == 115);
    CHECK(rt.stats().devices[0].bytes_from_host == 100);
    CHECK(rt.stats().devices[0].misses == 1);
  }
  {
    hs::SimulatedRuntime<Eager> rt(joined(0, 2, Transfers::model));
    auto const x = arrays(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Even>()(x[1]);
    CHECK(waited(rt) == 205 + 10);
  }
}

TEST_CASE("Simulated transfers: each datum of a list") {
  std::vector<int> memory(4 * array);
  auto config = joined(1, 1, Transfers::model);
  config.platform.kernels.push_back(kernel("Gather", 1000, 10));
  config.serve = Simulation::Serve::gpu;
  hs::SimulatedRuntime<Eager> rt(config);
  auto const x = arrays(rt, memory);
  std::vector<hs::Handle<Cell>> const first{x[0], x[1], x[0], x[2]};
  std::vector<hs::Handle<Cell>> const none;
  rt.spawn<Gather>()(first, x[3]);
  CHECK(waited(rt) == 4 * 105 + 10);
  rt.spawn<Gather>()(none, x[3]);
  rt.spawn<Gather>()(std::span(x).first(3), x[3]);
  CHECK(waited(rt) == 4 * 105 + 30);
  CHECK(rt.stats().devices[0].misses == 4);
  CHECK(rt.stats().devices[0].hits == 1 + 4);
}

TEST_CASE("Simulated transfers: packed, neighbours in host memory wait for one latency") {
  for (auto const kind : {Transfers::model, Transfers::shared}) {
    std::vector<int> memory(4 * array);
    auto config = joined(1, 1, kind);
    config.platform.kernels.push_back(kernel("Gather", 1000, 10));
    config.packed = true;
    hs::SimulatedRuntime<Eager> rt(config);
    auto const x = arrays(rt, memory);
    rt.spawn<Gather>()(std::span(x).last(3), x[0]);
    CHECK(waited(rt) == 5 + 400 + 10);
    CHECK(rt.stats().devices[0].bytes_from_host == 400);
    for (auto const& one : x) {
      rt.evict(one, {1});
    }
    CHECK(waited(rt) == 415 + 105);                    // x[0] alone was written
    rt.spawn<Gather>()(std::vector{x[1], x[3]}, x[0]); // x[2] is missing between them
    CHECK(waited(rt) == 520 + 5 + 200 + 105 + 10);
    rt.spawn<Gather>()(std::vector{x[3], x[1]}, x[2]); // x[2] behind x[1], which came long ago
    CHECK(waited(rt) == 840 + 105 + 10);
  }
}

TEST_CASE("Simulated transfers: temporaries leave behind their last task, and have no home") {
  hs::SimulatedRuntime<Eager> rt(with_memory(joined(0, 1, Transfers::model), std::size_t{3} * 256));
  auto last = rt.temporary<int>(array);
  CHECK(contains(message_of([&] { rt.spawn<Even>()(last); }), "is temporary and has no value"));
  rt.spawn<Set>()(last);
  for (int k = 1; k <= 20; ++k) {
    auto const next = rt.temporary<int>(array);
    rt.spawn<Set>()(next);
    rt.spawn<GpuMix>()(last, next);
    last = next; // its only other handle goes before the task has run
    CHECK(waited(rt) == (k + 1) * 10 + k * 20);
  }
  rt.sync();
  auto const stats = rt.stats();
  CHECK(stats.elapsed.ns == 21 * 10 + 20 * 20);
  CHECK(stats.devices[0].bytes_from_host == 0);
  CHECK(stats.devices[0].bytes_to_host == 0);
  CHECK(stats.devices[0].evictions_dirty == 0);
}

TEST_CASE("Simulated transfers: evict makes a copy leave, home if it is the only one") {
  std::vector<int> memory(2 * array);
  auto config = joined(0, 1, Transfers::model);
  hs::SimulatedRuntime<Eager> rt(config);
  auto const x = arrays(rt, memory);
  hs::NodeId const gpu{1};
  rt.evict(x[0], gpu); // it is not there
  rt.spawn<GpuMix>()(x[0], x[1]);
  CHECK(waited(rt) == 210 + 20);
  rt.evict(x[0], gpu); // host memory has it, too
  CHECK(waited(rt) == 230);
  CHECK(rt.stats().devices[0].evictions_clean == 1);
  rt.evict(x[1], gpu);
  CHECK(waited(rt) == 230 + 105);
  CHECK(rt.stats().devices[0].bytes_to_host == 100);
  rt.spawn<GpuMix>()(x[0], x[1]);
  rt.evict(x[1], gpu); // after the task
  CHECK(waited(rt) == 335 + 210 + 20 + 105);
  CHECK(rt.stats().devices[0].misses == 4);
  rt.sync(); // everything is home
  CHECK(rt.stats().elapsed.ns == 670);
}

/// Uses six blocks in a memory of three, one task after the other.
template <class Cache>
hs::DeviceStats six_blocks() {
  std::vector<int> memory(6 * array);
  hs::SimulatedRuntime<Eager, Cache> rt(with_memory(joined(0, 1, Transfers::model), 3 * 256));
  auto x = arrays(rt, memory);
  for (std::size_t k = 0; k < 6; ++k) {
    constexpr std::array<int, 6> indices{9, 1, 5, 2, 3, 4};
    x[k].reuse(indices[k]);
  }
  for (auto const k : {0U, 1U, 2U, 3U, 0U, 4U, 2U, 5U, 0U, 2U, 1U}) {
    rt.template spawn<Even>()(x[k]);
    rt.wait();
  }
  rt.sync();
  return rt.stats().devices[0];
}

TEST_CASE("Simulated transfers: what the guided cache moves of six blocks, by hand") {
  // a9 b1 c5 | d2 drives b out, a hits | e3 drives d out, c hits | f4 drives e out, a and c hit |
  // b drives f out: seven come in, four leave, and a, b, c come home.
  auto const guided = six_blocks<hs::policies::ReuseGuided>();
  CHECK(guided.bytes_from_host == 700);
  CHECK(guided.bytes_to_host == 700);
  CHECK(guided.hits == 4);
  // a b c | d drives a out, a b | e drives c out, c d | f drives a out, a e | c hits | b drives f
  // out: ten come in, seven leave, and a, b, c come home.
  auto const lru = six_blocks<hs::policies::Lru>();
  CHECK(lru.bytes_from_host == 1000);
  CHECK(lru.bytes_to_host == 1000);
  CHECK(lru.hits == 1);
}

TEST_CASE("Simulated transfers: an index that a handle gets later counts where a copy is") {
  for (bool const lower : {false, true}) {
    std::vector<int> memory(3 * array);
    hs::SimulatedRuntime<Eager, hs::policies::ReuseGuided> rt(
        with_memory(joined(0, 1, Transfers::model), 2 * 256));
    auto x = arrays(rt, memory);
    x[0].reuse(9);
    x[1].reuse(5);
    auto const use = [&](std::size_t k) {
      rt.spawn<Even>()(x[k]);
      rt.wait();
    };
    use(0);
    use(1);
    x[0].reuse(lower ? 4 : 8);
    use(2); // drives out x[0] if that is lower now, else x[1]
    use(lower ? 1 : 0);
    CHECK(rt.stats().devices[0].hits == 1);
    CHECK(rt.stats().devices[0].evictions_dirty == 1);
  }
}

TEST_CASE("Simulated transfers: two GPUs share the bus, one alone has it all") {
  std::vector<int> memory(2 * array);
  for (std::size_t data = 1; data <= 2; ++data) {
    hs::SimulatedRuntime<Eager> rt(joined(0, 2, Transfers::shared));
    auto const x = arrays(rt, memory);
    for (std::size_t k = 0; k < data; ++k) {
      rt.spawn<Even>()(x[k]);
    }
    CHECK(waited(rt) == (data == 2 ? 205 : 105) + 10);
  }
  // GPU 1 has x at 105 and ends at 115. GPU 2 then fetches x from there, over no bus, until 220,
  // and y from host memory until 325. The core overwrites x: it waits for that reader to end, at
  // 345, and for x to come home.
  auto config = joined(1, 2, Transfers::shared);
  std::map<std::string, hs::SimulatedTask> done;
  config.on_task = [&](hs::SimulatedTask const& task) { done[std::string(task.label)] = task; };
  hs::SimulatedRuntime<AsTold> rt(config);
  auto const x = arrays(rt, memory);
  rt.spawn<Even>(hs::priority(1), hs::label("first"))(x[0]);
  rt.spawn<Mix>(hs::priority(2), hs::label("on gpu"))(x[0], x[1]);
  rt.spawn<HostOnly>(hs::priority(0), hs::label("on core"))(x[0]);
  CHECK(waited(rt) == 455);
  CHECK(done.at("first").end.ns == 115);
  CHECK(done.at("on gpu").begin.ns == 325);
  CHECK(done.at("on core").begin.ns == 450);
}

TEST_CASE("Simulated transfers: come under kernels of tasks before in the window") {
  std::vector<int> memory(2 * array);
  auto const run = [&](int window) {
    auto config = joined(0, 1, Transfers::model, window);
    config.platform.kernels[0] = kernel("Even", 10, 200);
    hs::SimulatedRuntime<Eager> rt(config);
    auto const x = arrays(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Even>()(x[1]);
    rt.wait();
    return rt.stats();
  };
  CHECK(run(1).elapsed.ns == 105 + 200 + 105 + 200);
  CHECK(run(1).devices[0].hidden == Duration{0});
  CHECK(run(2).elapsed.ns == 105 + 200 + 200);
  CHECK(run(2).devices[0].hidden == Duration{105});
  CHECK(run(2).devices[0].transfers == Duration{210});
  CHECK(run(2).idle == Duration{105});
}

TEST_CASE("Simulated transfers: come under the kernel that alone is waited for") {
  // The last task waits for x until 305. A window with room has it from 105 on, when the first
  // begins, and y comes meanwhile; unless it waits for the core, too, which writes y until 50 or
  // 150.
  std::vector<int> memory(2 * array);
  auto const run = [&](int window, std::optional<int> on_core) {
    auto config = joined(1, 1, Transfers::model, window);
    config.platform.kernels[0] = kernel("Even", std::nullopt, 200);
    config.platform.kernels[5] = kernel("HostOnly", on_core, std::nullopt);
    hs::SimulatedRuntime<Eager> rt(config);
    auto const x = arrays(rt, memory);
    rt.spawn<Even>()(x[0]);
    if (on_core) {
      rt.spawn<HostOnly>()(x[1]);
    }
    rt.spawn<GpuMix>()(x[1], x[0]);
    rt.wait();
    return rt.stats();
  };
  CHECK(run(2, std::nullopt).elapsed.ns == 305 + 20);
  CHECK(run(2, std::nullopt).early == 1);
  CHECK(run(2, std::nullopt).devices[0].hidden == Duration{105});
  CHECK(run(1, std::nullopt).elapsed.ns == 305 + 105 + 20);
  CHECK(run(1, std::nullopt).early == 0);
  CHECK(run(2, 50).elapsed.ns == 305 + 20);
  CHECK(run(2, 50).early == 1);
  CHECK(run(2, 150).elapsed.ns == 305 + 20); // from 150 on
  CHECK(run(2, 150).early == 1);
  CHECK(run(2, 290).elapsed.ns == 395 + 20);
  CHECK(run(2, 310).elapsed.ns == 310 + 105 + 20);
  CHECK(run(2, 310).early == 0);
}

TEST_CASE("Simulated transfers: a task that is launched behind another stays where it is") {
  // Until x is written, at 205, only that GPU can have what reads it. The other one, which nothing
  // keeps busy, could have y there sooner.
  std::vector<int> memory(2 * array);
  std::vector<int> workers;
  auto config = joined(0, 2, Transfers::model, 2);
  config.platform.kernels[0] = kernel("Even", 10, 100);
  config.on_task = [&](hs::SimulatedTask const& task) { workers.push_back(task.worker.value); };
  hs::SimulatedRuntime<Eager> rt(config);
  auto const x = arrays(rt, memory);
  rt.spawn<Even>()(x[0]);
  for (int k = 0; k < 3; ++k) {
    rt.spawn<GpuMix>()(x[1], x[0]);
  }
  rt.wait();
  CHECK(workers == std::vector<int>{0, 0, 0, 0});
  CHECK(rt.stats().early == 3);
}

TEST_CASE("Simulated transfers: a cancelled task that waits for a launched one") {
  std::vector<int> memory(2 * array);
  hs::SimulatedRuntime<Eager> rt(joined(0, 1, Transfers::model, 2));
  auto const x = arrays(rt, memory);
  rt.spawn<Even>()(x[0]);
  hs::TaskGroup group(rt);
  rt.spawn<GpuMix>(hs::in(group))(x[1], x[0]);
  rt.spawn<Even>()(x[0]);
  group.cancel();
  CHECK(waited(rt) == 105 + 10 + 10);
  CHECK(rt.stats().cancelled == 1);
}

TEST_CASE("Simulated transfers: cores fetch what they read, not what they overwrite") {
  std::vector<int> memory(2 * array);
  {
    hs::SimulatedRuntime<Eager> rt(joined(1, 1, Transfers::model));
    auto const x = arrays(rt, memory);
    rt.spawn<GpuOnly>()(x[0]);
    rt.spawn<HostOnly>()(x[0]);
    CHECK(waited(rt) == 105 + 5 + 105 + 5);
  }
  {
    hs::SimulatedRuntime<Eager> rt(joined(1, 1, Transfers::model));
    auto const x = arrays(rt, memory);
    rt.spawn<GpuOnly>()(x[0]);
    rt.spawn<Set>(hs::SetArch(hs::ArchHost))(x[0]);
    rt.sync();
    CHECK(rt.stats().elapsed.ns == 105 + 5 + 10);
    CHECK(rt.stats().devices[0].bytes_to_host == 0);
  }
  { // a GPU that overwrites reads nothing, either
    hs::SimulatedRuntime<Eager> rt(joined(0, 1, Transfers::model));
    auto const x = arrays(rt, memory);
    rt.spawn<Set>()(x[0]);
    CHECK(waited(rt) == 10);
  }
}

TEST_CASE("Simulated transfers: from the node from which they come soonest") {
  // GPU 2 reads what GPU 1 wrote: directly, or, where GPU 1 is far, what host memory has by then.
  std::vector<int> memory(2 * array);
  auto const run = [&](double bytes_per_s, bool home_first) {
    auto config = joined(1, 2, Transfers::shared);
    config.platform.routes[1 * 3 + 2].bytes_per_s = bytes_per_s;
    hs::SimulatedRuntime<AsTold> rt(config);
    auto const x = arrays(rt, memory);
    rt.spawn<Even>(hs::priority(1))(x[0]);
    if (home_first) {
      rt.spawn<Mix>(hs::priority(0))(x[0], x[1]); // reads it on the core, until 250
      rt.spawn<Set>(hs::priority(0))(x[1]);
      rt.wait();
    }
    auto const before = rt.stats().elapsed.ns;
    rt.spawn<Even>(hs::priority(2))(x[0]);
    rt.wait();
    return std::pair(rt.stats().elapsed.ns - before - 10, rt.stats().devices[1].bytes_from_peers);
  };
  CHECK(run(2e9, true) == std::pair<std::int64_t, std::uint64_t>(5 + 50, 100));
  CHECK(run(0.5e9, true) == std::pair<std::int64_t, std::uint64_t>(5 + 100, 0));
  CHECK(run(0.5e9, false) == std::pair<std::int64_t, std::uint64_t>(115 + 5 + 200, 100));
}

TEST_CASE("Simulated transfers: caches decide what leaves") {
  // Room for two data, all written.
  std::vector<int> memory(3 * array);
  auto const run = [&]<class Cache>(Cache, bool one_by_one) {
    hs::SimulatedRuntime<Eager, Cache> rt(with_memory(joined(0, 1, Transfers::model), 512));
    auto const x = arrays(rt, memory);
    for (auto const k : {0U, 1U, 0U, 2U, 0U}) {
      rt.template spawn<Even>()(x[k]);
      if (one_by_one) {
        rt.wait();
      }
    }
    rt.wait();
    return rt.stats();
  };
  // x until 115, y 230, x 240. z drives y out with LRU, x with FIFO, until 345; is there at 450,
  // and runs until 460.
  auto const lru = run(hs::policies::Lru(), true);
  CHECK(lru.elapsed.ns == 460 + 10);
  CHECK(lru.devices[0].hits == 2);
  CHECK(lru.devices[0].evictions_dirty == 1);
  auto const fifo = run(hs::policies::FifoCache(), true);
  CHECK(fifo.elapsed.ns == 460 + 105 + 105 + 10); // y out, x in
  CHECK(fifo.devices[0].hits == 1);
  CHECK(fifo.devices[0].evictions_dirty == 2);
  CHECK(fifo.devices[0].bytes_to_host == 200);
  // At once, the order is x y z x x. NextUse knows that y is not needed again.
  CHECK(run(hs::policies::Lru(), false).elapsed.ns == 680);
  CHECK(run(hs::policies::NextUse(), false).elapsed.ns == 470);
}

TEST_CASE("Simulated transfers: what does not fit into a GPU is for the cores") {
  std::vector<int> memory(2 * array);
  hs::SimulatedRuntime<Eager> rt(with_memory(joined(1, 1, Transfers::model), 256));
  auto const x = arrays(rt, memory);
  rt.spawn<Mix>()(x[0], x[1]);
  rt.spawn<GpuOnly>()(x[0]);
  CHECK(contains(message_of([&] { rt.spawn<GpuMix>()(x[0], x[1]); }), "has room for its data"));
  CHECK(waited(rt) == 30 + 105 + 5);
}

TEST_CASE("Simulated transfers: contributions come home to be merged") {
  std::vector<int> memory(array);
  hs::SimulatedRuntime<Eager> rt(joined(0, 1, Transfers::model));
  auto const x = arrays(rt, memory);
  rt.spawn<Add>()(x[0]);
  rt.spawn<Add>()(x[0]); // into the same private copy
  rt.spawn<Even>()(x[0]);
  CHECK(waited(rt) == 105 + 10 + 10 + 105 + 105 + 10);
  CHECK(rt.stats().merges == 1);
}

TEST_CASE("Simulated transfers: a partition takes what it needs home in no time") {
  std::vector<int> memory(array * 2);
  hs::SimulatedRuntime<Eager> rt(joined(0, 1, Transfers::model));
  auto const whole = rt.data(memory);
  rt.spawn<GpuOnly>()(whole);
  {
    auto parts = rt.partition(whole, hs::Blocks{array, 1});
    rt.spawn<GpuOnly>()(parts[0]);
    rt.spawn<GpuOnly>()(parts[1]);
  }
  rt.spawn<GpuOnly>()(whole);
  CHECK(waited(rt) == 210 + 110 + 110 + 210);
  CHECK(rt.stats().devices[0].bytes_to_host == 400);
}

TEST_CASE("Simulated transfers: prefetch") {
  std::vector<int> memory(2 * array);
  auto const run = [&](bool prefetches) {
    auto config = joined(1, 1, Transfers::model);
    config.platform.kernels[5] = kernel("HostOnly", 500, std::nullopt);
    hs::SimulatedRuntime<Eager> rt(config);
    auto const x = arrays(rt, memory);
    rt.spawn<HostOnly>()(x[0]);
    if (prefetches) {
      rt.prefetch(x[1], hs::NodeId{1});
      rt.prefetch(x[1], hs::host_node);
    }
    rt.spawn<GpuMix>()(x[0], x[1]);
    return waited(rt);
  };
  CHECK(run(false) == 500 + 105 + 105 + 20);
  CHECK(run(true) == 500 + 105 + 20);
}

TEST_CASE("Simulated transfers: what the scheduler lets one peek at comes early") {
  std::vector<int> memory(20 * array);
  auto const hits = [&]<class S>(S const*) {
    hs::SimulatedRuntime<S> rt(joined(0, 1, Transfers::model, 2));
    auto const x = arrays(rt, memory);
    for (auto const& array : x) {
      rt.template spawn<Even>()(array);
    }
    rt.wait();
    return rt.stats().devices[0].hits;
  };
  CHECK(hits(static_cast<hs::policies::Random<>*>(nullptr)) >= 10);
  CHECK(hits(static_cast<Eager*>(nullptr)) >= 10);
  CHECK(hits(static_cast<OldestFirst*>(nullptr)) == 0);
}

/// Notes what it sees at each push.
struct Looker : OldestFirst {
  struct Seen {
    std::int64_t transfer; // to the core
    std::size_t on_gpu;    // bytes valid on the GPU
    std::size_t unused;    // bytes there
    std::int64_t until;    // the GPU's worker is busy
    bool shown;            // the GPU has the first datum, as the task's view has it
  };

  static inline Seen seen;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId from) {
    seen = {ctx.transfer(task, hs::WorkerId{0}).ns,
            ctx.valid_bytes(task, hs::NodeId{1}),
            ctx.free_bytes(hs::NodeId{1}),
            ctx.busy_until(hs::WorkerId{1}).ns,
            (ctx.task(task).argument(0).valid_nodes & 2U) != 0};
    return OldestFirst::push(ctx, task, from);
  }
};

TEST_CASE("Simulated transfers: policies see where data are and what it takes to move them") {
  std::vector<int> memory(2 * array);
  hs::SimulatedRuntime<Looker> rt(with_memory(joined(1, 1, Transfers::model), 1024));
  auto const x = arrays(rt, memory);
  rt.spawn<GpuOnly>()(x[0]);
  CHECK(Looker::seen.transfer == 0);
  CHECK(Looker::seen.on_gpu == 0);
  CHECK(!Looker::seen.shown);
  CHECK(Looker::seen.unused == 1024);
  rt.spawn<Mix>()(x[0], x[1]); // is pushed when x is on the GPU
  rt.wait();
  CHECK(Looker::seen.transfer == 105);
  CHECK(Looker::seen.on_gpu == 100);
  CHECK(Looker::seen.unused == 768);
  CHECK(Looker::seen.until == 110);
  CHECK(Looker::seen.shown);
  // Where transfers are free, everything is everywhere.
  hs::SimulatedRuntime<Looker> nothing_moves(joined(1, 1, Transfers::free));
  auto const y = arrays(nothing_moves, memory);
  nothing_moves.spawn<GpuOnly>()(y[0]);
  CHECK(Looker::seen.transfer == 0);
  CHECK(Looker::seen.on_gpu == 100);
  CHECK(Looker::seen.shown);
  nothing_moves.sync();
}

TEST_CASE("Simulated transfers: handles, groups and runtimes that go early") {
  std::vector<int> memory(3 * array);
  hs::SimulatedRuntime<Eager> rt(joined(1, 1, Transfers::model, 4));
  {
    auto const x = arrays(rt, memory);
    rt.spawn<GpuOnly>()(x[0]);
    rt.prefetch(x[1], hs::NodeId{1});
  }
  CHECK(contains(message_of([&] { rt.sync(); }), "its last handle was destroyed"));
  auto const x = arrays(rt, memory);
  hs::TaskGroup group(rt);
  rt.spawn<GpuOnly>()(x[0]);
  rt.spawn<GpuOnly>(hs::in(group))(x[0]);
  rt.spawn<Add>(hs::in(group))(x[1]);
  group.cancel();
  rt.sync();
  CHECK(rt.stats().cancelled == 2);
  rt.spawn<GpuOnly>()(x[0]);
  rt.spawn<Add>()(x[2]);
}

TEST_CASE("Simulated transfers: says what is wrong with a machine") {
  auto const error = [](Simulation const& config) {
    return message_of([&] { hs::SimulatedRuntime<Eager> rt(config); });
  };
  auto config = joined(1, 1, Transfers::shared);
  CHECK(error(config).empty());
  config.window = 0;
  CHECK(contains(error(config), "Simulation::window: 0 is not from 1 to 1024"));
  config = joined(1, 1, Transfers::shared);
  config.platform.links.clear();
  CHECK(contains(error(config), "has no link 0, of node 0>node 1"));
  for (auto& route : config.platform.routes) {
    route.links.clear();
  }
  CHECK(contains(error(config), "says nothing of its links"));
  config.platform.routes[1].bytes_per_s = 0;
  CHECK(contains(error(config), "has no bandwidth for node 0>node 1"));
  config.platform.routes.clear();
  CHECK(contains(error(config), "has no routes between its 2 memory nodes"));
  config = joined(1, 64, Transfers::model);
  CHECK(contains(error(config), "65 memory nodes are more than 64"));
  config = joined(1, 1, Transfers::model);
  config.memory_trace = "/nowhere/at/all";
  CHECK(contains(error(config), "Simulation::memory_trace: cannot write"));
}

// Not for work stealing: an idle worker is offered work at the end of a transfer, too, and then
// draws another victim.
TEST_CASE_TEMPLATE("Simulated transfers: those that take no time change nothing",
                   S,
                   Eager,
                   hs::policies::Priority<>,
                   hs::policies::Random<>,
                   OldestFirst) {
  std::vector<int> memory(7 * array);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomSpawns const program(seed);
    auto const run = [&](Transfers transfers) {
      auto config =
          joined(1 + static_cast<int>(seed % 3), static_cast<int>(seed / 3 % 3), transfers);
      config.serve = seed % 2 == 0 ? Simulation::Serve::cpu : Simulation::Serve::gpu;
      for (auto& route : config.platform.routes) {
        route.bytes_per_s = 1e15;
        route.latency = {};
      }
      hs::SimulatedRuntime<S> rt(config);
      auto const x = arrays(rt, memory);
      program(rt, x);
      rt.sync();
      std::vector<std::uint64_t> seen{static_cast<std::uint64_t>(rt.stats().elapsed.ns)};
      for (auto const& worker : rt.stats().workers) {
        seen.push_back(worker.executed);
      }
      return seen;
    };
    REQUIRE(run(Transfers::model) == run(Transfers::free));
  }
}

TEST_CASE_TEMPLATE("Simulated transfers: random programs on small memories",
                   Cache,
                   hs::policies::Lru,
                   hs::policies::FifoCache,
                   hs::policies::ReuseGuided,
                   hs::policies::NextUse) {
  std::vector<int> memory(7 * array);
  hs::Runtime<> recorder({.cpus = 1, .devices = "none"});
  auto const recorded = arrays(recorder, memory);
  std::uint64_t aborted = 0;
  auto const run = [&]<class S>(S const*, std::uint64_t seed) {
    RandomSpawns const program(seed);
    auto const captured = recorder.capture([&] { program(recorder, recorded); });
    auto const& graph = captured.tasks();
    int const cpus = 1 + static_cast<int>(seed % 2);
    auto config = joined(cpus,
                         1 + static_cast<int>(seed % 3),
                         seed % 2 == 0 ? Transfers::model : Transfers::shared,
                         1 + static_cast<int>(seed % 5));
    config = with_memory(config, 512 + 256 * (seed % 4));
    std::vector<hs::SimulatedTask> done(graph.size());
    std::map<int, hs::Instant> free_at;
    Duration on_devices;
    Duration wasted;
    config.on_task = [&](hs::SimulatedTask const& task) {
      REQUIRE(task.begin >= free_at[task.worker.value]);
      free_at[task.worker.value] = task.end;
      on_devices += task.worker.value >= cpus ? task.end - task.begin : Duration{};
      wasted += task.aborted ? task.end - task.begin : Duration{};
      auto& before = done[static_cast<std::size_t>(std::stoi(std::string(task.label)))];
      REQUIRE((before.begin == before.end ||
               before.aborted)); // it has not been here, or not to the end
      REQUIRE(task.begin >= before.end);
      before = task;
    };
    hs::SimulatedRuntime<S, Cache> rt(config);
    auto const x = arrays(rt, memory);
    program(rt, x);
    rt.sync();
    auto const stats = rt.stats();
    REQUIRE(stats.executed == graph.size());
    std::uint64_t bytes = 0;
    Duration kernels;
    for (auto const& device : stats.devices) {
      REQUIRE(device.hidden <= device.transfers);
      bytes += device.bytes_from_host + device.bytes_to_host + device.bytes_from_peers;
      kernels += device.kernels;
    }
    REQUIRE(wasted == stats.wasted);
    for (std::size_t v = 0; v < graph.size(); ++v) {
      REQUIRE(!done[v].aborted);
      for (auto const next : graph.successors(v)) {
        REQUIRE(done[next].begin >= done[v].end);
      }
    }
    REQUIRE(kernels == on_devices);
    aborted += stats.aborted;
    return std::pair(stats.elapsed.ns, bytes);
  };
  std::uint64_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto const eager = run(static_cast<Eager*>(nullptr), seed);
    REQUIRE(run(static_cast<Eager*>(nullptr), seed) == eager);
    auto const random = run(static_cast<hs::policies::Random<>*>(nullptr), seed);
    REQUIRE(run(static_cast<hs::policies::Random<>*>(nullptr), seed) == random);
    auto const stealing = run(static_cast<hs::policies::WorkStealing<>*>(nullptr), seed);
    REQUIRE(run(static_cast<hs::policies::WorkStealing<>*>(nullptr), seed) == stealing);
    auto const aborting = run(static_cast<RandomAborts*>(nullptr), seed);
    REQUIRE(run(static_cast<RandomAborts*>(nullptr), seed) == aborting);
    moved += eager.second + random.second + stealing.second + aborting.second;
  }
  CHECK(moved > 100000);
  CHECK(aborted > 200);
}

TEST_SUITE_END();

} // namespace simulated_transfers_test
