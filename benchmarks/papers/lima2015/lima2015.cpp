// SPDX-License-Identifier: MIT
// Lima et al. 2015 as a program: every published claim beside what virtual time gives
// (README.md beside this file).

#include "../../common/run_program.hpp"
#include "../common/report.hpp"
#include "claims.hpp"
#include "runs.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using lima2015::Configuration;
using lima2015::Means;
using nlohmann::ordered_json;
using papers::Mean;

struct Options : papers::Options {
  std::string platform;
  int runs = 30;
  std::uint64_t seed = 1;
};

ordered_json number(Mean const& mean) {
  return {{"mean", mean.value}, {"half", mean.half}};
}

ordered_json fact(Configuration const& configuration, Means const& means) {
  return {{"workload", configuration.workload},
          {"strategy", configuration.strategy},
          {"n", configuration.at["n"]},
          {"tiles", means.tiles},
          {"gpus", configuration.at["gpus"]},
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

void print_facts(std::vector<Configuration> const& those, lima2015::Runs& runs) {
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
  for (auto const& configuration : those) {
    auto const& means = runs.of(configuration);
    std::printf("    %-8s %-18s %9zu %4zu %10.4f %8.1g %8.2f %6.2f %6.2f %6.1f %6.1f %6.1f %6.1f "
                "%6.1f %6.1f\n",
                configuration.workload.c_str(),
                configuration.strategy.c_str(),
                configuration.at["n"],
                configuration.at["gpus"],
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

void print(Options const& options) {
  auto const claims = lima2015::read_claims(options.claims);
  lima2015::Runs runs(claims, options.platform, options.runs, options.seed);
  papers::report(
      options,
      claims.all,
      "Lima et al. 2015 on " + options.platform + ", virtual time, shared links, a window of " +
          std::to_string(claims.window) + " tasks; of strategies that draw lots the means of " +
          std::to_string(options.runs) + " runs, +- half of the 95 % interval",
      {.run = [&](auto const& those) { runs.simulate(those); },
       .figures = [&](auto const& configuration,
                      auto const& metric) { return runs.of(configuration).metric(metric); },
       .print_facts = [&](auto const& those) { print_facts(those, runs); },
       .fact =
           [&](auto const& configuration) { return fact(configuration, runs.of(configuration)); }});
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds what Lima et al. 2015 publish against runs in virtual time.");
  papers::add_options(app, options, "lima2015");
  app.add_option("--platform", options.platform, "file of the machine: platforms/idgraf.json")
      ->required();
  app.add_option("--runs", options.runs, "of each strategy that draws lots (default 30)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--seed", options.seed, "of the first run (default 1)");
  return benchmarks::run_program("lima2015", app, argc, argv, [&] { print(options); });
}
