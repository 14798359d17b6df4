// SPDX-License-Identifier: MIT
#include "products.hpp"

#include <cmath>
#include <utility>

namespace arafat2016 {

namespace {

namespace hs = hetsched;

/// Where task k of `tasks` begins.
std::int32_t beginning(int k, int tasks, int ranks, double skew) {
  auto const others = static_cast<int>(std::lround((1 - skew) * ranks));
  auto const even = static_cast<int>(std::lround((1 - skew) * tasks));
  return k < even && others != 0 ? k % others : others % ranks;
}

} // namespace

Workload products(Products const& sizes, int ranks, double skew) {
  std::vector<hs::TaskGraph::Node> nodes;
  std::vector<std::size_t> bytes;
  Workload made;
  auto const add = [&](std::size_t n, int tasks) {
    for (int k = 0; k < tasks; ++k) {
      auto& node = nodes.emplace_back();
      node.type = "dgemm";
      for (auto const mode : {hs::AccessMode::read, hs::AccessMode::read, hs::AccessMode::reduce}) {
        node.accesses.push_back({static_cast<std::uint32_t>(bytes.size()), mode, nullptr});
        bytes.push_back(n * n * sizeof(double));
        made.homes.push_back(k % ranks);
      }
      made.on.push_back(beginning(k, tasks, ranks, skew));
    }
  };
  add(sizes.small, sizes.small_tasks);
  add(sizes.large, sizes.large_tasks);
  made.graph = hs::TaskGraph(std::move(nodes), std::move(bytes));
  return made;
}

} // namespace arafat2016
