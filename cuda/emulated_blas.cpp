// SPDX-License-Identifier: MIT
// The emulation's table: BLAS and LAPACK. Arguments are checked at once, work is done by the
// stream.

#include "emulated_arguments.hpp"
#include "emulated_calls.hpp"
#include "emulated_kernels.hpp"
#include "last_error.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace hetsched::emulated {
namespace {

// clang-format would give each of up to 15 arguments a line of its own.
// clang-format off

/// Gives kernel(T()) to the stream, T being the type of the elements, if the arguments are right.
template <class Kernel>
hs_status give(hs_stream* stream, Arguments const& arguments, Kernel kernel) {
  auto& on = as_stream(stream);
  auto& device = on.device();
  if (!has_blas()) {
    return devices::fail(hs_not_supported,
                         std::string(arguments.call()) + ": built without OpenBLAS and Eigen");
  }
  if (auto const status = device.check_lost(arguments.call()); status != hs_ok) {
    return status;
  }
  if (auto const status = arguments.status(); status != hs_ok) {
    return status;
  }
  auto work = [kernel, is_float = arguments.is_float()] {
    if (is_float) {
      kernel(float());
    } else {
      kernel(double());
    }
    return std::string();
  };
  return on.give({.work = std::move(work),
                  .name = arguments.call(),
                  .effect = device.count(Kind::kernel),
                  .least = device.options().kernel});
}

Arguments arguments_of(hs_stream* stream, char const* call, hs_type type) {
  return {as_stream(stream).device(), call, type};
}

template <class T>
T* as(T, void* memory) {
  return static_cast<T*>(memory);
}

template <class T>
T const* as(T, void const* memory) {
  return static_cast<T const*>(memory);
}

hs_status gemm(hs_stream* stream, hs_type type, char trans_a, char trans_b, int m, int n, int k,
               double alpha, void const* a, int lda, void const* b, int ldb, double beta, void* c,
               int ldc) {
  auto const arguments = arguments_of(stream, "gemm", type)
      .letter("trans_a", trans_a, "NT").letter("trans_b", trans_b, "NT")
      .size("m", m).size("n", n).size("k", k)
      .matrix("a", a, trans_a == 'N' ? m : k, trans_a == 'N' ? k : m, lda)
      .matrix("b", b, trans_b == 'N' ? k : n, trans_b == 'N' ? n : k, ldb)
      .matrix("c", c, m, n, ldc);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::gemm(trans_a, trans_b, m, n, k, T(alpha), as(t, a), lda, as(t, b), ldb, T(beta),
                     as(t, c), ldc);
  });
}

hs_status symm(hs_stream* stream, hs_type type, char side, char uplo, int m, int n, double alpha,
               void const* a, int lda, void const* b, int ldb, double beta, void* c, int ldc) {
  int const order = side == 'L' ? m : n;
  auto const arguments = arguments_of(stream, "symm", type)
      .letter("side", side, "LR").letter("uplo", uplo, "LU").size("m", m).size("n", n)
      .matrix("a", a, order, order, lda).matrix("b", b, m, n, ldb).matrix("c", c, m, n, ldc);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::symm(side, uplo, m, n, T(alpha), as(t, a), lda, as(t, b), ldb, T(beta), as(t, c),
                     ldc);
  });
}

hs_status syrk(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k, double alpha,
               void const* a, int lda, double beta, void* c, int ldc) {
  auto const arguments = arguments_of(stream, "syrk", type)
      .letter("uplo", uplo, "LU").letter("trans", trans, "NT").size("n", n).size("k", k)
      .matrix("a", a, trans == 'N' ? n : k, trans == 'N' ? k : n, lda).matrix("c", c, n, n, ldc);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::syrk(uplo, trans, n, k, T(alpha), as(t, a), lda, T(beta), as(t, c), ldc);
  });
}

