// SPDX-License-Identifier: MIT
// C := alpha A B + beta C by tiles, with every scheduler, checked against Eigen. Each tile of C is
// a chain of products; the chains are independent:
//
//     A(i,0) B(0,j) -> A(i,1) B(1,j) -> ... -> C(i,j)
//
// Arguments: --n 300 --tile 64 --cpus 2 --gpus none
// Expected output:
//   gemm of random matrices ...: n = 300, tiles of 64, 2 workers, kernels by ...
//   tile-size gemm on all workers: ... GFlop/s; median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 125 ...
//   eager ... 125 ...
//   random ... 125 ...
//   priority ... 125 ...
//   dataaware ... 125 ...
//   locality ... 125 ...
//   heft:xkaapi ... 125 ...
//   heft ... 125 ...
//   heftp ... 125 ...
//   dmda ... 125 ...
//   dmdar ... 125 ...
//   dmdas ... 125 ...
//   heterogeneous ... 125 ...
//   heteroprio ... 125 ...
//   heteroprio:affinity ... 125 ...
//   heteroprio:auto ... 125 ...
//   multiprio ... 125 ...
//   darts ... 125 ...
//   dualhp ... 125 ...
//   dual43 ... 125 ...
//   accel32 ... 125 ...
//   dual2 ... 125 ...
//   multigrain ... 125 ...
//   scioto:single ... 125 ...
//   scioto:double ... 125 ...

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/gemm.hpp>

#include "common/report.hpp"

#include <algorithm>
#include <string>

using namespace example;

namespace {

std::string multiply(Program const& program, Options const& options) {
  Report report(program, options);
  check_memory("--n", options.n, 5);
  auto const n = static_cast<Eigen::Index>(options.n);
  auto const size = static_cast<double>(options.n);
  double const alpha = 2;
  double const beta = -1;
  MatrixXd const a = random_matrix(n, n, options.seed);
  MatrixXd const b = random_matrix(n, n, options.seed + 1);
  MatrixXd const c = random_matrix(n, n, options.seed + 2);
  MatrixXd expected = beta * c;
  expected.noalias() += alpha * a * b;
  MatrixXd result(n, n);
  auto const rate = gemm_rate(options, std::min(options.tile, options.n));

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    Measured measured;
    {
      hs::linalg::TiledMatrix const a_tiles(rt, a, options.tile);
      hs::linalg::TiledMatrix const b_tiles(rt, b, options.tile);
      hs::linalg::TiledMatrix const c_tiles(rt, result, options.tile);
      auto const graph =
          rt.capture([&] { hs::linalg::gemm(rt, alpha, a_tiles, b_tiles, beta, c_tiles); });
      measured = measure(rt, graph, options.repeat, [&] { result = c; });
    }
    auto const error = (result - expected).norm();
    report.add({.scheduler = scheduler.name,
                .matrix = "random matrices (seed " + std::to_string(options.seed) + ")",
                .n = options.n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .flops = 2 * size * size * size,
                .gemm_rate = rate,
                .measured = measured,
                .residual = error == 0 ? 0 : error / (a.norm() * b.norm())});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Program program{"gemm",
                  "Computes C = 2 A B - C by tiles, with every scheduler, and checks it.",
                  linear_algebra_help};
  program.devices = true;
  return run_program(
      argc, argv, program, [&](Options const& options) { return multiply(program, options); });
}
