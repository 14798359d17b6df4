// SPDX-License-Identifier: MIT
#pragma once
// Solving with factors that are on several ranks.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/front_sweeps.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/units.hpp>
#include <hetsched/linalg/kernels.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace hetsched::sparse::detail {

/// What a rank's tasks of one solve share. The data are tiles of as many columns as there are
/// right-hand sides. Of a unit, `own` are the rows of the columns that it eliminates. If it is one
/// front, it has `below`, too, a tile for each of the front's blocks below, for what it adds to
/// these rows, then for their solution; subtrees have what they add to their parent's rows, all of
/// them.
///
/// A task reads the factors where they are at home, so it runs there.
template <class T, Form F>
class RankSweeps {
public:
  using Block = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Tile = TileView<T>;
  using Given = Each<TileView<T const>>;

  /// As Sweeps. All ranks have all right-hand sides, and in the end all solutions.
  RankSweeps(
      Fronts const& plan, Units const& units, Numbers<T, F>& numbers, Block& x, bool transposed)
      : plan_(plan), units_(units), fronts_(numbers, transposed), x_(x) {}

  [[nodiscard]] bool is_front(std::size_t u) const noexcept {
    return units_.units[u].end == units_.units[u].begin + 1;
  }

  /// Of a unit that is one front.
  [[nodiscard]] Front const& front(std::size_t u) const noexcept {
    return plan_.fronts[at(units_.units[u].begin)];
  }

  /// The place of a unit's own rows in `x`.
  [[nodiscard]] Tile own(std::size_t u) const {
    auto const& unit = units_.units[u];
    auto const first = plan_.nodes.first[at(unit.begin)];
    auto const rows = plan_.nodes.first[at(unit.end)] - first;
    return {x_.data() + first, at(rows), columns(), at(static_cast<Index>(x_.rows()))};
  }

  [[nodiscard]] std::size_t columns() const noexcept { return std::size_t(x_.cols()); }

  /// Calls visit(v, i) for each tile `below` of units v that adds to these rows of unit u's front.
  /// Of a subtree, i is 0.
  template <class Visit>
  void for_each_given(std::size_t u, Range rows, Visit const& visit) const {
    for (auto const v : units_.children[u]) {
      if (!is_front(at(v))) {
        visit(at(v), std::size_t{0});
        continue;
      }
      for (std::size_t i = 0; i < front(at(v)).blocks_below(); ++i) {
        auto const found = within(places(at(v), i), rows);
        if (found.begin < found.end) {
          visit(at(v), i);
        }
      }
    }
  }

  // ---- tasks on the way up ----

  /// Adds to `target`, these rows of unit u's front, what children have, of `listed` rows.
  void
  add_given(std::size_t u, Range listed, Given const& given, Range rows, Tile const& target) const {
    std::size_t next = 0;
    for_each_given(u, listed, [&](std::size_t v, std::size_t i) {
      auto const from = given[next++];
      if (!is_front(v)) {
        for (std::size_t j = 0; j < target.cols(); ++j) {
          for (auto r = rows.begin; r < rows.end; ++r) {
            target(r - rows.begin, j) += from(r, j);
          }
        }
        return;
      }
      auto const to = places(v, i);
      auto const found = within(to, rows);
      for (std::size_t j = 0; j < target.cols(); ++j) {
        for (auto r = found.begin; r < found.end; ++r) {
          target(at(to[r]) - rows.begin, j) += from(r, j);
        }
      }
    });
  }

  /// A unit that is one task; `to`: `below`, or what a subtree adds.
  void up(std::size_t u, Given const& given, Tile const& own, Each<TileView<T>> const& to) const {
    for (auto const tile : to) {
      linalg::kernels::scale(T(0), tile);
    }
    if (!is_front(u)) {
      up_subtree(u, own, to);
      return;
    }
    auto const& one = front(u);
    Range const all{0, one.size()};
    add_given(u, all, given, {0, one.w}, own);
    for (std::size_t k = 0; k < one.panels.count; ++k) {
      fronts_.up_panel(one, k, own);
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
      add_given(u, all, given, range_below(one, i), to[i]);
      fronts_.up_block(one, i, own, to[i]);
    }
  }

  // ---- tasks on the way down ----

  /// The solution of rows below block i of unit u, which is one front: `above` are its parent's
  /// own rows and those below.
  void take_above(std::size_t u, std::size_t i, Given const& above, Tile const& below) const {
    Above const values(*this, u, above);
    auto const from = places(u, i);
    for (std::size_t r = 0; r < from.size(); ++r) {
      values.copy(at(from[r]), r, below);
    }
  }

