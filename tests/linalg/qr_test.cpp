// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/qr.hpp>

#include "../support/schedulers.hpp"
#include "factorisations.hpp"
#include "on_devices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::linalg::Reflections;
using hs::linalg::TiledMatrix;
using hs::linalg::Transpose;

namespace qr_test {

TEST_SUITE_BEGIN("linalg/qr");

using factorisations::Matrix;

template <class T>
struct Factors {
  Matrix<T> q; // m x m
  Matrix<T> r;
  Matrix<T> product; // Q^T A by tasks
};

/// Factorises in place and applies Q and Q^T, all in flight at once.
template <class Rt, class T>
Factors<T> factorise(Rt& rt, Matrix<T>& a, std::size_t tile, std::size_t inner) {
  Factors<T> result{Matrix<T>::Identity(a.rows(), a.rows()), {}, a};
  {
    TiledMatrix const tiles(rt, a, tile);
    TiledMatrix const q(rt, result.q, tile);
    TiledMatrix const product(rt, result.product, tile);
    Reflections const reflections(rt, tiles, inner);
    hs::linalg::qr(rt, tiles, reflections);
    hs::linalg::apply_q(rt, Transpose::no, tiles, reflections, q);
    hs::linalg::apply_q(rt, Transpose::yes, tiles, reflections, product);
    rt.sync();
  }
  result.r = a.template triangularView<Eigen::Upper>();
  return result;
}

/// What holds of any factors of A; not a template over the runtime, to compile once.
template <class T>
void check_factors(Matrix<T> const& a, Factors<T> const& factors) {
  auto const& [q, r, product] = factors;
  auto const m = a.rows();
  T const tolerance = T(20) * std::numeric_limits<T>::epsilon();
  T const size = a.norm() + T(a.size() == 0);
  CHECK((q * r - a).norm() <= tolerance * size);
  CHECK((product - r).norm() <= tolerance * size);
  CHECK((q.transpose() * q - Matrix<T>::Identity(m, m)).norm() <=
        tolerance * std::sqrt(T(m) + T(1)));
  if (a.size() > 0) { // R is unique up to the signs of its rows if A has full rank
    Eigen::HouseholderQR<Matrix<T>> const expected(a);
    for (Eigen::Index i = 0; i < std::min(m, a.cols()); ++i) {
      auto const rest = a.cols() - i;
      auto const row = expected.matrixQR().row(i).tail(rest);
      T const sign = (r(i, i) < T(0)) == (row[0] < T(0)) ? T(1) : T(-1);
      CHECK((r.row(i).tail(rest) - sign * row).norm() <= T(1000) * T(m) * tolerance * size);
    }
  }
}

template <class T, class Rt>
void check(Rt& rt,
           Eigen::Index m,
           Eigen::Index n,
           std::size_t tile,
           std::size_t inner,
           bool same_bits = true) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(tile);
  CAPTURE(inner);
  Matrix<T> const a = Matrix<T>::Random(m, n);

  Matrix<T> first = a;
  auto const factors = factorise(rt, first, tile, inner);

  check_factors(a, factors);
  Matrix<T> second = a;
  auto const again = factorise(rt, second, tile, inner);
  if (same_bits) { // whatever the order of the tasks
    CHECK(first == second);
    CHECK(factors.q == again.q);
  } else {
    check_factors(a, again);
  }
}

template <class S>
std::string error_of(Matrix<double> const& matrix, std::size_t tile, int workers) {
  return factorisations::error_of<S>(
      matrix,
      workers,
      [&](auto& rt, auto& a) { (void)factorise(rt, a, tile, 8); },
      [](auto& rt) {
        auto identity = Matrix<double>::Identity(40, 40).eval();
        auto const [q, r, product] = factorise(rt, identity, 16, 8);
        CHECK((q * r).isIdentity());
      });
}

TEST_CASE_TEMPLATE("qr: every shape, tile and inner block", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const workers : {1, 2}) {
    hs::Runtime<S> rt({.cpus = workers, .bind = hs::Bind::none});
    for (Eigen::Index const n : {0, 1, 5, 64, 65, 100}) {
      for (std::size_t const tile : {13, 32, 200}) {
        check<float>(rt, n, n, tile, 8);
        check<double>(rt, n, n, tile, 32);
      }
    }
    using Shape = std::pair<Eigen::Index, Eigen::Index>;
    for (auto const& [m, n] :
         {Shape{90, 31}, Shape{31, 90}, Shape{64, 32}, Shape{65, 32}, Shape{70, 1}, Shape{50, 0}}) {
      check<double>(rt, m, n, 16, 5);
      check<float>(rt, m, n, 20, 100);
    }
    check<double>(rt, 7, 7, 1, 1);
    check<double>(rt, 0, 5, 2, 1);
  }
}

