// SPDX-License-Identifier: MIT
#pragma once
// Kernels of LU with and without partial pivoting, for float, double and std::complex<double>. What
// they share with other algorithms, and which library does the work, is in kernels.hpp.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/linalg/kernels.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace hetsched::linalg::kernels {

/// B := L^-1 B, for L n x n lower triangular with ones on its diagonal, which are not read, nor is
/// what is above; B n x m. m n^2 flops.
template <tile B, tile_like<B> L>
void trsm_unit(L l, B b) {
  HETSCHED_ASSERT(l.rows() == l.cols() && l.cols() == b.rows(), "shapes");
  if (is_empty(b)) {
    return;
  }
  if (detail::on_team(b.cols(), [&](std::size_t begin, std::size_t end) {
        trsm_unit(l, block(b, 0, begin, b.rows(), end - begin));
      })) {
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  detail::blas_trsm<NumberOf<B>>(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, l, b);
#else
  auto target = as_eigen(b);
  as_eigen(l).template triangularView<Eigen::UnitLower>().solveInPlace(target);
#endif
}

/// Exchanges row first + i of A with row pivots[i], for i = 0, 1, ... If A is column-major, column
/// by column, so that a column is fetched once however many rows are exchanged.
template <tile A>
void swap_rows(std::size_t first, VectorView<std::size_t const> pivots, A a) {
  if constexpr (is_row_major<A>) {
    for (std::size_t i = 0; i < pivots.size(); ++i) {
      HETSCHED_ASSERT(first + i < a.rows() && pivots[i] < a.rows(), "no such row");
      if (pivots[i] != first + i) {
        auto* const row = a.data() + (first + i) * a.ld();
        std::swap_ranges(row, row + a.cols(), a.data() + pivots[i] * a.ld());
      }
    }
  } else {
    for (std::size_t j = 0; j < a.cols(); ++j) {
      auto* const column = a.data() + j * a.ld();
      for (std::size_t i = 0; i < pivots.size(); ++i) {
        HETSCHED_ASSERT(first + i < a.rows() && pivots[i] < a.rows(), "no such row");
        std::swap(column[first + i], column[pivots[i]]);
      }
    }
  }
}

/// What getrf does about pivots that are too small, if it is to go on.
template <element T>
struct PivotFloor {
  double least = 0;         // a pivot of smaller modulus becomes one of this modulus
  std::size_t replaced = 0; // how many did
};

namespace detail {

/// The first of the largest modulus, and that; NaN if there is one.
template <class Column>
[[nodiscard]] std::pair<Eigen::Index, double> first_largest(Column const& candidates) {
  using T = typename Column::Scalar;
  if constexpr (std::is_floating_point_v<T>) {
    T const largest = candidates.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
    Eigen::Index at = 0;
    while (at + 1 < candidates.size() && std::abs(candidates[at]) != largest) {
      ++at;
    }
    return {at, static_cast<double>(largest)};
  } else {
    std::pair<Eigen::Index, double> best{0, std::abs(candidates[0])};
    for (Eigen::Index i = 1; i < candidates.size(); ++i) {
      auto const modulus = std::abs(candidates[i]);
      if (std::isnan(modulus) || modulus > best.second) {
        best = {i, modulus};
      }
      if (std::isnan(modulus)) {
        break;
      }
    }
    return best;
  }
}

/// getrf by columns, for a few of them.
template <tile A>
std::optional<Breakdown>
getrf_columns(A a, VectorView<std::size_t> pivots, PivotFloor<NumberOf<A>>* floor) {
  using T = NumberOf<A>;
  auto m = as_eigen(a);
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    auto const j = static_cast<Eigen::Index>(k);
    auto const rest = m.rows() - j;
    auto candidates = m.col(j).tail(rest);
    auto const [at, largest] = first_largest(candidates);
    bool const small = floor != nullptr && largest < floor->least;
    if (!(largest > 0 || small) || !std::isfinite(largest)) {
      return Breakdown{k, largest};
    }
    pivots[k] = k + static_cast<std::size_t>(at);
    if (at != 0) {
      m.row(j).swap(m.row(j + at));
    }
    if (small) {
      auto const least = static_cast<Eigen::NumTraits<T>::Real>(floor->least);
      candidates[0] = largest > 0 ? candidates[0] / std::abs(candidates[0]) * least : T(least);
      ++floor->replaced;
    }
    candidates.tail(rest - 1) /= candidates[0]; // a reciprocal could overflow
    for (Eigen::Index c = j + 1; c < m.cols(); ++c) {
      m.col(c).tail(rest - 1) -= m(j, c) * candidates.tail(rest - 1);
    }
  }
  return std::nullopt;
}

} // namespace detail

