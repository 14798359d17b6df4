// SPDX-License-Identifier: MIT
// What devices take in virtual time, what is sent ahead to them, and who may take it instead:
// schedules worked out on paper.

#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/schedulers.hpp"
#include "../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using simulated::array;
using simulated::arrays;
using simulated::Even;
using simulated::HostOnly;
using simulated::joined;
using simulated::kernel;
using simulated::Mix;
using simulated::waited;
using Transfers = hs::Simulation::Transfers;

namespace sent_ahead_test {

using Eager = hs::policies::Eager<>;
using Done = std::map<std::string, hs::SimulatedTask>;

/// A machine on which Even takes these times, and a datum 105 to the GPU. Notes what is done.
hs::Simulation machine(int cpus, std::optional<int> on_core, int on_gpu, Done& done) {
  auto config = joined(cpus, 1, Transfers::model, 8);
  config.platform.kernels[0] = kernel("Even", on_core, on_gpu);
  config.on_task = [&](hs::SimulatedTask const& task) { done[std::string(task.label)] = task; };
  return config;
}

/// Runs so many Evens, each on a datum of its own, with the labels 1, 2, ...; before them a
/// HostOnly if that has a time.
template <class S>
hs::Stats
run_evens(hs::Simulation config, std::size_t count, std::optional<int> host_only = std::nullopt) {
  std::vector<int> memory((count + 1) * array);
  if (host_only) {
    config.platform.kernels[5] = kernel("HostOnly", host_only, std::nullopt);
  }
  hs::SimulatedRuntime<S> rt(config);
  auto const x = arrays(rt, memory);
  if (host_only) {
    rt.template spawn<HostOnly>()(x[count]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    rt.template spawn<Even>(hs::label(std::to_string(k + 1)))(x[k]);
  }
  rt.wait();
  return rt.stats();
}

TEST_SUITE_BEGIN("simulation");

TEST_CASE("Sent ahead: others take what a device would end later") {
  // The GPU has its first datum at 105. By predictions alone it would end one task every 100.
  auto const run = [](int on_core, std::size_t tasks) {
    Done done;
    (void)run_evens<Eager>(machine(1, on_core, 100, done), tasks);
    std::vector<std::int64_t> ends;
    for (auto const& [label, task] : done) {
      ends.push_back(task.worker.value == 0 ? -task.end.ns : task.end.ns);
    }
    return ends; // less than 0: on the core
  };
  CHECK(run(150, 2) == std::vector<std::int64_t>{205, -150});
  CHECK(run(201, 2) == std::vector<std::int64_t>{205, 310}); // the second datum comes until 210
  CHECK(run(250, 3) == std::vector<std::int64_t>{205, 310, -250});
  CHECK(run(301, 3) == std::vector<std::int64_t>{205, 310, 415});
}

TEST_CASE("Sent ahead: data come in the order of the tasks, while kernels run") {
  Done done;
  auto const stats = run_evens<Eager>(machine(0, std::nullopt, 200, done), 4);
  CHECK(stats.elapsed.ns == 105 + 4 * 200);
  CHECK(stats.devices[0].hits == 3);
  CHECK(stats.devices[0].hidden == Duration{3 * 105});
  CHECK(stats.devices[0].bytes_ahead == 300);
  CHECK(stats.devices[0].bytes_ahead_used == 300);
}

TEST_CASE("Sent ahead: what was sent in vain is counted") {
  // The second datum comes until 210, under the first kernel. A core that is busy until 150 then
  // takes the task, because it ends at 151, and the GPU's copy is overwritten.
  Done done;
  auto const stats = run_evens<Eager>(machine(1, 1, 200, done), 2, 150);
  CHECK(done.at("2").worker == hs::WorkerId{0});
  CHECK(stats.devices[0].bytes_ahead == 100);
  CHECK(stats.devices[0].bytes_ahead_used == 0);
}

TEST_CASE("Sent ahead: each task's data go to the device that claims it, and to no other") {
  auto config = joined(1, 3, Transfers::shared, 8);
  config.platform.kernels[0] = kernel("Even", 100'000, 1000);
  std::uint64_t ahead = 0; // three tasks begin at once
  auto const stats = run_evens<Eager>(config, 8);
  for (auto const& device : stats.devices) {
    ahead += device.bytes_ahead;
  }
  CHECK(ahead == 500);
}

TEST_CASE("Sent ahead: nothing, while a task on any device waits for data") {
  // On one link 48 and 100 bytes come to two GPUs, at half the rate each, until 101. The 52 bytes
  // that are missing then come by 153, because no datum of the tasks behind is sent before that.
  Done done;
  auto config = joined(0, 2, Transfers::shared, 8);
  config.platform.kernels[0] = kernel("Even", std::nullopt, 1000);
  config.on_task = [&](hs::SimulatedTask const& task) { done[std::string(task.label)] = task; };
  std::vector<int> memory(4 * array);
  hs::SimulatedRuntime<Eager> rt(config);
  auto x = arrays(rt, memory);
  std::vector<int> small(12);
  x[0] = rt.data(small.data(), small.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    rt.spawn<Even>(hs::label(std::to_string(k + 1)))(x[k]);
  }
  rt.wait();
  CHECK(done.at("1").end.ns == 101 + 1000);
  CHECK(done.at("2").end.ns == 153 + 1000);
  CHECK(done.at("3").end.ns == 101 + 2000); // sent behind that, under the first kernel
}

TEST_CASE("Sent ahead: what has its data does not wait behind what has not") {
  std::vector<int> memory(2 * array);
  Done done;
  hs::SimulatedRuntime<Eager> rt(machine(0, std::nullopt, 10, done));
  auto const x = arrays(rt, memory);
  rt.spawn<Even>()(x[0]);
  rt.wait();
  rt.spawn<Even>(hs::label("waits"))(x[1]);
  rt.spawn<Even>(hs::label("is there"))(x[0]);
  CHECK(waited(rt) == 115 + 105 + 10);
  CHECK(done.at("is there").end.ns == 115 + 10);
}

TEST_CASE(
    "Sent ahead: where the memory is full, a device takes the next task, so that data leave") {
  // Room for two data. The first one goes home from 305, when its task ends, until 410; the third
  // comes until 515.
  Done done;
  auto const full = simulated::with_memory(machine(0, std::nullopt, 200, done), 512);
  CHECK(run_evens<Eager>(full, 3).elapsed.ns == 515 + 200);
  CHECK(done.at("2").end.ns == 505);
}

TEST_CASE("Sent ahead: without peek a device takes one task beyond the running one") {
  Done done;
  (void)run_evens<OldestFirst>(machine(1, 1000, 200, done), 4);
  CHECK(done.at("1").worker == hs::WorkerId{1});
  CHECK(done.at("2").worker == hs::WorkerId{1});
  CHECK(done.at("3").worker == hs::WorkerId{0});
  CHECK(done.at("4").worker == hs::WorkerId{1});
}

/// Devices get tasks only by stealing, so that nothing can be peeked at there.
struct DevicesSteal : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return ctx.workers()[worker.index()].arch == hs::ArchHost ? OldestFirst::pop(ctx, worker)
                                                              : hs::no_task;
  }

  hs::Stolen steal(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return {OldestFirst::pop(ctx, worker)};
  }

  static std::size_t
  peek(hs::placement_context auto const&, hs::WorkerId, std::span<hs::TaskId>) noexcept {
    return 0;
  }
};

TEST_CASE("Sent ahead: where only a theft gives tasks, a device takes two beyond the running one") {
  // At 50, when the GPU has three, a core takes the fifth.
  Done done;
  (void)run_evens<DevicesSteal>(machine(2, 1000, 200, done), 5, 50);
  CHECK(done.at("3").worker == hs::WorkerId{1});
  CHECK(done.at("4").worker == hs::WorkerId{2});
  CHECK(done.at("5").worker == hs::WorkerId{0});
}

TEST_CASE("Sent ahead: a successor is activated early unless another worker would end it sooner") {
  // The GPU writes x until 205. The core could have it at 310, and needs 30.
  std::vector<int> memory(2 * array);
  auto const run = [&](int on_gpu) {
    Done done;
    auto config = machine(1, std::nullopt, 100, done);
    config.platform.kernels[2] = kernel("Mix", 30, on_gpu);
    hs::SimulatedRuntime<Eager> rt(config);
    auto const x = arrays(rt, memory);
    rt.spawn<Even>()(x[0]);
    rt.spawn<Mix>()(x[1], x[0]);
    rt.wait();
    return rt.stats().early;
  };
  CHECK(run(135) == 1);
  CHECK(run(136) == 0);
}

TEST_SUITE_END();

} // namespace sent_ahead_test