TEST_CASE("qr: on groups of cores") {
  hs::Runtime<> rt({.cpus = 2, .group = 3, .bind = hs::Bind::none});
  for (std::size_t const tile : {50, 110, 300}) {
    check<float>(rt, 200, 200, tile, 16);
    check<double>(rt, 220, 130, tile, 32);
    check<double>(rt, 130, 220, tile, 32);
  }
}

TEST_CASE("qr: least squares") {
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  Matrix<double> const a = Matrix<double>::Random(101, 30);
  Matrix<double> const b = Matrix<double>::Random(101, 2);
  Matrix<double> factors = a;
  Matrix<double> x = b;
  {
    TiledMatrix const a_tiles(rt, factors, 16);
    TiledMatrix const b_tiles(rt, x, 16);
    Reflections const q(rt, a_tiles);
    hs::linalg::qr(rt, a_tiles, q);
    hs::linalg::apply_q(rt, Transpose::yes, a_tiles, q, b_tiles);
    rt.sync();
  }
  Matrix<double> solution = x.topRows(30);
  factors.topRows(30).triangularView<Eigen::Upper>().solveInPlace(solution);
  CHECK((solution - a.householderQr().solve(b)).norm() <= 1e-13 * solution.norm());
}

TEST_CASE("qr: tiny and huge numbers, and rank deficient matrices") {
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  Eigen::Index const n = 40;
  Matrix<double> const random = Matrix<double>::Random(n, n);
  Matrix<double> deficient = random;
  deficient.col(7) = deficient.col(3);
  deficient.col(20).setZero();
  for (double const scale : {1e-300, 1.0, 1e300}) {
    for (Matrix<double> const& a : {Matrix<double>(scale * random),
                                    Matrix<double>(scale * deficient),
                                    Matrix<double>(scale * Matrix<double>::Identity(n, n)),
                                    Matrix<double>::Zero(n, n).eval()}) {
      Matrix<double> copy = a;
      auto const [q, r, product] = factorise(rt, copy, 16, 8);
      CHECK((q * (r / scale) - a / scale).norm() <= 1e-13);
      CHECK((q.transpose() * q).isIdentity(1e-14));
    }
  }
}

TEST_CASE_TEMPLATE("qr: says where there is NaN or infinity", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  using factorisations::inf, factorisations::with;
  constexpr auto nan = factorisations::quiet_nan;
  Matrix<double> const good = Matrix<double>::Random(130, 110);
  for (int const workers : {1, 2}) {
    auto const error = [&](Matrix<double> const& a) { return error_of<S>(a, 50, workers); };
    CHECK(error(good) == "no error");
    for (Eigen::Index const row : {0, 55, 129}) {
      for (double const value : {nan, inf, -inf}) {
        CHECK(error(with(good, row, 3, value)) ==
              "hetsched: qr: NaN or infinity at column 3 (tile 0, 0)");
        CHECK(error(with(good, row, 101, value)) ==
              "hetsched: qr: NaN or infinity at column 101 (tile 2, 2)");
      }
    }
    auto several = with(good, 129, 20, nan); // the first column wins, not the first to be found
    several(50, 60) = nan;
    CHECK(error(several) == "hetsched: qr: NaN or infinity at column 20 (tile 0, 0)");
  }
}

