// SPDX-License-Identifier: MIT
#pragma once
// The paper's matrices.

#include <hetsched/sparse/block_pattern.hpp>

#include <cstddef>

namespace multigrain {

namespace hs = hetsched;

/// The blocks that are there before the factorisation: one third of those off the diagonal, rounded
/// down, is empty. Which ones depends on n alone (sec. 3): they are drawn by mt19937_64 with seed
/// n, one after the other, among those that are left.
[[nodiscard]] hs::sparse::BlockPattern matrix_pattern(std::size_t n);

} // namespace multigrain
