// SPDX-License-Identifier: MIT
// Clusters in virtual time: times by hand, the messages of the rules that real ranks follow, and
// bounds.

#include <hetsched/cluster/cluster_bounds.hpp>
#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/distribution.hpp>
#include <hetsched/cluster/simulated_cluster.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/multi_prio.hpp>

#include "cluster_graphs.hpp"
#include "on_ranks.hpp"
#include "support/env_or.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace simulated_cluster_test {

namespace hs = hetsched;
using enum hs::AccessMode;
using cluster_graphs::cluster;
using cluster_graphs::Homes;
using cluster_graphs::network;
using cluster_graphs::random_graph;
using cluster_graphs::RandomGraph;
using cluster_graphs::task;
using support::Dice;

hs::ClassTimes times_of(hs::TaskGraph const& graph, hs::Simulation const& node) {
  return hs::class_times(
      graph, node.platform, node.algorithm, node.precision, node.tile, "by hand");
}

/// Tile Cholesky as linalg::cholesky spawns it, of kernels that take 10 ns.
hs::TaskGraph cholesky(std::size_t n, std::size_t bytes) {
  std::vector<hs::TaskGraph::Node> nodes;
  auto const at = [](std::size_t i, std::size_t j) {
    return static_cast<std::uint32_t>(i * (i + 1) / 2 + j);
  };
  for (std::size_t k = 0; k < n; ++k) {
    nodes.push_back(task("Even", {{at(k, k), read_write, nullptr}}));
    for (auto i = k + 1; i < n; ++i) {
      nodes.push_back(task("Even", {{at(k, k), read, nullptr}, {at(i, k), read_write, nullptr}}));
    }
    for (auto j = k + 1; j < n; ++j) {
      nodes.push_back(task("Even", {{at(j, k), read, nullptr}, {at(j, j), read_write, nullptr}}));
      for (auto i = j + 1; i < n; ++i) {
        nodes.push_back(task("Even",
                             {{at(i, k), read, nullptr},
                              {at(j, k), read, nullptr},
                              {at(i, j), read_write, nullptr}}));
      }
    }
  }
  return {std::move(nodes), std::vector<std::size_t>(n * (n + 1) / 2, bytes)};
}

template <class D>
Homes homes_of_triangle(std::size_t n, D const& distribution) {
  Homes homes;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      homes.push_back(distribution.rank_of(i, j));
    }
  }
  return homes;
}

TEST_SUITE_BEGIN("cluster");

TEST_CASE("simulated cluster: a chain over two nodes, to the nanosecond") {
  hs::TaskGraph const graph({task("Even", {{0, read_write, nullptr}}),
                             task("Even", {{0, read, nullptr}, {1, read_write, nullptr}}),
                             task("Even", {{1, read, nullptr}, {0, read_write, nullptr}})},
                            {100, 30});
  Homes const homes{0, 1};
  hs::SimulatedCluster<> rt(cluster(2));
  rt.run(graph, homes);
  // 10, message 107, 10, message 37, 10
  CHECK(rt.stats().elapsed.ns == 174);
  CHECK(rt.stats().sent.messages == 2);
  CHECK(rt.stats().sent.bytes == 130);
  CHECK(rt.sent(0, 1).bytes == 100);
  CHECK(rt.sent(1, 0).bytes == 30);
  CHECK(rt.stats().nodes[0].executed == 2);
  CHECK(rt.stats().nodes[1].busy.ns == 10);
  auto const bounds = hs::cluster_bounds(graph,
                                         times_of(graph, simulated::on(1, 0)),
                                         network(),
                                         homes,
                                         rt.placed(graph, homes),
                                         rt.traffic());
  CHECK(bounds.path.ns == 174);
  CHECK(bounds.area->ns == 15);
  CHECK(bounds.busiest->ns == 20);
  CHECK(bounds.ports.ns == 106);
  CHECK(bounds.best().ns == 174);
}

