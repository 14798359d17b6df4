// SPDX-License-Identifier: MIT
// The same as cholesky.cpp, by nested tasks: each cuts its block in four and spawns tasks on the
// parts, down to leaves of --tile rows and columns. The factor is bit for bit the same.
//
//     recursive potrf
//      |-- recursive potrf                    the upper left part
//      |    |-- potrf -> trsm -> syrk -> potrf
//      |-- recursive trsm                     the lower left one
//      |-- recursive syrk
//      |-- recursive potrf                    the lower right one
//
// Arguments: --n 400 --tile 64 --cpus 2 --gpus none
// Expected output:
//   recursive_cholesky of a generated covariance matrix ...: n = 400, leaves of 64, 2 workers, ...
//   tile-size gemm on all workers: ... GFlop/s; median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 108 ...
//   eager ... 108 ...
//   random ... 108 ...
//   priority ... 108 ...
//   dataaware ... 108 ...
//   locality ... 108 ...
//   heft:xkaapi ... 108 ...
//   dmda ... 108 ...
//   dmdar ... 108 ...
//   dmdas ... 108 ...
//   scioto:single ... 108 ...
//   scioto:double ... 108 ...

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/recursive_cholesky.hpp>

#include "common/spd.hpp"

using namespace example;

int main(int argc, char** argv) {
  Program program{"recursive_cholesky",
                  "Solves A x = b by Cholesky with nested tasks, with every scheduler.",
                  linear_algebra_help,
                  true};
  program.parts = "leaves";
  program.devices = true;
  return run_program(argc, argv, program, [&](Options const& options) {
    return solve(program, options, [&](auto& rt, MatrixXd& l, auto const& restore) {
      auto const whole = rt.data(l);
      auto const graph =
          rt.capture([&] { hs::linalg::recursive_cholesky(rt, whole, options.tile); });
      return measure_nested(rt, graph, options.repeat, restore);
    });
  });
}
