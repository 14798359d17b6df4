// SPDX-License-Identifier: MIT
// Policies that simulate: the choice among candidates, and plans of known graphs.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/lookahead/hetero_prio_lookahead.hpp>
#include <hetsched/lookahead/portfolio.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../support/scripted.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;
using namespace scripted;

using hs::policies::Eager;
using hs::policies::Heft;
using hs::policies::Heftp;
using hs::policies::HeteroPrio;

using Lookahead = hs::HeteroPrioLookahead<hs::EngineSimulator<>, HeteroPrio, Heftp<>>;

template void Lookahead::prepare(ContextArchetype const&,
                                 hs::TaskGraph const&,
                                 std::span<hs::ExpectedTimes const>);
template hs::Wake Lookahead::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Lookahead::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t Lookahead::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template void Lookahead::epilogue(ContextArchetype const&, hs::TaskId, hs::WorkerId, hs::Duration);

static_assert(hs::hooks_of<Lookahead, ScriptedContext>() ==
              (hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_epilogue |
               hs::hook_prepare));

namespace portfolio_test {

constexpr hs::WorkerId core{0};
constexpr hs::WorkerId gpu{1};

struct Double : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "Even";
};

/// Tasks of the types, each on a datum of its own.
hs::TaskGraph independent(std::vector<std::string_view> const& types) {
  std::vector<hs::TaskGraph::Node> nodes;
  for (std::uint32_t k = 0; k < types.size(); ++k) {
    nodes.push_back({types[k], "", 0, {}, {{k, hs::AccessMode::read_write, nullptr}}});
  }
  return {std::move(nodes), std::vector<std::size_t>(types.size(), 4)};
}

/// Of 60 tasks on 12 data.
hs::TaskGraph random_graph(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<hs::TaskGraph::Node> nodes;
  for (int k = 0; k < 60; ++k) {
    auto const* const type = std::array{"Even", "Fast", "Mix", "HostOnly", "GpuOnly"}[dice() % 5];
    auto const from = static_cast<std::uint32_t>(dice() % 12);
    auto const to = static_cast<std::uint32_t>(dice() % 12);
    nodes.push_back({type, "", 0, {}, {{to, hs::AccessMode::read_write, nullptr}}});
    if (from != to) {
      nodes.back().accesses.push_back({from, hs::AccessMode::read, nullptr});
    }
  }
  return {std::move(nodes), std::vector<std::size_t>(12, 4)};
}

template <class Scheduler, class... Knobs>
std::int64_t
makespan(hs::Simulation const& config, hs::TaskGraph const& graph, Knobs const&... knobs) {
  hs::SimulatedRuntime<Scheduler> rt(config, knobs...);
  rt.run(graph);
  CHECK(rt.stats().executed == graph.size());
  return rt.stats().elapsed.ns;
}

Lookahead::Config quick() {
  return {.effort = 60'000, .plan = std::make_shared<hs::LookaheadPlan>()};
}

/// Keeps all tasks.
struct Miser {
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  hs::Wake push(hs::placement_context auto const&, hs::TaskId, hs::WorkerId) {
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const&, hs::WorkerId) { return hs::no_task; }
};

/// Has the portfolio rank a graph by the expected times that `prepare` gets.
struct Ranks : Eager<> {
  using Eager::Eager;
  using Candidates = hs::Portfolio<HeteroPrio, Heft, Eager<>>;
  static inline Candidates::Ranking found;

  void prepare(hs::context auto const& ctx,
               hs::TaskGraph const& graph,
               std::span<hs::ExpectedTimes const> expected) {
    found = Candidates::rank(graph, expected, ctx.workers());
  }
};

} // namespace portfolio_test

template <>
struct hetsched::TaskBodyCPU<portfolio_test::Double> {
  void operator()(int& x) { x *= 2; }
};

namespace portfolio_test {

TEST_SUITE_BEGIN("portfolio");

TEST_CASE("Portfolio: ranks from expected times as from the platform that has them") {
  auto config = simulated::on(3, 2);
  config.serve = hs::Simulation::Serve::cpu;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto const graph = random_graph(seed);
    makespan<Ranks>(config, graph);
    auto const known = Ranks::Candidates::rank(graph, config);
    REQUIRE(Ranks::found.size() == known.size());
    for (std::size_t k = 0; k < known.size(); ++k) {
      CHECK(Ranks::found[k].candidate == known[k].candidate);
      CHECK(Ranks::found[k].makespan == known[k].makespan);
      CHECK(known[k].failure.empty());
    }
  }
  hs::ExpectedTimes unknown{hs::ArchMask{1}, {}};
  CHECK(Ranks::Candidates::rank(independent({"Even"}), std::span(&unknown, 1), {}).empty());
}