TEST_CASE("simulated cluster: a task elsewhere than its data sends the value back") {
  hs::TaskGraph const graph(
      {task("Even", {{0, read_write, nullptr}}), task("Even", {{0, read_write, nullptr}})}, {50});
  Homes const homes{0};
  Homes const on{1, -1};
  hs::SimulatedCluster<> rt(cluster(2));
  rt.run(graph, homes, on);
  CHECK(rt.stats().elapsed.ns == 57 + 10 + 57 + 10);
  CHECK(rt.sent(0, 1).messages == 1);
  CHECK(rt.sent(1, 0).messages == 1);
}

TEST_CASE("simulated cluster: nodes pass a value on where that pays, to the nanosecond") {
  std::vector<hs::TaskGraph::Node> tasks{task("Even", {{0, read_write, nullptr}})};
  Homes homes{0};
  for (std::int32_t node = 1; node < 8; ++node) {
    tasks.push_back(
        task("Even", {{0, read, nullptr}, {static_cast<std::uint32_t>(node), write, nullptr}}));
    homes.push_back(node);
  }
  hs::TaskGraph const graph(std::move(tasks), {100, 8, 8, 8, 8, 8, 8, 8});
  auto const run = [&](std::size_t latency_bytes) {
    auto config = cluster(8);
    config.network.latency_bytes = latency_bytes;
    std::vector<std::int64_t> ends(8);
    config.on_task = [&](int node, hs::SimulatedTask const& done) {
      ends[static_cast<std::size_t>(node)] = (done.end - hs::Instant{}).ns;
    };
    hs::SimulatedCluster<> rt(config);
    rt.run(graph, homes);
    for (int node = 1; node < 8; ++node) {
      CHECK(rt.sent(0, node).messages == 1); // through whom ever
    }
    auto const bounds = hs::cluster_bounds(graph,
                                           times_of(graph, config.node),
                                           config.network,
                                           homes,
                                           rt.placed(graph, homes),
                                           rt.traffic());
    CHECK(rt.stats().elapsed >= bounds.best());
    ends.push_back(bounds.ports.ns);
    return ends;
  };
  // A port passes 100 bytes in 100 ns, a message comes 7 ns later, and tasks take 10. Node 0 sends
  // to nodes 1, 5 and 7 from 10, 110 and 210 on; node 1, at 117, sends to 2 and then 4; node 2 at
  // 224 to 3; node 5 at 217 to 6.
  CHECK(run(0) == std::vector<std::int64_t>{10, 127, 234, 341, 334, 227, 334, 327, 106});
  CHECK(run(100'000) == std::vector<std::int64_t>{10, 127, 227, 327, 427, 527, 627, 727, 703});
}

TEST_CASE("simulated cluster: ports serve one message at a time, the most urgent first, or share") {
  // Node 0 sends one value to each of two nodes, and both then send theirs to node 3.
  auto first = task("Even", {{0, read, nullptr}, {1, read_write, nullptr}});
  auto second = task("Even", {{0, read, nullptr}, {2, read_write, nullptr}});
  second.priority = 1;
  hs::TaskGraph const graph(
      {first, second, task("Even", {{1, read, nullptr}, {2, read, nullptr}, {3, write, nullptr}})},
      {100, 40, 40, 8});
  Homes const homes{0, 1, 2, 3};
  std::vector<std::int64_t> begins(3);
  auto config = cluster(4);
  config.on_task = [&](int node, hs::SimulatedTask const& done) {
    CHECK(node == done.node + 1);
    begins[static_cast<std::size_t>(done.node)] = (done.begin - hs::Instant{}).ns;
  };
  hs::SimulatedCluster<> rt(config);
  rt.run(graph, homes);
  CHECK(begins == std::vector<std::int64_t>{207, 107, 264});
  CHECK(rt.stats().elapsed.ns == 274);

  config.network.sharing = hs::Network::Sharing::none;
  hs::SimulatedCluster<> alone(config);
  alone.run(graph, homes);
  CHECK(begins == std::vector<std::int64_t>{107, 107, 164});

  // Both are under way at once, out of node 0 and then into node 3.
  config.network.sharing = hs::Network::Sharing::fair;
  hs::SimulatedCluster<> fair(config);
  fair.run(graph, homes);
  CHECK(begins == std::vector<std::int64_t>{207, 207, 207 + 10 + 7 + 2 * 40});

  // The way in is what is slow: both values come to node 3 at once, one after the other.
  config.network.in_bytes_per_s = 0.5e9;
  config.network.sharing = hs::Network::Sharing::in_order;
  config.network.out_bytes_per_s = std::numeric_limits<double>::infinity();
  hs::SimulatedCluster<> narrow(config);
  narrow.run(graph, homes);
  CHECK(begins == std::vector<std::int64_t>{207, 207, 207 + 10 + 7 + 2 * 80});
}

TEST_CASE("simulated cluster: what passes between switches shares their links") {
  // Nodes 0 and 1 send to 2 and 3, over one link that takes twice the time of a port.
  hs::TaskGraph const graph({task("Even", {{0, read, nullptr}, {2, write, nullptr}}),
                             task("Even", {{1, read, nullptr}, {3, write, nullptr}})},
                            {100, 100, 8, 8});
  Homes const homes{0, 1, 2, 3};
  auto config = cluster(4);
  config.network.leaf_nodes = 2;
  config.network.leaf_bytes_per_s = 0.5e9;
  std::vector<std::int64_t> begins(2);
  config.on_task = [&](int, hs::SimulatedTask const& done) {
    begins[static_cast<std::size_t>(done.node)] = (done.begin - hs::Instant{}).ns;
  };
  hs::SimulatedCluster<> rt(config);
  rt.run(graph, homes);
  CHECK(begins == std::vector<std::int64_t>{207, 407});
  // Between nodes of one switch nothing is in the way.
  hs::SimulatedCluster<> same(config);
  same.run(graph, Homes{0, 2, 1, 3});
  CHECK(begins == std::vector<std::int64_t>{107, 107});
}

TEST_CASE("simulated cluster: a value on a GPU comes home before it is sent") {
  hs::TaskGraph const graph({task("GpuOnly", {{0, read_write, nullptr}}),
                             task("Even", {{0, read, nullptr}, {1, write, nullptr}})},
                            {100, 8});
  auto config = cluster(2);
  config.node = simulated::joined(1, 1, hs::Simulation::Transfers::model);
  hs::SimulatedCluster<> rt(config);
  rt.run(graph, Homes{0, 1});
  // To the GPU 105, 5, back 105, message 107, then 10 on a core or 105 + 10 on a GPU.
  auto const once = rt.stats().elapsed.ns;
  CHECK(once >= 105 + 5 + 105 + 107 + 10);
  CHECK(rt.sent(0, 1).messages == 1);
  rt.run(graph, Homes{0, 1}); // after what GPUs held has come home
  CHECK(rt.stats().elapsed.ns >= 2 * once);
  CHECK(rt.sent(0, 1).messages == 2);
}

TEST_CASE("simulated cluster: one node is a SimulatedRuntime") {
  auto const graph = cholesky(9, 8);
  hs::SimulatedRuntime<> alone(simulated::on(3, 1));
  alone.run(graph);
  hs::SimulatedCluster<> rt(cluster(1, 3, 1));
  rt.run(graph, Homes(graph.data_bytes().size(), 0));
  CHECK(rt.stats().elapsed == alone.stats().elapsed);
  CHECK(rt.stats().sent.messages == 0);
}

TEST_CASE("simulated cluster: messages of tile Cholesky by distribution") {
  struct Row {
    std::string what;
    std::uint64_t messages[3]; // with 32, 64 and 100 tiles in a row
    Homes (*homes)(std::size_t);
  };

  auto const most = support::env_or("HETSCHED_TEST_GRAPHS", std::uint64_t{0}) == 0 ? 1U : 3U;
  // As many as versions have other ranks that read them.
  Row const rows[] = {
      {"2DBC 2x2",
       {992, 4032, 9900},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{2, 2}); }},
      {"2DBC 4x4",
       {2792, 11720, 29108},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{4, 4}); }},
      {"2DBC 5x4",
       {3198, 13550, 33764},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{5, 4}); }},
      {"2DBC 7x4",
       {3927, 17031, 42789},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{7, 4}); }},
      {"2DBC 8x4",
       {4252, 18684, 47160},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{8, 4}); }},
      {"2DBC 8x8",
       {5712, 25648, 65212},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{8, 8}); }},
      {"2DBC 32x32",
       {10912, 75392, 223820},
       [](auto n) { return homes_of_triangle(n, hs::BlockCyclic{32, 32}); }},
      {"SBC 6",
       {2085, 8290, 20173},
       [](auto n) { return homes_of_triangle(n, hs::SymmetricBlockCyclic(6)); }},
      {"SBC 7",
       {2594, 10358, 25202},
       [](auto n) { return homes_of_triangle(n, hs::SymmetricBlockCyclic(7)); }},
      {"SBC 8",
       {3091, 12403, 30228},
       [](auto n) { return homes_of_triangle(n, hs::SymmetricBlockCyclic(8)); }},
      {"SBC 8 basic",
       {3612, 14476, 35266},
       [](auto n) { return homes_of_triangle(n, hs::SymmetricBlockCyclic(8, false)); }},
      {"rows mod 16", {4640, 24080, 64310}, [](auto n) {
         return homes_of_triangle(n, hs::BlockCyclic{16, 1});
       }}};
  std::size_t const tiles[] = {32, 64, 100};
  for (std::size_t k = 0; k < most; ++k) {
    auto const graph = cholesky(tiles[k], 1000);
    for (auto const& row : rows) {
      CAPTURE(row.what);
      CAPTURE(tiles[k]);
      auto const homes = row.homes(tiles[k]);
      auto const ranks = 1 + *std::max_element(homes.begin(), homes.end());
      hs::SimulatedCluster<hs::policies::Priority<>> rt(cluster(ranks, 2));
      rt.run(graph, homes);
      CHECK(rt.stats().sent.messages == row.messages[k]);
      CHECK(rt.stats().sent.bytes == 1000 * row.messages[k]);
    }
  }
}

