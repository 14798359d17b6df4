// SPDX-License-Identifier: MIT
// Row-major matrices in gemm, cholesky and lu. What these do with every shape is in their own
// tests.

#include <hetsched/capture.hpp>
#include <hetsched/core/array_view.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/lu_without_pivoting.hpp>

#include "../support/schedulers.hpp"
#include "factorisations.hpp"
#include "on_devices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace hs = hetsched;
using hs::linalg::ColumnBlocks;
using hs::linalg::Pivots;
using hs::linalg::PotrfOn;
using hs::linalg::TiledMatrix;

namespace row_major_test {

TEST_SUITE_BEGIN("linalg/row_major");

using factorisations::Matrix;

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

Eigen::Index at(std::size_t size) {
  return static_cast<Eigen::Index>(size);
}

/// C := 1.5 A B + beta C with matrices of these types.
template <class A, class B, class C, class Rt>
void check_product(
    Rt& rt, Eigen::Index m, Eigen::Index p, Eigen::Index n, std::size_t tile, double beta) {
  using T = typename C::Scalar;
  CAPTURE(m);
  CAPTURE(p);
  CAPTURE(n);
  CAPTURE(tile);
  A const a = A::Random(m, p);
  B b = B::Random(p, n);
  C c = C::Random(m, n);
  Matrix<T> const expected = T(1.5) * a * b + static_cast<T>(beta) * c;
  if (beta == 0) {
    c.setConstant(not_a_number<T>); // not read
  }
  {
    TiledMatrix const ta(rt, a, tile);
    TiledMatrix const tb(rt, b, tile);
    TiledMatrix const tc(rt, c, tile);
    hs::linalg::gemm(rt, T(1.5), ta, tb, static_cast<T>(beta), tc);
    rt.sync();
  }
  auto const scale = a.norm() * b.norm() + expected.norm();
  CHECK((c - expected).norm() <= T(10) * std::numeric_limits<T>::epsilon() * scale);
}

/// All layouts of A, B and C.
template <class T, class Rt>
void check_products(
    Rt& rt, Eigen::Index m, Eigen::Index p, Eigen::Index n, std::size_t tile, double beta) {
  check_product<RowMatrix<T>, RowMatrix<T>, RowMatrix<T>>(rt, m, p, n, tile, beta);
  check_product<RowMatrix<T>, RowMatrix<T>, Matrix<T>>(rt, m, p, n, tile, beta);
  check_product<RowMatrix<T>, Matrix<T>, RowMatrix<T>>(rt, m, p, n, tile, beta);
  check_product<RowMatrix<T>, Matrix<T>, Matrix<T>>(rt, m, p, n, tile, beta);
  check_product<Matrix<T>, RowMatrix<T>, RowMatrix<T>>(rt, m, p, n, tile, beta);
  check_product<Matrix<T>, RowMatrix<T>, Matrix<T>>(rt, m, p, n, tile, beta);
  check_product<Matrix<T>, Matrix<T>, RowMatrix<T>>(rt, m, p, n, tile, beta);
}

TEST_CASE("gemm: row-major and column-major matrices in one product") {
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  for (Eigen::Index const n : {0, 1, 13, 65}) {
    for (std::size_t const tile : {13, 64}) {
      check_products<double>(rt, n, 33, 7, tile, -2);
      check_products<double>(rt, 7, n, 33, tile, 0);
      check_products<float>(rt, 33, 7, n, tile, 3);
    }
  }
}

TEST_CASE("gemm: row-major matrices on groups of cores") {
  hs::Runtime<> rt({.cpus = 2, .group = 3, .bind = hs::Bind::none});
  check_products<double>(rt, 150, 80, 170, 100, 1);
}

TEST_CASE("gemm: row-major matrices on devices with little memory") {
  devices_test::with_little_memory(
      5, [](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int) {
        auto const m = at(sizes(100));
        auto const n = at(sizes(100));
        check_products<double>(rt, m, at(sizes(100)), n, tile, -2);
        check_product<RowMatrix<float>, RowMatrix<float>, RowMatrix<float>>(
            rt, m, at(sizes(100)), n, tile, 0);
        check_product<RowMatrix<double>, RowMatrix<double>, RowMatrix<double>>(
            rt, m, 0, n, tile, -2); // only scales
      });
}

/// The same matrix by rows, whose strictly upper triangle is NaN.
template <class T>
RowMatrix<T> marked(Matrix<T> const& a) {
  return factorisations::marked(a);
}

template <class T, class Rt>
void check_cholesky(Rt& rt, Eigen::Index n, std::size_t tile, PotrfOn where = PotrfOn::host) {
  CAPTURE(n);
  CAPTURE(tile);
  Matrix<T> const a = factorisations::positive_definite<T>(n);
  RowMatrix<T> l = marked(a);
  {
    TiledMatrix const tiles(rt, l, tile);
    static_assert(std::is_same_v<decltype(tiles(0, 0)), hs::Handle<hs::RowTileView<T>> const&>);
    hs::linalg::cholesky(rt, tiles, where);
    rt.sync();
  }
  Matrix<T> const lower = l.template triangularView<Eigen::Lower>();
  CHECK(l.array().isNaN().count() == n * (n - 1) / 2);
  CHECK((lower * lower.transpose() - a).norm() <=
        T(10) * std::numeric_limits<T>::epsilon() * a.norm());
}

TEST_CASE_TEMPLATE("cholesky: row-major, every size and tile", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  hs::Runtime<S> rt({.cpus = 3, .bind = hs::Bind::none});
  for (Eigen::Index const n : {0, 1, 5, 64, 65, 130}) {
    for (std::size_t const tile : {13, 64, 200}) {
      check_cholesky<float>(rt, n, tile);
      check_cholesky<double>(rt, n, tile);
    }
  }
}

TEST_CASE("cholesky: row-major, on groups of cores") {
  hs::Runtime<> rt({.cpus = 2, .group = 3, .bind = hs::Bind::none});
  for (std::size_t const tile : {100, 400}) {
    check_cholesky<double>(rt, 333, tile);
  }
}

TEST_CASE("cholesky: row-major, on devices with little memory") {
  devices_test::with_little_memory(
      5, [](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int) {
        check_cholesky<double>(rt, at(sizes(130)), tile);
        check_cholesky<float>(rt, at(sizes(130)), tile);
        if (devices_test::have_potrf()) {
          check_cholesky<double>(rt, at(sizes(130)), tile, PotrfOn::any);
        }
      });
}

TEST_CASE("cholesky: a row-major factor known by hand, in memory with gaps") {
  //   4  2 12       2           2 1 6
  //   2  5 10   =   1 2      *    2 2
  //  12 10 41       6 2 1           1
  double memory[] = {4, 9, 9, -1, 2, 5, 9, -1, 12, 10, 41, -1};
  double const expected[] = {2, 9, 9, -1, 1, 2, 9, -1, 6, 2, 1, -1};
  hs::Runtime<> rt({.cpus = 1});
  {
    TiledMatrix const a(rt, hs::row_major(memory, 3, 3, 4), 2);
    hs::linalg::cholesky(rt, a);
    rt.sync();
  }
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(memory[k] == expected[k]);
  }
}

