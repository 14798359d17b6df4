// SPDX-License-Identifier: MIT
#pragma once
// Operands of BLAS in bodies of tasks on GPUs: views, parts of them, and what BLAS is told of them.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/gpu/device.h>

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

} // namespace hetsched::gpu