TEST_CASE("HeteroPrioLookahead: leaves a core idle where that is better, and uses it else") {
  // Fast takes 40 on the core and 10 on the GPU, Even 10 on both.
  auto const config = simulated::on(1, 1);
  CHECK(makespan<Lookahead>(config, independent({"Fast", "Fast"}), quick()) == 20);
  CHECK(makespan<Lookahead>(config, independent({"Fast", "Even", "Fast", "Fast"}), quick()) == 30);
  std::vector<std::string_view> const five(5, "Fast");
  CHECK(makespan<Lookahead>(config, independent(five), quick()) == 40); // one on the core
  CHECK(makespan<Eager<>>(config, independent({"Fast", "Fast"})) == 40);
}

TEST_CASE("HeteroPrioLookahead: does what it has planned, and no worse than a candidate") {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    auto config = simulated::on(3, 2);
    config.priorities = hs::Priorities::bottom_min;
    auto const graph = random_graph(seed);
    auto const knobs = quick();
    auto const own = makespan<Lookahead>(config, graph, knobs);
    CHECK(own == knobs.plan->makespan);
    CHECK(own == makespan<Lookahead>(config, graph, knobs)); // by the same plan
    auto const candidate = makespan<Heftp<>>(config, graph);
    CHECK(own <= candidate);
    better += own < candidate ? 1 : 0;
  }
  CHECK(better >= 5);
}

TEST_CASE("HeteroPrioLookahead: a shared plan is made anew for another graph or machine") {
  auto const knobs = quick();
  std::vector<std::string_view> const four(4, "Even");
  CHECK(makespan<Lookahead>(simulated::on(1, 1), independent(four), knobs) == 20);
  CHECK(makespan<Lookahead>(simulated::on(2, 2), independent(four), knobs) == 10);
  CHECK(makespan<Lookahead>(simulated::on(2, 2), independent({"Fast"}), knobs) == 10);
}

TEST_CASE("HeteroPrioLookahead: runs everything when times are off, with transfers, without GPUs") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    auto config = simulated::joined(2, 2, hs::Simulation::Transfers::shared, 3);
    config.noise = 0.3;
    config.noise_is = hs::Simulation::Noise::per_task;
    config.seed = seed;
    CHECK(makespan<Lookahead>(config, random_graph(seed), quick()) > 0);
  }
  CHECK(makespan<Lookahead>(simulated::on(1, 0), independent({"Fast", "Even"}), quick()) == 50);
}

/// The same, with transfers of 100 bytes for each datum.
hs::TaskGraph large_data(std::uint64_t seed) {
  auto const graph = random_graph(seed);
  return {std::vector(graph.nodes().begin(), graph.nodes().end()),
          std::vector<std::size_t>(12, 4 * simulated::array)};
}

Lookahead::Config with_transfers(hs::Simulation const& config) {
  auto knobs = quick();
  knobs.transfers = std::make_shared<hs::Simulation const>(config);
  return knobs;
}

template <class... Knobs>
std::int64_t last_end(hs::Simulation config, hs::TaskGraph const& graph, Knobs const&... knobs) {
  std::int64_t end = 0;
  config.on_task = [&](hs::SimulatedTask const& task) { end = task.end.ns; };
  makespan<Lookahead>(config, graph, knobs...);
  return end;
}

TEST_CASE("HeteroPrioLookahead: with transfers, does what it has planned for them") {
  int better = 0;
  int runs = 0;
  for (auto const transfers :
       {hs::Simulation::Transfers::model, hs::Simulation::Transfers::shared}) {
    for (std::uint64_t seed = 1; seed <= support::seeds(10, 3); ++seed) {
      CAPTURE(seed);
      auto config = simulated::joined(3, 2, transfers, 4);
      config.priorities = hs::Priorities::bottom_min;
      if (seed % 2 == 0) {
        config = simulated::with_memory(config, 4 * 256);
      }
      auto const graph = large_data(seed);
      auto const knobs = with_transfers(config);
      auto const own = last_end(config, graph, knobs);
      CHECK(own == knobs.plan->makespan);
      CHECK(own == last_end(config, graph, knobs)); // by the same plan
      ++runs;
      better += own < last_end(config, graph, quick()) ? 1 : 0;
    }
  }
  CHECK(5 * better >= 4 * runs);
}

