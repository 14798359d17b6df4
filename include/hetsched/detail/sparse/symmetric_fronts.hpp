// SPDX-License-Identifier: MIT
#pragma once
// Fronts of symmetric positive definite matrices: what is done to them, and their tasks.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/spawn_factorisation.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/kernels.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace hetsched {

namespace sparse::detail {

/// Factors panel k of front s, from its diagonal down.
template <class T>
void factor_panel(Fronts const& plan,
                  Numbers<T, Form::symmetric>& /*numbers*/,
                  Index s,
                  std::size_t k,
                  TileView<T> panel) {
  namespace kernels = linalg::kernels;
  auto const first = plan.fronts[at(s)].panels.begin(k);
  auto const width = panel.cols();
  auto const triangle = kernels::block(panel, first, 0, width, width);
  if (auto const where = kernels::potrf(triangle)) {
    refuse_pivot(plan, s, first + where->column, where->pivot, "SparseCholesky");
  }
  kernels::trsm(triangle,
                kernels::block(panel, first + width, 0, panel.rows() - first - width, width));
}

/// The parts of a factored panel, which begins at row `first`, that update the panel at row
/// `target`, and of that panel what is updated.
template <class T>
struct PanelUpdate {
  TileView<T const> left;
  TileView<T const> right;
  TileView<T> result;

  PanelUpdate(TileView<T const> panel, std::size_t target, TileView<T> columns)
      : left(linalg::kernels::block(panel, target, 0, panel.rows() - target, panel.cols())),
        right(linalg::kernels::block(panel, target, 0, columns.cols(), panel.cols())),
        result(
            linalg::kernels::block(columns, target, 0, columns.rows() - target, columns.cols())) {}
};

/// Of a block of rows below: what one panel, which begins at column `first`, solves for, and the
/// rest, which that updates with what is below the panel's triangle.
template <class T>
struct RowUpdate {
  TileView<T const> triangle;
  TileView<T const> below;
  TileView<T> own;
  TileView<T> rest;

  RowUpdate(TileView<T const> panel, std::size_t first, TileView<T> rows)
      : triangle(linalg::kernels::block(panel, first, 0, panel.cols(), panel.cols())),
        below(linalg::kernels::block(
            panel, first + panel.cols(), 0, panel.rows() - first - panel.cols(), panel.cols())),
        own(linalg::kernels::block(rows, 0, first, rows.rows(), panel.cols())),
        rest(linalg::kernels::block(
            rows, 0, first + panel.cols(), rows.rows(), rows.cols() - first - panel.cols())) {}
};

template <class T>
void update_panel(TileView<T const> panel, std::size_t target, TileView<T> columns) {
  PanelUpdate<T> const update(panel, target, columns);
  linalg::kernels::gemm_update(update.left, update.right, update.result);
}

template <class T>
void solve_symmetric_rows(TileView<T const> panel, std::size_t first, TileView<T> rows) {
  RowUpdate<T> const update(panel, first, rows);
  linalg::kernels::trsm(update.triangle, update.own);
  linalg::kernels::gemm_update(update.own, update.below, update.rest);
}

/// Factors a front as one piece of work. What it contributes goes to `f22`, lower triangle.
template <class T, class Given>
void factor_front(
    Fronts const& plan, Numbers<T, Form::symmetric>& numbers, Given const& given, Index s, T* f22) {
  namespace kernels = linalg::kernels;
  auto const& front = plan.fronts[at(s)];
  auto const panels = front.panels.count;
  auto const blocks = front.blocks_below();
  for (std::size_t k = 0; k < panels; ++k) {
    assemble(plan, numbers, given, {s, FrontPart::Kind::panel, k}, numbers.panel(front, k));
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    assemble(plan, numbers, given, {s, FrontPart::Kind::lower, i}, numbers.lower(front, i));
  }
  for (std::size_t k = 0; k < panels; ++k) {
    auto const panel = numbers.panel(front, k);
    factor_panel(plan, numbers, s, k, panel);
    for (auto j = k + 1; j < panels; ++j) {
      update_panel<T>(panel, front.panels.begin(j), numbers.panel(front, j));
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      solve_symmetric_rows<T>(panel, front.panels.begin(k), numbers.lower(front, i));
    }
  }
  for (std::size_t j = 0; j < blocks; ++j) {
    for (auto i = j; i < blocks; ++i) {
      auto const c = f22_tile(front, f22, i, j);
      kernels::scale(T(0), c);
      assemble_tile(plan, given, s, i, j, c);
      if (i == j) {
        kernels::syrk(numbers.lower(front, i), c);
      } else {
        kernels::gemm_update(numbers.lower(front, i), numbers.lower(front, j), c);
      }
    }
  }
}

/// Applies a panel to the panel whose first row with entries is given.
template <class T>
struct UpdatePanel : Task<3>::Signature<V<std::size_t>, R<TileView<T>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "front_columns";
};

