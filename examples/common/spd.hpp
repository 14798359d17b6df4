// SPDX-License-Identifier: MIT
#pragma once
// What the Cholesky programs share: a system to solve, the check of the factor, a row per
// scheduler.

#include "problem.hpp"
#include "report.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace example {

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

/// Solves A x = b with every scheduler. `factorise(rt, l, restore)` measures the factorisation of
/// l. `restore()` puts the matrix into l.
template <class Factorise>
std::string solve(Program const& program, Options const& options, Factorise&& factorise) {
  Report report(program, options);
  auto const problem =
      options.matrix.empty() ? covariance(options) : symmetric_from_file(options.matrix);
  auto const& a = problem.a;
  auto const n = static_cast<std::size_t>(a.rows());
  auto const size = static_cast<double>(n);
  VectorXd const b = a * random_matrix(a.cols(), 1, options.seed);
  auto const rate = gemm_rate(options, std::min(options.tile, n));
  MatrixXd l(a.rows(), a.cols());

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    Measured const measured = factorise(rt, l, [&] { l = a; });
    auto const factor = factor_residual(rt, a, l);
    VectorXd x = b;
    l.triangularView<Eigen::Lower>().solveInPlace(x);
    l.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
    auto const backward = backward_error(a, x, b);
    report.add({.scheduler = scheduler.name,
                .matrix = problem.name,
                .n = n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
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

} // namespace example
