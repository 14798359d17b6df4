// SPDX-License-Identifier: MIT
#pragma once
// Sequential kernels of tile QR, for float and double. What they share with other algorithms, and
// which library does the work, is in kernels.hpp.
//
// An orthogonal factor is a product of reflections I - tau v v^T, grouped in inner blocks of
// `inner` columns V as I - V T V^T with T upper triangular (Schreiber and Van Loan 1989). A tile of
// T has `inner` rows, and in the columns of a group its triangle; the elements below it are 0 or as
// they were. Both libraries use this layout, which is LAPACK's.

#include <hetsched/data.hpp>
#include <hetsched/detail/assert.hpp>
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

namespace detail {

/// Columns in an inner block, for `count` reflections with the tile `t` of T.
template <class T>
[[nodiscard]] std::size_t inner_block(TileView<T> t, std::size_t count) {
  return std::min(t.rows(), count);
}

#ifdef HETSCHED_HAVE_LAPACKE

template <class T>
struct QrBlas;

template <>
struct QrBlas<float> {
  static constexpr auto geqrt = LAPACKE_sgeqrt_work;
  static constexpr auto gemqrt = LAPACKE_sgemqrt_work;
  static constexpr auto tpqrt = LAPACKE_stpqrt_work;
  static constexpr auto tpmqrt = LAPACKE_stpmqrt_work;
};

template <>
struct QrBlas<double> {
  static constexpr auto geqrt = LAPACKE_dgeqrt_work;
  static constexpr auto gemqrt = LAPACKE_dgemqrt_work;
  static constexpr auto tpqrt = LAPACKE_dtpqrt_work;
  static constexpr auto tpmqrt = LAPACKE_dtpmqrt_work;
};

[[nodiscard]] inline char letter(Transpose transpose) noexcept {
  return transpose == Transpose::yes ? 'T' : 'N';
}

#else

/// Makes x := v and alpha := beta such that I - tau (1, v) (1, v)^T takes (alpha, x) to (beta, 0),
/// and returns tau. beta has the other sign than alpha had, so that nothing cancels.
template <class T, class Column>
[[nodiscard]] T reflection(T& alpha, Column x) {
  T const norm = x.size() == 0 ? T(0) : x.stableNorm();
  if (norm == T(0)) {
    return T(0);
  }
  T const beta = -std::copysign(std::hypot(alpha, norm), alpha);
  constexpr T tiny = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  if (std::abs(beta) < tiny) { // v would be as imprecise as a number without all its digits
    x /= tiny;
    alpha /= tiny;
    T const tau = reflection<T>(alpha, x);
    alpha *= tiny;
    return tau;
  }
  T const tau = (beta - alpha) / beta;
  x /= alpha - beta;
  alpha = beta;
  return tau;
}

/// W := op(T) W for upper triangular T.
template <class Factor, class Work>
void multiply_triangle(Transpose transpose, Factor const& t, Work& w) {
  if (transpose == Transpose::yes) {
    w = (t.transpose().template triangularView<Eigen::Lower>() * w).eval();
  } else {
    w = (t.template triangularView<Eigen::Upper>() * w).eval();
  }
}

/// C := (I - V op(T) V^T) C for one inner block, V unit lower trapezoidal.
template <class Columns, class Factor, class Target>
void apply_block(Transpose transpose, Columns const& v, Factor const& t, Target c) {
  using Work = Eigen::Matrix<typename Target::Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  auto const rest = v.rows() - v.cols();
  auto const triangle = v.topRows(v.cols()).template triangularView<Eigen::UnitLower>();
  Work w = triangle.transpose() * c.topRows(v.cols());
  w.noalias() += v.bottomRows(rest).transpose() * c.bottomRows(rest);
  multiply_triangle(transpose, t, w);
  c.bottomRows(rest).noalias() -= v.bottomRows(rest) * w;
  c.topRows(v.cols()) -= triangle * w;
}

/// The same for V = (I, V2): C1 is what I meets, C2 what V2 does.
template <class Columns, class Factor, class Top, class Target>
void apply_block(Transpose transpose, Columns const& v, Factor const& t, Top c1, Target c2) {
  using Work = Eigen::Matrix<typename Target::Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  Work w = c1;
  w.noalias() += v.transpose() * c2;
  multiply_triangle(transpose, t, w);
  c1 -= w;
  c2.noalias() -= v * w;
}

/// Completes T by column j, given the products of v_j with the columns of V before it.
template <class Factor, class Products>
void append(Factor t, Eigen::Index j, typename Factor::Scalar tau, Products const& products) {
  t.col(j).head(j) =
      t.topLeftCorner(j, j).template triangularView<Eigen::Upper>() * (-tau * products);
  t(j, j) = tau;
}

/// Calls use(first, width) for the inner blocks of `count` reflections, in the order in which op(Q)
/// applies them.
template <class Use>
void for_each_block(Transpose transpose, std::size_t count, std::size_t inner, Use&& use) {
  auto const index = [](std::size_t value) { return static_cast<Eigen::Index>(value); };
  std::size_t const blocks = (count + inner - 1) / inner;
  for (std::size_t b = 0; b < blocks; ++b) {
    std::size_t const first = (transpose == Transpose::yes ? b : blocks - 1 - b) * inner;
    use(index(first), index(std::min(inner, count - first)));
  }
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
  using detail::blas_int;
  std::vector<T> work(inner * a.cols());
  [[maybe_unused]] auto const info = detail::QrBlas<T>::geqrt(LAPACK_COL_MAJOR,
                                                              blas_int(a.rows()),
                                                              blas_int(a.cols()),
                                                              blas_int(inner),
                                                              a.data(),
                                                              blas_int(a.ld()),
                                                              t.data(),
                                                              blas_int(t.ld()),
                                                              work.data());
  HETSCHED_ASSERT(info == 0, "geqrt: illegal argument");
#else
  auto m = as_eigen(a);
  auto factors = as_eigen(t);
  detail::for_each_block(Transpose::yes, count, inner, [&](auto first, auto width) {
    auto v = m.block(first, first, m.rows() - first, width);
    auto factor = factors.block(0, first, width, width);
    for (Eigen::Index j = 0; j < width; ++j) {
      auto const below = v.rows() - j - 1;
      auto const right = width - j - 1;
      auto x = v.col(j).tail(below);
      T const tau = detail::reflection(v(j, j), x);
      auto rest = v.bottomRightCorner(below, right);
      auto row = v.row(j).tail(right);
      Eigen::Matrix<T, 1, Eigen::Dynamic> const w = tau * (row + x.transpose() * rest);
      row -= w;
      rest.noalias() -= x * w;
      detail::append(
          factor,
          j,
          tau,
          (v.row(j).head(j).transpose() + v.bottomLeftCorner(below, j).transpose() * x).eval());
    }
    auto const right = m.cols() - first - width;
    detail::apply_block(Transpose::yes, v, factor, m.block(first, first + width, v.rows(), right));
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
  auto const inner = detail::inner_block(t, count);
#ifdef HETSCHED_HAVE_LAPACKE
  using detail::blas_int;
  std::vector<T> work(inner * c.cols());
  [[maybe_unused]] auto const info = detail::QrBlas<T>::gemqrt(LAPACK_COL_MAJOR,
                                                               'L',
                                                               detail::letter(transpose),
                                                               blas_int(c.rows()),
                                                               blas_int(c.cols()),
                                                               blas_int(count),
                                                               blas_int(inner),
                                                               v.data(),
                                                               blas_int(v.ld()),
                                                               t.data(),
                                                               blas_int(t.ld()),
                                                               c.data(),
                                                               blas_int(c.ld()),
                                                               work.data());
  HETSCHED_ASSERT(info == 0, "gemqrt: illegal argument");
#else
  auto const columns = as_eigen(v);
  auto const factors = as_eigen(t);
  auto target = as_eigen(c);
  detail::for_each_block(transpose, count, inner, [&](auto first, auto width) {
    auto const rows = columns.rows() - first;
    detail::apply_block(transpose,
                        columns.block(first, first, rows, width),
                        factors.block(0, first, width, width),
                        target.bottomRows(rows));
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
  using detail::blas_int;
  std::vector<T> work(inner * a.cols());
  [[maybe_unused]] auto const info = detail::QrBlas<T>::tpqrt(LAPACK_COL_MAJOR,
                                                              blas_int(a.rows()),
                                                              blas_int(a.cols()),
                                                              0,
                                                              blas_int(inner),
                                                              r.data(),
                                                              blas_int(r.ld()),
                                                              a.data(),
                                                              blas_int(a.ld()),
                                                              t.data(),
                                                              blas_int(t.ld()),
                                                              work.data());
  HETSCHED_ASSERT(info == 0, "tpqrt: illegal argument");
#else
  auto top = as_eigen(r);
  auto m = as_eigen(a);
  auto factors = as_eigen(t);
  detail::for_each_block(Transpose::yes, a.cols(), inner, [&](auto first, auto width) {
    auto v = m.middleCols(first, width);
    auto factor = factors.block(0, first, width, width);
    for (Eigen::Index j = 0; j < width; ++j) {
      auto const right = width - j - 1;
      auto x = v.col(j);
      T const tau = detail::reflection(top(first + j, first + j), x);
      auto rest = v.rightCols(right);
      auto row = top.row(first + j).segment(first + j + 1, right);
      Eigen::Matrix<T, 1, Eigen::Dynamic> const w = tau * (row + x.transpose() * rest);
      row -= w;
      rest.noalias() -= x * w;
      detail::append(factor, j, tau, (v.leftCols(j).transpose() * x).eval());
    }
    auto const right = m.cols() - first - width;
    detail::apply_block(Transpose::yes,
                        v,
                        factor,
                        top.block(first, first + width, width, right),
                        m.rightCols(right));
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
  auto const inner = detail::inner_block(t, count);
#ifdef HETSCHED_HAVE_LAPACKE
  using detail::blas_int;
  std::vector<T> work(inner * c1.cols());
  [[maybe_unused]] auto const info = detail::QrBlas<T>::tpmqrt(LAPACK_COL_MAJOR,
                                                               'L',
                                                               detail::letter(transpose),
                                                               blas_int(c2.rows()),
                                                               blas_int(c2.cols()),
                                                               blas_int(count),
                                                               0,
                                                               blas_int(inner),
                                                               v.data(),
                                                               blas_int(v.ld()),
                                                               t.data(),
                                                               blas_int(t.ld()),
                                                               c1.data(),
                                                               blas_int(c1.ld()),
                                                               c2.data(),
                                                               blas_int(c2.ld()),
                                                               work.data());
  HETSCHED_ASSERT(info == 0, "tpmqrt: illegal argument");
#else
  auto const columns = as_eigen(v);
  auto const factors = as_eigen(t);
  auto top = as_eigen(c1);
  detail::for_each_block(transpose, count, inner, [&](auto first, auto width) {
    detail::apply_block(transpose,
                        columns.middleCols(first, width),
                        factors.block(0, first, width, width),
                        top.middleRows(first, width),
                        as_eigen(c2));
  });
#endif
}

} // namespace hetsched::linalg::kernels
