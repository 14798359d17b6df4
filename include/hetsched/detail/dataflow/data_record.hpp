// SPDX-License-Identifier: MIT
#pragma once
// A registered region, and its queues of accesses.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/dataflow/domain.hpp>
#include <hetsched/detail/dataflow/host_buffer.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/memory/replicas.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace hetsched::detail {

struct DataRecord;
class DataRegistry;

/// A CW task's private copy of a datum: this header, then the elements, densely packed.
struct PrivateCopy {
  PrivateCopy* next;
  std::size_t alignment; // of the elements; they begin so many bytes into the block
  ReplicaSlot replicas{nullptr};

  static constexpr std::size_t header = 64;

  [[nodiscard]] void* elements() noexcept { return reinterpret_cast<std::byte*>(this) + header; }

  [[nodiscard]] static PrivateCopy* of(void* elements) noexcept {
    return reinterpret_cast<PrivateCopy*>(static_cast<std::byte*>(elements) - header);
  }

  [[nodiscard]] static PrivateCopy* create(std::size_t bytes, std::size_t element_bytes) {
    auto const alignment = alignment_of(element_bytes);
    auto* const block =
        static_cast<std::byte*>(::operator new(alignment + bytes, std::align_val_t{alignment}));
    return new (block + alignment - header) PrivateCopy{nullptr, alignment};
  }

  static void destroy(PrivateCopy* copy) noexcept {
    forget_replicas(copy->replicas);
    auto const alignment = copy->alignment;
    ::operator delete(static_cast<std::byte*>(copy->elements()) - alignment,
                      std::align_val_t{alignment});
  }
};

static_assert(sizeof(PrivateCopy) <= PrivateCopy::header);

/// The accesses to one datum in one domain, in program order: a group of compatible accesses that
/// hold the datum now, and those that wait. Compatible are: reads; commuting accesses;
/// contributions by the same operator. Every field is guarded by `lock` unless it says otherwise.
///
/// State machine: `enqueue` grants or appends; `dequeue` ends one access and, with the group's
/// last, grants the next group. O(1) per access. No clock, no wait, no device inside.
struct alignas(64) AccessQueue {
  // one cache line, which moves from core to core
  SpinLock lock;
  AccessMode active_mode = AccessMode::value; // mode of the group that holds the datum
  AccessMode last_mode = AccessMode::value; // mode of the last access in program order; value: none
  bool group_failed = false;                // a task of the active group failed
  bool token_taken = false;                 // a commuting task has the token, or who grants it
  Atomic<bool> partitioned{false};          // divided into parts; written under the lock
  Atomic<bool> closed{false};               // it is a part that was joined; likewise
  Atomic<bool> listed{false};               // in Domain::unmerged; written under its lock
  std::uint32_t active = 0;
  /// Epoch in which a task that was to write the datum failed. Written when a group ends, read by
  /// tasks of later groups: ordered by `lock` and TaskRecord::pending.
  std::uint32_t poison = 0;
  std::uint32_t waiting = 0;
  /// Tasks in a Backlog of the domain's owner that use the datum: written by that thread, without
  /// the lock. release, so that who reads 0 by acquire comes after these tasks.
  Atomic<std::uint32_t> postponed{0};
  Access* head = nullptr;
  Access* tail = nullptr;
  ReductionOps const* active_op = nullptr;
  ReductionOps const* last_op = nullptr;
  AccessQueue* next_inherited = nullptr;
  // one that most tasks only read
  alignas(64) void* base = nullptr; // the datum as this domain addresses it; constant
  std::size_t ld = 1;               // constant
  DataRecord* data = nullptr;       // constant
  Domain* domain = nullptr;         // constant; a home queue holds a reference
  PrivateCopy* copies = nullptr;    // contributions not in use by a running task
  /// Commuting tasks, the highest priority first, first come first served among equals: the last of
  /// them, whose `next` is the first.
  Access* last_token_waiter = nullptr;
  /// Records, linked by `next`, for the merges that are not in the queue yet: one if the last
  /// accesses are contributions. Whoever inserts the merge may be unable to take memory.
  TaskRecord* spare_merge = nullptr;
  AccessQueue* next_unmerged = nullptr;

