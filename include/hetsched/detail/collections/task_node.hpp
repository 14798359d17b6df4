// SPDX-License-Identifier: MIT
#pragma once
// What runs the tasks of a collection on one rank.

#include <hetsched/core/access.hpp>
#include <hetsched/detail/cluster/cluster_tasks.hpp>
#include <hetsched/detail/collections/array_layout.hpp>
#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/collections/steps.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/handles/group.hpp>
#include <hetsched/handles/handle.hpp>

#include <cstddef>
#include <list>
#include <memory>

namespace hetsched::detail {

/// One patch on this rank, densely packed.
struct PatchBuffer {
  PatchOf patch;
  WindowElement element = WindowElement::f64;
  std::unique_ptr<std::byte[]> memory; // null in virtual time
  Handle<AnyData> handle;              // goes before the memory
  int users = 0;                       // tasks that read or write it, and its get
  bool holds = false;                  // what the array has there, so that others can read it here
  std::list<PatchBuffer>::iterator at; // itself

  [[nodiscard]] DataRecord& record() const noexcept { return *handle.record(); }
};

/// A runtime, on threads or in virtual time, and the arrays as it reaches them. For one thread at a
/// time.
class TaskNode {
public:
  TaskNode() = default;
  TaskNode(TaskNode const&) = delete;
  TaskNode& operator=(TaskNode const&) = delete;
  virtual ~TaskNode() = default;

  [[nodiscard]] virtual WindowElement element_of(PatchOf const& patch) const = 0;

  /// Gives the buffer memory and a handle.
  virtual void attach(PatchBuffer& buffer) = 0;

  [[nodiscard]] virtual std::unique_ptr<TaskGroup> make_group() = 0;

  /// A task of the group, for workers of these classes. `records`: of its patches. Throws
  /// Error(cannot_run) if it cannot run on any of them.
  virtual void
  spawn(PackedTask const& task, TaskGroup& group, ArchMask archs, DataRecord* const* records) = 0;

  /// An external task, which `use` is told of when the datum is granted to it.
  virtual void spawn_use(DataRecord& record, AccessMode mode, ExternalUse& use) = 0;

  /// Of a granted use: whether host memory has the datum, to be read or written. If not it will.
  /// Throws what the loss of a device throws.
  [[nodiscard]] virtual bool is_home(TaskRecord& use) = 0;

  /// `failed`: what it was to write is poisoned.
  virtual void end_use(TaskRecord& use, bool failed) = 0;

  /// Between the array and the buffer.
  [[nodiscard]] virtual Step<> transfer(PatchUse kind, PatchBuffer& buffer) = 0;
};

} // namespace hetsched::detail
