// SPDX-License-Identifier: MIT
#pragma once
// The paper's matrices.

#include <hetsched/sparse/block_matrix.hpp>

#include <cstddef>
#include <cstdint>

namespace multigrain {

namespace hs = hetsched;

/// The blocks that are there before the factorisation: one third of those off the diagonal, rounded
/// down, is empty. Which ones depends on n alone (sec. 3): they are drawn by mt19937_64 with seed
/// n, one after the other, among those that are left.
[[nodiscard]] hs::sparse::BlockPattern matrix_pattern(std::size_t n);

/// Numbers from -1 to 1 where `pattern` has blocks, 0 where only the fill is, and the number of
/// rows added to the diagonal, since nothing pivots.
void fill_random(hs::sparse::BlockMatrix<float> const& a,
                 hs::sparse::BlockPattern const& pattern,
                 std::uint64_t seed);

} // namespace multigrain