TEST_CASE("cholesky: says where a row-major matrix is not positive definite") {
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  auto const good = factorisations::positive_definite<double>(130);
  auto const error = [&](Eigen::Index i, Eigen::Index j, double value) {
    RowMatrix<double> a = factorisations::with(good, i, j, value);
    return support::error_of([&] {
      TiledMatrix const tiles(rt, a, 50);
      hs::linalg::cholesky(rt, tiles);
      rt.sync();
    });
  };
  CHECK(std::string(error(70, 20, 1e6)->what()) ==
        "hetsched: cholesky: not positive definite at column 70 (tile 1, 1)");
  CHECK(std::string(error(60, 55, factorisations::quiet_nan)->what()) ==
        "hetsched: cholesky: NaN at column 60 (tile 1, 1)");
  CHECK_FALSE(error(3, 101, factorisations::quiet_nan)); // above the diagonal
}

/// Factors and pivots are those of the same matrix by columns, but for rounding.
template <class T, class Rt>
void check_lu(Rt& rt, Eigen::Index m, Eigen::Index n, std::size_t width) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(width);
  Matrix<T> by_columns = Matrix<T>::Random(m, n);
  RowMatrix<T> by_rows = by_columns;
  ColumnBlocks const columns(rt, by_columns, width);
  ColumnBlocks const rows(rt, by_rows, width);
  Pivots const pivots(rt, columns);
  Pivots const same(rt, rows);
  hs::linalg::lu(rt, columns, pivots);
  hs::linalg::lu(rt, rows, same);
  rt.sync();
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    REQUIRE(same[k] == pivots[k]);
  }
  CHECK((by_rows - by_columns).norm() <=
        T(1000) * std::numeric_limits<T>::epsilon() * T(m + n) * by_columns.norm());
}

TEST_CASE_TEMPLATE("lu: row-major, every shape", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  hs::Runtime<S> rt({.cpus = 2, .bind = hs::Bind::none});
  for (std::size_t const width : {1, 13, 64, 200}) {
    check_lu<double>(rt, 65, 65, width);
    check_lu<float>(rt, 40, 40, width);
    check_lu<double>(rt, 90, 31, width);
    check_lu<double>(rt, 31, 90, width);
  }
  check_lu<double>(rt, 0, 5, 2);
  check_lu<double>(rt, 50, 0, 2);
}

