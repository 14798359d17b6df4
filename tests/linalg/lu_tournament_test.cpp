// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu_tournament.hpp>

#include "factorisations.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::linalg::TiledMatrix;
using hs::linalg::TournamentPivots;

namespace lu_tournament_test {

TEST_SUITE_BEGIN("linalg/lu");

using factorisations::inf;
using factorisations::Matrix;
using factorisations::quiet_nan;

/// Factors, and P A.
template <class T>
struct Factors {
  Matrix<T> lu;
  Matrix<T> permuted;
  std::vector<std::size_t> pivots;

  friend bool operator==(Factors const& a, Factors const& b) {
    return a.lu == b.lu && a.pivots == b.pivots;
  }
};

template <class T, class Rt>
Factors<T> factorise(Rt& rt, Matrix<T> const& a, std::size_t tile) {
  Factors<T> result{a, a, {}};
  TiledMatrix const tiles(rt, result.lu, tile);
  TournamentPivots const pivots(rt, tiles);
  hs::linalg::lu_tournament(rt, tiles, pivots);
  rt.sync();
  pivots.exchange_rows(result.permuted);
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    result.pivots.push_back(pivots[k]);
  }
  return result;
}

template <class T>
Matrix<T> lower(Factors<T> const& of) {
  return of.lu.template triangularView<Eigen::UnitLower>();
}

/// ||P A - L U|| / ||A||
template <class T>
T residual(Factors<T> const& of) {
  Matrix<T> const u = of.lu.template triangularView<Eigen::Upper>();
  return (of.permuted - lower(of) * u).norm() / of.permuted.norm();
}

/// The largest modulus in L: 1 by partial pivoting.
template <class T>
T largest(Factors<T> const& of) {
  return lower(of).cwiseAbs().maxCoeff();
}

/// What rounding errors of n steps may add up to.
template <class T>
T small(Eigen::Index n) {
  return T(4) * (T(10) + std::sqrt(static_cast<T>(n))) * std::numeric_limits<T>::epsilon();
}

template <class T, class Rt>
T check_size(Rt& rt, Eigen::Index n, std::size_t tile) {
  CAPTURE(n);
  CAPTURE(tile);
  auto const found = factorise<T>(rt, Matrix<T>::Random(n, n), tile);
  REQUIRE(found.pivots.size() == static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < found.pivots.size(); ++k) {
    CHECK(found.pivots[k] >= k);
    CHECK(found.pivots[k] < found.pivots.size());
  }
  if (n == 0) {
    return 1;
  }
  CHECK(residual(found) < small<T>(n));
  if (tile == 1 || static_cast<Eigen::Index>(tile) >= n) {
    CHECK(largest(found) == T(1)); // partial pivoting
  }
  CHECK(largest(found) < T(10));
  return largest(found);
}

TEST_CASE_TEMPLATE("lu tournament: factors of any size", T, float, double) {
  hs::Runtime<> rt({.cpus = 2, .devices = "none"});
  T most = 0;
  for (Eigen::Index const n : {0, 1, 5, 8, 9, 31, 64, 75}) {
    for (std::size_t const tile : {1U, 8U, 100U}) {
      most = std::max(most, check_size<T>(rt, n, tile));
    }
  }
  most = std::max(most, check_size<T>(rt, 300, 16));
  most = std::max(most, check_size<T>(rt, 301, 50));
  MESSAGE("the largest element of L: " << static_cast<double>(most));
}

TEST_CASE("lu tournament: on groups of cores") {
  hs::Runtime<> rt({.cpus = 2, .group = 2, .bind = hs::Bind::none, .devices = "none"});
  check_size<double>(rt, 300, 100);
  check_size<double>(rt, 150, 200);
}

/// Wilkinson's: in each step of partial pivoting the last column grows by a factor of 2.
Matrix<double> wilkinson(Eigen::Index n) {
  Matrix<double> a = Matrix<double>::Identity(n, n);
  a.triangularView<Eigen::StrictlyLower>().setConstant(-1);
  a.col(n - 1).setOnes();
  return a;
}

