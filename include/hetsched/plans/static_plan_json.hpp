// SPDX-License-Identifier: MIT
#pragma once
// Static schedules in files; docs/static_schedules.md has the format. Needs nlohmann-json.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/plans/static_plan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace hetsched {

namespace detail {

/// Sixteen hexadecimal digits.
[[nodiscard]] inline std::string digest_text(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

[[nodiscard]] inline std::uint64_t read_digest(JsonValue const& value) {
  auto const text = value.text();
  auto const is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 16 || !std::all_of(text.begin(), text.end(), is_digit)) {
    value.refuse("is not 16 hexadecimal digits");
  }
  return std::strtoull(text.c_str(), nullptr, 16);
}

/// Makes a plan of a file's value. What needs the graph to be known, check_plan looks at.
[[nodiscard]] inline StaticPlan read_plan_value(JsonValue const& root, std::string const& name) {
  constexpr std::uint64_t most_workers = 1'000'000;
  constexpr std::uint64_t most_tasks = 100'000'000;
  root.only({"format", "description", "platform", "workers", "graph", "makespan_s", "steps"});
  if (root["format"].text() != "schedule-1") {
    root["format"].refuse("is not \"schedule-1\"");
  }
  StaticPlan plan;
  plan.name = name;
  if (auto const platform = root.find("platform")) {
    plan.platform = platform->text();
  }
  for (auto const& group : root["workers"].elements()) {
    auto const pair = group.elements(2);
    Arch const arch{static_cast<std::uint8_t>(pair[0].integer(0, max_archs - 1))};
    auto const count = pair[1].integer(1, most_workers - plan.workers.size());
    plan.workers.insert(plan.workers.end(), static_cast<std::size_t>(count), arch);
  }
  if (plan.workers.empty()) {
    root["workers"].refuse("are none");
  }
  auto const graph = root["graph"];
  graph.only({"tasks", "digest"});
  plan.tasks = static_cast<std::size_t>(graph["tasks"].integer(0, most_tasks));
  if (auto const digest = graph.find("digest")) {
    plan.graph = read_digest(*digest);
  }
  if (auto const makespan = root.find("makespan_s")) {
    plan.makespan = makespan->seconds(0);
  }
  for (auto const& step : root["steps"].elements()) {
    if (plan.tasks == 0) {
      step.refuse("is a task, and the graph has none");
    }
    auto const pair = step.elements(2);
    plan.steps.push_back(
        {static_cast<std::uint32_t>(pair[0].integer(0, plan.tasks - 1)),
         WorkerId{static_cast<std::int32_t>(pair[1].integer(0, plan.workers.size() - 1))}});
  }
  if (plan.steps.size() != plan.tasks) {
    root["steps"].refuse("are " + std::to_string(plan.steps.size()) + ", of a graph of " +
                         std::to_string(plan.tasks) + " tasks");
  }
  return plan;
}

} // namespace detail

/// The plan that `text` describes. `file`: what errors, also check_plan's, call it. Throws
/// Error(bad_input) for what is not such a file; whether it fits a graph is check_plan's to say.
[[nodiscard]] inline StaticPlan parse_plan(std::string const& text, std::string const& file) {
  auto const json = detail::parse_json(text, file);
  return detail::read_plan_value(detail::JsonValue(json, file, ""), file);
}

/// The same of a file.
[[nodiscard]] inline StaticPlan read_plan(std::string const& path) {
  return parse_plan(detail::read_text_file(path), path);
}

/// What read_plan reads.
[[nodiscard]] inline std::string plan_text(StaticPlan const& plan) {
  nlohmann::ordered_json head;
  head["format"] = "schedule-1";
  if (!plan.platform.empty()) {
    head["platform"] = plan.platform;
  }
  auto& workers = head["workers"] = nlohmann::ordered_json::array();
  for (std::size_t w = 0; w < plan.workers.size(); ++w) {
    if (w == 0 || plan.workers[w] != plan.workers[w - 1]) {
      workers.push_back(nlohmann::ordered_json::array({plan.workers[w].index, 0}));
    }
    workers.back()[1] = workers.back()[1].get<int>() + 1;
  }
  head["graph"]["tasks"] = plan.tasks;
  if (plan.graph != 0) {
    head["graph"]["digest"] = detail::digest_text(plan.graph);
  }
  if (plan.makespan.ns != 0) {
    head["makespan_s"] = plan.makespan.seconds();
  }
  auto text = head.dump();
  text.resize(text.rfind('}'));
  text += ",\n\"steps\": [";
  char const* separator = "\n";
  for (auto const& [task, worker] : plan.steps) {
    text += separator;
    text += '[' + std::to_string(task) + ", " + std::to_string(worker.value) + ']';
    separator = ",\n";
  }
  return text + "\n]}\n";
}

/// To a file. Throws Error(bad_input) naming it if it cannot be written.
inline void write_plan(StaticPlan const& plan, std::string const& path) {
  detail::replace_file(path, plan_text(plan));
}

} // namespace hetsched
