// SPDX-License-Identifier: MIT
// SparseLU: solutions, on cores and devices, and what it refuses.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/lu.hpp>

#include "../support/schedulers.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"
#include "sparse_matrices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::sparse::SparseLU;
using hs::sparse::SparseLUOptions;
using sparse_matrices::convection_diffusion;
using sparse_matrices::random_matrix;
using sparse_matrices::saddle_point;
using sparse_matrices::Sparse;
using support::code_of;
using support::message_of;
using support::on_cpus;

namespace sparse_lu_test {

using Complex = std::complex<double>;

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Tasks and tiles even for small matrices.
SparseLUOptions small_tasks() {
  SparseLUOptions options;
  options.panel = 8;
  options.block = 12;
  options.sequential_below = 0;
  return options;
}

template <class T>
Dense<T> right_hand_sides(Eigen::Index rows, Eigen::Index columns) {
  std::mt19937_64 random(7);
  Dense<T> b(rows, columns);
  for (auto& value : b.reshaped()) {
    value = sparse_matrices::number<T>(random);
  }
  return b;
}

/// The largest |B - A X| / (|A| |X| + |B|), computed from dense matrices.
template <class T>
double backward_error(Dense<T> const& a, Dense<T> const& x, Dense<T> const& b) {
  Eigen::MatrixXd const scale = a.cwiseAbs() * x.cwiseAbs() + b.cwiseAbs();
  return ((b - a * x).cwiseAbs().array() / scale.array()).maxCoeff();
}

/// Solves with A and with its transpose; the larger backward error.
template <class T, class Rt, class V>
double solve_both(Rt& rt, Sparse<V> const& a, SparseLUOptions const& options = {}) {
  SparseLU<T> lu(options);
  lu.analyze(a);
  lu.factorize(rt, a);
  Dense<V> const all = a;
  Dense<V> const b = right_hand_sides<V>(a.rows(), 3);
  Dense<V> const x = lu.solve(rt, b);
  auto const told = lu.report().backward_error;
  auto const error = backward_error<V>(all, x, b);
  CHECK(error <= 2 * told + 1e-15);
  Dense<V> const y = lu.solve_transposed(rt, b.col(0));
  return std::max(error, backward_error<V>(all.transpose(), y, b.col(0)));
}

TEST_SUITE_BEGIN("sparse");

TEST_CASE_TEMPLATE("SparseLU: solves to the unit roundoff", T, double, float, Complex) {
  using V = typename SparseLU<T>::Value;
  constexpr double limit = 1e-14;
  hs::Runtime<> rt(on_cpus(2));
  for (auto const& options : {SparseLUOptions(), small_tasks()}) {
    for (int const n : {1, 2, 3, 10, 60}) {
      CHECK(solve_both<T>(rt, random_matrix<V>(n, 3, static_cast<std::uint64_t>(n)), options) <
            limit);
    }
    CHECK(solve_both<T>(rt, random_matrix<V>(40, 0, 1), options) < limit);  // a permutation
    CHECK(solve_both<T>(rt, random_matrix<V>(30, 60, 2), options) < limit); // nearly full
    CHECK(solve_both<T>(rt, convection_diffusion<V>(6), options) < limit);
    CHECK(solve_both<T>(rt, saddle_point<V>(30, 3), options) < limit);
  }
}

TEST_CASE("SparseLU: random matrices, with every choice of order and matching") {
  hs::Runtime<> rt(on_cpus(2));
  auto options = small_tasks();
#ifdef HETSCHED_TEST_FEW
  constexpr std::uint64_t seeds = 30;
#else
  constexpr std::uint64_t seeds = 200;
#endif
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    auto const n = static_cast<int>(5 + seed % 67 * 2);
    auto const a = random_matrix<double>(n, 1 + static_cast<int>(seed % 4), seed);
    using enum hs::sparse::Ordering;
    options.ordering = seed % 3 == 0 ? natural : seed % 3 == 1 ? minimum_degree : automatic;
    options.matching =
        seed % 2 == 0 ? hs::sparse::RowMatching::always : hs::sparse::RowMatching::automatic;
    CHECK(solve_both<double>(rt, a, options) < 1e-14);
  }
}

