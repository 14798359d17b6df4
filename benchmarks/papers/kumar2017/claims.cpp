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
  auto const its = value.find(key);
  return its && its->truth();
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
  Experiment its;
  its.name = name;
  its.section = value["section"].text();
  its.platform = value["platform"].text();
  its.dag = one_of(value["dag"], {"cholesky", "qr", "lu"});
  its.bound = one_of(value["bound"], {"mixed", "iterative", "area"});
  if (its.bound == "mixed" && its.dag != "cholesky") {
    value["bound"].refuse("is known for cholesky only");
  }
  if (auto const gpus = value.find("gpus")) {
    its.gpus = static_cast<int>(gpus->integer(0, 1000));
  }
  its.related = flag(value, "related");
  its.grouped = flag(value, "grouped");
  its.independent = flag(value, "independent");
  if (auto const noise = value.find("noise")) {
    its.noise = noise->number(0, 0.99);
    its.per_task = one_of(value["noise_is"], {"type", "task"}) == "task";
    its.draws = static_cast<int>(value["draws"].integer(1, 10'000));
  }
  if (auto const seeds = value.find("seeds")) {
    its.seeds = static_cast<int>(seeds->integer(1, 10'000));
  }
  return its;
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
    auto const same = [&](Claim const& its) { return its.id == claim.id; };
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
    for (auto const& its : value.elements()) {
      its.only({"experiment", "n"});
      auto const other = its.find("experiment");
      for (auto const n : sizes_in(its["n"])) {
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
    for (auto const& its : value.elements()) {
      names.push_back(strategy(its));
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
    Rule its;
    auto const kind = value["kind"].text();
    auto const found = std::find_if(
        kinds.begin(), kinds.end(), [&](auto const& known) { return known.first == kind; });
    if (found == kinds.end()) {
      value["kind"].refuse("is no kind of rule");
    }
    its.kind = found->second;
    its.metric = value["metric"].text();
    if (!is_metric(its.metric)) {
      value["metric"].refuse("is no metric");
    }
    using enum Rule::Kind;
    bool const compares = its.kind == order || its.kind == draws;
    its.of = strategies(value[compares ? "better" : "of"]);
    if (compares) {
      its.against = strategies(value["worse"]);
      its.by = value["by"].number(-100, 1000);
    } else if (its.kind == gain) {
      its.against = strategies(value["over"]);
    }
    if (compares || its.kind == range || its.kind == similar) {
      its.share = value["share"].number(0.01, 1);
    }
    read_numbers(value, claim, its);
    return its;
  }

  static void read_numbers(JsonValue const& value, Claim const& claim, Rule& its) {
    auto const found = [&](char const* key) {
      auto const there = value.find(key);
      return there ? std::optional(there->number(-greatest, greatest)) : std::nullopt;
    };
    using enum Rule::Kind;
    switch (its.kind) {
    case range:
      its.at_least = found("at_least");
      its.at_most = found("at_most");
      if (!its.at_least && !its.at_most) {
        value.refuse("has neither 'at_least' nor 'at_most'");
      }
      break;
    case Rule::Kind::number:
      for (auto const& one : value["published"].elements(its.of.size() * claim.at.size())) {
        its.published.push_back(one.number(-greatest, greatest));
      }
      its.within = value["within"].number(0, greatest);
      break;
    case similar:
      its.within = value["within_percent"].number(0, greatest);
      break;
    case trend:
    case gain:
      its.rises = one_of(value["to"], {"rises", "falls"}) == "rises";
      if (claim.at.size() < 2) {
        value.refuse("needs two points");
      }
      break;
    case peak:
      its.at_least = value["from"].number(1, greatest);
      its.at_most = value["to"].number(1, greatest);
      break;
    case worst:
      its.at_least = value["at_least"].number(-greatest, greatest);
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
  root["experiments"].each_member([&](std::string const& name, JsonValue const& its) {
    claims.experiments[name] = experiment_in(its, name);
  });
  Reader const reader(claims);
  for (auto const& value : root["claims"].elements()) {
    reader.add(value);
  }
  return claims;
}

} // namespace kumar2017
