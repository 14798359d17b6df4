// SPDX-License-Identifier: MIT

#include "settings.hpp"

#include <hetsched/collections/optimal_distribution.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/json_file.hpp>

#include <algorithm>

namespace arafat2016 {

namespace {

using hetsched::detail::JsonValue;

constexpr int search_seconds = 5; // for the integer program

/// The words of a workload.
struct Words {
  papers::Vocabulary::Workload workload;
  std::vector<std::string> strategies;
};

std::vector<std::string> names_of(auto const& all) {
  std::vector<std::string> names;
  for (auto const& one : all) {
    names.push_back(one.name);
  }
  return names;
}

std::vector<Words> all_words() {
  std::vector<std::string> of_ccsd_t{"cpu", "gpu", "hybrid"};
  for (auto const& name : names_of(distributions())) {
    of_ccsd_t.push_back(name);
    of_ccsd_t.push_back(name + double_ended_suffix);
  }
  std::vector<Words> all{{{"dgemm", {"n"}}, {"team", "gpu"}},
                         {{"pipeline", {"n"}}, names_of(pipeline_strategies())},
                         {{"ratios", {}}, {"all"}},
                         {{"ccsd_t", {"nodes"}}, of_ccsd_t},
                         {{"stealing", {}}, {"gpu-ended"}}};
  for (auto const& mix : mixes()) {
    all.push_back({{mix.name, {"skew"}, 0}, names_of(mix_strategies())});
  }
  return all;
}

papers::Vocabulary words() {
  papers::Vocabulary all;
  std::vector<std::string> with_speedup{"ccsd_t"};
  for (auto const& mix : mixes()) {
    with_speedup.push_back(mix.name);
  }
  auto timed = with_speedup;
  timed.insert(timed.end(), {"dgemm", "pipeline"});
  for (auto const& [workload, strategies] : all_words()) {
    all.workloads.push_back(workload);
    all.strategies.insert(all.strategies.end(), strategies.begin(), strategies.end());
  }
  all.metrics = {{"seconds", false, timed},
                 {"transfer_percent", false, {"dgemm"}},
                 {"speedup", true, with_speedup},
                 {"slowdown", false, {"pipeline"}},
                 {"gpu_tasks_percent", true, {"ratios"}},
                 {"heavier", true, {"ratios"}},
                 {"faster_percent", true, {"stealing"}},
                 {"lead_percent", true, {"stealing"}}};
  return all;
}

/// Strategies are of a workload, and so are numbers. Throws Error(bad_input) that names the claim.
void check(papers::Claim const& claim) {
  auto const refuse = [&](std::string const& why) {
    throw hs::Error(hs::ErrorCode::bad_input, "claim " + claim.id, why);
  };
  auto const all = all_words();
  auto const of = std::find_if(all.begin(), all.end(), [&](Words const& one) {
    return one.workload.name == claim.workload;
  });
  for (auto const& configuration : claim.configurations()) {
    auto const& known = of->strategies;
    if (std::find(known.begin(), known.end(), configuration.strategy) == known.end()) {
      refuse(configuration.strategy + " is no strategy of " + claim.workload);
    }
    if (claim.rule->metric == "transfer_percent" && configuration.strategy == "team") {
      refuse("team has no transfers");
    }
    for (auto const& [name, number] : configuration.at.numbers()) {
      if ((name == "skew" && number > 100) || (name == "nodes" && number > 1024)) {
        refuse(name + " = " + std::to_string(number) + " is too large");
      }
    }
  }
}

} // namespace

std::vector<Mix> const& mixes() {
  static std::vector<Mix> const all{{"mix-1-1", 1, 1}, {"mix-2-1", 2, 1}, {"mix-1-2", 1, 2}};
  return all;
}

std::vector<MixStrategy> const& mix_strategies() {
  static std::vector<MixStrategy> const all{{"cpu", Thief::single_ended},
                                            {"double-queue", Thief::double_queue},
                                            {"either-end", Thief::either_end},
                                            {"gpu-ended", Thief::gpu_ended},
                                            {"double-ended", Thief::double_ended}};
  return all;
}

std::vector<PipelineStrategy> const& pipeline_strategies() {
  static std::vector<PipelineStrategy> const all{{"g1-local", 1, 8, true},
                                                 {"g2-local", 2, 8, true},
                                                 {"g2-p2", 2, 2},
                                                 {"g2-p4", 2, 4},
                                                 {"g2-p6", 2, 6},
                                                 {"g4-p8", 4, 8},
                                                 {"g6-p8", 6, 8},
                                                 {"g8-p8", 8, 8}};
  return all;
}

std::vector<Distribution> const& distributions() {
  static std::vector<Distribution> const all{{"block", &hs::InBlocks::place},
                                             {"affinity", &hs::NearOutputs::place},
                                             {"heuristic", &hs::LongestFirst::place},
                                             {"ilp", &hs::Optimally<search_seconds>::place}};
  return all;
}

Settings read_settings(std::string const& path) {
  auto const json = hetsched::detail::parse_json(hetsched::detail::read_text_file(path), path);
  JsonValue const root(json, path, "");
  root.only({"format",
             "paper",
             "notes",
             "platform",
             "cpu_platform",
             "network",
             "nodes",
             "small",
             "large",
             "small_for_each_large",
             "large_for_each_node",
             "pipelined_tasks",
             "claims"});
  if (root["format"].text() != "claims-1") {
    root["format"].refuse("is not \"claims-1\"");
  }
  Settings settings;
  settings.platform = root["platform"].text();
  settings.cpu_platform = root["cpu_platform"].text();
  settings.network = root["network"].text();
  auto const number = [&](char const* name, std::uint64_t least, std::uint64_t most) {
    return static_cast<int>(root[name].integer(least, most));
  };
  settings.nodes = number("nodes", 2, 1024);
  settings.mix.small = root["small"].integer(1, 100'000);
  settings.mix.large = root["large"].integer(1, 100'000);
  settings.mix.large_tasks = settings.nodes * number("large_for_each_node", 1, 1000);
  settings.mix.small_tasks = settings.mix.large_tasks * number("small_for_each_large", 1, 1000);
  settings.pipelined_tasks = number("pipelined_tasks", 1, 1'000'000);
  settings.claims = papers::claims_in(root["claims"], words());
  for (auto const& claim : settings.claims) {
    check(claim);
  }
  return settings;
}

} // namespace arafat2016