/// The bytes of the largest task that runs on a device, by what its tiled fronts need.
std::size_t largest_task(Sparse<double> const& a, SparseLUOptions const& given) {
  hs::sparse::detail::AnalysisOptions options;
  options.cut = {given.panel, given.block};
  auto const analysis = hs::sparse::detail::analysed("test", a, options);
  auto const bytes = [](std::size_t rows, std::size_t columns) {
    constexpr std::size_t grain = 256; // of the devices' memory
    return (rows * columns * sizeof(double) + grain - 1) / grain * grain;
  };
  std::size_t largest = 0;
  for (auto const& front : analysis.plan.fronts) {
    if (!front.tiled) {
      continue;
    }
    auto const width = front.panels.size(front.panels.count - 1);
    auto const block = front.blocks.size(front.blocks.count - 1);
    largest = std::max({largest,
                        front.panels.count * bytes(front.w, width) + bytes(front.w, block),
                        2 * bytes(front.w, block) + bytes(block, block),
                        2 * bytes(front.w, width)});
  }
  return largest;
}

TEST_CASE_TEMPLATE("SparseLU: on devices with memory for the largest task, under any scheduler",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  auto const a = convection_diffusion<double>(9);
  auto const memory = largest_task(a, small_tasks()) * 105 / 100;
  REQUIRE(memory > 1000);
  for (int const devices : {0, 1, 2, 3}) {
    for (int const cpus : {1, 2}) {
      CAPTURE(devices);
      auto config = on_cpus(cpus);
      config.devices =
          devices == 0 ? "none" : "emu:" + std::to_string(devices) + "@" + std::to_string(memory);
      hs::Runtime<S> rt(config);
      CHECK(solve_both<double>(rt, a, small_tasks()) < 1e-14);
      CHECK(solve_both<float>(rt, a, small_tasks()) < 1e-14);
    }
  }
}

TEST_CASE("SparseLU: the same bits whatever runs the tasks, if that is asked for") {
  auto const a = convection_diffusion<double>(9);
  Dense<double> const b = right_hand_sides<double>(a.rows(), 2);
  auto options = small_tasks();
  options.deterministic = true;
  std::optional<Dense<double>> first;
  auto const solve = [&]<class S>(std::type_identity<S>, int cpus, std::string const& devices) {
    auto config = on_cpus(cpus);
    config.devices = devices;
    hs::Runtime<S> rt(config);
    SparseLU<double> lu(options);
    lu.factorize(rt, a);
    Dense<double> const x = lu.solve(rt, b);
    if (!first) {
      first = x;
    }
    CHECK(std::memcmp(x.data(), first->data(), sizeof(double) * b.size()) == 0);
  };
  std::type_identity<hs::policies::WorkStealing<>> const stealing;
  solve(stealing, 1, "");
  solve(stealing, 2, "");
  solve(stealing, 3, "emu:1@100000");
  solve(std::type_identity<hs::policies::Random<>>{}, 2, "emu:2@100000");
}

TEST_CASE("SparseLU: factorises again, and matches anew when that is needed") {
  hs::Runtime<> rt(on_cpus(2));
  auto a = convection_diffusion<double>(6);
  SparseLU<double> lu(small_tasks());
  lu.factorize(rt, a);
  CHECK_FALSE(lu.report().matched);
  Dense<double> const b = right_hand_sides<double>(a.rows(), 1);
  for (int round = 1; round <= 3; ++round) {
    a.coeffs() *= 1.5;
    a.coeffRef(0, 1) += round;
    lu.refactorize(rt, a);
    Dense<double> const x = lu.solve(rt, b);
    CHECK(backward_error<double>(a, x, b) < 1e-14);
  }
  for (int i = 0; i < a.rows(); ++i) {
    a.coeffRef(i, i) = 0; // pivots come from elsewhere now
  }
  lu.refactorize(rt, a);
  Dense<double> const x = lu.solve(rt, b);
  CHECK(backward_error<double>(a, x, b) < 1e-12);
}

