// SPDX-License-Identifier: MIT
// Priorities that the runtime computes for graphs, by hand worked examples on both engines.

#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/testing/archetypes.hpp>

#include "../support/schedulers.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using hs::Priorities;
using simulated::cells;
using simulated::Even;
using simulated::Fast;
using simulated::HostOnly;
using simulated::Mix;
using simulated::on;

namespace priorities_test {

using Numbers = std::vector<int>;

/// Notes the priorities in the graph that `prepare` gets, and those of the tasks.
struct Noting : OldestFirst {
  static inline Numbers prepared;
  static inline std::map<int, int> of_node;

  void prepare(hs::placement_context auto const&, hs::TaskGraph const& graph) {
    prepared.clear();
    of_node.clear();
    for (auto const& node : graph.nodes()) {
      prepared.push_back(node.priority);
    }
  }

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    auto const view = ctx.task(task);
    of_node[view.graph_node] = view.priority;
    return OldestFirst::push(ctx, task, worker);
  }

  /// Both, which are the same.
  static Numbers noted() {
    for (std::size_t v = 0; v < prepared.size(); ++v) {
      CHECK(of_node.at(static_cast<int>(v)) == prepared[v]);
    }
    return prepared;
  }
};

/// Notes what tasks are expected to take: of each node and class, -1 where it is not known, -2
/// where nobody can run it.
struct Expecting : OldestFirst {
  static inline std::vector<Numbers> times;

  void prepare(hs::placement_context auto const&,
               hs::TaskGraph const& graph,
               std::span<hs::ExpectedTimes const> expected) {
    CHECK(expected.size() == graph.size());
    times.clear();
    for (auto const& of_task : expected) {
      auto const time = [&of_task](hs::Arch arch) {
        auto const& known = of_task.on[arch.index];
        return !of_task.archs.has(arch) ? -2 : known ? static_cast<int>(known->ns) : -1;
      };
      times.push_back({time(hs::ArchHost), time(hs::ArchCUDA)});
    }
  }
};

struct Known : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "known";
};

struct Longer : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "longer";
};

struct Unseen : hs::Task<2>::Signature<hs::R<int>, hs::RW<int>> {
  static constexpr std::string_view name = "unseen";
};

/// In the order in which they ran.
Numbers ran;

/// Knows what it was told: nothing of `unseen`, and of the others only once one was recorded.
struct Told {
  static constexpr bool measures = true;
  static inline std::set<std::uint64_t> asked;
  static inline std::set<std::uint64_t> recorded;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const& task, hs::Arch) const {
    asked.insert(task.footprint());
    if (!recorded.contains(task.footprint()) || task.type == Unseen::name) {
      return std::nullopt;
    }
    return hs::Prediction{{task.type == Known::name ? 10 : 40}, {}, 1};
  }

  void record(hs::TaskView const& task, hs::Arch, Duration) { recorded.insert(task.footprint()); }

  [[nodiscard]] Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const { return {}; }
};

hs::Config one_core(Priorities how) {
  auto config = support::on_cpus(1);
  config.priorities = how;
  return config;
}

} // namespace priorities_test

template <>
struct hetsched::TaskBodyCPU<priorities_test::Known> {
  void operator()(int& number) const { priorities_test::ran.push_back(number); }
};

template <>
struct hetsched::TaskBodyCPU<priorities_test::Longer>
    : hetsched::TaskBodyCPU<priorities_test::Known> {};

template <>
struct hetsched::TaskBodyCPU<priorities_test::Unseen> {
  void operator()(int const&, int& number) const { priorities_test::ran.push_back(number); }
};

