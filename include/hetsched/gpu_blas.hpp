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

#include <hetsched/data.hpp>
#include <hetsched/detail/assert.hpp>
#include <hetsched/device.h>
#include <hetsched/gpu_stream.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace hetsched::gpu {

/// `size` elements that are `stride` apart, in device memory: a row of a tile, for instance.
template <class T>
struct Strided {
  T* data;
  std::size_t size;
  std::size_t stride;
};

template <class T>
[[nodiscard]] Strided<T> row(TileView<T> a, std::size_t i) noexcept {
  HETSCHED_ASSERT(i < a.rows(), "no such row");
  return {a.data() + i, a.cols(), a.ld()};
}

template <class T>
[[nodiscard]] Strided<T> column(TileView<T> a, std::size_t j) noexcept {
  HETSCHED_ASSERT(j < a.cols(), "no such column");
  return {a.data() + j * a.ld(), a.rows(), 1};
}

namespace detail {

template <class T>
[[nodiscard]] Strided<T> strided(VectorView<T> x) noexcept {
  return {x.data(), x.size(), 1};
}

template <class T>
[[nodiscard]] Strided<T> strided(Strided<T> x) noexcept {
  return x;
}

/// A VectorView or a Strided.
template <class X>
concept vector = requires(X x) { strided(x); };

template <vector X>
using ElementOf = std::remove_reference_t<decltype(*strided(std::declval<X>()).data)>;

template <std::floating_point T>
  requires std::same_as<T, float> || std::same_as<T, double>
inline constexpr hs_type type_of = std::same_as<T, float> ? hs_float : hs_double;

[[nodiscard]] inline int size(std::size_t value) noexcept {
  HETSCHED_ASSERT(value <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
                  "larger than BLAS can address");
  return static_cast<int>(value);
}

/// The leading dimension; BLAS wants one of empty matrices, too.
template <class T>
[[nodiscard]] int ld(TileView<T> a) noexcept {
  return size(std::max<std::size_t>(a.ld(), 1));
}

template <class T>
[[nodiscard]] int stride(Strided<T> x) noexcept {
  return size(std::max<std::size_t>(x.stride, 1));
}

template <class T>
[[nodiscard]] bool is_empty(TileView<T> a) noexcept {
  return a.rows() == 0 || a.cols() == 0;
}

/// Of op(A).
template <class T>
[[nodiscard]] std::size_t rows(char trans, TileView<T> a) noexcept {
  return trans == 'N' ? a.rows() : a.cols();
}

template <class T>
[[nodiscard]] std::size_t cols(char trans, TileView<T> a) noexcept {
  return trans == 'N' ? a.cols() : a.rows();
}

/// Whether A, square, fits on that side of B.
template <class TA, class TB>
[[nodiscard]] bool fits_beside(char side, TileView<TA> a, TileView<TB> b) noexcept {
  return a.rows() == a.cols() && a.rows() == (side == 'L' ? b.rows() : b.cols());
}

} // namespace detail

// ---- matrices ----

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
  HETSCHED_ASSERT(detail::fits_beside(side, a, b), "shapes");
  if (detail::is_empty(b)) {
    return;
  }
  stream.check(stream.driver().trmm(stream.stream(),
                                    detail::type_of<T>,
                                    side,
                                    uplo,
                                    trans,
                                    diag,
                                    detail::size(b.rows()),
                                    detail::size(b.cols()),
                                    alpha,
                                    a.data(),
                                    detail::ld(a),
                                    b.data(),
                                    detail::ld(b)));
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
  HETSCHED_ASSERT(detail::fits_beside(side, a, b), "shapes");
  if (detail::is_empty(b)) {
    return;
  }
  stream.check(stream.driver().trsm(stream.stream(),
                                    detail::type_of<T>,
                                    side,
                                    uplo,
                                    trans,
                                    diag,
                                    detail::size(b.rows()),
                                    detail::size(b.cols()),
                                    alpha,
                                    a.data(),
                                    detail::ld(a),
                                    b.data(),
                                    detail::ld(b)));
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

// ---- vectors: each a VectorView or Strided ----

