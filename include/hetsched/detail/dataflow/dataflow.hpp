// SPDX-License-Identifier: MIT
#pragma once
// Dependencies from access modes: registration, release, reductions, commuting tasks, partitions.
//
// No engine inside: a `Host` (the engine) is told what became ready. It offers
//   void ready(TaskRecord&)            hand to the scheduler
//   void wait_granted(TaskRecord&)     a waiting thread holds its datum
//   void give_to_device(TaskRecord&)   a hint for a device's worker holds its datum
//   TaskRecord& new_merge(AccessQueue&, ReductionOps const&)   make and count a merge task
//   void recycle(TaskRecord&)          a record is no longer needed
// Locks: those of the queues involved, always in address order, never while calling ready.

#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/lock_order.hpp>

#include <exception>
#include <mutex>
#include <span>
#include <utility>

namespace hetsched::detail {

template <class Host>
void granted_special(Host& host, TaskRecord& task);

/// A task holds all its data: whoever it belongs to is told.
template <class Host>
[[gnu::always_inline]] inline void granted(Host& host, TaskRecord& task) {
  if (auto const& type = task.type_of(); type.kind == TaskKind::user && !type.commutes) {
    host.ready(task);
  } else {
    granted_special(host, task);
  }
}

/// Counts granted accesses down along a chain; hands on the tasks that hold all of theirs. The last
/// decrement acquires what the other granting threads released.
template <class Host>
[[gnu::always_inline]] inline void grant_chain(Host& host, Access* chain) {
  while (chain != nullptr) {
    auto& task = task_of(*chain);
    chain = chain->next; // the task may be gone after the next line
    if (task.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      granted(host, task);
    }
  }
}

/// Takes the tokens of all data that a task accesses as Commute, or none: then the task is parked
/// with the first datum found busy and false is returned.
inline bool take_tokens(TaskRecord& task) {
  LockOrder order(task);
  Access* busy = nullptr;
  for (auto* access : order) {
    if (access->mode == AccessMode::commute) {
      access->queue->lock.lock();
      busy = busy == nullptr && access->queue->token_taken ? access : busy;
    }
  }
  if (busy != nullptr) {
    auto& queue = *busy->queue;
    busy->next = nullptr;
    (queue.token_waiters == nullptr ? queue.token_waiters : queue.last_token_waiter->next) = busy;
    queue.last_token_waiter = busy;
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

/// From the registration of a partition on, the whole may not be named; from that of a join on, the
/// parts may not. The locks are held.
inline void mark_parts(TaskRecord& task) noexcept {
  auto const kind = task.type_of().kind;
  if (kind == TaskKind::partition || kind == TaskKind::join) {
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      (kind == TaskKind::join ? access.queue->closed : access.queue->partitioned) = true;
    }
  }
}

/// Of an access to a region whose parts are in use, or to a part that was joined.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_divided(DataRecord const& data,
                                                                  bool closed) {
  throw Error(ErrorCode::bad_access,
              data.describe(),
              closed ? "is a part of a partition that was joined; use the whole"
                     : "is partitioned; use its parts or join them first");
}

/// `register_accesses`, given the distinct accesses in the order of locking.
template <class Host>
[[gnu::always_inline]] inline void
register_in_order(Host& host, TaskRecord& task, std::span<Access* const> order) {
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
    if (queue.partitioned || queue.closed) {
      bool const closed = queue.closed;
      unlock_all();
      refuse_divided(*queue.data, closed);
    }
  }
  std::int32_t missing = 0;
  TaskRecord* merges = nullptr;
  for (auto* access : order) {
    auto& queue = *access->queue;
    if (queue.needs_merge(access->mode, AccessQueue::op_of(*access))) {
      auto& merge = host.new_merge(queue, *queue.last_op);
      if (queue.enqueue(merge.accesses()[0])) {
        merge.pending.store(0, std::memory_order_relaxed);
        merge.next = merges;
        merges = &merge;
      }
    }
    missing += queue.enqueue(*access) ? 0 : 1;
  }
  mark_parts(task);
  task.pending.store(missing, std::memory_order_relaxed); // published by the unlocks
  unlock_all();
  while (merges != nullptr) {
    auto& merge = *merges;
    merges = merge.next;
    granted(host, merge);
  }
  if (missing == 0) {
    granted(host, task);
  }
}

