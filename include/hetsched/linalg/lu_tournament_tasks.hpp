// SPDX-License-Identifier: MIT
#pragma once
// The tasks of LU with tournament pivoting that are not those of other factorisations.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/linalg/lu_tournament_kernels.hpp>
#include <hetsched/linalg/tournament_pivots.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched {

namespace linalg {

/// Candidates := the rows of some tiles of a panel that win, given the numbers of the first tile's
/// first row and of the next one's.
template <class T>
struct SelectRows : Task<5>::Signature<V<std::size_t>,
                                       V<std::size_t>,
                                       W<TileView<T>>,
                                       W<RowIndices>,
                                       R<Each<TileView<T>>>> {
  static constexpr std::string_view name = "select";
};

/// The second candidates := the rows of both that win.
template <class T>
struct MergeRows
    : Task<4>::Signature<R<TileView<T>>, R<RowIndices>, RW<TileView<T>>, RW<RowIndices>> {
  static constexpr std::string_view name = "merge";
};

/// The permutation of a panel, given its first row, from the rows that have won.
struct PermuteWinners : Task<3>::Signature<V<std::size_t>, R<RowIndices>, W<RowIndices>> {
  static constexpr std::string_view name = "permute";
};

/// A column of tiles, panel k in it, and the tiles' size.
struct ExchangePlace {
  detail::ColumnHomes const* column;
  std::size_t k;
  std::size_t tile;
};

/// Exchanges rows of the tiles from k on, of one column, that are where tile k is: given the
/// panel's permutation and, of every other rank that has such tiles, the winners there.
template <class T>
struct ExchangeRows
    : Task<4>::
          Signature<V<ExchangePlace>, R<RowIndices>, R<Each<TileView<T>>>, RW<Each<TileView<T>>>> {
  static constexpr std::string_view name = "exchange";
};

/// The same on another rank, of the group of tiles given: sets winners aside, in the order of the
/// pivots, and puts rows of tile k in their places.
template <class T>
struct GiveRows : Task<6>::Signature<V<ExchangePlace>,
                                     V<std::size_t>,
                                     R<RowIndices>,
                                     R<TileView<T>>,
                                     W<TileView<T>>,
                                     RW<Each<TileView<T>>>> {
  static constexpr std::string_view name = "give";
};

/// A(k, k) := its factors L and U, its rows being in order; given k and the first row of the tile,
/// for messages.
template <class T>
struct GetrfOrdered : Task<3>::Signature<RW<TileView<T>>, V<std::size_t>, V<std::size_t>> {
  static constexpr std::string_view name = "getrf";
};

/// All pivots := those of the panels, given how many columns all panels but the last have.
struct CollectPivots : Task<3>::Signature<V<std::size_t>, W<RowIndices>, R<Each<RowIndices>>> {
  static constexpr std::string_view name = "collect";
};

namespace detail {

[[noreturn]] inline void
report_tournament(kernels::Breakdown where, std::size_t tile, std::size_t first) {
  auto message = where.what("singular");
  auto const k = std::to_string(tile);
  message += " at column " + std::to_string(first + where.column) + " (tile " + k + ", " + k + ")";
  throw Error(ErrorCode::numerical, "lu_tournament", message);
}

/// Rows of a group of tiles of one column, from tile row k on.
template <class T>
class GroupRows {
public:
  GroupRows(ExchangePlace const& place, std::size_t group, Each<TileView<T>> tiles)
      : place_(place), group_(group), above_(place.column->groups[group].above(place.k)) {
    for (auto const& tile : tiles) {
      tiles_.push_back(tile);
    }
  }

  [[nodiscard]] bool has(std::size_t row) const noexcept { return member(row).group == group_; }

  [[nodiscard]] T* first(std::size_t row) const { return &tile(row)(row % place_.tile, 0); }

  [[nodiscard]] std::size_t ld(std::size_t row) const { return tile(row).ld(); }

private:
  [[nodiscard]] ColumnHomes::Member const& member(std::size_t row) const noexcept {
    return place_.column->members[row / place_.tile];
  }

  [[nodiscard]] TileView<T> const& tile(std::size_t row) const {
    return tiles_[member(row).place - above_];
  }

  ExchangePlace place_;
  std::size_t group_;
  std::size_t above_;
  std::vector<TileView<T>> tiles_;
};

} // namespace detail
} // namespace linalg

template <class T>
struct TaskBodyCPU<linalg::SelectRows<T>> {
  void operator()(std::size_t first,
                  std::size_t next,
                  TileView<T> values,
                  linalg::RowIndices rows,
                  Each<TileView<T const>> tiles) const {
    std::size_t height = 0;
    for (auto const& tile : tiles) {
      height += tile.rows();
    }
    linalg::kernels::RowStack<T> stack(height, tiles[0].cols());
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      stack.add(tiles[i], first + i * (next - first));
    }
    stack.choose({values, rows});
  }
};

