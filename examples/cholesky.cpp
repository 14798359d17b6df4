// SPDX-License-Identifier: MIT
// Solves A x = b for a symmetric positive definite A by tile Cholesky, with every scheduler: from a
// file (--matrix), or a generated covariance matrix. Compares the time with this machine's GEMM
// rate and with the lower bound on any schedule.
//
//     potrf(0) -> trsm(1,0) -> syrk(1,1) -> potrf(1) -> ...       the critical path
//             \-> trsm(2,0) -> gemm(2,1) -> trsm(2,1) -> ...
//
// Arguments: --n 400 --tile 64 --cpus 2
// Expected output:
//   cholesky of a generated covariance matrix ...: n = 400, tiles of 64, 2 workers, kernels by ...
//   tile-size gemm on all workers: ... GFlop/s; median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 84 ...
//   eager ... 84 ...
//   random ... 84 ...
//   priority ... 84 ...

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>

#include "common/problem.hpp"
#include "common/report.hpp"

#include <algorithm>
#include <string>
#include <utility>

using namespace example;

namespace {

/// ||A - L L^T||_F / ||A||_F; zeroes what is above L's diagonal.
template <class Rt>
double factor_residual(Rt& rt, MatrixXd const& a, MatrixXd& l) {
  l.triangularView<Eigen::StrictlyUpper>().setZero();
  return relative_norm(
      rt, a.cols(), a.norm(), [&a, &l = std::as_const(l)](Eigen::Index first, Eigen::Index width) {
        auto const rows = a.rows() - first;
        auto const depth = first + width;
        MatrixXd rest = a.block(first, first, rows, width);
        hs::linalg::kernels::gemm_update(block(l, first, 0, rows, depth),
                                         block(l, first, 0, width, depth),
                                         block(rest, 0, 0, rows, width));
        return rest.topRows(width).squaredNorm() + 2 * rest.bottomRows(rows - width).squaredNorm();
      });
}

std::string solve(Program const& program, Options const& options) {
  Report report(program, options);
  auto const problem =
      options.matrix.empty() ? covariance(options) : symmetric_from_file(options.matrix);
  auto const& a = problem.a;
  auto const n = static_cast<std::size_t>(a.rows());
  auto const size = static_cast<double>(n);
  VectorXd const b = a * random_matrix(a.cols(), 1, options.seed);
  auto const rate = gemm_rate(options, std::min(options.tile, n));
  MatrixXd l(a.rows(), a.cols());

  for_each_scheduler(options.scheduler, [&]<class S>(Named<S> scheduler) {
    hs::Runtime<S> rt(options.config());
    Measured measured;
    {
      hs::linalg::TiledMatrix const tiles(rt, l, options.tile);
      auto const graph = rt.capture([&] { hs::linalg::cholesky(rt, tiles); });
      measured = measure(rt, graph, options.repeat, [&] { l = a; });
    }
    auto const factor = factor_residual(rt, a, l);
    VectorXd x = b;
    l.triangularView<Eigen::Lower>().solveInPlace(x);
    l.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
    auto const backward = backward_error(a, x, b);
    report.add({.scheduler = scheduler.name,
                .matrix = problem.name,
                .n = n,
                .workers = rt.workers().size(),
                .flops = size * (size + 1) * (2 * size + 1) / 6,
                .gemm_rate = rate,
                .measured = measured,
                .residual = std::max(factor, backward),
                .factors = "|A-LL'|/|A|",
                .factor_residual = factor,
                .backward_error = backward});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Program const program{"cholesky",
                        "Solves A x = b by tile Cholesky, with every scheduler.",
                        linear_algebra_help,
                        true};
  return run_program(
      argc, argv, program, [&](Options const& options) { return solve(program, options); });
}
