// SPDX-License-Identifier: MIT
// The bound that includes transfers, against makespans in virtual time.
//
// HETSCHED_TEST_GRAPHS: how many random graphs are run (default 400).
// HETSCHED_TEST_SEED: the first seed (default 1); graph k has seed first + k.

#include <hetsched/bounds/linear_bounds.hpp>
#include <hetsched/bounds/transfer_bound.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/trace/analysis/trace_transfer_bound.hpp>

#include "../support/env_or.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using support::env_or;
using Transfers = hs::Simulation::Transfers;

namespace {

constexpr std::array<std::string_view, 4> types{"a", "b", "c", "d"};
constexpr std::array all_transfers{Transfers::free, Transfers::model, Transfers::shared};

/// A machine, a graph for it, and how long its tasks take.
struct Instance {
  hs::Platform platform;
  hs::TaskGraph graph;
  hs::ClassTimes times;

  void set_times() {
    times = hs::class_times(graph, platform, "test", hs::Precision::double_precision, 0, "by hand");
  }

  [[nodiscard]] Duration bound(Transfers transfers) const {
    return hs::transfer_bound(graph, times, platform, transfers);
  }
};

hs::Platform::Kernel kernel(std::string_view name, std::vector<std::int64_t> const& times) {
  hs::Platform::Kernel result;
  result.name = name;
  result.library = "by hand";
  result.algorithms = {"test"};
  for (auto const ns : times) {
    result.times.push_back(ns > 0 ? std::optional(hs::Platform::KernelTime{{ns}, {}, {}})
                                  : std::nullopt);
  }
  return result;
}

/// One core and one GPU, joined in both directions by a bus of a byte a nanosecond, with latency 5.
hs::Platform small_machine() {
  hs::Platform platform;
  platform.name = "small";
  platform.classes = {{"cpu", hs::ArchHost, 1, ""}, {"cuda", hs::ArchCUDA, 1, ""}};
  platform.nodes = {{"ram", 0}, {"gpu0", 0}};
  platform.routes.assign(4, {1e9, Duration{5}, {0}});
  platform.links = {{"bus", 1e9}};
  return platform;
}

/// Draws instances.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  template <class Values>
  [[nodiscard]] auto one_of(Values const& values) {
    return values[below(values.size())];
  }

  [[nodiscard]] hs::Platform machine() {
    hs::Platform platform;
    platform.name = "drawn";
    platform.classes = {{"cpu", hs::ArchHost, static_cast<int>(below(4)), ""},
                        {"cuda", hs::ArchCUDA, static_cast<int>(1 + below(3)), ""}};
    auto const nodes = static_cast<std::size_t>(platform.classes[1].workers) + 1;
    auto const speed = [&] { return static_cast<double>(1 + below(40)) * 1e8; };
    for (std::size_t n = 0; n < nodes; ++n) {
      platform.nodes.push_back({"node " + std::to_string(n), 0});
    }
    bool const bus = below(2) == 0; // one link for all
    for (auto links = bus ? 1 : 1 + below(4); links-- > 0;) {
      platform.links.push_back({"link " + std::to_string(links), speed()});
    }
    for (std::size_t k = 0; k < nodes * nodes; ++k) {
      auto& route =
          platform.routes.emplace_back(speed(), Duration{static_cast<std::int64_t>(below(20))});
      for (auto links = bus ? 1 : below(4); links-- > 0;) {
        route.links.push_back(below(platform.links.size()));
      }
    }
    auto const most = one_of(std::array<std::uint64_t, 2>{1, 7}); // 1: where tasks run is given
    for (auto const type : types) {
      auto const cpu = static_cast<std::int64_t>(1 + below(1000));
      auto const gpu = static_cast<std::int64_t>(1 + below(200));
      bool const no_cpu = platform.classes[0].workers == 0 || below(1 + most) == 0;
      bool const no_gpu = !no_cpu && (most == 1 || below(1 + most) == 0);
      platform.kernels.push_back(kernel(type, {no_cpu ? 0 : cpu, no_gpu ? 0 : gpu}));
    }
    return platform;
  }

  [[nodiscard]] hs::TaskGraph graph() {
    using enum hs::AccessMode;
    std::vector<std::size_t> bytes(1 + below(8));
    auto const most = one_of(std::array<std::size_t, 4>{2, 50, 400, 3000});
    for (auto& size : bytes) {
      size = 1 + below(most);
    }
    std::vector<hs::TaskGraph::Node> nodes(1 + below(one_of(std::array<std::size_t, 3>{3, 8, 30})));
    bool const plain = below(2) == 0; // otherwise with tasks that commute or reduce
    for (auto& node : nodes) {
      node.type = one_of(types);
      node.archs = hs::ArchMask{0xff};
      for (std::uint32_t d = 0; d < bytes.size(); ++d) {
        if (below(bytes.size() + 2) < 2) {
          auto const mode = plain ? one_of(std::array{read, read, write, read_write})
                                  : one_of(std::array{read, write, read_write, commute, reduce});
          node.accesses.push_back({d, mode, mode == reduce ? &sum_ : nullptr});
        }
      }
    }
    return {std::move(nodes), std::move(bytes)};
  }

