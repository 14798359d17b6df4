// SPDX-License-Identifier: MIT
#pragma once
// Which ranks the parts of a multifrontal factorisation are on.

#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::sparse::detail {

/// The homes of the parts. A subtree is shared by ranks in proportion to its flops: the ranks of a
/// front are an interval, which its children divide. A unit that is one task is on the rank in the
/// middle of its interval; the parts of a tiled front are dealt to all ranks of it, the tiles of
/// F22 as on a grid.
///
/// Source: Pothen and Sun, "A mapping algorithm for parallel sparse Cholesky factorization", 1993
/// (proportional mapping).
class RankLayout {
public:
  RankLayout(Fronts const& plan, Units const& units, std::int32_t ranks)
      : plan_(plan), units_(units), shares_(plan.fronts.size()), homes_(units.units.size()),
        ranks_(ranks) {
    std::vector<double> below(plan.fronts.size()); // flops of each subtree
    std::vector<Index> roots;
    for (Index s = 0; s < plan.count(); ++s) {
      below[at(s)] += plan.fronts[at(s)].flops();
      if (auto const parent = plan.fronts[at(s)].parent; parent == no_index) {
        roots.push_back(s);
      } else {
        below[at(parent)] += below[at(s)];
      }
    }
    divide({0, static_cast<double>(ranks)}, roots, below);
    for (auto s = plan.count(); s-- > 0;) {
      divide(shares_[at(s)], plan.children[at(s)], below);
    }
    for (std::size_t u = 0; u < homes_.size(); ++u) {
      auto const& unit = units.units[u];
      auto const middle = (shares_[at(unit.begin)].begin + shares_[at(unit.end - 1)].end) / 2;
      homes_[u] = std::clamp(static_cast<std::int32_t>(middle), 0, ranks - 1);
    }
  }

  /// A unit's that is one task, and of a tiled front's right-hand sides.
  [[nodiscard]] std::int32_t unit(std::size_t u) const noexcept { return homes_[u]; }

  [[nodiscard]] std::int32_t panel(Index s, std::size_t k) const noexcept {
    auto const group = ranks_of(s);
    return group.first + static_cast<std::int32_t>(k) % group.count;
  }

  /// Of rows and of columns below: rows in the order of tile column 0, 1, ... of the grid, columns
  /// in that of rows.
  [[nodiscard]] std::int32_t lower(Index s, std::size_t i) const noexcept {
    return tile(s, i, i / static_cast<std::size_t>(ranks_of(s).rows));
  }

  [[nodiscard]] std::int32_t upper(Index s, std::size_t j) const noexcept {
    auto const group = ranks_of(s);
    return tile(s, j / static_cast<std::size_t>(group.count / group.rows), j);
  }

  /// Of F22: of a unit that is one task, where that is.
  [[nodiscard]] std::int32_t tile(Index s, std::size_t i, std::size_t j) const noexcept {
    auto const u = at(units_.unit_of[at(s)]);
    if (!units_.units[u].tiled) {
      return homes_[u];
    }
    auto const group = ranks_of(s);
    auto const columns = group.count / group.rows;
    return group.first + static_cast<std::int32_t>(i) % group.rows * columns +
           static_cast<std::int32_t>(j) % columns;
  }

  /// Calls visit(begin, size) for each part of the factors that is at home on a rank: numbers among
  /// all factors.
  template <class Visit>
  void for_each_part(std::int32_t rank, Visit const& visit) const {
    for (std::size_t u = 0; u < homes_.size(); ++u) {
      auto const& unit = units_.units[u];
      auto const& front = plan_.fronts[at(unit.begin)];
      if (!unit.tiled) {
        auto const& last = plan_.fronts[at(unit.end - 1)];
        if (homes_[u] == rank) {
          visit(front.factors, last.factors + last.end() - front.factors);
        }
        continue;
      }
      for (std::size_t k = 0; k < front.panels.count; ++k) {
        if (panel(unit.begin, k) == rank) {
          visit(front.factors + front.panel(k), front.w * front.panels.size(k));
        }
      }
      for (std::size_t i = 0; i < front.blocks_below(); ++i) {
        auto const size = front.w * front.blocks.size(i);
        if (lower(unit.begin, i) == rank) {
          visit(front.factors + front.lower(i), size);
        }
        if (!front.symmetric && upper(unit.begin, i) == rank) {
          visit(front.factors + front.upper(i), size);
        }
      }
    }
  }

private:
  /// Of the line from 0 to the number of ranks.
  struct Share {
    double begin = 0;
    double end = 0;
  };

  struct Group {
    std::int32_t first;
    std::int32_t count;
    std::int32_t rows; // of its grid
  };

  void
  divide(Share const& share, std::vector<Index> const& subtrees, std::vector<double> const& below) {
    double sum = 0;
    for (auto const c : subtrees) {
      sum += below[at(c)];
    }
    auto begin = share.begin;
    for (auto const c : subtrees) {
      auto const size = (share.end - share.begin) * (sum > 0 ? below[at(c)] / sum : 0);
      shares_[at(c)] = {begin, std::min(begin + size, share.end)};
      begin += size;
    }
  }

  [[nodiscard]] Group ranks_of(Index s) const noexcept {
    auto const& share = shares_[at(s)];
    constexpr double little = 0.01; // of a rank
    auto const first = std::min(static_cast<std::int32_t>(share.begin + little), ranks_ - 1);
    auto const end = std::max(static_cast<std::int32_t>(std::ceil(share.end - little)), first + 1);
    Group group{first, end - first, 1};
    for (std::int32_t rows = 2; rows * rows <= group.count; ++rows) {
      if (group.count % rows == 0) {
        group.rows = rows;
      }
    }
    return group;
  }

  Fronts const& plan_;
  Units const& units_;
  std::vector<Share> shares_; // of each front
  std::vector<std::int32_t> homes_;
  std::int32_t ranks_;
};

} // namespace hetsched::sparse::detail
