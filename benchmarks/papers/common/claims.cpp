// SPDX-License-Identifier: MIT

#include "claims.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace papers {

namespace {

using hetsched::detail::JsonValue;
using Names = std::vector<std::string>;

constexpr double greatest = 1e15;

constexpr std::array<std::pair<std::string_view, Rule::Kind>, 11> kinds{
    {{"order", Rule::Kind::order},
     {"similar", Rule::Kind::similar},
     {"change", Rule::Kind::change},
     {"value", Rule::Kind::number},
     {"table", Rule::Kind::table},
     {"limit", Rule::Kind::limit},
     {"best", Rule::Kind::best},
     {"not_worst", Rule::Kind::not_worst},
     {"scaling", Rule::Kind::scaling},
     {"growth", Rule::Kind::growth},
     {"larger_change", Rule::Kind::larger_change}}};

bool has(Names const& names, std::string const& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The text. It must be one of the names.
std::string one_of(JsonValue const& value, Names const& names) {
  auto const text = value.text();
  if (!has(names, text)) {
    std::string known;
    for (auto const& name : names) {
      known += (known.empty() ? "" : ", ") + name;
    }
    value.refuse("is none of " + known);
  }
  return text;
}

/// The names of all.
Names names_of(auto const& all) {
  Names names;
  for (auto const& one : all) {
    names.push_back(one.name);
  }
  return names;
}

/// The one with this name. It must be there.
auto const& named(auto const& all, std::string const& name) {
  return *std::find_if(all.begin(), all.end(), [&](auto const& one) { return one.name == name; });
}

Names names_in(JsonValue const& value, Names const& known) {
  Names names;
  for (auto const& name : value.elements()) {
    names.push_back(one_of(name, known));
  }
  if (names.empty()) {
    value.refuse("is empty");
  }
  return names;
}

/// A number, or an array of at least one number.
std::vector<std::size_t> numbers_in(JsonValue const& value, std::size_t least) {
  constexpr std::uint64_t largest = 1'000'000'000;
  if (!value.is_array()) {
    return {value.integer(least, largest)};
  }
  std::vector<std::size_t> numbers;
  for (auto const& number : value.elements()) {
    numbers.push_back(number.integer(least, largest));
  }
  return numbers;
}

/// For each element: all combinations of the numbers of its axes.
std::vector<Point> points_in(JsonValue const& value, Vocabulary::Workload const& workload) {
  using Numbers = std::map<std::string, std::size_t>;
  std::vector<Point> points;
  for (auto const& set : value.elements()) {
    set.each_member([&](std::string const& key, JsonValue const& member) {
      if (!has(workload.axes, key)) {
        member.refuse("is no number of this workload's points");
      }
    });
    std::vector<Numbers> those{{}};
    for (auto const& axis : workload.axes) {
      std::vector<Numbers> longer;
      for (auto const& before : those) {
        for (auto const number : numbers_in(set[axis.c_str()], workload.least)) {
          longer.push_back(before);
          longer.back()[axis] = number;
        }
      }
      those = std::move(longer);
    }
    for (auto& numbers : those) {
      points.emplace_back(std::move(numbers));
    }
  }
  if (points.empty()) {
    value.refuse("is empty");
  }
  return points;
}

void read_strategies(JsonValue const& value, Names const& strategies, Rule& rule) {
  using enum Rule::Kind;
  switch (rule.kind) {
  case order:
    rule.of = names_in(value["better"], strategies);
    rule.against = names_in(value["worse"], strategies);
    break;
  case change:
  case larger_change:
    rule.of = {one_of(value["of"], strategies)};
    rule.against = {one_of(value["over"], strategies)};
    break;
  case best:
  case not_worst:
    rule.of = {one_of(value["of"], strategies)};
    rule.against = names_in(value["among"], strategies);
    break;
  case table:
    rule.of = {one_of(value["of"], strategies)};
    break;
  case similar:
  case number:
  case limit:
  case scaling:
  case growth:
    rule.of = names_in(value["of"], strategies);
    break;
  }
}

void read_limits(JsonValue const& value, Rule& rule) {
  if (auto const low = value.find("at_least")) {
    rule.at_least = low->number(-greatest, greatest);
  }
  if (auto const high = value.find("below")) {
    rule.below = high->number(-greatest, greatest);
  }
  if (!rule.at_least && !rule.below) {
    value.refuse("has neither 'at_least' nor 'below'");
  }
}

void read_table(JsonValue const& value, Rule& rule) {
  for (auto const& number : value["published"].elements()) {
    rule.table.push_back(number.number(-greatest, greatest));
  }
  auto const percent = value.find("within_percent");
  rule.within_percent = percent.has_value();
  rule.within = percent ? percent->number(0, greatest) : value["within"].number(0, greatest);
}

void read_numbers(JsonValue const& value, Names const& workloads, Rule& rule) {
  using enum Rule::Kind;
  if (rule.kind == order || rule.kind == similar || rule.kind == table || rule.kind == limit) {
    rule.share = value["share"].number(0.01, 1);
  }
  switch (rule.kind) {
  case similar:
    rule.within = value["within_percent"].number(0, greatest);
    break;
  case change:
    rule.published = value["published"].number(-100, greatest);
    rule.within = value["within"].number(0, greatest);
    break;
  case number:
    rule.published = value["published"].number(0, greatest);
    if (auto const percent = value.find("within_percent")) {
      rule.within = percent->number(0, greatest) / 100 * rule.published;
    } else {
      rule.within = value["within"].number(0, greatest);
    }
    break;
  case table:
    read_table(value, rule);
    break;
  case limit:
  case scaling:
    read_limits(value, rule);
    break;
  case larger_change:
    rule.than = one_of(value["than"], workloads);
    break;
  case order:
  case best:
  case not_worst:
  case growth:
    break;
  }
}

Rule rule_in(JsonValue const& value, Vocabulary const& words) {
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
  auto const found = std::find_if(
      kinds.begin(), kinds.end(), [&](auto const& known) { return known.first == kind; });
  if (found == kinds.end()) {
    value["kind"].refuse("is no kind of rule");
  }
  rule.kind = found->second;
  auto const metrics = names_of(words.metrics);
  if (rule.kind == Rule::Kind::scaling && !value.find("metric") && has(metrics, "speed")) {
    rule.metric = "speed";
  } else {
    rule.metric = one_of(value["metric"], metrics);
  }
  rule.more_is_better = named(words.metrics, rule.metric).more_is_better;
  read_strategies(value, words.strategies, rule);
  read_numbers(value, names_of(words.workloads), rule);
  return rule;
}

/// Checks that the points and the workload fit the rule.
void check_points(JsonValue const& value, Vocabulary const& words, Claim const& claim) {
  auto const count = claim.at.size();
  auto const& rule = *claim.rule;
  using enum Rule::Kind;
  auto const kind = rule.kind;
  bool const one_point =
      kind == change || kind == Rule::Kind::number || kind == not_worst || kind == larger_change;
  if (one_point && count != 1) {
    value["at"].refuse("has " + std::to_string(count) + " points, not 1");
  }
  if ((kind == scaling || kind == growth) && count < 2) {
    value["at"].refuse("has one point only");
  }
  if (kind == table && rule.table.size() != count) {
    value["rule"].refuse("publishes " + std::to_string(rule.table.size()) + " numbers for " +
                         std::to_string(count) + " points");
  }
  auto const& having = named(words.metrics, rule.metric).workloads;
  if (!having.empty() && !has(having, claim.workload)) {
    value["rule"].refuse("asks for " + rule.metric + " of " + claim.workload);
  }
}

Claim claim_in(JsonValue const& value, Vocabulary const& words) {
  value.only({"id", "section", "workload", "says", "not_testable", "rule", "at"});
  Claim claim;
  claim.id = value["id"].text();
  claim.section = value["section"].text();
  claim.workload = one_of(value["workload"], names_of(words.workloads));
  claim.says = value["says"].text();
  if (auto const why = value.find("not_testable")) {
    claim.not_testable = why->text();
  }
  if (!claim.not_testable || value.find("rule")) {
    auto const& workload = named(words.workloads, claim.workload);
    claim.rule = rule_in(value["rule"], words);
    claim.at = workload.axes.empty() ? std::vector<Point>(1) : points_in(value["at"], workload);
    check_points(value, words, claim);
  }
  return claim;
}

} // namespace

std::size_t Point::operator[](char const* name) const {
  auto const found = numbers_.find(name);
  if (found == numbers_.end()) {
    throw hetsched::Error(
        hetsched::ErrorCode::bad_call, name, "is no number of the point " + text());
  }
  return found->second;
}

std::string Point::text() const {
  std::string words;
  for (auto const& [name, number] : numbers_) {
    words += (words.empty() ? "" : ", ") + name + " = " + std::to_string(number);
  }
  return words;
}

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

std::vector<Claim> claims_in(JsonValue const& value, Vocabulary const& words) {
  std::vector<Claim> all;
  for (auto const& element : value.elements()) {
    auto claim = claim_in(element, words);
    auto const same = [&](Claim const& other) { return other.id == claim.id; };
    if (std::any_of(all.begin(), all.end(), same)) {
      element["id"].refuse("is an earlier claim's");
    }
    all.push_back(std::move(claim));
  }
  return all;
}

std::vector<Claim> chosen(std::vector<Claim> const& claims, std::vector<std::string> const& only) {
  std::vector<Claim> those;
  std::set<std::string> used;
  for (auto const& claim : claims) {
    bool take = only.empty();
    for (auto const& name : only) {
      if (name == claim.id || name == claim.workload || name == claim.section) {
        take = true;
        used.insert(name);
      }
    }
    if (take) {
      those.push_back(claim);
    }
  }
  for (auto const& name : only) {
    if (!used.contains(name)) {
      throw hetsched::Error(hetsched::ErrorCode::bad_input,
                            "--only",
                            name + " is no claim's id, workload or section");
    }
  }
  return those;
}

} // namespace papers