TEST_CASE("lu tournament: matrices that need pivots") {
  hs::Runtime<> rt({.cpus = 2, .devices = "none"});
  Eigen::Index const n = 50;
  Matrix<double> const random = Matrix<double>::Random(n, n);
  Matrix<double> zeros = random;
  zeros.diagonal().setZero();
  Matrix<double> graded = random;
  Matrix<double> tiny = random;
  for (Eigen::Index i = 0; i < n; ++i) {
    graded.row(i) *= std::pow(10.0, static_cast<double>(i - n) / 4);
    tiny(i, i) = 1e-20;
  }
  // Tiles without any pivot, and with fewer than they have rows.
  Matrix<double> const reverse = Matrix<double>::Identity(n, n).rowwise().reverse();
  Matrix<double> poor = random;
  poor.topLeftCorner(8, 8).setZero();
  poor.block(8, 0, 8, 8).setOnes();
  poor.block(24, 8, 8, 8).col(3).setZero();
  for (auto const& a : {zeros,
                        graded,
                        tiny,
                        reverse,
                        poor,
                        wilkinson(30),
                        Matrix<double>(1e-300 * random),
                        Matrix<double>(1e300 * random)}) {
    for (std::size_t const tile : {1U, 8U, 13U, 60U}) {
      CAPTURE(tile);
      auto const found = factorise<double>(rt, a, tile);
      double const scale = a.cwiseAbs().maxCoeff();
      Matrix<double> const u = found.lu.triangularView<Eigen::Upper>().toDenseMatrix() / scale;
      CHECK((found.permuted / scale - lower(found) * u).norm() < 1e-13 * (a / scale).norm());
      CHECK(largest(found) < 10);
    }
  }
}

/// ||A x - b|| / (||A|| ||x||)
double backward_error(Matrix<double> const& a, Matrix<double> const& x, Matrix<double> const& b) {
  return (a * x - b).norm() / (a.norm() * x.norm());
}

TEST_CASE("lu tournament: solves as well as partial pivoting") {
  hs::Runtime<> rt({.cpus = 2, .devices = "none"});
  for (Eigen::Index const n : {40, 200}) {
    Matrix<double> a = Matrix<double>::Random(n, n);
    Matrix<double> const b = Matrix<double>::Random(n, 3);
    Matrix<double> x = b;
    Matrix<double> lu = a;
    TiledMatrix const tiles(rt, lu, 16);
    TournamentPivots const pivots(rt, tiles);
    for (int run = 0; run < 2; ++run) { // with the same pivots, once more
      lu = a;
      x = b;
      hs::linalg::lu_tournament(rt, tiles, pivots);
      rt.sync();
      pivots.exchange_rows(x);
      lu.triangularView<Eigen::UnitLower>().solveInPlace(x);
      lu.triangularView<Eigen::Upper>().solveInPlace(x);
      CHECK(backward_error(a, x, b) <= 10 * backward_error(a, a.partialPivLu().solve(b), b));
      a.row(0).swap(a.row(n - 1));
    }
  }
}

template <class Scheduler>
Factors<double> on(Matrix<double> const& a, hs::Config const& config, std::size_t tile = 16) {
  hs::Runtime<Scheduler> rt(config);
  return factorise<double>(rt, a, tile);
}

TEST_CASE("lu tournament: the same bits under every scheduler, and right on devices") {
  Matrix<double> const a = Matrix<double>::Random(150, 150);
  auto const expected = on<hs::policies::WorkStealing<>>(a, {.cpus = 1, .devices = "none"});
  CHECK(residual(expected) < small<double>(150));
  for (int const cpus : {1, 2, 3}) {
    hs::Config const cores{.cpus = cpus, .bind = hs::Bind::none, .devices = "none"};
    CHECK(on<hs::policies::WorkStealing<>>(a, cores) == expected);
    CHECK(on<hs::policies::Priority<>>(a, cores) == expected);
    CHECK(on<hs::policies::Eager<>>(a, cores) == expected);
  }
  hs::Config const devices{.cpus = 2, .devices = "emu:2"};
  CHECK(residual(on<hs::policies::Priority<>>(a, devices)) < small<double>(150));
}

