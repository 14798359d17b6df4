// SPDX-License-Identifier: MIT
#pragma once
// Counters of a runtime and reports of failed tasks: plain data, the same for every engine.

#include <hetsched/time.hpp>
#include <hetsched/types.hpp>

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
};

/// Snapshot of a runtime's counters since it began or since `reset_stats`. Taken while tasks run,
/// it is consistent per field only.
struct Stats {
  std::uint64_t spawned = 0;  // tasks spawned by the user (reduction merges not counted)
  std::uint64_t executed = 0; // bodies run
  std::uint64_t merges = 0;   // reduction merges inserted by the engine
  std::uint64_t steals = 0;
  std::uint64_t failed = 0;    // bodies that ended by an exception
  std::uint64_t cancelled = 0; // tasks whose body was skipped
  Duration elapsed;            // wall (or virtual) time covered
  Duration idle;               // sum over workers
  std::vector<WorkerStats> workers;
  std::vector<TypeStats> types; // filled when Config::timing is on
};

/// What `Runtime::failures` tells of one failed task.
struct FailureReport {
  std::string task;    // type name
  std::string label;   // as given at spawn; may be empty
  std::string message; // what() of the exception, or "unknown exception"
};

} // namespace hetsched
