// SPDX-License-Identifier: MIT
// LU without pivoting of sparse matrices in dense blocks.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/block_lu.hpp>

#include "../support/schedulers.hpp"
#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"
#include "block_matrices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::sparse::BlockLUOptions;
using hs::sparse::BlockMatrix;
using hs::sparse::BlockPattern;
using hs::sparse::Grain;
using support::code_of;
using support::message_of;
using support::on_cpus;

namespace block_lu_test {

using block_matrices::dense;
using block_matrices::fill;
using block_matrices::Matrix;
using block_matrices::random_pattern;

/// ||A - L U|| / ||A||
template <class T>
double residual(Matrix<T> const& a, Matrix<T> const& lu) {
  Matrix<T> const l = lu.template triangularView<Eigen::UnitLower>();
  Matrix<T> const u = lu.template triangularView<Eigen::Upper>();
  return static_cast<double>((a - l * u).norm() / a.norm());
}

/// Factorises a random matrix; what of it is not right.
template <class T, class Rt>
double factorise(Rt& rt, std::size_t size, unsigned percent, BlockLUOptions const& options) {
  auto const pattern = random_pattern(size, percent, size + percent);
  BlockMatrix<T> const a(rt, pattern.filled(), 6, 3);
  fill(a, pattern, size);
  auto const before = dense(a);
  hs::sparse::block_lu(rt, a, options);
  rt.sync();
  return residual<T>(before, dense(a));
}

TEST_SUITE_BEGIN("sparse");

TEST_CASE("BlockPattern: the diagonal, what is added, and the fill") {
  BlockPattern pattern(70);
  CHECK(pattern.count() == 70);
  CHECK(pattern.filled() == pattern);
  pattern.add(69, 0);
  pattern.add(0, 68);
  pattern.add(67, 66); // meets nothing
  CHECK(pattern.at(69, 0));
  CHECK_FALSE(pattern.at(0, 69));
  auto const filled = pattern.filled();
  CHECK(filled.count() == 74);
  CHECK(filled.at(69, 68));
  CHECK_FALSE(filled.at(68, 69));
  CHECK(message_of([&] { pattern.add(3, 70); }) ==
        "hetsched: BlockPattern: has no block (3, 70): it has 70 x 70");
  CHECK(code_of([&] { (void)pattern.at(70, 0); }) == hs::ErrorCode::bad_call);
}

TEST_CASE("BlockPattern: fill as elimination by definition finds it") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const size = static_cast<std::size_t>(seed * 7);
    auto const pattern = random_pattern(size, 5, seed);
    auto expected = pattern;
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t i = k + 1; i < size; ++i) {
        for (std::size_t j = k + 1; j < size; ++j) {
          if (expected.at(i, k) && expected.at(k, j)) {
            expected.add(i, j);
          }
        }
      }
    }
    CHECK(pattern.filled() == expected);
  }
}

TEST_CASE("BlockMatrix: super-blocks lie together, and what is not there is refused") {
  hs::Runtime<> rt(on_cpus(1));
  auto pattern = BlockPattern(5);
  pattern.add(1, 0);
  BlockMatrix<double> const a(rt, pattern, 4, 2);
  CHECK(a.rows() == 20);
  CHECK(a.supers() == 3);
  CHECK(a.elements(1, 0).data() == a.elements(0, 0).data() + 16);
  CHECK(a.elements(1, 1).data() == a.elements(1, 0).data() + 16);
  CHECK(a.elements(4, 4)(3, 3) == 0);
  CHECK(a(4, 4).record()->reuse == 4);
  CHECK(message_of([&] { (void)a(0, 1); }) == "hetsched: BlockMatrix: block (0, 1) is empty");
  CHECK(code_of([&] { (void)a.elements(5, 0); }) == hs::ErrorCode::bad_call);
  CHECK(code_of([&] { BlockMatrix<double>(rt, BlockPattern(0), 4); }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { BlockMatrix<double>(rt, BlockPattern(2), 0); }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { BlockMatrix<double>(rt, BlockPattern(2), 4, 0); }) ==
        hs::ErrorCode::bad_data);
}

