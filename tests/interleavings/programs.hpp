// SPDX-License-Identifier: MIT
#pragma once
// The programs that are run through many interleavings.

#include <hetsched/core/config.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interleavings {

struct Program {
  std::string_view name;
  void (*run)();
};

/// Programs of a runtime with the default scheduler, compiled in.
[[nodiscard]] std::span<Program const> runtime_programs();

/// Some of them with one central queue.
[[nodiscard]] std::span<Program const> oldest_first_programs();

/// Programs whose dependencies are computed when stolen.
[[nodiscard]] std::span<Program const> stolen_programs();

/// Programs in which tasks wait for each other, so that each needs a worker of its own.
[[nodiscard]] std::span<Program const> meeting_programs();

/// Programs with coroutines.
[[nodiscard]] std::span<Program const> coroutine_programs();

/// Pipelines and a loop.
[[nodiscard]] std::span<Program const> algorithm_programs();

/// Programs with senders.
[[nodiscard]] std::span<Program const> sender_programs();

/// Programs with emulated devices.
[[nodiscard]] std::span<Program const> device_programs();

/// Those in which devices claim tasks that others could run.
[[nodiscard]] std::span<Program const> claim_programs();

/// The first with AnyScheduler; `name` says which.
[[nodiscard]] std::span<Program const> programs_of_any(char const* name);

/// Of the schedulers that ship.
[[nodiscard]] std::vector<std::string> scheduler_names();

/// Queues, and what workers sleep on.
[[nodiscard]] std::span<Program const> queue_programs();

/// `cpus` workers that are not bound to cores, and no devices.
[[nodiscard]] inline hetsched::Config on_cores(int cpus) {
  hetsched::Config config;
  config.cpus = cpus;
  config.bind = hetsched::Bind::none;
  config.devices = "none";
  config.seed = 1;
  return config;
}

} // namespace interleavings
