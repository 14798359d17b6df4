// SPDX-License-Identifier: MIT
#pragma once
// Regions in parts: from the whole to its parts, and back at the join.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/granting.hpp>
#include <hetsched/detail/dataflow/release.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <utility>

namespace hetsched::detail {

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
    host.fail(holder, std::current_exception());
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

/// Brings all parts to host memory, where they make up the whole. Returns what says that one is
/// lost, or null.
[[nodiscard, gnu::cold]] inline std::exception_ptr take_parts_home(TaskRecord& join) {
  Array<Replicas*> elsewhere;
  for (auto& access : std::span(join.accesses(), join.access_count)) {
    if (auto* const replicas = replicas_of(access).load(std::memory_order_acquire)) {
      elsewhere.push_back(replicas);
    }
  }
  std::exception_ptr lost;
  if (elsewhere.size() != 0) [[unlikely]] {
    try {
      (*elsewhere.begin())
          ->keeper->take({elsewhere.begin(), elsewhere.end()}, Destination::host, true);
    } catch (Error const&) {
      lost = std::current_exception();
    }
    for (auto* replicas : elsewhere) {
      replicas->keeper->forget(replicas);
    }
  }
  return lost;
}

/// A join was granted all parts: the region goes on to whoever waits for it as a whole.
template <class Host>
[[gnu::cold]] void close_parts(Host& host, TaskRecord& join) {
  auto& holder = *join.accesses()[0].carried.holder;
  if (auto lost = take_parts_home(join); lost != nullptr) {
    holder.failed = true;
    host.fail(holder, std::move(lost));
  }
  bool const taken = !join.accesses()[0].queue->data->read_only; // as in open_parts
  take_data(replicas_of(*holder.accesses()[0].queue), Destination::whole, taken);
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

} // namespace hetsched::detail