/// Registers all accesses of a new task at once (so that tasks spawned by several threads have one
/// order that all data agree on) and hands it on if it holds them all. Merges that must come first
/// are inserted. Throws Error(bad_access), then nothing was registered.
///
/// Cost: O(A log A) for A accesses. The task may have ended when this returns.
template <class Host>
[[gnu::noinline]] void register_accesses(Host& host, TaskRecord& task) {
  if (task.access_count == 1) {
    auto* const only = task.accesses();
    register_in_order(host, task, std::span(&only, 1));
  } else {
    LockOrder order(task);
    register_in_order(host, task, order.all());
  }
}

/// Notes that contributions to the queue will want merging at the next sync of its domain.
inline void list_unmerged(AccessQueue& queue) {
  if (queue.listed.load(std::memory_order_relaxed)) {
    return; // merge_all takes it off before it looks, under the queue's lock, whether to merge
  }
  std::lock_guard const guard(queue.domain->lock);
  if (!queue.listed.exchange(true, std::memory_order_relaxed)) {
    queue.next_unmerged = queue.domain->unmerged;
    queue.domain->unmerged = &queue;
  }
}

/// Inserts the merges of all finished series of contributions in a domain. Returns how many.
template <class Host>
[[gnu::cold]] int merge_all(Host& host, Domain& domain) {
  int merges = 0;
  for (;;) {
    AccessQueue* queue = nullptr;
    {
      std::lock_guard const guard(domain.lock);
      queue = domain.unmerged;
      if (queue == nullptr) {
        return merges;
      }
      domain.unmerged = queue->next_unmerged;
      queue->listed.store(false, std::memory_order_relaxed);
    }
    TaskRecord* merge = nullptr;
    bool held = false;
    {
      std::lock_guard const guard(queue->lock);
      if (queue->last_mode == AccessMode::reduce) {
        merge = &host.new_merge(*queue, *queue->last_op);
        held = queue->enqueue(merge->accesses()[0]);
        merge->pending.store(held ? 0 : 1, std::memory_order_relaxed);
      }
    }
    if (merge != nullptr) {
      ++merges;
      if (held) {
        granted(host, *merge);
      }
    }
  }
}

/// `end_access` of a contribution or a commuting task. If it gave back a token that others wait
/// for, *token is set, for pass_token.
inline Access* end_special_access(Access& access, bool failed, AccessQueue** token) {
  auto& queue = *access.queue;
  std::lock_guard const guard(queue.lock);
  if (access.mode == AccessMode::commute) {
    queue.token_taken = false;
    if (queue.token_waiters != nullptr) {
      queue.domain->references.fetch_add(1, std::memory_order_relaxed);
      queue.data->references.fetch_add(1, std::memory_order_relaxed);
      *token = &queue;
    }
  } else if (access.carried.copy != nullptr) {
    auto* const copy = PrivateCopy::of(access.carried.copy);
    copy->next = queue.copies;
    queue.copies = copy;
  }
  return queue.dequeue(failed);
}

/// Ends one access; returns the accesses granted by that.
[[gnu::always_inline]] inline Access* end_access(Access& access, bool failed) {
  auto& queue = *access.queue;
  queue.lock.lock();
  auto* const granted = queue.dequeue(failed);
  queue.lock.unlock();
  return granted;
}

/// Lets tasks that are parked with a free token try again, until one of them has it or none is
/// left. The references taken by end_access keep the queue: the tasks may run to their ends and the
/// datum go while this one looks for more.
template <class Host>
void pass_token(Host& host, AccessQueue& queue) {
  auto* const domain = queue.domain;
  auto* const data = queue.data;
  auto next_waiter = [&]() -> Access* {
    std::lock_guard const guard(queue.lock);
    auto* const waiter = queue.token_taken ? nullptr : queue.token_waiters;
    if (waiter != nullptr) {
      queue.token_waiters = waiter->next;
    }
    return waiter;
  };
  while (auto* const waiter = next_waiter()) {
    granted(host, task_of(*waiter));
  }
  release_record(data);
  release_domain(domain);
}