  /// A unit that is one task; `below`: of one front.
  void
  down(std::size_t u, Given const& above, Tile const& own, Each<TileView<T>> const& below) const {
    if (!is_front(u)) {
      down_subtree(u, above, own);
      return;
    }
    auto const& one = front(u);
    for (std::size_t i = 0; i < one.blocks_below(); ++i) {
      take_above(u, i, above, below[i]);
      fronts_.down_block(one, i, below[i], own);
    }
    for (auto k = one.panels.count; k-- > 0;) {
      fronts_.down_panel(one, k, own);
    }
  }

  /// Of tiled fronts.
  [[nodiscard]] FrontSweeps<T, F> const& fronts() const noexcept { return fronts_; }

  /// The solutions of all units' own rows come into `x`.
  void take(Given const& solutions) const {
    for (std::size_t u = 0; u < solutions.size(); ++u) {
      auto const to = own(u);
      auto const from = solutions[u];
      if (from.data() != to.data()) {
        linalg::kernels::as_eigen(to) = linalg::kernels::as_eigen(from);
      }
    }
  }

private:
  /// The rows of a parent's front, in tiles.
  class Above {
  public:
    Above(RankSweeps const& sweeps, std::size_t u, Given const& tiles)
        : tiles_(tiles), front_(sweeps.plan_.fronts[at(sweeps.units_.units[u].parent)]) {}

    /// Row `place` becomes row `row` of `to`.
    void copy(std::size_t place, std::size_t row, Tile const& to) const {
      std::size_t tile = 0;
      auto from = place;
      if (place >= front_.w) {
        auto const& blocks = front_.blocks;
        from -= front_.w;
        auto block = from * blocks.count / blocks.length; // or next to it
        while (blocks.begin(block) > from) {
          --block;
        }
        while (blocks.begin(block + 1) <= from) {
          ++block;
        }
        from -= blocks.begin(block);
        tile = block + 1;
      }
      auto const values = tiles_[tile];
      for (std::size_t j = 0; j < to.cols(); ++j) {
        to(row, j) = values(from, j);
      }
    }

  private:
    Given const& tiles_;
    Front const& front_;
  };

  /// Of rows in block i of a unit that is one front: in its parent's front.
  [[nodiscard]] std::span<Index const> places(std::size_t u, std::size_t i) const {
    auto const& blocks = front(u).blocks;
    return plan_.places_of(units_.units[u].begin).subspan(blocks.begin(i), blocks.size(i));
  }

  /// Visits each front of a subtree with its own rows among the subtree's, and room for those
  /// below.
  template <class Visit>
  void on_front(Index s, Index first, Tile const& own, std::vector<T>& space, Visit visit) const {
    auto const& one = plan_.fronts[at(s)];
    space.assign(one.m * own.cols(), T(0));
    visit(one,
          linalg::kernels::block(own, at(one.first - first), 0, one.w, own.cols()),
          Tile(space.data(), one.m, own.cols(), std::max<std::size_t>(one.m, 1)));
  }

  void up_subtree(std::size_t u, Tile const& own, Each<TileView<T>> const& to) const {
    auto const& unit = units_.units[u];
    auto const first = plan_.nodes.first[at(unit.begin)];
    auto const end = plan_.nodes.first[at(unit.end)];
    ParentPlaces const parent(plan_, unit.parent, end);
    std::vector<T> space;
    for (auto s = unit.begin; s < unit.end; ++s) {
      on_front(s, first, own, space, [&](Front const& one, Tile const& mine, Tile const& below) {
        fronts_.up(one, mine, below);
        auto const rows = plan_.below(s);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          bool const inside = rows[r] < end;
          auto const target = inside ? own : to[0];
          auto const row = inside ? at(rows[r] - first) : parent[rows[r]];
          for (std::size_t j = 0; j < own.cols(); ++j) {
            target(row, j) += below(r, j);
          }
        }
      });
    }
  }

  void down_subtree(std::size_t u, Given const& above, Tile const& own) const {
    auto const& unit = units_.units[u];
    auto const first = plan_.nodes.first[at(unit.begin)];
    auto const end = plan_.nodes.first[at(unit.end)];
    ParentPlaces const parent(plan_, unit.parent, end);
    std::vector<T> space;
    for (auto s = unit.end; s-- > unit.begin;) {
      on_front(s, first, own, space, [&](Front const& one, Tile const& mine, Tile const& below) {
        auto const rows = plan_.below(s);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          if (rows[r] >= end) {
            Above(*this, u, above).copy(parent[rows[r]], r, below);
            continue;
          }
          for (std::size_t j = 0; j < own.cols(); ++j) {
            below(r, j) = own(at(rows[r] - first), j);
          }
        }
        fronts_.down(one, mine, below);
      });
    }
  }

  Fronts const& plan_;
  Units const& units_;
  FrontSweeps<T, F> fronts_;
  Block& x_;
};

} // namespace hetsched::sparse::detail
