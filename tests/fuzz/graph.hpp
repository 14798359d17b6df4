// SPDX-License-Identifier: MIT
#pragma once
// What holds of each graph.

#include <hetsched/graphs/task_graph.hpp>

#include "fuzz.hpp"

namespace fuzz {

inline void check_graph(hetsched::TaskGraph const& graph) {
  for (std::size_t u = 0; u < graph.size(); ++u) {
    require(!graph.nodes()[u].type.empty(), "a task without a type");
    for (auto const v : graph.successors(u)) {
      require(u < v && v < graph.size(), "an edge that leads back");
    }
    for (auto const& access : graph.nodes()[u].accesses) {
      require(access.data < graph.data_bytes().size(), "no such datum");
    }
  }
}

} // namespace fuzz