TEST_CASE("lu: row-major, on groups of cores and on devices with little memory") {
  {
    hs::Runtime<> rt({.cpus = 2, .group = 3, .bind = hs::Bind::none});
    check_lu<double>(rt, 300, 210, 150);
  }
  devices_test::with_little_memory(
      4,
      [](devices_test::Sizes& sizes) { return 8 + sizes(30); },
      [](std::size_t width) { return width * 150 * sizeof(double); },
      [](auto& rt, std::size_t width, devices_test::Sizes& sizes, int) {
        check_lu<double>(rt, at(sizes(150)), at(sizes(150)), width);
        check_lu<float>(rt, at(sizes(150)), at(sizes(150)), width);
      });
}

TEST_CASE("lu: row-major factors known by hand, in memory with gaps") {
  //  1 2 4       rows 2, 1, 3       1            2 4 2
  //  2 4 2       exchanged:        1/2  1     *    3 3
  //  1 5 4                         1/2  0  1         3
  double memory[] = {1, 2, 4, -1, 2, 4, 2, -1, 1, 5, 4, -1};
  double const expected[] = {2, 4, 2, -1, 0.5, 3, 3, -1, 0.5, 0, 3, -1};
  hs::Runtime<> rt({.cpus = 1});
  {
    ColumnBlocks const a(rt, hs::row_major(memory, 3, 3, 4), 2);
    Pivots const pivots(rt, a);
    hs::linalg::lu(rt, a, pivots);
    rt.sync();
    CHECK(pivots[0] == 1);
    CHECK(pivots[1] == 2);
    CHECK(pivots[2] == 2);
  }
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(memory[k] == expected[k]);
  }
}

template <class Rt>
void check_lu_without_pivoting(Rt& rt, Eigen::Index n, std::size_t tile) {
  CAPTURE(n);
  CAPTURE(tile);
  RowMatrix<double> a = RowMatrix<double>::Random(n, n);
  a.diagonal().array() += static_cast<double>(n);
  RowMatrix<double> lu = a;
  TiledMatrix const tiles(rt, lu, tile);
  auto const graph = rt.capture([&] { hs::linalg::lu_without_pivoting(rt, tiles); });
  rt.run(graph);
  Matrix<double> const l = lu.triangularView<Eigen::UnitLower>();
  Matrix<double> const u = lu.triangularView<Eigen::Upper>();
  CHECK((a - l * u).norm() <= 1e-13 * a.norm());
}

TEST_CASE("lu without pivoting: row-major, on cores and on devices with little memory") {
  {
    hs::Runtime<> rt({.cpus = 2, .devices = "none"});
    for (Eigen::Index const n : {1, 8, 31, 75}) {
      for (std::size_t const tile : {1U, 8U, 100U}) {
        check_lu_without_pivoting(rt, n, tile);
      }
    }
  }
  devices_test::with_little_memory(5,
                                   [](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int) {
                                     check_lu_without_pivoting(rt, at(sizes(120)), tile);
                                   });
}

TEST_CASE("TiledMatrix: row-major maps and blocks of Eigen's, and what it refuses") {
  hs::Runtime<> rt({.cpus = 1});
  auto add = [&](auto const& tiled) {
    rt.spawn()([](hs::RowTileView<double> view) { view(1, 0) += 1; }, hs::read_write(tiled(0, 1)));
    rt.sync();
  };
  RowMatrix<double> m = RowMatrix<double>::Zero(6, 8);
  add(TiledMatrix(rt, m, 3));
  CHECK(m(1, 3) == 1);
  {
    auto block = m.block(0, 1, 4, 4);
    add(TiledMatrix(rt, block, 2));
    CHECK(m(1, 3) == 2);
  }
  Eigen::Map<RowMatrix<double>> map(m.data(), 6, 8);
  add(TiledMatrix(rt, map, 3));
  CHECK(m(1, 3) == 3);
  CHECK_THROWS_WITH_AS(TiledMatrix(rt, hs::row_major(m.data(), 6, 8, 7), 3),
                       "hetsched: array view: the distance 7 of its rows is less than their 8 "
                       "elements",
                       hs::Error);
  Eigen::Map<RowMatrix<double>, 0, Eigen::Stride<8, 2>> strided(m.data(), 6, 4);
  CHECK_THROWS_WITH_AS(TiledMatrix(rt, strided, 3),
                       "hetsched: TiledMatrix: the elements of a row are not contiguous (inner "
                       "stride 2)",
                       hs::Error);
}

TEST_SUITE_END();

} // namespace row_major_test