  [[nodiscard]] static ReductionOps const* op_of(Access& access) noexcept {
    return access.mode == AccessMode::reduce
               ? task_of(access).type_of().parameter(access.index, access.list).reduction
               : nullptr;
  }

  [[nodiscard]] static bool compatible(AccessMode a,
                                       ReductionOps const* a_op,
                                       AccessMode b,
                                       ReductionOps const* b_op) noexcept {
    return a == b && (a == AccessMode::read || a == AccessMode::commute ||
                      (a == AccessMode::reduce && a_op == b_op));
  }

  /// Parks an access of a commuting task. O(1) if none that is parked has a lower priority, or all
  /// have; else O(those that go first).
  void park(Access& access) noexcept {
    auto const priority_of = [](Access* of) { return task_of(*of).priority; };
    auto const priority = priority_of(&access);
    auto* before = last_token_waiter;
    if (before == nullptr || priority_of(before) >= priority) {
      last_token_waiter = &access;
    } else {
      while (priority_of(before->next) >= priority) {
        before = before->next;
      }
    }
    access.next = before == nullptr ? &access : std::exchange(before->next, &access);
  }

  /// Whether contributions must be merged before an access of this kind.
  [[nodiscard]] bool needs_merge(AccessMode mode, ReductionOps const* op) const noexcept {
    return last_mode == AccessMode::reduce && !compatible(last_mode, last_op, mode, op);
  }

  /// Appends in program order; true if the access holds the datum at once.
  bool enqueue(Access& access) noexcept {
    auto const* op = op_of(access);
    last_mode = access.mode;
    last_op = op;
    if (head == nullptr && (active == 0 || compatible(active_mode, active_op, access.mode, op))) {
      if (active == 0) {
        begin_group(access.mode, op);
      }
      ++active;
      return true;
    }
    access.next = nullptr;
    (head == nullptr ? head : tail->next) = &access;
    tail = &access;
    ++waiting;
    return false;
  }

  /// Ends one access of the active group. Returns the chain of accesses that this grants.
  [[nodiscard, gnu::always_inline]] Access* dequeue(bool failed) noexcept {
    group_failed = group_failed || failed;
    if (--active != 0) {
      return nullptr;
    }
    if (group_failed || poison != 0) [[unlikely]] {
      mark_group();
    }
    return head == nullptr ? nullptr : grant_next_group();
  }

  /// Calls `visit` for each access that the end of `writer`, which writes the datum, will grant.
  /// `writer` holds the datum, or waits for it as a task that was activated early. Then only other
  /// such tasks wait before it, at most as many as a device's window takes.
  template <class Visit>
  void after_writer(Access& writer, Visit&& visit) const {
    auto* first = head;
    // A task that is not bound holds all its data. It may have been bound until they were granted.
    if (is_early(task_of(writer).binding.load(std::memory_order_acquire))) {
      for (auto const* access = head; access != nullptr; access = access->next) {
        if (access == &writer) {
          first = access->next;
          break;
        }
      }
    }
    for (auto* access = first;
         access != nullptr &&
         (access == first || compatible(first->mode, op_of(*first), access->mode, op_of(*access)));
         access = access->next) {
      visit(*access);
    }
  }

  [[nodiscard]] bool poisoned() const noexcept {
    return poison != 0 && poison == domain->epoch.load(std::memory_order_relaxed);
  }

  [[nodiscard]] bool in_use() const noexcept {
    return !closed.load(std::memory_order_relaxed) &&
           (active != 0 || last_mode == AccessMode::reduce ||
            postponed.load(std::memory_order_acquire) != 0);
  }

private:
  /// The active group has ended, and it failed or found the datum poisoned.
  [[gnu::noinline]] void mark_group() noexcept {
    if (group_failed) {
      if (writes(active_mode)) {
        poison = domain->epoch.load(std::memory_order_relaxed);
      }
    } else if (active_mode == AccessMode::write) {
      poison = 0;
    }
  }

  void begin_group(AccessMode mode, ReductionOps const* op) noexcept {
    active_mode = mode;
    active_op = op;
    group_failed = false;
  }

  Access* grant_next_group() noexcept {
    auto* const first = head;
    begin_group(first->mode, op_of(*first));
    auto* last = first;
    active = 1;
    while (last->next != nullptr &&
           compatible(active_mode, active_op, last->next->mode, op_of(*last->next))) {
      last = last->next;
      ++active;
    }
    waiting -= active;
    head = last->next;
    last->next = nullptr;
    return first;
  }
};

