// SPDX-License-Identifier: MIT
#pragma once
// Cholesky factorisation of sparse symmetric positive definite matrices.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/sparse/direct_solver.hpp>
#include <hetsched/detail/sparse/symmetric_fronts.hpp>
#include <hetsched/sparse/report.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <cstddef>
#include <type_traits>

namespace hetsched::sparse {

/// How SparseCholesky goes about it; see SparseLUOptions.
struct SparseCholeskyOptions {
  Ordering ordering = Ordering::automatic;
  std::size_t panel = 0;
  std::size_t block = 0;
  std::size_t parts = 0;
  double sequential_below = 1e7;
  bool deterministic = false;
  double accuracy = 1e-10;
};

/// Solves A X = B for sparse symmetric positive definite matrices of double, with factors in double
/// or, refined, in float: half the flops and memory of SparseLU, which see for everything else.
/// Both triangles of A must be there.
///
/// Errors beside those of SparseLU: Error(bad_data) naming an entry that differs from the one
/// opposite; Error(numerical) naming a column whose pivot is not positive.
///
/// Source: as SparseLU; the multifrontal Cholesky of Liu, "The multifrontal method for sparse
/// matrix solution", 1992.
template <class T>
class SparseCholesky {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: SparseCholesky<T> needs T = float or double");

  using Solver = detail::DirectSolver<T, detail::Form::symmetric>;

public:
  using Value = typename Solver::Value;
  using Matrix = typename Solver::Matrix;
  using Dense = typename Solver::Dense;

  explicit SparseCholesky(SparseCholeskyOptions const& options = {})
      : solver_("SparseCholesky", options, RowMatching::never) {}

  /// Scales, orders and plans. `a` must be compressed.
  void analyze(Matrix const& a) {
    detail::check_symmetric("SparseCholesky", a);
    solver_.analyze(a);
  }

  /// Factorises a matrix of the pattern that was analysed; the first one is analysed if none was.
  template <class Rt>
  void factorize(Rt& rt, Matrix const& a) {
    if (!solver_.is_analyzed()) {
      analyze(a);
    } else {
      detail::check_symmetric("SparseCholesky", a);
    }
    solver_.factorize(rt, a);
  }

  /// Factorises another matrix of the same pattern.
  template <class Rt>
  void refactorize(Rt& rt, Matrix const& a) {
    if (!solver_.is_analyzed()) {
      throw Error(ErrorCode::bad_call, "SparseCholesky", "refactorize was called before factorize");
    }
    factorize(rt, a);
  }

  /// X with A X = B, for a vector or a matrix B of Value.
  template <class Rt, class B>
  [[nodiscard]] Dense solve(Rt& rt, Eigen::MatrixBase<B> const& b) {
    return solver_.solve(rt, b, false);
  }

  /// O(factors) if there are any.
  [[nodiscard]] SparseReport report() const { return solver_.report(); }

private:
  Solver solver_;
};

} // namespace hetsched::sparse