  [[nodiscard]] Instance instance() {
    Instance result{machine(), graph(), {}};
    result.set_times();
    return result;
  }

private:
  static constexpr int sum_ = 0; // stands for an operator
  std::mt19937_64 random_;
};

/// The end of the last task.
Duration makespan(Instance const& instance, Transfers transfers, Dice& dice) {
  hs::Simulation config{.platform = instance.platform, .algorithm = "test"};
  config.transfers = transfers;
  config.window = static_cast<int>(1 + dice.below(4));
  config.serve = dice.below(2) == 0 ? hs::Simulation::Serve::cpu : hs::Simulation::Serve::gpu;
  config.seed = 1 + dice.below(100);
  config.priorities = dice.below(2) == 0 ? hs::Priorities::own : hs::Priorities::bottom_min;
  if (dice.below(2) == 0) { // little memory: all data of a task and not much more
    for (std::size_t n = 1; n < config.platform.nodes.size(); ++n) {
      std::size_t all = 0;
      for (auto const bytes : instance.graph.data_bytes()) {
        all += (bytes + 511) / 512 * 512;
      }
      config.platform.nodes[n].capacity_bytes = 2 * all;
    }
  }
  Duration last;
  config.on_task = [&](hs::SimulatedTask const& task) {
    last = std::max(last, task.end - hs::Instant{});
  };
  auto const names = hs::policies::scheduler_names();
  auto const name = std::string(dice.one_of(names).name);
  CAPTURE(name);
  hs::SimulatedRuntime<hs::policies::AnyScheduler> rt(config,
                                                      hs::policies::AnyScheduler::Config{name});
  rt.run(instance.graph);
  return last;
}

} // namespace

TEST_SUITE_BEGIN("bounds");

TEST_CASE("transfer bound: never above a makespan, at least the iterative bound") {
  auto const graphs = env_or("HETSCHED_TEST_GRAPHS", 400);
  auto const first = env_or("HETSCHED_TEST_SEED", 1);
  std::uint64_t above = 0;
  std::uint64_t close = 0;
  for (std::uint64_t k = 0; k < graphs; ++k) {
    auto const seed = first + k;
    INFO("reproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=" << seed);
    Dice dice(seed);
    auto const instance = dice.instance();
    auto const iterative = hs::iterative_bound(instance.graph, instance.times);
    for (auto const transfers : all_transfers) {
      CAPTURE(static_cast<int>(transfers));
      auto const bound = instance.bound(transfers);
      REQUIRE(bound >= iterative);
      above += transfers != Transfers::free && bound > iterative ? 1 : 0;
      for (int run = 0; run < 3; ++run) {
        auto const found = makespan(instance, transfers, dice);
        REQUIRE(bound <= found);
        close += found.ns * 100 <= bound.ns * 101 ? 1 : 0;
      }
    }
  }
  CHECK(2 * above >= graphs); // else nothing is tested
  CHECK(5 * close >= graphs);
}

TEST_CASE("transfer bound: any weights prove a bound") {
  // Whatever a solver answers: none, some or all of the weights are wrong.
  std::uint64_t positive = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    auto const instance = dice.instance();
    auto const transfers = dice.one_of(all_transfers);
    auto const area = hs::linear_area_bound(instance.times);
    hs::detail::TransferModel const made(
        instance.graph, instance.times, instance.platform, transfers, area);
    auto const& model = made.model();
    auto const tasks = instance.graph.size();
    using Kind = hs::detail::BoundRow::Kind;
    std::vector<hs::detail::BoundRow> rows;
    auto const add = [&](Kind kind, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) {
        rows.push_back({kind, k});
      }
    };
    add(Kind::area, instance.times.workers.size());
    add(Kind::begin, tasks);
    add(Kind::end, tasks);
    for (auto const kind : {Kind::arc, Kind::arc_in, Kind::arc_out}) {
      add(kind, model.arcs.size());
    }
    add(Kind::lane, model.lanes.size());
    std::vector<hs::detail::BoundCrossing> crossings;
    for (auto const& version : model.versions) {
      bool const in = version.producer == hs::detail::BoundVersion::none || dice.below(2) == 0;
      auto const size = in ? version.bytes : -version.bytes;
      crossings.push_back({in, {{dice.one_of(version.readers), size}}});
      if (version.producer != hs::detail::BoundVersion::none) {
        crossings.back().bytes.emplace_back(version.producer, -size);
      }
    }
    // One crossing is counted once: together they are two.
    std::vector<hs::detail::BoundCrossing> both{{true, {}}, {false, {}}};
    for (auto const& one : crossings) {
      auto& bytes = both[one.in ? 0 : 1].bytes;
      bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
    }
    add(Kind::crossing, model.devices == 0 ? 0 : 2);
    std::vector<double> dual(rows.size());
    for (auto& weight : dual) {
      weight = dice.below(3) == 0 ? static_cast<double>(dice.below(1000)) : 0;
    }
    auto const bound = hs::detail::BoundProof(model, both, rows, dual.data()).bound();
    REQUIRE(bound <= makespan(instance, transfers, dice));
    positive += bound.ns > 0 ? 1 : 0;
  }
  CHECK(positive >= 50);
}