TEST_CASE("HeteroPrioLookahead: a plan for transfers is left when times are off, or made anew") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    auto const config = simulated::joined(2, 2, hs::Simulation::Transfers::shared, 3);
    auto const graph = large_data(seed);
    auto const knobs = with_transfers(config);
    auto noisy = config;
    noisy.noise = 0.3;
    noisy.noise_is = hs::Simulation::Noise::per_task;
    noisy.seed = seed;
    CHECK(makespan<Lookahead>(noisy, graph, knobs) > 0);
    auto const planned = knobs.plan->makespan;
    auto slow = config;
    for (auto& route : slow.platform.routes) {
      route.latency = {500};
    }
    auto again = with_transfers(slow);
    again.plan = knobs.plan;
    CHECK(last_end(slow, graph, again) == again.plan->makespan);
    CHECK(again.plan->makespan > planned);
  }
  // A machine with fewer memory nodes. A plan that is not made is not taken for one.
  auto one = with_transfers(simulated::joined(2, 1, hs::Simulation::Transfers::shared));
  auto const two = simulated::joined(2, 2, hs::Simulation::Transfers::shared);
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(makespan<Lookahead>(two, large_data(1), one),
                         doctest::Contains("has no routes between its 3 memory nodes"),
                         hs::Error);
  }
  one.transfers = std::make_shared<hs::Simulation const>(two);
  CHECK(last_end(two, large_data(1), one) == one.plan->makespan);
}

TEST_CASE("HeteroPrioLookahead: a task that comes again goes to whoever can run it") {
  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  Lookahead scheduler(ctx.workers(), quick());
  auto const both = hs::ArchMask::only(ArchHost) | hs::ArchMask::only(ArchCUDA);
  hs::ExpectedTimes times{both, {}};
  times.on[ctx.workers()[0].arch.index] = hs::Duration{4000};
  times.on[ctx.workers()[1].arch.index] = hs::Duration{10};
  scheduler.prepare(ctx, independent({"Fast"}), std::span(&times, 1));
  auto const task = ctx.add({.archs = both, .graph_node = 0});
  scheduler.push(ctx, task, hs::no_worker);
  CHECK(!scheduler.pop(ctx, core));
  CHECK(scheduler.pop(ctx, gpu) == task);
  scheduler.push(ctx, task, hs::no_worker); // such as from a device that is lost
  CHECK(scheduler.pop(ctx, core) == task);
}

TEST_CASE("HeteroPrioLookahead: without a graph tasks go to whoever is free") {
  hs::SimulatedRuntime<Lookahead> rt(simulated::on(1, 1));
  std::vector<int> memory(2);
  auto const cells = simulated::cells(rt, memory);
  for (auto const& cell : cells) {
    rt.spawn<simulated::Even>()(cell);
  }
  CHECK(simulated::waited(rt) == 10);
}

TEST_CASE("HeteroPrioLookahead: a core that is early takes what waits for the GPU, if that pays") {
  // Nine tasks of 40 on the core and 10 on the GPU end at 80, one or two of them on the core.
  auto const graph = independent(std::vector<std::string_view>(9, "Fast"));
  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  Lookahead scheduler(ctx.workers(), quick());
  auto const both = hs::ArchMask::only(ArchHost) | hs::ArchMask::only(ArchCUDA);
  hs::ExpectedTimes times{both, {}};
  times.on[ctx.workers()[0].arch.index] = hs::Duration{40};
  times.on[ctx.workers()[1].arch.index] = hs::Duration{10};
  std::vector<hs::ExpectedTimes> const expected(9, times);
  scheduler.prepare(ctx, graph, expected);
  for (std::int32_t node = 0; node < 9; ++node) {
    scheduler.push(ctx, ctx.add({.archs = both, .graph_node = node}), hs::no_worker);
  }
  auto const on_core = scheduler.pop(ctx, core);
  auto on_gpu = scheduler.pop(ctx, gpu);
  REQUIRE(on_core);
  REQUIRE(on_gpu);
  ctx.set_now({1}); // instead of 40
  scheduler.epilogue(ctx, on_core, core, {});
  auto const second = scheduler.pop(ctx, core); // ends at 41
  CHECK(second);
  for (int k = 1; k <= 6; ++k) { // the GPU goes on as expected
    ctx.set_now({10 * k});
    scheduler.epilogue(ctx, on_gpu, gpu, {});
    on_gpu = scheduler.pop(ctx, gpu);
    REQUIRE(on_gpu);
    if (k == 4) { // three wait for the GPU or run there until 70: the core would end one at 82
      ctx.set_now({42});
      scheduler.epilogue(ctx, second, core, {});
      CHECK(!scheduler.pop(ctx, core));
    }
  }
}