template <class Host>
[[gnu::always_inline]] inline void
release_access(Host& host, TaskRecord const& task, Access& access) {
  bool failed = false;
  if (task.cancelled || task.failed) { // skipped only: leaves its data as they are, good or bad
    failed = writes(access.mode) && (task.failed || access.queue->poisoned());
  }
  if (access.mode != AccessMode::reduce && access.mode != AccessMode::commute) {
    grant_chain(host, end_access(access, failed));
    return;
  }
  AccessQueue* token = nullptr;
  grant_chain(host, end_special_access(access, failed, &token));
  if (token != nullptr) {
    pass_token(host, *token);
  }
}

/// Ends all accesses of a task that has completed and hands on the tasks that this makes ready.
template <class Host>
[[gnu::noinline]] void release_accesses(Host& host, TaskRecord& task) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (!access.duplicate) {
      release_access(host, task, access);
    }
  }
}

/// The same before the task completes, of those by which it writes: its results exist.
template <class Host>
[[gnu::noinline]] void release_written(Host& host, TaskRecord& task) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (!access.duplicate && writes(access.mode)) {
      access.duplicate = true; // nothing is left to do for it
      release_access(host, task, access);
    }
  }
}

/// Whether a task must be skipped because data it needs were never produced.
[[nodiscard]] inline bool needs_poisoned(TaskRecord const& task) noexcept {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    if (reads(access.mode) && access.queue->poisoned()) {
      return true;
    }
  }
  return false;
}

/// Whether children of a task that is over have spoilt data that it declared, and it did not sync
/// since: their failure may be in a group's hands, but what waits for the parent must not run.
[[nodiscard]] inline bool leaves_poison(Domain const& domain) noexcept {
  for (auto const* queue = domain.inherited; queue != nullptr; queue = queue->next_inherited) {
    if (queue->poisoned()) {
      return true;
    }
  }
  return false;
}

// ---- reductions ----

/// Gives a CW access a private copy holding neutral elements.
inline void lease_copy(Access& access) {
  auto& queue = *access.queue;
  PrivateCopy* copy = nullptr;
  {
    std::lock_guard const guard(queue.lock);
    copy = queue.copies;
    if (copy != nullptr) {
      queue.copies = copy->next;
    }
  }
  if (copy == nullptr) {
    copy = PrivateCopy::create(queue.data->bytes());
    AccessQueue::op_of(access)->fill_neutral(copy->elements(), queue.data->elements());
  }
  access.carried.copy = copy->elements();
}

/// Gives all CW accesses of a task their copies.
[[gnu::noinline]] inline void lease_copies(TaskRecord& task) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (access.mode == AccessMode::reduce && !access.duplicate) {
      lease_copy(access);
    }
  }
}

/// Gives them back from a task that did not run, for any other to use.
[[gnu::noinline]] inline void return_copies(TaskRecord& task) {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    if (access.mode == AccessMode::reduce && !access.duplicate) {
      std::lock_guard const guard(access.queue->lock);
      auto* const copy = PrivateCopy::of(std::exchange(access.carried.copy, nullptr));
      copy->next = access.queue->copies;
      access.queue->copies = copy;
    }
  }
}

/// Combines (or, if cancelled, drops) the private copies of a datum. Body of a merge task. If one
/// is lost with its device, or cannot be combined, throws that when all are gone.
[[gnu::cold]] inline void merge_copies(TaskRecord& merge) {
  auto& access = merge.accesses()[0];
  auto& queue = *access.queue;
  auto const* const ops = access.carried.merge;
  auto shape = queue.data->shape;
  shape.ld = queue.ld;
  PrivateCopy* copies = nullptr;
  {
    std::lock_guard const guard(queue.lock);
    copies = std::exchange(queue.copies, nullptr);
  }
  std::exception_ptr error;
  while (copies != nullptr) {
    auto* const copy = copies;
    copies = copy->next;
    if (!merge.cancelled && error == nullptr) {
      try {
        take_data(copy->replicas, Destination::host, true);
        ops->combine(queue.base, shape, copy->elements());
      } catch (...) {
        error = std::current_exception();
      }
    }
    PrivateCopy::destroy(copy);
  }
  if (error != nullptr) {
    std::rethrow_exception(error);
  }
}

