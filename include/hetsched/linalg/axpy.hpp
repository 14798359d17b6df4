// SPDX-License-Identifier: MIT
#pragma once
// Vector update by blocks.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/handles/partition.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace hetsched {

namespace linalg {

/// y(k) := alpha x(k) + y(k).
template <class T>
struct Axpy : Task<3>::Signature<V<T>, R<VectorView<T>>, RW<VectorView<T>>> {
  static constexpr std::string_view name = "axpy";
};

} // namespace linalg

template <class T>
struct TaskBodyCPU<linalg::Axpy<T>> {
  void operator()(T alpha, VectorView<T const> x, VectorView<T> y) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] += alpha * x[i];
    }
  }
};

template <class T>
struct TaskBodyGPU<linalg::Axpy<T>> {
  void operator()(GpuStream& stream, T alpha, VectorView<T const> x, VectorView<T> y) const {
    gpu::axpy(stream, alpha, x, y);
  }
};

namespace linalg {

namespace detail {

template <class TX, class T>
void check_blocks(Partition<VectorView<TX>> const& x, Partition<VectorView<T>> const& y) {
  auto const refuse = [](std::string const& what) {
    throw Error(ErrorCode::bad_data, "axpy", what);
  };
  if (x.size() != y.size()) {
    refuse("x has " + std::to_string(x.size()) + " blocks, y has " + std::to_string(y.size()));
  }
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (x[k].rows() != y[k].rows()) {
      refuse("block " + std::to_string(k) + " of x has " + std::to_string(x[k].rows()) +
             " elements, that of y has " + std::to_string(y[k].rows()));
    }
    if constexpr (std::is_same_v<TX, T>) { // memory that is const is registered apart from y's
      if (x[k] == y[k]) {
        refuse("y must be another vector than x");
      }
    }
  }
}

} // namespace detail

/// y := alpha x + y, for vectors in blocks of the same sizes, float or double; x may be const:
///
///     auto const xs = rt.partition(rt.data(x), hs::block_rows(1 << 16));
///     auto const ys = rt.partition(rt.data(y), hs::block_rows(1 << 16));
///     hs::linalg::axpy(rt, 2.0, xs, ys);
///
/// Asynchronous: spawns a task of type axpy for each block and returns; `rt.sync()` waits. Throws
/// Error(bad_data) at once, with nothing spawned, if the blocks do not fit or y is x. As in BLAS, x
/// is not read if alpha is 0: then nothing is spawned. May be captured.
///
/// The tasks are independent, so the result is bit for bit that of one loop; on GPUs it may differ
/// by roundings. 2 n flops and 3 n
/// elements moved: bound by memory, so blocks below some 10^4 elements spend their time in
/// scheduling.
///
/// Source: the AXPY of Lima et al. 2015, sec. 5.2.
template <class Rt, class TX, class T>
void axpy(Rt& rt,
          std::type_identity_t<T> alpha,
          Partition<VectorView<TX>> const& x,
          Partition<VectorView<T>> const& y) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: axpy writes a vector of float or double");
  static_assert(std::is_same_v<std::remove_const_t<TX>, T>,
                "hetsched: axpy needs x and y of one element type");
  detail::check_blocks(x, y);
  if (alpha == T(0)) {
    return;
  }
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (y[k].rows() != 0) {
      rt.template spawn<Axpy<T>>()(T(alpha), x[k], y[k]);
    }
  }
}

} // namespace linalg
} // namespace hetsched