/// P A = L U in place, for A m x n, by partial pivoting: L, m x k, has ones on its diagonal, which
/// are not stored, and U is k x n, k = min(m, n). P exchanges row i with row pivots[i], for i = 0,
/// 1, ..., k - 1. The pivot is the first of the largest modulus. m n^2 - n^3 / 3 flops if m >= n.
///
/// Stops at the first column whose candidates are all 0, or one of them NaN or infinity: the
/// breakdown's pivot is the largest modulus, NaN if there is one. A NaN anywhere to the left of
/// that or above reaches all candidates. A's and the pivots' contents are then not specified.
/// With a `floor` it does not stop at 0: a pivot below the floor is replaced and counted, so that
/// P A = L U holds for a matrix near A.
///
/// Source: Toledo 1997, the recursive column algorithm, which leaves nearly all work to gemm; the
/// floor: Li and Demmel, "SuperLU_DIST", 2003, sec. 3 (static pivoting).
template <tile A>
[[nodiscard]] std::optional<Breakdown>
getrf(A a, VectorView<std::size_t> pivots, PivotFloor<NumberOf<A>>* floor = nullptr) {
  using T = NumberOf<A>;
  auto const m = a.rows();
  auto const n = a.cols();
  auto const count = pivots.size();
  HETSCHED_ASSERT(count == std::min(m, n), "shapes");
  if (count <= 4) { // 8 and 2 are no faster
    return detail::getrf_columns(a, pivots, floor);
  }
  auto const half = count / 2;
  auto const left = block(a, 0, 0, m, half);
  auto const right = block(a, 0, half, m, n - half);
  VectorView const upper(pivots.data(), half);
  VectorView const lower(pivots.data() + half, count - half);
  if (auto const where = getrf(left, upper, floor)) {
    return where;
  }
  swap_rows(0, upper, right);
  auto const top = block(right, 0, 0, half, n - half);
  auto const rest = block(right, half, 0, m - half, n - half);
  trsm_unit(block(left, 0, 0, half, half), top);
  gemm<T>(T(-1), block(left, half, 0, m - half, half), top, T(1), rest);
  if (auto const where = getrf(rest, lower, floor)) {
    return Breakdown{half + where->column, where->pivot};
  }
  for (auto& pivot : lower) {
    pivot += half;
  }
  swap_rows(half, lower, left);
  return std::nullopt;
}

/// B := B U^-1, for U n x n upper triangular, what is below its diagonal not being read; B m x n.
/// m n^2 flops. A zero on U's diagonal gives infinities or NaN.
template <tile B, tile_like<B> U>
void trsm_upper(U u, B b) {
  HETSCHED_ASSERT(u.rows() == u.cols() && u.cols() == b.cols(), "shapes");
  if (is_empty(b)) {
    return;
  }
  if (detail::on_team(b.rows(), [&](std::size_t begin, std::size_t end) {
        trsm_upper(u, block(b, begin, 0, end - begin, b.cols()));
      })) {
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  detail::blas_trsm<NumberOf<B>>(CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, u, b);
#else
  auto target = as_eigen(b);
  as_eigen(u).template triangularView<Eigen::Upper>().template solveInPlace<Eigen::OnTheRight>(
      target);
#endif
}

/// A = L U in place without pivoting, for A n x n: L has ones on its diagonal, which are not
/// stored. 2 n^3 / 3 flops. For matrices whose pivots are known to be good, as diagonally dominant
/// ones.
///
/// Stops at the first pivot that is 0, NaN or infinity: the breakdown's pivot is its modulus. A's
/// contents are then not specified.
///
/// Source: as getrf, recursive by columns.
template <real_tile A>
[[nodiscard]] std::optional<Breakdown> getrf_without_pivoting(A a) {
  using T = NumberOf<A>;
  HETSCHED_ASSERT(a.rows() == a.cols(), "shapes");
  auto const n = a.rows();
  if (n == 0) {
    return std::nullopt;
  }
  if (n == 1) {
    auto const modulus = std::abs(a(0, 0));
    return modulus > T(0) && std::isfinite(modulus)
               ? std::nullopt
               : std::optional(Breakdown{0, static_cast<double>(modulus)});
  }
  auto const half = n / 2;
  auto const top = block(a, 0, 0, half, half);
  auto const right = block(a, 0, half, half, n - half);
  auto const below = block(a, half, 0, n - half, half);
  auto const rest = block(a, half, half, n - half, n - half);
  if (auto const where = getrf_without_pivoting(top)) {
    return where;
  }
  trsm_unit(top, right);
  trsm_upper(top, below);
  gemm<T>(T(-1), below, right, T(1), rest);
  if (auto const where = getrf_without_pivoting(rest)) {
    return Breakdown{half + where->column, where->pivot};
  }
  return std::nullopt;
}

} // namespace hetsched::linalg::kernels
