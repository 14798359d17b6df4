// SPDX-License-Identifier: MIT
#pragma once
// What sweeps do with a front's dense factors and right-hand sides. The choice of operation is an
// argument, not a type: Eigen's templates for products are slow to compile, so there are few.

#include <hetsched/core/views.hpp>
#include <hetsched/linalg/kernels.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>

namespace hetsched::sparse::detail {

/// Elements of a matrix, as most fronts of a circuit have, for which BLAS and Eigen take longer to
/// begin than loops take.
constexpr std::size_t few_elements = 32;

/// y := y - A x, or y - A^T x.
template <class T>
void subtract_product_with_vector(TileView<T const> a, bool transposed, T const* x, T* y) {
  auto const rows = a.rows();
  if (rows * a.cols() <= few_elements) {
    for (std::size_t j = 0; j < a.cols(); ++j) {
      T const* const column = a.data() + j * a.ld();
      if (transposed) {
        T sum = y[j];
        for (std::size_t i = 0; i < rows; ++i) {
          sum -= column[i] * x[i];
        }
        y[j] = sum;
      } else {
        T const factor = x[j];
        for (std::size_t i = 0; i < rows; ++i) {
          y[i] -= column[i] * factor;
        }
      }
    }
    return;
  }
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  auto const matrix = linalg::kernels::as_eigen(a);
  Eigen::Map<Vector const> const factor(x, transposed ? matrix.rows() : matrix.cols());
  Eigen::Map<Vector> target(y, transposed ? matrix.cols() : matrix.rows());
  if (transposed) {
    target.noalias() -= matrix.transpose() * factor;
  } else {
    target.noalias() -= matrix * factor;
  }
}

/// Y := Y - A X, or Y - A^T X. 2 flops for each element of A and column.
template <class T>
void subtract_product(TileView<T const> a, bool transposed, TileView<T const> x, TileView<T> y) {
  if (linalg::kernels::is_empty(a) || x.cols() == 0) {
    return;
  }
  if (x.cols() == 1) {
    subtract_product_with_vector<T>(a, transposed, x.data(), y.data());
    return;
  }
  if (!transposed) {
    linalg::kernels::gemm<T>(T(-1), a, x, T(1), y);
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  linalg::kernels::detail::blas_gemm<T>(T(-1), CblasTrans, a, CblasNoTrans, x, T(1), y);
#else
  using linalg::kernels::as_eigen;
  as_eigen(y).noalias() -= as_eigen(a).transpose() * as_eigen(x);
#endif
}

enum class Triangle { lower, unit_lower, upper };

/// x := A^-1 x, or A^-T x, for a triangle of A; from its first row on, or from its last one.
template <bool Transposed, bool Forward, class T>
void solve_small_triangle(TileView<T const> a, bool unit, T* x) {
  auto const n = a.rows();
  for (std::size_t step = 0; step < n; ++step) {
    auto const i = Forward ? step : n - 1 - step;
    T const* const column = a.data() + i * a.ld();
    auto const first = Forward == Transposed ? 0 : i + 1; // of the column's part in the triangle
    auto const last = Forward == Transposed ? i : n;
    T value = x[i];
    if constexpr (Transposed) {
      for (auto k = first; k < last; ++k) {
        value -= column[k] * x[k];
      }
    }
    x[i] = value = unit ? value : value / column[i];
    if constexpr (!Transposed) {
      for (auto k = first; k < last; ++k) {
        x[k] -= column[k] * value;
      }
    }
  }
}

/// X := A^-1 X, or A^-T X, for that triangle of A n x n; of a unit triangle the diagonal is not
/// read. n^2 flops for each column. A zero on the diagonal gives infinities or NaN.
template <class T>
void solve_triangle(TileView<T const> a, Triangle triangle, bool transposed, TileView<T> x) {
  auto const n = a.rows();
  bool const unit = triangle == Triangle::unit_lower;
  if (unit && n == 1) {
    return;
  }
  bool const forward = (triangle == Triangle::upper) == transposed;
  auto const solve = transposed ? forward ? &solve_small_triangle<true, true, T>
                                          : &solve_small_triangle<true, false, T>
                     : forward ? &solve_small_triangle<false, true, T>
                                : &solve_small_triangle<false, false, T>;
#ifdef HETSCHED_HAVE_LAPACKE
  if (n > 0 && x.cols() > 1) {
    linalg::kernels::detail::blas_trsm<T>(CblasLeft,
                                          triangle == Triangle::upper ? CblasUpper : CblasLower,
                                          transposed ? CblasTrans : CblasNoTrans,
                                          unit ? CblasUnit : CblasNonUnit,
                                          a,
                                          x);
    return;
  }
#endif
  // Some rows at a time, whose share is then taken from the rows that are left.
  std::size_t const width = x.cols() == 1 ? 8 : 32;
  if (n <= width && x.cols() == 1) {
    solve(a, unit, x.data());
    return;
  }
  using linalg::kernels::block;
  for (std::size_t done = 0; done < n; done += width) {
    auto const size = std::min(width, n - done);
    auto const rest = n - done - size;
    auto const begin = forward ? done : rest;
    auto const next = forward ? begin + size : 0;
    auto const top = block(x, begin, 0, size, x.cols());
    for (std::size_t j = 0; j < x.cols(); ++j) {
      solve(block(a, begin, begin, size, size), unit, &top(0, j));
    }
    subtract_product<T>(transposed ? block(a, begin, next, size, rest)
                                   : block(a, next, begin, rest, size),
                        transposed,
                        top,
                        block(x, next, 0, rest, x.cols()));
  }
}

} // namespace hetsched::sparse::detail
