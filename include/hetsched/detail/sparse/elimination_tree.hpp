// SPDX-License-Identifier: MIT
#pragma once
// The elimination tree of a symmetric pattern, and how many entries the factor's columns have.

#include <hetsched/detail/sparse/pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// The parent of each column in the elimination tree, no_index for a root. Nearly O(entries).
///
/// Source: Liu, "The role of elimination trees in sparse factorization", 1990, with path
/// compression.
[[nodiscard]] inline std::vector<Index> elimination_tree(Pattern const& a) {
  auto const n = a.size();
  std::vector<Index> parent(at(n), no_index);
  std::vector<Index> ancestor(at(n), no_index);
  for (Index j = 0; j < n; ++j) {
    for (auto i : a.column(j)) {
      while (i != no_index && i < j) {
        auto const next = std::exchange(ancestor[at(i)], j);
        if (next == no_index) {
          parent[at(i)] = j;
        }
        i = next;
      }
    }
  }
  return parent;
}

/// Depth first, children before parents: the nodes in order. Children keep their order.
[[nodiscard]] inline std::vector<Index> postorder(std::vector<Index> const& parent) {
  auto const n = static_cast<Index>(parent.size());
  std::vector<Index> first(parent.size(), no_index);
  std::vector<Index> next(parent.size(), no_index);
  for (Index j = n; j-- > 0;) {
    if (parent[at(j)] != no_index) {
      next[at(j)] = std::exchange(first[at(parent[at(j)])], j);
    }
  }
  std::vector<Index> order;
  order.reserve(parent.size());
  std::vector<Index> path;
  for (Index root = 0; root < n; ++root) {
    if (parent[at(root)] != no_index) {
      continue;
    }
    path.push_back(root);
    while (!path.empty()) {
      auto const node = path.back();
      auto const child = std::exchange(first[at(node)], no_index);
      if (child != no_index) {
        // All children at once, the first one on top.
        auto const base = path.size();
        for (auto c = child; c != no_index; c = next[at(c)]) {
          path.push_back(c);
        }
        std::reverse(path.begin() + static_cast<std::ptrdiff_t>(base), path.end());
      } else {
        order.push_back(node);
        path.pop_back();
      }
    }
  }
  return order;
}

/// How many entries each column of the factor L of a symmetric pattern has, with the diagonal. The
/// pattern must be in postorder. Nearly O(entries).
///
/// Source: Gilbert, Ng and Peyton, "An efficient algorithm to compute row and column counts for
/// sparse Cholesky factorization", 1994: a column's count is the number of leaves of the row
/// subtrees less their overlaps, summed up the tree.
[[nodiscard]] inline std::vector<Index> column_counts(Pattern const& a,
                                                      std::vector<Index> const& parent) {
  auto const n = a.size();
  std::vector<Index> first(at(n), no_index); // the first descendant
  std::vector<Index> count(at(n));
  for (Index j = 0; j < n; ++j) {
    count[at(j)] = first[at(j)] == no_index ? 1 : 0; // a leaf of its own row's subtree
    for (auto i = j; i != no_index && first[at(i)] == no_index; i = parent[at(i)]) {
      first[at(i)] = j;
    }
  }
  std::vector<Index> greatest(at(n), no_index); // first[] of the neighbours seen, by row
  std::vector<Index> last_leaf(at(n), no_index);
  std::vector<Index> ancestor(at(n));
  for (Index j = 0; j < n; ++j) {
    ancestor[at(j)] = j;
  }
  auto const top = [&](Index i) {
    auto root = i;
    while (root != ancestor[at(root)]) {
      root = ancestor[at(root)];
    }
    while (i != root) {
      i = std::exchange(ancestor[at(i)], root);
    }
    return root;
  };
  for (Index j = 0; j < n; ++j) {
    if (parent[at(j)] != no_index) {
      --count[at(parent[at(j)])];
    }
    for (auto const i : a.column(j)) {
      if (i <= j || first[at(j)] <= greatest[at(i)]) {
        continue; // j is no leaf of row i's subtree
      }
      greatest[at(i)] = first[at(j)];
      auto const previous = std::exchange(last_leaf[at(i)], j);
      ++count[at(j)];
      if (previous != no_index) {
        --count[at(top(previous))];
      }
    }
    if (parent[at(j)] != no_index) {
      ancestor[at(j)] = parent[at(j)];
    }
  }
  for (Index j = 0; j < n; ++j) {
    if (parent[at(j)] != no_index) {
      count[at(parent[at(j)])] += count[at(j)];
    }
  }
  return count;
}

} // namespace hetsched::sparse::detail
