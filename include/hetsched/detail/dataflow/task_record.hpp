// SPDX-License-Identifier: MIT
#pragma once
// The one allocation behind a task: record, access records, by-value arguments, label.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/dataflow/size_class.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hetsched::detail {

struct AccessQueue;
struct AttemptFunctions;
struct Domain;
struct ExternalUse;
struct GroupState;
struct PartitionState;
struct Suspension;
struct TaskRecord;

/// The neutral element and the operator of one CW parameter, applied element by element to dense
/// copies.
struct ReductionOps {
  void (*fill_neutral)(void* into, std::size_t count);
  void (*combine)(void* into, Shape const& shape, void const* dense);
};

/// What one data parameter says of the data that are given for it.
struct ParameterInfo {
  AccessMode mode;
  ReductionOps const* reduction; // of a CW parameter, else null
};

enum class TaskKind : std::uint8_t {
  user,
  merge,     // combines the private copies of a reduction
  wait,      // lives in what waits for a datum, a thread or a body; never scheduled
  partition, // opens the parts of a region when it is granted the region
  join,      // gives the region back when it is granted all parts
  discard,   // gives up a temporary when it is granted it
  prefetch,  // brings a datum to a device; goes to the device's worker, past the scheduler
  pin,       // brings a datum to a device and keeps it there
  evict,     // makes a device's copy leave; in virtual time, as no body runs there
  follow,    // waits on a device for a stream of the program's own
  external   // what it does, something outside the engine sees to: see ExternalUse
};

/// Compile-time table of a task type. It takes the place of a class with virtual functions.
struct TaskType {
  std::string_view name;
  TaskKind kind;
  ArchMask archs;                                           // classes with a body
  std::span<ParameterInfo const> parameters;                // of data: of one each, then the lists
  void (*run)(void* runtime, TaskRecord& task);             // the body on a host core; null: none
  void (*destroy_values)(void* values) noexcept;            // null: nothing to destroy
  void (*copy_values)(void* to, void const* from);          // null: cannot be copied
  void (*launch)(void* stream, TaskRecord& task) = nullptr; // the body on a GPU, in a GpuStream
  std::size_t value_bytes = 0;                              // by-value arguments
  std::size_t value_align = 1;
  std::uint16_t lists = 0;      // data parameters that are lists: the last ones
  std::size_t values_at = 0;    // where they begin in a task's block, lists being empty
  std::size_t record_bytes = 0; // size of a block without a label, lists being empty
  std::uint8_t size_class = 0;  // of that
  bool commutes = false;        // some parameter is Commute
  bool reduces = false;         // some parameter is CW
  bool takes_runtime = false;   // the body on a host core may spawn
  bool only_spawns = false;     // and does nothing else
  bool leaves_none = false;     // no data to release, no values to destroy
  bool special = false;         // it reduces, or is abortable
  bool in_parent = false;       // what its body touches, its parent has declared
  std::uint8_t counted = 1;     // the task's weight in Stats::executed
  std::uint32_t attempt_at = 0; // where an abortable task has its AttemptLink; 0: not abortable
  AttemptFunctions const* attempts = nullptr; // of an abortable task on threads

  /// The parameter that a task's access number `index` is for; see Access::list.
  [[nodiscard]] ParameterInfo const& parameter(std::uint32_t index,
                                               std::uint16_t list) const noexcept {
    return parameters[list == 0 ? index : parameters.size() - lists + list - 1];
  }

  /// Where an abortable task's AttemptLink is behind the beginning of its values.
  [[nodiscard]] std::size_t link_at() const noexcept { return attempt_at - values_at; }
};

/// The task has no reuse index.
inline constexpr std::int32_t no_reuse = INT32_MIN;

/// Stands for an attribute that was not given.
struct NoAttribute {};

/// Like several SetArch, for what is known only when the task is spawned.
struct ArchsAttribute {
  ArchMask archs;
};

/// All attributes of a spawn together.
struct Attributes {
  ArchMask archs{0xff};
  std::int32_t priority = 0;
  std::string_view label;
  GroupState* group = nullptr;
  std::int32_t graph_node = -1;
  std::int32_t reuse = no_reuse;
  float flops = 0;

  template <std::uint8_t Index>
  void apply(SetArch<Index>) noexcept {
    archs = archs & ArchMask::only(Arch{Index});
  }

  void apply(ArchsAttribute attribute) noexcept { archs = archs & attribute.archs; }

