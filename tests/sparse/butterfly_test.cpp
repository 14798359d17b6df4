// SPDX-License-Identifier: MIT
// Random butterflies before LU without pivoting of sparse matrices in dense blocks.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/block_lu.hpp>
#include <hetsched/sparse/butterfly.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"
#include "block_matrices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::sparse::BlockMatrix;
using hs::sparse::BlockPattern;
using hs::sparse::Butterflies;
using hs::sparse::Butterfly;
using support::code_of;
using support::message_of;
using support::on_cpus;

namespace butterfly_test {

using block_matrices::dense;
using block_matrices::Matrix;
using block_matrices::random_pattern;
using block_matrices::take;

constexpr std::size_t block = 6;

/// Random from -1 to 1 where `pattern` has blocks, `diagonal` on the diagonal.
template <class T>
Matrix<T> random_numbers(BlockPattern const& pattern, T diagonal, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> draw(-1, 1);
  auto const rows = static_cast<Eigen::Index>(pattern.size() * block);
  Matrix<T> a(rows, rows);
  for (Eigen::Index j = 0; j < rows; ++j) {
    for (Eigen::Index i = 0; i < rows; ++i) {
      bool const there =
          pattern.at(static_cast<std::size_t>(i) / block, static_cast<std::size_t>(j) / block);
      a(i, j) = i == j ? diagonal : there ? draw(random) : T(0);
    }
  }
  return a;
}

/// The rows of the identity in random order, and noise everywhere.
template <class T>
Matrix<T> noisy_permutation(BlockPattern const& full, T noise, std::uint64_t seed) {
  Matrix<T> a = noise * random_numbers<T>(full, T(1), seed);
  std::vector<Eigen::Index> order(static_cast<std::size_t>(a.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  for (auto k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[random() % k]);
  }
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    a(k, order[static_cast<std::size_t>(k)]) += 1;
  }
  return a;
}

template <class T>
Matrix<T> as_matrix(Butterfly<T> const& butterfly) {
  auto const rows = static_cast<Eigen::Index>(butterfly.rows());
  Matrix<T> w = Matrix<T>::Identity(rows, rows);
  for (Eigen::Index j = 0; j < rows; ++j) {
    butterfly.apply({w.col(j).data(), butterfly.rows()});
  }
  return w;
}

/// Of a solution and the factors that gave it.
struct Outcome {
  double backward_error = 0; // componentwise
  std::size_t steps = 0;     // of refinement
  double growth = 0;         // largest modulus of L and U over that of what was factored
};

/// max |b - A x| / (|A| |x| + |b|), by another way than the library's.
double componentwise(Eigen::MatrixXd const& a, Eigen::VectorXd const& x, Eigen::VectorXd const& b) {
  return ((b - a * x).array().abs() / ((a.cwiseAbs() * x.cwiseAbs() + b.cwiseAbs()).array()))
      .maxCoeff();
}

/// The solution of A x = b with butterflies.
template <class T, class Rt>
Outcome with_butterflies(Rt& rt,
                         BlockPattern const& pattern,
                         Matrix<T> const& numbers,
                         std::size_t depth,
                         hs::sparse::BlockLUOptions const& options = {}) {
  BlockMatrix<T> const a(rt, pattern, block, 3);
  take(a, numbers);
  BlockMatrix<T> const factors(
      rt, hs::sparse::butterfly_pattern(pattern, depth).filled(), block, 3);
  take(factors, numbers);
  Butterflies<T> const butterflies(a.rows(), depth, 7);
  hs::sparse::apply_butterflies(rt, factors, pattern, butterflies);
  rt.sync();
  auto const before = dense(factors).cwiseAbs().maxCoeff();
  hs::sparse::block_lu(rt, factors, options);
  rt.sync();
  Eigen::VectorXd const b = Eigen::VectorXd::LinSpaced(numbers.rows(), -1, 2);
  std::vector<double> x(b.begin(), b.end());
  auto const refined = hs::sparse::butterfly_solve(a, factors, butterflies, x);
  Eigen::VectorXd const solved = Eigen::Map<Eigen::VectorXd const>(x.data(), b.size());
  auto const error = componentwise(numbers.template cast<double>(), solved, b);
  CHECK(std::abs(error - refined.backward_error) <= 1e-15); // rounding of b - A x differs
  return {error, refined.steps, static_cast<double>(dense(factors).cwiseAbs().maxCoeff() / before)};
}

/// The same without them and without refinement; throws what block_lu throws.
template <class T, class Rt>
Outcome without(Rt& rt, BlockPattern const& pattern, Matrix<T> const& numbers) {
  BlockMatrix<T> const factors(rt, pattern.filled(), block, 3);
  take(factors, numbers);
  hs::sparse::block_lu(rt, factors);
  rt.sync();
  Eigen::VectorXd const b = Eigen::VectorXd::LinSpaced(numbers.rows(), -1, 2);
  std::vector<T> x(b.size());
  std::transform(b.begin(), b.end(), x.begin(), [](double v) { return static_cast<T>(v); });
  hs::sparse::block_solve(factors, std::span<T>(x));
  Eigen::VectorXd const solved =
      Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1> const>(x.data(), b.size())
          .template cast<double>();
  return {
      componentwise(numbers.template cast<double>(), solved, b),
      0,
      static_cast<double>(dense(factors).cwiseAbs().maxCoeff() / numbers.cwiseAbs().maxCoeff())};
}

TEST_SUITE_BEGIN("sparse");

TEST_CASE_TEMPLATE("Butterfly: its transpose and its inverse are exact", T, float, double) {
  auto const limit = 20 * std::numeric_limits<T>::epsilon();
  for (std::size_t depth = 0; depth <= 3; ++depth) {
    Butterfly<T> const butterfly(24, depth, 5);
    auto const w = as_matrix(butterfly);
    Matrix<T> const x = Matrix<T>::Random(24, 1);
    std::vector<T> y(x.data(), x.data() + 24);
    auto const seen = [&] { return Eigen::Map<Matrix<T> const>(y.data(), 24, 1); };
    butterfly.apply(y);
    CHECK((seen() - w * x).cwiseAbs().maxCoeff() <= limit);
    butterfly.apply_inverse(y);
    CHECK((seen() - x).cwiseAbs().maxCoeff() <= limit);
    butterfly.apply_transposed(y);
    CHECK((seen() - w.transpose() * x).cwiseAbs().maxCoeff() <= limit);
    // 2^depth entries in each row: nearly orthogonal, and not quite.
    CHECK((w.array() != 0).count() == 24 * (1 << depth));
    auto const values = w.template cast<double>().eval().jacobiSvd().singularValues().eval();
    CHECK(values[0] / values[23] <= std::exp(0.1 * static_cast<double>(depth)) + 1e-5);
    CHECK((depth == 0 || values[0] / values[23] > 1.001));
  }
}

TEST_CASE("Butterfly: of depth 1 it is what the source defines") {
  Butterfly<double> const butterfly(6, 1, 9);
  auto const w = as_matrix(butterfly);
  for (Eigen::Index k = 0; k < 3; ++k) {
    for (Eigen::Index j = 0; j < 3; ++j) {
      CHECK(w(k, j) == w(k + 3, j));
      CHECK(w(k, j + 3) == -w(k + 3, j + 3));
      CHECK((w(k, j) != 0) == (k == j));
    }
    for (auto const scaled : {w(k, k), w(k, k + 3)}) {
      CHECK(std::abs(std::log(scaled * std::sqrt(2.0))) <= 0.05);
    }
  }
  // The outermost level halves the rows, the last one combines quarters.
  auto const deep = as_matrix(Butterfly<double>(8, 2, 9));
  CHECK((deep.array() != 0).count() == 8 * 4);
  CHECK(deep(0, 2) != 0);
  CHECK(deep(0, 4) != 0);
  CHECK(deep(0, 1) == 0);
}

TEST_CASE("Butterfly: a seed gives the same entries again, another one others") {
  auto const first = as_matrix(Butterfly<double>(8, 2, 1));
  CHECK(first == as_matrix(Butterfly<double>(8, 2, 1)));
  CHECK(first != as_matrix(Butterfly<double>(8, 2, 2)));
  Butterflies<double> const both(8, 2, 1);
  CHECK(as_matrix(both.left) == as_matrix(Butterflies<double>(8, 2, 1).left));
  CHECK(as_matrix(both.right) == as_matrix(Butterflies<double>(8, 2, 1).right));
  CHECK(as_matrix(both.left) != as_matrix(both.right));
  CHECK(Butterflies<double>(8).left.depth() == 2);
}

TEST_CASE("butterfly_pattern: the union of what is combined") {
  for (std::size_t depth = 0; depth <= 3; ++depth) {
    auto const pattern = random_pattern(16, 4, depth + 1);
    auto const united = hs::sparse::butterfly_pattern(pattern, depth);
    // By the definition: the pattern of |U|^T |A| |V|, with one row for a block.
    Matrix<double> a = Matrix<double>::Zero(16, 16);
    for (std::size_t k = 0; k < 256; ++k) {
      a(static_cast<Eigen::Index>(k / 16), static_cast<Eigen::Index>(k % 16)) =
          pattern.at(k / 16, k % 16) ? 1 : 0;
    }
    auto const w = as_matrix(Butterfly<double>(16, depth, 3)).cwiseAbs().eval();
    Matrix<double> const product = w.transpose() * a * w;
    for (std::size_t k = 0; k < 256; ++k) {
      CHECK(united.at(k / 16, k % 16) ==
            (product(static_cast<Eigen::Index>(k / 16), static_cast<Eigen::Index>(k % 16)) > 0));
    }
    CHECK(hs::sparse::butterfly_pattern(united, depth) == united);
    CHECK((depth > 0 || united == pattern));
  }
}

TEST_CASE_TEMPLATE("apply_butterflies: U^T A V, on devices' runtimes, too", T, float, double) {
  auto const limit = 100 * std::numeric_limits<T>::epsilon();
  for (std::string const devices : {"none", "emu:1@65536"}) {
    auto config = on_cpus(2);
    config.devices = devices;
    hs::Runtime<hs::policies::Multigrain<>> rt(config);
    for (std::size_t depth = 0; depth <= 2; ++depth) {
      auto const pattern = random_pattern(8, 20, depth);
      auto const numbers = random_numbers<T>(pattern, T(0), 3);
      BlockMatrix<T> const a(rt, hs::sparse::butterfly_pattern(pattern, depth), block, 3);
      take(a, numbers);
      Butterflies<T> const butterflies(a.rows(), depth, 4);
      hs::sparse::apply_butterflies(rt, a, pattern, butterflies);
      rt.sync();
      Matrix<T> const expected =
          as_matrix(butterflies.left).transpose() * numbers * as_matrix(butterflies.right);
      CHECK((dense(a) - expected).cwiseAbs().maxCoeff() <= limit);
    }
  }
}

constexpr double accurate = 1e-14; // of float, too: refinement is in double

TEST_CASE_TEMPLATE("Butterflies: matrices that block LU alone cannot factor", T, float, double) {
  hs::Runtime<hs::policies::Multigrain<>> rt(on_cpus(2));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto const pattern = random_pattern(16, 67, seed);
    // 0 as first pivot
    auto zero = random_numbers<T>(pattern, T(0), seed);
    CHECK(code_of([&] { (void)without<T>(rt, pattern, zero); }) == hs::ErrorCode::numerical);
    // Tiny pivots: huge growth, and no digit is right.
    auto tiny = zero;
    tiny.diagonal().setConstant(100 * std::numeric_limits<T>::epsilon());
    auto const bad = without<T>(rt, pattern, tiny);
    CHECK(bad.growth > (std::is_same_v<T, double> ? 1e10 : 1e4));
    CHECK(bad.backward_error > 1e-3);
    for (std::size_t depth = 1; depth <= 4; ++depth) {
      for (auto const& numbers : {zero, tiny}) {
        auto const good = with_butterflies<T>(rt, pattern, numbers, depth);
        CAPTURE(depth);
        CHECK(good.backward_error <= accurate);
        CHECK(good.steps <= (std::is_same_v<T, double> ? 3 : 20));
        CHECK(good.growth < 1e5);
      }
    }
  }
}

