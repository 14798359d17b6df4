// SPDX-License-Identifier: MIT
#pragma once
// The interface through which engines record a run. The one implementation is in recording.hpp, for
// programs that include it.

#include <hetsched/core/error.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/dataflow/data_observer.hpp>
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

/// The machine and the scheduler of a run, for its trace.
struct RunDescription {
  bool simulated;
  std::string_view scheduler;
  std::span<NodeInfo const> nodes;
  std::span<WorkerInfo const> workers;
  std::span<DeviceStats const> devices; // by node, from node 1 on; may be empty
};

/// How a worker got a task that it executes. `at` is 0 if `taken` was called, or if nobody noted
/// the time.
struct Taking {
  Instant asked;
  Instant at;
  bool stolen = false; // the steal hook gave it
};

/// Which way a message goes.
struct MessageRoute {
  std::uint64_t number; // see Trace::Message
  std::uint32_t from;
  std::uint32_t to;
};

/// Keeps events. Trace says how each of them shows. `by`: the worker whose thread calls, one thread
/// at a time. no_worker: any thread; this takes a lock.
class Recorder {
public:
  virtual ~Recorder() = default;

  /// The run begins: called once, before all others.
  virtual void begin(RunDescription const& run) = 0;

  /// The task is about to be registered. Its accesses are complete.
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

  /// The task's body leaves its worker, whose thread calls, to go on later; see Trace::Part.
  virtual void left(WorkerId on, TaskId task, Taking const& taking, Instant begin, Instant end) = 0;
  virtual void aborted(WorkerId by, WorkerId on, TaskId task, Instant begin, Instant end) = 0;

  /// The task's body waits, and its worker, whose thread calls, finds no task to execute.
  virtual void waited(WorkerId on, TaskId task, Instant begin, Instant end) = 0;

  /// A thread of the program sits down in worker 0 to wait, or gets up again. That thread calls,
  /// and threads that wait in each other's way may do so in turns.
  virtual void seated(bool sits, Instant at) = 0;

  virtual void moved(Replicas const& datum, NodeId from, NodeId to, Instant begin, Instant end) = 0;
  virtual void evicted(Replicas const& datum, NodeId at, Instant when, bool dirty) = 0;

  // ---- of a rank of several ----

  /// This runtime is that rank's of so many: before all messages.
  virtual void of_rank(std::uint32_t rank, std::uint32_t ranks, Instant at) = 0;

  /// The external task, which carries a message, is about to be registered; its one access is
  /// complete. Trace::Message has the meaning of the rest.
  virtual void message(TaskRecord const& task, MessageRoute const& route, Instant at) = 0;
  virtual void passed(TaskId task, Instant asked, Instant begin, Instant end) = 0;

  /// See Trace::Clock.
  virtual void compared_clocks(Instant at, Duration offset, Duration error) = 0;

  /// Traces will not show events before this time.
  virtual void forget(Instant before) = 0;

  /// The trace of the events so far. While tasks run, it has each worker's events up to some
  /// moment.
  [[nodiscard]] virtual Trace trace(RunDescription const& run) const = 0;

  /// Whether a file was asked for.
  [[nodiscard]] virtual bool saves() const noexcept = 0;

  /// Itself, if it wants to know of data.
  [[nodiscard]] virtual DataObserver* observer() noexcept { return nullptr; }

  /// Writes the trace to this file. Reports a failure on stderr.
  virtual void save(RunDescription const& run) const noexcept = 0;
};

/// The default of Config::trace_memory.
inline constexpr std::uint64_t default_trace_memory = std::uint64_t{1} << 30U;

struct RecorderSetup {
  std::string path;               // empty: nothing is written at the end
  bool record = false;            // record even without a path
  std::uint64_t memory = 0;       // bytes at most
  std::string reuse_profile = {}; // a file for the uses of data, unless it is there; empty: none
};

using RecorderFactory = Recorder* (*)(RecorderSetup const& setup, std::size_t workers);

/// Set by recording.hpp in any of a program's files, before main begins.
inline constinit RecorderFactory recorder_factory = nullptr;

/// What reuse_profile.hpp does.
struct ReuseProfiles {
  /// A Recorder that also counts the uses of data; null if the file is there.
  Recorder* (*count)(RecorderSetup const& setup, std::size_t workers);

  /// Gives data their indices from the file. Throws Error(bad_input).
  DataObserver* (*give)(std::string const& path);
};

/// Set by reuse_profile.hpp in any of a program's files, before main begins.
inline constinit ReuseProfiles const* reuse_profiles = nullptr;

/// Who is told of data: one of these, or nobody; each may be null.
[[nodiscard]] inline DataObserver* observer_of(Recorder* recorder, DataObserver* indices) noexcept {
  return indices != nullptr || recorder == nullptr ? indices : recorder->observer();
}

/// Returns null if no profile was asked for, or if `recorder` makes it. Throws Error.
[[nodiscard]] inline DataObserver* open_reuse_indices(std::string const& path, Recorder* recorder) {
  bool const counted = recorder != nullptr && recorder->observer() != nullptr;
  return path.empty() || counted ? nullptr : reuse_profiles->give(path);
}

/// Returns null if nothing is to be recorded. Throws Error(bad_config).
[[nodiscard]] inline Recorder* open_recorder(RecorderSetup const& setup, std::size_t workers) {
  if (!setup.reuse_profile.empty()) {
    if (reuse_profiles == nullptr) {
      throw Error(ErrorCode::bad_config,
                  "HETSCHED_REUSE_PROFILE",
                  "this program was made without profiles of reuse: include "
                  "<hetsched/reuse_profile.hpp> in one of its files");
    }
    if (auto* const counter = reuse_profiles->count(setup, workers)) {
      return counter;
    }
  }
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
