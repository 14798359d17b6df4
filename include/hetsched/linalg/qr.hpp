// SPDX-License-Identifier: MIT
#pragma once
// Tile QR factorisation.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/qr_kernels.hpp>
#include <hetsched/linalg/reflections.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace hetsched {

namespace linalg {

using kernels::Transpose;

/// Factorises A(k, k); writes T(k, k), and V(k) with what is below A(k, k)'s diagonal.
template <class T>
struct Geqrt : Task<3>::Signature<RW<TileView<T>>, W<TileView<T>>, W<TileView<T>>> {
  static constexpr std::string_view name = "geqrt";
};

/// C(k, j) := Q^T C(k, j), or Q C(k, j), given V(k) and T(k, k). The last tile is scratch, for
/// GPUs: on CPU cores nothing touches it.
template <class T>
struct Ormqr
    : Task<5>::
          Signature<V<Transpose>, R<TileView<T>>, R<TileView<T>>, RW<TileView<T>>, W<TileView<T>>> {
  static constexpr std::string_view name = "ormqr";
};

/// Eliminates A(i, k) with R in A(k, k); writes T(i, k).
template <class T>
struct Tsqrt : Task<3>::Signature<RW<TileView<T>>, RW<TileView<T>>, W<TileView<T>>> {
  static constexpr std::string_view name = "tsqrt";
};

/// The same on C(k, j) and C(i, j), given A(i, k) and T(i, k); with scratch.
template <class T>
struct Tsmqr : Task<6>::Signature<V<Transpose>,
                                  R<TileView<T>>,
                                  R<TileView<T>>,
                                  RW<TileView<T>>,
                                  RW<TileView<T>>,
                                  W<TileView<T>>> {
  static constexpr std::string_view name = "tsmqr";
};

/// Given k and the first column of tile (k, k), looks for NaN and infinity on the diagonal of R
/// there; one after the other, in the order of k.
template <class T>
struct QrCheck : Task<4>::Signature<V<std::size_t>, V<std::size_t>, R<TileView<T>>, RW<int>> {
  static constexpr std::string_view name = "qr_check";
};

namespace detail {

/// C := (I - V op(T) V^T) C on a GPU, for one inner block: V is the identity, which meets C1, and
/// `rest`, which meets C2. These may overlap, for `rest` has explicit zeros where there is nothing
/// beside the identity. T has zeros below its diagonal.
template <class T>
void apply_block(GpuStream& stream,
                 Transpose transpose,
                 TileView<T const> rest,
                 TileView<T const> t,
                 TileView<T> c1,
                 TileView<T> c2,
                 TileView<T> scratch) {
  char const trans = transpose == Transpose::yes ? 'T' : 'N';
  auto const w = kernels::block(scratch, 0, 0, c1.rows(), c1.cols());
  gpu::copy<T>(stream, c1, w);
  gpu::gemm(stream, 'T', 'N', T(1), rest, c2, T(1), w); // W = V^T C
  gpu::gemm(stream, trans, 'N', T(-1), t, w, T(1), c1);
  gpu::trmm(stream, 'L', 'U', trans, 'N', T(1), t, w);
  gpu::gemm(stream, 'N', 'N', T(-1), rest, w, T(1), c2);
}

} // namespace detail
} // namespace linalg

template <class T>
struct TaskBodyCPU<linalg::Geqrt<T>> {
  void operator()(TileView<T> a, TileView<T> t, TileView<T> v) const {
    namespace kernels = linalg::kernels;
    kernels::geqrt(a, t);
    kernels::as_eigen(kernels::block(v, 0, 0, a.rows(), std::min(v.cols(), a.cols()))) =
        kernels::as_eigen(kernels::block(a, 0, 0, a.rows(), std::min(v.cols(), a.cols())))
            .template triangularView<Eigen::StrictlyLower>();
  }
};

template <class T>
struct TaskBodyCPU<linalg::Ormqr<T>> {
  void operator()(linalg::Transpose transpose,
                  TileView<T const> v,
                  TileView<T const> t,
                  TileView<T> c,
                  TileView<T> /* scratch */) const {
    namespace kernels = linalg::kernels;
    auto const columns = std::min(v.cols(), t.cols()); // fewer in the last, ragged tile
    kernels::ormqr(transpose, kernels::block(v, 0, 0, v.rows(), columns), t, c);
  }
};

template <class T>
struct TaskBodyCPU<linalg::Tsqrt<T>> {
  void operator()(TileView<T> r, TileView<T> a, TileView<T> t) const {
    namespace kernels = linalg::kernels;
    kernels::tsqrt(kernels::block(r, 0, 0, a.cols(), a.cols()), a, t);
  }
};