TEST_CASE_TEMPLATE("Butterflies: permutations with noise", T, float, double) {
  bool const single = std::is_same_v<T, float>;
  hs::Runtime<hs::policies::Multigrain<>> rt(on_cpus(2));
  auto const full = random_pattern(16, 100, 1);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto const numbers = noisy_permutation<T>(full, single ? T(1e-3) : T(1e-8), seed);
    auto const bad = without<T>(rt, full, numbers);
    CHECK(bad.growth > (single ? 1e4 : 1e9));
    CHECK(bad.backward_error > (single ? 1e-3 : 1e-8));
    auto const good = with_butterflies<T>(rt, full, numbers, 2);
    CHECK(good.backward_error <= accurate);
    // Only deep butterflies bring a 1 into every element.
    auto const deep = with_butterflies<T>(rt, full, numbers, 4);
    CHECK(deep.backward_error <= accurate);
    CHECK((single || deep.growth < bad.growth / 1000));
  }
}

TEST_CASE("Butterflies: every grain of block_lu, and behind the transformation without a sync") {
  auto const pattern = random_pattern(8, 50, 2);
  auto const numbers = random_numbers<double>(pattern, 0.0, 8);
  auto config = on_cpus(2);
  config.devices = "emu:1@16384";
  hs::Runtime<> rt(config);
  for (auto const grain :
       {hs::sparse::Grain::fine, hs::sparse::Grain::coarse, hs::sparse::Grain::both}) {
    CHECK(with_butterflies<double>(rt, pattern, numbers, 2, {grain}).backward_error <= 1e-14);
  }
  BlockMatrix<double> const a(rt, pattern, block);
  BlockMatrix<double> const factors(rt, hs::sparse::butterfly_pattern(pattern, 1).filled(), block);
  Butterflies<double> const butterflies(a.rows(), 1);
  take(a, numbers);
  take(factors, numbers);
  hs::sparse::apply_butterflies(rt, factors, pattern, butterflies);
  hs::sparse::block_lu(rt, factors);
  rt.sync();
  std::vector<double> x(a.rows(), 1.0);
  CHECK(hs::sparse::butterfly_solve(a, factors, butterflies, x).backward_error <= 1e-14);
}

