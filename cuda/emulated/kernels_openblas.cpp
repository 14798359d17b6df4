// SPDX-License-Identifier: MIT
// Emulated devices compute with OpenBLAS and LAPACKE.

#include "kernels.hpp"

#include <complex> // before lapacke.h, which would take C's
#ifndef LAPACK_COMPLEX_CPP
#define LAPACK_COMPLEX_CPP
#endif
#include <cblas.h>
#include <lapacke.h>

#include <mutex>

extern "C" { // not in every cblas.h
void openblas_set_num_threads(int);
int openblas_get_num_threads(void);
}

namespace hetsched::emulated {
namespace {

using devices::for_type;

constexpr devices::Letters letters{CblasNoTrans,
                                   CblasTrans,
                                   CblasLower,
                                   CblasUpper,
                                   CblasLeft,
                                   CblasRight,
                                   CblasUnit,
                                   CblasNonUnit};

} // namespace

bool has_blas() noexcept {
  return true;
}

bool has_lapack() noexcept {
  return true;
}

void use_one_thread() {
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  if (openblas_get_num_threads() != 1) {
    openblas_set_num_threads(1);
  }
}

// clang-format would give each of up to 14 arguments a line of its own.
// clang-format off

template <class T>
void Kernels<T>::gemm(char trans_a, char trans_b, T alpha, In a, In b, T beta, Out c) {
  int const depth = trans_a == 'N' ? a.cols : a.rows;
  for_type<T>(cblas_sgemm, cblas_dgemm)(CblasColMajor, letters.trans(trans_a),
      letters.trans(trans_b), c.rows, c.cols, depth, alpha, a.data, a.ld, b.data, b.ld, beta,
      c.data, c.ld);
}

template <class T>
void Kernels<T>::symm(char side, char uplo, T alpha, In a, In b, T beta, Out c) {
  for_type<T>(cblas_ssymm, cblas_dsymm)(CblasColMajor, letters.side(side), letters.uplo(uplo),
      c.rows, c.cols, alpha, a.data, a.ld, b.data, b.ld, beta, c.data, c.ld);
}

template <class T>
void Kernels<T>::syrk(char uplo, char trans, T alpha, In a, T beta, Out c) {
  int const depth = trans == 'N' ? a.cols : a.rows;
  for_type<T>(cblas_ssyrk, cblas_dsyrk)(CblasColMajor, letters.uplo(uplo), letters.trans(trans),
      c.rows, depth, alpha, a.data, a.ld, beta, c.data, c.ld);
}

template <class T>
void Kernels<T>::syr2k(char uplo, char trans, T alpha, In a, In b, T beta, Out c) {
  int const depth = trans == 'N' ? a.cols : a.rows;
  for_type<T>(cblas_ssyr2k, cblas_dsyr2k)(CblasColMajor, letters.uplo(uplo), letters.trans(trans),
      c.rows, depth, alpha, a.data, a.ld, b.data, b.ld, beta, c.data, c.ld);
}

template <class T>
void Kernels<T>::trmm(char side, char uplo, char trans, char diag, T alpha, In a, Out b) {
  for_type<T>(cblas_strmm, cblas_dtrmm)(CblasColMajor, letters.side(side), letters.uplo(uplo),
      letters.trans(trans), letters.diag(diag), b.rows, b.cols, alpha, a.data, a.ld, b.data,
      b.ld);
}

template <class T>
void Kernels<T>::trsm(char side, char uplo, char trans, char diag, T alpha, In a, Out b) {
  for_type<T>(cblas_strsm, cblas_dtrsm)(CblasColMajor, letters.side(side), letters.uplo(uplo),
      letters.trans(trans), letters.diag(diag), b.rows, b.cols, alpha, a.data, a.ld, b.data,
      b.ld);
}

template <class T>
void Kernels<T>::axpy(T alpha, Read x, Write y) {
  for_type<T>(cblas_saxpy, cblas_daxpy)(x.n, alpha, x.data, x.inc, y.data, y.inc);
}

template <class T>
void Kernels<T>::scal(T alpha, Write x) {
  for_type<T>(cblas_sscal, cblas_dscal)(x.n, alpha, x.data, x.inc);
}

template <class T>
void Kernels<T>::copy(Read x, Write y) {
  for_type<T>(cblas_scopy, cblas_dcopy)(x.n, x.data, x.inc, y.data, y.inc);
}

template <class T>
void Kernels<T>::swap(Write x, Write y) {
  for_type<T>(cblas_sswap, cblas_dswap)(x.n, x.data, x.inc, y.data, y.inc);
}

template <class T>
void Kernels<T>::dot(Read x, Read y, T* result) {
  *result = for_type<T>(cblas_sdot, cblas_ddot)(x.n, x.data, x.inc, y.data, y.inc);
}

template <class T>
void Kernels<T>::nrm2(Read x, T* result) {
  *result = for_type<T>(cblas_snrm2, cblas_dnrm2)(x.n, x.data, x.inc);
}

template <class T>
void Kernels<T>::asum(Read x, T* result) {
  *result = for_type<T>(cblas_sasum, cblas_dasum)(x.n, x.data, x.inc);
}

// clang-format on

template <class T>
int Lapack<T>::potrf(char uplo, int n, T* a, int lda) {
  auto* const call = for_type<T>(LAPACKE_spotrf_work, LAPACKE_dpotrf_work);
  return call(LAPACK_COL_MAJOR, uplo, n, a, lda);
}

template <class T>
int Lapack<T>::getrf(int m, int n, T* a, int lda, int* pivots) {
  auto* const call = for_type<T>(LAPACKE_sgetrf_work, LAPACKE_dgetrf_work);
  return call(LAPACK_COL_MAJOR, m, n, a, lda, pivots);
}

template struct Kernels<float>;
template struct Kernels<double>;
template struct Lapack<float>;
template struct Lapack<double>;

} // namespace hetsched::emulated