template <class T>
struct TaskBodyCPU<linalg::Tsmqr<T>> {
  void operator()(linalg::Transpose transpose,
                  TileView<T const> v,
                  TileView<T const> t,
                  TileView<T> c1,
                  TileView<T> c2,
                  TileView<T> /* scratch */) const {
    namespace kernels = linalg::kernels;
    kernels::tsmqr(transpose, v, t, kernels::block(c1, 0, 0, v.cols(), c1.cols()), c2);
  }
};

template <class T>
struct TaskBodyGPU<linalg::Ormqr<T>> {
  void operator()(GpuStream& stream,
                  linalg::Transpose transpose,
                  TileView<T const> v,
                  TileView<T const> t,
                  TileView<T> c,
                  TileView<T> scratch) const {
    namespace kernels = linalg::kernels;
    auto const count = std::min({v.rows(), v.cols(), t.cols()});
    kernels::for_each_inner_block(
        transpose, count, t.rows(), [&](std::size_t first, std::size_t width) {
          auto const rows = v.rows() - first;
          linalg::detail::apply_block<T>(stream,
                                         transpose,
                                         kernels::block(v, first, first, rows, width),
                                         kernels::block(t, 0, first, width, width),
                                         kernels::block(c, first, 0, width, c.cols()),
                                         kernels::block(c, first, 0, rows, c.cols()),
                                         scratch);
        });
  }
};

template <class T>
struct TaskBodyGPU<linalg::Tsmqr<T>> {
  void operator()(GpuStream& stream,
                  linalg::Transpose transpose,
                  TileView<T const> v,
                  TileView<T const> t,
                  TileView<T> c1,
                  TileView<T> c2,
                  TileView<T> scratch) const {
    namespace kernels = linalg::kernels;
    kernels::for_each_inner_block(
        transpose, v.cols(), t.rows(), [&](std::size_t first, std::size_t width) {
          linalg::detail::apply_block<T>(stream,
                                         transpose,
                                         kernels::block(v, 0, first, v.rows(), width),
                                         kernels::block(t, 0, first, width, width),
                                         kernels::block(c1, first, 0, width, c1.cols()),
                                         c2,
                                         scratch);
        });
  }
};

template <class T>
struct TaskBodyCPU<linalg::QrCheck<T>> {
  void operator()(std::size_t tile, std::size_t first, TileView<T const> r, int&) const {
    for (std::size_t j = 0; j < std::min(r.rows(), r.cols()); ++j) {
      if (!std::isfinite(r(j, j))) {
        auto const k = std::to_string(tile);
        auto const what = "NaN or infinity at column " + std::to_string(first + j);
        throw Error(ErrorCode::numerical, "qr", what + " (tile " + k + ", " + k + ")");
      }
    }
  }
};