/// Solves for rows of L with all panels of a front.
template <class T>
struct SolveSymmetricRows : Task<2>::Signature<R<Each<TileView<T>>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "front_rows";
};

template <>
struct FrontProgram<Form::symmetric> {
  template <class T, class Rt, class Tile, class Pivots, class Urgency>
  static TaskCount spawn(Rt& rt,
                         Front const& front,
                         FrontData<Tile> const& data,
                         Pivots const& panels,
                         Urgency const& urgency) {
    FrontFlops const work_of(front);
    auto const p = front.panels.count;
    auto const q = data.lower.size();
    for (std::size_t k = 0; k < p; ++k) {
      panels.factor(k, data.panels[k], urgency(3), flops(work_of.panel(k)));
      for (auto j = k + 1; j < p; ++j) {
        rt.template spawn<UpdatePanel<T>>(urgency(j == k + 1 ? 3 : 2), flops(work_of.update(k, j)))(
            front.panels.begin(j), data.panels[k], data.panels[j]);
      }
    }
    for (std::size_t i = 0; i < q; ++i) {
      rt.template spawn<SolveSymmetricRows<T>>(urgency(1), flops(work_of.side(i)))(data.panels,
                                                                                   data.lower[i]);
    }
    for (std::size_t j = 0; j < q; ++j) {
      rt.template spawn<linalg::Syrk<T>>(urgency(0), flops(work_of.product(j, j)))(
          data.lower[j], data.tiles[j + j * q]);
      for (auto i = j + 1; i < q; ++i) {
        rt.template spawn<linalg::GemmUpdate<T>>(urgency(0), flops(work_of.product(i, j)))(
            data.lower[i], data.lower[j], data.tiles[i + j * q]);
      }
    }
    return {p * (p + 1) / 2 + q + q * (q + 1) / 2, q * (q + 1) / 2};
  }
};

} // namespace sparse::detail

template <class T>
struct TaskBodyCPU<sparse::detail::UpdatePanel<T>> {
  void operator()(std::size_t target, TileView<T const> panel, TileView<T> columns) const {
    sparse::detail::update_panel<T>(panel, target, columns);
  }
};

template <class T>
struct TaskBodyGPU<sparse::detail::UpdatePanel<T>> {
  void operator()(GpuStream& stream,
                  std::size_t target,
                  TileView<T const> panel,
                  TileView<T> columns) const {
    sparse::detail::PanelUpdate<T> const update(panel, target, columns);
    gpu::gemm(stream, 'N', 'T', T(-1), update.left, update.right, T(1), update.result);
  }
};

template <class T>
struct TaskBodyCPU<sparse::detail::SolveSymmetricRows<T>> {
  void operator()(Each<TileView<T const>> panels, TileView<T> rows) const {
    std::size_t first = 0;
    for (std::size_t k = 0; k < panels.size(); ++k) {
      sparse::detail::solve_symmetric_rows<T>(panels[k], first, rows);
      first += panels[k].cols();
    }
  }
};

template <class T>
struct TaskBodyGPU<sparse::detail::SolveSymmetricRows<T>> {
  void operator()(GpuStream& stream, Each<TileView<T const>> panels, TileView<T> rows) const {
    std::size_t first = 0;
    for (std::size_t k = 0; k < panels.size(); ++k) {
      sparse::detail::RowUpdate<T> const update(panels[k], first, rows);
      gpu::trsm(stream, 'R', 'L', 'T', 'N', T(1), update.triangle, update.own);
      gpu::gemm(stream, 'N', 'T', T(-1), update.own, update.below, T(1), update.rest);
      first += panels[k].cols();
    }
  }
};

} // namespace hetsched