using Log = std::vector<std::tuple<int, std::int32_t, std::int64_t, std::int64_t>>;

Log run_logged(RandomGraph const& made, hs::ClusterSimulation config, hs::Duration& bound) {
  Log log;
  config.on_task = [&](int node, hs::SimulatedTask const& done) {
    log.emplace_back(
        node, done.node, (done.begin - hs::Instant{}).ns, (done.end - hs::Instant{}).ns);
  };
  hs::SimulatedCluster<hs::policies::Priority<>> rt(config);
  rt.run(made.graph, made.homes, made.on);
  log.emplace_back(-1, 0, rt.stats().elapsed.ns, static_cast<std::int64_t>(rt.stats().sent.bytes));
  bound = hs::cluster_bounds(made.graph,
                             times_of(made.graph, config.node),
                             config.network,
                             made.homes,
                             rt.placed(made.graph, made.homes, made.on),
                             rt.traffic())
              .best();
  CHECK(rt.stats().elapsed >= bound);
  return log;
}

TEST_CASE("simulated cluster: random graphs, dealt once or looked at by every node") {
  auto const count = support::env_or("HETSCHED_TEST_GRAPHS", std::uint64_t{150});
  auto const seed = support::env_or("HETSCHED_TEST_SEED", std::uint64_t{1});
  for (std::uint64_t k = seed; k < seed + count; ++k) {
    CAPTURE(k);
    Dice dice(k);
    int const nodes = 1 + dice.below(16);
    auto const made = random_graph(dice, nodes);
    auto config = cluster(nodes, 1 + dice.below(3), dice.below(2));
    if (dice.chance(40)) {
      config.node =
          simulated::joined(1 + dice.below(2), dice.below(3), hs::Simulation::Transfers::model);
    }
    config.network.leaf_nodes = dice.chance(30) ? 1 + dice.below(4) : 0;
    config.network.leaf_bytes_per_s = 0.8e9;
    using enum hs::Network::Sharing;
    config.network.sharing = dice.of({in_order, in_order, fair, fair, none});
    config.network.latency_bytes = dice.chance(50) ? 0 : 100'000;
    config.node.priorities = dice.chance(50) ? hs::Priorities::own : hs::Priorities::bottom_min;
    hs::Duration bound;
    auto const once = run_logged(made, config, bound);
    CHECK(once.size() == made.graph.size() + 1);
    CHECK(once == run_logged(made, config, bound)); // deterministic
    config.each_spawns_all = true;
    CHECK(once == run_logged(made, config, bound));
  }
}

