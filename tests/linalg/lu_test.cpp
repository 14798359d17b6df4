// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu.hpp>

#include "../support/schedulers.hpp"
#include "factorisations.hpp"
#include "on_devices.hpp"

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
using hs::linalg::ColumnBlocks;
using hs::linalg::Pivots;

namespace lu_test {

TEST_SUITE_BEGIN("linalg/lu");

using factorisations::inf;
using factorisations::Matrix;
using factorisations::quiet_nan;

/// Factorises in place; row k was exchanged with row [k].
template <class Rt, class T>
std::vector<std::size_t> factorise(Rt& rt, Matrix<T>& a, std::size_t width) {
  ColumnBlocks const blocks(rt, a, width);
  Pivots const pivots(rt, blocks);
  hs::linalg::lu(rt, blocks, pivots);
  rt.sync();
  std::vector<std::size_t> result(pivots.size());
  for (std::size_t k = 0; k < result.size(); ++k) {
    result[k] = pivots[k];
  }
  return result;
}

template <class M>
void exchange(M& matrix, std::vector<std::size_t> const& pivots) {
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    auto const other = static_cast<Eigen::Index>(pivots[k]);
    matrix.row(static_cast<Eigen::Index>(k)).swap(matrix.row(other));
  }
}

/// ||P A - L U|| / ||A||
template <class T>
T residual(Matrix<T> a, Matrix<T> const& lu, std::vector<std::size_t> const& pivots) {
  auto const norm = a.norm();
  exchange(a, pivots);
  auto const depth = std::min(a.rows(), a.cols());
  Matrix<T> const l = lu.leftCols(depth).template triangularView<Eigen::UnitLower>();
  Matrix<T> const u = lu.topRows(depth).template triangularView<Eigen::Upper>();
  return norm == T(0) ? T(0) : (a - l * u).norm() / norm;
}

/// What holds of any factors of A; not a template over the runtime, to compile once.
template <class T>
void check_factors(Matrix<T> const& a,
                   Matrix<T> const& lu,
                   std::vector<std::size_t> const& pivots) {
  auto const m = a.rows();
  auto const n = a.cols();
  CHECK(pivots.size() == static_cast<std::size_t>(std::min(m, n)));
  // Rounding errors of n steps add up to about sqrt(n) of them, in another order in each BLAS
  // kernel.
  auto const steps = static_cast<T>(std::min(m, n));
  CHECK(residual(a, lu, pivots) <= (T(10) + std::sqrt(steps)) * std::numeric_limits<T>::epsilon());
  for (Eigen::Index j = 0; j < n; ++j) {
    CHECK((j + 1 >= m || lu.col(j).tail(m - j - 1).cwiseAbs().maxCoeff() <= T(1)));
  }
  if (m == n && n > 0) {
    Eigen::PartialPivLU<Matrix<T>> const expected(a);
    Eigen::VectorXd rows = Eigen::VectorXd::LinSpaced(n, 0, static_cast<double>(n - 1));
    Eigen::VectorXd const same = expected.permutationP() * rows;
    exchange(rows, pivots);
    CHECK(rows == same);
    CHECK((lu - expected.matrixLU()).norm() <=
          T(1000) * std::numeric_limits<T>::epsilon() * T(n) * lu.norm());
  }
}

template <class T, class Rt>
void check(Rt& rt, Eigen::Index m, Eigen::Index n, std::size_t width, bool same_bits = true) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(width);
  Matrix<T> const a = Matrix<T>::Random(m, n);

  Matrix<T> lu = a;
  auto const pivots = factorise(rt, lu, width);

  check_factors(a, lu, pivots);
  Matrix<T> again = a;
  CHECK(factorise(rt, again, width) == pivots);
  CHECK((!same_bits || again == lu)); // whatever the order of the tasks
}

template <class S>
std::string error_of(Matrix<double> const& matrix, std::size_t width, int workers) {
  return factorisations::error_of<S>(
      matrix, width, workers, [](auto& rt, auto& a, std::size_t size) {
        (void)factorise(rt, a, size);
      });
}

