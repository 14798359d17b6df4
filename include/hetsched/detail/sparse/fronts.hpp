// SPDX-License-Identifier: MIT
#pragma once
// Fronts: where the numbers of a multifrontal factorisation are.

#include <hetsched/detail/sparse/pattern.hpp>
#include <hetsched/detail/sparse/supernodes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// A length in `count` parts that differ by one at most.
struct Parts {
  std::size_t length = 0;
  std::size_t count = 1;

  Parts() = default;

  /// As few as possible, none longer than `most`; one if the length is 0.
  Parts(std::size_t whole, std::size_t most)
      : length(whole), count(std::max<std::size_t>(1, (whole + most - 1) / most)) {}

  [[nodiscard]] std::size_t begin(std::size_t k) const noexcept { return k * length / count; }

  [[nodiscard]] std::size_t size(std::size_t k) const noexcept { return begin(k + 1) - begin(k); }
};

/// How fronts are cut.
struct FrontCut {
  std::size_t panel = 128; // columns of a panel, at most
  std::size_t block = 256; // rows below, and of a tile of F22, at most

  /// Flops of a front that is cut into tasks: a little more than a product of two blocks.
  [[nodiscard]] double tiled() const noexcept {
    return 2.4 * static_cast<double>(block) * static_cast<double>(block) *
           static_cast<double>(panel);
  }

  friend bool operator==(FrontCut const&, FrontCut const&) = default;
};

/// The dense matrix of a supernode with w columns and m rows below them. Its rows and columns are
/// those of the supernode, 0 ... w - 1, then those below, w ... w + m - 1:
///
///     F11  F12     w        F11 and F12 are stored by columns, with w rows each,
///     F21  F22     m        F21 by blocks of rows, each by columns; F22 by tiles.
///
/// F11, F12, F21 become the factors and stay. F22 is what the front contributes to its parent. Of a
/// symmetric front only what is on and below the diagonal is there, so no F12.
struct Front {
  std::size_t w = 0;
  std::size_t m = 0;
  bool symmetric = false;
  bool tiled = false;      // large enough to be cut into tasks
  Parts panels;            // of the supernode's columns
  Parts blocks;            // of what is below
  std::size_t factors = 0; // where F11, F12 and F21 begin in the factors
  Index first = 0;         // column
  Index parent = no_index;
  std::size_t row_begin = 0;   // of what is below, in Supernodes::rows and Fronts::places
  std::size_t entry_begin = 0; // of the matrix's entries, in Fronts::entries

  [[nodiscard]] std::size_t size() const noexcept { return w + m; }

  /// How many blocks there are below: none without rows.
  [[nodiscard]] std::size_t blocks_below() const noexcept { return m == 0 ? 0 : blocks.count; }

  /// The row of the first tile of a column of F22's tiles.
  [[nodiscard]] std::size_t first_tile(std::size_t column) const noexcept {
    return symmetric ? column : 0;
  }

  /// Where a panel, and a block of F12 and of F21, begin behind `factors`, and the end of all.
  [[nodiscard]] std::size_t panel(std::size_t k) const noexcept { return w * panels.begin(k); }

  [[nodiscard]] std::size_t upper(std::size_t j) const noexcept {
    return w * (w + blocks.begin(j));
  }

  [[nodiscard]] std::size_t lower(std::size_t i) const noexcept {
    return w * ((symmetric ? w : w + m) + blocks.begin(i));
  }

  [[nodiscard]] std::size_t end() const noexcept { return w * (symmetric ? w + m : w + 2 * m); }

  /// Of the factorisation of this front.
  [[nodiscard]] double flops() const noexcept {
    auto const wide = static_cast<double>(w);
    auto const below = static_cast<double>(m);
    auto const both = 2 * wide * (wide * wide / 3 + wide * below + below * below);
    return symmetric ? both / 2 : both;
  }
};

/// An entry of the matrix: its number among the matrix's values, its place in the factors of its
/// front.
struct Entry {
  std::size_t value;
  std::size_t place;
};

