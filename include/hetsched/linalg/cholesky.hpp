// SPDX-License-Identifier: MIT
#pragma once
// Tile Cholesky factorisation.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_row_major.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hetsched {

namespace linalg {

/// A(k, k) := its Cholesky factor; given k and the first column of the tile, for messages.
template <class T, class Layout = LayoutLeft>
struct Potrf : Task<3>::Signature<RW<TileViewOf<T, Layout>>, V<std::size_t>, V<std::size_t>> {
  static constexpr std::string_view name = "potrf";
};

/// A(k, k) := its Cholesky factor, on a GPU or the host; whether there is one is for CheckFactor.
template <class T, class Layout = LayoutLeft>
struct PotrfUnchecked : Task<1>::Signature<RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "potrf";
};

namespace detail {

class FactorChecks;

} // namespace detail

/// Notes whether L(k, k) is a Cholesky factor, given k and the first column of the tile. The last
/// of these tasks fails if one is not.
template <class T, class Layout = LayoutLeft>
struct CheckFactor : Task<4>::Signature<R<TileViewOf<T, Layout>>,
                                        V<std::size_t>,
                                        V<std::size_t>,
                                        V<std::shared_ptr<detail::FactorChecks>>> {
  static constexpr std::string_view name = "check";
};

/// A(i, k) := A(i, k) L(k, k)^-T.
template <class T, class Layout = LayoutLeft>
struct Trsm : Task<2>::Signature<R<TileViewOf<T, Layout>>, RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "trsm";
};

/// A(i, i) := A(i, i) - L(i, k) L(i, k)^T, lower triangle.
template <class T, class Layout = LayoutLeft>
struct Syrk : Task<2>::Signature<R<TileViewOf<T, Layout>>, RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "syrk";
};

/// A(i, j) := A(i, j) - L(i, k) L(j, k)^T.
template <class T, class Layout = LayoutLeft>
struct GemmUpdate : Task<3>::Signature<R<TileViewOf<T, Layout>>,
                                       R<TileViewOf<T, Layout>>,
                                       RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "gemm";
};

namespace detail {

[[noreturn]] inline void report(kernels::Breakdown where, std::size_t tile, std::size_t first) {
  auto message = where.what("not positive definite");
  auto const k = std::to_string(tile);
  message += " at column " + std::to_string(first + where.column) + " (tile " + k + ", " + k + ")";
  throw Error(ErrorCode::numerical, "cholesky", message);
}

/// What was found in the diagonal tiles of one factorisation. Behind the first breakdown there are
/// others, found in any order: only when all have been looked at is it known which is the first.
class FactorChecks {
public:
  explicit FactorChecks(std::size_t tiles) : seen_(tiles, false) {}

  /// Throws Error(numerical) at the last of all tiles. A captured graph that runs again begins
  /// anew.
  void add(std::size_t tile, std::size_t first, std::optional<kernels::Breakdown> found) {
    std::lock_guard const guard(mutex_);
    if (seen_[tile]) {
      seen_.assign(seen_.size(), false);
      count_ = 0;
      first_.reset();
    }
    seen_[tile] = true;
    ++count_;
    if (found && (!first_ || tile < first_->tile)) {
      first_ = {*found, tile, first};
    }
    if (count_ == seen_.size() && first_) {
      report(first_->where, first_->tile, first_->first);
    }
  }

private:
  struct Found {
    kernels::Breakdown where;
    std::size_t tile;
    std::size_t first;
  };

  hetsched::detail::Mutex mutex_;
  std::vector<bool> seen_;
  std::size_t count_ = 0;
  std::optional<Found> first_;
};

} // namespace detail

/// Where the diagonal tiles are factorised.
enum class PotrfOn : std::uint8_t {
  host, // as in Lima et al. 2015, sec. 5.2
  any,  // on GPUs, too
};

} // namespace linalg