TEST_CASE("SparseLU: matches rows before it refuses a solution") {
  hs::Runtime<> rt(on_cpus(2));
  auto const a = convection_diffusion<double>(4);
  Dense<double> const b = right_hand_sides<double>(a.rows(), 1);
  SparseLUOptions options;
  options.accuracy = 0; // more than there is
  for (auto const matching : {hs::sparse::RowMatching::automatic, hs::sparse::RowMatching::never}) {
    options.matching = matching;
    SparseLU<double> lu(options);
    lu.factorize(rt, a);
    CHECK_FALSE(lu.report().matched);
    CHECK(code_of([&] { (void)lu.solve(rt, b); }) == hs::ErrorCode::numerical);
    CHECK(lu.report().matched == (matching == hs::sparse::RowMatching::automatic));
    CHECK(lu.report().backward_error < 1e-14);
  }
  SparseLU<double> none;
  none.factorize(rt, Sparse<double>(0, 0));
  CHECK(none.solve(rt, Dense<double>(0, 2)).cols() == 2);
}

TEST_CASE("SparseLU: says what it did") {
  hs::Runtime<> rt(on_cpus(2));
  auto const a = convection_diffusion<double>(9);
  SparseLU<double> lu(small_tasks());
  lu.factorize(rt, a);
  (void)lu.solve(rt, right_hand_sides<double>(a.rows(), 1));
  auto const report = lu.report();
  CHECK(report.size == 729);
  CHECK(report.entries == static_cast<std::size_t>(a.nonZeros()));
  CHECK(report.symmetry == 1);
  CHECK(report.factor_entries > report.entries);
  CHECK(report.fill() > 1);
  CHECK(report.flops >= report.scalar_flops);
  CHECK(report.critical_path > 0);
  CHECK(report.critical_path < report.flops);
  CHECK(report.factor_seconds > 0);
  CHECK(report.tasks > report.products);
  CHECK(report.products > 0);
  CHECK(report.tiled_fronts > 0);
  CHECK(report.perturbed == 0);
  CHECK(report.growth >= 1);
  CHECK(report.memory >= report.factor_entries * sizeof(double));
  CHECK(report.backward_error < 1e-14);

  for (int const k : {1, 4, 7, 10}) {
    SparseLU<double> small;
    small.factorize(rt, convection_diffusion<double>(k));
    CHECK(small.report().tasks == 0);
    CHECK(small.report().units == 1);
    CHECK(small.report().critical_path == small.report().flops);
    CHECK(small.report().bound(8) == 1);
  }
}

TEST_CASE("SparseLU: in virtual time the tasks take their time, and there is nothing to solve") {
  auto config = simulated::on(2, 1);
  for (auto const* const name :
       {"subtree", "assemble", "front_panel", "front_columns", "front_rows", "gemm"}) {
    bool const both =
        std::string_view(name).starts_with("front_c") || std::string_view(name) == "gemm";
    config.platform.kernels.push_back(
        simulated::kernel(name, 1000, both ? std::optional<std::int64_t>(100) : std::nullopt));
  }
  hs::SimulatedRuntime<> rt(config);
  SparseLU<double> lu(small_tasks());
  auto const a = convection_diffusion<double>(9);
  lu.factorize(rt, a);
  CHECK(rt.stats().executed == lu.report().tasks);
  CHECK(rt.stats().elapsed.ns > 1000);
  CHECK(lu.report().factor_seconds == rt.stats().elapsed.seconds());
  CHECK(code_of([&] { (void)lu.solve(rt, right_hand_sides<double>(a.rows(), 1)); }) ==
        hs::ErrorCode::bad_call);
}

