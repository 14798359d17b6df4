// SPDX-License-Identifier: MIT
#pragma once
// Tile matrix product.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_row_major.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace hetsched {

namespace linalg {

/// C(i, j) := alpha A(i, k) B(k, j) + beta C(i, j), the matrices being of these layouts.
template <class T, class LA = LayoutLeft, class LB = LA, class LC = LA>
struct Gemm
    : Task<5>::
          Signature<V<T>, R<TileViewOf<T, LA>>, R<TileViewOf<T, LB>>, V<T>, RW<TileViewOf<T, LC>>> {
  static constexpr std::string_view name = "gemm";
};

/// C(i, j) := beta C(i, j).
template <class T, class Layout = LayoutLeft>
struct Scale : Task<2>::Signature<V<T>, RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "scale";
};

} // namespace linalg

template <class T, class LA, class LB, class LC>
struct TaskBodyCPU<linalg::Gemm<T, LA, LB, LC>> {
  void operator()(T alpha,
                  linalg::TileViewOf<T const, LA> a,
                  linalg::TileViewOf<T const, LB> b,
                  T beta,
                  linalg::TileViewOf<T, LC> c) const {
    linalg::kernels::gemm(alpha, a, b, beta, c);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::Scale<T, Layout>> {
  void operator()(T beta, linalg::TileViewOf<T, Layout> c) const {
    linalg::kernels::scale(beta, c);
  }
};

template <std::floating_point T, class LA, class LB, class LC>
struct TaskBodyGPU<linalg::Gemm<T, LA, LB, LC>> {
  void operator()(GpuStream& stream,
                  T alpha,
                  linalg::TileViewOf<T const, LA> a,
                  linalg::TileViewOf<T const, LB> b,
                  T beta,
                  linalg::TileViewOf<T, LC> c) const {
    gpu::gemm_of_layouts(stream, 'N', 'N', alpha, a, b, beta, c);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::Scale<T, Layout>> {
  void operator()(GpuStream& stream, T beta, linalg::TileViewOf<T, Layout> tile) const {
    auto const c = gpu::detail::in_memory(tile);
    TileView<T const> const left(c.data(), c.rows(), 0, c.rows()); // a product of nothing
    TileView<T const> const right(c.data(), 0, c.cols(), 0);
    gpu::gemm(stream, 'N', 'N', T(0), left, right, beta, c);
  }
};

namespace linalg {

namespace detail {

template <tiled_matrix A, tiled_matrix B, tiled_matrix C>
void check_product(A const& a, B const& b, C const& c) {
  auto const text = [](auto const& matrix) {
    return std::to_string(matrix.rows()) + " x " + std::to_string(matrix.cols()) + " in tiles of " +
           std::to_string(matrix.tile_size());
  };
  auto const tile = c.tile_size();
  if (a.rows() != c.rows() || b.cols() != c.cols() || a.cols() != b.rows() ||
      a.tile_size() != tile || b.tile_size() != tile) {
    throw Error(ErrorCode::bad_data,
                "gemm",
                "the shapes do not fit: A is " + text(a) + ", B is " + text(b) + ", C is " +
                    text(c));
  }
  auto const is_c = [&c](auto const& other) {
    return static_cast<void const*>(&c) == static_cast<void const*>(&other);
  };
  if (is_c(a) || is_c(b)) {
    throw Error(ErrorCode::bad_data, "gemm", "C must be another matrix than A and B");
  }
}

} // namespace detail

/// C := alpha A B + beta C, for A m x p, B p x n, C m x n, all in tiles of one size, float or
/// double; each may be row-major or column-major; A and B may be one matrix, and const. As in BLAS,
/// C is not read if beta is 0, so NaN in it does not survive, nor are A and B if alpha is 0. On
/// several ranks (a DistributedRuntime and DistributedMatrix) every rank calls it.
///
/// Asynchronous: spawns tasks of type gemm (scale if p is 0) and returns; `rt.sync()` waits. Throws
/// Error(bad_data) at once, with nothing spawned, if the shapes or tile sizes do not fit or C is A
/// or B. May be captured.
///
/// Each tile of C is a chain of ceil(p / tile) tasks in ascending order of the inner index, so the
/// result does not depend on scheduler or workers, if there are no GPUs: those round otherwise.
/// Both types of task run on GPUs, too. Priorities are bottom levels with unit times.
/// 2 m n p flops.
///
/// Source: the tile product of right-looking factorisations, Lima et al. 2015, sec. 5.2; task type
/// as in sec. 3.2 there.
template <class Rt, tiled_matrix A, tiled_matrix B, tiled_matrix C>
void gemm(Rt& rt,
          typename C::Element alpha,
          A const& a,
          B const& b,
          typename C::Element beta,
          C const& c) {
  using T = typename C::Element;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: gemm writes a matrix of float or double");
  static_assert(std::is_same_v<std::remove_const_t<typename A::Element>, T> &&
                    std::is_same_v<std::remove_const_t<typename B::Element>, T>,
                "hetsched: gemm needs A, B and C of one element type");
  using LA = detail::TileLayout<A>;
  using LB = detail::TileLayout<B>;
  using LC = detail::TileLayout<C>;
  detail::check_product(a, b, c);
  use_one_blas_thread();
  auto const depth = a.tile_cols();
  for (std::size_t j = 0; j < c.tile_cols(); ++j) {
    for (std::size_t i = 0; i < c.tile_rows(); ++i) {
      if (depth == 0) {
        rt.template spawn<Scale<T, LC>>()(T(beta), c(i, j));
      }
      for (std::size_t k = 0; k < depth; ++k) {
        rt.template spawn<Gemm<T, LA, LB, LC>>(priority(static_cast<std::int32_t>(depth - k)))(
            T(alpha), a(i, k), b(k, j), k == 0 ? T(beta) : T(1), c(i, j));
      }
    }
  }
}

} // namespace linalg
} // namespace hetsched