TEST_CASE("lu tournament: priorities are bottom levels") {
  hs::Runtime<> rt({.cpus = 1, .devices = "none"});
  for (std::size_t const n : {1U, 2U, 3U, 9U, 17U}) {
    CAPTURE(n);
    auto const size = static_cast<Eigen::Index>(n);
    Matrix<double> a = Matrix<double>::Random(size, size);
    TiledMatrix const tiles(rt, a, 1);
    TournamentPivots const pivots(rt, tiles);
    auto const graph = rt.capture([&] { hs::linalg::lu_tournament(rt, tiles, pivots); });
    auto const& tasks = graph.tasks();
    std::size_t merges = 0;
    for (std::size_t m = 1; m <= n; ++m) {
      std::size_t stride = 1;
      while (4 * stride < m) {
        stride *= 2;
      }
      merges += 2 * stride - 1;
    }
    CHECK(tasks.size() == n * (n + 1) * (2 * n + 1) / 6 + n * (n + 1) + merges + 1);
    auto const levels = hs::bottom_levels(tasks, std::vector(tasks.size(), hs::Duration{1}));
    std::size_t others = 0;
    for (std::size_t v = 0; v < tasks.size(); ++v) {
      others += tasks.nodes()[v].priority == levels[v].ns ? 0 : 1;
    }
    CHECK(others == 0);
  }
}

/// What is said of a matrix.
std::string told(Matrix<double> const& a, int cpus = 2, std::size_t tile = 8) {
  hs::Runtime<> rt({.cpus = cpus, .bind = hs::Bind::none, .devices = "none"});
  try {
    (void)factorise<double>(rt, a, tile);
  } catch (hs::Error const& error) {
    CHECK(error.code() == hs::ErrorCode::numerical);
    CHECK(residual(factorise<double>(rt, Matrix<double>::Random(40, 40), tile)) < 1e-13);
    return error.what();
  }
  return "";
}

TEST_CASE("lu tournament: what cannot be factorised is told") {
  Matrix<double> const random = Matrix<double>::Random(30, 30);
  // Row and column 17 have nothing but an element on the diagonal.
  auto const alone = [&](double element) {
    Matrix<double> a = random;
    a.row(17).setZero();
    a.col(17).setZero();
    a(17, 17) = element;
    return a;
  };
  for (int const cpus : {1, 3}) {
    CHECK(told(alone(0), cpus) == "hetsched: lu_tournament: singular at column 17 (tile 2, 2)");
    CHECK(told(alone(inf), cpus) == "hetsched: lu_tournament: infinity at column 17 (tile 2, 2)");
    CHECK(told(alone(-inf), cpus) == "hetsched: lu_tournament: infinity at column 17 (tile 2, 2)");
    CHECK(told(alone(quiet_nan), cpus) == "hetsched: lu_tournament: NaN at column 17 (tile 2, 2)");
    CHECK(told(alone(1), cpus).empty());
  }
  CHECK(told(Matrix<double>::Zero(20, 20)) ==
        "hetsched: lu_tournament: singular at column 0 (tile 0, 0)");
  for (auto const& [i, j] : {std::pair{29, 5}, {0, 5}, {12, 5}, {29, 29}, {3, 29}, {29, 0}}) {
    CAPTURE(i);
    CAPTURE(j);
    for (std::size_t const tile : {1U, 8U, 64U}) { // in column j, wherever it is
      auto const at = " at column " + std::to_string(j) + " ";
      CHECK(told(factorisations::with(random, i, j, quiet_nan), 2, tile).find("NaN" + at) !=
            std::string::npos);
      CHECK(told(factorisations::with(random, i, j, inf), 2, tile).find(at) != std::string::npos);
    }
  }
}

TEST_CASE("lu tournament: wrong calls") {
  hs::Runtime<> rt({.cpus = 1, .devices = "none"});
  Matrix<double> flat(4, 6);
  TiledMatrix const tiles(rt, flat, 2);
  TournamentPivots const pivots(rt, tiles);
  CHECK_THROWS_WITH_AS(hs::linalg::lu_tournament(rt, tiles, pivots),
                       "hetsched: lu_tournament: the matrix is 4 x 6, not square",
                       hs::Error);
  Matrix<double> square(4, 4);
  TiledMatrix const other(rt, square, 4);
  CHECK_THROWS_WITH_AS(hs::linalg::lu_tournament(rt, other, pivots),
                       "hetsched: lu_tournament: the pivots were made for another matrix",
                       hs::Error);
}

TEST_SUITE_END();

} // namespace lu_tournament_test
