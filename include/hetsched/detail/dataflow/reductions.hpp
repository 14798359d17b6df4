// SPDX-License-Identifier: MIT
#pragma once
// Contributions to data, and the merges that end a series of them.

#include <hetsched/core/access.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/granting.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <utility>

namespace hetsched::detail {

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

/// Takes the memory of the merges after the contributions of a task that is about to be registered:
/// of the one for its own series, and of the one for a series before that. Their locks are held.
template <class Host>
[[gnu::noinline]] void prepare_merges(Host& host, std::span<Access* const> order) {
  for (auto* access : order) {
    auto& queue = *access->queue;
    if (access->mode != AccessMode::reduce) {
      continue;
    }
    auto const* const spare = queue.spare_merge;
    bool const ends_series = queue.needs_merge(access->mode, AccessQueue::op_of(*access));
    if (spare == nullptr || (ends_series && spare->next == nullptr)) {
      host.prepare_merge(queue);
    }
  }
}

/// Puts a merge behind the contributions at the end of a queue, and before `merges` if it holds the
/// datum already. The queue is locked.
template <class Host>
[[gnu::noinline]] void put_merge(Host& host, AccessQueue& queue, TaskRecord*& merges) {
  auto& merge = host.new_merge(queue, *queue.last_op);
  if (queue.enqueue(merge.accesses()[0])) {
    merge.pending.store(0, std::memory_order_relaxed);
    merge.next = merges;
    merges = &merge;
  }
}

/// No queue is locked.
template <class Host>
[[gnu::noinline]] void hand_on_merges(Host& host, TaskRecord* merges) {
  while (merges != nullptr) {
    auto& merge = *merges;
    merges = merge.next; // the merge may be gone after the next line
    granted(host, merge);
  }
}

/// Takes a queue off the list of those with contributions, with a reference to its datum: another
/// worker may drop the last one, of a part that is joined. A datum without references has no
/// contributions left. Returns null when the list is empty.
[[nodiscard, gnu::cold]] inline AccessQueue* next_unmerged(Domain& domain) noexcept {
  std::lock_guard const guard(domain.lock);
  while (auto* const queue = domain.unmerged) {
    domain.unmerged = queue->next_unmerged;
    bool const kept = queue->data->retain();
    queue->listed.store(false, std::memory_order_release); // the datum may go now: release_record
    if (kept) {
      return queue;
    }
  }
  return nullptr;
}

/// Inserts the merges of all finished series of contributions in a domain. Returns how many.
template <class Host>
[[gnu::cold]] int merge_all(Host& host, Domain& domain) {
  int merges = 0;
  while (auto* const queue = next_unmerged(domain)) {
    auto* const data = queue->data;
    TaskRecord* held = nullptr;
    {
      std::lock_guard const guard(queue->lock);
      if (queue->last_mode == AccessMode::reduce) {
        put_merge(host, *queue, held);
        ++merges;
      }
    }
    hand_on_merges(host, held);
    release_record(data);
  }
  return merges;
}

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
    copy = PrivateCopy::create(queue.data->bytes(), queue.data->element_bytes);
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
    if (access.mode == AccessMode::reduce && !access.duplicate && access.carried.copy != nullptr) {
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

} // namespace hetsched::detail