namespace linalg {

/// A := R on and above the diagonal, with Q R = A, for any m x n matrix of float or double; below
/// the diagonal, and in `q`, which was made for `a`, is what `apply_q` needs to know of Q.
///
/// Asynchronous: spawns tasks of types geqrt, ormqr, tsqrt, tsmqr and qr_check, and returns;
/// `rt.sync()` waits and throws Error(numerical) if there was NaN or infinity, or a number so large
/// that it became that, naming the column (from 0) and tile: "hetsched: qr: NaN or infinity at
/// column 137 (tile 2, 2)". The column is the first that has one, the same for every scheduler and
/// number of workers; it shows when R's diagonal tile is done, so the tile is that. A and q are
/// then not specified. Columns on the right of the m-th are not looked at. Throws Error(bad_data)
/// at once, with nothing spawned, if q was made for another shape. May be captured.
///
/// Tasks of types ormqr and tsmqr, which apply reflections, run on GPUs, too.
///
/// Priorities are bottom levels with unit times: a task that writes tile (i, j) in step k of N, on
/// M x N tiles, M >= N, has M - 1 - i + j - k + 2 (N - j) tasks on the longest path from itself,
/// included, to the end.
///
/// Costs N plus the sum of (M - k) (N - k) over k = 0, ..., N - 1 tasks; about 2 n^2 (m - n / 3)
/// (1 + inner / (4 tile)) flops, the last factor for the inner blocks.
///
/// Source: the tile QR that Kumar 2017 uses, sec. 1.4.2, figure 1.6, with its kernels: flat tree,
/// Buttari et al. 2008. We differ in applying a copy of the V of a diagonal tile, so that tsqrt on
/// that tile need not wait for the ormqr tasks of its row.
template <class Rt, class T>
void qr(Rt& rt, TiledMatrix<T> const& a, Reflections<T> const& q) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: qr works in place on float or double");
  q.check_fit(a, "qr");
  use_one_blas_thread();
  auto const rows = a.tile_rows();
  auto const steps = q.steps();
  auto const level = [rows, steps](std::size_t i, std::size_t j, std::size_t k) {
    auto const after = j < steps ? j - k + 2 * (steps - j) : steps - k; // in the last row
    return priority(static_cast<std::int32_t>(rows - 1 - i + after));
  };
  for (std::size_t k = 0; k < steps; ++k) {
    rt.template spawn<Geqrt<T>>(level(k, k, k))(a(k, k), q.t(k, k), q.v(k));
    for (std::size_t j = k + 1; j < a.tile_cols(); ++j) {
      rt.template spawn<Ormqr<T>>(level(k, j, k))(
          Transpose::yes, q.v(k), q.t(k, k), a(k, j), q.scratch(k, j, a.tile_cols()));
    }
    for (std::size_t i = k + 1; i < rows; ++i) {
      rt.template spawn<Tsqrt<T>>(level(i, k, k))(a(k, k), a(i, k), q.t(i, k));
      for (std::size_t j = k + 1; j < a.tile_cols(); ++j) {
        rt.template spawn<Tsmqr<T>>(level(i, j, k))(
            Transpose::yes, a(i, k), q.t(i, k), a(k, j), a(i, j), q.scratch(k, j, a.tile_cols()));
      }
    }
    rt.template spawn<QrCheck<T>>(priority(static_cast<std::int32_t>(steps - k)))(
        k, k * a.tile_size(), a(k, k), q.checked());
  }
}

/// C := Q C, or Q^T C with Transpose::yes, for the Q of A = Q R, that `qr` left in `a` and `q`, and
/// C of as many rows as A, in tiles of the same size: 1 column for a right-hand side, as many as
/// needed of the identity for Q itself.
///
/// Asynchronous: spawns tasks of types ormqr and tsmqr, which wait for those of `qr`, and returns.
/// Throws Error(bad_data) at once, with nothing spawned, if the shapes do not fit or C is A. May be
/// captured. The columns of tiles of C are independent. Priorities are bottom levels with unit
/// times. 4 m n p - 2 n^2 p flops for A m x n, m >= n, C m x p.
template <class Rt, class TA, class T>
void apply_q(Rt& rt,
             Transpose transpose,
             TiledMatrix<TA> const& a,
             Reflections<T> const& q,
             TiledMatrix<T> const& c) {
  static_assert(std::is_same_v<std::remove_const_t<TA>, T>,
                "hetsched: apply_q needs matrices of one element type");
  q.check_fit(a, "apply_q");
  if (c.rows() != a.rows() || c.tile_size() != a.tile_size()) {
    throw Error(ErrorCode::bad_data,
                "apply_q",
                "C has " + std::to_string(c.rows()) + " rows in tiles of " +
                    std::to_string(c.tile_size()) + ", A has " + std::to_string(a.rows()) +
                    " in tiles of " + std::to_string(a.tile_size()));
  }
  if (static_cast<void const*>(&a) == static_cast<void const*>(&c)) {
    throw Error(ErrorCode::bad_data, "apply_q", "C must be another matrix than A");
  }
  use_one_blas_thread();
  auto const rows = a.tile_rows();
  auto const steps = q.steps();
  bool const forward = transpose == Transpose::yes; // Q^T applies the first reflection first
  auto const spawn = [&](std::size_t i, std::size_t k) {
    auto const tasks = forward ? rows - 1 - i + steps - k : i + k + 1;
    auto const level = priority(static_cast<std::int32_t>(tasks));
    for (std::size_t j = 0; j < c.tile_cols(); ++j) {
      auto const& scratch = q.scratch(k, j, c.tile_cols());
      if (i == k) {
        rt.template spawn<Ormqr<T>>(level)(transpose, q.v(k), q.t(k, k), c(k, j), scratch);
      } else {
        rt.template spawn<Tsmqr<T>>(level)(
            transpose, a(i, k), q.t(i, k), c(k, j), c(i, j), scratch);
      }
    }
  };
  for (std::size_t step = 0; step < steps; ++step) {
    auto const k = forward ? step : steps - 1 - step;
    for (std::size_t row = k; row < rows; ++row) {
      spawn(forward ? row : rows - 1 - (row - k), k);
    }
  }
}

} // namespace linalg
} // namespace hetsched