TEST_CASE("SparseLU: bad input is named") {
  hs::Runtime<> rt(on_cpus(2));
  SparseLU<double> lu;
  auto const square = convection_diffusion<double>(3);
  Dense<double> const ones = Dense<double>::Ones(27, 1);
  CHECK(message_of([&] { (void)lu.solve(rt, ones); }) ==
        "hetsched: SparseLU: solve was called before a factorisation succeeded");
  CHECK(code_of([&] { lu.refactorize(rt, square); }) == hs::ErrorCode::bad_call);
  CHECK(message_of([&] { lu.analyze(Sparse<double>(3, 4)); }) ==
        "hetsched: SparseLU: the matrix is not square: it has 3 rows and 4 columns");
  auto bad = square;
  bad.coeffRef(4, 5) = std::nan("");
  CHECK(message_of([&] { lu.analyze(bad); }) ==
        "hetsched: SparseLU: the entry in row 4, column 5 is not a finite number");
  Sparse<double> loose = square;
  loose.uncompress();
  CHECK(code_of([&] { lu.analyze(loose); }) == hs::ErrorCode::bad_data);

  auto const singular =
      sparse_matrices::assembled<double>(3, {{0, 0, 1.0}, {1, 1, 1.0}, {2, 1, 1.0}});
  CHECK(message_of([&] { lu.factorize(rt, singular); }) ==
        "hetsched: SparseLU: the matrix is singular: column 2 is empty");
  auto const empty_row =
      sparse_matrices::assembled<double>(3, {{0, 0, 1.0}, {0, 1, 1.0}, {2, 2, 1.0}});
  CHECK(message_of([&] { lu.factorize(rt, empty_row); }) ==
        "hetsched: SparseLU: the matrix is singular: row 1 is empty");
  auto const structural = sparse_matrices::assembled<double>(
      3, {{0, 0, 1.0}, {1, 0, 1.0}, {2, 0, 1.0}, {2, 1, 1.0}, {2, 2, 1.0}});
  CHECK(support::contains(message_of([&] { lu.factorize(rt, structural); }),
                          "structurally singular: no choice of one entry from each row and column "
                          "has one for row "));

  lu.analyze(square);
  CHECK(support::contains(message_of([&] { lu.factorize(rt, convection_diffusion<double>(2)); }),
                          "the matrix has another pattern (8 rows, 32 entries) than the one that "
                          "was analysed (27 rows, 135 entries)"));
  lu.factorize(rt, square);
  CHECK(message_of([&] { (void)lu.solve(rt, Dense<double>::Ones(26, 1)); }) ==
        "hetsched: SparseLU: the right-hand side has 26 rows, the matrix 27");
  Dense<double> infinite = ones;
  infinite(3, 0) = std::numeric_limits<double>::infinity();
  CHECK(code_of([&] { (void)lu.solve(rt, infinite); }) == hs::ErrorCode::bad_data);
  CHECK(lu.solve(rt, Dense<double>::Zero(27, 1)).norm() == 0);

  // Two equal rows, a right-hand side that no x has.
  auto const equal = sparse_matrices::assembled<double>(
      3, {{0, 0, 1.0}, {0, 1, 2.0}, {1, 0, 1.0}, {1, 1, 2.0}, {2, 2, 1.0}, {2, 0, 1.0}});
  SparseLU<double> other;
  other.factorize(rt, equal);
  Dense<double> const impossible = Eigen::Vector3d(1, 2, 3);
  auto const message = message_of([&] { (void)other.solve(rt, impossible); });
  CHECK(support::contains(message, "pivots were too small and replaced: the matrix is singular"));
}

TEST_SUITE_END();

} // namespace sparse_lu_test
