// SPDX-License-Identifier: MIT

#include "workload.hpp"

#include <random>
#include <utility>
#include <vector>

namespace multigrain {

hs::sparse::BlockPattern matrix_pattern(std::size_t n) {
  std::vector<std::pair<std::size_t, std::size_t>> there;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) {
        there.emplace_back(i, j);
      }
    }
  }
  std::mt19937_64 random(n);
  for (std::size_t empty = there.size() / 3; empty > 0; --empty) {
    std::swap(there[random() % there.size()], there.back());
    there.pop_back();
  }
  hs::sparse::BlockPattern pattern(n);
  for (auto const& [i, j] : there) {
    pattern.add(i, j);
  }
  return pattern;
}

void fill_random(hs::sparse::BlockMatrix<float> const& a,
                 hs::sparse::BlockPattern const& pattern,
                 std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t j = 0; j < a.size(); ++j) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a.pattern().at(i, j)) {
        continue;
      }
      auto const elements = a.elements(i, j);
      bool const there = pattern.at(i, j);
      for (std::size_t c = 0; c < elements.cols(); ++c) {
        for (std::size_t r = 0; r < elements.rows(); ++r) {
          elements(r, c) = there ? static_cast<float>(random() >> 40U) * 0x1p-23F - 1.0F : 0.0F;
        }
        elements(c, c) += i == j ? static_cast<float>(a.rows()) : 0.0F;
      }
    }
  }
}

} // namespace multigrain
