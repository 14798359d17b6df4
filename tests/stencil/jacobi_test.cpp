// SPDX-License-Identifier: MIT
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include "../linalg/on_devices.hpp"
#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::stencil::PoissonGrid;
using support::message_of;
using support::on_cpus;

TEST_SUITE_BEGIN("stencil/jacobi");

namespace {

/// Column-major, with a leading dimension larger than the rows.
template <class T>
struct Array {
  std::size_t rows, cols;
  std::vector<T> memory = std::vector<T>(ld() * cols);

  [[nodiscard]] std::size_t ld() const { return rows + 2; }

  T& operator()(std::size_t i, std::size_t j) { return memory[i + j * ld()]; }

  T const& operator()(std::size_t i, std::size_t j) const { return memory[i + j * ld()]; }

  hs::TileView<T> view() { return {memory.data(), rows, cols, ld()}; }

  [[nodiscard]] hs::TileView<T const> view() const { return {memory.data(), rows, cols, ld()}; }
};

template <class T>
Array<T> numbers(std::size_t rows, std::size_t cols, unsigned seed) {
  Array<T> a{rows, cols};
  for (auto& element : a.memory) {
    seed = seed * 1664525U + 1013904223U;
    element = static_cast<T>(seed >> 8U) / static_cast<T>(1U << 23U) - T(1);
  }
  return a;
}

template <class T>
Array<T> sequential(Array<T> u, Array<T> const& b, std::size_t sweeps) {
  for (; sweeps > 0; --sweeps) {
    auto const old = u;
    for (std::size_t j = 1; j <= b.cols; ++j) {
      for (std::size_t i = 1; i <= b.rows; ++i) {
        T const sum = (old(i - 1, j) + old(i + 1, j)) + (old(i, j - 1) + old(i, j + 1));
        u(i, j) = (sum + b(i - 1, j - 1)) / T(4);
      }
    }
  }
  return u;
}

/// ||b - A u||^2 by definition.
template <class T>
double residual_of(Array<T> const& u, Array<T> const& b) {
  double squares = 0;
  for (std::size_t j = 1; j <= b.cols; ++j) {
    for (std::size_t i = 1; i <= b.rows; ++i) {
      double const au = 4.0 * static_cast<double>(u(i, j)) - static_cast<double>(u(i - 1, j)) -
                        static_cast<double>(u(i + 1, j)) - static_cast<double>(u(i, j - 1)) -
                        static_cast<double>(u(i, j + 1));
      double const r = static_cast<double>(b(i - 1, j - 1)) - au;
      squares += r * r;
    }
  }
  return squares;
}

struct Case {
  std::size_t rows, cols, tile, sweeps;
};

template <class T, class Rt>
void check(Rt& rt, Case const& c) {
  CAPTURE(c.rows);
  CAPTURE(c.cols);
  CAPTURE(c.tile);
  CAPTURE(c.sweeps);
  auto const b = numbers<T>(c.rows, c.cols, 2);
  auto u = numbers<T>(c.rows + 2, c.cols + 2, 1);
  auto const expected = sequential(u, b, c.sweeps);
  double squares = -1;
  {
    PoissonGrid const grid(rt, u.view(), b.view(), c.tile);
    auto const sum = rt.data(squares);
    hs::stencil::jacobi(rt, grid, c.sweeps);
    hs::stencil::squared_residual(rt, grid, sum);
    rt.sync();
  }
  CHECK(u.memory == expected.memory); // the boundary and what lies between columns, too
  // Rounding changes each point's residual by some units in the last place of 4 u, at most 4, and
  // the sum in some of its own for each point.
  auto const exact = std::sqrt(residual_of(u, b));
  auto const points = static_cast<double>(c.rows * c.cols);
  auto const rounding =
      16.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(points) +
      std::numeric_limits<double>::epsilon() * points * exact;
  CHECK(std::abs(std::sqrt(squares) - exact) <= rounding);
}

} // namespace

