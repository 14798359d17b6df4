// SPDX-License-Identifier: MIT
#pragma once
// The parts that a tiled front is cut into, and what contributes to them.

#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hetsched::sparse::detail {

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
  auto const below = [&](std::size_t i) {
    return Range{front.w + front.blocks.begin(i), front.w + front.blocks.begin(i + 1)};
  };
  Range const own{0, front.w};
  auto const k = part.number;
  switch (part.kind) {
  case FrontPart::Kind::panel:
    return {own, {front.panels.begin(k), front.panels.begin(k + 1)}};
  case FrontPart::Kind::upper:
    return {own, below(k)};
  case FrontPart::Kind::lower:
    return {below(k), own};
  case FrontPart::Kind::tiles:
    break;
  }
  return {{below(front.first_tile(k)).begin, front.size()}, below(k)};
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
  auto const meets = [](std::span<Index const> places, Range range) {
    auto const found = within(places, range);
    return found.begin < found.end;
  };
  auto last = no_index;
  for (auto const c : plan.children[at(s)]) {
    auto const u = units.unit_of[at(c)];
    if (!units.units[at(u)].tiled) {
      if (std::exchange(last, u) != u) {
        unit(u);
      }
      continue;
    }
    auto const& child = plan.fronts[at(c)];
    auto const places = plan.places_of(c);
    auto const part = [&](std::size_t b) {
      return places.subspan(child.blocks.begin(b), child.blocks.size(b));
    };
    for (std::size_t j = 0; j < child.blocks_below(); ++j) {
      for (auto i = child.first_tile(j); i < child.blocks_below(); ++i) {
        if (meets(part(i), region.rows) && meets(part(j), region.columns)) {
          tile(c, i, j);
        }
      }
    }
  }
}

} // namespace hetsched::sparse::detail
