// SPDX-License-Identifier: MIT
#pragma once
// Sequential kernels of tile QR, for float and double. What they share with other algorithms, and
// which library does the work, is in kernels.hpp.
//
// An orthogonal factor is a product of reflections I - tau v v^T, grouped in inner blocks of
// `inner` columns V as I - V T V^T with T upper triangular (Schreiber and Van Loan 1989). A tile of
// T has `inner` rows, and in the columns of a group its triangle; the elements below it are 0 or as
// they were. Both libraries use this layout, which is LAPACK's.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/detail/linalg/blas_calls.hpp>
#include <hetsched/linalg/kernels.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

namespace hetsched::linalg::kernels {

/// Which orthogonal factor to apply: Q or Q^T.
enum class Transpose : bool { no, yes };

/// Calls use(first, width) for the inner blocks of `count` reflections, in the order in which op(Q)
/// applies them.
template <class Use>
void for_each_inner_block(Transpose transpose, std::size_t count, std::size_t inner, Use&& use) {
  std::size_t const blocks = (count + inner - 1) / inner;
  for (std::size_t b = 0; b < blocks; ++b) {
    std::size_t const first = (transpose == Transpose::yes ? b : blocks - 1 - b) * inner;
    use(first, std::min(inner, count - first));
  }
}

namespace detail {

/// Columns in an inner block, for `count` reflections with the tile `t` of T.
template <class T>
[[nodiscard]] std::size_t inner_block(TileView<T> t, std::size_t count) {
  return std::min(t.rows(), count);
}

#ifdef HETSCHED_HAVE_LAPACKE

[[nodiscard]] inline char letter(Transpose transpose) noexcept {
  return transpose == Transpose::yes ? 'T' : 'N';
}

#else

// These work on tiles and not on Eigen expressions, so that each is compiled once.

/// Makes x := v and alpha := beta such that I - tau (1, v) (1, v)^T takes (alpha, x) to (beta, 0),
/// and returns tau. beta has the other sign than alpha had, so that nothing cancels.
template <class T>
[[nodiscard]] T reflection(T& alpha, TileView<T> column) {
  auto x = as_eigen(column);
  T const norm = is_empty(column) ? T(0) : x.col(0).stableNorm();
  if (norm == T(0)) {
    return T(0);
  }
  T const beta = -std::copysign(std::hypot(alpha, norm), alpha);
  constexpr T tiny = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  if (std::abs(beta) < tiny) { // v would be as imprecise as a number without all its digits
    x /= tiny;
    alpha /= tiny;
    T const tau = reflection(alpha, column);
    alpha *= tiny;
    return tau;
  }
  T const tau = (beta - alpha) / beta;
  x /= alpha - beta;
  alpha = beta;
  return tau;
}

/// Eliminates column x of an inner block with the number alpha above it, and applies the reflection
/// to the columns on the right: `row` beside alpha, `rest` beside x. Returns tau.
template <class T>
[[nodiscard]] T eliminate(T& alpha, TileView<T> x, TileView<T> row, TileView<T> rest) {
  T const tau = reflection(alpha, x);
  if (is_empty(row)) {
    return tau;
  }
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> w = as_eigen(row);
  w.noalias() += as_eigen(x).transpose() * as_eigen(rest);
  w *= tau;
  as_eigen(row) -= w;
  as_eigen(rest).noalias() -= as_eigen(x) * w;
  return tau;
}

/// Completes the triangle T by column j, for v_j = (0, 1, x) and the columns before it, which are
/// `row` beside the 1 and `below` beside x.
template <class T>
void append(TileView<T> t,
            std::size_t j,
            T tau,
            TileView<T const> row,
            TileView<T const> below,
            TileView<T const> x) {
  t(j, j) = tau;
  if (j == 0) {
    return; // Eigen's triangular products take no empty operands
  }
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> products = as_eigen(row).transpose();
  products.noalias() += as_eigen(below).transpose() * as_eigen(x);
  products *= -tau;
  as_eigen(block(t, 0, j, j, 1)).noalias() =
      as_eigen(block(t, 0, 0, j, j)).template triangularView<Eigen::Upper>() * products;
}

/// W := op(T) W for upper triangular T.
template <class T>
void multiply_triangle(Transpose transpose,
                       TileView<T const> t,
                       Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>& w) {
  if (transpose == Transpose::yes) {
    w = (as_eigen(t).transpose().template triangularView<Eigen::Lower>() * w).eval();
  } else {
    w = (as_eigen(t).template triangularView<Eigen::Upper>() * w).eval();
  }
}

/// C := (I - V op(T) V^T) C for one inner block, V unit lower trapezoidal.
template <class T>
void apply_block(Transpose transpose, TileView<T const> v, TileView<T const> t, TileView<T> c) {
  if (is_empty(c)) {
    return;
  }
  auto const width = v.cols();
  auto const rest = v.rows() - width;
  auto const columns = as_eigen(block(v, width, 0, rest, width));
  auto top = as_eigen(block(c, 0, 0, width, c.cols()));
  auto bottom = as_eigen(block(c, width, 0, rest, c.cols()));
  auto const corner = as_eigen(block(v, 0, 0, width, width));
  auto const triangle = corner.template triangularView<Eigen::UnitLower>();
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> w = triangle.transpose() * top;
  w.noalias() += columns.transpose() * bottom;
  multiply_triangle(transpose, t, w);
  bottom.noalias() -= columns * w;
  top -= triangle * w;
}

/// The same for V = (I, V2): C1 is what I meets, C2 what V2 does.
template <class T>
void apply_block(
    Transpose transpose, TileView<T const> v, TileView<T const> t, TileView<T> c1, TileView<T> c2) {
  if (is_empty(c1)) {
    return;
  }
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> w = as_eigen(c1);
  w.noalias() += as_eigen(v).transpose() * as_eigen(c2);
  multiply_triangle(transpose, t, w);
  as_eigen(c1) -= w;
  as_eigen(c2).noalias() -= as_eigen(v) * w;
}

#endif

} // namespace detail

/// A = Q R in place, for A m x n: R on and above the diagonal, below it the columns of V, which has
/// ones on its diagonal. T: k = min(m, n) columns or more. 2 m n^2 - 2 n^3 / 3 flops if m >= n.
template <std::floating_point T>
void geqrt(TileView<T> a, TileView<T> t) {
  auto const count = std::min(a.rows(), a.cols());
  HETSCHED_ASSERT(t.rows() > 0 && t.cols() >= count, "shapes");
  if (count == 0) {
    return;
  }
  auto const inner = detail::inner_block(t, count);
#ifdef HETSCHED_HAVE_LAPACKE
  detail::call_lapack<T>(detail::Blas<T>::geqrt, inner * a.cols(), a.rows(), a.cols(), inner, a, t);
#else
  for_each_inner_block(Transpose::yes, count, inner, [&](std::size_t first, std::size_t width) {
    auto const v = block(a, first, first, a.rows() - first, width);
    auto const factor = block(t, 0, first, width, width);
    for (std::size_t j = 0; j < width; ++j) {
      auto const below = v.rows() - j - 1;
      auto const right = width - j - 1;
      auto const x = block(v, j + 1, j, below, 1);
      T const tau = detail::eliminate(
          v(j, j), x, block(v, j, j + 1, 1, right), block(v, j + 1, j + 1, below, right));
      detail::append<T>(factor, j, tau, block(v, j, 0, 1, j), block(v, j + 1, 0, below, j), x);
    }
    auto const next = first + width;
    auto const right = block(a, first, next, v.rows(), a.cols() - next);
    detail::apply_block<T>(Transpose::yes, v, factor, right);
  });
#endif
}

/// C := Q C or Q^T C, for C m x n and the k <= m reflections in the m x k tile V, and T, that geqrt
/// made. On and above its diagonal V is not read. 4 m n k - 2 n k^2 flops.
template <std::floating_point T>
void ormqr(Transpose transpose, TileView<T const> v, TileView<T const> t, TileView<T> c) {
  auto const count = std::min(v.rows(), v.cols());
  HETSCHED_ASSERT(v.rows() == c.rows() && t.rows() > 0 && t.cols() >= count, "shapes");
  if (count == 0 || c.cols() == 0) {
    return;
  }
  if (detail::on_team(c.cols(), [&](std::size_t begin, std::size_t end) {
        ormqr<T>(transpose, v, t, block(c, 0, begin, c.rows(), end - begin));
      })) {
    return;
  }
  auto const inner = detail::inner_block(t, count);
#ifdef HETSCHED_HAVE_LAPACKE
  detail::call_lapack<T>(detail::Blas<T>::gemqrt,
                         inner * c.cols(),
                         'L',
                         detail::letter(transpose),
                         c.rows(),
                         c.cols(),
                         count,
                         inner,
                         v,
                         t,
                         c);
#else
  for_each_inner_block(transpose, count, inner, [&](std::size_t first, std::size_t width) {
    auto const rows = v.rows() - first;
    detail::apply_block<T>(transpose,
                           block(v, first, first, rows, width),
                           block(t, 0, first, width, width),
                           block(c, first, 0, rows, c.cols()));
  });
#endif
}

/// (R, A) = Q (R', 0) in place, for R n x n upper triangular, of which nothing below the diagonal
/// is read or written, and A m x n, which becomes the lower part of V; the upper is the identity.
/// T: n columns or more. 2 m n^2 flops.
template <std::floating_point T>
void tsqrt(TileView<T> r, TileView<T> a, TileView<T> t) {
  HETSCHED_ASSERT(r.rows() == r.cols() && r.cols() == a.cols() && t.rows() > 0 &&
                      t.cols() >= a.cols(),
                  "shapes");
  if (is_empty(a)) {
    return;
  }
  auto const inner = detail::inner_block(t, a.cols());
#ifdef HETSCHED_HAVE_LAPACKE
  detail::call_lapack<T>(
      detail::Blas<T>::tpqrt, inner * a.cols(), a.rows(), a.cols(), std::size_t{0}, inner, r, a, t);
#else
  std::vector<T> const zero(inner);
  for_each_inner_block(Transpose::yes, a.cols(), inner, [&](std::size_t first, std::size_t width) {
    auto const v = block(a, 0, first, a.rows(), width);
    auto const factor = block(t, 0, first, width, width);
    for (std::size_t j = 0; j < width; ++j) {
      auto const k = first + j;
      auto const right = width - j - 1;
      auto const x = block(v, 0, j, a.rows(), 1);
      T const tau = detail::eliminate(
          r(k, k), x, block(r, k, k + 1, 1, right), block(v, 0, j + 1, a.rows(), right));
      TileView<T const> const beside_one(zero.data(), 1, j, 1);
      detail::append<T>(factor, j, tau, beside_one, block(v, 0, 0, a.rows(), j), x);
    }
    auto const next = first + width;
    auto const right = a.cols() - next;
    detail::apply_block<T>(Transpose::yes,
                           v,
                           factor,
                           block(r, first, next, width, right),
                           block(a, 0, next, a.rows(), right));
  });
#endif
}

/// (C1, C2) := Q (C1, C2) or Q^T (C1, C2), for C1 k x n, C2 m x n and the k reflections in the m x
/// k tile V, and T, that tsqrt made. 4 m n k flops.
template <std::floating_point T>
void tsmqr(
    Transpose transpose, TileView<T const> v, TileView<T const> t, TileView<T> c1, TileView<T> c2) {
  auto const count = v.cols();
  HETSCHED_ASSERT(v.rows() == c2.rows() && c1.cols() == c2.cols() && c1.rows() == count &&
                      t.rows() > 0 && t.cols() >= count,
                  "shapes");
  if (is_empty(v) || c1.cols() == 0) {
    return;
  }
  if (detail::on_team(c1.cols(), [&](std::size_t begin, std::size_t end) {
        tsmqr<T>(transpose,
                 v,
                 t,
                 block(c1, 0, begin, c1.rows(), end - begin),
                 block(c2, 0, begin, c2.rows(), end - begin));
      })) {
    return;
  }
  auto const inner = detail::inner_block(t, count);
#ifdef HETSCHED_HAVE_LAPACKE
  detail::call_lapack<T>(detail::Blas<T>::tpmqrt,
                         inner * c1.cols(),
                         'L',
                         detail::letter(transpose),
                         c2.rows(),
                         c2.cols(),
                         count,
                         std::size_t{0},
                         inner,
                         v,
                         t,
                         c1,
                         c2);
#else
  for_each_inner_block(transpose, count, inner, [&](std::size_t first, std::size_t width) {
    detail::apply_block<T>(transpose,
                           block(v, 0, first, v.rows(), width),
                           block(t, 0, first, width, width),
                           block(c1, first, 0, width, c1.cols()),
                           c2);
  });
#endif
}

} // namespace hetsched::linalg::kernels