  void apply(PriorityAttribute attribute) noexcept { priority = attribute.value; }

  void apply(ReuseAttribute attribute) noexcept { reuse = attribute.value; }

  void apply(FlopsAttribute attribute) noexcept { flops = attribute.value; }

  void apply(LabelAttribute attribute) noexcept { label = attribute.text; }

  void apply(GroupAttribute attribute) noexcept { group = attribute.state; }

  void apply(AbortableAttribute) noexcept {} // chooses the type's table

  void apply(NoAttribute) noexcept {}
};

/// The target of a hint: a node, and for `follow` one of the program's streams there.
struct HintTarget {
  NodeId node;
  std::uint32_t stream = 0;
};

/// What an external task is for. Lives until the task has ended.
struct ExternalUse {
  /// The task holds its datum, until ExternalTasks::end. Called by any thread, perhaps while it
  /// completes another task: only takes note.
  void (*granted)(ExternalUse& use, TaskRecord& task) noexcept;
};

/// What an access carries. The task's kind says which member is valid.
union Carried {
  void* copy = nullptr;      // user, of a CW parameter: the elements of the private copy, while the
                             // task runs
  ReductionOps const* merge; // merge: how to combine the copies
  PartitionState* partition; // partition: the state of the partition
  TaskRecord* holder;        // join: the partition's task
  HintTarget hint;           // prefetch, pin, follow
  ExternalUse* external;     // external
  Suspension* suspension;    // wait: the body that goes on then; null: a thread waits
};

/// One datum argument of one task: a node of that datum's queue.
struct Access {
  AccessQueue* queue;
  Access* next; // in the queue's waiting list, or in the chain of just granted ones
  Carried carried;
  AccessMode mode;    // effective: the strongest of all accesses of the task to this datum
  bool duplicate;     // another access of the task names the same datum, and comes first
  std::uint16_t list; // from 1 on: of its type's lists, the one for which the datum was given
  std::uint32_t index;
};

enum class TaskState : std::uint8_t { free, created, pending, ready, running, waiting };

/// How a task is bound to a device's worker that got it before its predecessors had ended, or that
/// will probably take it. 63 devices may claim tasks, as many as may have data.
enum class Binding : std::uint8_t {
  none,
  bound,   // bound to TaskRecord::worker: no other worker may take it
  undone,  // a predecessor failed: the task waits for the others as if it had not been bound
  claimed, // this and the values behind it: see claimed_by
};

/// The task is ready, and one of the next at a device: others take it only if they end it sooner.
[[nodiscard]] constexpr Binding claimed_by(NodeId device) noexcept {
  return static_cast<Binding>(static_cast<std::int32_t>(Binding::claimed) + device.value - 1);
}

[[nodiscard]] constexpr bool is_claimed(Binding binding) noexcept {
  return binding >= Binding::claimed;
}

/// A device's worker got the task before it held all its data, and they were not granted yet.
[[nodiscard]] constexpr bool is_early(Binding binding) noexcept {
  return binding == Binding::bound || binding == Binding::undone;
}

/// The device that claims the task.
[[nodiscard]] constexpr NodeId claimant(Binding binding) noexcept {
  return {static_cast<std::int32_t>(binding) - static_cast<std::int32_t>(Binding::claimed) + 1};
}

/// Header of a task's block. Blocks are recycled, and never unmapped while the runtime lives. So a
/// policy may still ask `can_run` of a stale TaskId: the fields that this reads are atomic, and
/// their values are then meaningless. Everything else is owned by one thread at a time: the
/// spawning one, then (ordered by the datum locks, `pending` and the scheduler's publication) the
/// executing one.
struct TaskRecord {
  static constexpr std::int32_t body_bias = 1 << 30;

