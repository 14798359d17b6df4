// SPDX-License-Identifier: MIT
// Emulated devices compute with Eigen, where OpenBLAS is not found. Symmetric and triangular
// operands are first written out as full matrices: less code and less to compile, for more memory.

#include "kernels.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <utility>

namespace hetsched::emulated {
namespace {

using devices::Matrix;
using devices::Vector;

template <class T>
using Full = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
Eigen::Map<Full<T>, Eigen::Unaligned, Eigen::OuterStride<>> view(Matrix<T> a) {
  return {a.data, a.rows, a.cols, Eigen::OuterStride<>(a.ld)};
}

template <class T>
Eigen::Map<Full<T> const, Eigen::Unaligned, Eigen::OuterStride<>> view(Matrix<T const> a) {
  return {a.data, a.rows, a.cols, Eigen::OuterStride<>(a.ld)};
}

/// op(A).
template <class T>
Full<T> copy_of(char trans, Matrix<T const> a) {
  if (trans == 'N') {
    return view(a);
  }
  return view(a).transpose();
}

template <class T>
Full<T> symmetric(char uplo, Matrix<T const> a) {
  Full<T> full(a.rows, a.rows);
  for (int j = 0; j < a.rows; ++j) {
    for (int i = j; i < a.rows; ++i) {
      auto const stored = uplo == 'L' ? view(a)(i, j) : view(a)(j, i);
      full(i, j) = stored;
      full(j, i) = stored;
    }
  }
  return full;
}

/// op(A).
template <class T>
Full<T> triangular(char uplo, char trans, char diag, Matrix<T const> a) {
  Full<T> full = Full<T>::Zero(a.rows, a.rows);
  for (int j = 0; j < a.rows; ++j) {
    for (int i = uplo == 'L' ? j : 0; i < (uplo == 'L' ? a.rows : j + 1); ++i) {
      auto const stored = i == j && diag == 'U' ? T(1) : view(a)(i, j);
      (trans == 'N' ? full(i, j) : full(j, i)) = stored;
    }
  }
  return full;
}

template <class T, class C>
void scale(T beta, C&& c) {
  if (beta == T(0)) {
    c.setZero();
  } else if (beta != T(1)) {
    c *= beta;
  }
}

/// C := P + beta C in one triangle.
template <class T>
void add_triangle(char uplo, Full<T> const& product, T beta, Matrix<T> c) {
  auto to = view(c);
  for (int j = 0; j < c.rows; ++j) {
    int const begin = uplo == 'L' ? j : 0;
    int const rows = uplo == 'L' ? c.rows - j : j + 1;
    auto column = to.col(j).segment(begin, rows);
    scale(beta, column);
    column += product.col(j).segment(begin, rows);
  }
}

/// Element i of a vector of BLAS. With a negative increment element 0 is the last in memory.
template <class T>
T& element(Vector<T> x, int i) {
  auto const step = static_cast<std::ptrdiff_t>(x.inc);
  return x.data[x.inc > 0 ? i * step : (i - x.n + 1) * step];
}

} // namespace

bool has_blas() noexcept {
  return true;
}

void use_one_thread() {
}

template <class T>
void Kernels<T>::gemm(char trans_a, char trans_b, T alpha, In a, In b, T beta, Out c) {
  auto to = view(c);
  scale(beta, to);
  if (alpha != T(0) && (trans_a == 'N' ? a.cols : a.rows) > 0) {
    to.noalias() += alpha * copy_of(trans_a, a) * copy_of(trans_b, b);
  }
}

template <class T>
void Kernels<T>::symm(char side, char uplo, T alpha, In a, In b, T beta, Out c) {
  if (alpha == T(0)) {
    auto to = view(c);
    scale(beta, to);
    return;
  }
  auto const full = symmetric(uplo, a);
  In const whole{full.data(), a.rows, a.cols, a.rows};
  if (side == 'L') {
    gemm('N', 'N', alpha, whole, b, beta, c);
  } else {
    gemm('N', 'N', alpha, b, whole, beta, c);
  }
}

template <class T>
void Kernels<T>::syrk(char uplo, char trans, T alpha, In a, T beta, Out c) {
  Full<T> product = Full<T>::Zero(c.rows, c.rows);
  if (alpha != T(0) && (trans == 'N' ? a.cols : a.rows) > 0) {
    auto const factor = copy_of(trans, a);
    product.noalias() += alpha * factor * factor.transpose();
  }
  add_triangle(uplo, product, beta, c);
}

template <class T>
void Kernels<T>::syr2k(char uplo, char trans, T alpha, In a, In b, T beta, Out c) {
  Full<T> product = Full<T>::Zero(c.rows, c.rows);
  if (alpha != T(0) && (trans == 'N' ? a.cols : a.rows) > 0) {
    auto const left = copy_of(trans, a);
    auto const right = copy_of(trans, b);
    product.noalias() += alpha * left * right.transpose();
    product.noalias() += alpha * right * left.transpose();
  }
  add_triangle(uplo, product, beta, c);
}

template <class T>
void Kernels<T>::trmm(char side, char uplo, char trans, char diag, T alpha, In a, Out b) {
  auto to = view(b);
  if (alpha == T(0)) {
    to.setZero();
    return;
  }
  Full<T> const old = alpha * to;
  auto const full = triangular(uplo, trans, diag, a);
  if (side == 'L') {
    to.noalias() = full * old;
  } else {
    to.noalias() = old * full;
  }
}

template <class T>
void Kernels<T>::trsm(char side, char uplo, char trans, char diag, T alpha, In a, Out b) {
  auto to = view(b);
  scale(alpha, to);
  if (alpha == T(0)) {
    return;
  }
  auto const full = triangular(uplo, trans, diag, a);
  bool const lower = (uplo == 'L') == (trans == 'N');
  if (side == 'L' && lower) {
    full.template triangularView<Eigen::Lower>().solveInPlace(to);
  } else if (side == 'L') {
    full.template triangularView<Eigen::Upper>().solveInPlace(to);
  } else if (lower) {
    full.template triangularView<Eigen::Lower>().template solveInPlace<Eigen::OnTheRight>(to);
  } else {
    full.template triangularView<Eigen::Upper>().template solveInPlace<Eigen::OnTheRight>(to);
  }
}

template <class T>
void Kernels<T>::axpy(T alpha, Read x, Write y) {
  for (int i = 0; i < x.n && alpha != T(0); ++i) {
    element(y, i) += alpha * element(x, i);
  }
}

template <class T>
void Kernels<T>::scal(T alpha, Write x) {
  for (int i = 0; i < x.n; ++i) {
    element(x, i) *= alpha;
  }
}

template <class T>
void Kernels<T>::copy(Read x, Write y) {
  for (int i = 0; i < x.n; ++i) {
    element(y, i) = element(x, i);
  }
}

template <class T>
void Kernels<T>::swap(Write x, Write y) {
  for (int i = 0; i < x.n; ++i) {
    std::swap(element(x, i), element(y, i));
  }
}

template <class T>
void Kernels<T>::dot(Read x, Read y, T* result) {
  T sum = 0;
  for (int i = 0; i < x.n; ++i) {
    sum += element(x, i) * element(y, i);
  }
  *result = sum;
}

template <class T>
void Kernels<T>::nrm2(Read x, T* result) {
  using Elements = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  *result = Eigen::Map<Elements const, Eigen::Unaligned, Eigen::InnerStride<>>(
                x.data, x.n, Eigen::InnerStride<>(x.inc))
                .stableNorm();
}

template <class T>
void Kernels<T>::asum(Read x, T* result) {
  T sum = 0;
  for (int i = 0; i < x.n; ++i) {
    sum += std::abs(element(x, i));
  }
  *result = sum;
}

template struct Kernels<float>;
template struct Kernels<double>;

} // namespace hetsched::emulated