/// A multifrontal factorisation's plan: all that depends on the pattern alone.
struct Fronts {
  Supernodes nodes;
  std::vector<Front> fronts;                // in postorder
  std::vector<std::vector<Index>> children; // of each front, ascending
  std::vector<Index> places;                // each row's below a front in the parent's front
  std::vector<Entry> entries;               // by front, and by place
  FrontCut cut;                             // see cut_fronts
  std::size_t factor_size = 0;              // numbers
  double flops = 0;

  [[nodiscard]] Index count() const noexcept { return static_cast<Index>(fronts.size()); }

  [[nodiscard]] std::span<Index const> below(Index s) const noexcept { return nodes.below(s); }

  /// The flops from each front to its root, both included.
  [[nodiscard]] std::vector<double> paths() const {
    std::vector<double> result(fronts.size());
    for (auto s = count(); s-- > 0;) {
      auto const& front = fronts[at(s)];
      result[at(s)] = front.flops() + (front.parent == no_index ? 0 : result[at(front.parent)]);
    }
    return result;
  }

  [[nodiscard]] std::span<Index const> places_of(Index s) const noexcept {
    auto const& front = fronts[at(s)];
    return {places.data() + front.row_begin, front.m};
  }

  /// Of front s, those whose place is from `begin` to `end`.
  [[nodiscard]] std::span<Entry const>
  entries_of(Index s, std::size_t begin, std::size_t end) const noexcept {
    auto const* const first = entries.data() + fronts[at(s)].entry_begin;
    auto const* const last = s + 1 == count() ? entries.data() + entries.size()
                                              : entries.data() + fronts[at(s) + 1].entry_begin;
    auto const less = [](Entry const& entry, std::size_t place) { return entry.place < place; };
    auto const* const from = std::lower_bound(first, last, begin, less);
    return {from, std::lower_bound(from, last, end, less)};
  }
};

/// Where a front's rows are among its own.
class FrontPlaces {
public:
  explicit FrontPlaces(Fronts const& plan) : plan_(plan), places_(at(plan.nodes.columns())) {}

  void show(Index s) {
    auto const& front = plan_.fronts[at(s)];
    for (std::size_t j = 0; j < front.w; ++j) {
      places_[at(front.first) + j] = static_cast<Index>(j);
    }
    auto const below = plan_.below(s);
    for (std::size_t r = 0; r < below.size(); ++r) {
      places_[at(below[r])] = static_cast<Index>(front.w + r);
    }
  }

  [[nodiscard]] Index operator[](Index row) const noexcept { return places_[at(row)]; }

private:
  Fronts const& plan_;
  std::vector<Index> places_;
};

/// Where the columns from `end` on are in a front p; nowhere if there is no such front.
class ParentPlaces {
public:
  ParentPlaces(Fronts const& plan, Index p, Index end) : end_(end) {
    if (p == no_index) {
      return;
    }
    places_.assign(at(plan.nodes.columns() - end), no_index);
    auto const& front = plan.fronts[at(p)];
    for (std::size_t j = 0; j < front.w; ++j) {
      if (front.first + static_cast<Index>(j) >= end) {
        places_[at(front.first - end) + j] = static_cast<Index>(j);
      }
    }
    auto const rows = plan.below(p);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      places_[at(rows[r] - end)] = static_cast<Index>(front.w + r);
    }
  }

  [[nodiscard]] std::size_t operator[](Index column) const noexcept {
    return at(places_[at(column - end_)]);
  }

private:
  Index end_;
  std::vector<Index> places_;
};

/// Cuts the columns of all fronts into panels and, of those with enough flops, what is below into
/// blocks. The places of entries depend on it: see place_entries.
inline void cut_fronts(Fronts& plan, FrontCut const& cut) {
  for (auto& front : plan.fronts) {
    front.panels = Parts(front.w, cut.panel);
    front.tiled = front.flops() >= cut.tiled();
    front.blocks = Parts(front.m, front.tiled ? cut.block : front.m + 1);
  }
  plan.cut = cut;
}

