// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>

#include "../support/schedulers.hpp"
#include "factorisations.hpp"
#include "on_devices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace hs = hetsched;
using hs::linalg::TiledMatrix;

namespace cholesky_test {

TEST_SUITE_BEGIN("linalg/cholesky");

using factorisations::Matrix;
using factorisations::positive_definite;

using hs::linalg::PotrfOn;

template <class Rt, class T>
void factorise(Rt& rt, Matrix<T>& a, std::size_t tile, PotrfOn where = PotrfOn::host) {
  TiledMatrix const tiles(rt, a, tile);
  hs::linalg::cholesky(rt, tiles, where);
  rt.sync();
}

/// Factorises a matrix whose upper triangle is NaN: it is neither read nor written.
template <class T, class Rt>
void check_factor(Rt& rt,
                  Eigen::Index n,
                  std::size_t tile,
                  bool same_bits = true,
                  PotrfOn where = PotrfOn::host) {
  CAPTURE(n);
  CAPTURE(tile);
  Matrix<T> const a = positive_definite<T>(n);
  Matrix<T> const marked = factorisations::marked(a);

  Matrix<T> l = marked;
  factorise(rt, l, tile, where);

  Matrix<T> const lower = l.template triangularView<Eigen::Lower>();
  CHECK(l.array().isNaN().count() == n * (n - 1) / 2);
  CHECK((lower * lower.transpose() - a).norm() <=
        T(10) * std::numeric_limits<T>::epsilon() * a.norm());

  auto const first = lower;
  l = marked;
  factorise(rt, l, tile, where);
  Matrix<T> const second = l.template triangularView<Eigen::Lower>();
  CHECK((!same_bits || (first.array() == second.array()).all())); // whatever the order of tasks
}

template <class S>
std::string error_of(Matrix<double> const& matrix, std::size_t tile, int workers) {
  return factorisations::error_of<S>(
      matrix, tile, workers, [](auto& rt, auto& a, std::size_t size) {
        (void)factorise(rt, a, size);
      });
}

TEST_CASE_TEMPLATE("cholesky: every size and tile", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const workers : {1, 3}) {
    hs::Runtime<S> rt({.cpus = workers, .bind = hs::Bind::none});
    for (Eigen::Index const n : {0, 1, 5, 64, 65, 130}) {
      for (std::size_t const tile : {13, 32, 64, 200}) {
        check_factor<float>(rt, n, tile);
        check_factor<double>(rt, n, tile);
      }
    }
    check_factor<double>(rt, 5, 1);
  }
}

TEST_CASE("cholesky: on groups of cores") {
  hs::Runtime<> rt({.cpus = 2, .group = 3, .bind = hs::Bind::none});
  for (std::size_t const tile : {100, 150, 400}) {
    check_factor<float>(rt, 400, tile);
    check_factor<double>(rt, 333, tile);
  }
  auto a = positive_definite<double>(300);
  a(201, 3) = std::numeric_limits<double>::quiet_NaN();
  auto const factorise = [&] {
    TiledMatrix const tiles(rt, a, 290);
    hs::linalg::cholesky(rt, tiles);
    rt.sync();
  };
  CHECK_THROWS_WITH_AS(factorise(), "hetsched: cholesky: NaN at column 201 (tile 0, 0)", hs::Error);
}

TEST_CASE("cholesky: a factor known by hand, in memory with a leading dimension") {
  //   4  2 12       2           2 1 6
  //   2  5 10   =   1 2      *    2 2
  //  12 10 41       6 2 1           1
  double memory[] = {4, 2, 12, -1, 9, 5, 10, -1, 9, 9, 41, -1};
  double const expected[] = {2, 1, 6, -1, 9, 2, 2, -1, 9, 9, 1, -1};
  hs::Runtime<> rt({.cpus = 1});
  {
    TiledMatrix const a(rt, memory, 3, 3, 4, 2);
    hs::linalg::cholesky(rt, a);
    rt.sync();
  }
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(memory[k] == expected[k]);
  }
}

TEST_CASE_TEMPLATE("cholesky: says where a matrix is not positive definite",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  using factorisations::inf, factorisations::with;
  constexpr auto nan = factorisations::quiet_nan;
  auto const good = positive_definite<double>(130);
  for (int const workers : {1, 3}) {
    auto const error = [&](Matrix<double> const& a) { return error_of<S>(a, 50, workers); };
    CHECK(error(with(good, 0, 0, -1)) ==
          "hetsched: cholesky: not positive definite at column 0 (tile 0, 0)");
    CHECK(error(with(good, 129, 129, 0)) ==
          "hetsched: cholesky: not positive definite at column 129 (tile 2, 2)");
    CHECK(error(with(good, 70, 20, 1e6)) ==
          "hetsched: cholesky: not positive definite at column 70 (tile 1, 1)");
    CHECK(error(with(good, 101, 101, nan)) == "hetsched: cholesky: NaN at column 101 (tile 2, 2)");
    CHECK(error(with(good, 101, 3, nan)) == "hetsched: cholesky: NaN at column 101 (tile 2, 2)");
    CHECK(error(with(good, 60, 55, nan)) == "hetsched: cholesky: NaN at column 60 (tile 1, 1)");
    CHECK(error(with(good, 60, 60, inf)) ==
          "hetsched: cholesky: infinity at column 60 (tile 1, 1)");
    CHECK(error(with(good, 3, 101, nan)) == "no error"); // above the diagonal
    CHECK(error(Matrix<double>::Zero(60, 60)) ==
          "hetsched: cholesky: not positive definite at column 0 (tile 0, 0)");
  }
}

