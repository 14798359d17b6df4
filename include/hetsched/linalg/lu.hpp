// SPDX-License-Identifier: MIT
#pragma once
// LU factorisation with partial pivoting, by blocks of columns.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_row_major.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/handles/partition.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace linalg {

/// Rows of a matrix, counted from 0.
using RowIndices = VectorView<std::size_t>;

/// Factorises block column k from row k * width on, given k and that row. Writes its pivots, and
/// adds them to those of the whole matrix.
template <class T, class Layout = LayoutLeft>
struct Getrf : Task<5>::Signature<V<std::size_t>,
                                  V<std::size_t>,
                                  RW<TileViewOf<T, Layout>>,
                                  W<RowIndices>,
                                  RW<RowIndices>> {
  static constexpr std::string_view name = "getrf";
};

/// Given the first row of panel k and its factors and pivots, exchanges rows of a block column on
/// the right of it, computes the rows of U and updates what is below. The pointer is to the pivots
/// in host memory, where getrf leaves them: a body on a GPU must know them before it launches.
template <class T, class Layout = LayoutLeft>
struct LuUpdate : Task<5>::Signature<V<std::size_t>,
                                     R<TileViewOf<T, Layout>>,
                                     R<RowIndices>,
                                     V<std::size_t const*>,
                                     RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "lu_update";
};

/// Exchanges the rows of a block column of L as the panels from the given row on did.
template <class T, class Layout = LayoutLeft>
struct Laswp : Task<3>::Signature<V<std::size_t>, R<RowIndices>, RW<TileViewOf<T, Layout>>> {
  static constexpr std::string_view name = "laswp";
};

namespace detail {

[[noreturn]] inline void
report_lu(kernels::Breakdown where, std::size_t block, std::size_t first_column) {
  auto message = where.what("singular");
  message += " at column " + std::to_string(first_column + where.column) + " (block column " +
             std::to_string(block) + ")";
  throw Error(ErrorCode::numerical, "lu", message);
}

/// For k = 0, 1, ..., exchanges row k of an Eigen matrix with row pivots[k].
template <class M, class Pivots>
void exchange_rows(M& matrix, Pivots const& pivots) {
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    if (pivots[k] != k) {
      auto const row = [&](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
      matrix.row(row(k)).swap(matrix.row(row(pivots[k])));
    }
  }
}

/// The blocks of one LuUpdate: of the panel its triangle and what is below, of the block column the
/// rows of U and what is below.
template <class T, class Layout>
struct LuBlocks {
  TileViewOf<T const, Layout> triangle;
  TileViewOf<T const, Layout> left;
  TileViewOf<T, Layout> top;
  TileViewOf<T, Layout> rest;

  LuBlocks(std::size_t first,
           std::size_t height,
           TileViewOf<T const, Layout> panel,
           TileViewOf<T, Layout> a)
      : triangle(kernels::block(panel, first, 0, height, height)),
        left(kernels::block(panel, first + height, 0, a.rows() - first - height, height)),
        top(kernels::block(a, first, 0, height, a.cols())),
        rest(kernels::block(a, first + height, 0, a.rows() - first - height, a.cols())) {}
};

/// Exchanges rows of columns on the right of a factored panel as its pivots say, computes the rows
/// of U and updates what is below. `first` is the row of the panel's first pivot.
template <class T, class Layout = LayoutLeft>
void lu_update(std::size_t first,
               TileViewOf<T const, Layout> panel,
               VectorView<std::size_t const> pivots,
               TileViewOf<T, Layout> a) {
  LuBlocks<T, Layout> const blocks(first, pivots.size(), panel, a);
  kernels::swap_rows(first, pivots, a);
  kernels::trsm_unit(blocks.triangle, blocks.top);
  kernels::gemm<T>(T(-1), blocks.left, blocks.top, T(1), blocks.rest);
}

/// The same on a GPU; the pivots are in host memory, where they must be before this is called.
template <class T, class Layout = LayoutLeft>
void lu_update(GpuStream& stream,
               std::size_t first,
               TileViewOf<T const, Layout> panel,
               VectorView<std::size_t const> pivots,
               TileViewOf<T, Layout> a) {
  LuBlocks<T, Layout> const blocks(first, pivots.size(), panel, a);
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    if (pivots[i] != first + i) {
      gpu::swap(stream, gpu::row(a, first + i), gpu::row(a, pivots[i]));
    }
  }
  gpu::trsm(stream, 'L', 'L', 'N', 'U', T(1), blocks.triangle, blocks.top);
  gpu::gemm(stream, 'N', 'N', T(-1), blocks.left, blocks.top, T(1), blocks.rest);
}

} // namespace detail
} // namespace linalg