template <class T, class Layout>
struct TaskBodyCPU<linalg::Potrf<T, Layout>> {
  void operator()(linalg::TileViewOf<T, Layout> a, std::size_t tile, std::size_t first) const {
    if (auto const where = linalg::kernels::potrf(a)) {
      linalg::detail::report(*where, tile, first);
    }
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::PotrfUnchecked<T, Layout>> {
  void operator()(linalg::TileViewOf<T, Layout> a) const {
    if (auto const where = linalg::kernels::potrf(a)) {
      a(where->column, where->column) = static_cast<T>(where->pivot); // for CheckFactor
    }
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::PotrfUnchecked<T, Layout>> {
  void operator()(GpuStream& stream, linalg::TileViewOf<T, Layout> a) const {
    gpu::potrf(stream, 'L', a);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::CheckFactor<T, Layout>> {
  void operator()(linalg::TileViewOf<T const, Layout> l,
                  std::size_t tile,
                  std::size_t first,
                  std::shared_ptr<linalg::detail::FactorChecks> const& checks) const {
    checks->add(tile, first, linalg::kernels::find_breakdown(l));
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::Trsm<T, Layout>> {
  void operator()(linalg::TileViewOf<T const, Layout> l, linalg::TileViewOf<T, Layout> a) const {
    linalg::kernels::trsm(l, a);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::Syrk<T, Layout>> {
  void operator()(linalg::TileViewOf<T const, Layout> l, linalg::TileViewOf<T, Layout> a) const {
    linalg::kernels::syrk(l, a);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::GemmUpdate<T, Layout>> {
  void operator()(linalg::TileViewOf<T const, Layout> l,
                  linalg::TileViewOf<T const, Layout> r,
                  linalg::TileViewOf<T, Layout> a) const {
    linalg::kernels::gemm_update(l, r, a);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::Trsm<T, Layout>> {
  void operator()(GpuStream& stream,
                  linalg::TileViewOf<T const, Layout> l,
                  linalg::TileViewOf<T, Layout> a) const {
    gpu::trsm(stream, 'R', 'L', 'T', 'N', T(1), l, a);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::Syrk<T, Layout>> {
  void operator()(GpuStream& stream,
                  linalg::TileViewOf<T const, Layout> l,
                  linalg::TileViewOf<T, Layout> a) const {
    gpu::syrk(stream, 'L', 'N', T(-1), l, T(1), a);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::GemmUpdate<T, Layout>> {
  void operator()(GpuStream& stream,
                  linalg::TileViewOf<T const, Layout> l,
                  linalg::TileViewOf<T const, Layout> r,
                  linalg::TileViewOf<T, Layout> a) const {
    gpu::gemm(stream, 'N', 'T', T(-1), l, r, T(1), a);
  }
};

namespace linalg {

/// A := L with L L^T = A, for A n x n symmetric positive definite, float or double, column-major or
/// row-major, of which only the lower triangle is read and written. Right-looking by tiles.
///
/// Asynchronous: spawns tasks of types potrf, trsm, syrk and gemm, and returns; `rt.sync()` waits
/// and throws Error(numerical) if a pivot was not a positive finite number, naming its column (from
/// 0) and tile: "hetsched: cholesky: not positive definite at column 137 (tile 2, 2)", or NaN or
/// infinity instead of "not positive definite". The column is the first at which the trouble shows,
/// the same for every scheduler and number of workers. A's lower triangle is then not specified.
/// Throws Error(bad_data) at once, with nothing spawned, if A is not square. May be captured.
///
/// Tasks of types trsm, syrk and gemm run on GPUs, too. potrf does not: it says which pivot is not
/// positive, and a body on a GPU would have to wait to learn that. With PotrfOn::any it does, and
/// N more tasks, of type check, look at the factors in host memory: a breakdown is told only when
/// the last of them has run, and a GPU's library may call it NaN.
///
/// On several ranks (a DistributedRuntime and a DistributedMatrix) every rank calls it. A breakdown
/// is then told as DistributedRuntime::sync tells failures. PotrfOn::any throws Error(bad_call)
/// there: no rank sees all factors.
///
/// Priorities are bottom levels with unit times: a task that writes tile (i, j) in step k of N has
/// 3N - 2 - i - j - k tasks on the longest path from itself, included, to the end.
///
/// Costs N (N + 1) (N + 2) / 6 tasks on N = ceil(n / tile) tile columns, n^3 / 3 flops.
///
/// Source: the right-looking tile algorithm of Lima et al. 2015, sec. 5.2, and Kumar 2017,
/// sec. 1.4.1, algorithm 1; bottom levels as in Kumar 2017, sec. 2.2.2, but counted in tasks,
/// because measured times are not known at the spawn.
template <class Rt, tiled_matrix A>
void cholesky(Rt& rt, A const& a, PotrfOn where = PotrfOn::host) {
  using T = typename A::Element;
  using Layout = detail::TileLayout<A>;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: cholesky works in place on float or double");
  if (a.rows() != a.cols()) {
    throw Error(ErrorCode::bad_data,
                "cholesky",
                "the matrix is " + std::to_string(a.rows()) + " x " + std::to_string(a.cols()) +
                    ", not square");
  }
  if constexpr (requires { rt.ranks(); }) {
    if (where != PotrfOn::host) {
      throw Error(ErrorCode::bad_call, "cholesky", "PotrfOn::any is not for several ranks");
    }
  }
  use_one_blas_thread();
  auto const count = a.tile_rows();
  auto const level = [count](std::size_t i, std::size_t j, std::size_t k) {
    return priority(static_cast<std::int32_t>(3 * count - 2 - i - j - k));
  };
  auto const checks = std::make_shared<detail::FactorChecks>(count);
  for (std::size_t k = 0; k < count; ++k) {
    if (where == PotrfOn::host) {
      rt.template spawn<Potrf<T, Layout>>(level(k, k, k))(a(k, k), k, k * a.tile_size());
    } else {
      rt.template spawn<PotrfUnchecked<T, Layout>>(level(k, k, k))(a(k, k));
      rt.template spawn<CheckFactor<T, Layout>>()(a(k, k), k, k * a.tile_size(), checks);
    }
    for (std::size_t i = k + 1; i < count; ++i) {
      rt.template spawn<Trsm<T, Layout>>(level(i, k, k))(a(k, k), a(i, k));
    }
    for (std::size_t j = k + 1; j < count; ++j) {
      rt.template spawn<Syrk<T, Layout>>(level(j, j, k))(a(j, k), a(j, j));
      for (std::size_t i = j + 1; i < count; ++i) {
        rt.template spawn<GemmUpdate<T, Layout>>(level(i, j, k))(a(i, k), a(j, k), a(i, j));
      }
    }
  }
}

} // namespace linalg
} // namespace hetsched
