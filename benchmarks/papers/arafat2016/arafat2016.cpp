// SPDX-License-Identifier: MIT
// The paper on work stealing for GPU-accelerated programs in a global address space as a program:
// every published claim beside what virtual time gives (README.md beside this file).

#include "../../common/run_program.hpp"
#include "../common/report.hpp"
#include "../common/text.hpp"
#include "figures.hpp"
#include "runs.hpp"
#include "settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

namespace hs = hetsched;

using papers::Configuration;

struct Options : papers::Options {
  std::string benchmarks;
  std::string figures;
  std::vector<std::string> figure;
  std::vector<std::string> traced;
  std::string trace;
  double progress_us = 0;
  arafat2016::Runs::Options runs;
};

/// A claim's run, by the claim's id, the strategy, and the point as text.
Configuration traced(arafat2016::Settings const& settings, std::vector<std::string> const& what) {
  for (auto const& claim : papers::chosen(settings.claims, {what[0]})) {
    for (auto const& configuration : claim.configurations()) {
      if (configuration.strategy == what[1] && configuration.at.text() == what[2]) {
        return configuration;
      }
    }
  }
  throw hs::Error(hs::ErrorCode::bad_input,
                  "--traced",
                  "claim " + what[0] + " has no run " + what[1] + " at '" + what[2] + "'");
}

/// "52 tasks, 1728 contractions, 1.634e+12 operations".
std::string size_of(arafat2016::CcsdT const& input) {
  double flops = 0;
  for (auto const& contraction : input.contractions) {
    flops += contraction.flops();
  }
  return papers::text("%zu tasks, %zu contractions, %.4g operations",
                      input.tasks,
                      input.contractions.size(),
                      flops);
}

void print(Options const& options) {
  auto const settings = arafat2016::read_settings(options.claims);
  arafat2016::check_figures(options.figure);
  arafat2016::Runs runs(settings, options.benchmarks, options.runs);
  if (!options.traced.empty()) {
    auto const outcome = runs.trace(traced(settings, options.traced), options.trace);
    std::printf("%.6g s\n", outcome.seconds);
    return;
  }
  papers::report(options,
                 settings.claims,
                 "Scioto-ACC (Arafat et al. 2016), virtual time, on a machine that is derived, not "
                 "measured: " +
                     std::to_string(settings.nodes) + " x " + settings.platform + ", " +
                     settings.network + "\nCCSD(T): " + size_of(runs.input()) + "; with Cs " +
                     size_of(arafat2016::ccsd_t(arafat2016::PointSymmetry::cs)),
                 papers::teller_of(runs));
  if (!options.figures.empty()) {
    arafat2016::write_figures(runs, options.figures, options.figure);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds what Arafat et al. 2016 publish of Scioto-ACC against runs in virtual time.");
  papers::add_options(app, options, "arafat2016");
  app.add_option("--benchmarks",
                 options.benchmarks,
                 "folder that has platforms/scioto_node.json, scioto_node_cpu.json and "
                 "networks/scioto_ib.json")
      ->required();
  app.add_option("--figures", options.figures, "folder for the figures' tables and plots (SVG)");
  app.add_option("--figure", options.figure, "of these only those, such as 7,8a,12")
      ->delimiter(',');
  app.add_option("--runs", options.runs.runs, "of each configuration (default 1)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", options.runs.seed, "of the first run (default 1)");
  app.add_flag("--leave",
               options.runs.leave_to_faster,
               "leave tasks to the kind of worker that is better, see CollectionOptions");
  app.add_option("--progress-us",
                 options.progress_us,
                 "until the target of a one-sided operation sees it (0)")
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--between-bodies",
               options.runs.costs.between_bodies,
               "targets see operations only between two bodies, see OneSidedCosts");
  auto* const which = app.add_option("--traced",
                                     options.traced,
                                     "instead: one run, by a claim's id, the strategy, and the "
                                     "point as --facts has it, such as 'skew = 50'")
                          ->expected(3);
  app.add_option("--trace", options.trace, "a file for each of the run's executions (CSV)")
      ->needs(which);
  return benchmarks::run_program("arafat2016", app, argc, argv, [&] {
    options.runs.costs.progress.ns = std::llround(1e3 * options.progress_us);
    print(options);
  });
}