template <class T, class Layout>
struct TaskBodyCPU<linalg::Getrf<T, Layout>> {
  void operator()(std::size_t block,
                  std::size_t first,
                  linalg::TileViewOf<T, Layout> a,
                  linalg::RowIndices pivots,
                  linalg::RowIndices all) const {
    auto const below = linalg::kernels::block(a, first, 0, a.rows() - first, a.cols());
    if (auto const where = linalg::kernels::getrf(below, pivots)) {
      linalg::detail::report_lu(*where, block, first); // first row is first column
    }
    for (auto& pivot : pivots) {
      pivot += first;
    }
    std::copy(pivots.begin(), pivots.end(), all.begin() + first);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::LuUpdate<T, Layout>> {
  void operator()(std::size_t first,
                  linalg::TileViewOf<T const, Layout> panel,
                  VectorView<std::size_t const> pivots,
                  std::size_t const* /* the same */,
                  linalg::TileViewOf<T, Layout> a) const {
    linalg::detail::lu_update<T, Layout>(first, panel, pivots, a);
  }
};

template <class T, class Layout>
struct TaskBodyGPU<linalg::LuUpdate<T, Layout>> {
  void operator()(GpuStream& stream,
                  std::size_t first,
                  linalg::TileViewOf<T const, Layout> panel,
                  VectorView<std::size_t const> pivots,
                  std::size_t const* pivots_on_host,
                  linalg::TileViewOf<T, Layout> a) const {
    linalg::detail::lu_update<T, Layout>(stream, first, panel, {pivots_on_host, pivots.size()}, a);
  }
};

template <class T, class Layout>
struct TaskBodyCPU<linalg::Laswp<T, Layout>> {
  void operator()(std::size_t first,
                  VectorView<std::size_t const> all,
                  linalg::TileViewOf<T, Layout> a) const {
    linalg::kernels::swap_rows(first, {all.data() + first, all.size() - first}, a);
  }
};

namespace linalg {

/// The row exchanges of one LU factorisation after the other: for k = 0, 1, ..., size() - 1, row k
/// was exchanged with row [k]. Readable after `rt.sync()`, if that did not throw.
///
/// As a TiledMatrix, it must outlive the tasks that use it, is move-only, and made outside
/// `Runtime::capture`.
class Pivots {
public:
  /// For matrices of the shape of `a`.
  template <class Rt, class T, class Layout>
  Pivots(Rt& rt, ColumnBlocks<T, Layout> const& a)
      : rows_(a.rows()), width_(a.width()), values_(std::min(a.rows(), a.cols())),
        copy_(values_.size()), all_(rt.data(values_)), whole_(rt.data(copy_)),
        panels_(rt.partition(whole_, block_rows(a.width()))) {}

  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

  [[nodiscard]] std::size_t operator[](std::size_t k) const noexcept { return values_[k]; }

  /// M := P M, for an Eigen matrix or vector M of as many rows as the factorised matrix.
  template <detail::dense_matrix M>
  void exchange_rows(M& matrix) const {
    HETSCHED_ASSERT(static_cast<std::size_t>(matrix.rows()) == rows_, "shapes");
    detail::exchange_rows(matrix, *this);
  }

  /// For the library: all pivots; those of block column k, for the updates, which need not wait
  /// until the last are known; whether they fit a matrix.
  [[nodiscard]] Handle<RowIndices> const& all() const noexcept { return all_; }

  [[nodiscard]] Handle<RowIndices> const& panel(std::size_t k) const noexcept { return panels_[k]; }

  /// The memory of panel(k).
  [[nodiscard]] std::size_t const* panel_memory(std::size_t k) const noexcept {
    return copy_.data() + k * width_;
  }

  template <class T, class Layout>
  [[nodiscard]] bool fit(ColumnBlocks<T, Layout> const& a) const noexcept {
    return rows_ == a.rows() && size() == std::min(a.rows(), a.cols()) && width_ == a.width();
  }

private:
  std::size_t rows_;
  std::size_t width_;
  std::vector<std::size_t> values_;
  std::vector<std::size_t> copy_; // the same numbers, cut into panels
  Handle<RowIndices> all_;
  Handle<RowIndices> whole_;
  Partition<RowIndices> panels_; // goes before whole_
};

/// A := L and U with P A = L U, for any m x n matrix of float or double, column-major or
/// row-major: L has ones on its diagonal, which are not stored. The pivot of a column is the first
/// of the largest modulus among all rows left. `pivots`, made for `a`, says what P does.
///
/// Asynchronous: spawns tasks of types getrf, lu_update and laswp, and returns; `rt.sync()` waits
/// and throws Error(numerical) if the pivot of a column was 0, NaN or infinity, naming the column
/// (from 0) and its block: "hetsched: lu: singular at column 137 (block column 2)", or NaN or
/// infinity instead of "singular". The column is the first at which the trouble shows, the same for
/// every scheduler and number of workers. A and pivots are then not specified. Columns on the right
/// of the m-th have no pivot and are not looked at. Throws Error(bad_data) at once, with nothing
/// spawned, if the pivots were made for another shape. May be captured.
///
/// The pivot search and the exchanges go over whole columns, so a task owns a block of columns.
/// Blocks of L are exchanged once, when all pivots are known, and not after each panel.
///
/// Tasks of type lu_update run on GPUs, too; there they exchange rows one by one, so that a block
/// of columns need not go to host memory for that. The panels are factorised by CPU cores.
///
/// Priorities are bottom levels with unit times. Costs K (K + 1) / 2 + K - 1 tasks if square, on
/// K = ceil(n / width) blocks; 2 n^3 / 3 flops.
///
/// Source: the blocked right-looking LU with partial pivoting that Lima et al. 2015 measure in
/// sec. 5.2. There each panel's exchanges are tasks of their own, for CPU cores.
template <class Rt, class T, class Layout>
void lu(Rt& rt, ColumnBlocks<T, Layout> const& a, Pivots const& pivots) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: lu works in place on float or double");
  if (!pivots.fit(a)) {
    throw Error(ErrorCode::bad_data, "lu", "the pivots were made for a matrix of another shape");
  }
  use_one_blas_thread();
  auto const width = a.width();
  auto const panels = detail::blocks_in(pivots.size(), width);
  std::size_t const tail = panels > 1 || a.size() > panels ? 1 : 0; // after the last panel
  auto const level = [panels, tail](std::size_t k, std::size_t j) {
    auto const tasks = j < panels ? j - k + 2 * (panels - 1 - j) + 1 + tail : panels - k;
    return priority(static_cast<std::int32_t>(tasks));
  };
  for (std::size_t k = 0; k < panels; ++k) {
    rt.template spawn<Getrf<T, Layout>>(level(k, k))(
        k, k * width, a[k], pivots.panel(k), pivots.all());
    for (std::size_t j = k + 1; j < a.size(); ++j) {
      rt.template spawn<LuUpdate<T, Layout>>(level(k, j))(
          k * width, a[k], pivots.panel(k), pivots.panel_memory(k), a[j]);
    }
  }
  for (std::size_t k = 0; k + 1 < panels; ++k) {
    rt.template spawn<Laswp<T, Layout>>(priority(1))((k + 1) * width, pivots.all(), a[k]);
  }
}

} // namespace linalg
} // namespace hetsched
