// SPDX-License-Identifier: MIT
#pragma once
// Hints: which class of worker a task of a graph is for, and no more.

#include <hetsched/core/error.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/static_plan.hpp>

#include <cstddef>
#include <vector>

namespace hetsched {

/// Classes of worker that the tasks of a graph are restricted to, one entry for each, for
/// `Runtime::run(graph, allocation)` under any scheduler.
using Allocation = std::vector<ArchMask>;

/// A plan's classes of worker without its workers and order (Kumar 2017, sec. 2.5.2 and 3.9).
[[nodiscard]] inline Allocation allocation_of(StaticPlan const& plan) {
  Allocation allocation(plan.tasks, ArchMask{0xff});
  for (auto const& [task, worker] : plan.steps) {
    allocation[task] = ArchMask::only(plan.workers[worker.index()]);
  }
  return allocation;
}

/// Of a tile Cholesky factorisation: cores for each trsm whose tile is at least so many tiles below
/// the diagonal, any class for all other tasks (Kumar 2017, sec. 2.4.3, fig. 2.9). Reckons with the
/// program order of linalg::cholesky: behind each potrf the tasks trsm of its column, downwards.
/// Throws Error(bad_call) for a graph without potrf.
[[nodiscard]] inline Allocation far_trsm_on_cores(TaskGraph const& graph, std::size_t tiles) {
  Allocation allocation(graph.size(), ArchMask{0xff});
  std::size_t distance = 0;
  bool cholesky = false;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    auto const type = graph.nodes()[v].type;
    if (type == "potrf") {
      cholesky = true;
      distance = 0;
    } else if (type == "trsm" && ++distance >= tiles) {
      allocation[v] = ArchMask::only(ArchHost);
    }
  }
  if (!cholesky) {
    throw Error(ErrorCode::bad_call, "graph", "has no potrf: it is no Cholesky factorisation");
  }
  return allocation;
}

} // namespace hetsched
