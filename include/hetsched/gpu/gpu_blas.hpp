// SPDX-License-Identifier: MIT
#pragma once
// BLAS for bodies of tasks on GPUs, of any kind: on the views that a body gets, and parts of them.
//
//     template <>
//     struct hetsched::TaskBodyGPU<Update> {
//       void operator()(hs::GpuStream& stream, hs::TileView<double const> a, ...) const {
//         hs::gpu::gemm(stream, 'N', 'T', -1.0, a, b, 1.0, c);
//       }
//     };
//
// Every function gives its operation to the stream and returns; it throws Error(device_failed) if
// the device refuses. Letters are those of BLAS: side 'L' 'R', uplo 'L' 'U', trans 'N' 'T', diag
// 'N' 'U'. Elements are float or double; no size may exceed the int that BLAS counts with. Nothing
// is done where nothing would be written. The calls go through the driver's table, so that a
// program without devices links nothing for a body that uses them.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/gpu/device.h>
#include <hetsched/gpu/gpu_operands.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/gpu/gpu_vectors.hpp>

#include <type_traits>

namespace hetsched::gpu {

/// C := alpha op(A) op(B) + beta C. As in BLAS, C is not read if beta is 0.
template <class T>
void gemm(GpuStream& stream,
          char trans_a,
          char trans_b,
          std::type_identity_t<T> alpha,
          std::type_identity_t<TileView<T const>> a,
          std::type_identity_t<TileView<T const>> b,
          std::type_identity_t<T> beta,
          TileView<T> c) {
  auto const depth = detail::cols(trans_a, a);
  HETSCHED_ASSERT(detail::rows(trans_a, a) == c.rows() && detail::cols(trans_b, b) == c.cols() &&
                      detail::rows(trans_b, b) == depth,
                  "shapes");
  if (detail::is_empty(c)) {
    return;
  }
  stream.check(stream.driver().gemm(stream.stream(),
                                    detail::type_of<T>,
                                    trans_a,
                                    trans_b,
                                    detail::size(c.rows()),
                                    detail::size(c.cols()),
                                    detail::size(depth),
                                    alpha,
                                    a.data(),
                                    detail::ld(a),
                                    b.data(),
                                    detail::ld(b),
                                    beta,
                                    c.data(),
                                    detail::ld(c)));
}

/// C := alpha A B + beta C, or alpha B A + beta C with side 'R'; A symmetric, of which one triangle
/// is read.
template <class T>
void symm(GpuStream& stream,
          char side,
          char uplo,
          std::type_identity_t<T> alpha,
          std::type_identity_t<TileView<T const>> a,
          std::type_identity_t<TileView<T const>> b,
          std::type_identity_t<T> beta,
          TileView<T> c) {
  HETSCHED_ASSERT(detail::fits_beside(side, a, b) && b.rows() == c.rows() && b.cols() == c.cols(),
                  "shapes");
  if (detail::is_empty(c)) {
    return;
  }
  stream.check(stream.driver().symm(stream.stream(),
                                    detail::type_of<T>,
                                    side,
                                    uplo,
                                    detail::size(c.rows()),
                                    detail::size(c.cols()),
                                    alpha,
                                    a.data(),
                                    detail::ld(a),
                                    b.data(),
                                    detail::ld(b),
                                    beta,
                                    c.data(),
                                    detail::ld(c)));
}

/// C := alpha op(A) op(A)^T + beta C, of which one triangle is read and written.
template <class T>
void syrk(GpuStream& stream,
          char uplo,
          char trans,
          std::type_identity_t<T> alpha,
          std::type_identity_t<TileView<T const>> a,
          std::type_identity_t<T> beta,
          TileView<T> c) {
  HETSCHED_ASSERT(c.rows() == c.cols() && detail::rows(trans, a) == c.rows(), "shapes");
  if (detail::is_empty(c)) {
    return;
  }
  stream.check(stream.driver().syrk(stream.stream(),
                                    detail::type_of<T>,
                                    uplo,
                                    trans,
                                    detail::size(c.rows()),
                                    detail::size(detail::cols(trans, a)),
                                    alpha,
                                    a.data(),
                                    detail::ld(a),
                                    beta,
                                    c.data(),
                                    detail::ld(c)));
}

/// C := alpha op(A) op(B)^T + alpha op(B) op(A)^T + beta C, of which one triangle is read and
/// written.
template <class T>
void syr2k(GpuStream& stream,
           char uplo,
           char trans,
           std::type_identity_t<T> alpha,
           std::type_identity_t<TileView<T const>> a,
           std::type_identity_t<TileView<T const>> b,
           std::type_identity_t<T> beta,
           TileView<T> c) {
  HETSCHED_ASSERT(c.rows() == c.cols() && detail::rows(trans, a) == c.rows() &&
                      a.rows() == b.rows() && a.cols() == b.cols(),
                  "shapes");
  if (detail::is_empty(c)) {
    return;
  }
  stream.check(stream.driver().syr2k(stream.stream(),
                                     detail::type_of<T>,
                                     uplo,
                                     trans,
                                     detail::size(c.rows()),
                                     detail::size(detail::cols(trans, a)),
                                     alpha,
                                     a.data(),
                                     detail::ld(a),
                                     b.data(),
                                     detail::ld(b),
                                     beta,
                                     c.data(),
                                     detail::ld(c)));
}

namespace detail {

/// One of the two operations with a triangular matrix.
template <class T, class Operation>
void triangular(GpuStream& stream,
                Operation operation,
                char side,
                char uplo,
                char trans,
                char diag,
                T alpha,
                TileView<T const> a,
                TileView<T> b) {
  HETSCHED_ASSERT(fits_beside(side, a, b), "shapes");
  if (!is_empty(b)) {
    stream.check(operation(stream.stream(),
                           type_of<T>,
                           side,
                           uplo,
                           trans,
                           diag,
                           size(b.rows()),
                           size(b.cols()),
                           alpha,
                           a.data(),
                           ld(a),
                           b.data(),
                           ld(b)));
  }
}

} // namespace detail

/// B := alpha op(A) B, or alpha B op(A) with side 'R'; A triangular.
template <class T>
void trmm(GpuStream& stream,
          char side,
          char uplo,
          char trans,
          char diag,
          std::type_identity_t<T> alpha,
          std::type_identity_t<TileView<T const>> a,
          TileView<T> b) {
  detail::triangular<T>(stream, stream.driver().trmm, side, uplo, trans, diag, alpha, a, b);
}

/// B := alpha op(A)^-1 B, or alpha B op(A)^-1 with side 'R'; A triangular.
template <class T>
void trsm(GpuStream& stream,
          char side,
          char uplo,
          char trans,
          char diag,
          std::type_identity_t<T> alpha,
          std::type_identity_t<TileView<T const>> a,
          TileView<T> b) {
  detail::triangular<T>(stream, stream.driver().trsm, side, uplo, trans, diag, alpha, a, b);
}

/// A := its Cholesky factor L (uplo 'L', the lower triangle) or U. A pivot that is not positive
/// stays in place or becomes NaN; what follows it is not specified. Throws Error(device_failed)
/// where the driver has no LAPACK.
template <class T>
void potrf(GpuStream& stream, char uplo, TileView<T> a) {
  HETSCHED_ASSERT(a.rows() == a.cols(), "shapes");
  if (detail::is_empty(a)) {
    return;
  }
  if (stream.driver().potrf == nullptr) {
    throw Error(ErrorCode::device_failed, stream.driver().name, "has no potrf");
  }
  stream.check(stream.driver().potrf(stream.stream(),
                                     detail::type_of<T>,
                                     uplo,
                                     detail::size(a.rows()),
                                     a.data(),
                                     detail::ld(a),
                                     nullptr,
                                     0,
                                     nullptr));
}

/// B := A, for matrices of one shape that do not overlap.
template <class T>
void copy(GpuStream& stream, std::type_identity_t<TileView<T const>> a, TileView<T> b) {
  HETSCHED_ASSERT(a.rows() == b.rows() && a.cols() == b.cols(), "shapes");
  if (detail::is_empty(b)) {
    return;
  }
  auto* const device = stream.driver().stream_device(stream.stream());
  hs_copy const what = {b.data(),
                        b.ld() * sizeof(T),
                        device,
                        a.data(),
                        a.ld() * sizeof(T),
                        device,
                        b.rows() * sizeof(T),
                        b.cols()};
  stream.check(stream.driver().copy(stream.stream(), &what));
}

} // namespace hetsched::gpu
