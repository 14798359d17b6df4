// SPDX-License-Identifier: MIT
#pragma once
// Attempts at abortable tasks: several workers may execute one such task, and one result counts.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace hetsched::detail {

class ThreadCore;
struct ThreadWorker;

/// How the engine of threads executes abortable tasks. Their tables name it, so that a program
/// without such tasks does not compile it.
struct AttemptFunctions {
  /// An attempt at a task that this worker was given; null if none could be made: the task failed.
  TaskRecord* (*begin)(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  /// An attempt on a host core, from its beginning to its end.
  void (*run)(ThreadCore& core, ThreadWorker& worker, TaskRecord& attempt);
};

/// What the attempts at one task share. Guarded by the engine's lock of attempts but for what is
/// atomic; it goes with the last of them.
struct Attempts {
  TaskRecord* task = nullptr;
  Array<TaskRecord*> under_way;
  int users = 0;         // attempts that are being made, and those under way
  std::size_t begun = 1; // in all
  /// How many threads look at the task or its data on behalf of an attempt: whoever has the result
  /// waits for them before either may go. seq_cst here and in `winner`: one that enters and one
  /// that has just won cannot miss each other.
  std::atomic<int> visitors{0};
  /// The attempt whose result counts, chosen by one compare-and-swap.
  std::atomic<TaskRecord*> winner{nullptr};
};

/// Behind the by-value arguments of an abortable task, and of each attempt at it, which is a copy
/// of the task's record that no scheduler and no datum's queue knows.
struct AttemptLink {
  Attempts* all = nullptr; // null: this is the task itself
  /// The task itself: it is on a device behind another task, without attempts.
  std::atomic<bool> in_place{false};
  std::atomic<bool> stop{false};    // another attempt began, or has the result
  std::atomic<bool> stopped{false}; // the body was told so; relaxed: by its own thread and team
  bool holds = true; // the task, which does not complete before this ends. Guarded as Attempts
  /// One for each access, or null: what a body's view is made from instead of the task's own data,
  /// which may be gone before the attempt is. `buffer` is the memory on the host, if any.
  DataRecord* stand_ins = nullptr;
  std::int64_t begin_ns = 0;
  TaskId of_task; // which may be gone before the attempt is

  AttemptLink() = default;
  AttemptLink(AttemptLink const&) = delete;
  AttemptLink& operator=(AttemptLink const&) = delete;

  [[nodiscard]] static AttemptLink& of(TaskRecord& task) noexcept {
    return *reinterpret_cast<AttemptLink*>(reinterpret_cast<std::byte*>(&task) +
                                           task.type_of().attempt_at);
  }

  [[nodiscard]] static AttemptLink const& of(TaskRecord const& task) noexcept {
    return of(const_cast<TaskRecord&>(task));
  }
};

/// By-value arguments and, behind them, the link: what a spawn of an abortable task constructs.
template <class Values, bool stored>
struct AbortableValues {
  static constexpr std::size_t align = stored && alignof(Values) > alignof(AttemptLink)
                                           ? alignof(Values)
                                           : alignof(AttemptLink);
  static constexpr std::size_t link_at =
      ((stored ? sizeof(Values) : 0) + alignof(AttemptLink) - 1) / alignof(AttemptLink) *
      alignof(AttemptLink);
  static constexpr std::size_t bytes = link_at + sizeof(AttemptLink);

  /// Behind values that exist.
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

/// Whether a record is an attempt: not a task itself, abortable or not.
[[nodiscard]] inline bool is_attempt(TaskRecord& task) noexcept {
  return task.type_of().attempt_at != 0 && AttemptLink::of(task).all != nullptr;
}

/// Whether the attempt's result is the one that counts, from now on if there was none.
[[nodiscard]] inline bool claim(TaskRecord& attempt) noexcept {
  TaskRecord* none = nullptr;
  return AttemptLink::of(attempt).all->winner.compare_exchange_strong(
      none, &attempt, std::memory_order_seq_cst);
}

[[nodiscard]] inline bool has_won(TaskRecord& attempt) noexcept {
  return AttemptLink::of(attempt).all->winner.load(std::memory_order_seq_cst) == &attempt;
}

/// Whether another attempt has the result.
[[nodiscard]] inline bool is_overtaken(TaskRecord& attempt) noexcept {
  auto const* const winner = AttemptLink::of(attempt).all->winner.load(std::memory_order_seq_cst);
  return winner != nullptr && winner != &attempt;
}

/// Whether anybody looks at the task on behalf of an attempt: one that comes too late, if there is
/// a winner.
[[nodiscard]] inline bool has_visitors(TaskRecord& attempt) noexcept {
  return AttemptLink::of(attempt).all->visitors.load(std::memory_order_seq_cst) != 0;
}

/// For as long as this lives the task and its data stay, if it says so.
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

/// Copies a datum's elements between where a task has it and dense memory.
inline void copy_elements(
    void* to, std::size_t to_ld, void const* from, std::size_t from_ld, DataRecord const& data) {
  auto const column = data.shape.rows * data.element_bytes;
  for (std::size_t j = 0; j < data.shape.cols; ++j) {
    std::memcpy(static_cast<std::byte*>(to) + j * to_ld * data.element_bytes,
                static_cast<std::byte const*>(from) + j * from_ld * data.element_bytes,
                column);
  }
}

/// Makes an attempt look at stand_ins instead of its task's data: all of them, or, `on_host`, those
/// that it writes, in memory of its own that holds what it is to read. Returns the bytes copied.
/// May throw, but not where the stand_ins are there and not `on_host`; `drop_stand_ins` is due in
/// any case.
inline std::size_t make_stand_ins(TaskRecord& attempt, TaskRecord& task, bool on_host) {
  std::size_t copied = 0;
  auto*& stand_ins = AttemptLink::of(attempt).stand_ins;
  if (stand_ins == nullptr) {
    stand_ins = new DataRecord[attempt.access_count];
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
    data.shape = queue.data->shape;
    data.element_bytes = queue.data->element_bytes;
    data.home.ld = data.shape.rows;
    data.home.data = &data;
    if (on_host) {
      data.buffer = HostBuffer(data.bytes());
      data.home.base = data.buffer.get();
      if (reads(first.mode)) {
        copy_elements(data.home.base, data.shape.rows, queue.base, queue.ld, data);
        copied += data.bytes();
      }
    }
  }
  return copied;
}

/// Undoes it.
inline void drop_stand_ins(TaskRecord& attempt) noexcept {
  delete[] std::exchange(AttemptLink::of(attempt).stand_ins, nullptr);
}

/// Copies what an attempt on the host wrote to where its task has it.
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

/// That of the calling thread, in the body of an attempt on the host.
inline constinit thread_local AttemptLink* this_attempt = nullptr;

} // namespace hetsched::detail

namespace hetsched {

/// Inside the body of a task spawned as `abortable`, on a host core: whether the result is not
/// wanted any more, as the task was begun elsewhere or has ended there. A body that was told so is
/// to return soon; whatever it wrote is dropped. False anywhere else. Costs one load.
[[nodiscard]] inline bool stop_requested() noexcept {
  auto* const attempt = detail::this_attempt;
  if (attempt == nullptr || !attempt->stop.load(std::memory_order_relaxed)) {
    return false;
  }
  attempt->stopped.store(true, std::memory_order_relaxed);
  return true;
}

} // namespace hetsched
