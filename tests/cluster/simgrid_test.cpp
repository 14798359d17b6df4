// SPDX-License-Identifier: MIT
// Networks of virtual time beside those of SimGrid, an independent simulator. SimGrid runs once in
// a process, so all cases are parts of one platform, which have nothing in common.

#include "cluster_graphs.hpp"
#include "support/env_or.hpp"

#include <doctest/doctest.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simgrid_test {

namespace hs = hetsched;
namespace sg = simgrid::s4u;
using cluster_graphs::Homes;
using cluster_graphs::task;
using support::Dice;
using enum hs::AccessMode;

hs::Network drawn_network(Dice& dice) {
  hs::Network network{.name = "drawn",
                      .out_bytes_per_s = 1e6 * (1 + dice.below(100)),
                      .latency = {1000 * (1 + dice.below(50))},
                      .sharing = hs::Network::Sharing::fair,
                      .latency_bytes = 1'000'000'000'000}; // nobody passes on values
  network.in_bytes_per_s = dice.chance(50) ? network.out_bytes_per_s : 1e6 * (1 + dice.below(100));
  network.leaf_nodes = dice.chance(60) ? 1 + dice.below(4) : 0;
  network.leaf_bytes_per_s = 1e6 * (1 + dice.below(200));
  return network;
}

/// SimGrid's hosts for the nodes of a network, with links that make the same routes.
std::vector<sg::Host*>
hosts(sg::NetZone& zone, std::string const& name, hs::Network const& network, int nodes) {
  auto const link = [&](std::string const& what, int number, double bytes_per_s) {
    auto* const made =
        zone.create_link(name + what + std::to_string(number), std::vector<double>{bytes_per_s});
    made->seal();
    return made;
  };
  std::vector<sg::Host*> all;
  std::vector<sg::Link*> out;
  std::vector<sg::Link*> in;
  for (int k = 0; k < nodes; ++k) {
    all.push_back(zone.create_host(name + "node" + std::to_string(k), 1e9));
    all.back()->seal();
    in.push_back(link("in", k, network.in_bytes_per_s));
    out.push_back(zone.create_link(name + "out" + std::to_string(k),
                                   std::vector<double>{network.out_bytes_per_s}));
    out.back()->set_latency(network.latency.seconds());
    out.back()->seal();
  }
  int const per_leaf = network.leaf_nodes == 0 ? nodes : network.leaf_nodes;
  std::vector<sg::Link*> up;
  std::vector<sg::Link*> down;
  for (int leaf = 0; per_leaf < nodes && leaf * per_leaf < nodes; ++leaf) {
    up.push_back(link("up", leaf, network.leaf_bytes_per_s));
    down.push_back(link("down", leaf, network.leaf_bytes_per_s));
  }
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < nodes; ++b) {
      if (a == b) {
        continue;
      }
      auto const at = [](auto const& links, int k) {
        return sg::LinkInRoute(links[static_cast<std::size_t>(k)]);
      };
      std::vector<sg::LinkInRoute> route{at(out, a)};
      if (a / per_leaf != b / per_leaf) {
        route.push_back(at(up, a / per_leaf));
        route.push_back(at(down, b / per_leaf));
      }
      route.push_back(at(in, b));
      zone.add_route(all[static_cast<std::size_t>(a)]->get_netpoint(),
                     all[static_cast<std::size_t>(b)]->get_netpoint(),
                     nullptr,
                     nullptr,
                     route,
                     false);
    }
  }
  return all;
}

/// When something was by both simulators, in seconds.
struct Pair {
  double ours = 0;
  double theirs = -1;
};

// ---- messages at given times ----

struct Messages {
  std::vector<hs::detail::VirtualMessage> all;
  std::vector<hs::Instant> asked; // ascending
  std::vector<Pair> ends;
};

void run_ours(hs::Network const& network, int nodes, Messages& messages) {
  hs::detail::VirtualNetwork net(network, nodes);
  std::size_t next = 0;
  std::size_t arrived = 0;
  while (arrived < messages.all.size()) {
    auto now = net.next();
    if (next < messages.all.size()) {
      now = std::min(now, messages.asked[next]);
    }
    if (net.next() == now) {
      net.advance(
          now,
          [](auto&) {},
          [&](hs::detail::VirtualMessage& message) {
            auto const number = static_cast<std::size_t>(&message - messages.all.data());
            messages.ends[number].ours = (now - hs::Instant{}).seconds();
            ++arrived;
          });
    }
    for (; next < messages.all.size() && messages.asked[next] == now; ++next) {
      net.ask(messages.all[next]);
    }
    net.start(now);
  }
}

