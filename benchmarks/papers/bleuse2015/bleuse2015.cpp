// SPDX-License-Identifier: MIT
// Bleuse et al. 2015 as a program: published figures beside those of random instances and of
// virtual time (README.md beside this file).

#include "../../common/run_program.hpp"
#include "../common/line_plot.hpp"
#include "../common/report.hpp"
#include "readings.hpp"
#include "runs.hpp"
#include "settings.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using papers::Configuration;

struct Options : papers::Options {
  std::string platform;
  std::string plots;
  int instances = 0; // 0: the number in the claims' file
  std::uint64_t seed = 1;
  bool full = false;
  bool readings = false; // of HEFT, instead of the claims
};

nlohmann::ordered_json fact(Configuration const& configuration, bleuse2015::Facts const& facts) {
  nlohmann::ordered_json row{{"workload", configuration.workload},
                             {"strategy", configuration.strategy}};
  for (auto const& [name, number] : configuration.at.numbers()) {
    row["at"][name] = number;
  }
  for (auto const& [name, value] : facts) {
    row[name] = value;
  }
  return row;
}

void print_facts(std::vector<Configuration> const& those, bleuse2015::Runs& runs) {
  for (auto const& configuration : those) {
    std::printf("    %-10s %-12s %-30s",
                configuration.workload.c_str(),
                configuration.strategy.c_str(),
                configuration.at.text().c_str());
    for (auto const& [name, value] : runs.of(configuration)) {
      std::printf("  %s %.4g", name.c_str(), value);
    }
    std::printf("\n");
  }
}

/// One metric of some strategies over a number of the points.
papers::LinePlot plot(bleuse2015::Runs& runs,
                      std::string const& workload,
                      std::string const& axis,
                      std::vector<std::size_t> const& values,
                      std::string const& metric,
                      std::vector<std::string> const& strategies) {
  papers::LinePlot drawn;
  drawn.x = axis;
  for (auto const& strategy : strategies) {
    auto& line = drawn.lines.emplace_back(papers::Line{strategy, {}});
    for (auto const value : values) {
      auto const& facts = runs.of({workload, papers::Point({{axis, value}}), strategy});
      line.points.emplace_back(static_cast<double>(value), facts.at(metric));
    }
  }
  return drawn;
}

/// fig3.svg, fig4.svg and table2.svg, which has all numbers of GPUs.
void draw(std::string const& folder, bleuse2015::Runs& runs) {
  auto means = plot(runs,
                    "random",
                    "n",
                    {10, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000},
                    "mean_percent",
                    {"dp", "heft", "accel"});
  means.title = "Mean deviation from the lower bound";
  means.y = "%";
  means.write(folder + "/fig3.svg");
  auto blocks =
      plot(runs, "blocks", "block", {320, 640, 960}, "seconds", {"dp", "heft", "four_thirds"});
  blocks.title = "Cholesky, 3 cores and one GPU: time, scheduling included";
  blocks.y = "s";
  blocks.write(folder + "/fig4.svg");
  auto gpus = plot(runs, "gpus", "gpus", {1, 2, 3, 4, 5, 6, 7, 8}, "gflops", {"dp", "heft"});
  gpus.title = "Cholesky, 12 workers";
  gpus.y = "GFlop/s";
  gpus.write(folder + "/table2.svg");
}

void print(Options const& options) {
  auto const settings = bleuse2015::read_settings(options.claims);
  constexpr int published = 30;
  auto const instances = options.full            ? published
                         : options.instances > 0 ? options.instances
                                                 : settings.instances;
  if (options.readings) {
    bleuse2015::print_readings(
        papers::chosen(settings.claims, {"table1-heft"}).front(), instances, options.seed);
    return;
  }
  bleuse2015::Runs runs(settings, options.platform, instances, options.seed);
  papers::report(
      options,
      settings.claims,
      "Bleuse et al. 2015: " + std::to_string(instances) +
          " random instances for each size and machine; " + options.platform +
          ", virtual time, shared links, a window of " + std::to_string(settings.window) + " tasks",
      {.run = [&](auto const& those) { runs.run(those); },
       .figures = [&](auto const& configuration, auto const& metric) -> papers::Mean {
         return {runs.of(configuration).at(metric), 0};
       },
       .print_facts = [&](auto const& those) { print_facts(those, runs); },
       .fact =
           [&](auto const& configuration) { return fact(configuration, runs.of(configuration)); }});
  if (!options.plots.empty()) {
    draw(options.plots, runs);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds what Bleuse et al. 2015 publish against random instances and virtual time.");
  papers::add_options(app, options, "bleuse2015");
  app.add_option("--platform", options.platform, "file of the machine: platforms/idgraf.json")
      ->required();
  auto* const few =
      app.add_option("--instances", options.instances, "random ones for each size and machine")
          ->check(CLI::Range(1, 10'000));
  app.add_flag("--full", options.full, "30 instances, as published")->excludes(few);
  app.add_option("--seed", options.seed, "of the instances (default 1)");
  app.add_flag("--readings", options.readings, "HEFT read in each way tried, beside table 1");
  app.add_option("--plots", options.plots, "folder for fig3.svg, fig4.svg and table2.svg")
      ->check(CLI::ExistingDirectory);
  return benchmarks::run_program("bleuse2015", app, argc, argv, [&] { print(options); });
}
