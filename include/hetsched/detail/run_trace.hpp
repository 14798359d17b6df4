// SPDX-License-Identifier: MIT
#pragma once
// The trace of a runtime: what its recorder has, and who took part.

#include <hetsched/detail/recorder.hpp>
#include <hetsched/detail/task_traits.hpp>
#include <hetsched/stats.hpp>
#include <hetsched/trace.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace hetsched::detail {

/// Throws Error(bad_call) if nothing is recorded.
template <class Scheduler, class Core>
[[nodiscard, gnu::noinline]] Trace trace_of(Core const& core) {
  auto const* const recorder = core.recorder();
  if (recorder == nullptr) {
    throw Error(ErrorCode::bad_call, "trace", "nothing is recorded: see Config::record");
  }
  auto trace = recorder->trace();
  trace.simulated = Core::in_virtual_time;
  trace.scheduler = task_name<Scheduler>();
  auto const devices = core.stats().devices;
  for (auto const& node : core.nodes()) {
    auto const k = static_cast<std::size_t>(node.id.value);
    trace.nodes.push_back({k == 0                   ? "host memory"
                           : k - 1 < devices.size() ? devices[k - 1].name
                                                    : "GPU " + std::to_string(k - 1),
                           node.capacity_bytes});
  }
  for (auto const& info : core.workers()) {
    bool const host = info.arch == ArchHost;
    auto const number = host ? info.id.value : info.node.value - 1;
    // No picture of a run is to pass what was emulated off as a GPU's.
    bool const emulated =
        !host &&
        trace.nodes[static_cast<std::size_t>(info.node.value)].name.starts_with("emulated");
    char const* const kind = emulated         ? "emulated GPU "
                             : !host          ? "GPU "
                             : info.cores > 1 ? "group "
                                              : "core ";
    trace.workers.push_back({kind + std::to_string(number), info.arch, info.node, info.cores});
  }
  return trace;
}

/// Where a file was asked for. Says so on stderr if that cannot be written.
template <class Scheduler, class Core>
void save_trace(Core const& core) noexcept {
  if (auto const* const recorder = core.recorder(); recorder != nullptr && recorder->saves()) {
    try {
      recorder->save(trace_of<Scheduler>(core));
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
}

} // namespace hetsched::detail
