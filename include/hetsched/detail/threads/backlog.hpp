// SPDX-License-Identifier: MIT
#pragma once
// Tasks of a body whose dependencies nobody has computed, as the engine of threads knows them.

#include <hetsched/detail/dataflow/task_record.hpp>

#include <span>

namespace hetsched::detail {

struct AccessQueue;
struct Backlog;
struct DataRecord;
class ThreadCore;
struct ThreadWorker;
struct ValueMaker;

/// What the engine calls where Config::dependencies is when_stolen: see backlog_run.hpp, which
/// when_stolen.hpp includes. All are for the calling thread.
struct BacklogFunctions {
  /// Whether an engine that starts may postpone tasks.
  bool (*possible)(ThreadCore const& core);
  /// Runs a body, which may postpone tasks, then those that it has left.
  void (*run)(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  /// A spawn. Returns false if it is to be an ordinary one. Throws as that does.
  bool (*postpone)(ThreadCore& core,
                   TaskType const& type,
                   Attributes const& attributes,
                   std::span<DataRecord* const> data,
                   ValueMaker values);
  /// The same of a join or a discard. Waits for tasks that other threads have postponed.
  bool (*keep)(ThreadCore& core, TaskRecord& task);
  /// A postponed task has completed.
  void (*end)(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  /// The body of `task` waits for its children: runs those that are postponed.
  void (*run_own)(ThreadCore& core, TaskRecord& task);
  /// It has none left: what it spawns may be postponed again.
  void (*begin_again)(ThreadCore& core, TaskRecord& task);
  /// Registers what the running body has postponed, or what all bodies of the thread have. What
  /// they spawn is ordinary from here on, until they have waited for it; of the first only
  /// `though_empty` if nothing was postponed. The first throws bad_alloc.
  void (*hand_over_own)(ThreadCore& core, bool though_empty);
  void (*hand_over_all)();
  /// The same before a body that may suspend itself. Throws bad_alloc.
  void (*leave)();
  /// Waits until no task that uses the queue's datum is postponed.
  void (*await_owner)(AccessQueue& queue);
};

/// Null in programs that do not include when_stolen.hpp.
inline constinit BacklogFunctions const* backlogs = nullptr;

} // namespace hetsched::detail
