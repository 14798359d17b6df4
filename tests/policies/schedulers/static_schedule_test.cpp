// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/plans/allocation.hpp>
#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scheduler_conformance.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"
#include "../../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using namespace scripted;
using hs::StaticPlan;
using hs::TaskId;
using hs::Wake;
using hs::WorkerId;
using hs::policies::StaticSchedule;

template hs::Wake StaticSchedule::push(ContextArchetype const&, TaskId, WorkerId);
template TaskId StaticSchedule::pop(ContextArchetype const&, WorkerId);
template std::size_t StaticSchedule::peek(ContextArchetype const&, WorkerId, std::span<TaskId>);
template void StaticSchedule::prepare(ContextArchetype const&,
                                      hs::TaskGraph const&,
                                      std::span<hs::ExpectedTimes const>);

namespace static_schedule_test {

constexpr WorkerId core{0};
constexpr WorkerId core_too{1};
constexpr WorkerId gpu{2};
constexpr WorkerId gpu_too{3};
std::vector<hs::Arch> const two_and_two{ArchHost, ArchHost, ArchCUDA, ArchCUDA};

/// Tasks of these types, each on a datum of its own.
hs::TaskGraph independent(std::vector<std::string_view> const& types) {
  std::vector<hs::TaskGraph::Node> nodes(types.size());
  for (std::uint32_t v = 0; v < types.size(); ++v) {
    nodes[v].type = types[v];
    nodes[v].accesses.push_back({v, hs::AccessMode::write, nullptr});
  }
  return {std::move(nodes), std::vector<std::size_t>(types.size(), 8)};
}

StaticPlan plan_for(hs::TaskGraph const& graph, std::vector<StaticPlan::Step> steps) {
  StaticPlan plan;
  plan.workers = two_and_two;
  plan.tasks = graph.size();
  plan.graph = hs::graph_digest(graph);
  plan.steps = std::move(steps);
  return plan;
}

std::string refusal(StaticPlan const& plan, hs::TaskGraph const& graph) {
  try {
    hs::check_plan(plan, graph, two_and_two);
  } catch (hs::Error const& error) {
    CHECK(error.code() == hs::ErrorCode::bad_input);
    CHECK(error.culprit() == "schedule");
    return error.what();
  }
  return "";
}

/// Follows a plan by hand.
struct Machine {
  hs::TaskGraph graph;
  ScriptedContext ctx{two_and_two};
  StaticSchedule scheduler;

  Machine(hs::TaskGraph tasks,
          std::vector<StaticPlan::Step> steps,
          StaticSchedule::Config config = {})
      : graph(std::move(tasks)), scheduler(make(std::move(steps), std::move(config))) {
    std::vector<hs::ExpectedTimes> const expected(graph.size(), {both, {}});
    scheduler.prepare(ctx, graph, expected);
  }

  TaskId push(std::int32_t node, Wake wake, std::int32_t priority = 0, std::int64_t transfer = 0) {
    auto const task =
        ctx.add({.priority = priority, .archs = both, .graph_node = node, .transfer = {transfer}});
    CHECK(scheduler.push(ctx, task, hs::no_worker) == wake);
    return task;
  }

  TaskId pop(WorkerId worker) {
    auto const task = scheduler.pop(ctx, worker);
    if (task) {
      ctx.set_running(worker, task);
    }
    return task;
  }

  StaticSchedule make(std::vector<StaticPlan::Step> steps, StaticSchedule::Config config) {
    config.plan = std::make_shared<StaticPlan const>(plan_for(graph, std::move(steps)));
    return {ctx.workers(), std::move(config)};
  }
};

/// What ran where, in the order of the beginnings.
using Log = std::vector<StaticPlan::Step>;

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("StaticSchedule: hooks, declarations and conformance") {
  static_assert(hs::hooks_of<StaticSchedule, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_prepare | hs::hook_peek));
  auto const report = hs::testing::check_scheduler<StaticSchedule>(); // without a plan
  CHECK_MESSAGE(report.ok(), report.text());
}

