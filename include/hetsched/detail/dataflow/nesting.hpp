// SPDX-License-Identifier: MIT
#pragma once
// Which queue orders an access: the datum's own, or one in the domain of the spawning task.

#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace hetsched::detail {

/// `find_queue` if that is not simply the datum's own.
[[nodiscard]] AccessQueue& find_inherited_queue(DataRecord& record,
                                                AccessMode mode,
                                                ReductionOps const* op,
                                                TaskRecord* parent,
                                                Domain& domain);

/// The queue of `record` in `domain`, whose owner is `parent` (null: outside any task). A datum
/// that the parent declared gets a queue in the parent's domain when first used there. Called by
/// the thread that executes the parent. Throws Error(bad_access).
[[nodiscard]] inline AccessQueue& find_queue(DataRecord& record,
                                             AccessMode mode,
                                             ReductionOps const* op,
                                             TaskRecord* parent,
                                             Domain& domain) {
  return record.home.domain == &domain && record.allows(mode)
             ? record.home
             : find_inherited_queue(record, mode, op, parent, domain);
}

/// What a thread is about to register, for an engine that postpones tasks of a body: see Backlog.
enum class Registers : std::uint8_t {
  tasks,      // behind all that is postponed
  partition,  // likewise. If nothing is postponed, it is granted at once, as no other task of the
              // domain is left that names data; so tasks on the parts may be postponed
  postponable // joins and discards: the host is asked for each (`postpone`)
};

/// Whether a task that runs (null: none), or an ancestor of it, declared the datum or a part of it.
[[nodiscard]] inline bool uses(TaskRecord* task, DataRecord const& record) noexcept {
  for (; task != nullptr; task = task->parent.load(std::memory_order_relaxed)) {
    for (auto& access : std::span(task->accesses(), task->access_count)) {
      // Whoever runs an ancestor may give it another queue of the same datum: see Backlog.
      auto const& queue = *std::atomic_ref(access.queue).load(std::memory_order_acquire);
      for (auto const* data = queue.data; data != nullptr; data = data->whole) {
        if (data == &record) {
          return true;
        }
      }
    }
  }
  return false;
}

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/dataflow/nesting_inl.hpp>
#endif