// ---- partitions ----

/// A region in parts. `holder` is a task record that holds the region while the parts are in use:
/// each part's queue begins with an access of the holder, ended when the region is granted.
struct PartitionState {
  TaskRecord* holder = nullptr;
  Array<DataRecord*> parts;  // a reference each
  std::size_t grid_rows = 0; // parts down a column of the grid

  ~PartitionState() {
    for (auto* part : parts) {
      release_record(part);
    }
  }
};

[[nodiscard]] inline PartitionState& partition_of(TaskRecord& holder) noexcept {
  return *holder.accesses()[0].carried.partition;
}

/// The holder was granted the region: lets the accesses to its parts begin.
template <class Host>
[[gnu::cold]] void open_parts(Host& host, TaskRecord& holder) {
  bool poisoned = holder.accesses()[0].queue->poisoned();
  auto& state = partition_of(holder);
  // Below a task that only reads the whole, others may read it at the same time.
  bool const taken = !state.parts.empty() && !state.parts[0]->read_only;
  try {
    take_data(replicas_of(*holder.accesses()[0].queue), Destination::parts, taken);
  } catch (Error const&) { // lost with its device: so are the parts
    poisoned = true;
  }
  // The last part's grant may lead to a join that frees `state`: take what the loop needs first.
  auto const parts = state.parts.copy();
  for (auto* part : parts) {
    Access* chain = nullptr;
    {
      std::lock_guard const guard(part->home.lock);
      chain = part->home.dequeue(poisoned);
    }
    grant_chain(host, chain);
  }
}

/// Brings all parts to host memory, where they make up the whole; false if one is lost.
[[nodiscard, gnu::cold]] inline bool take_parts_home(TaskRecord& join) {
  Array<Replicas*> elsewhere;
  for (auto& access : std::span(join.accesses(), join.access_count)) {
    if (auto* const replicas = replicas_of(access).load(std::memory_order_acquire)) {
      elsewhere.push_back(replicas);
    }
  }
  bool whole = true;
  if (elsewhere.size() != 0) [[unlikely]] {
    try {
      (*elsewhere.begin())
          ->keeper->take({elsewhere.begin(), elsewhere.end()}, Destination::host, true);
    } catch (Error const&) {
      whole = false;
    }
    for (auto* replicas : elsewhere) {
      replicas->keeper->forget(replicas);
    }
  }
  return whole;
}

/// A join was granted all parts: the region goes on to whoever waits for it as a whole.
template <class Host>
[[gnu::cold]] void close_parts(Host& host, TaskRecord& join) {
  auto& holder = *join.accesses()[0].carried.holder;
  holder.failed = !take_parts_home(join);
  take_data(replicas_of(*holder.accesses()[0].queue), Destination::whole, false);
  for (auto& access : std::span(join.accesses(), join.access_count)) {
    std::lock_guard const guard(access.queue->lock);
    holder.failed = holder.failed || access.queue->poisoned();
  }
  if (!holder.failed) {
    auto& whole = *holder.accesses()[0].queue;
    std::lock_guard const guard(whole.lock);
    whole.poison = 0; // every part was overwritten since, if it was poisoned
  }
  auto* const state = &partition_of(holder);
  holder.accesses()[0].carried = {};
  release_accesses(host, holder);
  host.recycle(holder);
  host.recycle(join);
  delete state;
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
    open_parts(host, task);
    return;
  case TaskKind::join:
    close_parts(host, task);
    return;
  case TaskKind::prefetch:
  case TaskKind::pin:
  case TaskKind::follow:
    host.give_to_device(task);
    return;
  }
}

} // namespace hetsched::detail
