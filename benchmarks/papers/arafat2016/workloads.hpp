// SPDX-License-Identifier: MIT
#pragma once
// The independent tasks of the paper's experiments, where their data are, and where they begin.

#include <hetsched/graphs/task_graph.hpp>

#include "ccsd_t.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace arafat2016 {

namespace hs = hetsched;

struct Workload {
  hs::TaskGraph graph;
  std::vector<std::int32_t> homes;
  std::vector<std::int32_t> on;
};

struct Products {
  std::size_t small = 500; // C += A B with n x n matrices, for cores
  std::size_t large = 1000;
  int small_tasks = 0; // of all ranks
  int large_tasks = 0;
};

/// The microbenchmark (sec. 4.2, figure 8). Each task has matrices of its own, on the ranks in
/// turn. Of the tasks a part of 1 - skew begins on as large a part of the ranks, evenly, and the
/// rest on one other rank; with skew 0 each begins where its matrices are.
[[nodiscard]] Workload products(Products const& sizes, int ranks, double skew);

/// Equal products that all begin on rank 0, which has no matrix, unless it is the only rank
/// (figure 9).
[[nodiscard]] Workload equal_products(std::size_t n, int tasks, int ranks);

/// The blocks of t3 lie end to end, and so do those of t2 and v2, in arrays of which each rank has
/// an equal part, as NWChem makes them with Global Arrays. A block may be in pieces, which are data
/// of their own. Tasks begin in blocks (sec. 4.3).
[[nodiscard]] Workload contractions(CcsdT const& input, int ranks);

} // namespace arafat2016