TEST_CASE("HeteroPrioLookahead: plans for threads, too, by what the model predicts") {
  hs::Runtime<Lookahead, hs::policies::Lru, OneMicrosecond> rt(support::on_cpus(2), quick());
  std::vector<int> x(20, 1);
  std::vector<hs::Handle<int>> handles;
  for (auto& number : x) {
    handles.push_back(rt.data(number));
  }
  auto const graph = rt.capture([&] {
    for (auto const& handle : handles) {
      rt.spawn<Double>()(handle);
      rt.spawn<Double>()(handle);
    }
  });
  rt.run(graph);
  rt.run(graph);
  rt.sync();
  CHECK(x == std::vector<int>(20, 16));
}

TEST_CASE("Portfolio: ranks by what runs take, and runs the best") {
  using Those = hs::Portfolio<Miser, Eager<>, Heft>;
  auto const config = simulated::on(1, 1);
  auto const graph = independent({"Fast", "Fast"});
  auto const ranking = Those::rank(graph, config);
  REQUIRE(ranking.size() == 3);
  CHECK(ranking[0].candidate == 2);
  CHECK(ranking[0].makespan == hs::Duration{20});
  CHECK(ranking[1].candidate == 1);
  CHECK(ranking[1].makespan == hs::Duration{40});
  CHECK(ranking[2].candidate == 0);
  CHECK(ranking[2].failure.find("idle workers") != std::string::npos);
  CHECK(Those::text(ranking, {"miser", "eager", "heft"}) ==
        "heft 2e-08 s, eager 4e-08 s, miser failed");
  CHECK(Those::with_best(
      ranking, []<class Best>(std::type_identity<Best>) { return std::is_same_v<Best, Heft>; }));
}

TEST_CASE("Portfolio: does not know the noise") {
  auto config = simulated::on(2, 1);
  auto const graph = random_graph(3);
  using Those = hs::Portfolio<Eager<>, Heft>;
  auto const without = Those::rank(graph, config);
  config.noise = 0.5;
  CHECK(Those::rank(graph, config)[0].makespan == without[0].makespan);
}

TEST_CASE("Portfolio: says why if no candidate can run the graph") {
  auto const error = support::message_of(
      [] { (void)hs::Portfolio<Miser>::rank(independent({"Even"}), simulated::on(1, 0)); });
  CHECK(error.find("no candidate ran") != std::string::npos);
  CHECK(support::code_of([] { (void)hs::Portfolio<Eager<>>::rank(independent({"Even"}), {}); }) ==
        hs::ErrorCode::bad_config);
}

TEST_CASE("run_best: a program that is captured runs on threads under the best") {
  std::vector<int> x(20, 1);
  auto const program = [&](auto& rt) {
    std::vector<hs::Handle<int>> handles;
    for (auto& number : x) {
      handles.push_back(rt.data(number));
    }
    return [&rt, handles] {
      for (auto const& handle : handles) {
        rt.template spawn<Double>()(handle);
        rt.template spawn<Double>()(handle);
      }
    };
  };
  auto const ranking =
      hs::run_best<Miser, Eager<>>(simulated::on(2, 0), program, support::on_cpus(2));
  CHECK(ranking[0].candidate == 1);
  CHECK(ranking[0].makespan == hs::Duration{200}); // 40 tasks of 10 on two cores
  CHECK(x == std::vector<int>(20, 4));
}

TEST_SUITE_END();

} // namespace portfolio_test
