// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu_without_pivoting.hpp>

#include "factorisations.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace lu_without_pivoting_test {

TEST_SUITE_BEGIN("linalg/lu");

using factorisations::inf;
using factorisations::Matrix;
using factorisations::quiet_nan;

/// Diagonally dominant.
template <class T>
Matrix<T> dominant(Eigen::Index n) {
  Matrix<T> a = Matrix<T>::Random(n, n);
  a.diagonal().array() += static_cast<T>(n);
  return a;
}

/// ||A - L U|| / ||A||
template <class T>
T residual(Matrix<T> const& a, Matrix<T> const& lu) {
  Matrix<T> const l = lu.template triangularView<Eigen::UnitLower>();
  Matrix<T> const u = lu.template triangularView<Eigen::Upper>();
  return (a - l * u).norm() / a.norm();
}

template <class T, class Rt>
void check_sizes(Rt& rt, T most) {
  for (Eigen::Index const n : {0, 1, 5, 8, 9, 31, 64, 75}) {
    for (std::size_t const tile : {1U, 8U, 100U}) {
      CAPTURE(n);
      CAPTURE(tile);
      auto const a = dominant<T>(n);
      auto lu = a;
      hs::linalg::TiledMatrix const tiles(rt, lu, tile);
      hs::linalg::lu_without_pivoting(rt, tiles);
      rt.sync();
      if (n != 0) {
        CHECK(residual<T>(a, lu) < most);
      }
    }
  }
}

TEST_CASE("lu without pivoting: factors of any size, in float and double") {
  hs::Runtime<> rt({.cpus = 2, .devices = "none"});
  check_sizes<double>(rt, 1e-13);
  check_sizes<float>(rt, 1e-5F);
}

/// Factorised on a runtime.
template <class Scheduler>
Matrix<double> factors(Matrix<double> a, hs::Config const& config) {
  hs::Runtime<Scheduler> rt(config);
  hs::linalg::TiledMatrix const tiles(rt, a, 16);
  hs::linalg::lu_without_pivoting(rt, tiles);
  rt.sync();
  return a;
}

TEST_CASE("lu without pivoting: the same bits under every scheduler, and right on devices") {
  auto const a = dominant<double>(70);
  hs::Config const cores{.cpus = 3, .devices = "none"};
  auto const expected = factors<hs::policies::WorkStealing<>>(a, cores);
  CHECK(factors<hs::policies::Priority<>>(a, cores) == expected);
  CHECK(factors<hs::policies::Eager<>>(a, cores) == expected);
  CHECK(residual<double>(a, expected) < 1e-13);
  hs::Config const devices{.cpus = 2, .devices = "emu:2"};
  CHECK(residual<double>(a, factors<hs::policies::Priority<>>(a, devices)) < 1e-13);
}

TEST_CASE("lu without pivoting: priorities are bottom levels") {
  hs::Runtime<> rt({.cpus = 1, .devices = "none"});
  auto a = dominant<double>(6);
  hs::linalg::TiledMatrix const tiles(rt, a, 1);
  auto const graph = rt.capture([&] { hs::linalg::lu_without_pivoting(rt, tiles); });
  auto const& tasks = graph.tasks();
  REQUIRE(tasks.size() == 6 * 7 * 13 / 6);
  auto const levels = hs::bottom_levels(tasks, std::vector(tasks.size(), hs::Duration{1}));
  for (std::size_t v = 0; v < tasks.size(); ++v) {
    CHECK(tasks.nodes()[v].priority == levels[v].ns);
  }
}

TEST_CASE("lu without pivoting: what cannot be factorised is told") {
  hs::Runtime<> rt({.cpus = 2, .devices = "none"});
  auto const told = [&](double pivot) {
    auto a = dominant<double>(30);
    a.row(17).setZero();
    a.col(17).setZero();
    a(17, 17) = pivot;
    hs::linalg::TiledMatrix const tiles(rt, a, 8);
    hs::linalg::lu_without_pivoting(rt, tiles);
    try {
      rt.sync();
    } catch (hs::Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(told(0) == "hetsched: lu_without_pivoting: 0 as pivot of column 17 (tile 2, 2): lu "
                   "exchanges rows");
  CHECK(told(inf).find("infinity as pivot of column 17") != std::string::npos);
  CHECK(told(quiet_nan).find("NaN as pivot of column 17") != std::string::npos);
  Matrix<double> flat(4, 6);
  hs::linalg::TiledMatrix const tiles(rt, flat, 2);
  CHECK_THROWS_WITH_AS(hs::linalg::lu_without_pivoting(rt, tiles),
                       "hetsched: lu_without_pivoting: the matrix is 4 x 6, not square",
                       hs::Error);
}

TEST_SUITE_END();

} // namespace lu_without_pivoting_test