hs_status syr2k(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k, double alpha,
                void const* a, int lda, void const* b, int ldb, double beta, void* c, int ldc) {
  int const rows = trans == 'N' ? n : k;
  int const cols = trans == 'N' ? k : n;
  auto const arguments = arguments_of(stream, "syr2k", type)
      .letter("uplo", uplo, "LU").letter("trans", trans, "NT").size("n", n).size("k", k)
      .matrix("a", a, rows, cols, lda).matrix("b", b, rows, cols, ldb).matrix("c", c, n, n, ldc);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::syr2k(uplo, trans, n, k, T(alpha), as(t, a), lda, as(t, b), ldb, T(beta),
                      as(t, c), ldc);
  });
}

Arguments triangular_arguments(hs_stream* stream, char const* call, hs_type type, char side,
                               char uplo, char trans, char diag, int m, int n, void const* a,
                               int lda, void const* b, int ldb) {
  int const order = side == 'L' ? m : n;
  return arguments_of(stream, call, type)
      .letter("side", side, "LR").letter("uplo", uplo, "LU").letter("trans", trans, "NT")
      .letter("diag", diag, "NU").size("m", m).size("n", n)
      .matrix("a", a, order, order, lda).matrix("b", b, m, n, ldb);
}

hs_status trmm(hs_stream* stream, hs_type type, char side, char uplo, char trans, char diag, int m,
               int n, double alpha, void const* a, int lda, void* b, int ldb) {
  auto const arguments = triangular_arguments(
      stream, "trmm", type, side, uplo, trans, diag, m, n, a, lda, b, ldb);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::trmm(side, uplo, trans, diag, m, n, T(alpha), as(t, a), lda, as(t, b), ldb);
  });
}

hs_status trsm(hs_stream* stream, hs_type type, char side, char uplo, char trans, char diag, int m,
               int n, double alpha, void const* a, int lda, void* b, int ldb) {
  auto const arguments = triangular_arguments(
      stream, "trsm", type, side, uplo, trans, diag, m, n, a, lda, b, ldb);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::trsm(side, uplo, trans, diag, m, n, T(alpha), as(t, a), lda, as(t, b), ldb);
  });
}

hs_status axpy(hs_stream* stream, hs_type type, int n, double alpha, void const* x, int incx,
               void* y, int incy) {
  auto const arguments = arguments_of(stream, "axpy", type)
      .size("n", n).vector("x", x, n, incx, true).vector("y", y, n, incy, true);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::axpy(n, T(alpha), as(t, x), incx, as(t, y), incy);
  });
}

hs_status scal(hs_stream* stream, hs_type type, int n, double alpha, void* x, int incx) {
  auto const arguments = arguments_of(stream, "scal", type)
      .size("n", n).vector("x", x, n, incx, false);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::scal(n, T(alpha), as(t, x), incx);
  });
}

hs_status blas_copy(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* y,
                    int incy) {
  auto const arguments = arguments_of(stream, "blas_copy", type)
      .size("n", n).vector("x", x, n, incx, true).vector("y", y, n, incy, true);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::copy(n, as(t, x), incx, as(t, y), incy);
  });
}

hs_status swap(hs_stream* stream, hs_type type, int n, void* x, int incx, void* y, int incy) {
  auto const arguments = arguments_of(stream, "swap", type)
      .size("n", n).vector("x", x, n, incx, true).vector("y", y, n, incy, true);
  return give(stream, arguments, [=]<class T>(T t) {
    Kernels<T>::swap(n, as(t, x), incx, as(t, y), incy);
  });
}

hs_status dot(hs_stream* stream, hs_type type, int n, void const* x, int incx, void const* y,
              int incy, void* result) {
  auto arguments = arguments_of(stream, "dot", type)
      .size("n", n).vector("x", x, n, incx, true).vector("y", y, n, incy, true);
  arguments.array("result", result, 1, arguments.bytes());
  return give(stream, arguments, [=]<class T>(T t) {
    *as(t, result) = Kernels<T>::dot(n, as(t, x), incx, as(t, y), incy);
  });
}

