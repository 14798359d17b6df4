// SPDX-License-Identifier: MIT
// The work that a spawn tells: what policies see of it, and the time that it takes in virtual time.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using simulated::Even;
using simulated::Fast;

namespace flops_test {

std::mutex noted_mutex;
std::vector<std::pair<std::string, float>> noted; // label and work of each task that ran

/// A performance model that looks at tasks.
struct Noting {
  static constexpr bool measures = true;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const& /*task*/,
                                                      hs::Arch /*arch*/) const {
    return std::nullopt;
  }

  void record(hs::TaskView const& task, hs::Arch /*arch*/, Duration /*measured*/) {
    std::lock_guard const guard(noted_mutex);
    noted.emplace_back(task.label, task.flops);
  }

  [[nodiscard]] Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const { return {}; }
};

/// "Even" takes 10 ns for 1000 flops on a core and on a GPU; "Fast" is of unknown work.
hs::Simulation machine(int cpus, int gpus) {
  auto config = simulated::on(cpus, gpus);
  for (auto& kernel : config.platform.kernels) {
    if (kernel.name == "Even") {
      kernel.flops = 1000;
    }
  }
  return config;
}

template <class Spawn>
std::int64_t time_of(hs::Simulation const& config, Spawn const& spawn) {
  hs::SimulatedRuntime<> rt(config);
  int memory = 0;
  auto const datum = rt.data(&memory, 1);
  spawn(rt, datum);
  rt.wait();
  return rt.stats().elapsed.ns;
}

TEST_SUITE_BEGIN("simulation");

TEST_CASE("flops: a task takes time in proportion to its work, if the kernel's is known") {
  auto const config = machine(1, 0);
  auto const even = [&](auto... attributes) {
    return time_of(config,
                   [&](auto& rt, auto datum) { rt.template spawn<Even>(attributes...)(datum); });
  };
  auto const of_type = even();
  CHECK(of_type == 10);
  CHECK(even(hs::flops(1000)) == of_type);
  CHECK(even(hs::flops(3000)) == 3 * of_type);
  CHECK(even(hs::flops(150), hs::priority(2)) == 2); // 1.5 rounded
  CHECK(even(hs::flops(1e-30)) == 1);                // at least 1 ns
  CHECK(even(hs::flops(0)) == of_type);
  CHECK(even(hs::flops(-1)) == of_type);
  CHECK(even(hs::flops(std::numeric_limits<double>::quiet_NaN())) == of_type);
  auto const fast = [&](auto... attributes) {
    return time_of(config,
                   [&](auto& rt, auto datum) { rt.template spawn<Fast>(attributes...)(datum); });
  };
  CHECK(fast(hs::flops(3000)) == fast());
  auto twice = config;
  twice.task_time = [](hs::TaskView const& task, hs::Arch, Duration of_task) {
    CHECK(task.flops == 3000);
    return Duration{2 * of_task.ns};
  };
  CHECK(time_of(twice, [](auto& rt, auto datum) {
          rt.template spawn<Even>(hs::flops(3000))(datum);
        }) == 6 * of_type);
}

TEST_CASE("flops: schedulers see these times, and graphs keep them") {
  std::vector<int> memory(2);
  hs::SimulatedRuntime<hs::policies::Dmda<>> rt(machine(2, 0));
  auto const data = simulated::cells(rt, memory);
  auto const tasks = [&] { // the long one on a core, the others on the other one
    rt.spawn<Even>(hs::flops(4000))(data[0]);
    for (int k = 0; k < 4; ++k) {
      rt.spawn<Even>(hs::flops(1000))(data[1]);
    }
  };
  auto const graph = rt.capture(tasks);
  tasks();
  rt.wait();
  CHECK(rt.stats().elapsed == Duration{40});
  CHECK(rt.stats().workers[0].executed + rt.stats().workers[1].executed == 5);
  CHECK(rt.stats().workers[0].executed % 3 == 1); // 1 or 4
  rt.reset_stats();
  rt.run(graph);
  CHECK(rt.stats().elapsed == Duration{40});
  auto const& nodes = graph.tasks();
  CHECK(nodes.nodes()[0].flops == 4000);
  hs::SimulatedRuntime<> other(machine(1, 0));
  other.run(nodes);
  CHECK(other.stats().elapsed == Duration{80});
}

TEST_CASE("flops: policies see them on threads, beside a label, in graphs and attempts, too") {
  noted.clear();
  int memory = 0;
  {
    hs::Runtime<hs::policies::Eager<>, hs::policies::Lru, Noting> rt(support::on_cpus(1));
    auto const datum = rt.data(memory);
    auto const add = [](int& value) { ++value; };
    rt.spawn(hs::flops(1e12), hs::label("one"))(add, hs::read_write(datum));
    rt.spawn(hs::label("none"))(add, hs::read_write(datum));
    rt.spawn(hs::flops(7))(add, hs::read_write(datum));
    rt.spawn(hs::flops(8), hs::label("again"), hs::abortable)(add, hs::read_write(datum));
    auto const graph = rt.capture(
        [&] { rt.spawn(hs::label("captured"), hs::flops(9))(add, hs::read_write(datum)); });
    rt.run(graph);
    rt.sync();
  }
  CHECK(memory == 5);
  REQUIRE(noted.size() == 5);
  CHECK(noted[0] == std::pair<std::string, float>("one", 1e12F));
  CHECK(noted[1] == std::pair<std::string, float>("none", 0.0F));
  CHECK(noted[2].second == 7);
  CHECK(noted[3].second == 8);
  CHECK(noted[4] == std::pair<std::string, float>("captured", 9.0F));
}

TEST_SUITE_END();

} // namespace flops_test
