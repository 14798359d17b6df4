// SPDX-License-Identifier: MIT
#pragma once
// The parts that a tiled front is cut into, and what contributes to them.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// Calls tile(i, j) for the tiles of front c's contribution that meet a region of its parent.
template <class Visit>
void for_each_meeting(Fronts const& plan, Index c, Region const& region, Visit const& tile) {
  auto const& child = plan.fronts[at(c)];
  auto const places = plan.places_of(c);
  auto const meets = [&](std::size_t b, Range range) {
    auto const part = places.subspan(child.blocks.begin(b), child.blocks.size(b));
    auto const found = within(part, range);
    return found.begin < found.end;
  };
  for (std::size_t j = 0; j < child.blocks_below(); ++j) {
    if (!meets(j, region.columns)) {
      continue;
    }
    for (auto i = child.first_tile(j); i < child.blocks_below(); ++i) {
      if (meets(i, region.rows)) {
        tile(i, j);
      }
    }
  }
}

/// Calls tile(c, i, j) for those of all children of front s.
template <class Visit>
void for_each_given(Fronts const& plan, Index s, Region const& region, Visit const& tile) {
  for (auto const c : plan.children[at(s)]) {
    for_each_meeting(plan, c, region, [&](std::size_t i, std::size_t j) { tile(c, i, j); });
  }
}

/// Visits what contributes to a region of front s: unit(u) for each unit that is one task, and
/// tile(c, i, j) for tile (i, j) of each tiled child c.
template <class VisitUnit, class VisitTile>
void for_each_source(Fronts const& plan,
                     Units const& units,
                     Index s,
                     Region const& region,
                     VisitUnit const& unit,
                     VisitTile const& tile) {
  auto last = no_index;
  for (auto const c : plan.children[at(s)]) {
    auto const u = units.unit_of[at(c)];
    if (!units.units[at(u)].tiled) {
      if (std::exchange(last, u) != u) {
        unit(u);
      }
      continue;
    }
    for_each_meeting(plan, c, region, [&](std::size_t i, std::size_t j) { tile(c, i, j); });
  }
}

/// What the children of a front contribute, where it comes from several processes: the tiles that
/// for_each_given visits, in that order.
template <class T>
class GivenContributions {
public:
  GivenContributions(Fronts const& plan,
                     Index s,
                     Region const& region,
                     Each<TileView<T const>> const& tiles) {
    tiles_.reserve(tiles.size());
    for_each_given(plan, s, region, [&](Index c, std::size_t i, std::size_t j) {
      tiles_.push_back({{c, j, i}, tiles[tiles_.size()]});
    });
  }

  [[nodiscard]] TileView<T const> operator()(Index c, std::size_t i, std::size_t j) const {
    auto const less = [](Tile const& tile, Key const& key) { return tile.first < key; };
    return std::lower_bound(tiles_.begin(), tiles_.end(), Key(c, j, i), less)->second;
  }

private:
  using Key = std::tuple<Index, std::size_t, std::size_t>;
  using Tile = std::pair<Key, TileView<T const>>;

  std::vector<Tile> tiles_;
};

} // namespace hetsched::sparse::detail
