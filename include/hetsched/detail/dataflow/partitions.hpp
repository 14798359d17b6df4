// SPDX-License-Identifier: MIT
#pragma once
// Regions in parts: from the whole to its parts, and back at the join.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/granting.hpp>
#include <hetsched/detail/dataflow/release.hpp>

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
  if (kind == TaskKind::partition) {
    auto& access = task.accesses()[0];
    access.queue->partitioned.store(true, std::memory_order_relaxed);
    if (access.queue == &access.queue->data->home) {
      access.queue->data->division = access.carried.partition;
    }
  } else if (kind == TaskKind::join) {
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      access.queue->closed.store(true, std::memory_order_relaxed);
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
  AccessQueue* queue = nullptr; // of the region
  Array<DataRecord*> parts;     // a reference each
  std::size_t grid_rows = 0;    // parts down a column of the grid
  TaskRecord* join = nullptr;   // made with the partition, so that a destructor can join without
                              // memory; null once it is registered, or will be at once. Guarded by
                              // the lock of the region's queue
  Atomic<int> references{2}; // of the program's Partition and of the holder
  void (*divide)(void* host, TaskRecord& task) = nullptr; // hetsched::detail::divide, which only
                                                          // programs with partitions compile

  ~PartitionState() {
    for (auto* part : parts) {
      release_record(part);
    }
  }
};

inline void release_partition(PartitionState& state) {
  if (state.references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete &state;
  }
}

[[nodiscard]] inline PartitionState& partition_of(TaskRecord& holder) noexcept {
  return *holder.accesses()[0].carried.partition;
}

/// The holder was granted the region: lets the accesses to its parts begin.
template <class Host>
[[gnu::cold]] void open_parts(Host& host, TaskRecord& holder) {
  bool poisoned = holder.accesses()[0].queue->poisoned();
  auto& state = partition_of(holder);
  // Below a task that only reads the whole, others may read it at the same time.
  bool const taken = !state.parts.empty() && !state.parts[0]->read_only();
  try {
    take_data(replicas_of(*holder.accesses()[0].queue), Destination::parts, taken);
  } catch (...) { // lost with its device, or there is no memory: so are the parts
    poisoned = true;
    host.fail(holder, std::current_exception());
  }
  // From the last part's grant on, a join may free `state`: the loop does not look at it again.
  for (auto* part : state.parts) {
    Access* chain = nullptr;
    {
      std::lock_guard const guard(part->home.lock);
      chain = part->home.dequeue(poisoned);
    }
    grant_group(host, part->home, chain);
  }
}

/// Brings all parts to host memory, where they make up the whole. Returns what says that one is
/// lost, or null.
[[nodiscard, gnu::cold]] inline std::exception_ptr take_parts_home(TaskRecord& join) {
  std::span const accesses(join.accesses(), join.access_count);
  std::exception_ptr lost;
  try {
    Array<Replicas*> elsewhere;
    for (auto const& access : accesses) {
      if (auto* const replicas = replicas_of(access).load(std::memory_order_acquire)) {
        elsewhere.push_back(replicas);
      }
    }
    if (!elsewhere.empty()) [[unlikely]] {
      elsewhere[0]->keeper->take({elsewhere.begin(), elsewhere.end()}, Destination::host, true);
    }
  } catch (...) { // a part is lost, or there is no memory
    lost = std::current_exception();
  }
  for (auto const& access : accesses) {
    forget_replicas(replicas_of(access));
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
  bool const taken = !join.accesses()[0].queue->data->read_only(); // as in open_parts
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
  auto& state = partition_of(holder);
  holder.accesses()[0].carried = {};
  release_accesses(host, holder);
  host.recycle(holder);
  host.recycle(join);
  release_partition(state);
}

/// Whether a task that has ended, and has not told so, is all that the discard of a temporary waits
/// for.
[[nodiscard]] inline bool is_last_use(DataRecord& data) {
  if (!data.temporary || data.handles.load(std::memory_order_acquire) != 0) {
    return false;
  }
  std::lock_guard const guard(data.home.lock);
  auto* const next = data.home.head;
  return data.home.active == 1 && next != nullptr && next->next == nullptr &&
         task_of(*next).type_of().kind == TaskKind::discard;
}

/// A discard was granted a temporary. Nobody uses it any more, unless a body of one of the last
/// tasks has left a handle somewhere.
template <class Host>
[[gnu::cold]] void discard(Host& host, TaskRecord& task) {
  auto* const data = task.accesses()[0].queue->data;
  release_accesses(host, task);
  host.recycle(task);
  release_record(data);
}

/// The partitions and joins that one thread has been granted and is to see through. They follow
/// each other without end if no task is at work between them, so they must not nest.
struct Divisions {
  TaskRecord* granted = nullptr; // linked by `next`
};

/// A partition or a join was granted. If that happens while another one is seen through, it is left
/// for the loop there.
template <class Host>
[[gnu::cold]] void divide(Host& host, TaskRecord& task) {
  task.next = nullptr;
  if (auto* const outer = host.divisions()) {
    task.next = outer->granted;
    outer->granted = &task;
    return;
  }
  Divisions mine{&task};
  host.divisions() = &mine;
  while (auto* const next = mine.granted) {
    mine.granted = next->next;
    if (next->type_of().kind == TaskKind::partition) {
      open_parts(host, *next);
    } else {
      close_parts(host, *next);
    }
  }
  host.divisions() = nullptr;
}

template <class Host>
void divide_by(void* host, TaskRecord& task) {
  divide(*static_cast<Host*>(host), task);
}

} // namespace hetsched::detail