TEST_CASE("StaticSchedule: a worker waits for the task whose turn it is") {
  Machine m(independent({"a", "a", "a", "a"}), {{2, core}, {1, gpu}, {0, core}, {3, core}});
  auto const last = m.push(3, Wake::none());
  auto const second = m.push(0, Wake::none());
  CHECK(m.pop(core) == hs::no_task);
  CHECK(m.pop(gpu) == hs::no_task);
  CHECK(m.pop(core_too) == hs::no_task);
  auto const first = m.push(2, Wake::worker(core));
  std::array<TaskId, 2> next{};
  CHECK(m.scheduler.peek(m.ctx, core, next) == 2);
  CHECK(next == std::array{first, second});
  CHECK(m.pop(core) == first);
  CHECK(m.pop(core) == second);
  CHECK(m.pop(core) == last);
  CHECK(m.scheduler.peek(m.ctx, core, next) == 0);
  auto const planned = m.push(1, Wake::worker(gpu));
  CHECK(m.pop(core_too) == hs::no_task);
  CHECK(m.pop(gpu) == planned);
}

TEST_CASE("StaticSchedule: tasks that the plan does not know go to whoever has no other") {
  Machine m(independent({"a", "a"}), {{0, core}, {1, core}});
  auto const other = m.ctx.add({.archs = both});
  CHECK(m.scheduler.push(m.ctx, other, core) == Wake::any());
  auto const first = m.push(0, Wake::worker(core));
  CHECK(m.pop(core) == first);
  CHECK(m.pop(core) == other);
  // One that failed on its device comes back, for cores only.
  Machine again(independent({"a", "a"}), {{0, gpu}, {1, gpu}});
  auto const task = again.push(0, Wake::worker(gpu));
  CHECK(again.pop(gpu) == task);
  auto const on_cores = again.ctx.add({.archs = hs::ArchMask::only(ArchHost), .graph_node = 0});
  CHECK(again.scheduler.push(again.ctx, on_cores, gpu) == Wake::any());
  CHECK(again.pop(core) == on_cores);
  auto const next = again.push(1, Wake::worker(gpu)); // the worker is at work, but its turn is next
  CHECK(again.pop(gpu) == next);
}

TEST_CASE("StaticSchedule: an idle GPU takes GEMMs, then SYRKs") {
  auto const graph = independent({"potrf", "gemm", "syrk", "gemm", "gemm", "syrk"});
  std::vector<StaticPlan::Step> const steps{
      {0, gpu}, {1, gpu}, {2, core}, {3, core_too}, {4, core_too}, {5, gpu}};
  SUBCASE("neither, without the option") {
    Machine m(graph, steps);
    m.push(1, Wake::none());
    m.push(3, Wake::worker(core_too));
    CHECK(m.pop(gpu) == hs::no_task);
  }
  SUBCASE("+G") {
    Machine m(graph, steps, {.gpus_take = {"gemm"}});
    m.push(5, Wake::none(), 9);
    m.push(2, Wake::worker(core), 9);
    auto const low = m.push(4, Wake::worker(gpu), 1);
    auto const high = m.push(3, Wake::worker(core_too), 2);
    auto const own = m.push(1, Wake::worker(gpu));
    CHECK(m.pop(gpu) == own);
    CHECK(m.pop(gpu) == high);
    CHECK(m.pop(gpu) == low);
    CHECK(m.pop(gpu) == hs::no_task);
    CHECK(m.pop(core_too) == hs::no_task); // all its own are taken
  }
  SUBCASE("+GS") {
    Machine m(graph, steps, {.gpus_take = {"gemm", "syrk"}});
    auto const syrk = m.push(2, Wake::worker(core), 9);
    auto const own_syrk = m.push(5, Wake::worker(gpu), 1);
    auto const gemm = m.push(4, Wake::worker(gpu), 1);
    CHECK(m.pop(gpu) == gemm);
    CHECK(m.pop(gpu) == own_syrk);
    CHECK(m.pop(gpu) == syrk);
    CHECK(m.pop(core) == hs::no_task);
    auto const potrf = m.push(0, Wake::worker(gpu));
    CHECK(m.pop(gpu) == potrf);
  }
  SUBCASE("what another GPU begins at once is left to it") {
    Machine m(graph, steps, {.gpus_take = {"gemm"}});
    m.ctx.set_running(gpu, m.push(0, Wake::worker(gpu)));
    (void)m.scheduler.pop(m.ctx, gpu);
    auto const gemm = m.push(1, Wake::worker(gpu_too)); // its owner is at work
    m.ctx.set_running(gpu, hs::no_task);
    CHECK(m.pop(gpu_too) == hs::no_task);
    CHECK(m.pop(gpu) == gemm);
  }
}

