// SPDX-License-Identifier: MIT
// Lima et al. 2015 as a program: every published claim beside what virtual time gives
// (README.md beside this file).

#include "../../run_program.hpp"
#include "claims.hpp"
#include "runs.hpp"
#include "verdicts.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace {

using lima2015::Claim;
using lima2015::Configuration;
using lima2015::Mean;
using lima2015::Means;
using lima2015::Verdict;
using nlohmann::ordered_json;

struct Options {
  std::string claims;
  std::string platform;
  std::vector<std::string> only;
  int runs = 30;
  std::uint64_t seed = 1;
  bool facts = false;
  bool json = false;
};

/// How the claim stands.
char const* verdict_of(Claim const& claim, Verdict const& its) {
  return claim.not_testable ? "not testable" : its.reproduced ? "reproduced" : "not reproduced";
}

/// Those that --only asks for, by id, workload or section.
std::vector<Claim> chosen(lima2015::Claims const& claims, std::vector<std::string> const& only) {
  std::vector<Claim> those;
  std::set<std::string> used;
  for (auto const& claim : claims.all) {
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

/// The runs to be told of: of the points that speak against the claim, or of all.
std::vector<Configuration> told(Claim const& claim, Verdict const& its, bool all) {
  std::vector<Configuration> those;
  for (auto const& configuration : claim.configurations()) {
    auto const& points = its.against;
    bool const speaks = std::find(points.begin(), points.end(), configuration.at) != points.end();
    bool const known = std::find(those.begin(), those.end(), configuration) != those.end();
    if ((all || (!its.reproduced && speaks)) && !known) {
      those.push_back(configuration);
    }
  }
  return those;
}

ordered_json number(Mean const& mean) {
  return {{"mean", mean.value}, {"half", mean.half}};
}

ordered_json fact(Configuration const& its, Means const& means) {
  return {{"workload", its.workload},
          {"strategy", its.strategy},
          {"n", its.at.n},
          {"tiles", means.tiles},
          {"gpus", its.at.gpus},
          {"runs", means.runs},
          {"seconds", number(means.seconds)},
          {"bytes", number(means.bytes)},
          {"bytes_from_host", number(means.from_host)},
          {"bytes_to_host", number(means.to_host)},
          {"hit_percent", number(means.hit_percent)},
          {"idle_cores_percent", number(means.idle_cores)},
          {"idle_gpus_percent", number(means.idle_gpus)},
          {"tasks_on_gpus_percent", number(means.tasks_on_gpu)},
          {"stolen_percent", number(means.stolen)},
          {"common_link_percent", number(means.link)}};
}

void print_json(Claim const& claim, Verdict const& its, lima2015::Runs& runs) {
  ordered_json row;
  row["id"] = claim.id;
  row["section"] = claim.section;
  row["workload"] = claim.workload;
  row["says"] = claim.says;
  row["verdict"] = verdict_of(claim, its);
  row["why"] = claim.not_testable ? ordered_json(*claim.not_testable) : nullptr;
  row["published"] = claim.rule ? ordered_json(its.published) : nullptr;
  row["ours"] = claim.rule ? ordered_json(its.ours) : nullptr;
  row["against"] = ordered_json::array();
  for (auto const& at : its.reproduced ? std::vector<lima2015::Point>{} : its.against) {
    row["against"].push_back({{"n", at.n}, {"gpus", at.gpus}});
  }
  row["facts"] = ordered_json::array();
  for (auto const& configuration : told(claim, its, true)) {
    row["facts"].push_back(fact(configuration, runs.of(configuration)));
  }
  std::printf("%s\n", row.dump().c_str());
}

void print_facts(std::vector<Configuration> const& those, lima2015::Runs& runs) {
  if (those.empty()) {
    return;
  }
  std::printf("    %-8s %-18s %9s %4s %10s %8s %8s %6s %6s %6s %6s %6s %6s %6s %6s\n",
              "",
              "strategy",
              "n",
              "GPUs",
              "seconds",
              "+-",
              "GB",
              "in",
              "out",
              "hit %",
              "core %",
              "GPU %",
              "tasks%",
              "steal%",
              "link %");
  for (auto const& its : those) {
    auto const& means = runs.of(its);
    std::printf("    %-8s %-18s %9zu %4d %10.4f %8.1g %8.2f %6.2f %6.2f %6.1f %6.1f %6.1f %6.1f "
                "%6.1f %6.1f\n",
                its.workload.c_str(),
                its.strategy.c_str(),
                its.at.n,
                its.at.gpus,
                means.seconds.value,
                means.seconds.half,
                means.bytes.value / 1e9,
                means.from_host.value / 1e9,
                means.to_host.value / 1e9,
                means.hit_percent.value,
                means.idle_cores.value,
                means.idle_gpus.value,
                means.tasks_on_gpu.value,
                means.stolen.value,
                means.link.value);
  }
}

void print_row(Claim const& claim, Verdict const& its) {
  std::printf("%-24s %-4s %-15s %-23s %-33s %s\n",
              claim.id.c_str(),
              claim.section.c_str(),
              verdict_of(claim, its),
              claim.rule ? its.published.c_str() : "-",
              claim.rule ? its.ours.c_str() : "-",
              claim.says.c_str());
  if (claim.not_testable) {
    std::printf("    not testable: %s\n", claim.not_testable->c_str());
  }
}

void print(Options const& options) {
  auto const claims = lima2015::read_claims(options.claims);
  auto const those = chosen(claims, options.only);
  lima2015::Runs runs(claims, options.platform, options.runs, options.seed);
  std::vector<Configuration> needed;
  for (auto const& claim : those) {
    auto const its = claim.configurations();
    needed.insert(needed.end(), its.begin(), its.end());
  }
  runs.simulate(needed);
  if (!options.json) {
    std::printf("Lima et al. 2015 on %s, virtual time, shared links, a window of %d tasks; of "
                "strategies that draw lots the means of %d runs, +- half of the 95 %% interval\n\n"
                "%-24s %-4s %-15s %-23s %-33s %s\n",
                options.platform.c_str(),
                claims.window,
                options.runs,
                "claim",
                "sec.",
                "verdict",
                "published (tolerance)",
                "here",
                "what the paper says");
  }
  int testable = 0;
  int reproduced = 0;
  for (auto const& claim : those) {
    auto const its = claim.rule ? judge(claim, runs) : Verdict{};
    testable += claim.not_testable ? 0 : 1;
    reproduced += !claim.not_testable && its.reproduced ? 1 : 0;
    if (options.json) {
      print_json(claim, its, runs);
      continue;
    }
    print_row(claim, its);
    if (options.facts || (!claim.not_testable && !its.reproduced)) {
      print_facts(told(claim, its, options.facts), runs);
    }
  }
  if (!options.json) {
    std::printf("\n%d testable, %d reproduced, %zu not testable\n",
                testable,
                reproduced,
                those.size() - static_cast<std::size_t>(testable));
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds what Lima et al. 2015 publish against runs in virtual time.");
  app.add_option("--claims", options.claims, "file of the claims: papers/lima2015/claims.json")
      ->required();
  app.add_option("--platform", options.platform, "file of the machine: platforms/idgraf.json")
      ->required();
  app.add_option("--only", options.only, "claims by id, workload or section, such as lu,5.5")
      ->delimiter(',');
  app.add_option("--runs", options.runs, "of each strategy that draws lots (default 30)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--seed", options.seed, "of the first run (default 1)");
  app.add_flag("--facts", options.facts, "tell of the runs behind every claim");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("lima2015", app, argc, argv, [&] { print(options); });
}
