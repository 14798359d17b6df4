// SPDX-License-Identifier: MIT
#pragma once
// What a memory node has.

#include <hetsched/concepts/context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hetsched::detail {

/// As in ArgumentView::valid_nodes and valid_at.
[[nodiscard]] inline std::uint64_t node_bit(WorkerInfo const& info) noexcept {
  return std::uint64_t{1} << std::min(info.node.value, 63);
}

/// Bytes of the data that the task reads and of which the node has no valid copy.
template <placement_context Ctx>
[[nodiscard]] std::size_t bytes_missing(Ctx const& ctx, TaskId task, NodeId node) {
  auto const view = ctx.task(task);
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < view.arguments; ++k) {
    auto const argument = view.argument(k);
    bytes += reads(argument.mode) && !argument.valid_at(node) ? argument.bytes : 0;
  }
  return bytes;
}

/// MultiPrio's score of what the node has of a task's data: the bytes that it reads, and the
/// squares of those that it writes.
template <placement_context Ctx>
[[nodiscard]] double local_score(Ctx const& ctx, TaskId task, NodeId node) {
  auto const view = ctx.task(task);
  double score = 0;
  for (std::size_t k = 0; k < view.arguments; ++k) {
    auto const argument = view.argument(k);
    auto const bytes = argument.valid_at(node) ? static_cast<double>(argument.bytes) : 0;
    score += writes(argument.mode) ? bytes * bytes : bytes;
  }
  return score;
}

} // namespace hetsched::detail
