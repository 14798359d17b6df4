// SPDX-License-Identifier: MIT

#include "claims.hpp"

#include <hetsched/detail/json_file.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace lima2015 {

namespace {

using hetsched::detail::JsonValue;

constexpr std::array strategies{
    "ws", "dataaware", "locality", "heft", "ws+setarch", "dataaware+setarch", "locality+setarch"};
constexpr std::array workloads{"saxpy", "jacobi", "cholesky", "lu"};
constexpr std::array metrics{
    "time", "speed", "speedup", "gflops", "bytes", "gigabytes", "hit_percent"};
constexpr std::array<std::pair<std::string_view, Rule::Kind>, 9> kinds{
    {{"order", Rule::Kind::order},
     {"similar", Rule::Kind::similar},
     {"change", Rule::Kind::change},
     {"value", Rule::Kind::number},
     {"best", Rule::Kind::best},
     {"not_worst", Rule::Kind::not_worst},
     {"scaling", Rule::Kind::scaling},
     {"growth", Rule::Kind::growth},
     {"larger_change", Rule::Kind::larger_change}}};

template <class Names>
std::string one_of(JsonValue const& value, Names const& names) {
  auto const text = value.text();
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    std::string known;
    for (auto const* const name : names) {
      known += std::string(known.empty() ? "" : ", ") + name;
    }
    value.refuse("is none of " + known);
  }
  return text;
}

std::vector<std::string> names_in(JsonValue const& value) {
  std::vector<std::string> names;
  for (auto const& name : value.elements()) {
    names.push_back(one_of(name, strategies));
  }
  if (names.empty()) {
    value.refuse("is empty");
  }
  return names;
}

/// A number, or an array of some.
std::vector<std::uint64_t> numbers_in(JsonValue const& value, std::uint64_t most) {
  std::vector<std::uint64_t> numbers;
  if (!value.is_array()) {
    return {value.integer(1, most)};
  }
  for (auto const& number : value.elements()) {
    numbers.push_back(number.integer(1, most));
  }
  return numbers;
}

