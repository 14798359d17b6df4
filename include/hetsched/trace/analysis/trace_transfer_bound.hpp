// SPDX-License-Identifier: MIT
#pragma once
// The bound with transfers for a run that was recorded. Needs Clp.

#include <hetsched/bounds/transfer_bound.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/analysis/trace_times.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace hetsched {

/// transfer_bound of what was run, with the trace's workers and typical times, on a platform of
/// which only memory nodes, routes and links count. Transfers share its links, if it has some; else
/// they are those of Simulation::Transfers::model. As the bounds of bounds_of, it holds for runs in
/// which each task takes its typical time, and transfers no less than the platform says.
///
/// Nothing if a time is unknown, as there, or if the trace does not say all about where data had to
/// be: it is not complete, not all tasks were done, some are
/// nested, or data were partitioned. Throws what transfer_bound
/// throws.
[[nodiscard]] inline std::optional<Duration>
transfer_bound_of(Trace const& trace, std::vector<TimeSpread> const& spreads, Platform platform) {
  auto const typical = typical_class_times(trace, spreads);
  bool const flat = std::all_of(trace.tasks.begin(), trace.tasks.end(), [&](auto const& task) {
    return task.outcome == Trace::Outcome::done && task.parent == Trace::none &&
           trace.types[task.type].name != merge_task_name;
  });
  if (!typical || !flat || trace.dropped != 0 || edges_without_data(trace) != 0) {
    return std::nullopt;
  }
  platform.classes.clear();
  ClassTimes times;
  for (std::size_t c = 0; c < typical->workers.size(); ++c) {
    if (typical->workers[c] != 0) {
      platform.classes.push_back({"", Arch{static_cast<std::uint8_t>(c)}, typical->workers[c], ""});
      times.workers.push_back(typical->workers[c]);
    }
  }
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    for (auto const& worker_class : platform.classes) {
      times.times.push_back(typical->on(v, worker_class.arch.index));
    }
  }
  return transfer_bound(task_graph_of(trace).graph,
                        times,
                        platform,
                        platform.links.empty() ? Simulation::Transfers::model
                                               : Simulation::Transfers::shared);
}

} // namespace hetsched