  Atomic<TaskRecord*> parent{nullptr};
  Atomic<std::uint32_t> depth{0}; // nesting level; 0: spawned outside any task
  Atomic<std::uint16_t> generation{1};
  Atomic<std::uint8_t> archs{0};
  Atomic<TaskState> state{TaskState::free};
  Atomic<TaskType const*> type{nullptr};
  TaskRecord* next = nullptr; // free lists and chains of ready tasks
  /// The domain of its children. Null: they named no data, and none failed. See `children_domain`.
  Atomic<Domain*> domain{nullptr};
  Atomic<std::int32_t> pending{0}; // accesses not yet granted
  Atomic<std::int32_t> worker{-1}; // the worker that executes it or to which it is bound
  /// `body_bias` until the body has returned, plus children published, minus completions published.
  /// While the body runs, the executing thread counts its own spawns and its own completions of
  /// children in `unpublished_children`. The sum of both numbers, less the bias, is the number of
  /// children left. A free record has no children, so a task that spawns none never writes either
  /// number.
  Atomic<std::int32_t> children{body_bias};
  std::int32_t unpublished_children = 0;
  // Each spawn sets the fields from here to `flops`. They are side by side, so wide stores do it.
  GroupState* group = nullptr;
  std::uint32_t access_count = 0;
  std::uint32_t label_bytes = 0;
  std::int32_t priority = 0;
  std::int32_t graph_node = -1;
  bool failed = false; // its body threw, or a child's did, or it needed what a failed task wrote
  // its body was or will be skipped; not failed: as its group was cancelled
  bool cancelled : 4 = false;
  bool unqueued : 2 = false;   // no queue has its accesses: it is postponed or replayed
  bool postponed : 2 = false;  // see Backlog; else it belongs to a captured graph: see ReplayLink
  std::uint8_t size_class = 0; // never changes
  /// The worker to which the task is bound sets it before the scheduler knows the task. The thread
  /// that grants its last access takes it away. A device claims a task by an exchange for `none`;
  /// if the task has ended since it was shown to the device, the claim is another task's for a
  /// while, which does no harm. seq_cst where this must be ordered with looks at sleepers.
  Atomic<Binding> binding{Binding::none};
  std::int32_t reuse = no_reuse; // index for caches
  float flops = 0;               // see hetsched::flops
  std::uint32_t label_at = 0;    // where the label begins in this block; label_bytes long

