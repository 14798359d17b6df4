// SPDX-License-Identifier: MIT

#include "claims.hpp"

#include <hetsched/detail/files/json_file.hpp>

#include "names.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace kumar2017 {

namespace {

using hetsched::detail::JsonValue;

constexpr double greatest = 1e15;

constexpr std::array<std::pair<std::string_view, Rule::Kind>, 9> kinds{
    {{"order", Rule::Kind::order},
     {"range", Rule::Kind::range},
     {"value", Rule::Kind::number},
     {"similar", Rule::Kind::similar},
     {"trend", Rule::Kind::trend},
     {"gain", Rule::Kind::gain},
     {"peak", Rule::Kind::peak},
     {"worst", Rule::Kind::worst},
     {"draws", Rule::Kind::draws}}};

std::string one_of(JsonValue const& value, std::initializer_list<char const*> names) {
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

bool flag(JsonValue const& value, char const* key) {
  auto const member = value.find(key);
  return member && member->truth();
}

Experiment experiment_in(JsonValue const& value, std::string const& name) {
  value.only({"section",
              "platform",
              "dag",
              "bound",
              "gpus",
              "related",
              "grouped",
              "independent",
              "noise",
              "noise_is",
              "draws",
              "seeds"});
  Experiment experiment;
  experiment.name = name;
  experiment.section = value["section"].text();
  experiment.platform = value["platform"].text();
  experiment.dag = one_of(value["dag"], {"cholesky", "qr", "lu"});
  experiment.bound = one_of(value["bound"], {"mixed", "iterative", "area"});
  if (experiment.bound == "mixed" && experiment.dag != "cholesky") {
    value["bound"].refuse("is known for cholesky only");
  }
  if (auto const gpus = value.find("gpus")) {
    experiment.gpus = static_cast<int>(gpus->integer(0, 1000));
  }
  experiment.related = flag(value, "related");
  experiment.grouped = flag(value, "grouped");
  experiment.independent = flag(value, "independent");
  if (auto const noise = value.find("noise")) {
    experiment.noise = noise->number(0, 0.99);
    experiment.per_task = one_of(value["noise_is"], {"type", "task"}) == "task";
    experiment.draws = static_cast<int>(value["draws"].integer(1, 10'000));
  }
  if (auto const seeds = value.find("seeds")) {
    experiment.seeds = static_cast<int>(seeds->integer(1, 10'000));
  }
  return experiment;
}

std::vector<std::size_t> sizes_in(JsonValue const& value) {
  constexpr std::uint64_t largest = 200;
  if (!value.is_array()) {
    return {value.integer(1, largest)};
  }
  std::vector<std::size_t> sizes;
  for (auto const& size : value.elements()) {
    sizes.push_back(size.integer(1, largest));
  }
  return sizes;
}

class Reader {
public:
  explicit Reader(Claims& claims) : claims_(claims) {}

  void add(JsonValue const& value) const {
    value.only({"id", "section", "experiment", "says", "not_testable", "rule", "at"});
    Claim claim;
    claim.id = value["id"].text();
    claim.section = value["section"].text();
    claim.experiment = experiment(value["experiment"]);
    claim.says = value["says"].text();
    if (auto const why = value.find("not_testable")) {
      claim.not_testable = why->text();
    }
    if (!claim.not_testable || value.find("rule")) {
      claim.at = places(value["at"], claim.experiment);
      claim.rule = rule(value["rule"], claim);
    }
    auto const same = [&](Claim const& earlier) { return earlier.id == claim.id; };
    if (std::any_of(claims_.all.begin(), claims_.all.end(), same)) {
      value["id"].refuse("is an earlier claim's");
    }
    claims_.all.push_back(std::move(claim));
  }

private:
  [[nodiscard]] std::string experiment(JsonValue const& value) const {
    auto name = value.text();
    if (!claims_.experiments.contains(name)) {
      value.refuse("is no experiment");
    }
    return name;
  }

  [[nodiscard]] std::vector<Place> places(JsonValue const& value, std::string const& usual) const {
    std::vector<Place> all;
    for (auto const& element : value.elements()) {
      element.only({"experiment", "n"});
      auto const other = element.find("experiment");
      for (auto const n : sizes_in(element["n"])) {
        all.push_back({other ? experiment(*other) : usual, n});
      }
    }
    if (all.empty()) {
      value.refuse("is empty");
    }
    return all;
  }

  /// A strategy, bound or kernel; after "EXPERIMENT/" one of another experiment.
  [[nodiscard]] std::string strategy(JsonValue const& value) const {
    auto const text = value.text();
    auto const [other, name] = split_experiment(text);
    if (!other.empty() && !claims_.experiments.contains(other)) {
      value.refuse("is of no experiment");
    }
    if (!is_strategy(name)) {
      value.refuse("is no strategy");
    }
    return text;
  }

  [[nodiscard]] std::vector<std::string> strategies(JsonValue const& value) const {
    std::vector<std::string> names;
    if (!value.is_array()) {
      return {strategy(value)};
    }
    for (auto const& element : value.elements()) {
      names.push_back(strategy(element));
    }
    if (names.empty()) {
      value.refuse("is empty");
    }
    return names;
  }

  [[nodiscard]] Rule rule(JsonValue const& value, Claim const& claim) const {
    value.only({"kind",
                "metric",
                "of",
                "over",
                "better",
                "worse",
                "published",
                "within",
                "within_percent",
                "by",
                "share",
                "at_least",
                "at_most",
                "from",
                "to"});
    Rule rule;
    auto const kind = value["kind"].text();
    auto const found = std::find_if(
        kinds.begin(), kinds.end(), [&](auto const& known) { return known.first == kind; });
    if (found == kinds.end()) {
      value["kind"].refuse("is no kind of rule");
    }
    rule.kind = found->second;
    rule.metric = value["metric"].text();
    if (!is_metric(rule.metric)) {
      value["metric"].refuse("is no metric");
    }
    using enum Rule::Kind;
    bool const compares = rule.kind == order || rule.kind == draws;
    rule.of = strategies(value[compares ? "better" : "of"]);
    if (compares) {
      rule.against = strategies(value["worse"]);
      rule.by = value["by"].number(-100, 1000);
    } else if (rule.kind == gain) {
      rule.against = strategies(value["over"]);
    }
    if (compares || rule.kind == range || rule.kind == similar) {
      rule.share = value["share"].number(0.01, 1);
    }
    read_numbers(value, claim, rule);
    return rule;
  }

  static void read_numbers(JsonValue const& value, Claim const& claim, Rule& rule) {
    auto const found = [&](char const* key) {
      auto const there = value.find(key);
      return there ? std::optional(there->number(-greatest, greatest)) : std::nullopt;
    };
    using enum Rule::Kind;
    switch (rule.kind) {
    case range:
      rule.at_least = found("at_least");
      rule.at_most = found("at_most");
      if (!rule.at_least && !rule.at_most) {
        value.refuse("has neither 'at_least' nor 'at_most'");
      }
      break;
    case Rule::Kind::number:
      for (auto const& one : value["published"].elements(rule.of.size() * claim.at.size())) {
        rule.published.push_back(one.number(-greatest, greatest));
      }
      rule.within = value["within"].number(0, greatest);
      break;
    case similar:
      rule.within = value["within_percent"].number(0, greatest);
      break;
    case trend:
    case gain:
      rule.rises = one_of(value["to"], {"rises", "falls"}) == "rises";
      if (claim.at.size() < 2) {
        value.refuse("needs two points");
      }
      break;
    case peak:
      rule.at_least = value["from"].number(1, greatest);
      rule.at_most = value["to"].number(1, greatest);
      break;
    case worst:
      rule.at_least = value["at_least"].number(-greatest, greatest);
      break;
    case order:
    case draws:
      break;
    }
  }

  Claims& claims_;
};

} // namespace

Claims read_claims(std::string const& path) {
  auto const json = hetsched::detail::parse_json(hetsched::detail::read_text_file(path), path);
  JsonValue const root(json, path, "");
  root.only({"format", "paper", "notes", "experiments", "claims"});
  if (root["format"].text() != "claims-1") {
    root["format"].refuse("is not \"claims-1\"");
  }
  Claims claims;
  root["experiments"].each_member([&](std::string const& name, JsonValue const& member) {
    claims.experiments[name] = experiment_in(member, name);
  });
  Reader const reader(claims);
  for (auto const& value : root["claims"].elements()) {
    reader.add(value);
  }
  return claims;
}

} // namespace kumar2017
