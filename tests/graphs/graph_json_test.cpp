// SPDX-License-Identifier: MIT
#include <hetsched/graphs/graph_json.hpp>

#include "../support/best_schedule.hpp"
#include "../support/mutations.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace hs = hetsched;
using hs::AccessMode;
using schedules::Edges;
using schedules::edges_of;

namespace graph_json_test {

char const* const small = R"({
  "format": "graph-1",
  "description": "for tests",
  "data": [8, 16, 0],
  "tasks": [
    {"type": "init", "accesses": [[0, "W"]]},
    {"type": "add", "label": "first", "priority": -3, "accesses": [[0, "R"], [1, "CW", "sum"]]},
    {"type": "add", "accesses": [[0, "R"], [1, "CW", "sum"]]},
    {"type": "add", "accesses": [[2, "Commute"], [1, "CW", "max"]]},
    {"type": "use", "accesses": [[1, "RW"]], "after": [0]},
    {"type": "end", "after": [0, 2, 4]}
  ]
})";

TEST_SUITE_BEGIN("graph_json");

TEST_CASE("graph file: tasks, their accesses, and what follows from them") {
  auto const named = hs::parse_graph(small, "FILE");
  auto const& graph = named.graph;
  REQUIRE(graph.size() == 6);
  CHECK(graph.nodes()[1].type == "add");
  CHECK(graph.nodes()[1].label == "first");
  CHECK(graph.nodes()[1].priority == -3);
  CHECK(graph.data_bytes()[1] == 16);
  auto const& sum = graph.nodes()[1].accesses[1];
  CHECK(sum.mode == AccessMode::reduce);
  CHECK(sum.reduction == graph.nodes()[2].accesses[1].reduction);
  CHECK(sum.reduction != graph.nodes()[3].accesses[1].reduction);
  CHECK(edges_of(graph) ==
        Edges{{0, 1}, {0, 2}, {0, 4}, {0, 5}, {1, 3}, {2, 3}, {2, 5}, {3, 4}, {4, 5}});
}

TEST_CASE("graph file: what is written is read back") {
  auto const named = hs::parse_graph(small, "FILE");
  auto const again = hs::parse_graph(hs::graph_text(named.graph), "AGAIN");
  auto const& a = named.graph;
  auto const& b = again.graph;
  REQUIRE(a.size() == b.size());
  CHECK(edges_of(a) == edges_of(b));
  for (std::size_t v = 0; v < a.size(); ++v) {
    CHECK(a.nodes()[v].type == b.nodes()[v].type);
    CHECK(a.nodes()[v].label == b.nodes()[v].label);
    CHECK(a.nodes()[v].priority == b.nodes()[v].priority);
    REQUIRE(a.nodes()[v].accesses.size() == b.nodes()[v].accesses.size());
    for (std::size_t k = 0; k < a.nodes()[v].accesses.size(); ++k) {
      CHECK(a.nodes()[v].accesses[k].data == b.nodes()[v].accesses[k].data);
      CHECK(a.nodes()[v].accesses[k].mode == b.nodes()[v].accesses[k].mode);
    }
  }
  CHECK(hs::graph_text(a) == hs::graph_text(b));
  auto const empty = hs::parse_graph(hs::graph_text(hs::TaskGraph()), "EMPTY");
  CHECK(empty.graph.size() == 0);
}

TEST_CASE("graph file: what is wrong is said, and where") {
  check_wrong_files(
      hs::parse_graph,
      small,
      {
          {"graph-1", "graph-2", "/format: is not \"graph-1\""},
          {"\"data\"", "\"date\"", "/: 'date' is not known here"},
          {"[8, 16, 0]", "[8, -1, 0]", "/data/1: is -1, not from 0"},
          {"[8, 16, 0]", "[]", "/tasks/0/accesses/0: names a datum, and there are none"},
          {"[0, \"W\"]", "[3, \"W\"]", "/tasks/0/accesses/0/0: is 3, not from 0 to 2"},
          {"[0, \"W\"]", "[0, \"X\"]", "/tasks/0/accesses/0/1: is none of R, W, RW, CW, Commute"},
          {"[0, \"W\"]", "[0]", "/tasks/0/accesses/0: is not [datum, mode]"},
          {"[0, \"W\"]", "[0, \"CW\"]", "/tasks/0/accesses/0: CW, and nothing else, needs"},
          {"[0, \"W\"]", "[0, \"W\"], [0, \"R\"]", "/tasks/0/accesses/1: names a datum that this"},
          {"-3", "3000000000", "/tasks/1/priority: is 3000000000, not from -2147483648 to"},
          {"-3", "1.5", "/tasks/1/priority: is no whole number"},
          {"\"init\"", "\"\"", "/tasks/0/type: is empty"},
          {"\"after\": [0]", "\"after\": [4]", "/tasks/4/after/0: is 4, not from 0 to 3"},
          {"[0, 2, 4]", "[0, 2, 0]", "/tasks/5/after/2: is there already"},
          {"\"type\": \"use\"", "\"typ\": \"use\"", "/tasks/4: 'typ' is not known here"},
          {"\"tasks\"", "\"data\"", "a key comes twice: \"data\""},
      });
}

TEST_CASE("graph file: mutated files are refused or make sense") {
  auto const accepted = try_mutations(small, [](std::string const& text) {
    auto const named = hs::parse_graph(text, "FILE");
    auto const& graph = named.graph;
    for (std::size_t u = 0; u < graph.size(); ++u) {
      for (auto const& access : graph.nodes()[u].accesses) {
        REQUIRE(access.data < graph.data_bytes().size());
      }
      for (auto const v : graph.successors(u)) {
        REQUIRE(u < v);
        REQUIRE(v < graph.size());
      }
    }
  });
  CHECK(accepted > 0);
}

TEST_CASE("graph file: dependencies are limited, where few accesses make many") {
  auto const graph = [](int readers, int others) {
    std::string text = R"({"format": "graph-1", "data": [8], "tasks": [)";
    for (int k = 0; k < readers + others; ++k) {
      text += std::string(k == 0 ? "" : ",") + R"({"type": "a", "accesses": [[0, ")" +
              (k < readers ? "R" : "Commute") + "\"]]}";
    }
    return text + "]}";
  };
  CHECK(hs::parse_graph(graph(300, 300), "FILE").graph.predecessor_count(599) == 300);
  CHECK(error_of(hs::parse_graph, graph(5900, 5900)) ==
        "hetsched: FILE: /: has more dependencies than 33554432 and 16 for each access");
  CHECK(hs::parse_graph(graph(1, 100'000), "FILE").graph.size() == 100'001);
}

TEST_SUITE_END();

} // namespace graph_json_test