Messages draw_messages(Dice& dice, int nodes) {
  Messages messages;
  int const many = 1 + dice.below(60);
  for (int k = 0; k < many; ++k) {
    auto& message = messages.all.emplace_back();
    message.from = dice.below(nodes);
    message.to = (message.from + 1 + dice.below(nodes - 1)) % nodes;
    message.bytes = static_cast<std::size_t>(dice.below(1'000'000));
    messages.asked.push_back({dice.chance(30) ? 0 : 10'000 * dice.below(20'000)});
  }
  std::sort(messages.asked.begin(), messages.asked.end());
  messages.ends.resize(messages.all.size());
  return messages;
}

void send_theirs(std::vector<sg::Host*> const& on, Messages& messages) {
  for (std::size_t k = 0; k < messages.all.size(); ++k) {
    auto const& message = messages.all[k];
    auto* const from = on[static_cast<std::size_t>(message.from)];
    auto* const to = on[static_cast<std::size_t>(message.to)];
    sg::Actor::create("message", from, [&messages, k, from, to] {
      sg::this_actor::sleep_until((messages.asked[k] - hs::Instant{}).seconds());
      sg::Comm::sendto(from, to, messages.all[k].bytes);
      messages.ends[k].theirs = sg::Engine::get_clock();
    });
  }
}

// ---- a graph ----

struct Run {
  hs::TaskGraph graph;
  Homes homes;
  std::vector<std::vector<std::int32_t>> order;         // tasks of each node, as ours ran them
  std::vector<hs::Duration> lengths;                    // of tasks
  std::vector<std::map<int, sg::SemaphorePtr>> arrived; // what a task wrote, by the reading node
  std::vector<Pair> ends;                               // of tasks
};

/// Tile Cholesky. Only the last version of a tile is read elsewhere.
hs::TaskGraph cholesky(std::uint32_t tiles, std::size_t bytes) {
  auto const tile = [](std::uint32_t i, std::uint32_t j) { return i * (i + 1) / 2 + j; };
  std::vector<hs::TaskGraph::Node> tasks;
  for (std::uint32_t k = 0; k < tiles; ++k) {
    tasks.push_back(task("Even", {{tile(k, k), read_write, nullptr}}));
    for (auto i = k + 1; i < tiles; ++i) {
      tasks.push_back(
          task("Mix", {{tile(k, k), read, nullptr}, {tile(i, k), read_write, nullptr}}));
    }
    for (auto i = k + 1; i < tiles; ++i) {
      for (auto j = k + 1; j <= i; ++j) {
        auto accesses = std::vector<hs::GraphAccess>{{tile(i, k), read, nullptr}};
        if (i != j) {
          accesses.push_back({tile(j, k), read, nullptr});
        }
        accesses.push_back({tile(i, j), read_write, nullptr});
        tasks.push_back(task("Fast", accesses));
      }
    }
  }
  return {std::move(tasks), std::vector<std::size_t>(tile(tiles, 0), bytes)};
}

void run_ours(hs::Network const& network, int nodes, Run& run) {
  run.order.resize(static_cast<std::size_t>(nodes));
  run.lengths.resize(run.graph.size());
  run.arrived.resize(run.graph.size());
  run.ends.resize(run.graph.size());
  auto config = cluster_graphs::cluster(nodes);
  config.network = network;
  config.on_task = [&](int node, hs::SimulatedTask const& done) {
    auto const number = static_cast<std::size_t>(done.node);
    run.order[static_cast<std::size_t>(node)].push_back(done.node);
    run.lengths[number] = done.end - done.begin;
    run.ends[number].ours = (done.end - hs::Instant{}).seconds();
  };
  hs::SimulatedCluster<> rt(config);
  rt.run(run.graph, run.homes);
}

/// The task that wrote what task v reads, for each access; -1: none.
std::vector<std::vector<std::int32_t>> writers(hs::TaskGraph const& graph) {
  std::vector<std::int32_t> last(graph.data_bytes().size(), -1);
  std::vector<std::vector<std::int32_t>> all;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    auto& of = all.emplace_back();
    for (auto const& access : graph.nodes()[v].accesses) {
      of.push_back(last[access.data]);
    }
    for (auto const& access : graph.nodes()[v].accesses) {
      if (access.mode != read) {
        last[access.data] = static_cast<std::int32_t>(v);
      }
    }
  }
  return all;
}

