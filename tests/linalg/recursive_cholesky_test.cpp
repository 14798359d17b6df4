// SPDX-License-Identifier: MIT
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/recursive_cholesky.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"
#include "factorisations.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>

namespace hs = hetsched;
using support::message_of;
using support::on_cpus;

namespace recursive_cholesky_test {

TEST_SUITE_BEGIN("linalg/recursive_cholesky");

using factorisations::Matrix;

/// The strictly upper triangle is NaN: it is neither read nor written.
template <class T>
Matrix<T> positive_definite(Eigen::Index n) {
  return factorisations::marked(factorisations::positive_definite<T>(n));
}

template <class Rt, class T>
void factorise(Rt& rt, Matrix<T>& a, std::size_t leaf) {
  auto const whole = rt.data(a);
  hs::linalg::recursive_cholesky(rt, whole, leaf);
  rt.sync();
}

template <class Rt, class T>
void factorise_by_tiles(Rt& rt, Matrix<T>& a, std::size_t tile) {
  hs::linalg::TiledMatrix const tiles(rt, a, tile);
  hs::linalg::cholesky(rt, tiles);
  rt.sync();
}

template <class T>
Matrix<T> lower(Matrix<T> const& a) {
  return a.template triangularView<Eigen::Lower>();
}

template <class T, class Rt>
void check(Rt& rt, Eigen::Index n, std::size_t leaf) {
  CAPTURE(n);
  CAPTURE(leaf);
  auto const original = positive_definite<T>(n);
  auto memory = original; // both algorithms work here: the same alignment, the same kernels
  factorise_by_tiles(rt, memory, leaf);
  auto const expected = lower(memory);

  memory = original;
  factorise(rt, memory, leaf);

  auto const l = lower(memory);
  CHECK((l.array() == expected.array()).all());
  CHECK(memory.array().isNaN().count() == n * (n - 1) / 2);
  auto const residual = lower<T>(l * l.transpose() - original).norm() / lower(original).norm();
  CHECK((n == 0 || residual <= T(10) * std::numeric_limits<T>::epsilon()));
}

template <class S>
std::string error_of(Matrix<double> a, std::size_t leaf, int cpus) {
  hs::Runtime<S> rt(on_cpus(cpus));
  auto const message = message_of([&] { factorise(rt, a, leaf); });
  a = Matrix<double>::Identity(40, 40);
  factorise(rt, a, 16); // the runtime stays usable
  CHECK(a.isIdentity());
  return message;
}

TEST_CASE_TEMPLATE("recursive_cholesky: every size and leaf, the tile algorithm's factor",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const cpus : {1, 2}) {
    hs::Runtime<S> rt(on_cpus(cpus));
    for (Eigen::Index const n : {0, 1, 5, 64, 65, 131}) {
      for (std::size_t const leaf : {13, 32, 64, 200}) {
        check<float>(rt, n, leaf);
        check<double>(rt, n, leaf);
      }
    }
    check<double>(rt, 9, 1);
  }
}

TEST_CASE("recursive_cholesky: under any limit on live tasks") {
  auto config = on_cpus(2);
  for (std::uint64_t const limit : {1, 7}) {
    config.max_live_tasks = limit;
    hs::Runtime<> rt(config);
    check<double>(rt, 65, 8);
  }
}

TEST_CASE("recursive_cholesky: as many tasks on leaves as the tile algorithm, few others") {
  hs::Runtime<> rt(on_cpus(2));
  for (std::size_t n = 1; n <= 20; ++n) {
    auto a = positive_definite<double>(static_cast<Eigen::Index>(n));
    rt.reset_stats();
    factorise(rt, a, 1);
    auto const leaves = n * (n + 1) * (n + 2) / 6;
    auto const tasks = rt.stats().executed;
    CHECK(leaves <= tasks);
    CHECK(2 * (tasks - leaves) <= leaves);
  }
}

TEST_CASE("recursive_cholesky: a block of a matrix, with the leading dimension of the whole") {
  hs::Runtime<> rt(on_cpus(2));
  Matrix<double> memory = Matrix<double>::Constant(30, 25, -1);
  auto const original = positive_definite<double>(20);
  memory.block(4, 2, 20, 20) = original;
  {
    auto const block = rt.data(&memory(4, 2), 20, 20, 30);
    hs::linalg::recursive_cholesky(rt, block, 6);
    rt.sync();
  }
  auto const l = lower<double>(memory.block(4, 2, 20, 20));
  CHECK(lower<double>(l * l.transpose() - original).norm() <= 1e-13 * lower(original).norm());
  memory.block(4, 2, 20, 20).setConstant(-1);
  CHECK((memory.array() == -1).all());
}

TEST_CASE_TEMPLATE("recursive_cholesky: may be captured, as one task, and run again",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  hs::Runtime<S> rt(on_cpus(2));
  auto const original = positive_definite<double>(45);
  auto a = original;
  auto const whole = rt.data(a);
  auto const graph = rt.capture([&] { hs::linalg::recursive_cholesky(rt, whole, 10); });
  REQUIRE(graph.tasks().size() == 1);
  CHECK(graph.tasks().nodes()[0].type == "recursive potrf");
  Matrix<double> first;
  for (int round = 0; round < 3; ++round) {
    a = original;
    rt.run(graph);
    first = round == 0 ? lower(a) : first;
    CHECK((lower(a).array() == first.array()).all());
  }
  CHECK(lower<double>(first * first.transpose() - original).norm() <=
        1e-14 * lower(original).norm());
}

TEST_CASE_TEMPLATE("recursive_cholesky: says where a matrix is not positive definite",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  using factorisations::inf, factorisations::with;
  constexpr auto nan = factorisations::quiet_nan;
  auto const good = positive_definite<double>(130);
  for (int const cpus : {1, 2}) {
    auto const error = [&](Matrix<double> const& a) { return error_of<S>(a, 25, cpus); };
    CHECK(error(good).empty());
    CHECK(error(with(good, 0, 0, -1)) ==
          "hetsched: cholesky: not positive definite at column 0 (tile 0, 0)");
    CHECK(error(with(good, 129, 129, 0)) ==
          "hetsched: cholesky: not positive definite at column 129 (tile 5, 5)");
    CHECK(error(with(good, 70, 20, 1e6)) ==
          "hetsched: cholesky: not positive definite at column 70 (tile 2, 2)");
    CHECK(error(with(good, 101, 3, nan)) == "hetsched: cholesky: NaN at column 101 (tile 4, 4)");
    CHECK(error(with(good, 60, 60, inf)) ==
          "hetsched: cholesky: infinity at column 60 (tile 2, 2)");
  }
}

TEST_CASE("recursive_cholesky: what it refuses") {
  hs::Runtime<> rt(on_cpus(1));
  Matrix<double> a = Matrix<double>::Zero(4, 3);
  Matrix<double> s = Matrix<double>::Identity(4, 4);
  auto const ha = rt.data(a), square = rt.data(s);
  CHECK(message_of([&] { hs::linalg::recursive_cholesky(rt, ha, 2); }) ==
        "hetsched: recursive_cholesky: the matrix is 4 x 3, not square");
  CHECK(message_of([&] { hs::linalg::recursive_cholesky(rt, square, 0); }) ==
        "hetsched: recursive_cholesky: leaf size is 0");
  CHECK(rt.stats().spawned == 0);
}

TEST_SUITE_END();

} // namespace recursive_cholesky_test
