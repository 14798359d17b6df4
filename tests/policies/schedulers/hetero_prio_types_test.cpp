// SPDX-License-Identifier: MIT
#include <hetsched/capture.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../../support/scripted.hpp"
#include "../../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using namespace scripted;
namespace hetero_prio = hs::policies::hetero_prio;

using hs::Arch;
using hs::detail::AffinityPlan;
using hs::detail::AffinityType;
using hs::policies::AffinityScore;
using hs::policies::HeteroPrioTypes;
using hs::policies::QueueView;

using Everything = hs::policies::HeteroPrioForms;
template hs::Wake Everything::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template hs::TaskId Everything::pop(ContextArchetype const&, hs::WorkerId);
template std::size_t Everything::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template hs::TaskId Everything::reconsider(ContextArchetype const&, hs::WorkerId);
template hs::TaskId Everything::preempt(ContextArchetype const&, hs::TaskId);

namespace hetero_prio_types_test {

/// A type that takes so long on each class, from class 0 on.
AffinityType type(std::vector<std::int64_t> const& times, std::int64_t tasks = 1) {
  AffinityType result;
  result.tasks = tasks;
  for (std::size_t c = 0; c < times.size(); ++c) {
    result.archs = result.archs | hs::ArchMask::only(Arch{static_cast<std::uint8_t>(c)});
    result.sums[c] = {times[c], 1};
  }
  return result;
}

/// Queues as a class looks at them: types by number, `+` behind a group whose highest priority is
/// taken, `-` behind others.
std::string order(AffinityPlan const& plan, Arch arch) {
  std::string told;
  for (auto const& group : plan.order(arch)) {
    for (auto const number : group.types) {
      told += std::to_string(number);
    }
    told += group.highest ? '+' : '-';
  }
  return told;
}

constexpr hs::detail::AffinityWorkers cores_and_gpus{9, 3};

/// potrf, trsm, syrk, gemm on mirage in microseconds.
std::vector<AffinityType> cholesky() {
  return {type({33624, 17017}), type({89194, 7922}), type({96890, 3695}), type({172932, 5980})};
}

/// Two cores and two GPUs at 1000, and tasks like those of Cholesky: hundreds on a core, tens on a
/// GPU.
template <hs::policies::HeteroPrioOptions Options>
struct Machine {
  ScriptedContext ctx{{ArchHost, ArchHost, ArchCUDA, ArchCUDA}};
  HeteroPrioTypes<Options> scheduler{ctx.workers()};
  hs::WorkerId core{0};
  hs::WorkerId core_too{1};
  hs::WorkerId gpu{2};

  Machine() {
    ctx.set_now({1000});
    for (auto const* const name : {"potrf", "trsm", "syrk", "gemm"}) { // all types are known
      auto const task = push(name, 0);
      CHECK(pop(core) == task);
    }
  }

  hs::TaskId add(std::string const& name, std::int32_t priority, bool abortable = true) {
    auto const task =
        ctx.add({.priority = priority, .archs = both, .abortable = abortable, .type = name});
    std::int64_t const on_core = name == "potrf" ? 30 : name == "trsm" ? 90 : 100;
    std::int64_t const on_gpu = name == "potrf" ? 17 : name == "trsm" ? 8 : name == "syrk" ? 4 : 3;
    ctx.predict(task, ArchHost, {on_core});
    ctx.predict(task, ArchCUDA, {on_gpu});
    return task;
  }

  hs::TaskId push(std::string const& name, std::int32_t priority) {
    auto const task = add(name, priority);
    CHECK(scheduler.push(ctx, task, hs::no_worker) == hs::Wake::any());
    return task;
  }

  hs::TaskId pop(hs::WorkerId worker) { return scheduler.pop(ctx, worker); }

  /// A worker runs such a task until then.
  hs::TaskId run(hs::WorkerId worker, std::string const& name, std::int32_t priority, int until) {
    auto const task = add(name, priority);
    ctx.set_running(worker, task);
    ctx.set_busy_until(worker, {until});
    return task;
  }

