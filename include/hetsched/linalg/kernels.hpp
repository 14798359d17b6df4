// SPDX-License-Identifier: MIT
#pragma once
// Tile kernels for float and double, those of LU for std::complex<double>, too: by Eigen, or by
// OpenBLAS where the build found it.
//
// HETSCHED_HAVE_LAPACKE, defined by the build when OpenBLAS and LAPACKE are there, selects
// cblas/LAPACKE. Define it in all translation units of a program or in none.
//
// Tasks are the parallelism, so BLAS uses one thread: `use_one_blas_thread()`, which every
// algorithm calls before it spawns, sees to it. Where workers are groups of cores (Config::group),
// a kernel divides its tile among the worker's; the panels of QR alone stay on one.
// Tiles are column-major (TileView) or row-major (RowTileView), all of a call alike, but for gemm.
// No kernel reads or writes the strictly upper triangle of a triangular or symmetric argument.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/detail/linalg/blas_calls.hpp>
#include <hetsched/detail/linalg/tile_concepts.hpp>
#include <hetsched/runtime/team.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>

namespace hetsched::linalg {

/// Makes BLAS calls use the calling thread only, from now on and in the whole process: OpenBLAS
/// would start as many threads as there are cores in each of as many tasks. To use a parallel BLAS
/// between two algorithms, sync and set OpenBLAS's thread count; the next algorithm sets it back.
/// Eigen has threads only when compiled with OpenMP, which this project does not do; if a program
/// does, they are switched off too. Cheap when nothing is to be done.
inline void use_one_blas_thread() {
  if (Eigen::nbThreads() != 1) {
    Eigen::setNbThreads(1);
  }
#ifdef HETSCHED_HAVE_LAPACKE
  if (openblas_get_num_threads() != 1) {
    openblas_set_num_threads(1);
  }
#endif
}

/// What does the kernels' work.
[[nodiscard]] constexpr char const* kernel_library() noexcept {
#ifdef HETSCHED_HAVE_LAPACKE
  return "OpenBLAS";
#else
  return "Eigen";
#endif
}

namespace kernels {

/// What the kernels of LU work on.
template <class T>
concept element = std::floating_point<T> || std::same_as<T, std::complex<double>>;

/// An Eigen view of a tile.
template <tile View>
[[nodiscard]] auto as_eigen(View tile) {
  constexpr int order = is_row_major<View> ? Eigen::RowMajor : Eigen::ColMajor;
  using Plain = Eigen::Matrix<NumberOf<View>, Eigen::Dynamic, Eigen::Dynamic, order>;
  using Matrix = std::conditional_t<std::is_const_v<typename View::Element>, Plain const, Plain>;
  auto const index = [](std::size_t value) { return static_cast<Eigen::Index>(value); };
  return Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>(
      tile.data(), index(tile.rows()), index(tile.cols()), Eigen::OuterStride<>(index(tile.ld())));
}

template <tile View>
[[nodiscard]] bool is_empty(View tile) noexcept {
  return tile.rows() == 0 || tile.cols() == 0;
}

/// The block of rows x cols elements that begins at element (i, j) of `a`, inside it.
template <tile View>
[[nodiscard]] View block(View a, std::size_t i, std::size_t j, std::size_t rows, std::size_t cols) {
  HETSCHED_ASSERT(i + rows <= a.rows() && j + cols <= a.cols(), "shapes");
  auto* const first = rows == 0 || cols == 0 ? a.data() : &a(i, j);
  if constexpr (is_row_major<View>) {
    return row_major(first, rows, cols, a.ld());
  } else {
    return {first, rows, cols, a.ld()};
  }
}

/// Where a factorisation stopped: the column within the tile and its pivot, which is not a positive
/// finite number; LU's pivot is a modulus.
struct Breakdown {
  std::size_t column = 0;
  double pivot = 0;