// ---- the same graphs on ranks that compute ----

using Tile = hs::VectorView<std::uint64_t>;

struct Update : hs::Task<2>::Signature<hs::R<Tile>, hs::RW<Tile>> {
  static void cpu(hs::VectorView<std::uint64_t const>, Tile) {}
};

struct Set : hs::Task<2>::Signature<hs::W<Tile>, hs::R<Tile>> {
  static void cpu(Tile, hs::VectorView<std::uint64_t const>) {}
};

struct Swap : hs::Task<1>::Signature<hs::Commute<Tile>> {
  static void cpu(Tile) {}
};

struct Add : hs::Task<2>::Signature<hs::CW<Tile, hs::Sum<std::uint64_t>>, hs::R<Tile>> {
  static void cpu(Tile, hs::VectorView<std::uint64_t const>) {}
};

TEST_CASE("simulated cluster: as many messages and bytes between any two ranks as on loopback") {
  using Runtime = hs::DistributedRuntime<hs::policies::WorkStealing<>,
                                         hs::policies::Lru,
                                         hs::policies::NoModel,
                                         hs::OwnerComputes,
                                         hs::LoopbackTransport>;
  auto const count = support::env_or("HETSCHED_TEST_GRAPHS", std::uint64_t{60});
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    int const ranks = 2 + dice.below(5);
    int const data = 2 + dice.below(6);
    std::vector<std::size_t> sizes;
    std::vector<std::size_t> bytes;
    Homes homes;
    for (int d = 0; d < data; ++d) {
      sizes.push_back(static_cast<std::size_t>(1 + dice.below(9)));
      bytes.push_back(8 * sizes.back());
      homes.push_back(dice.below(ranks));
    }

    struct Step {
      int kind, a, b, on;
    };

    std::vector<Step> steps;
    std::vector<hs::TaskGraph::Node> tasks;
    Homes on;
    for (int k = 0, tasks_wanted = 1 + dice.below(60); k < tasks_wanted; ++k) {
      Step const step{dice.below(4),
                      dice.below(data),
                      dice.below(data),
                      dice.chance(50) ? -1 : dice.below(ranks)};
      if (step.a == step.b) {
        continue;
      }
      auto const a = static_cast<std::uint32_t>(step.a);
      auto const b = static_cast<std::uint32_t>(step.b);
      auto const accesses = [&]() -> std::vector<hs::GraphAccess> {
        switch (step.kind) {
        case 0:
          return {{a, read, nullptr}, {b, read_write, nullptr}};
        case 1:
          return {{a, write, nullptr}, {b, read, nullptr}};
        case 2:
          return {{a, commute, nullptr}};
        default:
          return {{a, reduce, &cluster_graphs::sum_of_ints}, {b, read, nullptr}};
        }
      }();
      steps.push_back(step);
      tasks.push_back(task("Even", accesses));
      on.push_back(step.on);
    }
    hs::TaskGraph const graph(std::move(tasks), bytes);
    hs::SimulatedCluster<> simulated(cluster(ranks));
    simulated.run(graph, homes, on);

    hs::LoopbackNetwork net(ranks);
    auto const thrown = on_ranks::run<Runtime>(net, [&](Runtime& rt) {
      std::deque<std::vector<std::uint64_t>> memory;
      std::vector<hs::DistributedHandle<Tile>> handles;
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        handles.push_back(rt.data(homes[d], memory.emplace_back(sizes[d]).data(), sizes[d]));
      }
      for (auto const& step : steps) {
        auto const& a = handles[static_cast<std::size_t>(step.a)];
        auto const& b = handles[static_cast<std::size_t>(step.b)];
        auto const where = hs::on_rank(step.on);
        step.kind == 0   ? rt.spawn<Update>(where)(a, b)
        : step.kind == 1 ? rt.spawn<Set>(where)(a, b)
        : step.kind == 2 ? rt.spawn<Swap>(where)(a)
                         : rt.spawn<Add>(where)(a, b);
      }
      rt.sync();
      for (int to = 0; to < ranks; ++to) {
        auto const sent = rt.sent_to(to);
        auto const expected = simulated.sent(rt.rank(), to);
        if (sent.messages != expected.messages || sent.bytes != expected.bytes) {
          throw std::runtime_error(
              "rank " + std::to_string(rt.rank()) + " sent " + std::to_string(sent.messages) +
              " messages to " + std::to_string(to) + ", not " + std::to_string(expected.messages));
        }
      }
    });
    for (auto const& what : thrown) {
      CHECK(what == "");
    }
  }
}

