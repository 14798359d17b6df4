// SPDX-License-Identifier: MIT
#pragma once
// Small clusters in virtual time, and graphs drawn by lot for them.

#include <hetsched/cluster/simulated_cluster.hpp>
#include <hetsched/hetsched.hpp>

#include "support/dice.hpp"
#include "support/simulated_machine.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster_graphs {

namespace hs = hetsched;
using enum hs::AccessMode;
using support::Dice;
using Homes = std::vector<std::int32_t>;

/// 1 byte a nanosecond in and out, 7 ns of latency.
inline hs::Network network() {
  return {.name = "by hand", .out_bytes_per_s = 1e9, .in_bytes_per_s = 1e9, .latency = {7}};
}

inline hs::ClusterSimulation cluster(int nodes, int cpus = 1, int gpus = 0) {
  return {.node = simulated::on(cpus, gpus), .network = network(), .nodes = nodes};
}

inline hs::TaskGraph::Node task(std::string_view type, std::vector<hs::GraphAccess> accesses) {
  hs::TaskGraph::Node node;
  node.type = type;
  node.accesses = std::move(accesses);
  return node;
}

// ---- random graphs ----

inline int const sum_of_ints = 0; // the identity of an operator
inline int const maximum_of_ints = 0;

struct RandomGraph {
  hs::TaskGraph graph;
  Homes homes;
  Homes on;
};

/// All modes, two operators; `nodes` > 0.
inline RandomGraph random_graph(Dice& dice, int nodes) {
  auto const data = static_cast<std::uint32_t>(1 + dice.below(8));
  std::vector<std::size_t> bytes;
  RandomGraph made;
  for (std::uint32_t d = 0; d < data; ++d) {
    bytes.push_back(8 * static_cast<std::size_t>(1 + dice.below(30)));
    made.homes.push_back(dice.below(nodes));
  }
  std::vector<hs::TaskGraph::Node> tasks;
  int const count = 1 + dice.below(60);
  for (int v = 0; v < count; ++v) {
    auto node = task(dice.of({"Even", "Fast", "Mix"}), {});
    node.priority = dice.below(5) - 2;
    for (std::uint32_t d = 0; d < data; ++d) {
      if (dice.below(static_cast<int>(data)) > 1) {
        continue;
      }
      auto const mode = dice.of({read, read, write, read_write, commute, reduce});
      node.accesses.push_back({d,
                               mode,
                               mode != reduce    ? nullptr
                               : dice.chance(70) ? &sum_of_ints
                                                 : &maximum_of_ints});
    }
    tasks.push_back(std::move(node));
    made.on.push_back(dice.chance(60) ? -1 : dice.below(nodes));
  }
  made.graph = hs::TaskGraph(std::move(tasks), std::move(bytes));
  return made;
}

} // namespace cluster_graphs
