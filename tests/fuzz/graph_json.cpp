// SPDX-License-Identifier: MIT
#include <hetsched/graphs/graph_json.hpp>

#include "graph.hpp"

void fuzz::read(std::string const& input) {
  auto const named = metered(input.size(), [&] { return hetsched::parse_graph(input, "FILE"); });
  check_graph(named.graph);
  auto const text = hetsched::graph_text(named.graph);
  require(hetsched::graph_text(hetsched::parse_graph(text, "FILE").graph) == text,
          "what is written is not read back");
}
