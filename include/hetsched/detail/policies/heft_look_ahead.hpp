// SPDX-License-Identifier: MIT
#pragma once
// Chooses a task's class of worker by a simulation of what heftp would do then.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/policies/heft_forecast.hpp>

#include <cstdint>
#include <span>

namespace hetsched::policies {

/// Heftp gives a task to the worker that ends it first. Some tasks should run on a core
/// instead (Kumar 2017, sec. 3.6.1). A simulation of the rest of the graph finds them, in one of
/// these ways:
enum class LookAhead : std::uint8_t {
  none,
  local_time,   // heftp+LET: a core is expected to end it no later than the simulation does
  gpus_busy,    // heftp+GB: with it on a core, no GPU is idle until it ends there; else on a GPU
  min_makespan, // heftp+MMS: the whole graph ends earlier with it on a core
};

} // namespace hetsched::policies

namespace hetsched::detail {

/// When a simulation stops: at the end of a task, earlier when a GPU is idle, or when all tasks
/// have ended.
struct ForecastWatch {
  using Node = HeftForecast::Node;

  Node const* until = nullptr; // null: when all is done
  bool* busy = nullptr;        // whether no GPU was idle; null: not asked

  [[nodiscard]] bool idle(Arch arch, std::int64_t) const noexcept {
    if (busy != nullptr) {
      *busy = arch == ArchHost;
      return *busy;
    }
    return true;
  }

  [[nodiscard]] bool ended(Node node, std::int64_t) const noexcept {
    return until == nullptr || node != *until;
  }
};

/// The classes to ask for the worker that ends the task first. `rest` is given to workers after it.
[[nodiscard]] inline ArchMask classes_to_ask(HeftForecast const& forecast,
                                             policies::LookAhead how,
                                             std::int64_t now,
                                             HeftForecast::Node node,
                                             std::span<HeftForecast::Node const> rest) {
  constexpr ArchMask all{0xff};
  constexpr auto only_cores = ArchMask::only(ArchHost);
  constexpr ArchMask not_cores{static_cast<std::uint8_t>(~only_cores.bits)};
  auto const first = forecast.choose(now, node, all);
  auto const on_core = forecast.choose(now, node, only_cores);
  if (!on_core.worker || !forecast.choose(now, node, not_cores).worker) {
    return all;
  }
  auto const end = [&](WorkerId worker, ForecastWatch const& watch) {
    return forecast.go_on(now, node, worker, rest, watch);
  };
  if (how == policies::LookAhead::gpus_busy) {
    bool busy = true;
    (void)end(on_core.worker, {&node, &busy});
    return busy ? only_cores : not_cores;
  }
  if (on_core.worker == first.worker) {
    return only_cores;
  }
  bool const better = how == policies::LookAhead::local_time
                          ? on_core.end <= end(first.worker, {&node})
                          : end(on_core.worker, {}) < end(first.worker, {});
  return better ? only_cores : all;
}

} // namespace hetsched::detail