/// What tasks may not do with a datum.
enum class Limit : std::uint8_t {
  none,
  read_only,
  unwritten // a temporary that no task was spawned to write: read it
};

/// A container that was registered, and how to look where its elements are.
struct WatchedContainer {
  struct Elements {
    void const* first;
    std::size_t count;
  };

  void const* container;
  Elements (*look)(void const* container);
};

/// A region of memory known to a runtime. Its last handle waits for the tasks that use it, unless
/// it is a temporary; handles of a part count together as one of the whole. The record lives
/// longer: until its parts are gone, too, a part until it is joined, and a temporary until it is
/// discarded.
struct DataRecord {
  AccessQueue home; // in the domain where it was registered
  Shape shape;
  Owned<ArrayShape const> array; // what `shape` says of an array
  std::size_t element_bytes = 0;
  Atomic<Limit> limit{Limit::none}; // relaxed: spawns on a datum are ordered by who spawns
  bool temporary = false;           // constant: `buffer` is all its host memory
  std::int32_t reuse = 0;           // index for caches
  Atomic<std::int32_t> handles{1};
  Atomic<std::int32_t> references{1}; // all handles count one; parts; the partition of a part
  DataRegistry* registry = nullptr;   // one reference is held
  ReplicaSlot replicas{nullptr};      // copies of the whole region
  DataRecord* whole = nullptr;        // this is a part of it; a handle and a reference are held
  PartitionState* division = nullptr; // its partition, if it was cut in its own domain and not
                                      // joined since; guarded by home.lock
  std::string name;                   // empty: none given
  HostBuffer buffer;                  // host memory of a datum for which the program has none
  DataRecord* previous = nullptr;     // the registry's list of all records
  DataRecord* next = nullptr;
  DataRecord* next_left = nullptr;       // the registry's list of those whose last handle it has
  Owned<WatchedContainer const> watched; // if Check::containers asks for it

  /// Begins with a shape. What that says of an array is copied: this may outlive where it is from.
  void take_shape(Shape const& from) {
    shape = from;
    if (from.array != nullptr) {
      array = Owned<ArrayShape const>(new ArrayShape(*from.array));
      shape.array = array.get();
    }
  }

  [[nodiscard]] std::size_t elements() const noexcept { return shape.rows * shape.cols; }

  [[nodiscard]] std::size_t bytes() const noexcept { return elements() * element_bytes; }

  [[nodiscard]] bool read_only() const noexcept {
    return limit.load(std::memory_order_relaxed) == Limit::read_only;
  }

  /// Whether nothing speaks against a task that accesses it in this mode.
  [[nodiscard]] bool allows(AccessMode mode) const noexcept {
    auto const now = limit.load(std::memory_order_relaxed);
    return now == Limit::none || (now == Limit::read_only && !writes(mode));
  }

  /// Adds a reference, unless the last one is gone: then returns false.
  [[nodiscard]] bool retain() noexcept {
    auto count = references.load(std::memory_order_relaxed);
    while (count != 0 && !references.compare_exchange_weak(count, count + 1)) {
    }
    return count != 0;
  }

  /// For messages: the name given, or the address and shape.
  [[nodiscard]] std::string describe() const;
};

/// The list of copies for the accesses of a queue: the datum's or, below a task that contributes,
/// that of the task's private copy.
[[nodiscard]] inline ReplicaSlot& replicas_of(AccessQueue const& queue) noexcept {
  return queue.base == queue.data->home.base ? queue.data->replicas
                                             : PrivateCopy::of(queue.base)->replicas;
}

/// The same for one access of a task; a contribution's private copy exists.
[[nodiscard]] inline ReplicaSlot& replicas_of(Access const& access) noexcept {
  return access.mode == AccessMode::reduce ? PrivateCopy::of(access.carried.copy)->replicas
                                           : replicas_of(*access.queue);
}

/// The index for caches of a task's datum: the one given at the spawn, else the datum's.
[[nodiscard]] inline std::int32_t reuse_of(TaskRecord const& task,
                                           DataRecord const& data) noexcept {
  return task.reuse != no_reuse ? task.reuse : data.reuse;
}

} // namespace hetsched::detail
