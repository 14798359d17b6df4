// SPDX-License-Identifier: MIT
// The paper on multigrain sparse LU with a guided cache as a program: every published claim beside
// what virtual time gives (README.md beside this file).

#include "../../common/run_program.hpp"
#include "../common/report.hpp"
#include "figures.hpp"
#include "runs.hpp"
#include "settings.hpp"
#include "threads.hpp"

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Options : papers::Options {
  std::string platforms;
  std::string figures;
  int runs = 1;
  std::uint64_t seed = 1;
  bool caches = false;
  multigrain::ThreadOptions threads;
};

/// What the guided cache moves and what Lru would, in GB.
void print_caches(multigrain::Settings const& settings, multigrain::Runs& runs) {
  std::vector<std::string> const compared{
      "gpu-cached", "gpu-guided", "both-unguided", "both-guided"};
  std::printf("GB moved, with indices / with Lru; a matrix of n x n blocks, filled\n\n%4s %8s",
              "n",
              "matrix");
  for (auto const& name : compared) {
    std::printf(" %20s", name.c_str());
  }
  std::printf("\n");
  for (auto const n : settings.sizes) {
    auto const bytes = settings.block * settings.block * sizeof(float);
    std::printf("%4zu %8.3f", n, static_cast<double>(n * n * bytes) / 1e9);
    for (auto const& name : compared) {
      auto const moved = [&](std::string const& strategy) {
        return runs.metric({"step3", papers::Point({{"n", n}}), strategy}, "gigabytes").value;
      };
      std::printf(" %9.3f /%9.3f", moved(name), moved(name + "-lru"));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

void print(Options const& options) {
  if (options.threads.n != 0) {
    if (!multigrain::run_on_threads(options.threads, options.json)) {
      throw std::runtime_error("a backward error is too large");
    }
    return;
  }
  auto const settings = multigrain::read_settings(options.claims);
  multigrain::Runs runs(settings, options.platforms, options.runs, options.seed);
  if (options.caches) {
    print_caches(settings, runs);
    return;
  }
  papers::report(
      options,
      settings.claims,
      "Multigrain sparse LU with a guided cache, virtual time, on machines that are derived, not "
      "measured: " +
          settings.platforms[0] + ", " + settings.platforms[1] + " (@2); blocks of " +
          std::to_string(settings.block) + " x " + std::to_string(settings.block),
      papers::teller_of(runs));
  if (!options.json) {
    auto const n = settings.sizes.back();
    std::printf("finding the blocks that %zu x %zu fill took %.3g ms of real time\n",
                n,
                n,
                1e3 * runs.detection_seconds(n));
  }
  if (!options.figures.empty()) {
    multigrain::write_figures(runs, settings, options.figures);
  }
}

void add_threads(CLI::App& app, multigrain::ThreadOptions& threads) {
  auto* const n = app.add_option("--threads",
                                 threads.n,
                                 "instead: factorise so many blocks in a row, at most 60, on real "
                                 "threads with an emulated device")
                      ->check(CLI::Range(2, 60));
  app.add_option("--block", threads.block, "elements in a row of a block there (default 24)")
      ->check(CLI::Range(1, 192))
      ->needs(n);
  app.add_option("--cpus", threads.cpus, "cores there (default 2)")
      ->check(CLI::Range(1, 256))
      ->needs(n);
  app.add_option("--memory", threads.memory, "of the device, percent of the matrix (default 50)")
      ->check(CLI::Range(1, 1000))
      ->needs(n);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds what the paper on multigrain sparse LU with a guided cache publishes against "
               "runs in virtual time.");
  papers::add_options(app, options, "multigrain");
  app.get_option("--claims")->required(false);
  app.add_option(
      "--platforms", options.platforms, "folder of magnycours_gtx470.json and nehalem_gtx480.json");
  app.add_option("--figures", options.figures, "folder for the figures' tables and plots (SVG)");
  app.add_option("--runs", options.runs, "of each configuration up to n = 100 (default 1)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", options.seed, "of the first run, and of the values (default 1)");
  app.add_flag("--caches", options.caches, "instead: what the guided cache and Lru move");
  add_threads(app, options.threads);
  return benchmarks::run_program("multigrain", app, argc, argv, [&] {
    options.threads.seed = options.seed;
    if (options.threads.n == 0 && (options.claims.empty() || options.platforms.empty())) {
      throw CLI::RequiredError("--claims and --platforms, or --threads,");
    }
    print(options);
  });
}