TEST_CASE_TEMPLATE("block_lu: A = L U, in every grain", T, float, double) {
  auto const limit = 30 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (int const cpus : {1, 2}) {
    hs::Runtime<hs::policies::Multigrain<>> rt(on_cpus(cpus));
    for (auto const grain : {Grain::fine, Grain::coarse, Grain::both}) {
      for (bool const barriers : {false, true}) {
        CHECK(factorise<T>(rt, 1, 0, {grain, barriers}) < limit);
        CHECK(factorise<T>(rt, 8, 0, {grain, barriers}) < limit);
        CHECK(factorise<T>(rt, 11, 20, {grain, barriers}) < limit);
        CHECK(factorise<T>(rt, 9, 100, {grain, barriers}) < limit);
      }
    }
  }
}

TEST_CASE("block_lu: on devices, in little memory, under other schedulers, too") {
  for (std::string const devices : {"emu:1@8192", "emu:2@16384"}) { // blocks of 288 bytes
    auto config = on_cpus(2);
    config.devices = devices;
    for (bool const cores : {false, true}) {
      for (auto const grain : {Grain::fine, Grain::coarse, Grain::both}) {
        CAPTURE(devices);
        CAPTURE(static_cast<int>(grain));
        {
          hs::Runtime<hs::policies::Multigrain<>, hs::policies::ReuseGuided> rt(config);
          CHECK(factorise<double>(rt, 10, 30, {grain, false, cores}) < 1e-14);
        }
        hs::Runtime<> rt(config);
        CHECK(factorise<double>(rt, 10, 30, {grain, cores, cores}) < 1e-14);
      }
    }
  }
}

TEST_CASE("block_lu: in virtual time, super-tasks are broken down, too") {
  auto config = simulated::on(1, 0);
  for (auto const& [name, ns] :
       std::vector<std::pair<std::string, std::int64_t>>{{"getrf", 1},
                                                         {"trsm_row", 10},
                                                         {"trsm_column", 10},
                                                         {"gemm", 100},
                                                         {"super_task", 1000}}) {
    config.platform.kernels.push_back(simulated::kernel(name, ns, std::nullopt));
  }
  for (bool const barriers : {false, true}) {
    hs::SimulatedRuntime<hs::policies::Multigrain<>> rt(config);
    auto full = BlockPattern(3);
    for (std::size_t k = 0; k < 9; ++k) {
      full.add(k / 3, k % 3);
    }
    BlockMatrix<double> const a(rt, full, 4, 2);
    hs::sparse::block_lu(rt, a, {Grain::both, barriers});
    rt.sync();
    // 3 factorisations, 6 solves, 5 blocks to update in 4 and 1 super-blocks
    CHECK(rt.stats().elapsed.ns == 3 + 6 * 10 + 5 * 100 + 5 * 1000);
    CHECK(rt.stats().executed == 3 + 6 + 5 + 5);
  }
}

/// Notes the reuse indices of what a super-block's update reads and writes, and the task's.
struct NotingUpdates : OldestFirst {
  static inline std::vector<std::vector<int>> noted;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    auto const view = ctx.task(task);
    if (view.type == "super_block") {
      noted.push_back({view.reuse()});
      for (std::size_t k = 0; k < view.arguments; ++k) {
        noted.back().push_back(view.argument(k).reuse);
      }
    }
    return OldestFirst::push(ctx, task, worker);
  }
};