  /// Begins a fresh record; `its_archs`: classes of workers that may run the task.
  [[gnu::always_inline]] void start(TaskType const& its_type,
                                    ArchMask its_archs,
                                    TaskRecord* its_parent,
                                    Attributes const& attributes) noexcept {
    type.store(&its_type, std::memory_order_relaxed);
    parent.store(its_parent, std::memory_order_release); // see `descends`
    depth.store(its_parent == nullptr ? 0 : its_parent->depth.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
    archs.store(its_archs.bits, std::memory_order_relaxed);
    state.store(TaskState::pending, std::memory_order_relaxed);
    domain.store(nullptr, std::memory_order_relaxed);
    pending.store(1, std::memory_order_relaxed);
    group = attributes.group;
    access_count = 0;
    label_bytes = 0;
    priority = attributes.priority;
    graph_node = attributes.graph_node;
    reuse = attributes.reuse;
    flops = attributes.flops;
    failed = false;
    cancelled = false;
    unqueued = false;
    postponed = false;
  }

  /// The task has ended. Its ids are stale from now on.
  [[gnu::always_inline]] void retire() noexcept {
    state.store(TaskState::free, std::memory_order_relaxed);
    auto const next_generation = generation.load(std::memory_order_relaxed) + 1;
    generation.store(static_cast<std::uint16_t>(next_generation), std::memory_order_relaxed);
  }

  [[nodiscard]] Access* accesses() noexcept { return reinterpret_cast<Access*>(this + 1); }

  [[nodiscard]] Access const* accesses() const noexcept {
    return reinterpret_cast<Access const*>(this + 1);
  }

  /// Where the by-value arguments begin. `access_count` is known.
  [[nodiscard, gnu::always_inline]] inline void* values() noexcept;

  [[nodiscard]] TaskType const& type_of() const noexcept {
    return *type.load(std::memory_order_relaxed);
  }

  /// Whether no child was ever spawned, or the executing thread itself completed all of them.
  [[nodiscard]] bool never_shared_children() const noexcept {
    return children.load(std::memory_order_acquire) == body_bias && unpublished_children == 0;
  }

  /// How many children are not complete. Only for the thread that executes the body.
  [[nodiscard]] std::int32_t children_left() const noexcept {
    return children.load(std::memory_order_acquire) - body_bias + unpublished_children;
  }

  /// Whether its body was called before, and suspended itself; see Suspension. Only for the thread
  /// that executes it.
  [[nodiscard]] bool goes_on() const noexcept {
    return children.load(std::memory_order_relaxed) < body_bias / 2;
  }

  /// From here on, until the next spawn or completion by the executing thread, the thread that
  /// completes the last child finds `body_bias` in `children`.
  void publish_children() noexcept {
    if (auto const change = unpublished_children; change != 0) {
      unpublished_children = 0;
      children.fetch_add(change, std::memory_order_acq_rel);
    }
  }

  [[nodiscard]] std::string_view label_text() const noexcept {
    return {reinterpret_cast<char const*>(this) + label_at, label_bytes};
  }

  /// The public id: address in the low 48 bits, generation above.
  [[nodiscard, gnu::always_inline]] TaskId id() const noexcept {
    auto const address = reinterpret_cast<std::uintptr_t>(this);
    return {static_cast<std::uint64_t>(address) |
            static_cast<std::uint64_t>(generation.load(std::memory_order_relaxed)) << 48U};
  }

  [[nodiscard]] static TaskRecord* from(TaskId id) noexcept {
    return reinterpret_cast<TaskRecord*>(
        static_cast<std::uintptr_t>(id.value & ((std::uint64_t{1} << 48U) - 1)));
  }
};

/// The first access that names the datum of access number k. It stands for the others.
[[nodiscard]] inline Access& first_access(TaskRecord& task, std::size_t k) noexcept {
  auto* access = task.accesses() + k;
  auto const* const queue = access->queue;
  while (access->duplicate) {
    do {
      --access;
    } while (access->queue != queue);
  }
  return *access;
}

static_assert(sizeof(TaskRecord) % alignof(Access) == 0);

/// The most data of a task whose LockOrder is kept on the stack. Behind the accesses of a task with
/// more there is room for their order: who locks them may have no memory to take.
inline constexpr std::size_t few_data = 12;

/// The bytes of a task's header, its accesses and the room for their order.
[[nodiscard]] constexpr std::size_t bytes_to_accesses(std::size_t data) noexcept {
  return sizeof(TaskRecord) + data * sizeof(Access) +
         (data > few_data ? data * sizeof(Access*) : 0);
}

/// Where the by-value arguments begin in the block of a task with so many data.
[[nodiscard]] constexpr std::size_t values_offset(std::size_t data, std::size_t align) noexcept {
  return (bytes_to_accesses(data) + align - 1) / align * align;
}

inline void* TaskRecord::values() noexcept {
  auto const& its_type = type_of();
  auto const at =
      its_type.lists == 0 ? its_type.values_at : values_offset(access_count, its_type.value_align);
  return reinterpret_cast<std::byte*>(this) + at;
}

/// Completes the table of a task type with the places in its tasks' blocks. `destroys`: whether it
/// has a `destroy_values`. A comparison would be no constant in g++ 12 with -fsanitize=undefined.
[[nodiscard]] constexpr TaskType laid_out(TaskType type,
                                          bool destroys,
                                          bool takes_runtime = false,
                                          bool only_spawns = false) noexcept {
  type.takes_runtime = takes_runtime;
  type.only_spawns = only_spawns;
  type.values_at = values_offset(type.parameters.size() - type.lists, type.value_align);
  type.record_bytes = type.values_at + type.value_bytes;
  type.size_class = static_cast<std::uint8_t>(SizeClass::of(type.record_bytes));
  type.counted = type.kind == TaskKind::user ? 1 : 0;
  type.leaves_none = type.kind == TaskKind::user && type.parameters.empty() && !destroys;
  for (auto const& parameter : type.parameters) {
    type.commutes = type.commutes || parameter.mode == AccessMode::commute;
    type.reduces = type.reduces || parameter.mode == AccessMode::reduce;
  }
  type.special = type.reduces;
  return type;
}

/// The type of the record with which a thread waits for a datum.
inline constexpr TaskType wait_type{
    "hetsched sync", TaskKind::wait, {}, {}, nullptr, nullptr, nullptr};

/// Whether a task was spawned, directly or through others, from the body of `ancestor`. It is safe
/// for stale records, because the walk is bounded. The answer is then meaningless. acquire pairs
/// with the release in start_record: a stale record may name a parent in memory that is new to this
/// thread.
[[nodiscard, gnu::always_inline]] inline bool descends(TaskRecord const& task,
                                                       TaskRecord const* ancestor) noexcept {
  auto const* up = task.parent.load(std::memory_order_acquire);
  for (auto level = task.depth.load(std::memory_order_relaxed); up != nullptr && level > 0;
       --level) {
    if (up == ancestor) {
      return true;
    }
    up = up->parent.load(std::memory_order_acquire);
  }
  return false;
}

[[nodiscard]] inline TaskRecord& task_of(Access& access) noexcept {
  return *(reinterpret_cast<TaskRecord*>(&access - access.index) - 1);
}

} // namespace hetsched::detail
