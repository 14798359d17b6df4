// SPDX-License-Identifier: MIT
#pragma once

// What emulated devices compute with, on one thread. The build compiles one of
// kernels_openblas.cpp, kernels_eigen.cpp and kernels_none.cpp; kernels_no_lapack.cpp goes with the
// latter two.
//
// The arguments are those of the table in device.h, already checked. As in BLAS, operands that a
// zero alpha multiplies are not read, and a result that a zero beta multiplies is overwritten.

#include "../table/operands.hpp"

namespace hetsched::emulated {

/// Whether BLAS and LAPACK are there. If not, the functions below must not be called.
[[nodiscard]] bool has_blas() noexcept;
[[nodiscard]] bool has_lapack() noexcept;

/// To be called before the first of the others.
void use_one_thread();

template <class T>
struct Kernels {
  using In = devices::Matrix<T const>;
  using Out = devices::Matrix<T>;
  using Read = devices::Vector<T const>;
  using Write = devices::Vector<T>;

  static void gemm(char trans_a, char trans_b, T alpha, In a, In b, T beta, Out c);
  static void symm(char side, char uplo, T alpha, In a, In b, T beta, Out c);
  static void syrk(char uplo, char trans, T alpha, In a, T beta, Out c);
  static void syr2k(char uplo, char trans, T alpha, In a, In b, T beta, Out c);
  static void trmm(char side, char uplo, char trans, char diag, T alpha, In a, Out b);
  static void trsm(char side, char uplo, char trans, char diag, T alpha, In a, Out b);
  static void axpy(T alpha, Read x, Write y);
  static void scal(T alpha, Write x);
  static void copy(Read x, Write y);
  static void swap(Write x, Write y);
  static void dot(Read x, Read y, T* result);
  static void nrm2(Read x, T* result);
  static void asum(Read x, T* result);
};

/// Both return LAPACK's info.
template <class T>
struct Lapack {
  static int potrf(char uplo, int n, T* a, int lda);
  static int getrf(int m, int n, T* a, int lda, int* pivots);
};

} // namespace hetsched::emulated