TEST_CASE_TEMPLATE("jacobi: every size, tile and number of sweeps, bit for bit",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  for (int const cpus : {1, 2}) {
    hs::Runtime<S> rt(on_cpus(cpus));
    for (auto const& c : {Case{0, 0, 3, 2},
                          Case{0, 5, 3, 3},
                          Case{5, 0, 3, 1},
                          Case{1, 1, 1, 5},
                          Case{1, 9, 4, 4},
                          Case{9, 1, 4, 5},
                          Case{2, 2, 1, 6},
                          Case{7, 7, 100, 3},
                          Case{8, 12, 4, 7},
                          Case{13, 9, 4, 8},
                          Case{17, 31, 5, 1},
                          Case{33, 34, 11, 0},
                          Case{65, 40, 16, 9}}) {
      check<float>(rt, c);
      check<double>(rt, c);
    }
  }
}

// 1 1 1 1                                      what a linear function is: its own mean
// 2 . . 2     with the boundary i + 1 and
// 3 . . 3     b = 0 every point stays i + 1
// 4 4 4 4
TEST_CASE("jacobi: a linear function solves the equation exactly") {
  hs::Runtime<> rt(on_cpus(2));
  Array<double> u{12, 9};
  for (std::size_t j = 0; j < u.cols; ++j) {
    for (std::size_t i = 0; i < u.rows; ++i) {
      u(i, j) = static_cast<double>(i + 1);
    }
  }
  auto const expected = u.memory;
  Array<double> const b{10, 7};
  double squares = -1;
  {
    PoissonGrid const grid(rt, u.view(), b.view(), 4);
    auto const sum = rt.data(squares);
    hs::stencil::jacobi(rt, grid, 5);
    hs::stencil::squared_residual(rt, grid, sum);
    rt.sync();
  }
  CHECK(u.memory == expected);
  CHECK(squares == 0);
}

TEST_CASE("jacobi: converges to the solution") {
  hs::Runtime<> rt(on_cpus(2));
  auto u = numbers<double>(12, 12, 5);
  auto const b = numbers<double>(10, 10, 6);
  double squares = -1;
  {
    PoissonGrid const grid(rt, u.view(), b.view(), 3);
    auto const sum = rt.data(squares);
    hs::stencil::jacobi(rt, grid, 1000); // the error shrinks by cos(pi / 11) = 0.96 each
    hs::stencil::squared_residual(rt, grid, sum);
    rt.sync();
  }
  CHECK(std::sqrt(squares) <= 1e-13);
}

TEST_CASE_TEMPLATE("jacobi: may be captured and run again", S, HETSCHED_NUMERICAL_SCHEDULERS) {
  hs::Runtime<S> rt(on_cpus(2));
  auto const b = numbers<double>(20, 23, 3);
  auto u = numbers<double>(22, 25, 4);
  for (std::size_t const sweeps : {3, 4}) {
    auto const expected = sequential(u, b, 3 * sweeps);
    auto const squares_expected = residual_of(expected, b);
    double squares = -1;
    {
      PoissonGrid const grid(rt, u.view(), b.view(), 8);
      auto const sum = rt.data(squares);
      auto const graph = rt.capture([&] {
        hs::stencil::jacobi(rt, grid, sweeps);
        hs::stencil::squared_residual(rt, grid, sum);
      });
      CHECK(graph.tasks().size() == 9 * (sweeps + 1 + sweeps % 2) + 1 + 2 * 9);
      for (int round = 0; round < 3; ++round) {
        rt.run(graph);
      }
    }
    CHECK(u.memory == expected.memory);
    CHECK(squares == doctest::Approx(squares_expected));
  }
}