/// An actor for each node runs its tasks one after the other. After a task it sends what the task
/// wrote to all nodes that read it, before a task it waits for what comes from others.
void run_theirs(std::vector<sg::Host*> const& on, Run& run) {
  auto const wrote = writers(run.graph);
  auto const node_of = [&run](std::size_t v) {
    return run.homes[run.graph.nodes()[v].accesses.back().data];
  };
  for (std::size_t v = 0; v < run.graph.size(); ++v) {
    for (auto const writer : wrote[v]) {
      if (writer >= 0 && node_of(static_cast<std::size_t>(writer)) != node_of(v)) {
        run.arrived[static_cast<std::size_t>(writer)][node_of(v)] = sg::Semaphore::create(0);
      }
    }
  }
  for (std::size_t node = 0; node < on.size(); ++node) {
    sg::Actor::create("node", on[node], [&run, &on, wrote, node] {
      for (auto const v : run.order[node]) {
        for (auto const writer : wrote[static_cast<std::size_t>(v)]) {
          if (writer < 0) {
            continue;
          }
          auto& sent = run.arrived[static_cast<std::size_t>(writer)];
          if (auto const message = sent.find(static_cast<int>(node)); message != sent.end()) {
            message->second->acquire();
            message->second->release(); // it stays there
          }
        }
        auto const number = static_cast<std::size_t>(v);
        sg::this_actor::sleep_for(run.lengths[number].seconds());
        run.ends[number].theirs = sg::Engine::get_clock();
        for (auto const& [reader, arrived] : run.arrived[number]) {
          auto* const to = on[static_cast<std::size_t>(reader)];
          sg::Actor::create("message", on[node], [&run, arrived, from = on[node], to] {
            sg::Comm::sendto(from, to, run.graph.data_bytes().front());
            arrived->release();
          });
        }
      }
    });
  }
}

TEST_SUITE_BEGIN("cluster");

TEST_CASE("network: fair shares are those of SimGrid") {
  std::string program = "test";
  char* arguments[] = {program.data(), nullptr};
  int count = 1;
  sg::Engine engine(&count, arguments);
  // With lazy updates, the default, 3.32 lets some flows have more than their links carry.
  for (std::string_view const setting :
       {"contexts/stack-size:64", // KiB; Meson has malloc fill them
        "network/model:CM02",
        "network/optim:Full",
        "network/crosstraffic:0",
        "network/TCP-gamma:0",
        "surf/precision:1e-12"}) {
    sg::Engine::set_config(std::string(setting));
  }
  auto* const zone = sg::create_full_zone("all");
  auto const many = support::env_or("HETSCHED_TEST_GRAPHS", std::uint64_t{40});
  auto const seed = support::env_or("HETSCHED_TEST_SEED", std::uint64_t{1});
  std::vector<Messages> sets;
  std::vector<Run> runs;
  sets.reserve(many);
  runs.reserve(many);
  std::vector<std::vector<sg::Host*>> hosts_of;
  for (auto k = seed; k < seed + many; ++k) {
    Dice dice(k);
    auto const network = drawn_network(dice);
    int const nodes = 2 + dice.below(8);
    hosts_of.push_back(hosts(*zone, "messages" + std::to_string(k), network, nodes));
    run_ours(network, nodes, sets.emplace_back(draw_messages(dice, nodes)));
    auto& run = runs.emplace_back();
    run.graph = cholesky(static_cast<std::uint32_t>(2 + dice.below(6)),
                         static_cast<std::size_t>(1 + dice.below(2000)));
    for (std::size_t d = 0; d < run.graph.data_bytes().size(); ++d) {
      run.homes.push_back(dice.below(nodes));
    }
    hosts_of.push_back(hosts(*zone, "graph" + std::to_string(k), network, nodes));
    run_ours(network, nodes, run);
  }
  zone->seal();
  for (std::size_t k = 0; k < many; ++k) {
    send_theirs(hosts_of[2 * k], sets[k]);
    run_theirs(hosts_of[2 * k + 1], runs[k]);
  }
  engine.run();
  // Ours are in whole nanoseconds: each end may be half of one late or early, and so is what waits.
  auto const compare = [&](std::vector<Pair> const& ends) {
    for (auto const& end : ends) {
      REQUIRE(end.theirs >= 0);
      auto const apart = std::abs(end.ours - end.theirs);
      CHECK(apart <= 1e-6 * end.theirs + 2e-9 * static_cast<double>(ends.size()));
    }
  };
  for (std::size_t k = 0; k < many; ++k) {
    CAPTURE(seed + k);
    compare(sets[k].ends);
    compare(runs[k].ends);
  }
}

} // namespace simgrid_test
