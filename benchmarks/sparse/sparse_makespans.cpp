// SPDX-License-Identifier: MIT
// How long a sparse factorisation takes on a described machine, in virtual time, under each
// scheduler. Nothing is computed: the tasks are those that the solver spawns there, each with the
// machine's time for its type in proportion to its work (hetsched::flops).
//
// The platform's file must have the kernels of the solver: hetsched-calibrate measures them
// (--algorithms sparse_lu,sparse_cholesky), and platforms/*_sparse.json have derived ones.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/cholesky.hpp>
#include <hetsched/sparse/lu.hpp>

#include "../common/machine.hpp"
#include "../common/run_program.hpp"
#include "matrices.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace hs = hetsched;

namespace {

using hs::policies::AnyScheduler;

struct Options {
  benchmarks::Machine machine;
  std::string solver = "lu";
  std::string matrix;
  std::string kind; // empty: what suits the solver
  std::string scheduler = "all";
  std::string comm = "free";
  int k = 30;
  std::size_t block = 0;
  std::uint64_t seed = 1;
  bool json = false;
};

[[nodiscard]] hs::Simulation simulation(Options const& options) {
  hs::Simulation config;
  config.platform = options.machine.read();
  config.algorithm = "sparse_" + options.solver;
  config.precision = options.machine.arithmetic();
  for (auto const& kernel : config.platform.kernels) {
    if (kernel.name == "subtree" && kernel.is_part_of(config.algorithm) &&
        kernel.precision == config.precision) {
      config.tile = kernel.tile; // as they were measured; tasks are in proportion
    }
  }
  if (config.tile == 0) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    options.machine.file,
                    "has no " + options.machine.precision + " kernel 'subtree' of " +
                        config.algorithm + ": see hetsched-calibrate");
  }
  config.transfers = benchmarks::transfers_of(options.comm);
  config.seed = options.seed;
  return config;
}

template <class Solver, class SolverOptions>
void simulate(Options const& options, SolverOptions how) {
  auto const config = simulation(options);
  auto const kind = !options.kind.empty()    ? options.kind
                    : options.solver == "lu" ? "convection"
                                             : "laplace";
  auto const a = options.matrix.empty()
                     ? sparse_peers::matrix_of(kind, std::to_string(options.k), options.seed)
                     : sparse_peers::matrix_of("file", options.matrix, options.seed);
  how.block = options.block;
  how.panel = options.block / 2;
  Solver solver(how);
  solver.analyze(a);
  bool first = true;
  for (auto const& scheduler : hs::policies::scheduler_names()) {
    if (options.scheduler != scheduler.name && (options.scheduler != "all" || !scheduler.in_all)) {
      continue;
    }
    hs::SimulatedRuntime<AnyScheduler> rt(config,
                                          AnyScheduler::Config{std::string(scheduler.name)});
    solver.factorize(rt, a);
    auto const report = solver.report();
    auto const stats = rt.stats();
    auto const workers = rt.workers().size();
    auto const idle = stats.idle.seconds() / (report.factor_seconds * static_cast<double>(workers));
    auto const rate = report.flops / report.factor_seconds * 1e-9;
    if (options.json) {
      nlohmann::ordered_json row;
      row["platform"] = config.platform.name;
      row["workers"] = workers;
      row["n"] = report.size;
      row["flops"] = report.flops;
      row["critical_path"] = report.critical_path;
      row["panel"] = report.panel;
      row["scheduler"] = scheduler.name;
      row["tasks"] = report.tasks;
      row["makespan_s"] = report.factor_seconds;
      row["gflops"] = rate;
      row["idle"] = idle;
      std::printf("%s\n", row.dump().c_str());
      continue;
    }
    if (first) {
      std::printf("n = %zu, %.4g flops, of these %.1f %% on the critical path, panels of %zu; %s: "
                  "%zu workers, virtual time\n\n%-20s %7s %12s %9s %6s\n",
                  report.size,
                  report.flops,
                  100 * report.critical_path / report.flops,
                  report.panel,
                  config.platform.name.c_str(),
                  workers,
                  "scheduler",
                  "tasks",
                  "makespan s",
                  "GFlop/s",
                  "idle%");
      first = false;
    }
    std::printf("%-20s %7zu %12.6f %9.1f %6.1f\n",
                std::string(scheduler.name).c_str(),
                report.tasks,
                report.factor_seconds,
                rate,
                100 * idle);
  }
}

void run(Options const& options) {
  auto const& names = hs::policies::scheduler_names();
  if (options.scheduler != "all" && std::none_of(names.begin(), names.end(), [&](auto const& one) {
        return one.name == options.scheduler;
      })) {
    throw hs::Error(hs::ErrorCode::bad_input, "--scheduler", "there is no " + options.scheduler);
  }
  if (options.solver == "lu") {
    simulate<hs::sparse::SparseLU<double>>(options, hs::sparse::SparseLUOptions());
  } else {
    simulate<hs::sparse::SparseCholesky<double>>(options, hs::sparse::SparseCholeskyOptions());
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Makespans of a sparse factorisation on a described machine, in virtual time.");
  app.add_option("--platform", options.machine.file, "the machine's file")->required();
  app.add_option("--cpus", options.machine.cpus, "workers on cores (default: as the file says)")
      ->check(CLI::Range(0, 4096));
  app.add_option("--gpus", options.machine.gpus, "GPUs (default: as the file says)")
      ->check(CLI::Range(0, 63));
  app.add_option("--solver", options.solver, "lu (default) or cholesky")
      ->check(CLI::IsMember({"lu", "cholesky"}));
  app.add_option("--matrix", options.matrix, "a file, instead of --case");
  app.add_option(
         "--case", options.kind, "convection (default for lu), laplace (for cholesky) or circuit")
      ->check(CLI::IsMember({"convection", "laplace", "circuit"}));
  app.add_option("--k", options.k, "points per edge of the cube, or nodes of the circuit (30)")
      ->check(CLI::Range(2, 100'000));
  app.add_option(
         "--block", options.block, "rows of a tile; panels are half as wide (default: auto)")
      ->check(CLI::Range(1, 16384));
  app.add_option("--scheduler", options.scheduler, "one, or all (default)");
  app.add_option("--comm", options.comm, "transfers: free (default), model, shared")
      ->check(CLI::IsMember({"free", "model", "shared"}));
  app.add_option("--seed", options.seed, "of schedulers' random choices, and of the circuit");
  app.add_flag("--json", options.json, "a line for each scheduler");
  return benchmarks::run_program("sparse_makespans", app, argc, argv, [&] { run(options); });
}
