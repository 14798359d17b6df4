// SPDX-License-Identifier: MIT
#pragma once
// What is done to a front, part by part.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hetsched::sparse::detail {

/// From `begin` to `end`.
struct Range {
  std::size_t begin;
  std::size_t end;
};

/// Rows and columns of a front, by their places in it.
struct Region {
  Range rows;
  Range columns;
};

/// The rows and columns of a front that are in a block below.
[[nodiscard]] inline Range range_below(Front const& front, std::size_t i) {
  return {front.w + front.blocks.begin(i), front.w + front.blocks.begin(i + 1)};
}

/// A part of a tiled front.
struct FrontPart {
  enum class Kind : std::uint8_t { panel, upper, lower, tiles };

  Index front = 0;
  Kind kind = Kind::panel;
  std::uint32_t number = 0; // of the panel, block, or column of tiles: all, or from the diagonal on

  FrontPart(Index s, Kind what, std::size_t which)
      : front(s), kind(what), number(static_cast<std::uint32_t>(which)) {}
};

/// The rows and columns of a part of `front`.
[[nodiscard]] inline Region region_of(Front const& front, FrontPart const& part) {
  Range const own{0, front.w};
  auto const k = part.number;
  switch (part.kind) {
  case FrontPart::Kind::panel:
    return {own, {front.panels.begin(k), front.panels.begin(k + 1)}};
  case FrontPart::Kind::upper:
    return {own, range_below(front, k)};
  case FrontPart::Kind::lower:
    return {range_below(front, k), own};
  case FrontPart::Kind::tiles:
    break;
  }
  return {{range_below(front, front.first_tile(k)).begin, front.size()}, range_below(front, k)};
}

/// Which of `places`, ascending, are in a range.
[[nodiscard]] inline Range within(std::span<Index const> places, Range range) {
  auto const first = [&](std::size_t value) {
    return static_cast<std::size_t>(
        std::lower_bound(places.begin(), places.end(), static_cast<Index>(value)) - places.begin());
  };
  return {first(range.begin), first(range.end)};
}

/// What the children of fronts contribute, where one process has all of it: tile (i, j) of the F22
/// of front c.
template <class T, Form F>
class OwnContributions {
public:
  OwnContributions(Fronts const& plan, Numbers<T, F> const& numbers)
      : plan_(plan), numbers_(numbers) {}

  [[nodiscard]] TileView<T const> operator()(Index c, std::size_t i, std::size_t j) const {
    return f22_tile<T const>(plan_.fronts[at(c)], numbers_.contributions[at(c)].data, i, j);
  }

private:
  Fronts const& plan_;
  Numbers<T, F> const& numbers_;
};

/// Adds what child c contributes to a region of its parent's front, which is at `target`; given(c,
/// i, j) is what the child has. Of a symmetric front, what is on and below the diagonal.
template <class T, class Given>
void add_contribution(
    Fronts const& plan, Index c, Given const& given, Region const& region, TileView<T> target) {
  auto const& child = plan.fronts[at(c)];
  auto const places = plan.places_of(c);
  auto const rows = within(places, region.rows);
  auto const columns = within(places, region.columns);
  if (rows.begin == rows.end || columns.begin == columns.end) {
    return;
  }
  for (std::size_t bj = 0; bj < child.blocks.count; ++bj) {
    auto const first = child.blocks.begin(bj);
    auto const from = std::max(columns.begin, first);
    auto const to = std::min(columns.end, child.blocks.begin(bj + 1));
    for (std::size_t bi = 0; from < to && bi < child.blocks.count; ++bi) {
      auto const above = child.blocks.begin(bi);
      auto const last = std::min(rows.end, child.blocks.begin(bi + 1));
      if (std::max({rows.begin, above, child.symmetric ? from : std::size_t{0}}) >= last) {
        continue;
      }
      TileView<T const> const tile = given(c, bi, bj);
      for (auto j = from; j < to; ++j) {
        auto const top = std::max({rows.begin, above, child.symmetric ? j : std::size_t{0}});
        T const* const source = tile.data() + (j - first) * tile.ld();
        T* const column = target.data() + (at(places[j]) - region.columns.begin) * target.ld();
        for (auto i = top; i < last; ++i) {
          column[at(places[i]) - region.rows.begin] += source[i - above];
        }
      }
    }
  }
}

/// Adds what all children of front s contribute.
template <class T, class Given>
void add_contributions(
    Fronts const& plan, Given const& given, Index s, Region const& region, TileView<T> target) {
  for (auto const c : plan.children[at(s)]) {
    add_contribution(plan, c, given, region, target);
  }
}

/// Fills a part of F11, F12 or F21, which is contiguous at `target`, with the matrix's entries and
/// what `given` has of the children.
template <class T, Form F, class Given>
void assemble(Fronts const& plan,
              Numbers<T, F> const& numbers,
              Given const& given,
              FrontPart const& part,
              TileView<T> target) {
  using Kind = FrontPart::Kind;
  auto const& front = plan.fronts[at(part.front)];
  auto const begin = part.kind == Kind::panel   ? front.panel(part.number)
                     : part.kind == Kind::upper ? front.upper(part.number)
                                                : front.lower(part.number);
  auto const size = target.rows() * target.cols();
  std::fill_n(target.data(), size, T(0));
  for (auto const& entry : plan.entries_of(part.front, begin, begin + size)) {
    target.data()[entry.place - begin] = numbers.values[entry.value];
  }
  add_contributions(plan, given, part.front, region_of(front, part), target);
}

