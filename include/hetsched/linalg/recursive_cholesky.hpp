// SPDX-License-Identifier: MIT
#pragma once
// Cholesky factorisation by tasks that cut their blocks and spawn tasks on the parts.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/handles/partition.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace hetsched {

namespace linalg {

/// A := its Cholesky factor; given A's first column in the whole matrix and the leaf size.
template <class T>
struct RecursivePotrf : Task<3>::Signature<RW<TileView<T>>, V<std::size_t>, V<std::size_t>> {
  static constexpr std::string_view name = "recursive potrf";
};

/// A := A L^-T; given the leaf size, as all below.
template <class T>
struct RecursiveTrsm : Task<3>::Signature<R<TileView<T>>, RW<TileView<T>>, V<std::size_t>> {
  static constexpr std::string_view name = "recursive trsm";
};

/// C := C - A A^T, lower triangle.
template <class T>
struct RecursiveSyrk : Task<3>::Signature<R<TileView<T>>, RW<TileView<T>>, V<std::size_t>> {
  static constexpr std::string_view name = "recursive syrk";
};

/// C := C - A B^T.
template <class T>
struct RecursiveGemm
    : Task<4>::Signature<R<TileView<T>>, R<TileView<T>>, RW<TileView<T>>, V<std::size_t>> {
  static constexpr std::string_view name = "recursive gemm";
};

namespace detail {

/// Where rows or columns are cut in two: at the multiple of the leaf size in the middle, the one
/// above if two are. What is no longer than a leaf stays whole.
[[nodiscard]] inline std::size_t cut(std::size_t extent, std::size_t leaf) noexcept {
  auto const leaves = extent / leaf + (extent % leaf == 0 ? 0 : 1);
  return (leaves + 1) / 2 * leaf;
}

/// Cuts a block into at most 2 x 2 parts.
template <class Rt, class T>
[[nodiscard]] auto quarters(Rt& rt, Handle<TileView<T>> const& a, std::size_t leaf) {
  return rt.partition(a, tiles(cut(a.rows(), leaf), cut(a.cols(), leaf)));
}

/// Spawns the tasks on blocks: on leaves those of the tile algorithm, else those that go on.
template <class Rt, class T>
struct Spawn {
  using Block = Handle<TileView<T>>;
  Rt& rt;
  std::size_t leaf;

  [[nodiscard]] bool is_leaf(Block const& a) const { return a.rows() <= leaf && a.cols() <= leaf; }

  void potrf(Block const& a, std::size_t first) const {
    if (is_leaf(a)) {
      rt.template spawn<Potrf<T>>()(a, first / leaf, first);
    } else {
      rt.template spawn<RecursivePotrf<T>>()(a, first, leaf);
    }
  }

  void trsm(Block const& l, Block const& a) const {
    if (is_leaf(a)) {
      rt.template spawn<Trsm<T>>()(l, a);
    } else {
      rt.template spawn<RecursiveTrsm<T>>()(l, a, leaf);
    }
  }

  void syrk(Block const& a, Block const& c) const {
    if (is_leaf(a) && is_leaf(c)) {
      rt.template spawn<Syrk<T>>()(a, c);
    } else {
      rt.template spawn<RecursiveSyrk<T>>()(a, c, leaf);
    }
  }

  void gemm(Block const& a, Block const& b, Block const& c) const {
    if (is_leaf(a) && is_leaf(b)) {
      rt.template spawn<GemmUpdate<T>>()(a, b, c);
    } else {
      rt.template spawn<RecursiveGemm<T>>()(a, b, c, leaf);
    }
  }
};

} // namespace detail
} // namespace linalg

template <class T>
struct TaskBodyCPU<linalg::RecursivePotrf<T>> {
  template <class Rt>
  void
  operator()(Rt& rt, Handle<TileView<T>> const& whole, std::size_t first, std::size_t leaf) const {
    linalg::detail::Spawn<Rt, T> const spawn{rt, leaf};
    auto const a = linalg::detail::quarters(rt, whole, leaf);
    spawn.potrf(a(0, 0), first);
    spawn.trsm(a(0, 0), a(1, 0));
    spawn.syrk(a(1, 0), a(1, 1));
    spawn.potrf(a(1, 1), first + a(0, 0).cols());
  }
};

template <class T>
struct TaskBodyCPU<linalg::RecursiveTrsm<T>> {
  template <class Rt>
  void operator()(Rt& rt,
                  Handle<TileView<T>> const& factor,
                  Handle<TileView<T>> const& whole,
                  std::size_t leaf) const {
    linalg::detail::Spawn<Rt, T> const spawn{rt, leaf};
    auto const l = linalg::detail::quarters(rt, factor, leaf);
    auto const a = linalg::detail::quarters(rt, whole, leaf);
    for (std::size_t j = 0; j < a.cols(); ++j) {
      for (std::size_t i = 0; i < a.rows(); ++i) {
        if (j == 1) {
          spawn.gemm(a(i, 0), l(1, 0), a(i, 1));
        }
        spawn.trsm(l(j, j), a(i, j));
      }
    }
  }
};

