// SPDX-License-Identifier: MIT
#pragma once
// Numbers for sparse matrices of dense blocks.

#include <hetsched/sparse/block_matrix.hpp>
#include <hetsched/sparse/block_pattern.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

namespace example {

enum class Diagonal : bool { dominant, zero };

/// Random numbers from -1 to 1 where `pattern` has blocks, 0 elsewhere, but for the diagonal.
template <class T>
void fill_blocks(hetsched::sparse::BlockMatrix<T> const& a,
                 hetsched::sparse::BlockPattern const& pattern,
                 std::uint64_t seed,
                 Diagonal diagonal = Diagonal::dominant) {
  constexpr int digits = std::numeric_limits<T>::digits;
  T const unit = std::ldexp(T(1), 1 - digits);
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
          elements(r, c) = there ? static_cast<T>(random() >> (64 - digits)) * unit - T(1) : T(0);
        }
        if (i == j) {
          elements(c, c) =
              diagonal == Diagonal::zero ? T(0) : elements(c, c) + static_cast<T>(a.rows());
        }
      }
    }
  }
}

} // namespace example