hs_status nrm2(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* result) {
  auto arguments = arguments_of(stream, "nrm2", type).size("n", n).vector("x", x, n, incx, false);
  arguments.array("result", result, 1, arguments.bytes());
  return give(stream, arguments, [=]<class T>(T t) {
    *as(t, result) = Kernels<T>::nrm2(n, as(t, x), incx);
  });
}

hs_status asum(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* result) {
  auto arguments = arguments_of(stream, "asum", type).size("n", n).vector("x", x, n, incx, false);
  arguments.array("result", result, 1, arguments.bytes());
  return give(stream, arguments, [=]<class T>(T t) {
    *as(t, result) = Kernels<T>::asum(n, as(t, x), incx);
  });
}

/// LAPACKE needs no work, but a caller that gives none would be found out on other devices only.
std::size_t work_of(int n) {
  return static_cast<std::size_t>(std::max(1, n));
}

hs_status potrf_work(hs_stream* stream, hs_type type, char uplo, int n, int lda,
                     std::size_t* elements) {
  *elements = work_of(n);
  return arguments_of(stream, "potrf_work", type)
      .letter("uplo", uplo, "LU").size("n", n).matrix("a", nullptr, n, 0, lda).status();
}

hs_status potrf(hs_stream* stream, hs_type type, char uplo, int n, void* a, int lda, void* work,
                std::size_t work_elements, int* info) {
  auto arguments = arguments_of(stream, "potrf", type)
      .letter("uplo", uplo, "LU").size("n", n).matrix("a", a, n, n, lda);
  if (info != nullptr) {
    arguments.array("info", info, 1, sizeof(int));
  }
  if (work != nullptr) {
    arguments.array("work", work, std::max(work_elements, work_of(n)), arguments.bytes());
  }
  return give(stream, arguments, [=]<class T>(T t) {
    auto const result = Kernels<T>::potrf(uplo, n, as(t, a), lda);
    if (info != nullptr) {
      *info = result;
    }
  });
}

hs_status getrf_work(hs_stream* stream, hs_type type, int m, int n, int lda,
                     std::size_t* elements) {
  *elements = work_of(std::min(m, n));
  return arguments_of(stream, "getrf_work", type)
      .size("m", m).size("n", n).matrix("a", nullptr, m, 0, lda).status();
}

hs_status getrf(hs_stream* stream, hs_type type, int m, int n, void* a, int lda, void* work,
                std::size_t work_elements, int* pivots, int* info) {
  int const steps = std::min(m, n);
  auto arguments = arguments_of(stream, "getrf", type)
      .size("m", m).size("n", n).matrix("a", a, m, n, lda).array("info", info, 1, sizeof(int))
      .array("pivots", pivots, static_cast<std::size_t>(std::max(0, steps)), sizeof(int));
  arguments.array("work", work, std::max(work_elements, work_of(steps)), arguments.bytes());
  return give(stream, arguments, [=]<class T>(T t) {
    *info = Kernels<T>::getrf(m, n, as(t, a), lda, pivots);
  });
}

// clang-format on

} // namespace

void set_blas_calls(hs_driver& driver) {
  driver.gemm = gemm;
  driver.symm = symm;
  driver.syrk = syrk;
  driver.syr2k = syr2k;
  driver.trmm = trmm;
  driver.trsm = trsm;
  driver.axpy = axpy;
  driver.scal = scal;
  driver.blas_copy = blas_copy;
  driver.swap = swap;
  driver.dot = dot;
  driver.nrm2 = nrm2;
  driver.asum = asum;
  if (has_lapack()) {
    driver.potrf_work = potrf_work;
    driver.potrf = potrf;
    driver.getrf_work = getrf_work;
    driver.getrf = getrf;
  }
}

} // namespace hetsched::emulated