template <class T>
struct TaskBodyCPU<linalg::MergeRows<T>> {
  void operator()(TileView<T const> other_values,
                  VectorView<std::size_t const> other_rows,
                  TileView<T> values,
                  linalg::RowIndices rows) const {
    linalg::kernels::Candidates<T> const own{values, rows};
    auto const count = linalg::kernels::count_rows(rows);
    auto const others = linalg::kernels::count_rows(other_rows);
    linalg::kernels::RowStack<T> stack(count + others, values.cols());
    stack.add(values, rows, count);
    stack.add(other_values, other_rows, others);
    stack.choose(own);
  }
};

template <>
struct TaskBodyCPU<linalg::PermuteWinners> {
  void operator()(std::size_t first,
                  VectorView<std::size_t const> winners,
                  linalg::RowIndices permutation) const {
    linalg::kernels::PanelPermutation<std::size_t>(first, permutation).make(winners);
  }
};

template <class T>
struct TaskBodyCPU<linalg::ExchangeRows<T>> {
  void operator()(linalg::ExchangePlace const& place,
                  VectorView<std::size_t const> numbers,
                  Each<TileView<T const>> given,
                  Each<TileView<T>> tiles) const {
    auto const first = place.k * place.tile;
    auto const& groups = place.column->groups;
    auto const own = place.column->members[place.k].group;
    linalg::detail::GroupRows<T> const here(place, own, tiles);
    std::vector<std::size_t> at(groups.size()); // in the list of what others give
    for (std::size_t g = 0, next = 0; g < groups.size(); ++g) {
      if (g != own && groups[g].reaches(place.k)) {
        at[g] = next++;
      }
    }
    linalg::kernels::PanelPermutation<std::size_t const> const panel(first, numbers);
    std::vector<linalg::kernels::RowMove<T>> moves;
    for (std::size_t t = 0; t < panel.size(); ++t) {
      auto const from = panel.winner(t);
      auto const to = panel.place(t);
      if (here.has(from) && from != first + t) {
        moves.push_back(
            {here.first(from), here.ld(from), here.first(first + t), here.ld(first + t)});
      } else if (!here.has(from)) {
        auto const buffer = given[at[place.column->members[from / place.tile].group]];
        moves.push_back({&buffer(t, 0), buffer.ld(), here.first(first + t), here.ld(first + t)});
      }
      if (!panel.is_on_top(to) && here.has(to)) {
        moves.push_back({here.first(first + t), here.ld(first + t), here.first(to), here.ld(to)});
      }
    }
    linalg::kernels::move_rows<T>(moves, tiles[0].cols());
  }
};

template <class T>
struct TaskBodyCPU<linalg::GiveRows<T>> {
  void operator()(linalg::ExchangePlace const& place,
                  std::size_t group,
                  VectorView<std::size_t const> numbers,
                  TileView<T const> top,
                  TileView<T> winners,
                  Each<TileView<T>> tiles) const {
    auto const first = place.k * place.tile;
    linalg::detail::GroupRows<T> const here(place, group, tiles);
    linalg::kernels::PanelPermutation<std::size_t const> const panel(first, numbers);
    std::vector<linalg::kernels::RowMove<T>> moves;
    for (std::size_t t = 0; t < panel.size(); ++t) {
      auto const from = panel.winner(t);
      auto const to = panel.place(t);
      if (here.has(from)) {
        moves.push_back({here.first(from), here.ld(from), &winners(t, 0), winners.ld()});
      }
      if (here.has(to)) {
        moves.push_back({&top(t, 0), top.ld(), here.first(to), here.ld(to)});
      }
    }
    linalg::kernels::move_rows<T>(moves, top.cols());
  }
};

template <class T>
struct TaskBodyCPU<linalg::GetrfOrdered<T>> {
  void operator()(TileView<T> a, std::size_t tile, std::size_t first) const {
    if (auto const where = linalg::kernels::getrf_without_pivoting(a)) {
      linalg::detail::report_tournament(*where, tile, first);
    }
  }
};

template <>
struct TaskBodyCPU<linalg::CollectPivots> {
  void operator()(std::size_t tile,
                  linalg::RowIndices all,
                  Each<VectorView<std::size_t const>> permutations) const {
    for (std::size_t k = 0; k < permutations.size(); ++k) {
      linalg::kernels::PanelPermutation<std::size_t const> const panel(k * tile, permutations[k]);
      for (std::size_t t = 0; t < panel.size(); ++t) {
        all[k * tile + t] = panel.pivot(t);
      }
    }
  }
};

} // namespace hetsched