/// Every n with every number of GPUs, for each element.
std::vector<Point> points_in(JsonValue const& value) {
  std::vector<Point> points;
  for (auto const& set : value.elements()) {
    set.only({"n", "gpus"});
    for (auto const n : numbers_in(set["n"], 1'000'000'000)) {
      for (auto const gpus : numbers_in(set["gpus"], 1000)) {
        points.push_back({n, static_cast<int>(gpus)});
      }
    }
  }
  if (points.empty()) {
    value.refuse("is empty");
  }
  return points;
}

void read_strategies(JsonValue const& value, Rule& rule) {
  using enum Rule::Kind;
  switch (rule.kind) {
  case order:
    rule.of = names_in(value["better"]);
    rule.against = names_in(value["worse"]);
    break;
  case change:
  case larger_change:
    rule.of = {one_of(value["of"], strategies)};
    rule.against = {one_of(value["over"], strategies)};
    break;
  case best:
  case not_worst:
    rule.of = {one_of(value["of"], strategies)};
    rule.against = names_in(value["among"]);
    break;
  case similar:
  case number:
  case scaling:
  case growth:
    rule.of = names_in(value["of"]);
    break;
  }
}

void read_numbers(JsonValue const& value, Rule& rule) {
  constexpr double most = 1e15;
  using enum Rule::Kind;
  switch (rule.kind) {
  case order:
  case similar:
    rule.share = value["share"].number(0.01, 1);
    if (rule.kind == similar) {
      rule.within = value["within_percent"].number(0, most);
    }
    break;
  case change:
    rule.published = value["published"].number(-100, most);
    rule.within = value["within"].number(0, most);
    break;
  case number:
    rule.published = value["published"].number(0, most);
    if (auto const percent = value.find("within_percent")) {
      rule.within = percent->number(0, most) / 100 * rule.published;
    } else {
      rule.within = value["within"].number(0, most);
    }
    break;
  case scaling:
    if (auto const low = value.find("at_least")) {
      rule.at_least = low->number(0, most);
    }
    if (auto const high = value.find("below")) {
      rule.below = high->number(0, most);
    }
    if (!rule.at_least && !rule.below) {
      value.refuse("has neither 'at_least' nor 'below'");
    }
    break;
  case larger_change:
    rule.than = one_of(value["than"], workloads);
    break;
  case best:
  case not_worst:
  case growth:
    break;
  }
}

Rule rule_in(JsonValue const& value) {
  value.only({"kind",
              "metric",
              "of",
              "over",
              "among",
              "better",
              "worse",
              "than",
              "published",
              "within",
              "within_percent",
              "share",
              "at_least",
              "below"});
  Rule rule;
  auto const kind = value["kind"].text();
  auto const found =
      std::find_if(kinds.begin(), kinds.end(), [&](auto const& its) { return its.first == kind; });
  if (found == kinds.end()) {
    value["kind"].refuse("is no kind of rule");
  }
  rule.kind = found->second;
  rule.metric = rule.kind == Rule::Kind::scaling ? "speed" : one_of(value["metric"], metrics);
  read_strategies(value, rule);
  read_numbers(value, rule);
  return rule;
}

/// What its rule needs of the points and of the workload.
void check_points(JsonValue const& value, Claim const& claim) {
  auto const& at = claim.at;
  using enum Rule::Kind;
  auto const kind = claim.rule->kind;
  bool const one_point =
      kind == change || kind == Rule::Kind::number || kind == not_worst || kind == larger_change;
  if (one_point && at.size() != 1) {
    value["at"].refuse("has " + std::to_string(at.size()) + " points, not 1");
  }
  if ((kind == scaling || kind == growth) && at.size() < 2) {
    value["at"].refuse("has one point only");
  }
  auto const& metric = claim.rule->metric;
  bool const factorises = claim.workload == "cholesky" || claim.workload == "lu";
  if ((metric == "speedup" && claim.workload != "saxpy") || (metric == "gflops" && !factorises)) {
    value["rule"].refuse("asks for " + metric + " of " + claim.workload);
  }
}

Claim claim_in(JsonValue const& value) {
  value.only({"id", "section", "workload", "says", "not_testable", "rule", "at"});
  Claim claim;
  claim.id = value["id"].text();
  claim.section = value["section"].text();
  claim.workload = one_of(value["workload"], workloads);
  claim.says = value["says"].text();
  if (auto const why = value.find("not_testable")) {
    claim.not_testable = why->text();
  }
  if (!claim.not_testable || value.find("rule")) {
    claim.rule = rule_in(value["rule"]);
    claim.at = points_in(value["at"]);
    check_points(value, claim);
  }
  return claim;
}

Workload workload_in(JsonValue const& value, std::string const& name) {
  value.only({"precision", "tile", "sweeps", "about"});
  Workload its;
  its.precision = one_of(value["precision"], std::array{"single", "double"}) == "single"
                      ? hetsched::Precision::single_precision
                      : hetsched::Precision::double_precision;
  its.tile = value["tile"].integer(1, 100'000'000);
  if (name == "jacobi") {
    its.sweeps = value["sweeps"].integer(1, 10'000);
  }
  return its;
}

Memory memory_in(JsonValue const& value) {
  value.only({"gpu_bytes_per_s",
              "gpu_source",
              "core_bytes_per_s",
              "core_source",
              "host_bytes_per_s",
              "host_source"});
  constexpr double least = 1e6;
  constexpr double most = 1e15;
  return {value["gpu_bytes_per_s"].number(least, most),
          value["core_bytes_per_s"].number(least, most),
          value["host_bytes_per_s"].number(least, most)};
}

} // namespace

std::vector<Configuration> Claim::configurations() const {
  std::vector<Configuration> all;
  if (rule) {
    for (auto const& point : at) {
      for (auto const* const names : {&rule->of, &rule->against}) {
        for (auto const& name : *names) {
          all.push_back({workload, point, name});
          if (!rule->than.empty()) {
            all.push_back({rule->than, point, name});
          }
        }
      }
    }
  }
  return all;
}

Claims read_claims(std::string const& path) {
  auto const json = hetsched::detail::parse_json(hetsched::detail::read_text_file(path), path);
  JsonValue const root(json, path, "");
  root.only({"format", "paper", "notes", "window", "workloads", "memory", "claims"});
  if (root["format"].text() != "claims-1") {
    root["format"].refuse("is not \"claims-1\"");
  }
  Claims claims;
  claims.window = static_cast<int>(root["window"].integer(1, 1024));
  auto const those = root["workloads"];
  those.only({"saxpy", "jacobi", "cholesky", "lu"});
  for (auto const* const name : workloads) {
    claims.workloads[name] = workload_in(those[name], name);
  }
  claims.memory = memory_in(root["memory"]);
  for (auto const& value : root["claims"].elements()) {
    auto claim = claim_in(value);
    auto const same = [&](Claim const& its) { return its.id == claim.id; };
    if (std::any_of(claims.all.begin(), claims.all.end(), same)) {
      value["id"].refuse("is an earlier claim's");
    }
    claims.all.push_back(std::move(claim));
  }
  return claims;
}

} // namespace lima2015
