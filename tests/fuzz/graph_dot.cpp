// SPDX-License-Identifier: MIT
#include <hetsched/graphs/graph_dot.hpp>

#include "graph.hpp"

void fuzz::read(std::string const& input) {
  auto const named = metered(input.size(), [&] { return hetsched::parse_dot(input, "FILE"); });
  check_graph(named.graph);
}
