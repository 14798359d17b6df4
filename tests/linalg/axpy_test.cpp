// SPDX-License-Identifier: MIT
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/axpy.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"
#include "on_devices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace hs = hetsched;
using support::message_of;
using support::on_cpus;

namespace axpy_test {

TEST_SUITE_BEGIN("linalg/axpy");

template <class T>
std::vector<T> numbers(std::size_t n, T first) {
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    v[i] = first / static_cast<T>(i + 3);
  }
  return v;
}

template <class T, class Rt>
void check_axpy(Rt& rt, std::size_t n, std::size_t block, bool same_bits = true) {
  CAPTURE(n);
  CAPTURE(block);
  auto const x = numbers<T>(n, 1);
  auto y = numbers<T>(n, -7);
  auto expected = y;
  for (int twice = 0; twice < 2; ++twice) {
    for (std::size_t i = 0; i < n; ++i) {
      expected[i] += T(1.5) * x[i];
    }
  }
  {
    auto const xs = rt.partition(rt.data(x), hs::block_rows(block));
    auto const ys = rt.partition(rt.data(y), hs::block_rows(block));
    hs::linalg::axpy(rt, 1.5, xs, ys);
    hs::linalg::axpy(rt, 1.5, xs, ys); // after the first
    rt.sync();
  }
  CHECK((!same_bits || y == expected));
  T worst = 0; // of what three roundings can do
  for (std::size_t i = 0; i < n; ++i) {
    worst = std::max(worst, std::abs(y[i] - expected[i]) / (std::abs(y[i]) + T(3) * x[i]));
  }
  CHECK(worst <= T(3) * std::numeric_limits<T>::epsilon());
}

TEST_CASE_TEMPLATE("axpy: every size and block, bit for bit", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const cpus : {1, 2}) {
    hs::Runtime<S> rt(on_cpus(cpus));
    for (std::size_t const n : {0, 1, 2, 63, 64, 65, 1001}) {
      for (std::size_t const block : {1, 13, 64, 5000}) {
        check_axpy<float>(rt, n, block);
        check_axpy<double>(rt, n, block);
      }
    }
  }
}

TEST_CASE("axpy: one task a block, none for a vector of nothing") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<double> x(100, 1.0), y(100, 2.0), none;
  std::vector<double> const also_none;
  {
    auto const xs = rt.partition(rt.data(x), hs::block_rows(30));
    auto const ys = rt.partition(rt.data(y), hs::block_rows(30));
    hs::linalg::axpy(rt, 3, xs, ys);
    auto const no_x = rt.partition(rt.data(also_none), hs::block_rows(30));
    auto const no_y = rt.partition(rt.data(none), hs::block_rows(30));
    hs::linalg::axpy(rt, 3, no_x, no_y);
    rt.sync();
  }
  CHECK(rt.stats().executed == 4);
  CHECK(y == std::vector<double>(100, 5.0));
}

TEST_CASE_TEMPLATE("axpy: may be captured and run again", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  hs::Runtime<S> rt(on_cpus(2));
  std::vector<double> x(50, 1.0), y(50, 0.0);
  {
    auto const xs = rt.partition(rt.data(x), hs::block_rows(7));
    auto const ys = rt.partition(rt.data(y), hs::block_rows(7));
    auto const graph = rt.capture([&] { hs::linalg::axpy(rt, 2, xs, ys); });
    CHECK(graph.tasks().size() == 8);
    CHECK(graph.tasks().nodes()[0].type == "axpy");
    for (int round = 0; round < 5; ++round) {
      rt.run(graph);
    }
  }
  CHECK(y == std::vector<double>(50, 10.0));
}

TEST_CASE("axpy: NaN stays in its element; an alpha of 0 reads nothing") {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  hs::Runtime<> rt(on_cpus(1));
  std::vector<double> x = {1, nan, 3}, y = {1, 1, 1};
  {
    auto const xs = rt.partition(rt.data(x), hs::block_rows(2));
    auto const ys = rt.partition(rt.data(y), hs::block_rows(2));
    hs::linalg::axpy(rt, 0, xs, ys);
    rt.sync();
    CHECK(y == std::vector<double>{1, 1, 1});
    CHECK(rt.stats().spawned == 0);
    hs::linalg::axpy(rt, 1, xs, ys);
    rt.sync();
  }
  CHECK(y[0] == 2);
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == 4);
}

TEST_CASE("axpy: what it refuses") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<double> x(10), y(11), z(10);
  auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
  CHECK(support::code_of([&] { (void)rt.partition(hx, hs::block_rows(0)); }) ==
        hs::ErrorCode::bad_data);
  auto const xs = rt.partition(hx, hs::block_rows(4));
  auto const ys = rt.partition(hy, hs::block_rows(4));
  auto const zs = rt.partition(hz, hs::block_rows(5));
  CHECK(message_of([&] { hs::linalg::axpy(rt, 1, xs, ys); }) ==
        "hetsched: axpy: block 2 of x has 2 elements, that of y has 3");
  CHECK(message_of([&] { hs::linalg::axpy(rt, 1, xs, zs); }) ==
        "hetsched: axpy: x has 3 blocks, y has 2");
  CHECK(message_of([&] { hs::linalg::axpy(rt, 1, xs, xs); }) ==
        "hetsched: axpy: y must be another vector than x");
  CHECK(rt.stats().spawned == 0);
}

TEST_CASE("axpy: on devices with little memory") {
  devices_test::with_little_memory(
      4,
      [](devices_test::Sizes& sizes) { return sizes(100); },
      [](std::size_t block) { return block * sizeof(double); },
      [&](auto& rt, std::size_t block, devices_test::Sizes& sizes, int) {
        check_axpy<float>(rt, sizes(2000), block, false);
        check_axpy<double>(rt, sizes(2000), block, false);
      });
}

TEST_SUITE_END();

} // namespace axpy_test
