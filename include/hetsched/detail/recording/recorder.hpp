// SPDX-License-Identifier: MIT
#pragma once
// What engines tell of a run while it goes on. The one implementation is in recording.hpp, for
// programs that include it.

#include <hetsched/core/error.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/memory/replicas.hpp>
#include <hetsched/trace/task_outcome.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hetsched {

struct Trace;

} // namespace hetsched

namespace hetsched::detail {

struct DataRecord;

/// Who took part in a run, for its trace.
struct RunDescription {
  bool simulated;
  std::string_view scheduler;
  std::span<NodeInfo const> nodes;
  std::span<WorkerInfo const> workers;
  std::span<DeviceStats const> devices; // by node, from node 1 on; may be empty
};

/// How a worker came by a task that it executes; `at` is 0 if `taken` tells, or nobody took note.
struct Taking {
  Instant asked;
  Instant at;
  bool stolen = false; // by the steal hook
};

/// Keeps events; how each shows in a Trace is said there. `by`: the worker whose thread tells, for
/// one thread at a time; no_worker: any thread, which takes a lock.
class Recorder {
public:
  virtual ~Recorder() = default;

  /// The task is about to be registered: its accesses are as they will be.
  virtual void spawned(WorkerId by, TaskRecord const& task, Instant at) = 0;
  virtual void ready(WorkerId by, TaskId task, Instant at) = 0;

  /// A region is about to be divided into parts, or to be joined, among the tasks of `parent`.
  virtual void divided(WorkerId by,
                       bool joined,
                       TaskRecord const* parent,
                       DataRecord const& whole,
                       std::span<DataRecord* const> parts,
                       Instant at) = 0;

  virtual void taken(WorkerId by, WorkerId on, TaskId task, Taking const& how) = 0;

  virtual void admitted(TaskId task, Instant at) = 0;
  virtual void ran(WorkerId by,
                   WorkerId on,
                   TaskId task,
                   Taking const& taking,
                   Instant begin,
                   Instant end,
                   TaskOutcome how) = 0;
  virtual void aborted(WorkerId by, WorkerId on, TaskId task, Instant begin, Instant end) = 0;

  /// The task's body waits, and its worker, whose thread tells, finds nothing to execute.
  virtual void waited(WorkerId on, TaskId task, Instant begin, Instant end) = 0;

  virtual void moved(Replicas const& datum, NodeId from, NodeId to, Instant begin, Instant end) = 0;
  virtual void evicted(Replicas const& datum, NodeId at, Instant when, bool dirty) = 0;

  /// What was before is not to be shown.
  virtual void forget(Instant before) = 0;

  /// Of what is kept so far. While tasks run, each worker's events up to some moment.
  [[nodiscard]] virtual Trace trace(RunDescription const& run) const = 0;

  /// Whether a file was asked for.
  [[nodiscard]] virtual bool saves() const noexcept = 0;

  /// Writes the trace there. Says so on stderr if that cannot be.
  virtual void save(RunDescription const& run) const noexcept = 0;
};

/// Of Config::trace_memory.
inline constexpr std::uint64_t default_trace_memory = std::uint64_t{1} << 30U;

struct RecorderSetup {
  std::string path;         // empty: nothing is written at the end
  bool record = false;      // all the same
  std::uint64_t memory = 0; // bytes at most
};

using RecorderFactory = Recorder* (*)(RecorderSetup const& setup, std::size_t workers);

/// Set by recording.hpp in any of a program's files, before main begins.
inline constinit RecorderFactory recorder_factory = nullptr;

/// Null unless something is to be recorded. Throws Error(bad_config).
[[nodiscard]] inline Recorder* open_recorder(RecorderSetup const& setup, std::size_t workers) {
  if (setup.path.empty() && !setup.record) {
    return nullptr;
  }
  if (recorder_factory == nullptr) {
    throw Error(ErrorCode::bad_config,
                "HETSCHED_TRACE",
                "this program was made without recording: include <hetsched/recording.hpp> in one "
                "of its files");
  }
  return recorder_factory(setup, workers);
}

} // namespace hetsched::detail