TEST_CASE("qr: what it refuses") {
  hs::Runtime<> rt({.cpus = 1});
  Matrix<double> a = Matrix<double>::Zero(4, 4);
  Matrix<double> b = Matrix<double>::Zero(5, 4);
  Matrix<double> c = Matrix<double>::Zero(4, 4);
  TiledMatrix const a_tiles(rt, a, 2);
  TiledMatrix const b_tiles(rt, b, 2);
  TiledMatrix const c_tiles(rt, c, 3);
  Reflections const q(rt, a_tiles);
  CHECK_THROWS_WITH_AS(hs::linalg::qr(rt, b_tiles, q),
                       "hetsched: qr: the reflections were made for another shape",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::linalg::apply_q(rt, Transpose::no, b_tiles, q, a_tiles),
                       "hetsched: apply_q: the reflections were made for another shape",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::linalg::apply_q(rt, Transpose::no, a_tiles, q, c_tiles),
                       "hetsched: apply_q: C has 4 rows in tiles of 3, A has 4 in tiles of 2",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::linalg::apply_q(rt, Transpose::no, a_tiles, q, b_tiles),
                       "hetsched: apply_q: C has 5 rows in tiles of 2, A has 4 in tiles of 2",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::linalg::apply_q(rt, Transpose::no, a_tiles, q, a_tiles),
                       "hetsched: apply_q: C must be another matrix than A",
                       hs::Error);
  CHECK_THROWS_WITH_AS(
      Reflections(rt, a_tiles, 0), "hetsched: Reflections: tile size is 0", hs::Error);
  CHECK(rt.stats().spawned == 0);
}

TEST_CASE("qr: captured graphs run again; priorities are bottom levels, types are named") {
  hs::Runtime<hs::policies::Priority<>> rt({.cpus = 2, .bind = hs::Bind::none});
  auto const check_levels = [](hs::TaskGraph const& graph) {
    auto const levels =
        hs::bottom_levels(graph, std::vector<hs::Duration>(graph.size(), hs::Duration{1}));
    std::map<std::string, std::size_t> types;
    for (std::size_t v = 0; v < graph.size(); ++v) {
      CHECK(graph.nodes()[v].priority == levels[v].ns);
      ++types[std::string(graph.nodes()[v].type)];
    }
    return types;
  };
  using Shape = std::pair<Eigen::Index, Eigen::Index>;
  for (auto const& [m, n] : {Shape{2, 2},
                             Shape{4, 4},
                             Shape{14, 14},
                             Shape{14, 5},
                             Shape{5, 14},
                             Shape{3, 2},
                             Shape{2, 6}}) {
    CAPTURE(m);
    CAPTURE(n);
    Matrix<double> const original = Matrix<double>::Random(m, n);
    Matrix<double> a = original;
    Matrix<double> c;
    TiledMatrix const tiles(rt, a, 2);
    Reflections const q(rt, tiles);
    auto const factorisation = rt.capture([&] { hs::linalg::qr(rt, tiles, q); });
    auto types = check_levels(factorisation.tasks());
    auto const rows = static_cast<std::size_t>((m + 1) / 2);
    auto const cols = static_cast<std::size_t>((n + 1) / 2);
    std::size_t count = 0;
    for (std::size_t k = 0; k < std::min(rows, cols); ++k) {
      count += (rows - k) * (cols - k) + 1;
    }
    CHECK(factorisation.tasks().size() == count);
    CHECK(types["geqrt"] == std::min(rows, cols));
    CHECK(types["qr_check"] == std::min(rows, cols));
    CHECK(types["geqrt"] + types["ormqr"] + types["tsqrt"] + types["tsmqr"] + types["qr_check"] ==
          count);
    Matrix<double> first;
    for (int run = 0; run < 3; ++run) {
      a = original;
      rt.run(factorisation);
      first = run == 0 ? a : first;
      CHECK((first.array() == a.array()).all());
      c = original;
      TiledMatrix const c_tiles(rt, c, 2);
      auto const forth =
          rt.capture([&] { hs::linalg::apply_q(rt, Transpose::yes, tiles, q, c_tiles); });
      auto const back =
          rt.capture([&] { hs::linalg::apply_q(rt, Transpose::no, tiles, q, c_tiles); });
      check_levels(forth.tasks());
      check_levels(back.tasks());
      rt.run(forth);
      CHECK((c - Matrix<double>(a.triangularView<Eigen::Upper>())).norm() <= 1e-13);
      rt.run(back);
      CHECK((c - original).norm() <= 1e-13);
    }
  }
}

TEST_CASE("qr: on devices with little memory") {
  auto const index = [](std::size_t size) { return static_cast<Eigen::Index>(size); };
  devices_test::with_little_memory(
      6, [&](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int) {
        check<float>(rt, index(sizes(120)), index(sizes(120)), tile, sizes(tile), false);
        check<double>(rt, index(sizes(120)), index(sizes(120)), tile, sizes(tile), false);
        check<double>(rt, index(100 + sizes(50)), index(sizes(20)), tile, 8, false);
      });
}

TEST_SUITE_END();

} // namespace qr_test