  /// For messages: "NaN", "infinity", or what the caller says of any other pivot.
  [[nodiscard]] std::string what(char const* other) const {
    return std::isnan(pivot) ? "NaN" : pivot > 0 ? "infinity" : other;
  }
};

namespace detail {

/// Columns or rows that are not divided further: below, waking the other cores costs more.
constexpr std::size_t team_grain = 32;

/// Calls body(begin, end) for parts of 0 to `count` on the cores of this worker. False if it has
/// one only, or there is too little to do: then nothing is called.
template <class Body>
[[nodiscard]] bool on_team(std::size_t count, Body&& body) {
  auto const cores = team();
  if (cores.size() == 1 || count <= team_grain) {
    return false;
  }
  cores.split(count, team_grain, body);
  return true;
}

} // namespace detail

/// C := beta C; overwritten if beta is 0, so that NaN in it does not survive.
template <element T, tile_of<T> C>
void scale(T beta, C c) {
  if (beta == T(0)) {
    as_eigen(c).setZero();
  } else if (beta != T(1)) {
    as_eigen(c) *= beta;
  }
}

/// C := alpha A B + beta C, for A m x k, B k x n, C m x n, each of any layout. As in BLAS, A and B
/// are not read if alpha is 0, nor C if beta is 0. 2 m n k flops.
template <element T, tile_of<T> A, tile_of<T> B, tile_of<T> C>
void gemm(T alpha, A a, B b, std::type_identity_t<T> beta, C c) {
  HETSCHED_ASSERT(a.rows() == c.rows() && b.cols() == c.cols() && a.cols() == b.rows(), "shapes");
  if (is_empty(c)) {
    return;
  }
  if (alpha == T(0) || a.cols() == 0) {
    scale(beta, c);
    return;
  }
  if (detail::on_team(c.cols(), [&](std::size_t begin, std::size_t end) {
        gemm<T>(alpha,
                a,
                block(b, 0, begin, b.rows(), end - begin),
                beta,
                block(c, 0, begin, c.rows(), end - begin));
      })) {
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  detail::blas_gemm<T>(alpha, CblasNoTrans, a, CblasNoTrans, b, beta, c);
#else
  scale(beta, c);
  as_eigen(c).noalias() += alpha * as_eigen(a) * as_eigen(b);
#endif
}

/// C := C - A B^T, for A m x k, B n x k, C m x n: the update of right-looking Cholesky. 2 m n k
/// flops.
template <real_tile C, tile_like<C> A, tile_like<C> B>
void gemm_update(A a, B b, C c) {
  HETSCHED_ASSERT(a.rows() == c.rows() && b.rows() == c.cols() && a.cols() == b.cols(), "shapes");
  if (is_empty(c) || a.cols() == 0) {
    return;
  }
  if (detail::on_team(c.cols(), [&](std::size_t begin, std::size_t end) {
        gemm_update(a,
                    block(b, begin, 0, end - begin, b.cols()),
                    block(c, 0, begin, c.rows(), end - begin));
      })) {
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  using T = NumberOf<C>;
  detail::blas_gemm<T>(T(-1), CblasNoTrans, a, CblasTrans, b, T(1), c);
#else
  as_eigen(c).noalias() -= as_eigen(a) * as_eigen(b).transpose();
#endif
}

/// C := C - A A^T on the lower triangle, for A n x k, C n x n. n^2 k flops.
template <real_tile C, tile_like<C> A>
void syrk(A a, C c) {
  using T = NumberOf<C>;
  HETSCHED_ASSERT(a.rows() == c.rows() && c.rows() == c.cols(), "shapes");
  if (is_empty(c) || a.cols() == 0) {
    return;
  }
  // The first columns are the longest: every core gets some, far from each other, too.
  auto const n = c.cols();
  auto const grains = (n + detail::team_grain - 1) / detail::team_grain;
  if (auto const cores = team(); cores.size() > 1 && grains > 1) {
    cores.run([&](int member) {
      for (auto g = static_cast<std::size_t>(member); g < grains;
           g += static_cast<std::size_t>(cores.size())) {
        auto const begin = g * detail::team_grain;
        auto const end = std::min(begin + detail::team_grain, n);
        auto const own = block(a, begin, 0, end - begin, a.cols());
        syrk(own, block(c, begin, begin, end - begin, end - begin));
        gemm_update(
            block(a, end, 0, n - end, a.cols()), own, block(c, end, begin, n - end, end - begin));
      }
    });
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  using detail::blas_int;
  detail::Blas<T>::syrk(detail::order_of<C>,
                        CblasLower,
                        CblasNoTrans,
                        blas_int(c.rows()),
                        blas_int(a.cols()),
                        T(-1),
                        a.data(),
                        blas_int(a.ld()),
                        T(1),
                        c.data(),
                        blas_int(c.ld()));
#else
  as_eigen(c).template selfadjointView<Eigen::Lower>().rankUpdate(as_eigen(a), T(-1));
#endif
}

/// B := B L^-T, for L n x n lower triangular, B m x n. m n^2 flops. A zero on L's diagonal gives
/// infinities or NaN.
template <real_tile B, tile_like<B> L>
void trsm(L l, B b) {
  HETSCHED_ASSERT(l.rows() == l.cols() && l.cols() == b.cols(), "shapes");
  if (is_empty(b)) {
    return;
  }
  if (detail::on_team(b.rows(), [&](std::size_t begin, std::size_t end) {
        trsm(l, block(b, begin, 0, end - begin, b.cols()));
      })) {
    return;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  detail::blas_trsm<NumberOf<B>>(CblasRight, CblasLower, CblasTrans, CblasNonUnit, l, b);
#else
  auto target = as_eigen(b);
  as_eigen(l)
      .transpose()
      .template triangularView<Eigen::Upper>()
      .template solveInPlace<Eigen::OnTheRight>(target);
#endif
}

namespace detail {

template <std::floating_point T>
[[nodiscard]] bool is_broken(T pivot) {
  return !(pivot > T(0)) || !std::isfinite(pivot);
}

} // namespace detail

/// The first element on the diagonal of a factor, of its first `count` columns, that cannot be one.
template <tile L>
  requires std::floating_point<NumberOf<L>>
[[nodiscard]] std::optional<Breakdown>
find_breakdown(L l, std::size_t count = static_cast<std::size_t>(-1)) {
  for (std::size_t j = 0; j < std::min(count, l.cols()); ++j) {
    if (detail::is_broken(l(j, j))) {
      return Breakdown{j, static_cast<double>(l(j, j))};
    }
  }
  return std::nullopt;
}

/// A := L with L L^T = A on the lower triangle, for A n x n. n^3 / 3 flops.
///
/// Neither Eigen nor OpenBLAS notices NaN or infinity, so each pivot is looked at here. A NaN
/// anywhere in the lower triangle reaches the pivot of its row, so it is found at the latest there.
/// After a breakdown the tile's contents are not specified.
template <real_tile A>
[[nodiscard]] std::optional<Breakdown> potrf(A a) {
  using T = NumberOf<A>;
  HETSCHED_ASSERT(a.rows() == a.cols(), "shapes");
  auto const n = a.rows();
  if (n == 0) {
    return std::nullopt;
  }
  if (n > 4 * detail::team_grain && team().size() > 1) { // what the cores can share is in halves
    auto const half = n / 2;
    auto const below = block(a, half, 0, n - half, half);
    auto const rest = block(a, half, half, n - half, n - half);
    if (auto const where = potrf(block(a, 0, 0, half, half))) {
      return where;
    }
    trsm(block(a, 0, 0, half, half), below);
    syrk(below, rest);
    auto where = potrf(rest);
    if (where) {
      where->column += half;
    }
    return where;
  }
#ifdef HETSCHED_HAVE_LAPACKE
  using detail::blas_int;
  char const triangle = is_row_major<A> ? 'U' : 'L'; // in memory
  auto const info =
      detail::Blas<T>::potrf(LAPACK_COL_MAJOR, triangle, blas_int(n), a.data(), blas_int(a.ld()));
  HETSCHED_ASSERT(info >= 0, "potrf: illegal argument");
  auto const checked = info > 0 ? static_cast<std::size_t>(info) : n;
  if (auto const where = find_breakdown(a, checked)) {
    return where; // a pivot that stopped potrf stays in place
  }
  return info > 0 ? std::optional(Breakdown{checked - 1, 0}) : std::nullopt;
#else
  constexpr std::size_t panel = 32; // as Eigen's LLT for tiles up to 512
  auto m = as_eigen(a);
  for (std::size_t first = 0; first < n; first += panel) {
    auto const begin = static_cast<Eigen::Index>(first);
    auto const width = static_cast<Eigen::Index>(std::min(panel, n - first));
    auto const rest = m.rows() - begin - width;
    auto block = m.block(begin, begin, width, width);
    for (Eigen::Index j = 0; j < width; ++j) {
      T const pivot = block(j, j) - block.row(j).head(j).squaredNorm();
      if (detail::is_broken(pivot)) {
        return Breakdown{first + static_cast<std::size_t>(j), static_cast<double>(pivot)};
      }
      auto const below = width - j - 1;
      auto column = block.col(j).tail(below);
      column.noalias() -= block.bottomLeftCorner(below, j) * block.row(j).head(j).transpose();
      block(j, j) = std::sqrt(pivot);
      column /= block(j, j);
    }
    auto under = m.block(begin + width, begin, rest, width);
    block.transpose()
        .template triangularView<Eigen::Upper>()
        .template solveInPlace<Eigen::OnTheRight>(under);
    m.bottomRightCorner(rest, rest)
        .template selfadjointView<Eigen::Lower>()
        .rankUpdate(under, T(-1));
  }
  return std::nullopt;
#endif
}

} // namespace kernels
} // namespace hetsched::linalg
