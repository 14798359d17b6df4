// SPDX-License-Identifier: MIT
#pragma once
// The BLAS part of a driver's table, over a back end that has it for operands with an element type.

#include <hetsched/gpu/device.h>

#include "operands.hpp"

#include <type_traits>

namespace hetsched::devices {

/// `Backend` has a type Arguments, made of a stream, a call's name and an hs_type, with the checks
/// that stand here, and a function `give<T>(stream, arguments, call)`. This function gives
/// call(blas) to the stream, unless the arguments are wrong. `blas` has the functions of BLAS for
/// elements T, with their arguments in the order of the calls below.
template <class Backend>
struct BlasCalls {
  using Arguments = typename Backend::Arguments;

  // clang-format would give each of up to 15 arguments a line of its own.
  // clang-format off

  static hs_status gemm(hs_stream* stream, hs_type type, char trans_a, char trans_b, int m, int n,
                        int k, double alpha, void const* a, int lda, void const* b, int ldb,
                        double beta, void* c, int ldc) {
    Arguments arguments(stream, "gemm", type);
    arguments.letters({{"trans_a", trans_a, "NT"}, {"trans_b", trans_b, "NT"}});
    arguments.sizes({{"m", m}, {"n", n}, {"k", k}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_a = operand(t, trans_a, a, m, k, lda);
      auto const of_b = operand(t, trans_b, b, k, n, ldb);
      auto const of_c = matrix(t, c, m, n, ldc);
      arguments.matrix("a", of_a);
      arguments.matrix("b", of_b);
      arguments.matrix("c", of_c);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return blas.gemm(trans_a, trans_b, T(alpha), of_a, of_b, T(beta), of_c);
      });
    });
  }

  static hs_status symm(hs_stream* stream, hs_type type, char side, char uplo, int m, int n,
                        double alpha, void const* a, int lda, void const* b, int ldb, double beta,
                        void* c, int ldc) {
    Arguments arguments(stream, "symm", type);
    arguments.letters({{"side", side, "LR"}, {"uplo", uplo, "LU"}});
    arguments.sizes({{"m", m}, {"n", n}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_a = beside(t, side, a, m, n, lda);
      auto const of_b = matrix(t, b, m, n, ldb);
      auto const of_c = matrix(t, c, m, n, ldc);
      arguments.matrix("a", of_a);
      arguments.matrix("b", of_b);
      arguments.matrix("c", of_c);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return blas.symm(side, uplo, T(alpha), of_a, of_b, T(beta), of_c);
      });
    });
  }

  static hs_status syrk(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k,
                        double alpha, void const* a, int lda, double beta, void* c, int ldc) {
    Arguments arguments(stream, "syrk", type);
    arguments.letters({{"uplo", uplo, "LU"}, {"trans", trans, "NT"}});
    arguments.sizes({{"n", n}, {"k", k}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_a = operand(t, trans, a, n, k, lda);
      auto const of_c = matrix(t, c, n, n, ldc);
      arguments.matrix("a", of_a);
      arguments.matrix("c", of_c);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return blas.syrk(uplo, trans, T(alpha), of_a, T(beta), of_c);
      });
    });
  }

  static hs_status syr2k(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k,
                         double alpha, void const* a, int lda, void const* b, int ldb, double beta,
                         void* c, int ldc) {
    Arguments arguments(stream, "syr2k", type);
    arguments.letters({{"uplo", uplo, "LU"}, {"trans", trans, "NT"}});
    arguments.sizes({{"n", n}, {"k", k}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_a = operand(t, trans, a, n, k, lda);
      auto const of_b = operand(t, trans, b, n, k, ldb);
      auto const of_c = matrix(t, c, n, n, ldc);
      arguments.matrix("a", of_a);
      arguments.matrix("b", of_b);
      arguments.matrix("c", of_c);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return blas.syr2k(uplo, trans, T(alpha), of_a, of_b, T(beta), of_c);
      });
    });
  }

  static hs_status trmm(hs_stream* stream, hs_type type, char side, char uplo, char trans,
                        char diag, int m, int n, double alpha, void const* a, int lda, void* b,
                        int ldb) {
    return triangular(stream, "trmm", type, side, uplo, trans, diag, m, n, a, lda, b, ldb,
                      [=]<class T>(auto const& blas, Matrix<T const> of_a, Matrix<T> of_b) {
      return blas.trmm(side, uplo, trans, diag, T(alpha), of_a, of_b);
    });
  }

  static hs_status trsm(hs_stream* stream, hs_type type, char side, char uplo, char trans,
                        char diag, int m, int n, double alpha, void const* a, int lda, void* b,
                        int ldb) {
    return triangular(stream, "trsm", type, side, uplo, trans, diag, m, n, a, lda, b, ldb,
                      [=]<class T>(auto const& blas, Matrix<T const> of_a, Matrix<T> of_b) {
      return blas.trsm(side, uplo, trans, diag, T(alpha), of_a, of_b);
    });
  }

  static hs_status axpy(hs_stream* stream, hs_type type, int n, double alpha, void const* x,
                        int incx, void* y, int incy) {
    return two_vectors(stream, "axpy", type, n, x, incx, y, incy,
                       [=]<class T>(auto const& blas, Vector<T const> of_x, Vector<T> of_y) {
      return blas.axpy(T(alpha), of_x, of_y);
    });
  }

  static hs_status scal(hs_stream* stream, hs_type type, int n, double alpha, void* x, int incx) {
    Arguments arguments(stream, "scal", type);
    arguments.sizes({{"n", n}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_x = vector(t, x, n, incx);
      arguments.vector("x", of_x, false);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return blas.scal(T(alpha), of_x);
      });
    });
  }

  static hs_status blas_copy(hs_stream* stream, hs_type type, int n, void const* x, int incx,
                             void* y, int incy) {
    return two_vectors(stream, "blas_copy", type, n, x, incx, y, incy,
                       []<class T>(auto const& blas, Vector<T const> of_x, Vector<T> of_y) {
      return blas.copy(of_x, of_y);
    });
  }

  static hs_status swap(hs_stream* stream, hs_type type, int n, void* x, int incx, void* y,
                        int incy) {
    return two_vectors(stream, "swap", type, n, x, incx, y, incy,
                       []<class T>(auto const& blas, Vector<T> of_x, Vector<T> of_y) {
      return blas.swap(of_x, of_y);
    });
  }

  static hs_status dot(hs_stream* stream, hs_type type, int n, void const* x, int incx,
                       void const* y, int incy, void* result) {
    Arguments arguments(stream, "dot", type);
    arguments.sizes({{"n", n}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_x = vector(t, x, n, incx);
      auto const of_y = vector(t, y, n, incy);
      auto* const to = static_cast<T*>(result);
      arguments.vector("x", of_x, true);
      arguments.vector("y", of_y, true);
      arguments.array("result", to, 1);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return blas.dot(of_x, of_y, to);
      });
    });
  }

  static hs_status nrm2(hs_stream* stream, hs_type type, int n, void const* x, int incx,
                        void* result) {
    return norm(stream, "nrm2", type, n, x, incx, result,
                []<class T>(auto const& blas, Vector<T const> of_x, T* to) {
      return blas.nrm2(of_x, to);
    });
  }

  static hs_status asum(hs_stream* stream, hs_type type, int n, void const* x, int incx,
                        void* result) {
    return norm(stream, "asum", type, n, x, incx, result,
                []<class T>(auto const& blas, Vector<T const> of_x, T* to) {
      return blas.asum(of_x, to);
    });
  }

