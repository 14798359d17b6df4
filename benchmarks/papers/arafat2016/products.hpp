// SPDX-License-Identifier: MIT
#pragma once
// The microbenchmark of the paper (sec. 4.2, figure 8): products of two sizes on skewed ranks.

#include <hetsched/graphs/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace arafat2016 {

/// Independent tasks, where their data are, and where they begin.
struct Workload {
  hetsched::TaskGraph graph;
  std::vector<std::int32_t> homes;
  std::vector<std::int32_t> on;
};

struct Products {
  std::size_t small = 500; // C += A B with n x n matrices, for cores
  std::size_t large = 1000;
  int small_tasks = 0; // of all ranks
  int large_tasks = 0;
};

/// Each task has matrices of its own, on the ranks in turn. Of the tasks a part of 1 - skew begins
/// on as large a part of the ranks, evenly, and the rest on one other rank; with skew 0 each begins
/// where its matrices are.
[[nodiscard]] Workload products(Products const& sizes, int ranks, double skew);

} // namespace arafat2016
