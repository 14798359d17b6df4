// SPDX-License-Identifier: MIT
// Measures this machine into a file that describes it (docs/platforms.md): the kernels of tile
// algorithms as the runtime runs them, on all workers at once, and what its transfers take. What a
// run here did can then be simulated, its bounds computed, and its links known to the performance
// model Bandwidth. Shows what models have kept, too.

#include "../common/run_program.hpp"
#include "calibration.hpp"
#include "model_files.hpp"

#include <CLI/CLI.hpp>

namespace hs = hetsched;

int main(int argc, char** argv) {
  benchmarks::Calibration options;
  CLI::App app("Measures this machine into a file for simulate and bounds.");
  app.add_option("--out", options.out, "the file (default: the models' under HETSCHED_MODEL_DIR)");
  app.add_option("--name", options.name, "of the machine (default: here)");
  app.add_option("--algorithms",
                 options.algorithms,
                 "whose kernels: cholesky,qr (default), gemm, jacobi, sparse_lu, sparse_cholesky")
      ->delimiter(',')
      ->check(CLI::IsMember({"cholesky", "qr", "gemm", "jacobi", "sparse_lu", "sparse_cholesky"}));
  app.add_option("--tile", options.tiles, "sizes of tiles (default 128,256,512)")
      ->delimiter(',')
      ->check(CLI::Range(1, 16384));
  app.add_option("--precision", options.precision, "single or double (default)")
      ->check(CLI::IsMember({"single", "double"}));
  app.add_option("--gpus", options.devices, "devices, as in HETSCHED_DEVICES (default none)");
  app.add_option("--cpus", options.cpus, "workers on cores; by default all that devices leave")
      ->check(CLI::Range(1, 4096));
  app.add_option("--groups", options.groups, "also on groups of so many cores, as in 2,5")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096));
  app.add_option("--repeat", options.repeat, "runs for each, on 6 x 6 tiles (default 3)")
      ->check(CLI::Range(1, 1000));
  bool show = false;
  app.add_flag("--show", show, "measure nothing, print the models under HETSCHED_MODEL_DIR");
  return benchmarks::run_program("calibrate", app, argc, argv, [&] {
    if (show) {
      hs::Config config;
      hs::detail::resolve_config(config);
      benchmarks::show_models(config.model_dir);
    } else {
      benchmarks::calibrate(options);
    }
  });
}
