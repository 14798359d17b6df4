// SPDX-License-Identifier: MIT
#pragma once
// Counters of a runtime and reports of failed tasks: plain data, the same for every engine.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hetsched {

/// Execution times of one task type on one class of worker.
struct TypeStats {
  std::string name;
  Arch arch;
  std::uint64_t count = 0;
  Duration total;
  Duration shortest;
  Duration longest;
};

struct WorkerStats {
  std::uint64_t executed = 0; // bodies run to their end or to an exception
  std::uint64_t steals = 0;   // tasks obtained through the scheduler's steal hook
  Duration idle;              // looking for work or asleep, while in the runtime
  /// Attempts at tasks that were stopped or overtaken. The tasks ran elsewhere, or again.
  std::uint64_t aborted = 0;
  Duration wasted;   // time of the aborted attempts; in virtual time a part of `idle`
  bool busy = false; // on threads: at this moment a body runs there, and does not sleep in a sync
};

/// Transfers to, from and within one device's memory, and how much of them overlapped kernels.
struct DeviceStats {
  std::string name; // the driver's name for it: an emulated device's name says that it is emulated
  NodeId node;
  std::uint64_t hits = 0;   // data that were there when their task was admitted
  std::uint64_t misses = 0; // data that were not
  std::uint64_t evictions_clean = 0;
  std::uint64_t evictions_dirty = 0; // evictions with a transfer to host memory
  std::uint64_t bytes_from_host = 0;
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_from_peers = 0;
  /// Of the bytes to this device, those sent before a task was admitted that reads them: by hints,
  /// and because the scheduler's `peek` named the task. And of these, those that a task then read.
  /// The others were sent in vain, or their task has not come yet.
  std::uint64_t bytes_ahead = 0;
  std::uint64_t bytes_ahead_used = 0;
  /// Sum of the times of all transfers in this device's streams, by its own clock: to and from host
  /// memory, and from other devices. Two transfers at the same time, in and out, count twice.
  Duration transfers;
  /// Time during which at least one task's kernels ran. Two at the same time count once.
  Duration kernels;
  /// The part of `transfers` during which at least one task's kernels ran.
  Duration hidden;

  /// Keeps only what was counted after `earlier`, a snapshot of the same device.
  constexpr void count_from(DeviceStats const& earlier) noexcept {
    hits -= earlier.hits;
    misses -= earlier.misses;
    evictions_clean -= earlier.evictions_clean;
    evictions_dirty -= earlier.evictions_dirty;
    bytes_from_host -= earlier.bytes_from_host;
    bytes_to_host -= earlier.bytes_to_host;
    bytes_from_peers -= earlier.bytes_from_peers;
    bytes_ahead -= earlier.bytes_ahead;
    bytes_ahead_used -= earlier.bytes_ahead_used;
    transfers = transfers - earlier.transfers;
    kernels = kernels - earlier.kernels;
    hidden = hidden - earlier.hidden;
  }

  /// The share of transfer time that is hidden behind kernels, `hidden / transfers`, from 0 to 1; 0
  /// without transfers. 0 means that the device did one thing at a time.
  [[nodiscard]] constexpr double overlap_ratio() const noexcept {
    return transfers.ns == 0 ? 0 : hidden.seconds() / transfers.seconds();
  }
};

/// Snapshot of a runtime's counters since it began or since `reset_stats`. If it is taken while
/// tasks run, each field is consistent, but not the fields together.
struct Stats {
  std::uint64_t spawned = 0;  // tasks spawned by the user (reduction merges not counted)
  std::uint64_t executed = 0; // bodies run
  std::uint64_t merges = 0;   // reduction merges inserted by the engine
  std::uint64_t steals = 0;
  std::uint64_t failed = 0;    // bodies that ended by an exception
  std::uint64_t cancelled = 0; // tasks whose body was skipped
  std::uint64_t rerun = 0;     // tasks that a device refused or lost, and that ran elsewhere
  std::uint64_t early = 0;     // tasks given to a device before their predecessors there had ended
  std::uint64_t aborted = 0;   // attempts at tasks that were stopped before their end or overtaken
  /// Bytes copied so that an abortable task's data keep their values until it has ended: to buffers
  /// on the host, or from a device that had the only copy.
  std::uint64_t kept_bytes = 0;
  Duration elapsed;  // wall (or virtual) time covered
  Duration idle;     // sum over workers
  Duration wasted;   // time of the `aborted` attempts; in virtual time a part of `idle`
  Duration deciding; // real time in the scheduler's hooks, if Simulation::time_decisions
  std::vector<WorkerStats> workers;
  std::vector<TypeStats> types; // filled when Config::timing is on
  std::vector<DeviceStats> devices;
};

/// What `Runtime::failures` says about one failed task.
struct FailureReport {
  std::string task;    // type name
  std::string label;   // as given at spawn; may be empty
  std::string message; // what() of the exception, or "unknown exception" if it has none
};

} // namespace hetsched
