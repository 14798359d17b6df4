// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/gemm.hpp>

#include "../support/schedulers.hpp"
#include "factorisations.hpp"
#include "on_devices.hpp"

#include <Eigen/Core>
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>

namespace hs = hetsched;
using hs::linalg::TiledMatrix;

namespace gemm_test {

TEST_SUITE_BEGIN("linalg/gemm");

using factorisations::Matrix;

template <class T, class Rt>
void check_product(
    Rt& rt, Eigen::Index m, Eigen::Index p, Eigen::Index n, std::size_t tile, T beta) {
  CAPTURE(m);
  CAPTURE(p);
  CAPTURE(n);
  CAPTURE(tile);
  Matrix<T> const a = Matrix<T>::Random(m, p);
  Matrix<T> b = Matrix<T>::Random(p, n);
  Matrix<T> c = Matrix<T>::Random(m, n);
  Matrix<T> const expected = T(1.5) * a * b + beta * c;
  if (beta == T(0)) {
    c.setConstant(std::numeric_limits<T>::quiet_NaN()); // not read
  }
  {
    TiledMatrix const ta(rt, a, tile);
    TiledMatrix const tb(rt, b, tile);
    TiledMatrix const tc(rt, c, tile);
    hs::linalg::gemm(rt, 1.5, ta, tb, beta, tc);
    rt.sync();
  }
  CHECK((c - expected).norm() <=
        T(10) * std::numeric_limits<T>::epsilon() * (a.norm() * b.norm() + expected.norm()));
}

TEST_CASE_TEMPLATE("gemm: every shape and tile", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const workers : {1, 3}) {
    hs::Runtime<S> rt({.cpus = workers, .bind = hs::Bind::none});
    for (Eigen::Index const n : {0, 1, 5, 64, 65, 130}) {
      for (std::size_t const tile : {13, 64, 200}) {
        check_product<float>(rt, n, n, n, tile, 1);
        check_product<double>(rt, n, n, n, tile, 0);
        check_product<double>(rt, n, 33, 7, tile, -2);
        check_product<double>(rt, 7, n, 33, tile, 0);
        check_product<float>(rt, 33, 7, n, tile, 3);
      }
    }
  }
}

TEST_CASE("gemm: A and B may be one matrix") {
  hs::Runtime<> rt({.cpus = 1});
  Matrix<double> const a = Matrix<double>::Random(10, 10);
  Matrix<double> c(10, 10);
  TiledMatrix const ta(rt, a, 4);
  TiledMatrix const tc(rt, c, 4);
  hs::linalg::gemm(rt, 1, ta, ta, 0, tc);
  rt.sync();
  CHECK((c - a * a).norm() < 1e-14);
}

TEST_CASE("gemm: what it refuses") {
  hs::Runtime<> rt({.cpus = 1});
  Matrix<double> a = Matrix<double>::Zero(4, 3);
  Matrix<double> b = Matrix<double>::Zero(4, 5);
  Matrix<double> c = Matrix<double>::Zero(4, 5);
  Matrix<double> s = Matrix<double>::Zero(4, 4);
  TiledMatrix const ta(rt, a, 2);
  TiledMatrix const tb(rt, b, 2);
  TiledMatrix const tc(rt, c, 2);
  TiledMatrix const ts(rt, s, 2);
  CHECK_THROWS_WITH_AS(hs::linalg::gemm(rt, 1, ta, tb, 0, tc),
                       "hetsched: gemm: the shapes do not fit: A is 4 x 3 in tiles of 2, B is 4 x "
                       "5 in tiles of 2, C is 4 x 5 in tiles of 2",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::linalg::gemm(rt, 1, ts, tb, 0, tb),
                       "hetsched: gemm: C must be another matrix than A and B",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::linalg::gemm(rt, 1, ts, ts, 0, ts),
                       "hetsched: gemm: C must be another matrix than A and B",
                       hs::Error);
  Matrix<double> d = Matrix<double>::Zero(4, 4);
  TiledMatrix const td(rt, d, 3);
  CHECK_THROWS_AS(hs::linalg::gemm(rt, 1, td, tb, 0, tc), hs::Error);
  CHECK(rt.stats().spawned == 0);
}

TEST_CASE("gemm: on devices with little memory") {
  auto const index = [](std::size_t size) { return static_cast<Eigen::Index>(size); };
  devices_test::with_little_memory(
      5, [&](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int) {
        check_product<float>(rt, index(sizes(150)), index(sizes(150)), index(sizes(150)), tile, 1);
        check_product<double>(rt, index(sizes(150)), index(sizes(150)), index(sizes(150)), tile, 0);
        check_product<double>(rt, index(sizes(150)), 0, index(sizes(150)), tile, -2); // only scales
        check_product<double>(rt, index(sizes(150)), 0, index(sizes(150)), tile, 0);
      });
}

TEST_SUITE_END();

} // namespace gemm_test