TEST_CASE("Butterflies: in virtual time") {
  auto config = simulated::on(1, 0);
  for (auto const& [name, ns] :
       std::vector<std::pair<std::string, std::int64_t>>{{"butterfly", 10'000},
                                                         {"getrf", 1},
                                                         {"trsm_row", 10},
                                                         {"trsm_column", 10},
                                                         {"gemm", 100}}) {
    config.platform.kernels.push_back(simulated::kernel(name, ns, std::nullopt));
  }
  hs::SimulatedRuntime<> rt(config);
  BlockPattern const diagonal(4);
  auto const pattern = hs::sparse::butterfly_pattern(diagonal, 1); // two full matrices of 2 x 2
  CHECK(pattern.count() == 8);
  BlockMatrix<double> const a(rt, pattern.filled(), 4);
  hs::sparse::apply_butterflies(rt, a, diagonal, Butterflies<double>(a.rows(), 1));
  hs::sparse::block_lu(rt, a, {hs::sparse::Grain::fine});
  rt.sync();
  CHECK(rt.stats().elapsed.ns == 2 * 10'000 + 4 * 1 + 2 * 20 + 2 * 100);
  CHECK(rt.stats().executed == 2 + 4 + 4 + 2);
}

TEST_CASE("Butterflies: bad input is named") {
  hs::Runtime<> rt(on_cpus(1));
  CHECK(message_of([] { Butterfly<double>(10, 2, 1); }) ==
        "hetsched: butterfly: butterflies of depth 2 need a multiple of 2^2 rows: there are 10");
  CHECK(message_of([] { (void)hs::sparse::butterfly_pattern(BlockPattern(7), 1); }) ==
        "hetsched: butterfly: butterflies of depth 1 need a multiple of 2^1 blocks in a row: there "
        "are 7");
  CHECK(code_of([] { Butterfly<double>(8, 200, 1); }) == hs::ErrorCode::bad_data);
  std::vector<double> x(8);
  Butterfly<double> const butterfly(4, 1, 1);
  CHECK(message_of([&] { butterfly.apply(x); }) ==
        "hetsched: butterfly: the vector has 8 elements, the butterfly 4 rows");
  CHECK(code_of([&] { butterfly.apply_transposed(x); }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { butterfly.apply_inverse(x); }) == hs::ErrorCode::bad_data);

  BlockPattern const pattern(4);
  BlockMatrix<double> const lacking(rt, pattern, 2);
  Butterflies<double> const butterflies(8, 1);
  CHECK(message_of([&] { hs::sparse::apply_butterflies(rt, lacking, pattern, butterflies); }) ==
        "hetsched: butterfly: the matrix lacks blocks that the butterflies fill: see "
        "butterfly_pattern");
  CHECK(message_of([&] {
          hs::sparse::apply_butterflies(rt, lacking, pattern, Butterflies<double>(16));
        }) == "hetsched: butterfly: the matrix has 8 rows, the butterflies 16");
  // Another size of pattern
  CHECK(code_of([&] {
          hs::sparse::apply_butterflies(rt, lacking, BlockPattern(2), butterflies);
        }) == hs::ErrorCode::bad_data);
  // Rows can be halved, blocks not.
  BlockMatrix<double> const odd(rt, BlockPattern(3), 4);
  CHECK(code_of([&] {
          hs::sparse::apply_butterflies(rt, odd, odd.pattern(), Butterflies<double>(12, 1));
        }) == hs::ErrorCode::bad_data);
}

TEST_CASE("butterfly_solve: what does not fit, and what is not accurate, is refused") {
  hs::Runtime<> rt(on_cpus(1));
  BlockPattern const pattern(2);
  BlockMatrix<double> const a(rt, pattern, 2);
  BlockMatrix<double> const factors(rt, hs::sparse::butterfly_pattern(pattern, 1), 2);
  Butterflies<double> const butterflies(4, 1);
  Matrix<double> const numbers = Eigen::Vector4d(1, 2, 3, 4).asDiagonal();
  take(a, numbers);
  take(factors, numbers);
  hs::sparse::apply_butterflies(rt, factors, pattern, butterflies);
  hs::sparse::block_lu(rt, factors);
  rt.sync();
  std::vector<double> x{1, 2, 3, 4};
  std::vector<double> few(3);
  CHECK(message_of([&] { hs::sparse::butterfly_solve(a, factors, butterflies, few); }) ==
        "hetsched: butterfly: the right-hand side has 3 rows, the matrix 4");
  CHECK(message_of([&] { hs::sparse::butterfly_solve(a, factors, Butterflies<double>(8), x); }) ==
        "hetsched: butterfly: the butterflies have 8 rows, the matrix 4");
  BlockMatrix<double> const larger(rt, BlockPattern(4), 2);
  CHECK(message_of([&] { hs::sparse::butterfly_solve(a, larger, butterflies, x); }) ==
        "hetsched: butterfly: the factors have 8 rows, the matrix 4");
  auto const before = x;
  // Another matrix than the one that was factored, and singular
  a.elements(0, 0)(0, 0) = 0;
  CHECK(code_of([&] { hs::sparse::butterfly_solve(a, factors, butterflies, x); }) ==
        hs::ErrorCode::numerical);
  CHECK(support::contains(
      message_of([&] { hs::sparse::butterfly_solve(a, factors, butterflies, x); }),
      "butterfly: backward error 1 after"));
  CHECK(x == before);
  x[2] = std::nan("");
  CHECK(message_of([&] { hs::sparse::butterfly_solve(a, factors, butterflies, x); }) ==
        "hetsched: butterfly: the right-hand side is not finite");
  // Tiny and huge right-hand sides
  a.elements(0, 0)(0, 0) = 1;
  for (double const scale : {1e-200, 1e200}) {
    for (std::size_t k = 0; k < 4; ++k) {
      x[k] = scale * static_cast<double>(k + 1);
    }
    hs::sparse::butterfly_solve(a, factors, butterflies, x);
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(x[k] / scale == doctest::Approx(1));
    }
  }
}

TEST_SUITE_END();

} // namespace butterfly_test
