// SPDX-License-Identifier: MIT
#pragma once
// What a sparse solver did.

#include <algorithm>
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
  std::size_t supernodes = 0;

  // ---- its tasks, from the first factorisation on ----
  std::size_t panel = 0;        // columns of a panel, at most: as given, or chosen for the runtime
  std::size_t block = 0;        // rows of a tile, at most
  std::size_t units = 0;        // subtrees and fronts above them
  std::size_t tiled_fronts = 0; // of these, cut into tasks
  /// Flops of the longest chain of tasks that wait for each other; `flops` without tasks.
  /// Assembling fronts counts nothing. It is known from the plan, not measured.
  double critical_path = 0;

  // ---- the factorisation ----
  double factor_seconds = 0; // that the last one took, without analysis; virtual in virtual time
  std::size_t tasks = 0;     // 0: without tasks
  std::size_t products = 0;  // of these, products of tiles: what GPUs are for
  std::size_t perturbed = 0; // pivots that were too small and replaced
  double growth = 0;         // largest modulus of a factor over the largest of the scaled matrix
  std::size_t memory = 0;    // bytes: factors, and what is kept to factorise again; on this rank

  // ---- the last solve ----
  double backward_error = 0; // componentwise, the largest of its right-hand sides
  std::size_t refinements = 0;
  std::size_t gmres_iterations = 0;

  /// The share of one worker's time that no factorisation takes less than with so many equal
  /// workers, from 1 / workers to 1: it takes at least the critical path, and at least its share of
  /// all flops. Holds where a task takes time in proportion to its flops: where long tasks run at a
  /// higher rate than short ones, or workers differ, as cores and GPUs do, it is only a guide.
  /// 0 workers count as 1.
  [[nodiscard]] double bound(std::size_t workers) const noexcept {
    auto const share = 1 / static_cast<double>(std::max<std::size_t>(workers, 1));
    return flops > 0 ? std::max(share, critical_path / flops) : share;
  }

  /// How many times more numbers the factors have than the matrix.
  [[nodiscard]] double fill() const noexcept {
    return entries == 0 ? 0 : static_cast<double>(factor_entries) / static_cast<double>(entries);
  }
};

} // namespace hetsched::sparse
