// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/schedulers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace random_graphs_test {

constexpr std::array<std::string_view, 3> types{"short", "middle", "long"};

hs::RandomGraph with(std::uint64_t seed) {
  return {types, seed, 64};
}

std::size_t edges(hs::TaskGraph const& graph) {
  std::size_t count = 0;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    count += graph.predecessor_count(v);
  }
  return count;
}

bool same(hs::TaskGraph const& a, hs::TaskGraph const& b) {
  if (a.size() != b.size() || edges(a) != edges(b)) {
    return false;
  }
  for (std::size_t v = 0; v < a.size(); ++v) {
    auto const to_a = a.successors(v);
    auto const to_b = b.successors(v);
    if (a.nodes()[v].type != b.nodes()[v].type ||
        !std::equal(to_a.begin(), to_a.end(), to_b.begin(), to_b.end())) {
      return false;
    }
  }
  return true;
}

/// The three types take 1, 10 and 100 us on a core.
hs::Simulation equal_cores(int cores) {
  hs::Simulation config{.algorithm = "test"};
  config.platform.classes = {{"cpu", hs::ArchHost, cores, ""}};
  std::int64_t ns = 1000;
  for (auto const type : types) {
    auto& kernel = config.platform.kernels.emplace_back();
    kernel.name = type;
    kernel.algorithms = {"test"};
    kernel.times = {{{hs::Duration{ns}, {}, {}}}};
    ns *= 10;
  }
  return config;
}

TEST_SUITE_BEGIN("random graphs");

TEST_CASE("erdos_graph: edges come with the given probability, from lower to higher") {
  CHECK(edges(hs::erdos_graph(with(1), 50, 0)) == 0);
  auto const complete = hs::erdos_graph(with(1), 50, 1);
  for (std::size_t v = 0; v < 50; ++v) {
    REQUIRE(complete.predecessor_count(v) == v);
  }
  auto const pairs = 400.0 * 399 / 2;
  auto const found = static_cast<double>(edges(hs::erdos_graph(with(2), 400, 0.1)));
  CHECK(std::abs(found - 0.1 * pairs) < 5 * std::sqrt(pairs * 0.1 * 0.9));
}

TEST_CASE("layered_graph: every task follows some of the layer before, and nothing else") {
  auto const graph = hs::layered_graph(with(3), 8, 25, 0.1);
  REQUIRE(graph.size() == 200);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    CHECK((graph.predecessor_count(v) == 0) == (v < 25));
    for (auto const next : graph.successors(v)) {
      REQUIRE(next / 25 == v / 25 + 1);
    }
  }
  CHECK(edges(hs::layered_graph(with(3), 4, 10, 1)) == 300);
  CHECK(edges(hs::layered_graph(with(3), 4, 10, 0)) == 30);
}

TEST_CASE("fork_join_graph: stages one after the other") {
  auto const graph = hs::fork_join_graph(with(4), 3, 5);
  REQUIRE(graph.size() == 21);
  CHECK(edges(graph) == 3 * 10 + 2);
  std::vector<hs::Duration> const ones(graph.size(), {1});
  CHECK(hs::critical_path(graph, ones) == hs::Duration{9});
  CHECK(edges(hs::fork_join_graph(with(4), 2, 0)) == 3);
}

TEST_CASE("random graphs: the same for a seed, types drawn uniformly") {
  CHECK(same(hs::erdos_graph(with(5), 100, 0.2), hs::erdos_graph(with(5), 100, 0.2)));
  CHECK(!same(hs::erdos_graph(with(5), 100, 0.2), hs::erdos_graph(with(6), 100, 0.2)));
  auto const graph = hs::layered_graph(with(7), 30, 100, 0.01);
  for (auto const type : types) {
    auto const count = std::count_if(graph.nodes().begin(),
                                     graph.nodes().end(),
                                     [&](auto const& node) { return node.type == type; });
    CHECK(std::abs(static_cast<double>(count) - 1000) < 150);
  }
}

TEST_CASE("random graphs: refuse what makes no sense") {
  CHECK_THROWS_AS((void)hs::erdos_graph({}, 10, 0.1), hs::Error);
  CHECK_THROWS_AS((void)hs::erdos_graph(with(1), 0, 0.1), hs::Error);
  CHECK_THROWS_AS((void)hs::erdos_graph(with(1), 10, 1.1), hs::Error);
  CHECK_THROWS_AS((void)hs::erdos_graph(with(1), 10, std::numeric_limits<double>::quiet_NaN()),
                  hs::Error);
  CHECK_THROWS_AS((void)hs::layered_graph(with(1), 10'000, 10'000, 0.1), hs::Error);
  CHECK_THROWS_AS((void)hs::fork_join_graph(with(1), 0, 3), hs::Error);
}

TEST_CASE_TEMPLATE("random graphs: schedules that leave no worker idle keep Graham's bound",
                   S,
                   HETSCHED_BALANCING_SCHEDULERS) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto const cores = static_cast<int>(seed % 5) + 1;
    hs::SimulatedRuntime<S> rt(equal_cores(cores));
    auto const graph = seed % 3 == 0   ? hs::erdos_graph(with(seed), 120, 0.03)
                       : seed % 3 == 1 ? hs::layered_graph(with(seed), 10, 12, 0.2)
                                       : hs::fork_join_graph(with(seed), 6, 18);
    rt.run(graph);
    std::vector<hs::Duration> durations;
    std::int64_t work = 0;
    for (auto const& node : graph.nodes()) {
      auto const ns = node.type == "short" ? 1000 : node.type == "middle" ? 10000 : 100000;
      durations.push_back({ns});
      work += ns;
    }
    auto const path = hs::critical_path(graph, durations).ns;
    auto const makespan = rt.stats().elapsed.ns;
    REQUIRE(makespan >= hs::makespan_bound(graph, durations, cores).ns);
    REQUIRE(makespan * cores <= work + (cores - 1) * path); // Graham 1969
  }
}

TEST_SUITE_END();

} // namespace random_graphs_test
