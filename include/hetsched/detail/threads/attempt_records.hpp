// SPDX-License-Identifier: MIT
#pragma once
// The records of attempts at abortable tasks.

#include <hetsched/detail/dataflow/attempts.hpp>
#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/detail/threads/thread_host.hpp>

#include <atomic>
#include <cstdint>
#include <new>

namespace hetsched::detail {

/// Gives up what an attempt owns, which it is not to use any more.
inline void empty_attempt(TaskRecord& attempt) noexcept {
  drop_stand_ins(attempt);
  if (auto* const destroy = attempt.type_of().destroy_values) {
    destroy(attempt.values());
  }
}

inline void recycle_attempt(ThreadCore& core, ThreadWorker& worker, TaskRecord& attempt) {
  ThreadCore::BareHost(core, &worker, nullptr).recycle(attempt);
}

/// A copy of a task's record with copies of its values, for the worker to execute.
inline TaskRecord& make_attempt(ThreadCore& core, ThreadWorker& worker, Attempts& all) {
  auto& task = *all.task;
  auto const& type = task.type_of();
  auto& attempt = *worker.pool.allocate(task.size_class);
  try {
    attempt.start(type,
                  ArchMask{task.archs.load(std::memory_order_relaxed)},
                  task.parent.load(std::memory_order_relaxed),
                  no_attributes);
    attempt.access_count = task.access_count;
    type.copy_values(attempt.values(), task.values());
  } catch (...) {
    recycle_attempt(core, worker, attempt);
    throw;
  }
  attempt.binding.store(Binding::none, std::memory_order_relaxed);
  attempt.state.store(TaskState::running, std::memory_order_relaxed);
  attempt.worker.store(worker.info.id.value, std::memory_order_relaxed);
  attempt.priority = task.priority;
  attempt.graph_node = task.graph_node;
  attempt.reuse = task.reuse;
  attempt.flops = task.flops;
  for (std::uint32_t k = 0; k < task.access_count; ++k) {
    auto const& access = task.accesses()[k];
    new (attempt.accesses() + k)
        Access{access.queue, nullptr, {}, access.mode, access.duplicate, access.list, k};
  }
  auto& link = AttemptLink::of(attempt);
  link.all = &all;
  link.begin_ns = core.clock().ns;
  link.of_task = task.id();
  return attempt;
}

/// Undoes `make_attempt`.
inline void drop_attempt(ThreadCore& core, ThreadWorker& worker, TaskRecord& attempt) {
  empty_attempt(attempt);
  recycle_attempt(core, worker, attempt);
}

} // namespace hetsched::detail
