// SPDX-License-Identifier: MIT
#include <hetsched/graphs/graph_dot.hpp>

#include "../support/best_schedule.hpp"
#include "../support/mutations.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace hs = hetsched;
using schedules::Edges;
using schedules::edges_of;

namespace graph_dot_test {

char const* const small = R"(# made by hand
strict digraph "a graph" {
  rankdir = LR; graph [label="not a task"]
  node [type=gemm, shape=box] edge [bytes=8; style=dashed]
  last [label="the end", type="", priority=-3];  // comes first here
  "first one":port:n -> b -> last [bytes=16] [color="red"]
  "first one" [type=potrf label="L\"11\""]
  /* two edges at once */
  "first one" -> c:s -> last
  .5 -> -7
})";

TEST_SUITE_BEGIN("graph_dot");

TEST_CASE("dot file: tasks, edges, and what holds for all") {
  auto const named = hs::parse_dot(small, "FILE");
  auto const& graph = named.graph;
  REQUIRE(graph.size() ==
          6); // first one, b, c, last, .5, -7: as the edges ask, else as in the file
  auto const& nodes = graph.nodes();
  CHECK(nodes[0].type == "potrf");
  CHECK(nodes[0].label == "L\"11\"");
  CHECK(nodes[1].type == "gemm");
  CHECK(nodes[1].label == "b");
  CHECK(nodes[3].type == "the end");
  CHECK(nodes[3].priority == -3);
  CHECK(nodes[3].label == "last");
  CHECK(nodes[4].label == ".5");
  CHECK(edges_of(graph) == Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {4, 5}});
  CHECK(std::vector<std::size_t>(graph.data_bytes().begin(), graph.data_bytes().end()) ==
        std::vector<std::size_t>{16, 16, 8, 8, 8});
  CHECK(hs::parse_dot("digraph{}", "FILE").graph.size() == 0);
  CHECK(hs::parse_dot("DiGraph G { a\nb; a -> b\n a->b }", "FILE").graph.successors(0).size() == 1);
}

TEST_CASE("dot file: what is wrong is said, and in which line") {
  for (auto const& [what, by, error] : std::vector<WrongFile>{
           {"digraph", "graph", "line 2: is no 'digraph'"},
           {"-> b", "-- b", "line 6: '--': the edges of a task graph have a direction"},
           {"-> b", "-> {b c}", "line 6: a name is missing before '{'"},
           {"-> b", "-> \"first one\"", "line 6: task 'first one' comes after itself"},
           {"/* two", "subgraph x {} /* two", "line 8: subgraphs are not read"},
           {"/* two", "last -> b /* two", "task 'last' comes after itself, by way of others"},
           {"bytes=16", "bytes=-1", "bytes '-1' is no whole number from 0 to"},
           {"priority=-3", "priority=3000000000", "line 5: priority '3000000000' is no whole"},
           {"priority=-3", "priority", "line 5: '=' is missing before ']'"},
           {"\"red\"", "<b>red</b>", "line 6: '<': labels in HTML are not read"},
           {"-> -7", "-> \"7", "line 10: a string does not end"},
           {"-> -7", "-> \"\"", "line 11: the name of a task is empty"},
           {"at once */", "at once", "line 8: a comment does not end"},
           {"\n})", "\n", "line 11: a name is missing before the end"},
           {"\n}", "\n} x", "line 11: there is something behind the graph"},
           {"rankdir", "@", "line 3: there is a character that does not belong here"},
       }) {
    CAPTURE(what);
    CAPTURE(by);
    std::string const original = small;
    std::string const wanted = what;
    auto const got = error_of(hs::parse_dot,
                              wanted == "\n})" ? original.substr(0, original.size() - 1)
                                               : replaced(original, wanted, by));
    CHECK_MESSAGE(got.find(error) != std::string::npos, got);
  }
}

TEST_CASE("dot file: what holds for all tasks is kept once") {
  std::string const text(100'000, 'x');
  std::string dot = "digraph { node [type=a label=\"" + text + "\"]\n";
  for (int k = 0; k < 1000; ++k) {
    dot += std::to_string(k) + " node [priority=" + std::to_string(k) + "]\n"; // from the next on
  }
  auto const named = hs::parse_dot(dot + "last [label=own] }", "FILE");
  auto const& nodes = named.graph.nodes();
  REQUIRE(nodes.size() == 1001);
  CHECK(nodes[7].label == "7"); // a label that all tasks have says nothing of one
  CHECK(nodes[7].type == "a");
  CHECK(nodes[7].priority == 6);
  CHECK(nodes[1000].label == "own");
  CHECK(hs::parse_dot("digraph { node [label=\"" + text + "\"] a b }", "FILE")
            .graph.nodes()[1]
            .type == text);
}

TEST_CASE("dot file: errors are one line, whatever is in the file") {
  using namespace std::string_literals;
  CHECK(error_of(hs::parse_dot, "digraph { \"a\nb\x01\0c\" = ; }"s) ==
        "hetsched: FILE: line 2: a name is missing before ';'");
  CHECK(error_of(hs::parse_dot, "digraph { edge [bytes=\"1\0x\x02\"] }"s) ==
        "hetsched: FILE: line 1: bytes '1?x?' is no whole number from 0 to 1125899906842624");
  std::string const name(1'000'000, 'x');
  CHECK(error_of(hs::parse_dot, "digraph { " + name + " -> " + name + " }").size() < 200);
}

TEST_CASE("dot file: mutated files are refused or make sense") {
  auto const accepted = try_mutations(small, [](std::string const& text) {
    auto const named = hs::parse_dot(text, "FILE");
    auto const& graph = named.graph;
    for (std::size_t u = 0; u < graph.size(); ++u) {
      REQUIRE(!graph.nodes()[u].type.empty());
      for (auto const v : graph.successors(u)) {
        REQUIRE(u < v);
        REQUIRE(v < graph.size());
      }
    }
  });
  CHECK(accepted > 0);
}

TEST_SUITE_END();

} // namespace graph_dot_test