/// Adds what the children contribute to tile (i, j) of F22.
template <class T, class Given>
void assemble_tile(
    Fronts const& plan, Given const& given, Index s, std::size_t i, std::size_t j, TileView<T> c) {
  auto const& front = plan.fronts[at(s)];
  add_contributions(plan, given, s, {range_below(front, i), range_below(front, j)}, c);
}

/// Throws Error(numerical): column `column` of front s has a pivot that cannot be.
[[noreturn]] inline void
refuse_pivot(Fronts const& plan, Index s, std::size_t column, double pivot, char const* who) {
  auto const place = at(plan.fronts[at(s)].first) + column;
  std::string message = std::isnan(pivot)   ? "NaN"
                        : std::isinf(pivot) ? "infinity"
                                            : hetsched::detail::text("%.3g", pivot);
  message += " as pivot of column " + std::to_string(plan.nodes.order.old_of[place]);
  throw Error(ErrorCode::numerical, who, message);
}

/// Factors panel k of front s, whose exchanges go to `chosen`.
template <class T>
void factor_panel(Fronts const& plan,
                  Numbers<T, Form::general>& numbers,
                  Index s,
                  std::size_t k,
                  TileView<T> panel,
                  VectorView<std::size_t> chosen) {
  auto const& front = plan.fronts[at(s)];
  auto const first = front.panels.begin(k);
  linalg::kernels::PivotFloor<T> small{numbers.floor, 0};
  auto const below = linalg::kernels::block(panel, first, 0, panel.rows() - first, panel.cols());
  if (auto const where = linalg::kernels::getrf(below, chosen, &small)) {
    refuse_pivot(plan, s, first + where->column, where->pivot, "SparseLU");
  }
  for (auto& pivot : chosen) {
    pivot += first;
  }
  if (small.replaced > 0) {
    numbers.replaced.fetch_add(small.replaced, std::memory_order_relaxed); // read after a sync
  }
}

/// The same, with the exchanges where this process has them.
template <class T>
void factor_panel(Fronts const& plan,
                  Numbers<T, Form::general>& numbers,
                  Index s,
                  std::size_t k,
                  TileView<T> panel) {
  factor_panel(plan, numbers, s, k, panel, numbers.pivots_of(plan.fronts[at(s)], k));
}

/// Applies a factored panel to columns on its right: exchanges rows, solves for the rows of U,
/// updates what is below.
template <class T>
void eliminate(TileView<T const> panel,
               std::size_t first,
               std::size_t const* pivots,
               TileView<T> columns) {
  linalg::detail::lu_update<T>(first, panel, {pivots + first, panel.cols()}, columns);
}

/// Solves for the columns of L in a block of rows below, those of one panel, after those on its
/// left.
template <class T>
void solve_rows(TileView<T const> panel, std::size_t first, TileView<T> rows) {
  namespace kernels = linalg::kernels;
  auto const width = panel.cols();
  auto const own = kernels::block(rows, 0, first, rows.rows(), width);
  kernels::gemm<T>(T(-1),
                   kernels::block(rows, 0, 0, rows.rows(), first),
                   kernels::block(panel, 0, 0, first, width),
                   T(1),
                   own);
  kernels::trsm_upper(kernels::block(panel, first, 0, width, width), own);
}

/// What a front contributes, from its factors and its children.
template <class T, class Given>
void contribute(Fronts const& plan,
                Numbers<T, Form::general> const& numbers,
                Given const& given,
                Index s,
                T* f22) {
  auto const& front = plan.fronts[at(s)];
  for (std::size_t j = 0; j < front.blocks.count; ++j) {
    for (std::size_t i = 0; i < front.blocks.count; ++i) {
      auto const c = f22_tile(front, f22, i, j);
      auto const product = [&](T beta) {
        linalg::kernels::gemm<T>(T(-1), numbers.lower(front, i), numbers.upper(front, j), beta, c);
      };
      if (front.tiled) { // in the order of its tasks, for the same bits
        linalg::kernels::scale(T(0), c);
        assemble_tile(plan, given, s, i, j, c);
        product(T(1));
      } else {
        product(T(0));
        assemble_tile(plan, given, s, i, j, c);
      }
    }
  }
}

/// Factors a front as one piece of work. What it contributes goes to `f22`.
template <class T, class Given>
void factor_front(
    Fronts const& plan, Numbers<T, Form::general>& numbers, Given const& given, Index s, T* f22) {
  auto const& front = plan.fronts[at(s)];
  auto const panels = front.panels.count;
  auto const blocks = front.blocks_below();
  auto const* const pivots = numbers.pivots.data() + front.first;
  for (std::size_t k = 0; k < panels; ++k) {
    assemble(plan, numbers, given, {s, FrontPart::Kind::panel, k}, numbers.panel(front, k));
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    assemble(plan, numbers, given, {s, FrontPart::Kind::upper, i}, numbers.upper(front, i));
    assemble(plan, numbers, given, {s, FrontPart::Kind::lower, i}, numbers.lower(front, i));
  }
  for (std::size_t k = 0; k < panels; ++k) {
    auto const first = front.panels.begin(k);
    auto const panel = numbers.panel(front, k);
    factor_panel(plan, numbers, s, k, panel);
    for (auto j = k + 1; j < panels; ++j) {
      eliminate<T>(panel, first, pivots, numbers.panel(front, j));
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      eliminate<T>(panel, first, pivots, numbers.upper(front, i));
      solve_rows<T>(panel, first, numbers.lower(front, i));
    }
  }
  if (blocks > 0) {
    contribute(plan, numbers, given, s, f22);
  }
}

} // namespace hetsched::sparse::detail
