// SPDX-License-Identifier: MIT
#pragma once
// Attempts at abortable tasks: several workers may execute one such task, and one result counts.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace hetsched::detail {

class ThreadCore;
struct ThreadWorker;

/// The functions with which the engine of threads executes abortable tasks. The tables of such
/// tasks point to them, so a program without such tasks does not compile them.
struct AttemptFunctions {
  /// Makes an attempt at a task that this worker got. Returns null if that fails: the task has then
  /// failed.
  TaskRecord* (*begin)(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  /// Executes an attempt on a host core, from its beginning to its end.
  void (*run)(ThreadCore& core, ThreadWorker& worker, TaskRecord& attempt);
};

/// What the attempts at one task share. The engine's lock of attempts guards all but the atomic
/// fields. The last attempt deletes it.
struct Attempts {
  TaskRecord* task = nullptr;
  Array<TaskRecord*> under_way;
  int users = 0;         // attempts that are being made or under way
  std::size_t begun = 1; // attempts so far
  /// How many threads look at the task or its data for an attempt. The winner waits for them before
  /// the task or its data may go. Both this and `winner` are seq_cst, so a thread that enters and
  /// an attempt that has just won cannot miss each other.
  Atomic<int> visitors{0};
  /// The attempt whose result counts. One compare-and-swap chooses it.
  Atomic<TaskRecord*> winner{nullptr};
};

/// Stands behind the by-value arguments of an abortable task, and of each attempt at it. An attempt
/// is a copy of the task's record that no scheduler and no datum's queue knows.
struct AttemptLink {
  Attempts* all = nullptr; // null: this is the task itself
  /// Of the task itself: it runs on a device behind another task, without attempts.
  Atomic<bool> in_place{false};
  Atomic<bool> stop{false}; // another attempt began, or has won
  /// The body has seen that. relaxed: only its own thread and team use it.
  Atomic<bool> stopped{false};
  bool holds = true; // the task does not complete before this ends. Guarded as Attempts
  /// One for each access, or null. The body's views are made from these instead of the task's own
  /// data, which may be gone before the attempt ends. `buffer` is the memory on the host, if any.
  DataRecord* stand_ins = nullptr;
  std::int64_t begin_ns = 0;
  TaskId of_task; // the task may be gone before the attempt ends

  AttemptLink() = default;
  AttemptLink(AttemptLink const&) = delete;
  AttemptLink& operator=(AttemptLink const&) = delete;

  [[nodiscard]] static AttemptLink& of(TaskRecord& task) noexcept {
    return *reinterpret_cast<AttemptLink*>(static_cast<std::byte*>(task.values()) +
                                           task.type_of().link_at());
  }

  [[nodiscard]] static AttemptLink const& of(TaskRecord const& task) noexcept {
    return of(const_cast<TaskRecord&>(task));
  }
};

/// By-value arguments and, behind them, the link. The spawn of an abortable task constructs both.
template <class Values, bool stored>
struct AbortableValues {
  static constexpr std::size_t align = stored && alignof(Values) > alignof(AttemptLink)
                                           ? alignof(Values)
                                           : alignof(AttemptLink);
  static constexpr std::size_t link_at =
      ((stored ? sizeof(Values) : 0) + alignof(AttemptLink) - 1) / alignof(AttemptLink) *
      alignof(AttemptLink);
  static constexpr std::size_t bytes = link_at + sizeof(AttemptLink);

  /// Constructs the link behind values that exist.
  static void add_link(void* values) noexcept {
    new (static_cast<std::byte*>(values) + link_at) AttemptLink;
  }

