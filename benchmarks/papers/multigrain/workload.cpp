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

} // namespace multigrain
