// SPDX-License-Identifier: MIT
#pragma once
// Tile LU factorisation without pivoting.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace hetsched {

namespace linalg {

/// A(k, k) := its factors L and U; given k and the first row of the tile, for messages.
template <class T, class Layout = LayoutLeft>
struct GetrfTile : Task<3>::Signature<RW<TileViewOf<T, Layout>>, V<std::size_t>, V<std::size_t>> {
  static constexpr std::string_view name = "getrf";
};

/// A(k, j) := L(k, k)^-1 A(k, j).
template <class T, class Layout = LayoutLeft>
struct TrsmLower : Task<2>::Signature<R<TileViewOf<T, Layout>>, RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "trsm_ll";
};

/// A(i, k) := A(i, k) U(k, k)^-1.
template <class T, class Layout = LayoutLeft>
struct TrsmUpper : Task<2>::Signature<R<TileViewOf<T, Layout>>, RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "trsm_ru";
};

namespace detail {

[[noreturn]] inline void
report_pivot(kernels::Breakdown where, std::size_t tile, std::size_t first) {
  auto message = where.what("0");
  auto const k = std::to_string(tile);
  message += " as pivot of column " + std::to_string(first + where.column) + " (tile " + k + ", " +
             k + "): lu exchanges rows";
  throw Error(ErrorCode::numerical, "lu_without_pivoting", message);
}

} // namespace detail
} // namespace linalg

template <class T, class Layout>
struct TaskBodyCPU<linalg::GetrfTile<T, Layout>> {
  void operator()(linalg::TileViewOf<T, Layout> a, std::size_t tile, std::size_t first) const {
    if (auto const where = linalg::kernels::getrf_without_pivoting(a)) {
      linalg::detail::report_pivot(*where, tile, first);
    }
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::TrsmLower<T, Layout>> {
  void operator()(linalg::TileViewOf<T const, Layout> l, linalg::TileViewOf<T, Layout> a) const {
    linalg::kernels::trsm_unit(l, a);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::TrsmLower<T, Layout>> {
  void operator()(GpuStream& stream,
                  linalg::TileViewOf<T const, Layout> l,
                  linalg::TileViewOf<T, Layout> a) const {
    gpu::trsm(stream, 'L', 'L', 'N', 'U', T(1), l, a);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::TrsmUpper<T, Layout>> {
  void operator()(linalg::TileViewOf<T const, Layout> u, linalg::TileViewOf<T, Layout> a) const {
    linalg::kernels::trsm_upper(u, a);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::TrsmUpper<T, Layout>> {
  void operator()(GpuStream& stream,
                  linalg::TileViewOf<T const, Layout> u,
                  linalg::TileViewOf<T, Layout> a) const {
    gpu::trsm(stream, 'R', 'U', 'N', 'N', T(1), u, a);
  }
};

namespace linalg {

/// A := L and U in place with L U = A, L having ones on its diagonal, which are not stored; for A
/// n x n, float or double, column-major or row-major, that needs no exchange of rows, as one that
/// is diagonally dominant. On others it may fail, or lose all digits without failing: `lu` (lu.hpp)
/// pivots. Right-looking by tiles.
///
/// Asynchronous: spawns tasks of types getrf, trsm_ll, trsm_ru and gemm, and returns; `rt.sync()`
/// waits and throws Error(numerical) if a pivot was 0, NaN or infinity, naming its column (from 0)
/// and tile: the first one, the same for every scheduler. A is then not specified. Throws
/// Error(bad_data) at once, with nothing spawned, if A is not square. May be captured. All but
/// getrf run on GPUs, too.
///
/// On several ranks (a DistributedRuntime and a DistributedMatrix) every rank calls it. A pivot is
/// then told as DistributedRuntime::sync tells failures.
///
/// Priorities are bottom levels with unit times: a task that writes tile (i, j) in step k of N has
/// 3N - 2 - i - j - k tasks on the longest path from itself, included, to the end.
///
/// Costs N (N + 1) (2N + 1) / 6 tasks on N = ceil(n / tile) tile columns, 2 n^3 / 3 flops.
///
/// Source: Golub and Van Loan, "Matrix Computations", outer product LU by blocks; priorities as in
/// `cholesky`.
template <class Rt, tiled_matrix A>
void lu_without_pivoting(Rt& rt, A const& a) {
  using T = typename A::Element;
  using Layout = detail::TileLayout<A>;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: lu_without_pivoting works in place on float or double");
  if (a.rows() != a.cols()) {
    throw Error(ErrorCode::bad_data,
                "lu_without_pivoting",
                "the matrix is " + std::to_string(a.rows()) + " x " + std::to_string(a.cols()) +
                    ", not square");
  }
  use_one_blas_thread();
  auto const count = a.tile_rows();
  auto const level = [count](std::size_t i, std::size_t j, std::size_t k) {
    return priority(static_cast<std::int32_t>(3 * count - 2 - i - j - k));
  };
  for (std::size_t k = 0; k < count; ++k) {
    rt.template spawn<GetrfTile<T, Layout>>(level(k, k, k))(a(k, k), k, k * a.tile_size());
    for (std::size_t m = k + 1; m < count; ++m) {
      rt.template spawn<TrsmLower<T, Layout>>(level(k, m, k))(a(k, k), a(k, m));
      rt.template spawn<TrsmUpper<T, Layout>>(level(m, k, k))(a(k, k), a(m, k));
    }
    for (std::size_t j = k + 1; j < count; ++j) {
      for (std::size_t i = k + 1; i < count; ++i) {
        rt.template spawn<Gemm<T, Layout>>(level(i, j, k))(T(-1), a(i, k), a(k, j), T(1), a(i, j));
      }
    }
  }
}

} // namespace linalg
} // namespace hetsched