template <class T>
struct TaskBodyCPU<linalg::RecursiveSyrk<T>> {
  template <class Rt>
  void operator()(Rt& rt,
                  Handle<TileView<T>> const& factor,
                  Handle<TileView<T>> const& whole,
                  std::size_t leaf) const {
    linalg::detail::Spawn<Rt, T> const spawn{rt, leaf};
    auto const a = linalg::detail::quarters(rt, factor, leaf);
    auto const c = linalg::detail::quarters(rt, whole, leaf);
    for (std::size_t k = 0; k < a.cols(); ++k) {
      for (std::size_t j = 0; j < c.cols(); ++j) {
        spawn.syrk(a(j, k), c(j, j));
        for (std::size_t i = j + 1; i < c.rows(); ++i) {
          spawn.gemm(a(i, k), a(j, k), c(i, j));
        }
      }
    }
  }
};

template <class T>
struct TaskBodyCPU<linalg::RecursiveGemm<T>> {
  template <class Rt>
  void operator()(Rt& rt,
                  Handle<TileView<T>> const& left,
                  Handle<TileView<T>> const& right,
                  Handle<TileView<T>> const& whole,
                  std::size_t leaf) const {
    linalg::detail::Spawn<Rt, T> const spawn{rt, leaf};
    auto const a = linalg::detail::quarters(rt, left, leaf);
    auto const b = linalg::detail::quarters(rt, right, leaf);
    auto const c = linalg::detail::quarters(rt, whole, leaf);
    for (std::size_t k = 0; k < a.cols(); ++k) {
      for (std::size_t j = 0; j < c.cols(); ++j) {
        for (std::size_t i = 0; i < c.rows(); ++i) {
          spawn.gemm(a(i, k), b(j, k), c(i, j));
        }
      }
    }
  }
};

namespace linalg {

/// A := L with L L^T = A, for A n x n symmetric positive definite, float or double, of which only
/// the lower triangle is read and written:
///
///     auto const a = rt.data(matrix);
///     hs::linalg::recursive_cholesky(rt, a, 128);
///     rt.sync();
///
/// Asynchronous: spawns one task and returns. It cuts A into 2 x 2 parts and spawns tasks on them
/// (factorise, solve, update, factorise), and so do these, each in a data-flow graph of its own,
/// down to blocks of at most `leaf` rows and columns. Nobody waits: a task is complete when those
/// that it spawned are. `rt.sync()` throws as `cholesky` would with tiles of the leaf size, with
/// the same column and tile, for every scheduler and number of workers. A's lower triangle is then
/// not specified. Throws Error(bad_data) at once, with nothing spawned, if A is not square or leaf
/// is 0. May be captured: the graph is that one task.
///
/// The cuts are at multiples of the leaf size and each block's updates keep their order, so the
/// factor is bit for bit that of `cholesky` with tiles of the leaf size.
///
/// Costs N (N + 1) (N + 2) / 6 tasks on leaves, N = ceil(n / leaf), as `cholesky`, and at most half
/// as many others. The graph unfolds as it is executed, by all workers, but less of it may run side
/// by side than with `cholesky`: what reads a part of a block waits until the task on the whole
/// block is complete. No priorities.
///
/// Source: tasks that create tasks, Lima et al. 2015, sec. 3.3, on the algorithm of `cholesky`.
template <class Rt, class T>
void recursive_cholesky(Rt& rt, Handle<TileView<T>> const& a, std::size_t leaf) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: recursive_cholesky works in place on float or double");
  auto const refuse = [](std::string const& what) {
    throw Error(ErrorCode::bad_data, "recursive_cholesky", what);
  };
  if (leaf == 0) {
    refuse("leaf size is 0");
  }
  if (a.rows() != a.cols()) {
    refuse("the matrix is " + std::to_string(a.rows()) + " x " + std::to_string(a.cols()) +
           ", not square");
  }
  use_one_blas_thread();
  if (a.rows() != 0) {
    detail::Spawn<Rt, T>{rt, leaf}.potrf(a, 0);
  }
}

template <class Rt, class T>
void recursive_cholesky(Rt&, Handle<RowTileView<T>> const&, std::size_t) {
  static_assert(sizeof(T) == 0, "hetsched: recursive_cholesky needs a column-major matrix");
}

} // namespace linalg
} // namespace hetsched