TEST_CASE_TEMPLATE("lu: every shape and width", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const workers : {1, 2}) {
    hs::Runtime<S> rt({.cpus = workers, .bind = hs::Bind::none});
    for (Eigen::Index const n : {0, 1, 5, 64, 65, 130}) {
      for (std::size_t const width : {13, 32, 64, 200}) {
        check<float>(rt, n, n, width);
        check<double>(rt, n, n, width);
      }
    }
    for (auto const& [m, n] : {std::pair{90, 31}, {31, 90}, {64, 32}, {32, 64}, {3, 50}, {50, 0}}) {
      check<double>(rt, m, n, 16);
      check<float>(rt, m, n, 20);
    }
    check<double>(rt, 7, 7, 1);
    check<double>(rt, 0, 5, 2);
  }
}

TEST_CASE("lu: on groups of cores") {
  hs::Runtime<> rt({.cpus = 2, .group = 3, .bind = hs::Bind::none});
  for (std::size_t const width : {50, 150, 400}) {
    check<float>(rt, 300, 300, width);
    check<double>(rt, 310, 210, width);
    check<double>(rt, 210, 310, width);
  }
}

TEST_CASE("lu: factors known by hand, in memory with a leading dimension") {
  //  1 2 4       rows 2, 1, 3       1            2 4 2
  //  2 4 2       exchanged:        1/2  1     *    3 3
  //  1 5 4                         1/2  0  1         3
  double memory[] = {1, 2, 1, -1, 2, 4, 5, -1, 4, 2, 4, -1};
  double const expected[] = {2, 0.5, 0.5, -1, 4, 3, 0, -1, 2, 3, 3, -1};
  hs::Runtime<> rt({.cpus = 1});
  {
    ColumnBlocks const a(rt, memory, 3, 3, 4, 2);
    Pivots const pivots(rt, a);
    hs::linalg::lu(rt, a, pivots);
    rt.sync();
    REQUIRE(pivots.size() == 3);
    CHECK(pivots[0] == 1);
    CHECK(pivots[1] == 2);
    CHECK(pivots[2] == 2);
    Eigen::Vector3d b(1, 2, 3);
    pivots.exchange_rows(b);
    CHECK(b == Eigen::Vector3d(2, 3, 1));
  }
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(memory[k] == expected[k]);
  }
}

TEST_CASE("lu: growth, tiny and huge numbers, ties") {
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  Eigen::Index const n = 40;
  Matrix<double> const random = Matrix<double>::Random(n, n);
  Matrix<double> needs_pivots = random; // without exchanges the factors would be useless
  for (Eigen::Index i = 0; i < n; ++i) {
    needs_pivots(i, i) = i % 2 == 0 ? 0 : 1e-20;
  }
  for (auto const& a :
       {needs_pivots, Matrix<double>(1e-300 * random), Matrix<double>(1e300 * random)}) {
    Matrix<double> lu = a;
    auto const pivots = factorise(rt, lu, 16);
    double const scale = a.cwiseAbs().maxCoeff();
    CHECK(residual<double>(a / scale,
                           Matrix<double>(lu.triangularView<Eigen::StrictlyLower>()) +
                               Matrix<double>((lu / scale).triangularView<Eigen::Upper>()),
                           pivots) <= 1e-14);
  }
  Matrix<double> denormal = 1e-310 * Matrix<double>::Identity(n, n);
  denormal.row(0).swap(denormal.row(n - 1));
  CHECK(factorise(rt, denormal, 16)[0] == static_cast<std::size_t>(n - 1));
  CHECK(denormal.isApprox(1e-310 * Matrix<double>::Identity(n, n)));

  Matrix<double> tied = Matrix<double>::Identity(3, 3);
  tied.col(0) << 1, -1, 1;
  CHECK(factorise(rt, tied, 2)[0] == 0); // the first of the largest
}

