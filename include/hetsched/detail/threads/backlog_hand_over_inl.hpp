// SPDX-License-Identifier: MIT
#pragma once
// Definitions of backlog_run.hpp: when dependencies are computed.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/threads/backlog_run.hpp>

#include <atomic>
#include <cstdint>
#include <new>
#include <span>

namespace hetsched::detail {

/// Work is shared only when somebody asks. Private queues that their owners look after in this way
/// need no fence where the owner takes a task, as a deque that thieves take from does (Acar,
/// Chargueraud, Rainey 2013). A thief waits for the end of the owner's task at most.
[[gnu::always_inline]] inline void Backlogs::look(ThreadCore& core) {
  if (this_thread.backlog != nullptr &&
      (core.waiting_.parking.any_asleep() || backlogs_wanted.load(std::memory_order_relaxed) != 0))
      [[unlikely]] {
    help();
  }
}

/// Hands over the outermost backlog that has tasks for others, as it has the largest ones.
[[gnu::noinline]] inline void Backlogs::help() {
  if (backlogs_wanted.load(std::memory_order_relaxed) != 0) {
    hand_over_all();
    return;
  }
  Backlog* outermost = nullptr;
  for (auto* backlog = this_thread.backlog; backlog != nullptr; backlog = backlog->outer) {
    if (backlog->has_more_than_one()) {
      outermost = backlog;
    }
  }
  if (outermost != nullptr) {
    (void)try_to_hand_over(*outermost);
  }
}

inline void Backlogs::hand_over_own(ThreadCore& core, bool though_empty) {
  auto& backlog = *this_thread.backlog;
  if (&backlog.parent == core.current_task() && (though_empty || !backlog.is_empty())) {
    hand_over(backlog);
  }
}

inline void Backlogs::hand_over_all() {
  for (auto* backlog = this_thread.backlog; backlog != nullptr; backlog = backlog->outer) {
    (void)try_to_hand_over(*backlog);
  }
}

inline void Backlogs::leave() {
  for (auto* backlog = this_thread.backlog; backlog != nullptr; backlog = backlog->outer) {
    hand_over(*backlog);
  }
}

/// Returns false without memory. Nothing has changed then.
[[gnu::cold]] inline bool Backlogs::try_to_hand_over(Backlog& backlog) noexcept {
  try {
    hand_over(backlog);
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

/// Registers the tasks of a backlog, which are ordinary ones from here on. The one that runs holds
/// its data: all before it in program order have completed.
[[gnu::cold]] inline void Backlogs::hand_over(Backlog& backlog) {
  if (backlog.handed_over || backlog.spoilt) {
    return;
  }
  if (backlog.is_empty()) {
    backlog.handed_over = true;
    return;
  }
  auto& parent = backlog.parent;
  auto& domain = children_domain(parent);
  if (backlog.running != nullptr) {
    find_queues(*backlog.running, domain);
  }
  for (auto* task = backlog.first; task != nullptr; task = task->next) {
    find_queues(*task, domain);
  }
  backlog.handed_over = true;
  auto& worker = *this_thread.worker;
  auto& core = *static_cast<ThreadCore*>(worker.core);
  core.waiting_.lifted_at.store(Waiting::never_lifted, std::memory_order_seq_cst); // see Spawner
  ThreadCore::Host host(core, &worker, &parent, ThreadCore::Host::Origin::spawned);
  if (backlog.running != nullptr) {
    [[maybe_unused]] bool const held = enqueue(*backlog.running);
    HETSCHED_ASSERT(held, "who runs in program order holds its data");
  }
  while (backlog.first != nullptr) {
    auto& task = backlog.pop();
    if (enqueue(task)) {
      granted(host, task);
    }
  }
}

/// The queues of the domain, in place of those of the parent's accesses. Throws bad_alloc.
inline void Backlogs::find_queues(TaskRecord& task, Domain& domain) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (access.queue->domain != &domain) {
      auto& queue = find_queue(*access.queue->data, access.mode, nullptr, domain.owner, domain);
      std::atomic_ref(access.queue).store(&queue, std::memory_order_release); // see `uses`
    }
  }
}

/// Enters the accesses of a task into their queues, in the order of locking. Returns whether it
/// holds all its data; else it may have ended. The spawn has seen to what `register_accesses`
/// refuses, and there is no contribution to merge.
inline bool Backlogs::enqueue(TaskRecord& task) {
  LockOrder order(task);
  for (auto* access : order) {
    access->queue->lock.lock();
  }
  if (task.postponed) { // under the locks: who looks at the data sees either
    count(task, task.accesses()[0].queue->domain, ~std::uint32_t{0});
    task.unqueued = false;
    task.postponed = false;
  }
  std::int32_t missing = 0;
  for (auto* access : order) {
    missing += access->queue->enqueue(*access) ? 0 : 1;
  }
  task.pending.store(missing, std::memory_order_relaxed); // published by the unlocks
  for (auto* access : order) {
    access->queue->lock.unlock();
  }
  return missing == 0;
}

[[gnu::cold]] inline void Backlogs::await_owner(AccessQueue& queue) {
  hand_over_all();
  backlogs_wanted.fetch_add(1, std::memory_order_relaxed);
  while (queue.postponed.load(std::memory_order_acquire) != 0) {
    yield_core();
  }
  backlogs_wanted.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace hetsched::detail
