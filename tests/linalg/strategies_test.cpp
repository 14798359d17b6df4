// SPDX-License-Identifier: MIT
// Factorisations under every scheduler that looks at data and times, on cores and on devices.

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/qr.hpp>
#include <hetsched/sparse/lu.hpp>

#include "../sparse/sparse_matrices.hpp"
#include "../support/strategies.hpp"
#include "on_devices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <vector>

namespace hs = hetsched;
using Eigen::Index;
using Eigen::MatrixXd;

namespace strategies_test {

using Runtime = hs::Runtime<ChosenStrategy, hs::policies::Lru, InventedTimes>;

constexpr Index order = 150;
constexpr std::size_t tile = 32;

/// Within the usual bound for a backward stable factorisation.
void check_residual(MatrixXd const& difference, MatrixXd const& a) {
  CHECK(difference.norm() <= 10 * order * std::numeric_limits<double>::epsilon() * a.norm());
}

template <class Rt>
void check_cholesky(Rt& rt) {
  MatrixXd const half = MatrixXd::Random(order, order);
  MatrixXd const a = half * half.transpose() + order * MatrixXd::Identity(order, order);
  MatrixXd l = a;
  hs::linalg::TiledMatrix const tiles(rt, l, tile);
  using hs::linalg::PotrfOn;
  hs::linalg::cholesky(rt, tiles, devices_test::have_potrf() ? PotrfOn::any : PotrfOn::host);
  rt.sync();
  MatrixXd const lower = l.triangularView<Eigen::Lower>();
  check_residual(lower * lower.transpose() - a, a);
}

template <class Rt>
void check_lu(Rt& rt) {
  MatrixXd a = MatrixXd::Random(order, order);
  MatrixXd lu = a;
  hs::linalg::ColumnBlocks const blocks(rt, lu, tile);
  hs::linalg::Pivots const pivots(rt, blocks);
  hs::linalg::lu(rt, blocks, pivots);
  rt.sync();
  MatrixXd const upper = lu.triangularView<Eigen::Upper>();
  MatrixXd const lower = lu.triangularView<Eigen::UnitLower>();
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    a.row(static_cast<Index>(k)).swap(a.row(static_cast<Index>(pivots[k])));
  }
  check_residual(lower * upper - a, a);
}

template <class Rt>
void check_qr(Rt& rt) {
  MatrixXd const a = MatrixXd::Random(order, order);
  MatrixXd r = a;
  hs::linalg::TiledMatrix const tiles(rt, r, tile);
  hs::linalg::Reflections const q(rt, tiles);
  hs::linalg::qr(rt, tiles, q);
  rt.sync();
  MatrixXd const upper = r.triangularView<Eigen::Upper>();
  // Q^T Q = 1, so that A^T A = R^T R.
  check_residual(upper.transpose() * upper - a.transpose() * a, a.transpose() * a);
}

template <class Rt>
void check_sparse(Rt& rt) {
  auto const a = sparse_matrices::convection_diffusion<double>(7);
  hs::sparse::SparseLUOptions options;
  options.panel = 16;
  options.block = 24;
  options.sequential_below = 0;
  hs::sparse::SparseLU<double> lu(options);
  lu.factorize(rt, a);
  Eigen::VectorXd const b = Eigen::VectorXd::Random(a.rows());
  Eigen::VectorXd const x = lu.solve(rt, b);
  CHECK(lu.report().backward_error <= 1e-14);
  CHECK((a * x - b).norm() <= 1e-13 * b.norm());
}

TEST_SUITE_BEGIN("linalg");

TEST_CASE("strategies: factorisations on cores and devices") {
  for (ChosenStrategy::chosen = 0; ChosenStrategy::chosen < ChosenStrategy::count;
       ++ChosenStrategy::chosen) {
    for (int const devices : {0, 1, 2, 3}) {
      CAPTURE(ChosenStrategy::chosen);
      CAPTURE(devices);
      auto config = devices_test::on_devices(devices, 40, tile * tile * sizeof(double));
      config.cpus = 2;
      if (devices == 0) {
        config.devices = "none";
      }
      Runtime rt(config);
      check_cholesky(rt);
      check_lu(rt);
      check_qr(rt);
      check_sparse(rt);
      auto const stats = rt.stats();
      CHECK(stats.failed == 0);
    }
  }
}

TEST_SUITE_END();

} // namespace strategies_test
