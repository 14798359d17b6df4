// SPDX-License-Identifier: MIT
#pragma once
// Supernodes: columns that are factorised together, as one dense front.

#include <hetsched/detail/sparse/ordering.hpp>
#include <hetsched/detail/sparse/pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// The supernodes of a factorisation, in postorder of their tree. Supernode s has the columns
/// first[s] ... first[s + 1] - 1, and rows below them, which are columns of its ancestors.
struct Supernodes {
  Permutation order; // of the matrix's columns
  std::vector<Index> first;
  std::vector<Index> parent;          // no_index for a root
  std::vector<std::size_t> row_begin; // in `rows`, and the end of the last
  std::vector<Index> rows;            // ascending in each supernode
  double scalar_flops = 0;            // without the zeros that supernodes hold

  [[nodiscard]] Index count() const noexcept { return static_cast<Index>(parent.size()); }

  [[nodiscard]] Index columns() const noexcept { return first.empty() ? 0 : first.back(); }

  [[nodiscard]] Index width(Index s) const noexcept { return first[at(s) + 1] - first[at(s)]; }

  [[nodiscard]] std::span<Index const> below(Index s) const noexcept {
    return {rows.data() + row_begin[at(s)], row_begin[at(s) + 1] - row_begin[at(s)]};
  }
};

/// Merges supernodes with their parents while the zeros that this stores are few.
///
/// Source: Ashcraft and Grimes, "The influence of relaxed supernode partitions on the multifrontal
/// method", 1989. Any child may be merged, not the last one only.
class Amalgamation {
public:
  explicit Amalgamation(Elimination const& e) {
    auto const n = static_cast<Index>(e.parent.size());
    std::vector<Index> node_of(at(n));
    for (Index j = 0; j < n; ++j) {
      bool const begins =
          j == 0 || e.parent[at(j - 1)] != j || e.counts[at(j - 1)] != e.counts[at(j)] + 1;
      if (begins) {
        nodes_.push_back({.first = j});
      }
      auto& node = nodes_.back();
      ++node.own_width;
      ++node.width;
      node.below = e.counts[at(j)] - 1;
      node_of[at(j)] = static_cast<Index>(nodes_.size()) - 1;
    }
    for (auto& node : nodes_) {
      auto const parent = e.parent[at(node.first + node.own_width - 1)];
      node.parent = parent == no_index ? no_index : node_of[at(parent)];
    }
  }

  /// The columns by supernode, children before parents.
  struct Merged {
    std::vector<Index> columns;
    std::vector<Index> first;
    std::vector<Index> parent;
  };

  [[nodiscard]] Merged run() {
    auto const count = static_cast<Index>(nodes_.size());
    std::vector<std::vector<Index>> children(nodes_.size());
    std::vector<Index> into(nodes_.size(), no_index);
    std::vector<std::vector<Index>> parts(nodes_.size());
    for (Index p = 0; p < count; ++p) {
      merge_children(p, children, into, parts);
      parts[at(p)].push_back(p);
      if (nodes_[at(p)].parent != no_index) {
        children[at(nodes_[at(p)].parent)].push_back(p);
      }
    }
    return in_order(into, parts);
  }

private:
  struct Node {
    Index first = 0;
    Index own_width = 0;
    Index width = 0; // with what was merged into it
    Index below = 0;
    Index parent = no_index;
    double zeros = 0;
  };

  /// Entries of a column block of L.
  [[nodiscard]] static double entries(double width, double below) {
    return width * (width + 1) / 2 + width * below;
  }

  /// The share of zeros that a supernode of so many columns may hold.
  [[nodiscard]] static double allowed(Index width) {
    constexpr struct {
      Index width;
      double share;
    } rules[] = {{4, 0.8}, {16, 0.5}, {48, 0.15}};

    for (auto const& rule : rules) {
      if (width <= rule.width) {
        return rule.share;
      }
    }
    return 0.06;
  }

