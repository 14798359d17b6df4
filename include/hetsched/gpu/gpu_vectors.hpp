// SPDX-License-Identifier: MIT
#pragma once
// BLAS for bodies of tasks on GPUs: vectors, each a VectorView or a Strided. gpu_blas.hpp says what
// holds for all of it.

#include <hetsched/detail/core/assert.hpp>
#include <hetsched/gpu/gpu_operands.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <concepts>
#include <type_traits>

namespace hetsched::gpu {

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

namespace detail {

/// A norm of x.
template <vector X, class T, class Operation>
void norm(GpuStream& stream, Operation operation, X x, T& result) {
  auto const from = strided(x);
  static_assert(std::same_as<std::remove_const_t<ElementOf<X>>, T>);
  stream.check(
      operation(stream.stream(), type_of<T>, size(from.size), from.data, stride(from), &result));
}

} // namespace detail

/// result := ||x||, the 2-norm
template <detail::vector X, class T>
void nrm2(GpuStream& stream, X x, T& result) {
  detail::norm(stream, stream.driver().nrm2, x, result);
}

/// result := the sum of the moduli
template <detail::vector X, class T>
void asum(GpuStream& stream, X x, T& result) {
  detail::norm(stream, stream.driver().asum, x, result);
}

} // namespace hetsched::gpu