TEST_CASE_TEMPLATE("lu: says where a matrix is singular", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  Matrix<double> const good = Matrix<double>::Random(130, 130);
  using factorisations::with;
  auto without = [&](Eigen::Index j) {
    auto a = good;
    a.col(j).setZero();
    return a;
  };
  for (int const workers : {1, 2}) {
    auto const error = [&](Matrix<double> const& a) { return error_of<S>(a, 50, workers); };
    CHECK(error(good) == "no error");
    CHECK(error(without(0)) == "hetsched: lu: singular at column 0 (block column 0)");
    CHECK(error(without(70)) == "hetsched: lu: singular at column 70 (block column 1)");
    CHECK(error(without(129)) == "hetsched: lu: singular at column 129 (block column 2)");
    CHECK(error(Matrix<double>::Ones(60, 60)) ==
          "hetsched: lu: singular at column 1 (block column 0)");
    for (Eigen::Index const row : {0, 55, 129}) {
      CHECK(error(with(good, row, 101, quiet_nan)) ==
            "hetsched: lu: NaN at column 101 (block column 2)");
      CHECK(error(with(good, row, 3, quiet_nan)) ==
            "hetsched: lu: NaN at column 3 (block column 0)");
    }
    CHECK(error(with(good, 60, 0, inf)) == "hetsched: lu: infinity at column 0 (block column 0)");
    CHECK(error(with(good, 60, 0, -inf)) == "hetsched: lu: infinity at column 0 (block column 0)");
  }
}

TEST_CASE("lu: refuses pivots of another shape") {
  hs::Runtime<> rt({.cpus = 1});
  Matrix<double> a = Matrix<double>::Zero(4, 4);
  Matrix<double> b = Matrix<double>::Zero(5, 4);
  ColumnBlocks const a_blocks(rt, a, 2);
  ColumnBlocks const b_blocks(rt, b, 2);
  Pivots const pivots(rt, b_blocks);
  CHECK_THROWS_WITH_AS(hs::linalg::lu(rt, a_blocks, pivots),
                       "hetsched: lu: the pivots were made for a matrix of another shape",
                       hs::Error);
  CHECK(rt.stats().spawned == 0);
}

TEST_CASE("lu: a captured graph runs again; priorities are bottom levels, types are named") {
  hs::Runtime<hs::policies::Priority<>> rt({.cpus = 2, .bind = hs::Bind::none});
  for (auto const& [m, n] : {std::pair{2, 2}, {4, 4}, {6, 6}, {14, 14}, {14, 5}, {5, 14}, {2, 6}}) {
    CAPTURE(m);
    CAPTURE(n);
    Matrix<double> const original = Matrix<double>::Random(m, n);
    Matrix<double> a = original;
    ColumnBlocks const blocks(rt, a, 2);
    Pivots const pivots(rt, blocks);
    auto const captured = rt.capture([&] { hs::linalg::lu(rt, blocks, pivots); });
    auto const& graph = captured.tasks();
    auto const levels =
        hs::bottom_levels(graph, std::vector<hs::Duration>(graph.size(), hs::Duration{1}));
    std::size_t getrf = 0, update = 0, laswp = 0;
    for (std::size_t v = 0; v < graph.size(); ++v) {
      auto const& node = graph.nodes()[v];
      CHECK(node.priority == levels[v].ns);
      getrf += node.type == "getrf" ? 1 : 0;
      update += node.type == "lu_update" ? 1 : 0;
      laswp += node.type == "laswp" ? 1 : 0;
    }
    auto const panels = static_cast<std::size_t>((std::min(m, n) + 1) / 2);
    CHECK(getrf == panels);
    CHECK(laswp == panels - 1);
    CHECK(getrf + update + laswp == graph.size());
    if (m == n) {
      CHECK(graph.size() == panels * (panels + 1) / 2 + panels - 1);
    }
    Matrix<double> first;
    for (int run = 0; run < 3; ++run) {
      a = original;
      rt.run(captured);
      std::vector<std::size_t> rows(pivots.size());
      for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k] = pivots[k];
      }
      CHECK(residual(original, a, rows) <= 1e-14);
      first = run == 0 ? a : first;
      CHECK((first.array() == a.array()).all());
    }
  }
}

TEST_CASE("lu: on devices with little memory") {
  auto const index = [](std::size_t size) { return static_cast<Eigen::Index>(size); };
  devices_test::with_little_memory(
      4,
      [](devices_test::Sizes& sizes) { return 8 + sizes(30); },
      [](std::size_t width) { return 200 * width * sizeof(double); },
      [&](auto& rt, std::size_t width, devices_test::Sizes& sizes, int) {
        check<float>(rt, index(sizes(200)), index(sizes(200)), width, false);
        check<double>(rt, index(sizes(200)), index(sizes(200)), width, false);
        auto const n = index(150 + sizes(50));
        check<double>(rt, n, n, width, false);
      });
}

TEST_SUITE_END();

} // namespace lu_test