TEST_CASE("StaticSchedule: a core without work steals from cores") {
  Machine m(independent({"a", "a", "a", "a", "a"}),
            {{0, core}, {1, core}, {2, core}, {3, core_too}, {4, gpu}},
            {.cores_steal = true});
  auto const on_gpu = m.push(4, Wake::worker(gpu));
  auto const third = m.push(2, Wake::worker(core)); // who has no other task that is ready
  auto const first = m.push(0, Wake::worker(core));
  CHECK(m.pop(core_too) == third); // the first is begun by its owner at once
  m.ctx.set_running(core_too, hs::no_task);
  CHECK(m.pop(core) == first);
  auto const second = m.push(1, Wake::worker(core_too));
  CHECK(m.pop(core_too) == second);
  m.ctx.set_running(core_too, hs::no_task);
  auto const own = m.push(3, Wake::worker(core_too));
  CHECK(m.pop(core_too) == own);
  CHECK(m.pop(core) == hs::no_task);
  CHECK(m.pop(gpu) == on_gpu);
}

TEST_CASE("StaticSchedule: merged GPUs take their tasks in the plan's order, who ends it first") {
  Machine m(independent({"a", "a", "a"}), {{2, gpu}, {0, gpu}, {1, gpu_too}}, {.merge_gpus = true});
  auto const times = [&](TaskId task) { m.ctx.predict(task, ArchCUDA, {100}); };
  // Times are not known yet: as good as the other.
  auto const last = m.push(1, Wake::worker(gpu_too));
  auto const middle = m.push(0, Wake::worker(gpu));
  times(last);
  times(middle);
  CHECK(m.pop(gpu_too) == middle);
  m.ctx.set_busy_until(gpu_too, {50});
  auto const first = m.push(2, Wake::worker(gpu));
  times(first);
  CHECK(m.pop(gpu_too) == last); // the first is expected to end at 100 on the other
  m.ctx.set_busy_until(gpu_too, {300});
  CHECK(m.pop(gpu_too) == hs::no_task);
  CHECK(m.pop(gpu) == first);
}

TEST_CASE("plan: what is wrong with one, in a line") {
  // 0 -> 1 -> 2
  std::vector<hs::TaskGraph::Node> nodes(3);
  for (auto& node : nodes) {
    node.type = "step";
    node.accesses.push_back({0, hs::AccessMode::read_write, nullptr});
  }
  hs::TaskGraph const graph(std::move(nodes), {8});
  auto plan = plan_for(graph, {{0, core}, {1, gpu}, {2, core}});
  CHECK(refusal(plan, graph) == "");
  auto changed = plan;
  changed.steps = {{0, core}, {2, gpu}, {1, core}};
  CHECK(refusal(changed, graph) == "hetsched: schedule: has task 2 (step) before task 1 (step), "
                                   "which it depends on");
  changed.steps = {{0, core}, {1, gpu}, {1, core}};
  CHECK(refusal(changed, graph) == "hetsched: schedule: has task 1 (step) twice");
  changed.steps = {{0, core}, {1, gpu}};
  CHECK(refusal(changed, graph) == "hetsched: schedule: has 2 steps for 3 tasks");
  changed.steps = {{0, core}, {1, gpu}, {3, core}};
  CHECK(refusal(changed, graph) == "hetsched: schedule: names task 3, and there are 3");
  changed.steps = {{0, core}, {1, WorkerId{4}}, {2, core}};
  CHECK(refusal(changed, graph) ==
        "hetsched: schedule: gives task 1 (step) to worker 4, and there are 4");
  changed.steps = {{0, core}, {1, hs::no_worker}, {2, core}};
  CHECK(refusal(changed, graph) ==
        "hetsched: schedule: gives task 1 (step) to worker -1, and there are 4");
  changed = plan;
  changed.tasks = 4;
  CHECK(refusal(changed, graph) ==
        "hetsched: schedule: is for a graph of 4 tasks, and this one has 3");
  changed = plan;
  changed.workers.pop_back();
  CHECK(refusal(changed, graph) == "hetsched: schedule: is for 2 workers of class 0 and 1 of class "
                                   "1, and there are 2 workers of class 0 and 2 of class 1");
  CHECK(refusal(plan, independent({"step", "step", "step"})) ==
        "hetsched: schedule: is for another graph of 3 tasks, of other types or dependencies");
  auto const priorities = std::vector<std::int32_t>{3, 1, 2};
  CHECK(refusal(plan, graph.with_priorities(priorities)) == ""); // are not the plan's affair
  hs::Platform platform;
  platform.name = "one";
  plan.platform = "another";
  CHECK_THROWS_WITH_AS(hs::check_plan_platform(plan, platform),
                       "hetsched: schedule: is for platform 'another', not 'one'",
                       hs::Error);
}

