// SPDX-License-Identifier: MIT
#pragma once
// What the dataflow layer and spawns ask of an engine.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <concepts>
#include <cstddef>
#include <exception>

namespace hetsched::detail {

struct Divisions;
struct PartitionState;

/// Acts for an engine while one thread registers or releases the accesses of tasks. It lives on
/// that thread's stack, for one spawn or one completion. It may keep ready tasks back from the
/// scheduler until its destructor runs.
///
///   ready(task)          a task of the program's, or a merge, holds its data: it may be executed
///   wait_granted(task)   one of `wait_type` does: whoever waits for it may look at the datum
///   give_to_device(hint) a hint does (spawn/hints.hpp)
///   prepare_merge(queue) a record for a merge, added to the queue's `spare_merge`
///   new_merge(queue, ops)  a new task that merges contributions, in such a record, with the queue
///                        as its one access; it is counted as one that must end
///   fail(holder, error)  the data of a partition are lost, as `error` says: the sync of their
///                        domain rethrows it. Called before any of them are marked
///   recycle(task)        the record is not needed any more
///   divisions()          a place for `divide` (partitions.hpp), null at first
template <class H>
concept task_host = requires(H& host,
                             TaskRecord& task,
                             AccessQueue& queue,
                             ReductionOps const& ops,
                             std::exception_ptr const& error) {
  host.ready(task);
  host.wait_granted(task);
  host.give_to_device(task);
  host.prepare_merge(queue);
  { host.new_merge(queue, ops) } -> std::same_as<TaskRecord&>;
  host.fail(task, error);
  host.recycle(task);
  { host.divisions() } -> std::same_as<Divisions*&>;
};

/// A host that also makes tasks.
///
///   spawner()            the running task that spawns; null outside bodies
///   allocate(class), start_record(task, type, parent, attributes)   memory, and a record in it
///   count_spawn(task)    it must end before a sync returns; uncount_spawn: it was never registered
///   count_hint(hint), uncount_hint(hint)   the same for the library's own tasks
///   note_spawn(task)     it is about to be registered; throws Error if nobody can run it
///   note_end(task)       it was not registered after all
///   note_division(state, joined)   a region is about to be divided, or joined
template <class H>
concept spawn_host = task_host<H> && requires(H& host,
                                              H const& known,
                                              TaskRecord& task,
                                              TaskType const& type,
                                              Attributes const& attributes,
                                              PartitionState const& division) {
  { known.spawner() } -> std::same_as<TaskRecord*>;
  { host.allocate(std::size_t{}) } -> std::same_as<TaskRecord*>;
  host.start_record(task, type, &task);
  host.start_record(task, type, &task, attributes);
  host.count_spawn(task);
  host.uncount_spawn(task);
  host.count_hint(task);
  host.uncount_hint(task);
  host.note_spawn(task);
  host.note_end(task);
  host.note_division(division, true);
};

} // namespace hetsched::detail
