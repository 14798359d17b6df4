// SPDX-License-Identifier: MIT
#pragma once
// Definitions of backlog_run.hpp: what is postponed.

#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/threads/backlog_run.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

namespace hetsched::detail {

/// Others are left to the ordinary way: they need queues, a place in a group, or more room.
inline bool
Backlogs::fits(ThreadCore const& core, TaskType const& type, Attributes const& attributes) {
  return !type.special && !type.commutes && type.lists == 0 && attributes.group == nullptr &&
         attributes.label.empty() && core.has_worker_of(type.archs & attributes.archs) &&
         !core.waiting_.failed.load(std::memory_order_relaxed);
}

inline bool Backlogs::postpone(ThreadCore& core,
                               TaskType const& type,
                               Attributes const& attributes,
                               std::span<DataRecord* const> data,
                               ValueMaker values) {
  auto* const backlog = this_thread.backlog;
  if (backlog == nullptr || data.empty() || this_thread.core != &core ||
      &backlog->parent != this_thread.task) {
    return false;
  }
  look(core);
  if (backlog->handed_over) {
    return false;
  }
  if (!fits(core, type, attributes)) {
    hand_over(*backlog);
    return false;
  }
  auto& parent = backlog->parent;
  ThreadCore::BareHost host(core, this_thread.worker, &parent);
  auto& task = *host.allocate(type.size_class);
  ThreadCore::BareHost::start_record(task, type, &parent, attributes);
  auto* const domain = parent.domain.load(std::memory_order_acquire);
  bool placed = false;
  try {
    placed = add_accesses(task, data, parent, domain);
    if (placed && values.construct != nullptr) {
      values.construct(values.arguments, task.values());
    }
  } catch (...) {
    host.recycle(task);
    throw;
  }
  if (!placed) {
    host.recycle(task);
    hand_over(*backlog);
    return false;
  }
  task.unqueued = true;
  task.postponed = true;
  if (domain != nullptr) {
    count(task, domain, 1);
  }
  host.count_child();
  backlog->push(task);
  return true;
}

/// Returns false if the spawn is to be an ordinary one, which finds out what is wrong.
[[gnu::always_inline]] inline bool Backlogs::add_accesses(TaskRecord& task,
                                                          std::span<DataRecord* const> data,
                                                          TaskRecord& parent,
                                                          Domain* domain) {
  auto const* const parameters = task.type_of().parameters.data();
  auto* const accesses = task.accesses();
  bool repeated = false;
  for (std::uint32_t k = 0; k < data.size(); ++k) {
    auto const mode = parameters[k].mode;
    auto* const queue = data[k] == nullptr ? nullptr : queue_of(*data[k], mode, parent, domain);
    if (queue == nullptr) {
      return false;
    }
    for (std::uint32_t before = 0; before < k; ++before) {
      repeated = repeated || accesses[before].queue == queue;
    }
    new (accesses + k) Access{queue, nullptr, {}, mode, false, 0, k};
  }
  task.access_count = static_cast<std::uint32_t>(data.size());
  if (repeated) [[unlikely]] {
    fold(task);
  }
  return true;
}

/// Null: see add_accesses.
inline AccessQueue*
Backlogs::queue_of(DataRecord& record, AccessMode mode, TaskRecord& parent, Domain* domain) {
  if (domain != nullptr) {
    auto* own = record.home.domain == domain ? &record.home : domain->inherited;
    while (own != nullptr && own->data != &record) {
      own = own->next_inherited;
    }
    if (own != nullptr) {
      auto& queue = find_queue(record, mode, nullptr, &parent, *domain);
      bool const divided = queue.partitioned.load(std::memory_order_relaxed) ||
                           queue.closed.load(std::memory_order_relaxed);
      return divided ? nullptr : &queue;
    }
  }
  for (auto const& access : std::span(parent.accesses(), parent.access_count)) {
    if (access.queue->data == &record && !access.duplicate) {
      bool const allowed = record.allows(mode) && access.mode != AccessMode::reduce &&
                           (access.mode != AccessMode::read || mode == AccessMode::read);
      return allowed ? access.queue : nullptr;
    }
  }
  return nullptr;
}

/// Some datum is given more than once.
[[gnu::cold]] inline void Backlogs::fold(TaskRecord& task) noexcept {
  LockOrder const order(task);
  (void)order;
}

/// Says in the home queues of a domain that the task uses them, or no longer does. Only the thread
/// of the domain's owner writes these numbers, so this needs no locked instruction.
[[gnu::always_inline]] inline void
Backlogs::count(TaskRecord& task, Domain const* domain, std::uint32_t change) noexcept {
  for (auto& access : std::span(task.accesses(), task.access_count)) {
    auto& queue = *access.queue;
    if (queue.domain == domain && &queue == &queue.data->home && !access.duplicate) {
      queue.postponed.store(queue.postponed.load(std::memory_order_relaxed) + change,
                            std::memory_order_release);
    }
  }
}

inline bool Backlogs::keep(ThreadCore& core, TaskRecord& task) {
  std::span const accesses(task.accesses(), task.access_count);
  auto const* const owner = accesses[0].queue->domain->owner;
  auto* backlog = this_thread.core == &core ? this_thread.backlog : nullptr;
  while (backlog != nullptr && &backlog->parent != owner) {
    backlog = backlog->outer;
  }
  if (backlog == nullptr) {
    for (auto& access : accesses) {
      if (access.queue->postponed.load(std::memory_order_acquire) != 0) [[unlikely]] {
        await_owner(*access.queue);
      }
    }
    return false;
  }
  if (backlog->handed_over || backlog->is_empty()) {
    return false;
  }
  if (task.type_of().kind == TaskKind::join) {
    for (auto& access : accesses) {
      std::lock_guard const guard(access.queue->lock);
      access.queue->closed.store(true, std::memory_order_relaxed);
    }
  }
  backlog->push(task);
  return true;
}

} // namespace hetsched::detail