  void merge_children(Index p,
                      std::vector<std::vector<Index>>& children,
                      std::vector<Index>& into,
                      std::vector<std::vector<Index>>& parts) {
    auto& node = nodes_[at(p)];
    auto& candidates = children[at(p)];
    std::sort(candidates.begin(), candidates.end(), [&](Index x, Index y) {
      return std::pair(nodes_[at(y)].below, x) < std::pair(nodes_[at(x)].below, y);
    });
    for (auto const c : candidates) {
      auto const& child = nodes_[at(c)];
      auto const width = child.width + node.width;
      auto const zeros = node.zeros + child.zeros +
                         static_cast<double>(child.width) *
                             static_cast<double>(node.width + node.below - child.below);
      if (zeros > allowed(width) * entries(width, node.below)) {
        continue;
      }
      node.width = width;
      node.zeros = zeros;
      into[at(c)] = p;
      auto& all = parts[at(p)];
      all.insert(all.end(), parts[at(c)].begin(), parts[at(c)].end());
      parts[at(c)].clear();
    }
    candidates.clear();
  }

  [[nodiscard]] Merged in_order(std::vector<Index> const& into,
                                std::vector<std::vector<Index>>& parts) const {
    auto const top = [&](Index s) {
      while (s != no_index && into[at(s)] != no_index) {
        s = into[at(s)];
      }
      return s;
    };
    std::vector<Index> kept; // ascending, so children before parents
    std::vector<Index> place(nodes_.size(), no_index);
    for (Index s = 0; s < static_cast<Index>(nodes_.size()); ++s) {
      if (into[at(s)] == no_index) {
        place[at(s)] = static_cast<Index>(kept.size());
        kept.push_back(s);
      }
    }
    std::vector<Index> tree;
    for (auto const s : kept) {
      auto const parent = top(nodes_[at(s)].parent);
      tree.push_back(parent == no_index ? no_index : place[at(parent)]);
    }
    Merged merged;
    Permutation const post(postorder(tree));
    for (auto const k : post.old_of) {
      merged.first.push_back(static_cast<Index>(merged.columns.size()));
      merged.parent.push_back(tree[at(k)] == no_index ? no_index : post.new_of[at(tree[at(k)])]);
      auto& own = parts[at(kept[at(k)])];
      std::sort(own.begin(), own.end());
      for (auto const s : own) {
        auto const& node = nodes_[at(s)];
        for (Index j = 0; j < node.own_width; ++j) {
          merged.columns.push_back(node.first + j);
        }
      }
    }
    merged.first.push_back(static_cast<Index>(merged.columns.size()));
    return merged;
  }

  std::vector<Node> nodes_;
};

/// The rows below each supernode's columns: those of the matrix and of its children.
inline void find_rows(Pattern const& a, Supernodes& s) {
  std::vector<Index> seen(at(a.size()), no_index);
  std::vector<std::vector<Index>> children(s.parent.size());
  s.row_begin.assign(1, 0);
  for (Index k = 0; k < s.count(); ++k) {
    auto const begin = s.rows.size();
    auto const end = s.first[at(k) + 1];
    auto const add = [&](Index i) {
      if (i >= end && std::exchange(seen[at(i)], k) != k) {
        s.rows.push_back(i);
      }
    };
    for (auto j = s.first[at(k)]; j < end; ++j) {
      for (auto const i : a.column(j)) {
        add(i);
      }
    }
    for (auto const c : children[at(k)]) {
      for (auto r = s.row_begin[at(c)]; r < s.row_begin[at(c) + 1]; ++r) {
        add(s.rows[r]);
      }
    }
    std::sort(s.rows.begin() + static_cast<std::ptrdiff_t>(begin), s.rows.end());
    s.row_begin.push_back(s.rows.size());
    if (s.parent[at(k)] != no_index) {
      children[at(s.parent[at(k)])].push_back(k);
    }
  }
}

/// The supernodes of a symmetric pattern `a`, eliminated as `e` says.
[[nodiscard]] inline Supernodes supernodes(Pattern const& a, Elimination const& e) {
  auto merged = Amalgamation(e).run();
  for (auto& column : merged.columns) {
    column = e.order.old_of[at(column)];
  }
  Supernodes result;
  result.order = Permutation(std::move(merged.columns));
  result.first = std::move(merged.first);
  result.parent = std::move(merged.parent);
  result.scalar_flops = e.flops;
  find_rows(permuted(a, result.order), result);
  return result;
}

} // namespace hetsched::sparse::detail