namespace priorities_test {

TEST_SUITE_BEGIN("priorities");

TEST_CASE("priorities: by levels, from 0 on, the same for the same") {
  std::vector<Duration> const levels{{8}, {7}, {5}, {900}, {7}};
  CHECK(hs::priorities_of(levels) == std::vector<std::int32_t>{2, 1, 0, 3, 1});
  CHECK(hs::priorities_of({}).empty());
}

//                                          min     avg
//   0: Fast x --> 1: Mix x to y            30 20   59 27
//   2: HostOnly z --> 3: Even z --> 4      25 20 10   25 20 10
//   5: Fast w, on cores                    40      40
//
// On three cores and a GPU Fast takes 40 or 10, Mix 30 or 20, Even 10, HostOnly 5: on average 32.5,
// rounded down, and 27.5.
TEST_CASE("priorities: of a program and of a graph in virtual time") {
  Numbers const own{3, 3, 3, 3, 3, 9};
  Numbers const least{3, 1, 2, 1, 0, 4};
  Numbers const average{5, 3, 2, 1, 0, 4};
  std::vector<int> memory(4);
  for (auto const& [how, expected] : {std::pair(Priorities::own, own),
                                      std::pair(Priorities::bottom_min, least),
                                      std::pair(Priorities::bottom_avg, average)}) {
    CAPTURE(static_cast<int>(how));
    auto config = on(3, 1);
    config.priorities = how;
    hs::SimulatedRuntime<Noting> rt(config);
    auto const x = cells(rt, memory);
    auto const usual = hs::priority(3);
    auto const graph = rt.capture([&] {
      rt.spawn<Fast>(usual)(x[0]);
      rt.spawn<Mix>(usual)(x[0], x[1]);
      rt.spawn<HostOnly>(usual)(x[2]);
      rt.spawn<Even>(usual)(x[2]);
      rt.spawn<Even>(usual)(x[2]);
      rt.spawn<Fast>(hs::priority(9), hs::SetArch(hs::ArchHost))(x[3]);
    });
    for (int run = 0; run < 2; ++run) {
      rt.run(graph);
      CHECK(Noting::noted() == expected);
    }
    CHECK(graph.tasks().nodes()[5].priority == 9); // stays as it was captured
    rt.spawn<Even>(usual)(x[0]);
    rt.sync();
    CHECK(Noting::of_node.at(-1) == 3);

    rt.run(graph.tasks()); // a graph forgets where the last may run: 10 at least, 32 on average
    auto forgets = expected;
    if (how == Priorities::bottom_min) {
      forgets[5] = 0;
    } else if (how == Priorities::bottom_avg) {
      forgets = {5, 3, 2, 1, 0, 4};
    }
    CHECK(Noting::noted() == forgets);
  }
}

// On two cores, oldest first: 0 and 1 until 10, 2 until 15, 3 until 55. By levels 45, 40, 10 and
// 10: 2 and 3 one after the other on one core, 0 and 1 on the other.
TEST_CASE("priorities: schedulers go by them") {
  std::vector<int> memory(3);
  auto const makespan = [&](Priorities how) {
    auto config = on(2, 0);
    config.priorities = how;
    hs::SimulatedRuntime<hs::policies::Priority<>> rt(config);
    auto const x = cells(rt, memory);
    rt.run(rt.capture([&] {
      rt.spawn<Even>(hs::priority(1))(x[0]);
      rt.spawn<Even>(hs::priority(1))(x[1]);
      rt.spawn<HostOnly>()(x[2]);
      rt.spawn<Fast>()(x[2]);
    }));
    return rt.stats().elapsed;
  };
  CHECK(makespan(Priorities::own) == Duration{55});
  CHECK(makespan(Priorities::bottom_min) == Duration{45});
  CHECK(makespan(Priorities::bottom_avg) == Duration{45});
}

//   0: Known a --> 1: Unseen a to b      all unknown   2 1      1 each
//   2: Longer c                                        1
//   3: Known d                                         1
//   then Known 10, Longer 40, Unseen their mean, 20:   30 20, 40, 10
TEST_CASE("priorities: on threads, by what the model knows, and by hops before") {
  Told::asked.clear();
  Told::recorded.clear();
  int a = 0, b = 1, c = 2, d = 3;
  hs::Runtime<Noting, hs::policies::Lru, Told> rt(one_core(Priorities::bottom_min));
  auto const ha = rt.data(a), hb = rt.data(b), hc = rt.data(c), hd = rt.data(d);
  auto const graph = rt.capture([&] {
    rt.spawn<Known>(hs::priority(-5))(ha);
    rt.spawn<Unseen>()(ha, hb);
    rt.spawn<Longer>()(hc);
    rt.spawn<Known>(hs::priority(5))(hd);
  });
  rt.run(graph);
  CHECK(Noting::noted() == Numbers{1, 0, 0, 0});
  CHECK(Told::asked == Told::recorded); // graphs' tasks look to a model as those that run
  rt.run(graph);
  CHECK(Noting::noted() == Numbers{2, 1, 3, 0});
}

TEST_CASE("priorities: on threads, a datum given twice is two arguments to a model") {
  Told::asked.clear();
  Told::recorded.clear();
  int a = 0;
  hs::Runtime<Noting, hs::policies::Lru, Told> rt(one_core(Priorities::bottom_avg));
  auto const ha = rt.data(a);
  rt.run(rt.capture([&] { rt.spawn<Unseen>()(ha, ha); }));
  CHECK(Told::recorded.size() == 1);
  CHECK(Told::asked == Told::recorded);
}

TEST_CASE("priorities: on threads, schedulers go by them") {
  Told::asked.clear();
  Told::recorded.clear();
  for (auto const& [how, expected] : {std::pair(Priorities::bottom_avg, Numbers{2, 0, 1, 3}),
                                      std::pair(Priorities::own, Numbers{3, 0, 2, 1})}) {
    int a = 0, b = 1, c = 2, d = 3;
    hs::Runtime<hs::policies::Priority<>, hs::policies::Lru, Told> rt(one_core(how));
    auto const ha = rt.data(a), hb = rt.data(b), hc = rt.data(c), hd = rt.data(d);
    auto const graph = rt.capture([&] {
      rt.spawn<Known>()(ha);
      rt.spawn<Unseen>(hs::priority(-1))(ha, hb);
      rt.spawn<Longer>()(hc);
      rt.spawn<Known>(hs::priority(5))(hd);
    });
    rt.run(graph);
    ran.clear();
    rt.run(graph);
    CHECK(ran == expected);
  }
}

TEST_CASE("expected times: a scheduler learns them before a graph runs, in virtual time") {
  static_assert(hs::hooks_of<Expecting, hs::testing::ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_prepare));
  std::vector<int> memory(2);
  auto const expected = [&](int gpus) {
    hs::SimulatedRuntime<Expecting> rt(on(1, gpus));
    auto const x = cells(rt, memory);
    auto const graph = rt.capture([&] {
      rt.spawn<Mix>()(x[0], x[1]);
      rt.spawn<HostOnly>()(x[0]);
      rt.spawn<Fast>(hs::SetArch(hs::ArchHost))(x[1]);
    });
    rt.run(graph);
    return Expecting::times;
  };
  CHECK(expected(1) == std::vector<Numbers>{{30, 20}, {5, -2}, {40, -2}});
  CHECK(expected(0) == std::vector<Numbers>{{30, -2}, {5, -2}, {40, -2}});
}

TEST_CASE("expected times: on threads, as far as the model knows") {
  Told::asked.clear();
  Told::recorded.clear();
  int a = 0, b = 1;
  hs::Runtime<Expecting, hs::policies::Lru, Told> rt(one_core(Priorities::own));
  auto const ha = rt.data(a), hb = rt.data(b);
  auto const graph = rt.capture([&] {
    rt.spawn<Known>()(ha);
    rt.spawn<Unseen>()(ha, hb);
  });
  rt.run(graph);
  CHECK(Expecting::times == std::vector<Numbers>{{-1, -2}, {-1, -2}});
  rt.run(graph);
  CHECK(Expecting::times == std::vector<Numbers>{{10, -2}, {-1, -2}});
}

TEST_SUITE_END();

} // namespace priorities_test
