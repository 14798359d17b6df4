// SPDX-License-Identifier: MIT
// Solves A x = b for a symmetric positive definite A by tile Cholesky, with every scheduler: from a
// file (--matrix), or a generated covariance matrix. Compares the time with this machine's GEMM
// rate and with the lower bound on any schedule.
//
//     potrf(0) -> trsm(1,0) -> syrk(1,1) -> potrf(1) -> ...       the critical path
//             \-> trsm(2,0) -> gemm(2,1) -> trsm(2,1) -> ...
//
// Arguments: --n 400 --tile 64 --cpus 2 --gpus none
// Expected output:
//   cholesky of a generated covariance matrix ...: n = 400, tiles of 64, 2 workers, kernels by ...
//   tile-size gemm on all workers: ... GFlop/s; median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 84 ...
//   eager ... 84 ...
//   random ... 84 ...
//   priority ... 84 ...
//   dataaware ... 84 ...
//   locality ... 84 ...
//   heft:xkaapi ... 84 ...
//   dmda ... 84 ...
//   dmdar ... 84 ...
//   dmdas ... 84 ...
//   scioto:single ... 84 ...
//   scioto:double ... 84 ...

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>

#include "common/spd.hpp"

using namespace example;

int main(int argc, char** argv) {
  Program program{"cholesky",
                  "Solves A x = b by tile Cholesky, with every scheduler.",
                  linear_algebra_help,
                  true};
  program.devices = true;
  std::string potrf = "host";
  program.add_options = [&](CLI::App& app) {
    add_choice(app,
               "--potrf",
               {"host", "any"},
               potrf,
               "where diagonal tiles are factorised: host (default), or any, GPUs too");
  };
  return run_program(argc, argv, program, [&](Options const& options) {
    auto const where = potrf == "any" ? hs::linalg::PotrfOn::any : hs::linalg::PotrfOn::host;
    return solve(program, options, [&](auto& rt, MatrixXd& l, auto const& restore) {
      hs::linalg::TiledMatrix const tiles(rt, l, options.tile);
      auto const graph = rt.capture([&] { hs::linalg::cholesky(rt, tiles, where); });
      return measure(rt, graph, options.repeat, restore);
    });
  });
}