private:
  /// Calls f(T()), T being the type of the elements.
  template <class F>
  static hs_status typed(Arguments const& arguments, F const& f) {
    return arguments.is_float() ? f(float()) : f(double());
  }

  /// T, const if the memory is const.
  template <class T, class Memory>
  using As = std::conditional_t<std::is_const_v<Memory>, T const, T>;

  template <class T, class Memory>
  static Matrix<As<T, Memory>> matrix(T, Memory* memory, int rows, int cols, int ld) {
    return {static_cast<As<T, Memory>*>(memory), rows, cols, ld};
  }

  template <class T, class Memory>
  static Vector<As<T, Memory>> vector(T, Memory* memory, int n, int inc) {
    return {static_cast<As<T, Memory>*>(memory), n, inc};
  }

  /// The matrix A whose op(A) has so many rows and columns.
  template <class T>
  static Matrix<T const> operand(T t, char trans, void const* a, int rows, int cols, int lda) {
    return trans == 'N' ? matrix(t, a, rows, cols, lda) : matrix(t, a, cols, rows, lda);
  }

  /// The square matrix A on that side of an m x n matrix.
  template <class T>
  static Matrix<T const> beside(T t, char side, void const* a, int m, int n, int lda) {
    int const order = side == 'L' ? m : n;
    return matrix(t, a, order, order, lda);
  }

  /// Gives f(blas, A, B) to the stream, with a triangular A.
  template <class F>
  static hs_status triangular(hs_stream* stream, char const* call, hs_type type, char side,
                              char uplo, char trans, char diag, int m, int n, void const* a,
                              int lda, void* b, int ldb, F const& f) {
    Arguments arguments(stream, call, type);
    arguments.letters({{"side", side, "LR"}, {"uplo", uplo, "LU"}, {"trans", trans, "NT"},
                       {"diag", diag, "NU"}});
    arguments.sizes({{"m", m}, {"n", n}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_a = beside(t, side, a, m, n, lda);
      auto const of_b = matrix(t, b, m, n, ldb);
      arguments.matrix("a", of_a);
      arguments.matrix("b", of_b);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return f(blas, of_a, of_b);
      });
    });
  }

  /// Gives f(blas, x, y) to the stream.
  template <class X, class Y, class F>
  static hs_status two_vectors(hs_stream* stream, char const* call, hs_type type, int n, X* x,
                               int incx, Y* y, int incy, F const& f) {
    Arguments arguments(stream, call, type);
    arguments.sizes({{"n", n}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_x = vector(t, x, n, incx);
      auto const of_y = vector(t, y, n, incy);
      arguments.vector("x", of_x, true);
      arguments.vector("y", of_y, true);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return f(blas, of_x, of_y);
      });
    });
  }

  /// Gives f(blas, x, result) to the stream.
  template <class F>
  static hs_status norm(hs_stream* stream, char const* call, hs_type type, int n, void const* x,
                        int incx, void* result, F const& f) {
    Arguments arguments(stream, call, type);
    arguments.sizes({{"n", n}});
    return typed(arguments, [&]<class T>(T t) {
      auto const of_x = vector(t, x, n, incx);
      auto* const to = static_cast<T*>(result);
      arguments.vector("x", of_x, false);
      arguments.array("result", to, 1);
      return Backend::template give<T>(stream, arguments, [=](auto const& blas) {
        return f(blas, of_x, to);
      });
    });
  }

  // clang-format on
};

template <class Backend>
void set_blas_calls(hs_driver& driver) {
  using Calls = BlasCalls<Backend>;
  driver.gemm = Calls::gemm;
  driver.symm = Calls::symm;
  driver.syrk = Calls::syrk;
  driver.syr2k = Calls::syr2k;
  driver.trmm = Calls::trmm;
  driver.trsm = Calls::trsm;
  driver.axpy = Calls::axpy;
  driver.scal = Calls::scal;
  driver.blas_copy = Calls::blas_copy;
  driver.swap = Calls::swap;
  driver.dot = Calls::dot;
  driver.nrm2 = Calls::nrm2;
  driver.asum = Calls::asum;
}

} // namespace hetsched::devices
