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
//
//   scheduler ...
//   ws ... 84 ...
//   eager ... 84 ...
//   random ... 84 ...
//   priority ... 84 ...

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/matrix_io.hpp>

#include "common.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

using namespace example;

namespace {

struct Problem {
  std::string name;
  MatrixXd a; // both triangles
};

/// Exponential covariance of random points of the unit square, plus a nugget of 1e-4.
Problem covariance(Options const& options) {
  check_memory("--n", options.n, 2);
  auto const n = static_cast<Eigen::Index>(options.n);
  auto const points = random_matrix(2, n, options.seed);
  Problem problem{"a generated covariance matrix (exponential, seed " +
                      std::to_string(options.seed) + ")",
                  MatrixXd(n, n)};
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      problem.a(i, j) = std::exp(-(points.col(i) - points.col(j)).norm() / 0.2);
    }
    problem.a(j, j) += 1e-4;
  }
  return problem;
}

Problem from_file(std::string const& path) {
  auto const file = hs::linalg::read_matrix(path);
  auto const& sparse = file.matrix;
  if (sparse.rows() != sparse.cols()) {
    bad_input(path,
              "the matrix is " + std::to_string(sparse.rows()) + " x " +
                  std::to_string(sparse.cols()) + ", not square");
  }
  check_memory(path, static_cast<std::size_t>(sparse.rows()), 2);
  Problem problem{path, MatrixXd(sparse)};
  auto const& a = problem.a;
  for (Eigen::Index j = 0; j < a.cols() && !file.symmetric; ++j) {
    for (Eigen::Index i = j + 1; i < a.rows(); ++i) {
      if (a(i, j) != a(j, i) && !(std::isnan(a(i, j)) && std::isnan(a(j, i)))) {
        std::ostringstream text;
        text << "not symmetric: entry (" << i + 1 << ", " << j + 1 << ") is " << a(i, j) << ", ("
             << j + 1 << ", " << i + 1 << ") is " << a(j, i);
        bad_input(path, text.str());
      }
    }
  }
  return problem;
}

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

/// ||b - A x|| / (||A||_F ||x|| + ||b||) for the x that L L^T x = b gives.
double backward_error(MatrixXd const& a, MatrixXd const& l, VectorXd const& b) {
  VectorXd x = b;
  l.triangularView<Eigen::Lower>().solveInPlace(x);
  l.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
  auto const error = (b - a * x).norm();
  return error == 0 ? 0 : error / (a.norm() * x.norm() + b.norm());
}

void solve(Options const& options, Report& report) {
  auto const problem = options.matrix.empty() ? covariance(options) : from_file(options.matrix);
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
}

} // namespace

int main(int argc, char** argv) {
  return run_program(argc,
                     argv,
                     {"cholesky", "Solves A x = b by tile Cholesky, with every scheduler.", true},
                     solve);
}
