// SPDX-License-Identifier: MIT
// Emulated devices compute with Eigen, where OpenBLAS is not found. Symmetric and triangular
// operands are first written out as full matrices: less code and less to compile, for more memory.

#include "emulated_kernels.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <utility>

namespace hetsched::emulated {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
using View = Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
using ConstView = Eigen::Map<Matrix<T> const, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
View<T> view(T* a, int rows, int cols, int ld) {
  return {a, rows, cols, Eigen::OuterStride<>(ld)};
}

template <class T>
ConstView<T> view(T const* a, int rows, int cols, int ld) {
  return {a, rows, cols, Eigen::OuterStride<>(ld)};
}

/// op(A), which has these sizes.
template <class T>
Matrix<T> copy_of(char trans, T const* a, int rows, int cols, int lda) {
  if (trans == 'N') {
    return view(a, rows, cols, lda);
  }
  return view(a, cols, rows, lda).transpose();
}

template <class T>
Matrix<T> symmetric(char uplo, T const* a, int n, int lda) {
  Matrix<T> full(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      auto const stored = uplo == 'L' ? view(a, n, n, lda)(i, j) : view(a, n, n, lda)(j, i);
      full(i, j) = stored;
      full(j, i) = stored;
    }
  }
  return full;
}

/// op(A).
template <class T>
Matrix<T> triangular(char uplo, char trans, char diag, T const* a, int n, int lda) {
  Matrix<T> full = Matrix<T>::Zero(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = uplo == 'L' ? j : 0; i < (uplo == 'L' ? n : j + 1); ++i) {
      auto const stored = i == j && diag == 'U' ? T(1) : view(a, n, n, lda)(i, j);
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
void add_triangle(char uplo, Matrix<T> const& product, T beta, T* c, int n, int ldc) {
  auto to = view(c, n, n, ldc);
  for (int j = 0; j < n; ++j) {
    int const begin = uplo == 'L' ? j : 0;
    int const rows = uplo == 'L' ? n - j : j + 1;
    auto column = to.col(j).segment(begin, rows);
    scale(beta, column);
    column += product.col(j).segment(begin, rows);
  }
}

/// Element i of a vector of BLAS: with a negative increment it begins at its end.
template <class T>
T& element(T* x, int i, int n, int inc) {
  auto const step = static_cast<std::ptrdiff_t>(inc);
  return x[inc > 0 ? i * step : (i - n + 1) * step];
}

} // namespace

bool has_blas() noexcept {
  return true;
}

bool has_lapack() noexcept {
  return false;
}

void use_one_thread() {
}

template <class T>
void Kernels<T>::gemm(char trans_a,
                      char trans_b,
                      int m,
                      int n,
                      int k,
                      T alpha,
                      T const* a,
                      int lda,
                      T const* b,
                      int ldb,
                      T beta,
                      T* c,
                      int ldc) {
  auto to = view(c, m, n, ldc);
  scale(beta, to);
  if (alpha != T(0) && k > 0) {
    to.noalias() += alpha * copy_of(trans_a, a, m, k, lda) * copy_of(trans_b, b, k, n, ldb);
  }
}

template <class T>
void Kernels<T>::symm(char side,
                      char uplo,
                      int m,
                      int n,
                      T alpha,
                      T const* a,
                      int lda,
                      T const* b,
                      int ldb,
                      T beta,
                      T* c,
                      int ldc) {
  if (alpha == T(0)) {
    auto to = view(c, m, n, ldc);
    scale(beta, to);
    return;
  }
  auto const full = symmetric(uplo, a, side == 'L' ? m : n, lda);
  if (side == 'L') {
    gemm('N', 'N', m, n, m, alpha, full.data(), m, b, ldb, beta, c, ldc);
  } else {
    gemm('N', 'N', m, n, n, alpha, b, ldb, full.data(), n, beta, c, ldc);
  }
}

template <class T>
void Kernels<T>::syrk(
    char uplo, char trans, int n, int k, T alpha, T const* a, int lda, T beta, T* c, int ldc) {
  Matrix<T> product = Matrix<T>::Zero(n, n);
  if (alpha != T(0) && k > 0) {
    auto const factor = copy_of(trans, a, n, k, lda);
    product.noalias() += alpha * factor * factor.transpose();
  }
  add_triangle(uplo, product, beta, c, n, ldc);
}

template <class T>
void Kernels<T>::syr2k(char uplo,
                       char trans,
                       int n,
                       int k,
                       T alpha,
                       T const* a,
                       int lda,
                       T const* b,
                       int ldb,
                       T beta,
                       T* c,
                       int ldc) {
  Matrix<T> product = Matrix<T>::Zero(n, n);
  if (alpha != T(0) && k > 0) {
    auto const left = copy_of(trans, a, n, k, lda);
    auto const right = copy_of(trans, b, n, k, ldb);
    product.noalias() += alpha * left * right.transpose();
    product.noalias() += alpha * right * left.transpose();
  }
  add_triangle(uplo, product, beta, c, n, ldc);
}

template <class T>
void Kernels<T>::trmm(char side,
                      char uplo,
                      char trans,
                      char diag,
                      int m,
                      int n,
                      T alpha,
                      T const* a,
                      int lda,
                      T* b,
                      int ldb) {
  auto to = view(b, m, n, ldb);
  if (alpha == T(0)) {
    to.setZero();
    return;
  }
  Matrix<T> const old = alpha * to;
  auto const full = triangular(uplo, trans, diag, a, side == 'L' ? m : n, lda);
  if (side == 'L') {
    to.noalias() = full * old;
  } else {
    to.noalias() = old * full;
  }
}

template <class T>
void Kernels<T>::trsm(char side,
                      char uplo,
                      char trans,
                      char diag,
                      int m,
                      int n,
                      T alpha,
                      T const* a,
                      int lda,
                      T* b,
                      int ldb) {
  auto to = view(b, m, n, ldb);
  scale(alpha, to);
  if (alpha == T(0)) {
    return;
  }
  auto const full = triangular(uplo, trans, diag, a, side == 'L' ? m : n, lda);
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
void Kernels<T>::axpy(int n, T alpha, T const* x, int incx, T* y, int incy) {
  for (int i = 0; i < n && alpha != T(0); ++i) {
    element(y, i, n, incy) += alpha * element(x, i, n, incx);
  }
}

template <class T>
void Kernels<T>::scal(int n, T alpha, T* x, int incx) {
  for (int i = 0; i < n; ++i) {
    element(x, i, n, incx) *= alpha;
  }
}

template <class T>
void Kernels<T>::copy(int n, T const* x, int incx, T* y, int incy) {
  for (int i = 0; i < n; ++i) {
    element(y, i, n, incy) = element(x, i, n, incx);
  }
}

template <class T>
void Kernels<T>::swap(int n, T* x, int incx, T* y, int incy) {
  for (int i = 0; i < n; ++i) {
    std::swap(element(x, i, n, incx), element(y, i, n, incy));
  }
}

template <class T>
T Kernels<T>::dot(int n, T const* x, int incx, T const* y, int incy) {
  T sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += element(x, i, n, incx) * element(y, i, n, incy);
  }
  return sum;
}

template <class T>
T Kernels<T>::nrm2(int n, T const* x, int incx) {
  return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1> const,
                    Eigen::Unaligned,
                    Eigen::InnerStride<>>(x, n, Eigen::InnerStride<>(incx))
      .stableNorm();
}

template <class T>
T Kernels<T>::asum(int n, T const* x, int incx) {
  T sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += std::abs(element(x, i, n, incx));
  }
  return sum;
}

template <class T>
int Kernels<T>::potrf(char, int, T*, int) {
  return 0;
}

template <class T>
int Kernels<T>::getrf(int, int, T*, int, int*) {
  return 0;
}

template struct Kernels<float>;
template struct Kernels<double>;

} // namespace hetsched::emulated
