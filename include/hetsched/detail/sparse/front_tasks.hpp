// SPDX-License-Identifier: MIT
#pragma once
// The tasks of a multifrontal factorisation and of its solves.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/front_parts.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/units.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/linalg/lu.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched {

namespace sparse::detail {

/// What the tasks of one factorisation share.
template <class T, Form F>
struct Factorisation {
  Fronts const& plan;
  Units const& units;
  Numbers<T, F>& numbers;
};

/// Fills a part of a tiled front, which is in `tiles`: one, or those of a column of F22.
template <class T, Form F, class Given>
void assemble_part(Factorisation<T, F> const& work,
                   Given const& given,
                   FrontPart const& part,
                   Each<TileView<T>> const& tiles) {
  auto const& plan = work.plan;
  if (part.kind != FrontPart::Kind::tiles) {
    assemble(plan, work.numbers, given, part, tiles[0]);
    return;
  }
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    auto const row = plan.fronts[at(part.front)].first_tile(part.number) + i;
    linalg::kernels::scale(T(0), tiles[i]);
    assemble_tile(plan, given, part.front, row, part.number, tiles[i]);
  }
}

/// Written when a unit is done: what it contributes is in memory of its own.
using Token = std::uint64_t;

/// Factors the fronts of a unit, given what other units contribute to them.
template <class T, Form F>
struct FactorUnit : Task<5>::Signature<V<Factorisation<T, F> const*>,
                                       V<Index>,
                                       R<Each<Token>>,
                                       R<Each<TileView<T>>>,
                                       W<Token>> {
  static constexpr std::string_view name = "subtree";
};

/// Fills a part of a front, given what units and tiled fronts contribute.
template <class T, Form F>
struct Assemble : Task<5>::Signature<V<Factorisation<T, F> const*>,
                                     V<FrontPart>,
                                     R<Each<Token>>,
                                     R<Each<TileView<T>>>,
                                     W<Each<TileView<T>>>> {
  static constexpr std::string_view name = "assemble";
};

/// Factors panel k of a front.
template <class T, Form F>
struct FactorPanel
    : Task<4>::Signature<V<Factorisation<T, F> const*>, V<Index>, V<std::size_t>, RW<TileView<T>>> {
  static constexpr std::string_view name = "front_panel";
};

/// Applies panels, of which the first has its pivots from that row on, to columns on their right.
/// The pointer is to the front's pivots in host memory: a body on a GPU must know them before it
/// launches.
template <class T>
struct Eliminate
    : Task<4>::
          Signature<V<std::size_t>, V<std::size_t const*>, R<Each<TileView<T>>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "front_columns";
};

/// Solves for rows of L with all panels of a front.
template <class T>
struct SolveRows : Task<2>::Signature<R<Each<TileView<T>>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "front_rows";
};

} // namespace sparse::detail

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::FactorUnit<T, F>> {
  void operator()(sparse::detail::Factorisation<T, F> const* work,
                  sparse::detail::Index unit,
                  Each<sparse::detail::Token const> /*units*/,
                  Each<TileView<T const>> /*fronts*/,
                  sparse::detail::Token& done) const {
    namespace detail = sparse::detail;
    auto const& which = work->units.units[detail::at(unit)];
    detail::factor_unit(work->plan,
                        work->units,
                        work->numbers,
                        detail::OwnContributions(work->plan, work->numbers),
                        which);
    for (auto const c : work->plan.children[detail::at(which.begin)]) {
      if (work->units.leaves(work->plan, c)) {
        work->numbers.release(c);
      }
    }
    done = 1;
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::Assemble<T, F>> {
  void operator()(sparse::detail::Factorisation<T, F> const* work,
                  sparse::detail::FrontPart const& part,
                  Each<sparse::detail::Token const> /*units*/,
                  Each<TileView<T const>> /*fronts*/,
                  Each<TileView<T>> tiles) const {
    namespace detail = sparse::detail;
    detail::assemble_part(*work, detail::OwnContributions(work->plan, work->numbers), part, tiles);
    for (auto const c : work->plan.children[detail::at(part.front)]) {
      work->numbers.release(c);
    }
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::FactorPanel<T, F>> {
  void operator()(sparse::detail::Factorisation<T, F> const* work,
                  sparse::detail::Index s,
                  std::size_t k,
                  TileView<T> panel) const {
    factor_panel(work->plan, work->numbers, s, k, panel); // that of the form
  }
};

template <class T>
struct TaskBodyCPU<sparse::detail::Eliminate<T>> {
  void operator()(std::size_t first,
                  std::size_t const* pivots,
                  Each<TileView<T const>> panels,
                  TileView<T> columns) const {
    for (std::size_t k = 0; k < panels.size(); ++k) {
      sparse::detail::eliminate<T>(panels[k], first, pivots, columns);
      first += panels[k].cols();
    }
  }
};

template <std::floating_point T>
struct TaskBodyGPU<sparse::detail::Eliminate<T>> {
  void operator()(GpuStream& stream,
                  std::size_t first,
                  std::size_t const* pivots,
                  Each<TileView<T const>> panels,
                  TileView<T> columns) const {
    for (std::size_t k = 0; k < panels.size(); ++k) {
      auto const width = panels[k].cols();
      linalg::detail::lu_update<T>(stream, first, panels[k], {pivots + first, width}, columns);
      first += width;
    }
  }
};

template <class T>
struct TaskBodyCPU<sparse::detail::SolveRows<T>> {
  void operator()(Each<TileView<T const>> panels, TileView<T> rows) const {
    std::size_t first = 0;
    for (std::size_t k = 0; k < panels.size(); ++k) {
      sparse::detail::solve_rows<T>(panels[k], first, rows);
      first += panels[k].cols();
    }
  }
};

template <std::floating_point T>
struct TaskBodyGPU<sparse::detail::SolveRows<T>> {
  void operator()(GpuStream& stream, Each<TileView<T const>> panels, TileView<T> rows) const {
    using linalg::kernels::block;
    std::size_t first = 0;
    for (std::size_t k = 0; k < panels.size(); ++k) {
      auto const panel = panels[k];
      auto const width = panel.cols();
      auto const own = block(rows, 0, first, rows.rows(), width);
      gpu::gemm(stream,
                'N',
                'N',
                T(-1),
                block(rows, 0, 0, rows.rows(), first),
                block(panel, 0, 0, first, width),
                T(1),
                own);
      gpu::trsm(stream, 'R', 'U', 'N', 'N', T(1), block(panel, first, 0, width, width), own);
      first += width;
    }
  }
};

} // namespace hetsched
