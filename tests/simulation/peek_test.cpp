// SPDX-License-Identifier: MIT
// Every scheduler that ships says before each pop what the pop will give, in whole simulated runs.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/lookahead/hetero_prio_lookahead.hpp>
#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::TaskId;
using hs::WorkerId;
using hs::policies::AnyScheduler;
using hs::policies::StaticSchedule;

namespace peek_test {

/// Peeks before each pop. Afterwards it must be as if it had not.
struct Foreseeing : AnyScheduler {
  using Config = AnyScheduler::Config;
  using AnyScheduler::AnyScheduler;

  static inline int foreseen = 0;
  static inline int wrong = 0;

  template <hs::context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    std::array<TaskId, 3> next;
    auto const count = AnyScheduler::peek(ctx, worker, next);
    auto const task = AnyScheduler::pop(ctx, worker);
    foreseen += count > 0 ? 1 : 0;
    wrong += task == (count > 0 ? next[0] : hs::no_task) ? 0 : 1;
    return task;
  }
};

/// Of 80 tasks on 12 data, with priorities.
hs::TaskGraph random_graph(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<hs::TaskGraph::Node> nodes;
  for (int k = 0; k < 80; ++k) {
    auto const* const type = std::array{"Even", "Fast", "Mix", "HostOnly", "GpuOnly"}[dice() % 5];
    auto const from = static_cast<std::uint32_t>(dice() % 12);
    auto const to = static_cast<std::uint32_t>(dice() % 12);
    auto const priority = static_cast<std::int32_t>(dice() % 4);
    nodes.push_back({type, "", priority, {}, {{to, hs::AccessMode::read_write, nullptr}}});
    if (from != to) {
      nodes.back().accesses.push_back({from, hs::AccessMode::read, nullptr});
    }
  }
  return {std::move(nodes), std::vector<std::size_t>(12, 4 * simulated::array)};
}

/// Times differ from the expected ones, so that plans have to be departed from.
hs::Simulation machine(double noise = 0.4) {
  auto config = simulated::joined(2, 2, hs::Simulation::Transfers::shared, 2);
  config.noise = noise;
  config.noise_is = hs::Simulation::Noise::per_task;
  return config;
}

template <class Scheduler>
std::int64_t makespan(std::string const& name,
                      hs::TaskGraph const& graph,
                      hs::Simulation const& on = machine()) {
  hs::SimulatedRuntime<Scheduler> rt(on, AnyScheduler::Config{name});
  rt.run(graph);
  CHECK(rt.stats().executed == graph.size());
  return rt.stats().elapsed.ns;
}

using Lookahead =
    hs::HeteroPrioLookahead<hs::EngineSimulator<>, hs::policies::HeteroPrio, hs::policies::Heftp<>>;

TEST_SUITE_BEGIN("policies");

TEST_CASE("peek: every scheduler that ships foresees each pop, and decides as if it had not") {
  hs::policies::add_scheduler<Lookahead>({"peek test: lookahead", ""},
                                         Lookahead::Config{.effort = 20'000});
  hs::policies::add_scheduler<Lookahead>(
      {"peek test: with transfers", ""},
      Lookahead::Config{.effort = 20'000,
                        .transfers = std::make_shared<hs::Simulation const>(machine())});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto const graph = random_graph(seed);
    for (auto const& one : hs::policies::scheduler_names()) {
      auto const name = std::string(one.name);
      CAPTURE(name);
      CAPTURE(seed);
      Foreseeing::foreseen = Foreseeing::wrong = 0;
      auto const with = makespan<Foreseeing>(name, graph);
      CHECK(Foreseeing::foreseen > 0);
      CHECK(Foreseeing::wrong == 0);
      CHECK(with == makespan<AnyScheduler>(name, graph));
    }
  }
}

TEST_CASE("peek: a plan that is followed to the letter foresees each pop") {
  auto const exact = machine(0);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    auto const graph = random_graph(seed);
    auto const name = std::string("peek test: to the letter");
    hs::policies::add_scheduler<Lookahead>(
        {name, ""},
        Lookahead::Config{.effort = 20'000,
                          .transfers = std::make_shared<hs::Simulation const>(exact)});
    Foreseeing::foreseen = Foreseeing::wrong = 0;
    auto const with = makespan<Foreseeing>(name, graph, exact);
    CHECK(Foreseeing::foreseen > 0);
    CHECK(Foreseeing::wrong == 0);
    CHECK(with == makespan<AnyScheduler>(name, graph, exact));
  }
}

TEST_CASE("peek: a static schedule with each correction foresees each pop") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto const graph = random_graph(seed);
    auto const platform = machine().platform;
    auto const times =
        hs::class_times(graph, platform, "test", hs::Precision::double_precision, 0, "by hand");
    auto const plan = std::make_shared<hs::StaticPlan const>(hs::heft_plan(graph, platform, times));
    StaticSchedule::Config const plain{.plan = plan};
    auto taking = plain;
    taking.gpus_take = {"Fast", "Mix"};
    auto stealing = taking;
    stealing.cores_steal = true;
    auto merging = stealing;
    merging.merge_gpus = true;
    for (auto const& config : {plain, taking, stealing, merging}) {
      CAPTURE(seed);
      hs::policies::add_scheduler<StaticSchedule>({"peek test: static", ""}, config);
      Foreseeing::foreseen = Foreseeing::wrong = 0;
      auto const with = makespan<Foreseeing>("peek test: static", graph);
      CHECK(Foreseeing::foreseen > 0);
      CHECK(Foreseeing::wrong == 0);
      CHECK(with == makespan<AnyScheduler>("peek test: static", graph));
    }
  }
}

TEST_SUITE_END();

} // namespace peek_test