TEST_CASE("cholesky: refuses a matrix that is not square") {
  hs::Runtime<> rt({.cpus = 1});
  Matrix<double> a = Matrix<double>::Zero(4, 3);
  TiledMatrix const tiles(rt, a, 2);
  CHECK_THROWS_WITH_AS(hs::linalg::cholesky(rt, tiles),
                       "hetsched: cholesky: the matrix is 4 x 3, not square",
                       hs::Error);
}

TEST_CASE("cholesky: priorities are bottom levels, types are named") {
  hs::Runtime<> rt({.cpus = 1});
  for (std::size_t const count : {1, 2, 3, 7}) {
    Matrix<float> a = positive_definite<float>(static_cast<Eigen::Index>(2 * count));
    Matrix<float> const original = a;
    {
      TiledMatrix const tiles(rt, a, 2);
      auto const captured = rt.capture([&] { hs::linalg::cholesky(rt, tiles); });
      auto const& graph = captured.tasks();
      REQUIRE(graph.size() == count * (count + 1) * (count + 2) / 6);
      auto const levels =
          hs::bottom_levels(graph, std::vector<hs::Duration>(graph.size(), hs::Duration{1}));
      std::size_t potrf = 0, trsm = 0, syrk = 0, gemm = 0;
      for (std::size_t v = 0; v < graph.size(); ++v) {
        auto const& node = graph.nodes()[v];
        CHECK(node.priority == levels[v].ns);
        potrf += node.type == "potrf" ? 1 : 0;
        trsm += node.type == "trsm" ? 1 : 0;
        syrk += node.type == "syrk" ? 1 : 0;
        gemm += node.type == "gemm" ? 1 : 0;
      }
      CHECK(potrf == count);
      CHECK(trsm == count * (count - 1) / 2);
      CHECK(syrk == trsm);
      CHECK(potrf + trsm + syrk + gemm == graph.size());
      rt.run(captured);
    }
    Matrix<float> const l = a.triangularView<Eigen::Lower>();
    CHECK((l * l.transpose() - original).norm() <= 1e-5F * original.norm());
  }
}

PotrfOn potrf_on_devices() {
  return devices_test::have_potrf() ? PotrfOn::any : PotrfOn::host;
}

TEST_CASE("cholesky: on devices with little memory") {
  auto const index = [](std::size_t size) { return static_cast<Eigen::Index>(size); };
  devices_test::with_little_memory(
      5, [&](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int run) {
        check_factor<float>(rt, index(sizes(200)), tile, false);
        auto const where = run % 2 == 0 ? PotrfOn::host : potrf_on_devices();
        check_factor<double>(rt, index(sizes(200)), tile, false, where);
      });
}

TEST_CASE("cholesky: on devices, too, it says where a matrix is not positive definite") {
  Matrix<double> a = positive_definite<double>(130);
  a(70, 70) = -1;
  hs::Runtime<devices_test::Scheduler> rt(devices_test::on_devices(2, 8, 50 * 50 * sizeof(double)));
  for (auto const where : {PotrfOn::host, potrf_on_devices()}) {
    auto broken = a;
    CHECK_THROWS_WITH_AS(factorise(rt, broken, 50, where),
                         "hetsched: cholesky: not positive definite at column 70 (tile 1, 1)",
                         hs::Error);
  }
}

TEST_CASE("cholesky: a captured graph with checks of its own can run again") {
  Matrix<double> const good = positive_definite<double>(100);
  Matrix<double> a = good;
  a(33, 33) = -1;
  hs::Runtime<> rt({.cpus = 1});
  TiledMatrix const tiles(rt, a, 20);
  auto const graph = rt.capture([&] { hs::linalg::cholesky(rt, tiles, PotrfOn::any); });
  CHECK_THROWS_WITH_AS(rt.run(graph),
                       "hetsched: cholesky: not positive definite at column 33 (tile 1, 1)",
                       hs::Error);
  a = good;
  rt.run(graph);
  Matrix<double> const lower = a.triangularView<Eigen::Lower>();
  CHECK((lower * lower.transpose() - good).norm() <= 1e-12 * good.norm());
}

TEST_SUITE_END();

} // namespace cholesky_test
