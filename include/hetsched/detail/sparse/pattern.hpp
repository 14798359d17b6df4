// SPDX-License-Identifier: MIT
#pragma once
// Patterns of sparse matrices: which entries are there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// A row or a column of a sparse matrix.
using Index = std::int32_t;

constexpr Index no_index = -1;

[[nodiscard]] constexpr std::size_t at(Index i) noexcept {
  return static_cast<std::size_t>(i);
}

/// The rows of the entries of each column; or, of a symmetric matrix, the neighbours of each
/// vertex.
struct Pattern {
  std::vector<std::size_t> begin; // of each column, and the end of the last
  std::vector<Index> rows;

  [[nodiscard]] Index size() const noexcept { return static_cast<Index>(begin.size()) - 1; }

  [[nodiscard]] std::span<Index const> column(Index j) const noexcept {
    return {rows.data() + begin[at(j)], begin[at(j) + 1] - begin[at(j)]};
  }
};

/// Of a square matrix: ascending in each column. O(entries).
[[nodiscard]] inline Pattern transposed(Pattern const& a) {
  auto const n = a.size();
  Pattern t{std::vector<std::size_t>(at(n) + 1), std::vector<Index>(a.rows.size())};
  for (auto const i : a.rows) {
    ++t.begin[at(i) + 1];
  }
  for (std::size_t j = 0; j < at(n); ++j) {
    t.begin[j + 1] += t.begin[j];
  }
  auto next = t.begin;
  for (Index j = 0; j < n; ++j) {
    for (auto const i : a.column(j)) {
      t.rows[next[at(i)]++] = j;
    }
  }
  return t;
}

/// The pattern of A + A^T without its diagonal, ascending in each column, and how symmetric A is:
/// the share of the entries off the diagonal that have one opposite.
struct Symmetrised {
  Pattern pattern;
  double symmetry = 1;
};

/// For A ascending in each column. O(entries).
[[nodiscard]] inline Symmetrised symmetrised(Pattern const& a) {
  auto const t = transposed(a);
  Symmetrised result;
  auto& pattern = result.pattern;
  pattern.begin.reserve(a.begin.size());
  pattern.begin.push_back(0);
  pattern.rows.reserve(2 * a.rows.size());
  std::size_t entries = 0;
  for (Index j = 0; j < a.size(); ++j) {
    auto const one = a.column(j);
    auto const other = t.column(j);
    auto x = one.begin();
    auto y = other.begin();
    while (x != one.end() || y != other.end()) {
      bool const in_one = x != one.end() && (y == other.end() || *x <= *y);
      bool const in_other = y != other.end() && (x == one.end() || *y <= *x);
      auto const i = in_one ? *x : *y;
      if (i != j) {
        pattern.rows.push_back(i);
        entries += in_one ? 1U : 0U;
      }
      x += in_one ? 1 : 0;
      y += in_other ? 1 : 0;
    }
    pattern.begin.push_back(pattern.rows.size());
  }
  auto const missing = pattern.rows.size() - entries; // below or above the diagonal only
  result.symmetry =
      entries == 0 ? 1 : 1 - static_cast<double>(missing) / static_cast<double>(entries);
  return result;
}

/// A permutation: `old_of[k]` comes to place k.
struct Permutation {
  std::vector<Index> old_of;
  std::vector<Index> new_of;

  Permutation() = default;

  explicit Permutation(std::vector<Index> olds) : old_of(std::move(olds)), new_of(old_of.size()) {
    for (std::size_t k = 0; k < old_of.size(); ++k) {
      new_of[at(old_of[k])] = static_cast<Index>(k);
    }
  }
};

/// A symmetric pattern in another order, ascending in each column. O(entries).
[[nodiscard]] inline Pattern permuted(Pattern const& a, Permutation const& order) {
  Pattern result;
  result.begin.reserve(a.begin.size());
  result.begin.push_back(0);
  result.rows.reserve(a.rows.size());
  for (auto const j : order.old_of) {
    for (auto const i : a.column(j)) {
      result.rows.push_back(order.new_of[at(i)]);
    }
    result.begin.push_back(result.rows.size());
  }
  return transposed(result); // of a symmetric pattern: the same, sorted
}

} // namespace hetsched::sparse::detail