/// Sorts the matrix's entries by front and place. Row i of `a` is row rows[i] of the permuted
/// matrix, column j is columns[j]. Of a symmetric matrix the lower triangle counts.
inline void place_entries(Fronts& plan,
                          Pattern const& a,
                          std::vector<Index> const& rows,
                          std::vector<Index> const& columns) {
  std::vector<Index> node_of(at(plan.nodes.columns()));
  for (Index s = 0; s < plan.count(); ++s) {
    for (auto j = plan.nodes.first[at(s)]; j < plan.nodes.first[at(s) + 1]; ++j) {
      node_of[at(j)] = s;
    }
  }
  std::vector<std::size_t> next(plan.fronts.size() + 1);
  bool const symmetric = !plan.fronts.empty() && plan.fronts.front().symmetric;
  auto const each = [&](auto const& visit) {
    for (Index j = 0; j < a.size(); ++j) {
      for (auto k = a.begin[at(j)]; k < a.begin[at(j) + 1]; ++k) {
        auto const row = rows[at(a.rows[k])];
        auto const column = columns[at(j)];
        if (!symmetric || row >= column) {
          visit(node_of[at(std::min(row, column))], k, row, column);
        }
      }
    }
  };
  each([&](Index s, std::size_t, Index, Index) { ++next[at(s) + 1]; });
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    plan.fronts[s].entry_begin = next[s]; // the sum over the fronts before
    next[s + 1] += next[s];
  }

  struct Place {
    Index row;
    Index column;
  };

  std::vector<Place> where(next.back());
  plan.entries.resize(next.back());
  each([&](Index s, std::size_t k, Index row, Index column) {
    auto const to = next[at(s)]++;
    plan.entries[to].value = k;
    where[to] = {row, column};
  });
  FrontPlaces places(plan);
  for (Index s = 0; s < plan.count(); ++s) {
    auto const& front = plan.fronts[at(s)];
    auto const end =
        at(s) + 1 < plan.fronts.size() ? plan.fronts[at(s) + 1].entry_begin : plan.entries.size();
    places.show(s);
    for (auto k = front.entry_begin; k < end; ++k) {
      auto const row = at(places[where[k].row]);
      auto const column = at(places[where[k].column]);
      auto place = row + column * front.w; // F11, F12
      if (row >= front.w) {
        auto const below = row - front.w;
        std::size_t block = 0;
        while (front.blocks.begin(block + 1) <= below) {
          ++block;
        }
        auto const begin = front.blocks.begin(block);
        place = front.lower(block) + (below - begin) + column * front.blocks.size(block);
      }
      plan.entries[k].place = place;
    }
    std::sort(plan.entries.begin() + static_cast<std::ptrdiff_t>(front.entry_begin),
              plan.entries.begin() + static_cast<std::ptrdiff_t>(end),
              [](Entry const& x, Entry const& y) { return x.place < y.place; });
  }
}

/// The plan for supernodes whose fronts are not cut yet and have no entries.
[[nodiscard]] inline Fronts make_fronts(Supernodes nodes, bool symmetric) {
  Fronts plan;
  plan.nodes = std::move(nodes);
  auto const count = plan.nodes.parent.size();
  plan.fronts.resize(count);
  plan.children.resize(count);
  for (Index s = 0; s < plan.nodes.count(); ++s) {
    auto& front = plan.fronts[at(s)];
    front.w = at(plan.nodes.width(s));
    front.m = plan.below(s).size();
    front.symmetric = symmetric;
    front.factors = plan.factor_size;
    front.first = plan.nodes.first[at(s)];
    front.parent = plan.nodes.parent[at(s)];
    front.row_begin = plan.nodes.row_begin[at(s)];
    plan.factor_size += front.end();
    plan.flops += front.flops();
    if (front.parent != no_index) {
      plan.children[at(front.parent)].push_back(s);
    }
  }
  plan.places.resize(plan.nodes.rows.size());
  FrontPlaces places(plan);
  for (Index p = 0; p < plan.nodes.count(); ++p) {
    if (plan.children[at(p)].empty()) {
      continue;
    }
    places.show(p);
    for (auto const c : plan.children[at(p)]) {
      auto const rows = plan.below(c);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        plan.places[plan.fronts[at(c)].row_begin + r] = places[rows[r]];
      }
    }
  }
  return plan;
}

} // namespace hetsched::sparse::detail
