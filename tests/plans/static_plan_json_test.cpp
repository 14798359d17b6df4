// SPDX-License-Identifier: MIT
#include <hetsched/plans/static_plan_json.hpp>

#include "../support/mutations.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hs = hetsched;
using hs::WorkerId;

namespace static_plan_json_test {

char const* const small = R"({
  "format": "schedule-1",
  "description": "for tests",
  "platform": "paper",
  "workers": [[0, 2], [1, 1]],
  "graph": {"tasks": 3, "digest": "00000000deadbeef"},
  "makespan_s": 0.25,
  "steps": [[0, 2], [2, 0], [1, 2]]
})";

TEST_SUITE_BEGIN("static_plan_json");

TEST_CASE("schedule file: what is in it") {
  auto const plan = hs::parse_plan(small, "FILE");
  CHECK(plan.name == "FILE");
  CHECK(plan.platform == "paper");
  CHECK(plan.workers == std::vector<hs::Arch>{hs::ArchHost, hs::ArchHost, hs::ArchCUDA});
  CHECK(plan.tasks == 3);
  CHECK(plan.graph == 0xdeadbeefU);
  CHECK(plan.makespan.ns == 250'000'000);
  CHECK(plan.steps ==
        std::vector<hs::StaticPlan::Step>{{0, WorkerId{2}}, {2, WorkerId{0}}, {1, WorkerId{2}}});
}

TEST_CASE("schedule file: what is written is read back") {
  auto const plan = hs::parse_plan(small, "FILE");
  CHECK(hs::parse_plan(hs::plan_text(plan), "FILE") == plan);
  auto least = plan;
  least.platform.clear();
  least.graph = 0;
  least.makespan = {};
  CHECK(hs::parse_plan(hs::plan_text(least), "FILE") == least);
  least.tasks = 0;
  least.steps.clear();
  CHECK(hs::parse_plan(hs::plan_text(least), "FILE") == least);
}

TEST_CASE("schedule file: what is wrong is said, with its place") {
  auto const error = [](std::string const& what, std::string const& by) {
    return error_of(hs::parse_plan, replaced(small, what, by));
  };
  CHECK(error("schedule-1", "schedule-2") == "hetsched: FILE: /format: is not \"schedule-1\"");
  CHECK(error("\"steps\"", "\"step\"") == "hetsched: FILE: /: 'step' is not known here");
  CHECK(error("[0, 2], [1, 1]", "") == "hetsched: FILE: /workers: are none");
  CHECK(error("[0, 2]", "[0, 0]") == "hetsched: FILE: /workers/0/1: is 0, not from 1 to 1000000");
  CHECK(error("[1, 1]", "[8, 1]") == "hetsched: FILE: /workers/1/0: is 8, not from 0 to 7");
  CHECK(error("deadbeef", "deadbee") ==
        "hetsched: FILE: /graph/digest: is not 16 hexadecimal digits");
  CHECK(error("\"tasks\": 3", "\"tasks\": 4") ==
        "hetsched: FILE: /steps: are 3, of a graph of 4 tasks");
  CHECK(error("[2, 0]", "[3, 0]") == "hetsched: FILE: /steps/1/0: is 3, not from 0 to 2");
  CHECK(error("[2, 0]", "[2, 3]") == "hetsched: FILE: /steps/1/1: is 3, not from 0 to 2");
  CHECK(error("[2, 0]", "[2]") == "hetsched: FILE: /steps/1: has 1 elements, not 2");
  CHECK(error("\"tasks\": 3", "\"tasks\": 0") ==
        "hetsched: FILE: /steps/0: is a task, and the graph has none");
  CHECK_THROWS_WITH_AS((void)hs::read_plan("/nowhere/at/all"),
                       "hetsched: /nowhere/at/all: cannot be read",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::write_plan(hs::parse_plan(small, "FILE"), "/nowhere/at/all"),
                       "hetsched: /nowhere/at/all: cannot be written: No such file or directory",
                       hs::Error);
}

TEST_CASE("schedule file: one that somebody spoilt is refused in a line, or taken") {
  // And whatever is taken can be held against a graph.
  std::vector<hs::TaskGraph::Node> nodes(3);
  for (auto& node : nodes) {
    node.type = "step";
    node.accesses.push_back({0, hs::AccessMode::read_write, nullptr});
  }
  hs::TaskGraph const graph(std::move(nodes), {8});
  auto const accepted = try_mutations(small, [&](std::string const& text) {
    auto const plan = hs::parse_plan(text, "FILE");
    hs::check_plan(plan, graph, plan.workers);
  });
  auto const original = replaced(small, "\"00000000deadbeef\"", "null");
  CHECK(accepted == 0); // of the original's digest no such graph is
  auto const fitting = replaced(replaced(original, "[2, 0]", "[1, 0]"), "[1, 2]", "[2, 2]");
  CHECK(try_mutations(fitting, [&](std::string const& text) {
          auto const plan = hs::parse_plan(text, "FILE");
          hs::check_plan(plan, graph, plan.workers);
        }) > 10);
}

} // namespace static_plan_json_test
