// SPDX-License-Identifier: MIT
#pragma once

// What emulated devices compute with, on one thread. The build compiles one of
// emulated_kernels_openblas.cpp, emulated_kernels_eigen.cpp and emulated_kernels_none.cpp.
//
// Arguments as in the table of device.h, already checked. As in BLAS, operands times a zero alpha
// are not read, and what a zero beta is for is overwritten.

namespace hetsched::emulated {

/// Whether there are BLAS and LAPACK: the others are not to be called.
[[nodiscard]] bool has_blas() noexcept;
[[nodiscard]] bool has_lapack() noexcept;

/// To be called before the first of the others.
void use_one_thread();

template <class T>
struct Kernels {
  static void gemm(char trans_a,
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
                   int ldc);
  static void symm(char side,
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
                   int ldc);
  static void
  syrk(char uplo, char trans, int n, int k, T alpha, T const* a, int lda, T beta, T* c, int ldc);
  static void syr2k(char uplo,
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
                    int ldc);
  static void trmm(char side,
                   char uplo,
                   char trans,
                   char diag,
                   int m,
                   int n,
                   T alpha,
                   T const* a,
                   int lda,
                   T* b,
                   int ldb);
  static void trsm(char side,
                   char uplo,
                   char trans,
                   char diag,
                   int m,
                   int n,
                   T alpha,
                   T const* a,
                   int lda,
                   T* b,
                   int ldb);
  static void axpy(int n, T alpha, T const* x, int incx, T* y, int incy);
  static void scal(int n, T alpha, T* x, int incx);
  static void copy(int n, T const* x, int incx, T* y, int incy);
  static void swap(int n, T* x, int incx, T* y, int incy);
  static T dot(int n, T const* x, int incx, T const* y, int incy);
  static T nrm2(int n, T const* x, int incx);
  static T asum(int n, T const* x, int incx);
  /// Return LAPACK's info.
  static int potrf(char uplo, int n, T* a, int lda);
  static int getrf(int m, int n, T* a, int lda, int* pivots);
};

} // namespace hetsched::emulated
