// SPDX-License-Identifier: MIT
#pragma once
// BLAS and LAPACKE by element type. Without HETSCHED_HAVE_LAPACKE there is nothing here.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/detail/linalg/tile_concepts.hpp>

#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#ifdef HETSCHED_HAVE_LAPACKE
#include <complex> // before lapacke.h, which would take C's
#ifndef LAPACK_COMPLEX_CPP
#define LAPACK_COMPLEX_CPP
#endif
#include <cblas.h>
#include <lapacke.h>

extern "C" { // not in every cblas.h
void openblas_set_num_threads(int);
int openblas_get_num_threads(void);
}

namespace hetsched::linalg::kernels::detail {

[[nodiscard]] inline int blas_int(std::size_t value) noexcept {
  HETSCHED_ASSERT(value <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
                  "larger than BLAS can address");
  return static_cast<int>(value);
}

/// The first for float, the second for double, the third for std::complex<double>, if there is one.
template <class T, class Single, class Double, class Complex = std::nullptr_t>
[[nodiscard]] constexpr auto by_element([[maybe_unused]] Single single,
                                        [[maybe_unused]] Double twice,
                                        [[maybe_unused]] Complex pair = {}) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return single;
  } else if constexpr (std::is_same_v<T, double>) {
    return twice;
  } else {
    return pair;
  }
}

/// A number as cblas takes it: complex ones by their address.
template <class T>
[[nodiscard]] auto scalar(T const& number) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return number;
  } else {
    return static_cast<void const*>(&number);
  }
}

/// cblas and LAPACKE by element type.
template <class T>
struct Blas {
  static constexpr auto gemm = by_element<T>(cblas_sgemm, cblas_dgemm, cblas_zgemm);
  static constexpr auto syrk = by_element<T>(cblas_ssyrk, cblas_dsyrk);
  static constexpr auto trsm = by_element<T>(cblas_strsm, cblas_dtrsm, cblas_ztrsm);
  static constexpr auto potrf = by_element<T>(LAPACKE_spotrf_work, LAPACKE_dpotrf_work);
  static constexpr auto geqrt = by_element<T>(LAPACKE_sgeqrt_work, LAPACKE_dgeqrt_work);
  static constexpr auto gemqrt = by_element<T>(LAPACKE_sgemqrt_work, LAPACKE_dgemqrt_work);
  static constexpr auto tpqrt = by_element<T>(LAPACKE_stpqrt_work, LAPACKE_dtpqrt_work);
  static constexpr auto tpmqrt = by_element<T>(LAPACKE_stpmqrt_work, LAPACKE_dtpmqrt_work);
};

template <tile View>
inline constexpr auto order_of = is_row_major<View> ? CblasRowMajor : CblasColMajor;

/// What op(A) is for a call with matrices of Other's layout.
template <tile View, tile Other>
[[nodiscard]] CBLAS_TRANSPOSE op_for(CBLAS_TRANSPOSE op) noexcept {
  if constexpr (is_row_major<View> == is_row_major<Other>) {
    return op;
  } else {
    return op == CblasNoTrans ? CblasTrans : CblasNoTrans;
  }
}

/// C := alpha op(A) op'(B) + beta C, each of any layout.
template <class T, tile_of<T> A, tile_of<T> B, tile_of<T> C>
void blas_gemm(T alpha, CBLAS_TRANSPOSE op_a, A a, CBLAS_TRANSPOSE op_b, B b, T beta, C c) {
  Blas<T>::gemm(order_of<C>,
                op_for<A, C>(op_a),
                op_for<B, C>(op_b),
                blas_int(c.rows()),
                blas_int(c.cols()),
                blas_int(op_a == CblasNoTrans ? a.cols() : a.rows()),
                scalar(alpha),
                a.data(),
                blas_int(a.ld()),
                b.data(),
                blas_int(b.ld()),
                scalar(beta),
                c.data(),
                blas_int(c.ld()));
}

/// B := op(A)^-1 B, or B op(A)^-1 if A is on the right; A is triangular.
template <class T, tile_of<T> B, tile_like<B> A>
void blas_trsm(
    CBLAS_SIDE side, CBLAS_UPLO triangle, CBLAS_TRANSPOSE op, CBLAS_DIAG diagonal, A a, B b) {
  T const one(1);
  Blas<T>::trsm(order_of<B>,
                side,
                triangle,
                op,
                diagonal,
                blas_int(b.rows()),
                blas_int(b.cols()),
                scalar(one),
                a.data(),
                blas_int(a.ld()),
                b.data(),
                blas_int(b.ld()));
}

/// An argument as LAPACK takes it: a tile becomes a pointer and a leading dimension.
template <class T>
[[nodiscard]] auto lapack_arguments(TileView<T> tile) {
  return std::tuple(tile.data(), blas_int(tile.ld()));
}

[[nodiscard]] inline auto lapack_arguments(std::size_t number) {
  return std::tuple(blas_int(number));
}

[[nodiscard]] inline auto lapack_arguments(char letter) {
  return std::tuple(letter);
}

/// Calls a routine of LAPACK on column-major tiles, with `work` numbers to work in as its last
/// argument.
template <class T, class Routine, class... Arguments>
void call_lapack(Routine routine, std::size_t work, Arguments const&... arguments) {
  std::vector<T> space(work);
  [[maybe_unused]] auto const info = std::apply(routine,
                                                std::tuple_cat(std::tuple(LAPACK_COL_MAJOR),
                                                               lapack_arguments(arguments)...,
                                                               std::tuple(space.data())));
  HETSCHED_ASSERT(info == 0, "LAPACK: illegal argument");
}

} // namespace hetsched::linalg::kernels::detail

#endif
