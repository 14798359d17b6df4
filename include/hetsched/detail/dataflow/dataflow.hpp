// SPDX-License-Identifier: MIT
#pragma once
// Dependencies from access modes: registration, and, from the files that this one includes,
// release, reductions, commuting tasks, partitions.
//
// No engine inside: a `Host` (the engine) is told what became ready. It offers
//   void ready(TaskRecord&)            hand to the scheduler
//   void wait_granted(TaskRecord&)     a waiting thread holds its datum
//   void give_to_device(TaskRecord&)   a hint for a device's worker holds its datum
//   void prepare_merge(AccessQueue&)   take the memory of a merge: add to its spare_merge
//   TaskRecord& new_merge(AccessQueue&, ReductionOps const&)   make and count a merge task there
//   void fail(TaskRecord&, std::exception_ptr)   data of a partition are lost
//   void recycle(TaskRecord&)          a record is no longer needed
//   Divisions*& divisions()            null at first: see partitions.hpp
// Locks: those of the queues involved, always in address order, never while calling ready.

#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/granting.hpp>
#include <hetsched/detail/dataflow/lock_order.hpp>
#include <hetsched/detail/dataflow/partitions.hpp>
#include <hetsched/detail/dataflow/reductions.hpp>
#include <hetsched/detail/dataflow/release.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

namespace hetsched::detail {

/// Takes the tokens of all data that a task accesses as Commute, or none: then the task is parked
/// with the first datum found busy and false is returned.
inline bool take_tokens(TaskRecord& task) {
  LockOrder order(task, LockOrder::Registered{});
  Access* busy = nullptr;
  for (auto* access : order) {
    if (access->mode == AccessMode::commute) {
      access->queue->lock.lock();
      busy = busy == nullptr && access->queue->token_taken ? access : busy;
    }
  }
  if (busy != nullptr) {
    busy->queue->park(*busy);
  }
  auto* const parked_with = busy == nullptr ? nullptr : busy->queue;
  for (auto* access : order) {
    if (access->mode == AccessMode::commute && access->queue != parked_with) {
      access->queue->token_taken = access->queue->token_taken || busy == nullptr;
      access->queue->lock.unlock();
    }
  }
  if (parked_with != nullptr) {
    parked_with->lock.unlock(); // last: from here on the task may be taken up, and gone
    return false;
  }
  return true;
}

/// `register_accesses`, given the distinct accesses in the order of locking.
template <class Host>
[[gnu::always_inline]] inline void
register_in_order(Host& host, TaskRecord& task, std::span<Access* const> order, bool contributes) {
  for (auto* access : order) {
    access->queue->lock.lock();
  }
  auto unlock_all = [&] {
    for (auto* access : order) {
      access->queue->lock.unlock();
    }
  };
  for (auto* access : order) {
    auto const& queue = *access->queue;
    bool const closed = queue.closed.load(std::memory_order_relaxed);
    if (queue.partitioned.load(std::memory_order_relaxed) || closed) {
      unlock_all();
      refuse_divided(*queue.data, closed);
    }
  }
  if (contributes) {
    try {
      prepare_merges(host, order);
    } catch (...) {
      unlock_all();
      throw;
    }
  }
  std::int32_t missing = 0;
  TaskRecord* merges = nullptr;
  for (auto* access : order) {
    auto& queue = *access->queue;
    if (queue.needs_merge(access->mode, AccessQueue::op_of(*access))) {
      put_merge(host, queue, merges);
    }
    missing += queue.enqueue(*access) ? 0 : 1;
  }
  mark_parts(task);
  task.pending.store(missing, std::memory_order_relaxed); // published by the unlocks
  unlock_all();
  if (merges != nullptr) [[unlikely]] {
    hand_on_merges(host, merges);
  }
  if (missing == 0) {
    granted(host, task);
  }
}

/// Registers all accesses of a new task at once (so that tasks spawned by several threads have one
/// order that all data agree on) and hands it on if it holds them all. Merges that must come first
/// are inserted. Throws Error(bad_access), then nothing was registered.
///
/// `contributes`: one of them is a contribution. Cost: O(A log A) for A accesses. The task may have
/// ended when this returns.
template <class Host>
[[gnu::noinline]] void register_accesses(Host& host, TaskRecord& task, bool contributes = false) {
  if (task.access_count == 1 && !contributes) {
    auto* const only = task.accesses();
    register_in_order(host, task, std::span(&only, 1), false);
  } else {
    LockOrder order(task);
    register_in_order(host, task, order.all(), contributes);
  }
}

/// `granted` for a task of the library's own, and for one that commutes.
template <class Host>
[[gnu::noinline]] void granted_special(Host& host, TaskRecord& task) {
  switch (task.type_of().kind) {
  case TaskKind::user:
    if (take_tokens(task)) {
      host.ready(task);
    }
    return;
  case TaskKind::merge:
    host.ready(task);
    return;
  case TaskKind::wait:
    host.wait_granted(task);
    return;
  case TaskKind::partition:
    partition_of(task).divide(&host, task);
    return;
  case TaskKind::join:
    partition_of(*task.accesses()[0].carried.holder).divide(&host, task);
    return;
  case TaskKind::discard:
    discard(host, task);
    return;
  case TaskKind::prefetch:
  case TaskKind::pin:
  case TaskKind::evict:
  case TaskKind::follow:
    host.give_to_device(task);
    return;
  case TaskKind::external:
    task.state.store(TaskState::running, std::memory_order_relaxed);
    task.accesses()[0].carried.external->granted(*task.accesses()[0].carried.external, task);
    return;
  }
}

} // namespace hetsched::detail
