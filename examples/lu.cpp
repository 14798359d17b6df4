// SPDX-License-Identifier: MIT
// Solves A x = b for any square A by LU with partial pivoting, with every scheduler. A is from a
// file (--matrix), or a random matrix. Tasks work on blocks of columns, --tile wide, because a
// pivot may be in any row:
//
//     getrf(0) -> lu_update(0,1) -> getrf(1) -> lu_update(1,2) -> ...      the critical path
//             \-> lu_update(0,2) ------------>/
//
// Arguments: --n 400 --tile 64 --cpus 2 --gpus none
// Expected output:
//   lu of a random matrix (seed 1): n = 400, tiles of 64, 2 workers, kernels by ...
//   tile-size gemm on all workers: ... GFlop/s; median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 34 ...
//   eager ... 34 ...
//   random ... 34 ...
//   priority ... 34 ...
//   dataaware ... 34 ...
//   locality ... 34 ...
//   heft:xkaapi ... 34 ...
//   heft ... 34 ...
//   heftp ... 34 ...
//   dmda ... 34 ...
//   dmdar ... 34 ...
//   dmdas ... 34 ...
//   heterogeneous ... 34 ...
//   heteroprio ... 34 ...
//   heteroprio:affinity ... 34 ...
//   heteroprio:auto ... 34 ...
//   multiprio ... 34 ...
//   darts ... 34 ...
//   dualhp ... 34 ...
//   dual43 ... 34 ...
//   accel32 ... 34 ...
//   dual2 ... 34 ...
//   multigrain ... 34 ...
//   scioto:single ... 34 ...
//   scioto:double ... 34 ...

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu.hpp>

#include "common/problem.hpp"
#include "common/report.hpp"

#include <algorithm>
#include <string>

using namespace example;

namespace {

/// ||P A - L U||_F / ||A||_F
template <class Rt>
double factor_residual(Rt& rt, MatrixXd const& pa, MatrixXd const& lu) {
  MatrixXd const l = lu.triangularView<Eigen::UnitLower>();
  auto const n = pa.cols();
  return relative_norm(rt, n, pa.norm(), [&](Eigen::Index first, Eigen::Index width) {
    auto const depth = first + width;
    MatrixXd u = lu.block(0, first, depth, width);
    u.bottomRows(width).triangularView<Eigen::StrictlyLower>().setZero();
    MatrixXd rest = pa.middleCols(first, width);
    hs::linalg::kernels::gemm<double>(
        -1, block(l, 0, 0, n, depth), block(u, 0, 0, depth, width), 1, block(rest, 0, 0, n, width));
    return rest.squaredNorm();
  });
}

std::string solve(Program const& program, Options const& options) {
  Report report(program, options);
  auto const problem =
      options.matrix.empty() ? random_problem(options, 4) : square_from_file(options.matrix, 4);
  auto const& a = problem.a;
  auto const n = static_cast<std::size_t>(a.rows());
  auto const size = static_cast<double>(n);
  VectorXd const b = a * random_matrix(a.cols(), 1, options.seed + 1);
  auto const rate = gemm_rate(options, std::min(options.tile, n));
  MatrixXd lu(a.rows(), a.cols());

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    hs::linalg::ColumnBlocks const columns(rt, lu, options.tile);
    hs::linalg::Pivots const pivots(rt, columns);
    auto const graph = rt.capture([&] { hs::linalg::lu(rt, columns, pivots); });
    auto const measured = measure(rt, graph, options.repeat, [&] { lu = a; });

    MatrixXd pa = a;
    pivots.exchange_rows(pa);
    auto const factor = factor_residual(rt, pa, lu);
    VectorXd x = b;
    pivots.exchange_rows(x);
    lu.triangularView<Eigen::UnitLower>().solveInPlace(x);
    lu.triangularView<Eigen::Upper>().solveInPlace(x);
    auto const backward = backward_error(a, x, b);
    report.add({.scheduler = scheduler.name,
                .matrix = problem.name,
                .n = n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .flops = size * (4 * size * size - 3 * size + 5) / 6,
                .gemm_rate = rate,
                .measured = measured,
                .residual = std::max(factor, backward),
                .factors = "|PA-LU|/|A|",
                .factor_residual = factor,
                .backward_error = backward});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Program program{"lu",
                  "Solves A x = b by LU with partial pivoting, with every scheduler.",
                  linear_algebra_help,
                  true};
  program.devices = true;
  return run_program(
      argc, argv, program, [&](Options const& options) { return solve(program, options); });
}
