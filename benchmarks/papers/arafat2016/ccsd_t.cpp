// SPDX-License-Identifier: MIT

#include "ccsd_t.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace arafat2016 {
namespace {

using Pair = std::array<std::size_t, 2>; // of tiles, by number
using Triple = std::array<std::size_t, 3>;
using Quad = std::array<std::size_t, 4>;

// Tiles are numbered as in NWChem: four of occupied orbitals, then four of virtual ones.
constexpr std::size_t holes = 0;
constexpr std::size_t particles = 4;
constexpr std::size_t each = 4;

constexpr unsigned spin(std::size_t tile) {
  return tile % each < 2 ? 1 : 2;
}

template <std::size_t N>
unsigned spins(std::array<std::size_t, N> const& tiles) {
  unsigned sum = 0;
  for (auto const tile : tiles) {
    sum += spin(tile);
  }
  return sum;
}

Pair in_order(std::size_t a, std::size_t b) {
  return {std::min(a, b), std::max(a, b)};
}

Quad joined(Pair const& a, Pair const& b) {
  return {a[0], a[1], b[0], b[1]};
}

/// All a <= b <= c among the tiles from `first` on.
std::vector<Triple> triples(std::size_t first) {
  std::vector<Triple> all;
  for (auto a = first; a < first + each; ++a) {
    for (auto b = a; b < first + each; ++b) {
      for (auto c = b; c < first + each; ++c) {
        all.push_back({a, b, c});
      }
    }
  }
  return all;
}

/// A triple as one tile and the two others.
struct Split {
  std::size_t one = 0;
  Pair others{};
};

std::array<Split, 3> splits(Triple const& of) {
  return {{{of[0], {of[1], of[2]}}, {of[1], {of[0], of[2]}}, {of[2], {of[0], of[1]}}}};
}

class Derivation {
public:
  Derivation(PointSymmetry symmetry, Tiles const& tiles) : symmetry_(symmetry), tiles_(tiles) {}

  [[nodiscard]] CcsdT run() {
    struct Task {
      Triple p;
      Triple h;
    };

    std::vector<Task> tasks;
    for (auto const& p : triples(particles)) {
      for (auto const& h : triples(holes)) {
        if (exists(p, h) && spins(p) + spins(h) <= 8) {
          tasks.push_back({p, h});
          made_.blocks.push_back({elements(p) * elements(h) * sizeof(double)});
        }
      }
    }
    made_.tasks = tasks.size();
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      add_task(static_cast<std::uint32_t>(t), tasks[t].p, tasks[t].h);
    }
    return std::move(made_);
  }

private:
  [[nodiscard]] std::size_t size(std::size_t tile) const {
    return (tile < particles ? tiles_.occupied : tiles_.unoccupied)[tile % 2];
  }

  template <std::size_t N>
  [[nodiscard]] std::size_t elements(std::array<std::size_t, N> const& tiles) const {
    std::size_t product = 1;
    for (auto const tile : tiles) {
      product *= size(tile);
    }
    return product;
  }

  template <std::size_t N>
  [[nodiscard]] unsigned irrep(std::array<std::size_t, N> const& tiles) const {
    std::size_t product = 0;
    for (auto const tile : tiles) {
      product ^= symmetry_ == PointSymmetry::cs ? tile % 2 : 0;
    }
    return static_cast<unsigned>(product);
  }

  /// If a block with such tiles may be other than zero.
  template <std::size_t N>
  [[nodiscard]] bool exists(std::array<std::size_t, N> const& p,
                            std::array<std::size_t, N> const& h) const {
    return spins(p) == spins(h) && irrep(p) == irrep(h);
  }

  void add_task(std::uint32_t task, Triple const& particle, Triple const& hole) {
    for (auto const& p : splits(particle)) {
      for (auto const& h : splits(hole)) {
        for (auto h7 = holes; h7 < holes + each; ++h7) {
          auto const pair = in_order(h.one, h7);
          if (exists(p.others, pair)) {
            add(task, joined(p.others, pair), {h7, p.one, h.others[0], h.others[1]}, h7);
          }
        }
      }
    }
    for (auto const& p : splits(particle)) {
      for (auto const& h : splits(hole)) {
        for (auto p7 = particles; p7 < particles + each; ++p7) {
          auto const pair = in_order(p.one, p7);
          if (exists(pair, h.others)) {
            add(task, joined(pair, h.others), {p.others[0], p.others[1], h.one, p7}, p7);
          }
        }
      }
    }
  }

  void add(std::uint32_t task, Quad const& left, Quad const& right, std::size_t over) {
    auto const k = size(over);
    made_.contractions.push_back({.task = task,
                                  .output = task,
                                  .left = block(left),
                                  .right = block(right),
                                  .m = elements(left) / k,
                                  .n = elements(right) / k,
                                  .k = k});
  }

  /// Its number. Those of t2 are pphh, those of v2 are hphh or pphp: the tiles tell which it is.
  [[nodiscard]] std::uint32_t block(Quad tiles) {
    if (spins(tiles) == 8) { // all beta: that of the alpha tiles
      for (auto& tile : tiles) {
        tile -= 2;
      }
    }
    auto const [place, fresh] =
        numbers_.try_emplace(tiles, static_cast<std::uint32_t>(made_.blocks.size()));
    if (fresh) {
      made_.blocks.push_back({elements(tiles) * sizeof(double)});
    }
    return place->second;
  }

  PointSymmetry symmetry_;
  Tiles tiles_;
  CcsdT made_;
  std::map<Quad, std::uint32_t> numbers_;
};

} // namespace

CcsdT ccsd_t(PointSymmetry symmetry, Tiles const& tiles) {
  return Derivation(symmetry, tiles).run();
}

} // namespace arafat2016
