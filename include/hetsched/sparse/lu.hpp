// SPDX-License-Identifier: MIT
#pragma once
// LU factorisation of general sparse matrices.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/sparse/direct_solver.hpp>
#include <hetsched/sparse/report.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>

namespace hetsched::sparse {

/// How SparseLU goes about it.
struct SparseLUOptions {
  Ordering ordering = Ordering::automatic;
  RowMatching matching = RowMatching::automatic;

  /// Columns of a panel and rows of a tile: 0 means 128 and 256, and twice that if GPUs are among
  /// the workers that factorise, emulated and simulated ones, too; but see `deterministic`. Complex
  /// numbers stay on cores. Each factorisation looks at its own runtime, without a new analysis.
  std::size_t panel = 0;
  std::size_t block = 0;

  /// Subtrees of at most the matrix's flops over this are one task each: 0 means 32 for each
  /// worker, or 64 for each of several ranks.
  std::size_t parts = 0;

  /// A matrix of fewer flops is factorised and solved with by the calling thread, without tasks.
  double sequential_below = 1e7;

  /// The same bits whatever the number of workers and the scheduler: unless they are given, `parts`
  /// is 64, and `panel` and `block` are 128 and 256 with GPUs, too. That needs workers that round
  /// alike: emulated devices do, GPUs do not.
  bool deterministic = false;

  /// The componentwise backward error that `solve` accepts.
  double accuracy = 1e-10;
};

/// Solves A X = B for square sparse matrices of double or std::complex<double>, on all workers of a
/// runtime. With T = float the factors are in single precision, while matrices, right-hand sides
/// and solutions are in double, refined to its accuracy.
///
///     hs::sparse::SparseLU<double> lu;
///     lu.analyze(a);         // the pattern; the numbers decide whether rows are matched
///     lu.factorize(rt, a);
///     x = lu.solve(rt, b);   // a column of x for each of b
///     lu.refactorize(rt, other); // the same pattern: analysis and memory are used again
///
/// A is scaled; its rows are matched to its columns where that helps; it is ordered for little
/// fill, and factorised by fronts (multifrontal), on the pattern of A + A^T. Pivots are chosen
/// within the columns of a front; one that is too small is replaced, which changes the matrix
/// slightly. Solutions are therefore refined, if necessary by GMRES, until the componentwise
/// backward error is about the unit roundoff or no longer falls; a solution above `accuracy` is not
/// returned. Before that, a matrix whose rows were not matched is factorised once more with
/// matching.
///
/// Subtrees of the fronts' tree are tasks on cores; the large fronts above are cut into panels and
/// tiles, which GPUs work on, too (float and double; cores alone work on complex numbers). Small
/// matrices need no tasks. `factorize`, `refactorize` and `solve` wait as `rt.sync()` does,
/// for all tasks of the runtime. In virtual time they spawn their tasks and wait, but there are no
/// factors to solve with.
///
/// On a DistributedRuntime, with sparse/on_ranks.hpp, all ranks make the same calls with the same
/// numbers; they share the factors, and each gets the solution.
///
/// Not thread-safe. Errors, one line each: Error(bad_data) for a matrix that is not square, not
/// compressed, not finite, or of another pattern than the one analysed, for right-hand sides that
/// do not fit or are not finite, and if memory is short; Error(bad_call) for a solve without
/// factors; Error(numerical) naming the row for a structurally singular matrix, and with the
/// figures for a solution that is not accurate. After a failed factorisation there are no factors.
///
/// Source: Duff and Reid, "The multifrontal solution of unsymmetric sets of linear equations",
/// 1984; static pivoting and refinement: Li and Demmel, "SuperLU_DIST", 2003; pivots within a
/// supernode's columns: Schenk and Gaertner, "Solving unsymmetric sparse systems of linear
/// equations with PARDISO", 2004.
template <class T>
class SparseLU {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                    std::is_same_v<T, std::complex<double>>,
                "hetsched: SparseLU<T> needs T = float, double or std::complex<double>");

  using Solver = detail::DirectSolver<T, detail::Form::general>;

public:
  using Value = typename Solver::Value;
  using Matrix = typename Solver::Matrix;
  using Dense = typename Solver::Dense;

  explicit SparseLU(SparseLUOptions const& options = {})
      : solver_("SparseLU", options, options.matching) {}

  /// Scales, matches, orders and plans. `a` must be compressed.
  void analyze(Matrix const& a) { solver_.analyze(a); }

  /// Factorises a matrix of the pattern that was analysed; the first one is analysed if none was.
  template <class Rt>
  void factorize(Rt& rt, Matrix const& a) {
    if (!solver_.is_analyzed()) {
      analyze(a);
    }
    solver_.factorize(rt, a);
    perturbed_ = solver_.perturbed();
  }

  /// Factorises another matrix of the same pattern. Its rows are matched anew if more pivots are
  /// too small than in the first factorisation.
  template <class Rt>
  void refactorize(Rt& rt, Matrix const& a) {
    if (!solver_.is_analyzed()) {
      throw Error(ErrorCode::bad_call, "SparseLU", "refactorize was called before factorize");
    }
    solver_.factorize(rt, a);
    if (solver_.perturbed() > perturbed_ && solver_.may_match()) {
      solver_.match(rt, a);
    }
    perturbed_ = std::max(perturbed_, solver_.perturbed());
  }

  /// X with A X = B, for a vector or a matrix B of Value.
  template <class Rt, class B>
  [[nodiscard]] Dense solve(Rt& rt, Eigen::MatrixBase<B> const& b) {
    return solved(rt, b, false);
  }

  /// X with A^T X = B. Complex numbers are not conjugated.
  template <class Rt, class B>
  [[nodiscard]] Dense solve_transposed(Rt& rt, Eigen::MatrixBase<B> const& b) {
    return solved(rt, b, true);
  }

  /// O(factors) if there are any.
  [[nodiscard]] SparseReport report() const { return solver_.report(); }

private:
  template <class Rt, class B>
  [[nodiscard]] Dense solved(Rt& rt, Eigen::MatrixBase<B> const& b, bool transposed) {
    try {
      return solver_.solve(rt, b, transposed);
    } catch (Error const& error) {
      if (error.code() != ErrorCode::numerical || !solver_.may_match()) {
        throw;
      }
    }
    solver_.match(rt, solver_.matrix());
    perturbed_ = solver_.perturbed();
    return solver_.solve(rt, b, transposed);
  }

  Solver solver_;
  std::size_t perturbed_ = 0;
};

} // namespace hetsched::sparse
