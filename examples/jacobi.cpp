// SPDX-License-Identifier: MIT
// Poisson's equation on the unit square by Jacobi sweeps over tiles, with every scheduler. The
// result is compared with sequential sweeps by Eigen, bit for bit. A sweep of a tile needs the tile
// and one line of each neighbour, both from the sweep before:
//
//              north
//                |
//      west -- tile -- east     sweep s  ->  tile     sweep s + 1
//                |
//              south
//
// Arguments: --n 200 --tile 64 --sweeps 10 --cpus 2 --gpus none
// Expected output:
//   jacobi of 10 sweeps over a random Poisson problem: n = 200, tiles of 64, 2 workers
//   median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 176 ...
//   eager ... 176 ...
//   random ... 176 ...
//   priority ... 176 ...
//   dataaware ... 176 ...
//   locality ... 176 ...
//   heft:xkaapi ... 176 ...
//   heft ... 176 ...
//   heftp ... 176 ...
//   dmda ... 176 ...
//   dmdar ... 176 ...
//   dmdas ... 176 ...
//   heterogeneous ... 176 ...
//   heteroprio ... 176 ...
//   heteroprio:affinity ... 176 ...
//   heteroprio:auto ... 176 ...
//   multiprio ... 176 ...
//   darts ... 176 ...
//   dualhp ... 176 ...
//   dual43 ... 176 ...
//   accel32 ... 176 ...
//   dual2 ... 176 ...
//   multigrain ... 176 ...
//   scioto:single ... 176 ...
//   scioto:double ... 176 ...

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include "common/report.hpp"

#include <algorithm>
#include <cmath>
#include <string>

using namespace example;

namespace {

/// The sum of each point's neighbours and b.
auto neighbours(MatrixXd const& u, MatrixXd const& b) {
  auto const n = b.rows();
  return ((u.block(0, 1, n, n) + u.block(2, 1, n, n)) +
          (u.block(1, 0, n, n) + u.block(1, 2, n, n))) +
         b;
}

std::string iterate(Program const& program, Options const& options, std::size_t sweeps) {
  Report report(program, options);
  check_memory("--n", options.n, 6);
  auto const n = static_cast<Eigen::Index>(options.n);
  auto const points = static_cast<double>(n) * static_cast<double>(n);
  MatrixXd const start = random_matrix(n + 2, n + 2, options.seed); // with the boundary
  MatrixXd const b = random_matrix(n, n, options.seed + 1) / (1 + points);
  MatrixXd expected = start;
  for (std::size_t s = 0; s < sweeps; ++s) {
    MatrixXd const next = 0.25 * neighbours(expected, b);
    expected.block(1, 1, n, n) = next;
  }
  auto const norm = (neighbours(expected, b) - 4 * expected.block(1, 1, n, n)).norm(); // b - A u
  MatrixXd u(n + 2, n + 2);

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    Measured measured;
    double squares = 0;
    {
      hs::stencil::PoissonGrid const grid(rt,
                                          block(u, 0, 0, n + 2, n + 2),
                                          hs::TileView(b.data(), options.n, options.n, options.n),
                                          options.tile);
      auto const graph = rt.capture([&] { hs::stencil::jacobi(rt, grid, sweeps); });
      measured = measure(rt, graph, options.repeat, [&] { u = start; });
      auto const sum = rt.data(squares);
      hs::stencil::squared_residual(rt, grid, sum);
      rt.sync();
    }
    auto const wrong_norm = norm == 0 ? squares : std::abs(std::sqrt(squares) - norm) / norm;
    report.add({.scheduler = scheduler.name,
                .matrix = std::to_string(sweeps) + " sweeps over a random Poisson problem",
                .n = options.n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .flops = 5 * points * static_cast<double>(sweeps),
                .measured = measured,
                .residual = std::max((u - expected).norm() / expected.norm(), wrong_norm),
                .bytes = 3 * sizeof(double) * points * static_cast<double>(sweeps)});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  std::size_t sweeps = 20;
  Program program{
      "jacobi",
      "Makes Jacobi sweeps for Poisson's equation, with every scheduler, and checks them.",
      other_help};
  program.defaults.tile = 256;
  program.add_options = [&](CLI::App& app) {
    add_number(app, "--sweeps", 0, 1'000'000, sweeps, "Jacobi steps");
  };
  program.devices = true;
  return run_program(argc, argv, program, [&](Options const& options) {
    return iterate(program, options, sweeps);
  });
}