TEST_CASE("transfer bound: of a run that was recorded, that of its graph") {
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    auto instance = dice.instance();
    hs::Simulation config{.platform = instance.platform, .algorithm = "test"};
    config.transfers = Transfers::shared;
    config.record = true;
    hs::SimulatedRuntime<hs::policies::AnyScheduler> rt(
        config, hs::policies::AnyScheduler::Config{"dmdas"});
    rt.run(instance.graph);
    auto trace = rt.trace();
    for (auto& type : trace.types) {
      auto const of_type =
          std::find_if(instance.platform.kernels.begin(),
                       instance.platform.kernels.end(),
                       [&](auto const& kernel) { return kernel.name == type.name; });
      for (std::size_t c = 0; c < 2 && of_type != instance.platform.kernels.end(); ++c) {
        if (auto const time = of_type->on(c)) {
          type.expected[instance.platform.classes[c].arch.index] = time->mean;
        }
      }
    }
    auto const spreads = hs::time_spreads(trace);
    auto unknown = instance.platform; // of which kernels do not count
    unknown.kernels.clear();
    auto const bound = hs::transfer_bound_of(trace, spreads, unknown);
    bool const merges = std::any_of(trace.tasks.begin(), trace.tasks.end(), [&](auto const& task) {
      return trace.types[task.type].name == hs::merge_task_name;
    });
    REQUIRE(bound.has_value() != merges);
    if (merges) {
      continue;
    }
    ++whole;
    CHECK(*bound == instance.bound(Transfers::shared));
    unknown.links.clear();
    for (auto& route : unknown.routes) {
      route.links.clear();
    }
    CHECK(hs::transfer_bound_of(trace, spreads, unknown) == instance.bound(Transfers::model));
    trace.tasks.back().outcome = hs::Trace::Outcome::failed;
    CHECK(!hs::transfer_bound_of(trace, spreads, instance.platform));
  }
  CHECK(whole >= 30);
}

TEST_CASE("transfer bound: by hand, and what it refuses") {
  using enum hs::AccessMode;
  Instance instance{small_machine(), {}, {}};
  auto& [platform, graph, times] = instance;
  platform.kernels = {kernel("a", {0, 10}), kernel("b", {7, 0})};
  auto const set = [&](std::vector<std::string_view> const& names, std::vector<std::size_t> bytes) {
    std::vector<hs::TaskGraph::Node> nodes;
    for (auto const name : names) {
      auto const datum = bytes.size() == 1 ? 0 : static_cast<std::uint32_t>(nodes.size());
      nodes.push_back({name, "", 0, hs::ArchMask{0xff}, {{datum, read_write, nullptr}}});
    }
    graph = hs::TaskGraph(std::move(nodes), std::move(bytes));
    instance.set_times();
  };
  // core   b(7)                         b(7)
  // bus         in(105)       out(105)
  // GPU                  a(10)
  set({"b", "a", "b"}, {100});
  CHECK(instance.bound(Transfers::free) == Duration{24});
  CHECK(instance.bound(Transfers::model) == Duration{234});
  CHECK(instance.bound(Transfers::shared) == Duration{234});
  // Data for eight tasks on the GPU cross the bus, and the last kernel follows.
  set(std::vector<std::string_view>(8, "a"), std::vector<std::size_t>(8, 1000));
  CHECK(instance.bound(Transfers::free) == Duration{80});
  CHECK(instance.bound(Transfers::shared) >= Duration{7980});
  CHECK(instance.bound(Transfers::shared) <= Duration{8 * 1005 + 10});
  // With a core that can run them, too, nothing has to cross.
  platform.kernels = {kernel("a", {20, 10})};
  instance.set_times();
  CHECK(instance.bound(Transfers::shared) > instance.bound(Transfers::free));
  CHECK(instance.bound(Transfers::shared) <= Duration{160});
  times.workers[0] = 2;
  CHECK_THROWS_WITH_AS((void)instance.bound(Transfers::shared),
                       "hetsched: times: are not for the workers of the platform",
                       hs::Error);
  times.workers[0] = 1;
  times.times.pop_back();
  times.times.pop_back();
  CHECK_THROWS_WITH_AS((void)instance.bound(Transfers::shared),
                       "hetsched: times: of 7 tasks for a graph of 8",
                       hs::Error);
  instance.set_times();
  platform.links.clear();
  CHECK_THROWS_AS((void)instance.bound(Transfers::shared), hs::Error);
}

TEST_SUITE_END();