// ---- what is wrong ----

template <class F>
std::string thrown_by(F const& f) {
  try {
    f();
  } catch (hs::Error const& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("simulated cluster: what is wrong with a run is said in one line") {
  hs::TaskGraph const graph({task("Even", {{0, read_write, nullptr}})}, {8});
  auto const built = [](auto change) {
    auto config = cluster(2);
    change(config);
    return thrown_by([&] { hs::SimulatedCluster<> const rt(config); });
  };
  CHECK(built([](auto& config) { config.nodes = 0; }).find("0 is not from 1 to") !=
        std::string::npos);
  CHECK(built([](auto& config) {
          config.network.in_bytes_per_s = 0;
        }).find("Network::in_bytes_per_s: 0.0") != std::string::npos);
  CHECK(built([](auto& config) {
          config.network.leaf_nodes = 4;
        }).find("Network::leaf_bytes_per_s") != std::string::npos);
  CHECK(built([](auto& config) { config.node.trace = "x.json"; }).find("ClusterSimulation::node") !=
        std::string::npos);
  hs::SimulatedCluster<> rt(cluster(2));
  CHECK(thrown_by([&] { rt.run(graph, Homes{}); }).find("0 homes for 1 data") != std::string::npos);
  CHECK(thrown_by([&] { rt.run(graph, Homes{2}); }).find("there is no node 2 among 2") !=
        std::string::npos);
  CHECK(thrown_by([&] { rt.run(graph, Homes{1}, Homes{1, 1}); }).find("nodes for 2 of 1 tasks") !=
        std::string::npos);
  rt.run(graph, Homes{1});
  hs::TaskGraph const unknown({task("Nothing", {{0, read_write, nullptr}})}, {8});
  CHECK(thrown_by([&] { rt.run(unknown, Homes{1}); }).find("task 'Nothing'") != std::string::npos);
  CHECK(thrown_by([&] { rt.run(graph, Homes{1}); }).find("an earlier run failed") !=
        std::string::npos);
}

/// Keeps all tasks for ever.
struct Miser : hs::policies::Eager<> {
  static hs::TaskId pop(hs::context auto const& /*ctx*/, hs::WorkerId /*worker*/) {
    return hs::no_task;
  }
};

TEST_CASE("simulated cluster: a scheduler that keeps tasks is told with its rank") {
  hs::TaskGraph const graph({task("Even", {{0, read, nullptr}, {1, read_write, nullptr}})}, {8, 8});
  hs::SimulatedCluster<Miser> rt(cluster(3));
  CHECK(thrown_by([&] { rt.run(graph, Homes{0, 2}); }).find("rank 2: keeps 1 tasks") !=
        std::string::npos);
}

TEST_CASE("simulated cluster: schedulers that prepare see what their node runs") {
  auto const graph = cholesky(8, 64);
  auto const homes = homes_of_triangle(8, hs::BlockCyclic{2, 2});
  auto config = cluster(4, 2, 1);
  std::vector<int> seen(graph.size());
  config.on_task = [&](int, hs::SimulatedTask const& done) {
    ++seen[static_cast<std::size_t>(done.node)];
  };
  hs::SimulatedCluster<hs::policies::MultiPrio> rt(config);
  rt.run(graph, homes);
  CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(graph.size()));
}

TEST_SUITE_END();

} // namespace simulated_cluster_test
