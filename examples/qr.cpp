// SPDX-License-Identifier: MIT
// Solves A x = b for any square A by tile QR, with every scheduler. A is from a file (--matrix), or
// a random matrix. The tiles of a column are eliminated one after the other, and rows of tiles
// follow in a pipeline:
//
//     geqrt(0) -> tsqrt(1,0) -> tsqrt(2,0) -> ...
//        |            |             |
//     ormqr(0,1) -> tsmqr(1,1) -> tsmqr(2,1) -> ...   and so for each column of tiles
//                      \-> geqrt(1) -> tsqrt(2,1) -> ...
//
// Arguments: --n 400 --tile 64 --cpus 2 --gpus none
// Expected output:
//   qr of a random matrix (seed 1): n = 400, tiles of 64, 2 workers, kernels by ...
//   tile-size gemm on all workers: ... GFlop/s; median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 147 ...
//   eager ... 147 ...
//   random ... 147 ...
//   priority ... 147 ...
//   dataaware ... 147 ...
//   locality ... 147 ...
//   heft:xkaapi ... 147 ...
//   heft ... 147 ...
//   heftp ... 147 ...
//   dmda ... 147 ...
//   dmdar ... 147 ...
//   dmdas ... 147 ...
//   heterogeneous ... 147 ...
//   heteroprio ... 147 ...
//   heteroprio:affinity ... 147 ...
//   heteroprio:auto ... 147 ...
//   multiprio ... 147 ...
//   darts ... 147 ...
//   dualhp ... 147 ...
//   dual43 ... 147 ...
//   accel32 ... 147 ...
//   dual2 ... 147 ...
//   multigrain ... 147 ...
//   scioto:single ... 147 ...
//   scioto:double ... 147 ...

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/qr.hpp>

#include "common/problem.hpp"
#include "common/report.hpp"

#include <algorithm>
#include <cmath>
#include <string>

using namespace example;

namespace {

/// ||A - Q R||_F / ||A||_F
template <class Rt>
double factor_residual(Rt& rt, MatrixXd const& a, MatrixXd const& q, MatrixXd const& qr) {
  auto const n = a.cols();
  return relative_norm(rt, n, a.norm(), [&](Eigen::Index first, Eigen::Index width) {
    auto const depth = first + width;
    MatrixXd r = qr.block(0, first, depth, width);
    r.bottomRows(width).triangularView<Eigen::StrictlyLower>().setZero();
    MatrixXd rest = a.middleCols(first, width);
    hs::linalg::kernels::gemm<double>(
        -1, block(q, 0, 0, n, depth), block(r, 0, 0, depth, width), 1, block(rest, 0, 0, n, width));
    return rest.squaredNorm();
  });
}

/// ||Q Q^T - I||_F / sqrt(n), which is ||Q^T Q - I||_F / sqrt(n) since Q is square.
template <class Rt>
double orthogonality(Rt& rt, MatrixXd const& q) {
  auto const n = q.cols();
  auto const size = std::sqrt(static_cast<double>(n));
  return relative_norm(rt, n, size, [&](Eigen::Index first, Eigen::Index width) {
    MatrixXd rest = MatrixXd::Zero(n - first, width);
    rest.diagonal().setOnes();
    hs::linalg::kernels::gemm_update(block(q, first, 0, n - first, n),
                                     block(q, first, 0, width, n),
                                     block(rest, 0, 0, n - first, width));
    return rest.topRows(width).squaredNorm() + 2 * rest.bottomRows(n - first - width).squaredNorm();
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
  MatrixXd qr(a.rows(), a.cols());
  MatrixXd q(a.rows(), a.cols());

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    VectorXd x = b;
    hs::linalg::TiledMatrix const tiles(rt, qr, options.tile);
    hs::linalg::TiledMatrix const q_tiles(rt, q, options.tile);
    hs::linalg::TiledMatrix const x_tiles(rt, x, options.tile);
    hs::linalg::Reflections const reflections(rt, tiles);
    auto const graph = rt.capture([&] { hs::linalg::qr(rt, tiles, reflections); });
    auto const measured = measure(rt, graph, options.repeat, [&] { qr = a; });

    q.setIdentity();
    hs::linalg::apply_q(rt, hs::linalg::Transpose::no, tiles, reflections, q_tiles);
    hs::linalg::apply_q(rt, hs::linalg::Transpose::yes, tiles, reflections, x_tiles);
    rt.sync();
    if ((qr.diagonal().array() == 0).any()) {
      throw hs::Error(hs::ErrorCode::numerical, "qr", "the matrix is singular");
    }
    qr.triangularView<Eigen::Upper>().solveInPlace(x);
    auto const factor = factor_residual(rt, a, q, qr);
    auto const orthogonal = orthogonality(rt, q);
    auto const backward = backward_error(a, x, b);
    report.add({.scheduler = scheduler.name,
                .matrix = problem.name,
                .n = n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .flops = size * (4 * size * size + 6 * size + 14) / 3,
                .gemm_rate = rate,
                .measured = measured,
                .residual = std::max({factor, orthogonal, backward}),
                .factors = " |A-QR|/|A|",
                .factor_residual = factor,
                .backward_error = backward,
                .orthogonality = orthogonal});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Program program{
      "qr", "Solves A x = b by tile QR, with every scheduler.", linear_algebra_help, true};
  program.devices = true;
  return run_program(
      argc, argv, program, [&](Options const& options) { return solve(program, options); });
}
