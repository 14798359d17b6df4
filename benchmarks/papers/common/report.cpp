// SPDX-License-Identifier: MIT

#include "report.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace papers {

namespace {

using nlohmann::ordered_json;

/// The verdict in words.
char const* verdict_of(Claim const& claim, Verdict const& verdict) {
  return claim.not_testable ? "not testable" : verdict.reproduced ? "reproduced" : "not reproduced";
}

/// The configurations to print: those of points that contradict the claim, or all.
std::vector<Configuration>
told(Claim const& claim, Verdict const& verdict, bool all, Teller const& teller) {
  std::vector<Configuration> those;
  if (teller.told) {
    return all || !verdict.reproduced ? teller.told(claim, all) : those;
  }
  for (auto const& configuration : claim.configurations()) {
    auto const& points = verdict.against;
    bool const speaks = std::find(points.begin(), points.end(), configuration.at) != points.end();
    bool const known = std::find(those.begin(), those.end(), configuration) != those.end();
    if ((all || (!verdict.reproduced && speaks)) && !known) {
      those.push_back(configuration);
    }
  }
  return those;
}

void print_json(Claim const& claim, Verdict const& verdict, Teller const& teller) {
  ordered_json row;
  row["id"] = claim.id;
  row["section"] = claim.section;
  row["workload"] = claim.workload;
  row["says"] = claim.says;
  row["verdict"] = verdict_of(claim, verdict);
  row["why"] = claim.not_testable ? ordered_json(*claim.not_testable) : nullptr;
  row["published"] = claim.rule ? ordered_json(verdict.published) : nullptr;
  row["ours"] = claim.rule ? ordered_json(verdict.ours) : nullptr;
  row["against"] = ordered_json::array();
  for (auto const& at : verdict.reproduced ? std::vector<Point>{} : verdict.against) {
    row["against"].push_back(at.numbers());
  }
  row["facts"] = ordered_json::array();
  for (auto const& configuration : told(claim, verdict, true, teller)) {
    row["facts"].push_back(teller.fact(configuration));
  }
  std::printf("%s\n", row.dump().c_str());
}

void print_row(Claim const& claim, Verdict const& verdict) {
  std::printf("%-24s %-4s %-15s %-23s %-33s %s\n",
              claim.id.c_str(),
              claim.section.c_str(),
              verdict_of(claim, verdict),
              claim.rule ? verdict.published.c_str() : "-",
              claim.rule ? verdict.ours.c_str() : "-",
              claim.says.c_str());
  if (claim.not_testable) {
    std::printf("    not testable: %s\n", claim.not_testable->c_str());
  }
}

void print_head(std::string const& head) {
  std::printf("%s\n\n%-24s %-4s %-15s %-23s %-33s %s\n",
              head.c_str(),
              "claim",
              "sec.",
              "verdict",
              "published (tolerance)",
              "here",
              "what the paper says");
}

} // namespace

void add_options(CLI::App& app, Options& options, std::string const& folder) {
  app.add_option(
         "--claims", options.claims, "file of the claims: papers/" + folder + "/claims.json")
      ->required();
  app.add_option("--only", options.only, "claims by id, workload or section, comma-separated")
      ->delimiter(',');
  app.add_flag("--facts", options.facts, "tell of the runs behind every claim");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
}

ordered_json fact_of(Configuration const& configuration, Facts const& facts) {
  ordered_json row{{"workload", configuration.workload}, {"strategy", configuration.strategy}};
  for (auto const& [name, number] : configuration.at.numbers()) {
    row[name] = number;
  }
  for (auto const& [name, value] : facts) {
    row[name] = value;
  }
  return row;
}

void print_facts(std::vector<Configuration> const& those,
                 std::function<Facts(Configuration const&)> const& facts) {
  for (auto const& configuration : those) {
    std::printf("    %-8s %-16s %-10s",
                configuration.workload.c_str(),
                configuration.strategy.c_str(),
                configuration.at.text().c_str());
    for (auto const& [name, value] : facts(configuration)) {
      std::printf("  %s %.4g", name.c_str(), value);
    }
    std::printf("\n");
  }
}

void report(Options const& options,
            std::vector<Claim> const& claims,
            std::string const& head,
            Teller const& teller) {
  auto const those = chosen(claims, options.only);
  std::vector<Configuration> needed;
  for (auto const& claim : those) {
    auto const runs = claim.configurations();
    needed.insert(needed.end(), runs.begin(), runs.end());
  }
  if (teller.run) {
    teller.run(needed);
  }
  if (!options.json) {
    print_head(head);
  }
  std::size_t testable = 0;
  std::size_t reproduced = 0;
  for (auto const& claim : those) {
    auto const verdict = !claim.rule    ? Verdict{}
                         : teller.judge ? teller.judge(claim)
                                        : judge(claim, teller.figures);
    testable += claim.not_testable ? 0 : 1;
    reproduced += !claim.not_testable && verdict.reproduced ? 1 : 0;
    if (options.json) {
      print_json(claim, verdict, teller);
      continue;
    }
    print_row(claim, verdict);
    auto const facts = told(claim, verdict, options.facts, teller);
    if (!facts.empty() && (options.facts || (!claim.not_testable && !verdict.reproduced))) {
      teller.print_facts(facts);
    }
  }
  if (!options.json) {
    std::printf("\n%zu testable, %zu reproduced, %zu not testable\n",
                testable,
                reproduced,
                those.size() - testable);
  }
}

} // namespace papers