/// y := alpha x + y
template <detail::vector X, detail::vector Y>
void axpy(GpuStream& stream, detail::ElementOf<Y> alpha, X x, Y y) {
  auto const from = detail::strided(x);
  auto const to = detail::strided(y);
  HETSCHED_ASSERT(from.size == to.size, "shapes");
  static_assert(std::same_as<std::remove_const_t<detail::ElementOf<X>>, detail::ElementOf<Y>>);
  if (to.size == 0) {
    return;
  }
  stream.check(stream.driver().axpy(stream.stream(),
                                    detail::type_of<detail::ElementOf<Y>>,
                                    detail::size(to.size),
                                    alpha,
                                    from.data,
                                    detail::stride(from),
                                    to.data,
                                    detail::stride(to)));
}

/// x := alpha x
template <detail::vector X>
void scal(GpuStream& stream, detail::ElementOf<X> alpha, X x) {
  auto const to = detail::strided(x);
  if (to.size == 0) {
    return;
  }
  stream.check(stream.driver().scal(stream.stream(),
                                    detail::type_of<detail::ElementOf<X>>,
                                    detail::size(to.size),
                                    alpha,
                                    to.data,
                                    detail::stride(to)));
}

/// y := x
template <detail::vector X, detail::vector Y>
void copy(GpuStream& stream, X x, Y y) {
  auto const from = detail::strided(x);
  auto const to = detail::strided(y);
  HETSCHED_ASSERT(from.size == to.size, "shapes");
  static_assert(std::same_as<std::remove_const_t<detail::ElementOf<X>>, detail::ElementOf<Y>>);
  if (to.size == 0) {
    return;
  }
  stream.check(stream.driver().blas_copy(stream.stream(),
                                         detail::type_of<detail::ElementOf<Y>>,
                                         detail::size(to.size),
                                         from.data,
                                         detail::stride(from),
                                         to.data,
                                         detail::stride(to)));
}

/// Exchanges x and y.
template <detail::vector X, detail::vector Y>
void swap(GpuStream& stream, X x, Y y) {
  auto const one = detail::strided(x);
  auto const other = detail::strided(y);
  HETSCHED_ASSERT(one.size == other.size, "shapes");
  static_assert(std::same_as<detail::ElementOf<X>, detail::ElementOf<Y>>);
  if (one.size == 0) {
    return;
  }
  stream.check(stream.driver().swap(stream.stream(),
                                    detail::type_of<detail::ElementOf<X>>,
                                    detail::size(one.size),
                                    one.data,
                                    detail::stride(one),
                                    other.data,
                                    detail::stride(other)));
}

// The results of the following are in device memory, as the view of a datum that is a number is. Of
// no elements they are 0.

/// result := x^T y
template <detail::vector X, detail::vector Y, class T>
void dot(GpuStream& stream, X x, Y y, T& result) {
  auto const one = detail::strided(x);
  auto const other = detail::strided(y);
  HETSCHED_ASSERT(one.size == other.size, "shapes");
  static_assert(std::same_as<std::remove_const_t<detail::ElementOf<X>>, T> &&
                std::same_as<std::remove_const_t<detail::ElementOf<Y>>, T>);
  stream.check(stream.driver().dot(stream.stream(),
                                   detail::type_of<T>,
                                   detail::size(one.size),
                                   one.data,
                                   detail::stride(one),
                                   other.data,
                                   detail::stride(other),
                                   &result));
}

/// result := ||x||, the 2-norm
template <detail::vector X, class T>
void nrm2(GpuStream& stream, X x, T& result) {
  auto const from = detail::strided(x);
  static_assert(std::same_as<std::remove_const_t<detail::ElementOf<X>>, T>);
  stream.check(stream.driver().nrm2(stream.stream(),
                                    detail::type_of<T>,
                                    detail::size(from.size),
                                    from.data,
                                    detail::stride(from),
                                    &result));
}

/// result := the sum of the moduli
template <detail::vector X, class T>
void asum(GpuStream& stream, X x, T& result) {
  auto const from = detail::strided(x);
  static_assert(std::same_as<std::remove_const_t<detail::ElementOf<X>>, T>);
  stream.check(stream.driver().asum(stream.stream(),
                                    detail::type_of<T>,
                                    detail::size(from.size),
                                    from.data,
                                    detail::stride(from),
                                    &result));
}

} // namespace hetsched::gpu
