// SPDX-License-Identifier: MIT
#pragma once
// What the Cholesky programs share: a system to solve, the check of the factor, a row per
// scheduler.

#include "problem.hpp"
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace example {

/// ||A - L L^T||_F / ||A||_F, one task per block of columns; zeroes what is above L's diagonal.
template <class Rt>
double factor_residual(Rt& rt, MatrixXd const& a, MatrixXd& l) {
  Eigen::Index const step = 128;
  l.triangularView<Eigen::StrictlyUpper>().setZero();
  VectorXd squares = VectorXd::Zero(a.cols() / step + 1);
  for (Eigen::Index first = 0; first < a.cols(); first += step) {
    rt.spawn()([&a, &l = std::as_const(l), &squares, first, step] {
      auto const rows = a.rows() - first;
      auto const width = std::min(step, rows);
      auto const depth = first + width;
      MatrixXd rest = a.block(first, first, rows, width);
      hs::linalg::kernels::gemm_update(block(l, first, 0, rows, depth),
                                       block(l, first, 0, width, depth),
                                       block(rest, 0, 0, rows, width));
      squares[first / step] =
          rest.topRows(width).squaredNorm() + 2 * rest.bottomRows(rows - width).squaredNorm();
    });
  }
  rt.sync();
  return a.size() == 0 ? 0 : std::sqrt(squares.sum()) / a.norm();
}

/// Solves A x = b with every scheduler. `factorise(rt, l, restore)` measures the factorisation of
/// what `restore()` puts into l.
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

  for_each_scheduler(options.scheduler, [&]<class S>(Named<S> scheduler) {
    hs::Runtime<S> rt(options.config());
    Measured const measured = factorise(rt, l, [&] { l = a; });
    auto const factor = factor_residual(rt, a, l);
    auto const backward = backward_error(a, l, b);
    report.add({.scheduler = scheduler.name,
                .matrix = problem.name,
                .n = n,
                .workers = rt.workers().size(),
                .flops = size * (size + 1) * (2 * size + 1) / 6,
                .gemm_rate = rate,
                .measured = measured,
                .residual = std::max(factor, backward),
                .factor_residual = factor,
                .backward_error = backward});
  });
  return report.complaint();
}

} // namespace example
