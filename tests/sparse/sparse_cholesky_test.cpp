// SPDX-License-Identifier: MIT
// SparseCholesky: solutions, on cores and devices, and what it refuses.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/sparse/cholesky.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"
#include "sparse_matrices.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace hs = hetsched;
using hs::sparse::SparseCholesky;
using hs::sparse::SparseCholeskyOptions;
using sparse_matrices::laplacian;
using sparse_matrices::positive_definite;
using sparse_matrices::Sparse;
using support::code_of;
using support::message_of;
using support::on_cpus;

namespace sparse_cholesky_test {

SparseCholeskyOptions small_tasks() {
  SparseCholeskyOptions options;
  options.panel = 8;
  options.block = 12;
  options.sequential_below = 0;
  return options;
}

template <class T, class Rt>
double solve(Rt& rt, Sparse<double> const& a, SparseCholeskyOptions const& options = {}) {
  SparseCholesky<T> cholesky(options);
  cholesky.factorize(rt, a);
  Eigen::MatrixXd const b = Eigen::MatrixXd::Random(a.rows(), 2);
  Eigen::MatrixXd const x = cholesky.solve(rt, b);
  Eigen::MatrixXd const scale = a.cwiseAbs() * x.cwiseAbs() + b.cwiseAbs();
  return ((b - a * x).cwiseAbs().array() / scale.array()).maxCoeff();
}

TEST_SUITE_BEGIN("sparse");

TEST_CASE_TEMPLATE("SparseCholesky: solves to the unit roundoff", T, double, float) {
  hs::Runtime<> rt(on_cpus(2));
  for (auto const& options : {SparseCholeskyOptions(), small_tasks()}) {
    for (int const n : {1, 2, 5, 30, 90}) {
      CHECK(solve<T>(rt, positive_definite(n, static_cast<std::uint64_t>(n)), options) < 1e-14);
    }
    CHECK(solve<T>(rt, laplacian(7), options) < 1e-14);
  }
}

TEST_CASE_TEMPLATE("SparseCholesky: on devices with little memory, under any scheduler",
                   S,
                   HETSCHED_NUMERICAL_SCHEDULERS) {
  auto const a = laplacian(9);
  for (std::string const devices : {"emu:1@60000", "emu:2@40000"}) {
    auto config = on_cpus(2);
    config.devices = devices;
    hs::Runtime<S> rt(config);
    CHECK(solve<double>(rt, a, small_tasks()) < 1e-14);
    SparseCholesky<double> usual;
    usual.factorize(rt, a);
    CHECK(usual.report().panel == 256);
    CHECK(usual.report().block == 512);
  }
}

TEST_CASE("SparseCholesky: half the flops of LU, and the same bits if that is asked for") {
  auto const a = laplacian(9);
  Eigen::VectorXd const b = Eigen::VectorXd::LinSpaced(a.rows(), -1, 1);
  auto options = small_tasks();
  options.deterministic = true;
  std::optional<Eigen::MatrixXd> first;
  for (int const cpus : {1, 2, 3}) {
    auto config = on_cpus(cpus);
    config.devices = cpus == 3 ? "emu:1@100000" : "none";
    hs::Runtime<> rt(config);
    SparseCholesky<double> cholesky(options);
    cholesky.factorize(rt, a);
    Eigen::MatrixXd const x = cholesky.solve(rt, b);
    if (!first) {
      first = x;
    }
    CHECK(std::memcmp(x.data(), first->data(), sizeof(double) * x.size()) == 0);
    auto const report = cholesky.report();
    CHECK(report.products > 0);
    CHECK(report.flops < 2 * report.scalar_flops);
  }
}

TEST_CASE("SparseCholesky: factorises again, and names what is wrong") {
  hs::Runtime<> rt(on_cpus(2));
  auto a = laplacian(4);
  SparseCholesky<double> cholesky(small_tasks());
  Eigen::VectorXd const b = Eigen::VectorXd::Ones(a.rows());
  CHECK(code_of([&] { cholesky.refactorize(rt, a); }) == hs::ErrorCode::bad_call);
  cholesky.factorize(rt, a);
  a.coeffRef(3, 3) = 9;
  cholesky.refactorize(rt, a);
  Eigen::VectorXd const x = cholesky.solve(rt, b);
  CHECK((a * x - b).norm() < 1e-13);

  a.coeffRef(5, 5) = -1;
  CHECK(support::contains(message_of([&] { cholesky.refactorize(rt, a); }),
                          "hetsched: SparseCholesky: -"));
  CHECK(code_of([&] { (void)cholesky.solve(rt, b); }) == hs::ErrorCode::bad_call);
  a.coeffRef(5, 5) = 6;
  a.coeffRef(0, 1) = -2;
  CHECK(message_of([&] { cholesky.refactorize(rt, a); }) ==
        "hetsched: SparseCholesky: the matrix is not symmetric: row 1, column 0");
  auto const half = sparse_matrices::assembled<double>(2, {{0, 0, 1.0}, {1, 0, 1.0}, {1, 1, 3.0}});
  CHECK(message_of([&] { SparseCholesky<double>().factorize(rt, half); }) ==
        "hetsched: SparseCholesky: the matrix is not symmetric: row 1, column 0");
}

TEST_SUITE_END();

} // namespace sparse_cholesky_test
