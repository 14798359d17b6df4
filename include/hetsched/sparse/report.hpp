// SPDX-License-Identifier: MIT
#pragma once
// What a sparse solver did.

#include <cstddef>

namespace hetsched::sparse {

/// Of the last analysis, factorisation and solve. Flops are of real or complex numbers, as the
/// matrix is.
struct SparseReport {
  // ---- the matrix ----
  std::size_t size = 0; // rows
  std::size_t entries = 0;
  double symmetry = 1;  // share of the entries off the diagonal that have one opposite
  bool matched = false; // rows were exchanged beforehand

  // ---- the analysis ----
  std::size_t factor_entries = 0; // numbers stored, zeros within supernodes included
  double flops = 0;               // of the factorisation
  double scalar_flops = 0;        // without those zeros
  double longest_branch = 0; // flops from a leaf to the root; only what is within a front is shared
  std::size_t supernodes = 0;
  std::size_t units = 0;        // subtrees and fronts above them
  std::size_t tiled_fronts = 0; // of these, cut into tasks

  // ---- the factorisation ----
  std::size_t tasks = 0;     // 0: without tasks
  std::size_t products = 0;  // of these, products of tiles: what GPUs are for
  std::size_t perturbed = 0; // pivots that were too small and replaced
  double growth = 0;         // largest modulus of a factor over the largest of the scaled matrix
  std::size_t memory = 0;    // bytes: factors, and what is kept to factorise again

  // ---- the last solve ----
  double backward_error = 0; // componentwise, the largest of its right-hand sides
  std::size_t refinements = 0;
  std::size_t gmres_iterations = 0;

  /// How many times more numbers the factors have than the matrix.
  [[nodiscard]] double fill() const noexcept {
    return entries == 0 ? 0 : static_cast<double>(factor_entries) / static_cast<double>(entries);
  }
};

} // namespace hetsched::sparse