//   tiles:  0 3      the sweep of tile 0 reads it, the boundary, b, and of its neighbours 1 and 3
//           1 4      one line each; nothing of tile 4
//           2 5
TEST_CASE("jacobi: a sweep waits for the tile and its neighbours, and for no others") {
  hs::Runtime<> rt(on_cpus(1));
  Array<float> u{8, 6};
  Array<float> const b{6, 4};
  PoissonGrid const grid(rt, u.view(), b.view(), 2);
  auto const captured = rt.capture([&] { hs::stencil::jacobi(rt, grid, 2); });
  auto const& nodes = captured.tasks().nodes();
  REQUIRE(nodes.size() == 18);
  for (std::size_t k = 0; k < 18; ++k) {
    CHECK(nodes[k].type == (k < 6 ? "edges" : "sweep"));
  }
  auto const follows = [&](std::size_t k) {
    auto const all = captured.tasks().successors(k);
    std::vector<std::size_t> successors(all.begin(), all.end());
    std::sort(successors.begin(), successors.end());
    return successors;
  };
  CHECK(follows(6) == std::vector<std::size_t>{12, 13, 15});
  CHECK(follows(7) == std::vector<std::size_t>{12, 13, 14, 16});
  CHECK(nodes[6].priority == 2);
  CHECK(nodes[12].priority == 1);
}

TEST_CASE("jacobi: NaN spreads from point to point; the corners are never read") {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  hs::Runtime<> rt(on_cpus(2));
  Array<double> u{9, 9};
  Array<double> const b{7, 7};
  for (auto const& [i, j] : {std::pair{0, 0}, {8, 0}, {0, 8}, {8, 8}, {4, 4}}) {
    u(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) = nan;
  }
  {
    PoissonGrid const grid(rt, u.view(), b.view(), 2);
    hs::stencil::jacobi(rt, grid, 2);
    rt.sync();
  }
  auto const count = std::count_if(
      u.memory.begin(), u.memory.end(), [](double element) { return std::isnan(element); });
  CHECK(count == 4 + 9); // two steps away or none: even distances from the middle
}

TEST_CASE("PoissonGrid: can be moved; the memory may be cut anew afterwards") {
  hs::Runtime<> rt(on_cpus(2));
  auto const b = numbers<double>(6, 6, 3);
  auto u = numbers<double>(8, 8, 4);
  auto const expected = sequential(u, b, 3);
  {
    PoissonGrid grid(rt, u.view(), b.view(), 4);
    auto const moved = std::move(grid);
    hs::stencil::jacobi(rt, moved, 2);
    rt.sync();
  }
  PoissonGrid const again(rt, u.view(), b.view(), 5);
  CHECK(again.tile_rows() == 2);
  hs::stencil::jacobi(rt, again, 1);
  rt.sync();
  CHECK(u.memory == expected.memory);
}

TEST_CASE("PoissonGrid: what it refuses") {
  hs::Runtime<> rt(on_cpus(1));
  Array<double> u{6, 7};
  Array<double> const b{4, 5}, wrong{4, 4};
  auto const make = [&](hs::TileView<double> points, auto const& right, std::size_t tile) {
    return message_of([&] { PoissonGrid(rt, points, right.view(), tile); });
  };
  CHECK(make(u.view(), b, 0) == "hetsched: PoissonGrid: tile size is 0");
  CHECK(make(u.view(), wrong, 2) ==
        "hetsched: PoissonGrid: the shapes do not fit: u is 6 x 7, b is 4 x 4; u must have one "
        "more on each side, for the boundary");
  CHECK(make({u.memory.data(), 1, 0, 1}, wrong, 2).find("do not fit") != std::string::npos);
  CHECK(make({nullptr, 6, 7, 6}, b, 2) == "hetsched: PoissonGrid: u has no memory");
  CHECK(make({u.memory.data(), 6, 7, 5}, b, 2) ==
        "hetsched: PoissonGrid: u's leading dimension 5 is less than its rows");
  CHECK(make(u.view(), b, 2).empty());
  auto const taken = rt.data(u.memory);
  CHECK(make(u.view(), b, 2).find("overlap") != std::string::npos);
}

TEST_CASE("jacobi: on devices with little memory, bit for bit") {
  devices_test::with_little_memory(
      7,
      [](devices_test::Sizes& sizes) { return 8 + sizes(20); },
      [](std::size_t tile) { return tile * tile * sizeof(double) + 256; },
      [&](auto& rt, std::size_t tile, devices_test::Sizes& sizes, int) {
        check<float>(rt, {sizes(100), sizes(100), tile, sizes(8)});
        check<double>(rt, {sizes(100), sizes(100), tile, sizes(8)});
      });
}

TEST_SUITE_END();