TEST_CASE("StaticSchedule: a worker that cannot run its task is told before anything runs") {
  auto const graph = independent({"Even", "HostOnly"});
  auto config = simulated::on(2, 2);
  auto const plan = std::make_shared<StaticPlan const>(plan_for(graph, {{0, gpu}, {1, gpu}}));
  hs::SimulatedRuntime<StaticSchedule> rt(config, StaticSchedule::Config{plan});
  CHECK_THROWS_WITH_AS(
      rt.run(graph),
      "hetsched: schedule: gives task 1 (HostOnly) to worker 2 of class 1, which cannot run it",
      hs::Error);
  CHECK(rt.stats().executed == 0);
}

TEST_CASE("static HEFT: worked out on paper") {
  //        0    5    10   15
  //  core  |0   |              task 0 -> task 1; task 2, the last in the list, fits into the gap
  //  GPU   |2   |1        |    before task 1
  std::vector<hs::TaskGraph::Node> nodes(3);
  nodes[0].type = "HostOnly"; // takes 5, rank 15
  nodes[0].accesses.push_back({0, hs::AccessMode::read_write, nullptr});
  nodes[1].type = "Fast"; // 10 on the GPU, rank 10
  nodes[1].accesses.push_back({0, hs::AccessMode::read_write, nullptr});
  nodes[2].type = "GpuOnly"; // 5, rank 5
  nodes[2].accesses.push_back({1, hs::AccessMode::read_write, nullptr});
  hs::TaskGraph const graph(std::move(nodes), {8, 8});
  auto const platform = simulated::machine(1, 1);
  auto const times =
      hs::class_times(graph, platform, "test", hs::Precision::double_precision, 0, "by hand");
  auto const plan = hs::heft_plan(graph, platform, times);
  CHECK(plan.makespan.ns == 15);
  constexpr WorkerId first{0};
  constexpr WorkerId second{1};
  CHECK(plan.steps == Log{{0, first}, {2, second}, {1, second}});
  CHECK(plan.platform == "paper");
  CHECK(plan.workers == std::vector<hs::Arch>{ArchHost, ArchCUDA});
  hs::check_plan(plan, graph, plan.workers);
}

TEST_CASE("StaticSchedule: a simulated run, written down and followed, is the same again") {
  constexpr std::array<std::string_view, 3> types{"Even", "Fast", "Mix"};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const graph = hs::layered_graph({types, seed}, 6, 8, 0.3);
    auto config = simulated::on(2, 2);
    config.seed = seed;
    hs::PlanRecorder recorder;
    config.on_task = [&](hs::SimulatedTask const& task) { recorder(task); };
    hs::SimulatedRuntime<hs::policies::HeteroPrio> dynamic(config);
    dynamic.run(graph);
    auto const plan = std::make_shared<StaticPlan const>(recorder.plan(graph, config.platform));
    CHECK(plan->makespan == dynamic.stats().elapsed);
    hs::PlanRecorder again;
    config.on_task = [&](hs::SimulatedTask const& task) { again(task); };
    hs::SimulatedRuntime<StaticSchedule> rt(config, StaticSchedule::Config{plan});
    rt.run(graph);
    CHECK(rt.stats().elapsed <= plan->makespan); // shorter where the run was aborting
    auto const same = again.plan(graph, config.platform);
    std::vector<std::vector<std::uint32_t>> orders(8);
    for (auto const& [task, worker] : plan->steps) {
      orders[worker.index()].push_back(task);
    }
    for (auto const& [task, worker] : same.steps) {
      orders[worker.index() + 4].push_back(task);
    }
    for (std::size_t w = 0; w < 4; ++w) {
      CHECK(orders[w] == orders[w + 4]);
    }
  }
}

