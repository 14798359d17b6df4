// SPDX-License-Identifier: MIT
#pragma once
// What simulations of several nodes have in common.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace hetsched::detail {

/// Before a graph is run on `nodes` nodes, which are called `what`: datum d is at home on node
/// homes[d], and task v on node on[v], of which `least` is the lowest that may stand there. Throws
/// Error(bad_call).
inline void check_places(TaskGraph const& graph,
                         std::span<std::int32_t const> homes,
                         std::span<std::int32_t const> on,
                         std::int32_t least,
                         int nodes,
                         char const* what) {
  auto const refuse = [](std::string const& why) { throw Error(ErrorCode::bad_call, "run", why); };
  if (homes.size() != graph.data_bytes().size()) {
    refuse(text("%zu homes for %zu data", homes.size(), graph.data_bytes().size()));
  }
  if (!on.empty() && on.size() != graph.size()) {
    refuse(text("%ss for %zu of %zu tasks", what, on.size(), graph.size()));
  }
  for (auto const& [all, lowest] : {std::pair(homes, std::int32_t{0}), std::pair(on, least)}) {
    for (auto const number : all) {
      if (number < lowest || number >= nodes) {
        refuse(text("there is no %s %d among %d", what, int{number}, nodes));
      }
    }
  }
}

/// After an error, before the runtimes of nodes go. Why was told; that tasks are left follows.
template <class Nodes>
void forget_tasks(Nodes& nodes) {
  for (auto& node : nodes) {
    try {
      node.wait();
    } catch (...) {
    }
  }
}

} // namespace hetsched::detail
