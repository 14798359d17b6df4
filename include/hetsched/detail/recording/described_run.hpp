// SPDX-License-Identifier: MIT
#pragma once
// Describes the machine of a run in its trace.

#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/trace/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hetsched::detail {

/// The part of a rank's trace in those of all ranks is all of it.
inline void describe_rank(Trace& trace) {
  for (auto& rank : trace.ranks) {
    if (rank.workers != 0) {
      rank = {static_cast<std::uint32_t>(trace.workers.size()),
              static_cast<std::uint32_t>(trace.nodes.size())};
    }
  }
}

/// Adds the description to a trace that has the events.
inline void describe_run(Trace& trace, RunDescription const& run) {
  trace.scheduler = run.scheduler;
  for (auto const& node : run.nodes) {
    auto const k = static_cast<std::size_t>(node.id.value);
    trace.nodes.push_back({k == 0                       ? "host memory"
                           : k - 1 < run.devices.size() ? run.devices[k - 1].name
                                                        : "GPU " + std::to_string(k - 1),
                           node.capacity_bytes});
  }
  for (auto const& info : run.workers) {
    bool const host = info.arch == ArchHost;
    auto const number = host ? info.id.value : info.node.value - 1;
    // No picture of a run may show an emulated device as a GPU.
    bool const emulated =
        !host &&
        trace.nodes[static_cast<std::size_t>(info.node.value)].name.starts_with("emulated");
    char const* const kind = emulated         ? "emulated GPU "
                             : !host          ? "GPU "
                             : info.cores > 1 ? "group "
                                              : "core ";
    trace.workers.push_back({kind + std::to_string(number), info.arch, info.node, info.cores});
  }
  describe_rank(trace);
}

} // namespace hetsched::detail
