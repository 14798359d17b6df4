// SPDX-License-Identifier: MIT
#pragma once
// Few combinations of choices that contain every pair of choices.

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace equivalence {

/// Rows of choices, row[p] < choices[p], such that for any two places every pair of choices is in
/// some row. Greedy: of fifty rows drawn by lot, the one with the most pairs not yet seen is next.
/// Deterministic for a seed.
template <std::size_t Places>
std::vector<std::array<int, Places>> covering_array(std::array<int, Places> const& choices,
                                                    std::uint64_t seed) {
  using Row = std::array<int, Places>;
  using Pair = std::pair<std::pair<std::size_t, int>, std::pair<std::size_t, int>>;
  auto const pairs_of = [](Row const& row) {
    std::vector<Pair> pairs;
    for (std::size_t p = 0; p < Places; ++p) {
      for (std::size_t q = p + 1; q < Places; ++q) {
        pairs.push_back({{p, row[p]}, {q, row[q]}});
      }
    }
    return pairs;
  };
  std::size_t missing = 0;
  for (std::size_t p = 0; p < Places; ++p) {
    for (std::size_t q = p + 1; q < Places; ++q) {
      missing += static_cast<std::size_t>(choices[p] * choices[q]);
    }
  }
  std::mt19937_64 random(seed);
  std::set<Pair> seen;
  std::vector<Row> rows;
  while (seen.size() < missing) {
    Row best{};
    std::size_t most = 0;
    for (int attempt = 0; attempt < 50; ++attempt) {
      Row row{};
      for (std::size_t p = 0; p < Places; ++p) {
        row[p] = static_cast<int>(random() % static_cast<std::uint64_t>(choices[p]));
      }
      std::size_t fresh = 0;
      for (auto const& pair : pairs_of(row)) {
        fresh += seen.contains(pair) ? 0 : 1;
      }
      if (fresh > most) {
        most = fresh;
        best = row;
      }
    }
    if (most != 0) {
      for (auto const& pair : pairs_of(best)) {
        seen.insert(pair);
      }
      rows.push_back(best);
    }
  }
  return rows;
}

} // namespace equivalence
