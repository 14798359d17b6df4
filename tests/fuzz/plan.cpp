// SPDX-License-Identifier: MIT
#include <hetsched/plans/static_plan_json.hpp>

#include "fuzz.hpp"

#include <vector>

void fuzz::read(std::string const& input) {
  auto const plan = metered(input.size(), [&] { return hetsched::parse_plan(input, "FILE"); });
  require(hetsched::parse_plan(hetsched::plan_text(plan), "FILE") == plan,
          "what is written is not read back");
  std::vector<hetsched::TaskGraph::Node> nodes(3);
  for (auto& node : nodes) {
    node.type = "step";
    node.accesses.push_back({0, hetsched::AccessMode::read_write, nullptr});
  }
  hetsched::check_plan(plan, hetsched::TaskGraph(std::move(nodes), {8}), plan.workers);
}