TEST_CASE("block_lu: during step 3 the factors are locked in devices") {
  auto config = simulated::joined(1, 1, hs::Simulation::Transfers::model);
  for (auto const* const name : {"getrf", "trsm_row", "trsm_column"}) {
    config.platform.kernels.push_back(simulated::kernel(name, 10, std::nullopt));
  }
  config.platform.kernels.push_back(simulated::kernel("super_block", std::nullopt, 10));
  auto full = BlockPattern(3);
  for (std::size_t k = 0; k < 9; ++k) {
    full.add(k / 3, k % 3);
  }
  for (bool const barriers : {false, true}) {
    NotingUpdates::noted.clear();
    hs::SimulatedRuntime<NotingUpdates> rt(config);
    BlockMatrix<double> const a(rt, full, 4, 2);
    hs::sparse::block_lu(rt, a, {Grain::coarse, barriers, true});
    rt.wait();
    constexpr int most = INT32_MAX;
    using Noted = std::vector<std::vector<int>>;
    auto noted = NotingUpdates::noted;
    std::sort(noted.begin(), noted.end());
    // Of iteration 0: block (1, 1), then (2, 1), (1, 2), and (2, 2); of iteration 1: (2, 2).
    CHECK(noted ==
          (barriers ? Noted{{0, most, most, 0},
                            {1, most, most, 1},
                            {1, most, most, 1},
                            {2, most, most, 2},
                            {2, most, most, 2}}
                    : Noted{{0, 0, 0, 0}, {1, 1, 1, 1}, {1, 1, 1, 1}, {2, 2, 2, 2}, {2, 2, 2, 2}}));
    for (std::size_t k = 0; k < 9; ++k) {
      auto const [i, j] = std::pair(k / 3, k % 3);
      CHECK(a(i, j).record()->reuse == a.reuse_index(i, j));
    }
  }
}

TEST_CASE("block_lu: solves, and counts its flops") {
  hs::Runtime<> rt(on_cpus(2));
  auto const pattern = random_pattern(12, 15, 3);
  BlockMatrix<double> const a(rt, pattern.filled(), 5);
  fill(a, pattern, 4);
  Eigen::VectorXd const expected = Eigen::VectorXd::LinSpaced(60, -1, 2);
  Eigen::VectorXd const right = dense(a) * expected;
  std::vector<double> x(right.data(), right.data() + right.size());
  hs::sparse::block_lu(rt, a);
  rt.sync();
  hs::sparse::block_solve(a, x);
  for (std::size_t k = 0; k < x.size(); ++k) {
    CHECK(x[k] == doctest::Approx(expected[static_cast<Eigen::Index>(k)]).epsilon(1e-12));
  }
  std::vector<double> wrong(59);
  CHECK(code_of([&] { hs::sparse::block_solve(a, wrong); }) == hs::ErrorCode::bad_data);

  auto full = BlockPattern(2);
  full.add(0, 1);
  full.add(1, 0);
  auto const flops = hs::sparse::block_lu_flops(full, 3);
  CHECK(flops.updates == 54);
  CHECK(flops.all == doctest::Approx(27 * (4.0 / 3 + 2 + 2)));
}

TEST_CASE("block_lu: bad input is named") {
  hs::Runtime<> rt(on_cpus(2));
  auto pattern = BlockPattern(3);
  pattern.add(1, 0);
  pattern.add(0, 2);
  BlockMatrix<double> const lacking(rt, pattern, 4);
  CHECK(message_of([&] { hs::sparse::block_lu(rt, lacking); }) ==
        "hetsched: block_lu: the pattern lacks blocks that the factorisation fills: see "
        "BlockPattern::filled");

  BlockMatrix<double> const a(rt, pattern.filled(), 4);
  for (auto const bad : {0.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    fill(a, pattern, 1);
    a.elements(1, 0)(2, 2) = 0;
    for (std::size_t c = 0; c < 4; ++c) { // row 6 is empty but for its diagonal
      a.elements(1, 0)(2, c) = 0;
      a.elements(1, 1)(2, c) = c == 2 ? bad : 0;
    }
    hs::sparse::block_lu(rt, a);
    auto const message = message_of([&] { rt.sync(); });
    CHECK(support::contains(message, "block_lu"));
    CHECK(support::contains(message, " as pivot of row 6 (block 1): without pivoting"));
  }
}

TEST_SUITE_END();

} // namespace block_lu_test
