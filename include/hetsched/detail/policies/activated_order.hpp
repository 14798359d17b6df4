// SPDX-License-Identifier: MIT
#pragma once
// The order in which tasks that one end makes ready choose their workers.

#include <hetsched/concepts/context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The highest priority first, then the first in its graph, then the first of the set. Keeps its
/// memory.
class ActivatedOrder {
public:
  struct Place {
    std::int32_t priority;
    std::int32_t node;  // in its graph
    std::size_t number; // in the set

    friend bool operator<(Place const& a, Place const& b) noexcept {
      return a.priority != b.priority ? a.priority > b.priority
             : a.node != b.node       ? a.node < b.node
                                      : a.number < b.number;
    }
  };

  /// Valid until the next call.
  template <placement_context Ctx>
  std::span<Place const> of(Ctx const& ctx, std::span<TaskId const> tasks) {
    places_.clear();
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      auto const view = ctx.task(tasks[k]);
      places_.push_back({view.priority, view.graph_node, k});
    }
    std::sort(places_.begin(), places_.end());
    return places_;
  }

private:
  std::vector<Place> places_;
};

} // namespace hetsched::detail
