// SPDX-License-Identifier: MIT
#pragma once
// The critical path of a factorisation's tasks.

#include <hetsched/detail/sparse/front_flops.hpp>
#include <hetsched/detail/sparse/front_parts.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hetsched::sparse::detail {

/// The longest chain of tasks that wait for each other, of those that FactorisationTasks spawns, in
/// flops. It is found by letting each task begin when the last of those that it waits for ends.
/// Cost: as many steps as tasks and what they wait for.
class CriticalPath {
public:
  CriticalPath(Fronts const& plan, Units const& units)
      : plan_(plan), units_(units), done_(units.units.size()), tiles_(units.units.size()) {}

  [[nodiscard]] double length() {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      auto const& unit = units_.units[u];
      if (unit.tiled) {
        finish_front(unit.begin, tiles_[u]);
        continue;
      }
      double begin = 0;
      if (unit.end == unit.begin + 1) { // others have no children outside
        auto const size = plan_.fronts[at(unit.begin)].size();
        begin = assembled(unit.begin, {{0, size}, {0, size}});
      }
      done_[u] = begin + unit.flops;
      longest_ = std::max(longest_, done_[u]);
    }
    return longest_;
  }

private:
  /// When all is there that contributes to a region of front s.
  [[nodiscard]] double assembled(Index s, Region const& region) const {
    double last = 0;
    for_each_source(
        plan_,
        units_,
        s,
        region,
        [&](Index u) { last = std::max(last, done_[at(u)]); },
        [&](Index c, std::size_t i, std::size_t j) {
          auto const& tiles = tiles_[at(units_.unit_of[at(c)])];
          last = std::max(last, tiles[i + j * plan_.fronts[at(c)].blocks_below()]);
        });
    return last;
  }

  /// `tiles`: when each tile of its contribution is done, by columns.
  void finish_front(Index s, std::vector<double>& tiles) {
    using Kind = FrontPart::Kind;
    auto const& front = plan_.fronts[at(s)];
    FrontFlops const flops(front);
    auto const filled = [&](Kind kind, std::size_t number) {
      return assembled(s, region_of(front, {s, kind, number}));
    };
    auto const p = front.panels.count;
    auto const q = front.blocks_below();
    std::vector<double> panels(p);
    for (std::size_t k = 0; k < p; ++k) {
      panels[k] = filled(Kind::panel, k);
    }
    for (std::size_t k = 0; k < p; ++k) {
      panels[k] += flops.panel(k);
      for (auto j = k + 1; j < p; ++j) {
        panels[j] = std::max(panels[j], panels[k]) + flops.update(k, j);
      }
    }
    auto const factored = panels.back(); // it waits for all others
    longest_ = std::max(longest_, factored);
    std::vector<double> lower(q);
    std::vector<double> upper(q); // of a symmetric front, the same
    for (std::size_t i = 0; i < q; ++i) {
      lower[i] = std::max(factored, filled(Kind::lower, i)) + flops.side(i);
      upper[i] =
          front.symmetric ? lower[i] : std::max(factored, filled(Kind::upper, i)) + flops.side(i);
    }
    tiles.assign(q * q, 0);
    for (std::size_t j = 0; j < q; ++j) {
      auto const begin = filled(Kind::tiles, j);
      for (auto i = front.first_tile(j); i < q; ++i) {
        auto& tile = tiles[i + j * q];
        tile = std::max({begin, lower[i], upper[j]}) + flops.product(i, j);
        longest_ = std::max(longest_, tile);
      }
    }
  }

  Fronts const& plan_;
  Units const& units_;
  std::vector<double> done_;               // when each unit that is one task ends
  std::vector<std::vector<double>> tiles_; // of each tiled unit
  double longest_ = 0;
};

} // namespace hetsched::sparse::detail
