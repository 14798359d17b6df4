// SPDX-License-Identifier: MIT
#pragma once
// What sparse solvers refuse.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/sparse/pattern.hpp>
#include <hetsched/detail/sparse/refinement.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace hetsched::sparse::detail {

/// Throws Error(bad_data) naming `who` unless a matrix has this pattern.
template <class T>
void check_pattern(char const* who, Pattern const& pattern, Eigen::SparseMatrix<T> const& a) {
  bool const same = a.cols() == pattern.size() &&
                    static_cast<std::size_t>(a.nonZeros()) == pattern.rows.size() &&
                    std::equal(pattern.begin.begin(),
                               pattern.begin.end(),
                               a.outerIndexPtr(),
                               [](auto x, auto y) { return x == static_cast<std::size_t>(y); }) &&
                    std::equal(pattern.rows.begin(), pattern.rows.end(), a.innerIndexPtr());
  if (!same) {
    throw Error(ErrorCode::bad_data,
                who,
                hetsched::detail::text(
                    "the matrix has another pattern (%td rows, %td entries) than the one that was "
                    "analysed (%td rows, %zu entries)",
                    static_cast<std::ptrdiff_t>(a.rows()),
                    static_cast<std::ptrdiff_t>(a.nonZeros()),
                    static_cast<std::ptrdiff_t>(pattern.size()),
                    pattern.rows.size()));
  }
}

/// Throws Error(bad_data) naming `who` unless right-hand sides have so many rows, of finite
/// numbers.
template <class B>
void check_right_hand_side(char const* who, Eigen::Index rows, B const& b) {
  if (b.rows() != rows) {
    throw Error(ErrorCode::bad_data,
                who,
                "the right-hand side has " + std::to_string(b.rows()) + " rows, the matrix " +
                    std::to_string(rows));
  }
  for (Eigen::Index j = 0; j < b.cols(); ++j) {
    for (Eigen::Index i = 0; i < b.rows(); ++i) {
      if (!std::isfinite(std::abs(b(i, j)))) {
        throw Error(ErrorCode::bad_data,
                    who,
                    "row " + std::to_string(i) + " of right-hand side " + std::to_string(j) +
                        " is not a finite number");
      }
    }
  }
}

/// Throws Error(numerical) naming `who`: a solution is not accurate.
[[noreturn]] inline void refuse_solution(char const* who,
                                         Eigen::Index right_hand_side,
                                         Refined const& refined,
                                         double accuracy,
                                         std::size_t perturbed,
                                         std::size_t pivots) {
  throw Error(ErrorCode::numerical,
              who,
              hetsched::detail::text(
                  "right-hand side %td: backward error %.2g after %zu steps of refinement and %zu "
                  "iterations of GMRES, above %.2g; %zu of %zu pivots were too small and replaced: "
                  "the matrix is singular or nearly so",
                  static_cast<std::ptrdiff_t>(right_hand_side),
                  refined.backward_error,
                  refined.steps,
                  refined.iterations,
                  accuracy,
                  perturbed,
                  pivots));
}

} // namespace hetsched::sparse::detail