TEST_CASE("StaticSchedule: a plan comes to its end whatever the times and corrections") {
  constexpr std::array<std::string_view, 3> types{"Even", "Fast", "Mix"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    auto const graph = hs::layered_graph({types, seed}, 7, 6, 0.4);
    bool const moves = seed % 2 == 0;
    auto config =
        moves ? simulated::joined(2, 2, hs::Simulation::Transfers::shared, 3) : simulated::on(2, 2);
    config.noise = 0.9;
    config.noise_is = hs::Simulation::Noise::per_task;
    config.seed = seed;
    auto const& platform = config.platform;
    auto const times =
        hs::class_times(graph, platform, "test", hs::Precision::double_precision, 0, "by hand");
    StaticSchedule::Config knobs{
        .plan = std::make_shared<StaticPlan const>(hs::heft_plan(graph, platform, times))};
    if (seed % 3 == 0) {
      knobs.gpus_take = {"Fast", "Mix"};
    }
    knobs.cores_steal = seed % 5 == 0;
    knobs.merge_gpus = seed % 4 < 2;
    hs::SimulatedRuntime<StaticSchedule> rt(config, knobs);
    rt.run(graph);
    rt.run(graph);
    CHECK(rt.stats().executed == 2 * graph.size());
  }
}

TEST_CASE("allocation: tasks are kept to classes under any scheduler") {
  auto const graph = independent({"Even", "Even", "Even", "Even"});
  hs::Allocation const allowed{hs::ArchMask::only(ArchHost),
                               hs::ArchMask::only(ArchHost),
                               hs::ArchMask::only(ArchCUDA),
                               both};
  auto config = simulated::on(1, 3);
  Log log(4);
  config.on_task = [&](hs::SimulatedTask const& task) {
    log[static_cast<std::size_t>(task.node)].worker = task.worker;
  };
  hs::SimulatedRuntime<hs::policies::Eager<>> rt(config);
  rt.run(graph, allowed);
  CHECK(log[0].worker == core);
  CHECK(log[1].worker == core);
  CHECK(log[2].worker != core);
  CHECK(rt.stats().elapsed.ns == 20);
  CHECK_THROWS_WITH_AS(rt.run(graph, std::span(allowed).first(3)),
                       "hetsched: run: was given classes of worker for 3 tasks of a graph of 4",
                       hs::Error);
  auto plan = plan_for(graph, {{0, core}, {1, gpu}, {2, core}, {3, gpu}});
  CHECK(hs::allocation_of(plan) == hs::Allocation{hs::ArchMask::only(ArchHost),
                                                  hs::ArchMask::only(ArchCUDA),
                                                  hs::ArchMask::only(ArchHost),
                                                  hs::ArchMask::only(ArchCUDA)});
}

TEST_CASE("allocation: trsm far from the diagonal on cores") {
  auto const graph =
      independent({"potrf", "trsm", "trsm", "trsm", "syrk", "potrf", "trsm", "trsm", "gemm"});
  auto const allocation = hs::far_trsm_on_cores(graph, 2);
  std::string cores;
  for (auto const archs : allocation) {
    cores += archs == hs::ArchMask::only(ArchHost) ? 'c' : '.';
  }
  CHECK(cores == "..cc...c.");
  CHECK_THROWS_WITH_AS((void)hs::far_trsm_on_cores(independent({"trsm"}), 1),
                       "hetsched: graph: has no potrf: it is no Cholesky factorisation",
                       hs::Error);
}

} // namespace static_schedule_test