  static void copy(void* to, void const* from) {
    if constexpr (stored) {
      new (to) Values(*static_cast<Values const*>(from));
    }
    add_link(to);
  }
};

/// Whether a record is an attempt, not a task itself.
[[nodiscard]] inline bool is_attempt(TaskRecord& task) noexcept {
  return task.type_of().attempt_at != 0 && AttemptLink::of(task).all != nullptr;
}

/// Makes this attempt the winner if there is none. Returns whether it is the winner.
[[nodiscard]] inline bool claim(TaskRecord& attempt) noexcept {
  TaskRecord* none = nullptr;
  return AttemptLink::of(attempt).all->winner.compare_exchange_strong(
      none, &attempt, std::memory_order_seq_cst);
}

[[nodiscard]] inline bool has_won(TaskRecord& attempt) noexcept {
  return AttemptLink::of(attempt).all->winner.load(std::memory_order_seq_cst) == &attempt;
}

/// Whether another attempt has won.
[[nodiscard]] inline bool is_overtaken(TaskRecord& attempt) noexcept {
  auto const* const winner = AttemptLink::of(attempt).all->winner.load(std::memory_order_seq_cst);
  return winner != nullptr && winner != &attempt;
}

/// Whether a thread looks at the task for an attempt. If there is a winner, that is a losing
/// attempt.
[[nodiscard]] inline bool has_visitors(TaskRecord& attempt) noexcept {
  return AttemptLink::of(attempt).all->visitors.load(std::memory_order_seq_cst) != 0;
}

// How attempts come and go: a state machine. The engine holds its lock of attempts around each
// call.

/// An attempt at the task, the first, that counts as a child of it, is under way.
[[gnu::cold]] inline void enter_first_attempt(Attempts& all, TaskRecord& attempt) {
  all.under_way.push_back(&attempt);
  all.users = 1;
  all.task->children.fetch_add(1, std::memory_order_relaxed);
}

/// Keeps the task from completing before an attempt of the worker, too, has ended; false if the
/// worker may begin none. There is a result, or an attempt of the worker's own, or the task was
/// begun anew `most` times.
[[nodiscard, gnu::cold]] inline bool
reserve_attempt(Attempts& all, std::int32_t worker, std::size_t most) noexcept {
  // Without a winner so far, the task stays: who wins takes the lock before it lets go.
  if (all.winner.load(std::memory_order_seq_cst) != nullptr || all.begun > most) {
    return false;
  }
  for (auto const* attempt : all.under_way) {
    if (attempt->worker.load(std::memory_order_relaxed) == worker) {
      return false;
    }
  }
  ++all.begun;
  ++all.users;
  all.task->children.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// The attempt for which the task was reserved is under way. The others need not go on.
[[gnu::cold]] inline void enter_attempt(Attempts& all, TaskRecord& attempt) {
  all.under_way.push_back(&attempt);
  for (auto* other : all.under_way) {
    AttemptLink::of(*other).stop.store(other != &attempt, std::memory_order_relaxed);
  }
}

/// `attempt` has the result: the others are asked to stop. Those for which `lets_go(other)` holds
/// do not keep the task from completing any more.
template <class LetsGo>
[[gnu::cold]] void overtake_attempts(Attempts& all, TaskRecord& attempt, LetsGo&& lets_go) {
  std::int32_t dropped = 0;
  for (auto* other : all.under_way) {
    auto& link = AttemptLink::of(*other);
    if (other == &attempt) {
      continue;
    }
    link.stop.store(true, std::memory_order_relaxed);
    if (lets_go(*other) && std::exchange(link.holds, false)) {
      ++dropped;
    }
  }
  all.task->children.fetch_sub(dropped, std::memory_order_acq_rel); // this attempt still counts
}

/// What an attempt leaves.
struct Departure {
  bool held;  // it counts as a child of the task until now
  bool last;  // nobody uses the Attempts any more
  bool again; // and none of them had a result
};

/// An attempt, or null one for which the task was only reserved, is no more.
[[nodiscard, gnu::cold]] inline Departure leave_attempt(Attempts& all, TaskRecord* attempt) {
  bool held = true;
  if (attempt != nullptr) {
    held = AttemptLink::of(*attempt).holds; // now that nobody changes it
    all.under_way.remove(attempt);
  }
  bool const last = --all.users == 0;
  return {held, last, last && all.winner.load(std::memory_order_seq_cst) == nullptr};
}

/// As long as this lives, the task and its data stay, if it is true.
class Visit {
public:
  explicit Visit(Attempts& all) noexcept : all_(all) {
    all_.visitors.fetch_add(1, std::memory_order_seq_cst);
    stays_ = all_.winner.load(std::memory_order_seq_cst) == nullptr;
  }

  Visit(Visit const&) = delete;
  Visit& operator=(Visit const&) = delete;

  ~Visit() { all_.visitors.fetch_sub(1, std::memory_order_seq_cst); }

  explicit operator bool() const noexcept { return stays_; }

private:
  Attempts& all_;
  bool stays_;
};

/// Copies a datum's elements between the task's memory and dense memory.
inline void copy_elements(
    void* to, std::size_t to_ld, void const* from, std::size_t from_ld, DataRecord const& data) {
  auto const column = data.shape.rows * data.element_bytes;
  for (std::size_t j = 0; j < data.shape.cols; ++j) {
    std::memcpy(static_cast<std::byte*>(to) + j * to_ld * data.element_bytes,
                static_cast<std::byte const*>(from) + j * from_ld * data.element_bytes,
                column);
  }
}

/// Makes the stand_ins of an attempt, without memory of their own. `drop_stand_ins` must be called
/// in any case.
inline void new_stand_ins(TaskRecord& attempt, TaskRecord& task) {
  auto*& stand_ins = AttemptLink::of(attempt).stand_ins;
  stand_ins = new DataRecord[attempt.access_count];
  for (std::size_t k = 0; k < attempt.access_count; ++k) {
    stand_ins[k].take_shape(task.accesses()[k].queue->data->shape);
  }
}

/// Has an attempt use stand_ins instead of its task's data: of all data, or, `on_host`, of the data
/// that it writes. On the host these have memory of their own, with the values that the attempt
/// reads. Returns the bytes copied. May throw, but not if the stand_ins exist and `on_host` is
/// false. `drop_stand_ins` must be called in any case.
inline std::size_t make_stand_ins(TaskRecord& attempt, TaskRecord& task, bool on_host) {
  std::size_t copied = 0;
  auto*& stand_ins = AttemptLink::of(attempt).stand_ins;
  if (stand_ins == nullptr) {
    new_stand_ins(attempt, task);
  }
  for (std::size_t k = 0; k < attempt.access_count; ++k) {
    auto const& first = first_access(task, k);
    if (on_host && !writes(first.mode)) {
      continue;
    }
    auto const& queue = *first.queue;
    auto& data = stand_ins[first.index];
    attempt.accesses()[k].queue = &data.home;
    if (first.index != k) {
      continue;
    }
    data.element_bytes = queue.data->element_bytes;
    data.home.ld = data.shape.rows;
    data.home.data = &data;
    if (on_host) {
      data.buffer = HostBuffer(data.bytes(), data.element_bytes);
      data.home.base = data.buffer.get();
      if (reads(first.mode)) {
        copy_elements(data.home.base, data.shape.rows, queue.base, queue.ld, data);
        copied += data.bytes();
      }
    }
  }
  return copied;
}

/// Undoes make_stand_ins.
inline void drop_stand_ins(TaskRecord& attempt) noexcept {
  delete[] std::exchange(AttemptLink::of(attempt).stand_ins, nullptr);
}

/// Copies the data that an attempt on the host wrote to the task's memory.
inline void publish_stand_ins(TaskRecord& attempt, TaskRecord& task) {
  auto* const stand_ins = AttemptLink::of(attempt).stand_ins;
  for (std::size_t k = 0; k < task.access_count; ++k) {
    auto const& access = task.accesses()[k];
    auto const& data = stand_ins[k];
    if (!access.duplicate && writes(access.mode)) {
      copy_elements(access.queue->base, access.queue->ld, data.home.base, data.shape.rows, data);
    }
  }
}

/// The attempt of the calling thread, while the body of an attempt runs on the host.
inline constinit thread_local AttemptLink* this_attempt = nullptr;
HETSCHED_PER_THREAD(this_attempt);

} // namespace hetsched::detail

namespace hetsched {

/// For the body of a task spawned as `abortable`, on a host core: whether its result is no longer
/// wanted, because the task began elsewhere or has ended there. The body should then return soon.
/// The data that it wrote are dropped. Returns false anywhere else. Costs one load.
[[nodiscard]] inline bool stop_requested() noexcept {
  auto* const attempt = detail::this_attempt;
  if (attempt == nullptr || !attempt->stop.load(std::memory_order_relaxed)) {
    return false;
  }
  attempt->stopped.store(true, std::memory_order_relaxed);
  return true;
}

} // namespace hetsched
