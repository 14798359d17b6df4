// SPDX-License-Identifier: MIT
#pragma once
// What a task reads and a memory node does not have.

#include <hetsched/concepts/context.hpp>

#include <cstddef>

namespace hetsched::detail {

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

} // namespace hetsched::detail
