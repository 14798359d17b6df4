// SPDX-License-Identifier: MIT
#pragma once
// BLAS for bodies of tasks on GPUs: tiles of row-major matrices, as gpu_blas.hpp has it of
// column-major ones. In memory such a tile is its transpose, and BLAS is told so.

#include <hetsched/core/array_view.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_operands.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <cstddef>
#include <type_traits>

namespace hetsched::gpu {

template <class T>
[[nodiscard]] Strided<T> row(RowTileView<T> a, std::size_t i) noexcept {
  return column(transposed(a), i);
}

template <class T>
[[nodiscard]] Strided<T> column(RowTileView<T> a, std::size_t j) noexcept {
  return row(transposed(a), j);
}

namespace detail {

[[nodiscard]] constexpr char other_triangle(char uplo) noexcept {
  return uplo == 'L' ? 'U' : 'L';
}

[[nodiscard]] constexpr char other_op(char trans) noexcept {
  return trans == 'N' ? 'T' : 'N';
}

template <class T>
[[nodiscard]] TileView<T> in_memory(TileView<T> a) noexcept {
  return a;
}

template <class T>
[[nodiscard]] TileView<T> in_memory(RowTileView<T> a) noexcept {
  return transposed(a);
}

} // namespace detail

/// C := alpha op(A) op(B) + beta C, where each may be row-major or not.
template <class A, class B, class C>
void gemm_of_layouts(GpuStream& stream,
                     char trans_a,
                     char trans_b,
                     typename C::Element alpha,
                     A a,
                     B b,
                     typename C::Element beta,
                     C c) {
  constexpr bool rows = hetsched::detail::is_row_major<C>;
  auto const op_a = hetsched::detail::is_row_major<A> == rows ? trans_a : detail::other_op(trans_a);
  auto const op_b = hetsched::detail::is_row_major<B> == rows ? trans_b : detail::other_op(trans_b);
  auto const at_a = detail::in_memory(a);
  auto const at_b = detail::in_memory(b);
  if constexpr (rows) { // C^T := alpha op(B)^T op(A)^T + beta C^T
    gemm(stream, op_b, op_a, alpha, at_b, at_a, beta, transposed(c));
  } else {
    gemm(stream, op_a, op_b, alpha, at_a, at_b, beta, c);
  }
}

/// C := alpha op(A) op(B) + beta C, all row-major.
template <class T>
void gemm(GpuStream& stream,
          char trans_a,
          char trans_b,
          std::type_identity_t<T> alpha,
          std::type_identity_t<RowTileView<T const>> a,
          std::type_identity_t<RowTileView<T const>> b,
          std::type_identity_t<T> beta,
          RowTileView<T> c) {
  gemm_of_layouts(stream, trans_a, trans_b, alpha, a, b, beta, c);
}

/// C := alpha op(A) op(A)^T + beta C, of which one triangle is read and written.
template <class T>
void syrk(GpuStream& stream,
          char uplo,
          char trans,
          std::type_identity_t<T> alpha,
          std::type_identity_t<RowTileView<T const>> a,
          std::type_identity_t<T> beta,
          RowTileView<T> c) {
  syrk(stream,
       detail::other_triangle(uplo),
       detail::other_op(trans),
       alpha,
       transposed(a),
       beta,
       transposed(c));
}

/// B := alpha op(A)^-1 B, or alpha B op(A)^-1 with side 'R'; A triangular.
template <class T>
void trsm(GpuStream& stream,
          char side,
          char uplo,
          char trans,
          char diag,
          std::type_identity_t<T> alpha,
          std::type_identity_t<RowTileView<T const>> a,
          RowTileView<T> b) {
  trsm(stream,
       side == 'L' ? 'R' : 'L',
       detail::other_triangle(uplo),
       trans,
       diag,
       alpha,
       transposed(a),
       transposed(b));
}

/// A := its Cholesky factor L (uplo 'L', the lower triangle) or U.
template <class T>
void potrf(GpuStream& stream, char uplo, RowTileView<T> a) {
  potrf(stream, detail::other_triangle(uplo), transposed(a));
}

} // namespace hetsched::gpu