  hs::TaskId reconsider(hs::WorkerId worker) { return scheduler.reconsider(ctx, worker); }
};

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("HeteroPrioTypes: hooks of each form") {
  constexpr auto always = hs::hook_push | hs::hook_pop | hs::hook_peek | hs::hook_prepare;
  static_assert(hs::hooks_of<HeteroPrioTypes<hetero_prio::hp>, ContextArchetype>() == always);
  static_assert(hs::hooks_of<HeteroPrioTypes<hetero_prio::cgv>, ContextArchetype>() ==
                (always | hs::hook_reconsider));
  static_assert(hs::hooks_of<HeteroPrioTypes<hetero_prio::area>, ContextArchetype>() ==
                (always | hs::hook_reconsider));
  static_assert(hs::hooks_of<Everything, ContextArchetype>() ==
                (always | hs::hook_reconsider | hs::hook_preempt));
}

TEST_CASE("AffinityPlan: by acceleration factor") {
  auto const plan = [](std::vector<AffinityType> const& types, QueueView view) {
    return AffinityPlan(types, cores_and_gpus, AffinityScore::acceleration, view);
  };
  SUBCASE("cores from the lowest on, GPUs from the highest") {
    auto const apart = plan(cholesky(), QueueView::apart);
    CHECK(order(apart, ArchHost) == "0-1-2-3-");
    CHECK(order(apart, ArchCUDA) == "3+2+1+0+");
    CHECK(apart.fast(ArchCUDA));
    CHECK(!apart.fast(ArchHost));
  }
  SUBCASE("GPUs see one queue of all above the widest gap: but potrf") {
    auto const combined = plan(cholesky(), QueueView::combined);
    CHECK(order(combined, ArchHost) == "0-1-2-3-");
    CHECK(order(combined, ArchCUDA) == "321+0+");
    CHECK(combined.suits_cores(0));
    CHECK(!combined.suits_cores(1));
    CHECK(combined.suits_less(1));
    CHECK(!combined.suits_less(2));
  }
  SUBCASE("of QR geqrt and tsqrt are below the gap, and nothing is like trsm") {
    std::vector<AffinityType> const qr{
        type({53426, 27972}), type({52382, 3295}), type({100370, 53672}), type({107470, 7341})};
    auto const combined = plan(qr, QueueView::combined);
    CHECK(order(combined, ArchCUDA) == "13+0+2+");
    CHECK(combined.suits_cores(0));
    CHECK(combined.suits_cores(2));
    CHECK(!combined.suits_less(3));
  }
  SUBCASE("factors that differ by less than two have no gap") {
    auto const combined = plan({type({10, 10}), type({19, 10})}, QueueView::combined);
    CHECK(order(combined, ArchCUDA) == "10+");
    CHECK(!combined.suits_cores(0));
  }
  SUBCASE("where cores are faster they get the high priorities; equal factors are one queue") {
    auto const apart = plan({type({10, 20}), type({20, 20}), type({5, 10})}, QueueView::apart);
    CHECK(order(apart, ArchHost) == "02+1-");
    CHECK(order(apart, ArchCUDA) == "1+02-");
  }
  SUBCASE("what one class cannot run is not in its order; unknown times count as 1") {
    auto no_gpu = type({50});
    auto unknown = type({80, 20});
    unknown.sums[1] = {};
    auto const apart = plan({type({80, 20}), no_gpu, unknown}, QueueView::apart);
    CHECK(order(apart, ArchHost) == "1+2-0-");
    CHECK(order(apart, ArchCUDA) == "0+2+");
  }
}

TEST_CASE("AffinityPlan: table 4.2 of Kumar 2017, three classes") {
  std::vector<AffinityType> const types{type({100, 120, 200}), type({200, 60, 75})};
  constexpr hs::detail::AffinityWorkers one_each{1, 1, 1};
  AffinityPlan const area(types, one_each, AffinityScore::area, QueueView::near);
  AffinityPlan const index(types, one_each, AffinityScore::heterogeneity, QueueView::near);
  // Means of 141, 85 and 122: only the second is fast, below 116. Scores 60 0, 40 20, 0 80.
  CHECK(!area.fast(Arch{0}));
  CHECK(area.fast(Arch{1}));
  CHECK(!area.fast(Arch{2}));
  CHECK(order(area, Arch{0}) == "0+1-"); // nobody is as quick at the first type
  CHECK(order(area, Arch{1}) == "0+1+");
  CHECK(order(area, Arch{2}) == "1-0-");
  // 2.0 0.3, 1.4 3.3, 0.5 2.1.
  CHECK(order(index, Arch{0}) == "0+1-");
  CHECK(order(index, Arch{1}) == "1+0+");
  CHECK(order(index, Arch{2}) == "1-0-");
}

TEST_CASE("AffinityPlan: fast classes merge queues of scores that differ by less than a quarter") {
  // Sec. 4.3.1: three queues for GPUs, of syrk and gemm, of trsm and of potrf; four for cores.
  std::vector<AffinityType> const haswell{
      type({1720, 1000}), type({8720, 1000}), type({26960, 1000}), type({28800, 1000})};
  AffinityPlan const plan(haswell, {20, 4}, AffinityScore::heterogeneity, QueueView::near);
  CHECK(order(plan, ArchCUDA) == "32+1+0+");
  CHECK(order(plan, ArchHost) == "0-1-2-3-");
  AffinityPlan const edge({{type({400, 100}), type({300, 100}), type({301, 100})}},
                          {20, 4},
                          AffinityScore::heterogeneity,
                          QueueView::near);
  CHECK(order(edge, ArchCUDA) == "02+1+"); // 4, 3.01, 3
}

TEST_CASE("AffinityPlan: of one class all workers are fast; types of unknown times come last") {
  auto unknown = type({5});
  unknown.sums[0] = {};
  AffinityPlan const plan({{unknown, type({7})}}, {4}, AffinityScore::area, QueueView::near);
  CHECK(plan.fast(ArchHost));
  CHECK(order(plan, ArchHost) == "1+0+");
}

TEST_CASE("HP: by type, GPUs the highest priority of a queue, cores the lowest") {
  Machine<hetero_prio::hp> m;
  auto const potrf = m.push("potrf", 90);
  auto const low = m.push("gemm", 1);
  auto const high = m.push("gemm", 8);
  auto const same = m.push("gemm", 8);
  auto const syrk = m.push("syrk", 50);
  auto const trsm = m.push("trsm", 70);
  CHECK(m.pop(m.gpu) == high);
  CHECK(m.pop(m.gpu) == same); // before syrk, whatever its priority
  CHECK(m.pop(m.core) == potrf);
  CHECK(m.pop(m.core) == trsm);
  CHECK(m.pop(m.core) == syrk);
  CHECK(m.pop(m.core) == low);
  CHECK(m.pop(m.core) == hs::no_task);
  auto const first = m.push("gemm", 3);
  auto const second = m.push("gemm", 3);
  auto const forbidden = m.push("gemm", 4);
  m.ctx.forbid(forbidden, m.gpu);
  CHECK(m.pop(m.core) == second);
  CHECK(m.pop(m.gpu) == first);
  CHECK(m.pop(m.gpu) == hs::no_task);
}

TEST_CASE("HP+Sp: an idle GPU takes over the highest priority that it ends earlier") {
  Machine<hetero_prio::sp> m;
  m.run(m.core, "gemm", 9, 1003); // it would end at 1003 here, too
  auto const gain = m.run(m.core_too, "gemm", 1, 1004);
  CHECK(m.reconsider(m.gpu) == gain);
  CHECK(m.reconsider(m.core) == hs::no_task);
  auto const urgent = m.run(m.core, "potrf", 2, 1030);
  CHECK(m.reconsider(m.gpu) == urgent);
  auto const late = m.run(m.core_too, "gemm", 2, 1031);
  CHECK(m.reconsider(m.gpu) == late);
  m.ctx.set_busy_until(m.gpu, {1028}); // what it has already: then late would end at 1031, too
  CHECK(m.reconsider(m.gpu) != late);
  m.ctx.set_busy_until(m.gpu, {1000});
  auto const ready = m.push("gemm", 0);
  CHECK(m.reconsider(m.gpu) == hs::no_task); // it does not starve
  m.ctx.forbid(ready, m.gpu);
  CHECK(m.reconsider(m.gpu) == late);
  m.ctx.set_running(m.core, m.add("potrf", 5, false));
  CHECK(m.reconsider(m.gpu) == late); // the other may not be aborted
}

TEST_CASE("HP+CGV: GPUs look for the highest priority in all queues but potrf's") {
  Machine<hetero_prio::cgv> m;
  auto const gemm = m.push("gemm", 3);
  auto const syrk = m.push("syrk", 3);
  auto const trsm = m.push("trsm", 7);
  auto const potrf = m.push("potrf", 9);
  CHECK(m.pop(m.gpu) == trsm);
  CHECK(m.pop(m.gpu) == gemm); // the higher factor
  CHECK(m.pop(m.gpu) == syrk);
  CHECK(m.pop(m.gpu) == potrf);
}

TEST_CASE("HP+PP: a ready potrf stops the lowest priority on cores and takes its place") {
  Machine<hetero_prio::pp> m;
  auto const low = m.run(m.core_too, "gemm", 2, 1050);
  m.run(m.core, "trsm", 5, 1050);
  auto const gemm = m.push("gemm", 9);
  CHECK(m.scheduler.preempt(m.ctx, gemm) == hs::no_task);
  auto const other = m.push("potrf", 4);
  auto const potrf = m.push("potrf", 6);
  CHECK(m.scheduler.preempt(m.ctx, potrf) == low);
  CHECK(m.pop(m.core_too) == potrf); // though `other` is what a core would take
  CHECK(m.pop(m.core_too) == other);
  CHECK(m.pop(m.core_too) == gemm);
  SUBCASE("no other potrf is stopped, and nothing that may not be") {
    auto const next = m.push("potrf", 8);
    m.run(m.core, "potrf", 0, 1050);
    m.ctx.set_running(m.core_too, m.add("gemm", 1, false));
    CHECK(m.scheduler.preempt(m.ctx, next) == hs::no_task);
  }
  SUBCASE("of equal priorities the one that would end last") {
    auto const next = m.push("potrf", 8);
    m.run(m.core, "gemm", 2, 1049);
    CHECK(m.scheduler.preempt(m.ctx, next) == low);
    CHECK(m.pop(m.gpu) == next); // somebody was faster
    CHECK(m.pop(m.core_too) == hs::no_task);
  }
}

TEST_CASE("HP+PC: a GPU takes over what has priority over all that is ready") {
  SUBCASE("PC") {
    Machine<hetero_prio::pc> m;
    m.push("gemm", 5);
    m.run(m.core, "gemm", 5, 1050);
    CHECK(m.reconsider(m.gpu) == hs::no_task);
    auto const trsm = m.run(m.core, "trsm", 6, 1050);
    CHECK(m.reconsider(m.gpu) == trsm);
    auto const potrf = m.run(m.core_too, "potrf", 7, 1030);
    CHECK(m.reconsider(m.gpu) == potrf);
    m.run(m.core_too, "potrf", 7, 1017); // ends as early there
    CHECK(m.reconsider(m.gpu) == trsm);
    m.push("potrf", 8); // ready, if not what the GPU would take
    CHECK(m.reconsider(m.gpu) == hs::no_task);
  }
  SUBCASE("PCEP: not potrf, but to an idle one") {
    Machine<hetero_prio::pcep> m;
    m.push("gemm", 5);
    auto const trsm = m.run(m.core, "trsm", 6, 1050);
    auto const potrf = m.run(m.core_too, "potrf", 7, 1030);
    CHECK(m.reconsider(m.gpu) == trsm);
    (void)m.pop(m.gpu);
    CHECK(m.reconsider(m.gpu) == potrf);
  }
  SUBCASE("PCEPT: nor trsm") {
    Machine<hetero_prio::pcept> m;
    m.push("gemm", 5);
    m.run(m.core, "trsm", 8, 1050);
    m.run(m.core_too, "potrf", 7, 1030);
    CHECK(m.reconsider(m.gpu) == hs::no_task);
    auto const syrk = m.run(m.core_too, "syrk", 6, 1050);
    CHECK(m.reconsider(m.gpu) == syrk);
  }
}

TEST_CASE("HeteroPrioTypes: what has no type goes by the magnitude of its factor") {
  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  HeteroPrioTypes<hetero_prio::hp> scheduler{ctx.workers()};
  auto const push = [&](std::string_view name, std::int64_t cpu, int priority) {
    auto const task = ctx.add({.priority = priority, .archs = both, .type = std::string(name)});
    ctx.predict(task, ArchHost, {cpu});
    ctx.predict(task, ArchCUDA, {100});
    scheduler.push(ctx, task, hs::no_worker);
    return task;
  };
  auto const fast = push("", 900, 1);
  auto const near_it = push("", 901, 2);
  auto const slow = push("", 50, 3);
  auto const typed = push("step", 300, 9);
  CHECK(scheduler.pop(ctx, hs::WorkerId{1}) == near_it);
  CHECK(scheduler.pop(ctx, hs::WorkerId{1}) == fast);
  CHECK(scheduler.pop(ctx, hs::WorkerId{0}) == slow);
  CHECK(scheduler.pop(ctx, hs::WorkerId{0}) == typed);
}

TEST_CASE("HeteroPrioTypes: a graph tells its times and numbers of tasks before it runs") {
  using enum hs::AccessMode;
  std::vector<hs::TaskGraph::Node> nodes(4);
  for (auto& node : nodes) {
    node.type = &node == &nodes.front() ? "rare" : "often";
  }
  hs::TaskGraph const graph(nodes, {});
  std::vector<hs::ExpectedTimes> expected(4);
  for (auto& of_task : expected) {
    of_task.archs = both;
    of_task.on[0] = {&of_task == &expected.front() ? 100 : 90};
    of_task.on[1] = {&of_task == &expected.front() ? 100 : 50};
  }
  ScriptedContext ctx{{ArchHost, ArchCUDA}};
  HeteroPrioTypes<hetero_prio::area> scheduler{ctx.workers()};
  scheduler.prepare(ctx, graph, expected);
  auto const push = [&](std::string_view name, std::int32_t node) { // without a prediction
    auto const task = ctx.add({.archs = both, .graph_node = node, .type = std::string(name)});
    scheduler.push(ctx, task, hs::no_worker);
    return task;
  };
  auto const rare = push("rare", 0);
  auto const often = push("often", 1);
  CHECK(scheduler.pop(ctx, hs::WorkerId{0}) == rare); // whole there, and some of the others
  CHECK(scheduler.pop(ctx, hs::WorkerId{0}) == often);
}

TEST_CASE_TEMPLATE("HeteroPrioTypes: three classes in virtual time, each does what suits it",
                   S,
                   HeteroPrioTypes<hetero_prio::area>,
                   HeteroPrioTypes<hetero_prio::hetindex>) {
  auto platform = simulated::machine(2, 1);
  platform.classes.push_back({"group", Arch{2}, 1, ""});
  platform.kernels.clear();
  std::vector<hs::TaskGraph::Node> nodes;
  for (std::size_t c = 0; c < 3; ++c) {
    auto& kernel = platform.kernels.emplace_back(simulated::kernel(c == 0   ? "cpu"
                                                                   : c == 1 ? "cuda"
                                                                            : "group",
                                                                   100,
                                                                   100));
    kernel.times.push_back(kernel.times.front());
    kernel.times[c]->mean = {10};
  }
  for (auto const* const name : {"cuda", "group", "cpu", "cpu"}) { // two for each worker
    nodes.resize(nodes.size() + 2);
    nodes.back().type = nodes[nodes.size() - 2].type = name;
  }
  hs::SimulatedRuntime<S> rt({.platform = platform, .algorithm = "test"});
  rt.run(hs::TaskGraph(nodes, {}));
  CHECK(rt.stats().elapsed.ns == 20);
}

TEST_SUITE_END();

} // namespace hetero_prio_types_test
