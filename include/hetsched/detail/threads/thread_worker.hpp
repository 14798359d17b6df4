// SPDX-License-Identifier: MIT
#pragma once
// The state of one worker of the thread engine, and of the calling thread.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/core/worker_thread.hpp>
#include <hetsched/detail/dataflow/early.hpp>
#include <hetsched/detail/dataflow/task_pool.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/threads/claims.hpp>
#include <hetsched/detail/threads/offers.hpp>
#include <hetsched/detail/threads/team_port.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

namespace hetsched::detail {

/// A counter with one writer at a time and any number of readers: no locked instruction.
class Counter {
public:
  [[gnu::always_inline]] void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_release);
  }

  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_acquire);
  }

private:
  Atomic<std::uint64_t> value_{0};
};

/// Execution times of the task types that one worker ran. Used only when timing is on.
class TypeTimes {
public:
  struct Entry {
    TaskType const* type;
    std::uint64_t count;
    Duration total;
    Duration shortest;
    Duration longest;
  };

  /// Of a type that is new, the time is left out if there is no memory for it: the task has ended.
  void add(TaskType const& type, Duration time) noexcept {
    std::lock_guard const guard(lock_);
    if (auto* const entry = entry_of(type, time)) {
      ++entry->count;
      entry->total += time;
      entry->shortest = std::min(entry->shortest, time);
      entry->longest = std::max(entry->longest, time);
    }
  }

  [[nodiscard]] Array<Entry> entries() const {
    std::lock_guard const guard(lock_);
    return entries_.copy();
  }

  void clear() {
    std::lock_guard const guard(lock_);
    entries_.clear();
  }

private:
  [[nodiscard]] Entry* entry_of(TaskType const& type, Duration time) noexcept {
    for (auto& entry : entries_) {
      if (entry.type == &type) {
        return &entry;
      }
    }
    try {
      entries_.push_back({&type, 0, {}, time, time});
    } catch (std::bad_alloc const&) {
      return nullptr;
    }
    return &entries_.back();
  }

  mutable SpinLock lock_;
  Array<Entry> entries_;
};

/// The counters of one worker.
struct WorkerCounters {
  // tasks of any kind entered into the scheduler's care and done with; merges included
  Counter spawned;
  Counter completed;
  Counter merges;
  Counter rejected; // of `spawned`: in error, or hints, which the user does not count
  Counter executed;
  Counter steals;
  Counter failed;
  Counter cancelled;
  Counter rerun;
  Counter waits; // of bodies
  Counter early;
  Counter idle_ns;
  Counter aborted;    // attempts that failed or lost
  Counter wasted_ns;  // the time of these attempts
  Counter kept_bytes; // copied for attempts on the host
};

/// What the worker must do around its next body.
enum Attention : std::uint8_t {
  no_attention = 0,
  attention_clock = 1,   // it is measured
  attention_hooks = 2,   // the scheduler has hooks around it, or may look at running tasks
  attention_check = 4,   // its accesses are checked
  attention_backlog = 8, // what it spawns may be postponed
};

/// The worker's last theft; see ThreadCore::steal_with.
struct LastTheft {
  std::int64_t at_ns = 0;
  std::int64_t took_ns = 0; // if the victim was at work; otherwise 0
  Duration body;            // the time of the stolen task's body
};

/// Hints for the device that a worker drives.
struct DeviceMail {
  SpinLock lock;
  TaskRecord* first = nullptr; // linked by `next`: who sends one may be unable to take memory
  TaskRecord* last = nullptr;
  Atomic<bool> there{false};
};

/// The tasks of a worker on the device that it drives.
struct LaunchedTasks {
  SpinLock lock;
  Array<TaskRecord*> tasks;      // oldest first; under that lock
  LaunchedSuccessors successors; // used by the worker alone
  Atomic<bool> lost{false};      // the device has broken down: see ThreadCore::retire
  Claims claims;
  Offers offers;
  bool gives_back = false; // the worker takes what the scheduler keeps for it, to give it back
};

struct Backlog;
struct WaitingAside;

/// Owned by the thread that sits in the worker: its own thread, or for worker 0 the thread that
/// holds the seat, or a stand-in for one of them. Fields that other threads read are atomic.
struct alignas(64) ThreadWorker {
  ThreadWorker(void* engine, WorkerInfo const& worker, TaskDepot& depot, std::uint64_t seed)
      : core(engine), info(worker), pool(depot), random(seed) {}

  [[nodiscard]] bool drives_device() const noexcept { return info.node != host_node; }

  void* const core;
  WorkerInfo const info;
  TaskPool pool;
  RandomStream random;
  /// The innermost task of this worker that waits for its children. Only its descendants may run
  /// here.
  Atomic<TaskRecord*> scope{nullptr};
  Atomic<bool> claims_yield{false};     // it takes what others claim, if it ends that sooner
  Atomic<TaskRecord*> running{nullptr}; // the innermost body's; released with the record
  Atomic<std::int64_t> busy_until_ns{0};
  Atomic<std::int64_t> busy_since_ns{0}; // of an abortable task; else 0
  WorkerCounters counts;
  std::uint32_t spawns_since_check = 0;  // of max_live_tasks
  std::uint8_t attention = no_attention; // bits of Attention
  LastTheft theft;
  // Used while all is recorded, so that the clock is read less often. 0: the clock must be read.
  Instant ended; // when the last body ended, if the worker has not looked for work since
  Taking taking; // of the task that begins here next
  TaskId owed_wake = no_task;    // pushed without a wake-up, because this worker takes it next
  TaskRecord* attempt = nullptr; // an attempt that begins at once
  WaitingAside* aside = nullptr; // threads that have left the worker while they wait
  DeviceMail mail;
  LaunchedTasks launched;
  TypeTimes times;
  Owned<TeamPort> team; // null: one core, or it drives a device
  WorkerThread thread;  // none for worker 0
};

/// The state of the calling thread: the runtime whose worker it is, and the task that it executes.
struct ThreadState {
  void const* core = nullptr;
  ThreadWorker* worker = nullptr;
  TaskRecord* task = nullptr;
  void* capture = nullptr; // recording in progress, of the runtime `capture_core`
  void const* capture_core = nullptr;
  bool looks = false;               // in an OutsideLook: the thread must not run tasks
  Suspension* suspension = nullptr; // of the body that returns now; else null
  Backlog* backlog = nullptr;       // of the innermost body that has one; else null
};

inline constinit thread_local ThreadState this_thread;
HETSCHED_PER_THREAD(this_thread);

/// Sets a state, and restores the previous one at its end. A worker's thread has its team.
class ThreadStateGuard {
public:
  explicit ThreadStateGuard(ThreadState state) noexcept
      : before_(this_thread), team_before_(this_team) {
    this_thread = state;
    this_team = state.worker != nullptr ? state.worker->team.get() : nullptr;
  }

  ThreadStateGuard(ThreadStateGuard const&) = delete;
  ThreadStateGuard& operator=(ThreadStateGuard const&) = delete;

  ~ThreadStateGuard() {
    this_thread = before_;
    this_team = team_before_;
  }

private:
  ThreadState before_;
  TeamPort* team_before_;
};

} // namespace hetsched::detail
