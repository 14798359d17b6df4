// SPDX-License-Identifier: MIT
// Emulated devices compute with OpenBLAS and LAPACKE.

#include "emulated_kernels.hpp"

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

/// cblas and LAPACKE by element type.
template <class T>
struct Blas;

template <>
struct Blas<float> {
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto symm = cblas_ssymm;
  static constexpr auto syrk = cblas_ssyrk;
  static constexpr auto syr2k = cblas_ssyr2k;
  static constexpr auto trmm = cblas_strmm;
  static constexpr auto trsm = cblas_strsm;
  static constexpr auto axpy = cblas_saxpy;
  static constexpr auto scal = cblas_sscal;
  static constexpr auto copy = cblas_scopy;
  static constexpr auto swap = cblas_sswap;
  static constexpr auto dot = cblas_sdot;
  static constexpr auto nrm2 = cblas_snrm2;
  static constexpr auto asum = cblas_sasum;
  static constexpr auto potrf = LAPACKE_spotrf_work;
  static constexpr auto getrf = LAPACKE_sgetrf_work;
};

template <>
struct Blas<double> {
  static constexpr auto gemm = cblas_dgemm;
  static constexpr auto symm = cblas_dsymm;
  static constexpr auto syrk = cblas_dsyrk;
  static constexpr auto syr2k = cblas_dsyr2k;
  static constexpr auto trmm = cblas_dtrmm;
  static constexpr auto trsm = cblas_dtrsm;
  static constexpr auto axpy = cblas_daxpy;
  static constexpr auto scal = cblas_dscal;
  static constexpr auto copy = cblas_dcopy;
  static constexpr auto swap = cblas_dswap;
  static constexpr auto dot = cblas_ddot;
  static constexpr auto nrm2 = cblas_dnrm2;
  static constexpr auto asum = cblas_dasum;
  static constexpr auto potrf = LAPACKE_dpotrf_work;
  static constexpr auto getrf = LAPACKE_dgetrf_work;
};

CBLAS_TRANSPOSE trans_of(char trans) {
  return trans == 'N' ? CblasNoTrans : CblasTrans;
}

CBLAS_UPLO uplo_of(char uplo) {
  return uplo == 'L' ? CblasLower : CblasUpper;
}

CBLAS_SIDE side_of(char side) {
  return side == 'L' ? CblasLeft : CblasRight;
}

CBLAS_DIAG diag_of(char diag) {
  return diag == 'U' ? CblasUnit : CblasNonUnit;
}

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
  Blas<T>::gemm(CblasColMajor,
                trans_of(trans_a),
                trans_of(trans_b),
                m,
                n,
                k,
                alpha,
                a,
                lda,
                b,
                ldb,
                beta,
                c,
                ldc);
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
  Blas<T>::symm(
      CblasColMajor, side_of(side), uplo_of(uplo), m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void Kernels<T>::syrk(
    char uplo, char trans, int n, int k, T alpha, T const* a, int lda, T beta, T* c, int ldc) {
  Blas<T>::syrk(CblasColMajor, uplo_of(uplo), trans_of(trans), n, k, alpha, a, lda, beta, c, ldc);
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
  Blas<T>::syr2k(
      CblasColMajor, uplo_of(uplo), trans_of(trans), n, k, alpha, a, lda, b, ldb, beta, c, ldc);
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
  Blas<T>::trmm(CblasColMajor,
                side_of(side),
                uplo_of(uplo),
                trans_of(trans),
                diag_of(diag),
                m,
                n,
                alpha,
                a,
                lda,
                b,
                ldb);
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
  Blas<T>::trsm(CblasColMajor,
                side_of(side),
                uplo_of(uplo),
                trans_of(trans),
                diag_of(diag),
                m,
                n,
                alpha,
                a,
                lda,
                b,
                ldb);
}

template <class T>
void Kernels<T>::axpy(int n, T alpha, T const* x, int incx, T* y, int incy) {
  Blas<T>::axpy(n, alpha, x, incx, y, incy);
}

template <class T>
void Kernels<T>::scal(int n, T alpha, T* x, int incx) {
  Blas<T>::scal(n, alpha, x, incx);
}

template <class T>
void Kernels<T>::copy(int n, T const* x, int incx, T* y, int incy) {
  Blas<T>::copy(n, x, incx, y, incy);
}

template <class T>
void Kernels<T>::swap(int n, T* x, int incx, T* y, int incy) {
  Blas<T>::swap(n, x, incx, y, incy);
}

template <class T>
T Kernels<T>::dot(int n, T const* x, int incx, T const* y, int incy) {
  return Blas<T>::dot(n, x, incx, y, incy);
}

template <class T>
T Kernels<T>::nrm2(int n, T const* x, int incx) {
  return Blas<T>::nrm2(n, x, incx);
}

template <class T>
T Kernels<T>::asum(int n, T const* x, int incx) {
  return Blas<T>::asum(n, x, incx);
}

template <class T>
int Kernels<T>::potrf(char uplo, int n, T* a, int lda) {
  return Blas<T>::potrf(LAPACK_COL_MAJOR, uplo, n, a, lda);
}

template <class T>
int Kernels<T>::getrf(int m, int n, T* a, int lda, int* pivots) {
  return Blas<T>::getrf(LAPACK_COL_MAJOR, m, n, a, lda, pivots);
}

template struct Kernels<float>;
template struct Kernels<double>;

} // namespace hetsched::emulated
