// SPDX-License-Identifier: MIT
#pragma once
// The parts of ThreadCore: its workers, its sleepers and the threads outside.

#include <hetsched/core/config.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/engine/unpushed_tasks.hpp>
#include <hetsched/detail/threads/parking.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/detail/threads/topology.hpp>

#include <bit>
#include <mutex>

namespace hetsched::detail {

struct Attempts;
struct GroupState;
struct Suspension;

/// What a thread waits for: a function that says whether it holds. Any thread may call it.
struct Condition {
  bool (*holds)(void const* of);
  void const* of;
  bool only_when_idle = false;       // not called while there are tasks to run
  bool in_body = false;              // a body waits for it, or something else that must end
  GroupState const* group = nullptr; // that its tasks have ended; else null

  [[nodiscard]] bool operator()() const { return holds(of); }

  /// The function is `f()`. f must outlive this.
  template <class F>
  [[nodiscard]] static Condition that(F const& f) noexcept {
    return {[](void const* function) { return (*static_cast<F const*>(function))(); }, &f};
  }

  /// The same, where a body waits for it.
  template <class F>
  [[nodiscard]] static Condition in_body_that(F const& f) noexcept {
    auto condition = that(f);
    condition.in_body = true;
    return condition;
  }
};

/// The workers: those of cores come first, then one for each device.
struct Crew {
  Placement const placement;
  FixedArray<WorkerInfo> const infos;
  ArchMask const present; // classes that have workers
  bool const one_class;
  FixedArray<ThreadWorker> workers;

  Crew(Config const& config, int devices, void* core, TaskDepot& depot);

  [[nodiscard]] ThreadWorker& driver_of(NodeId device) noexcept {
    return workers[driver_at(device)];
  }

  [[nodiscard]] ThreadWorker const& driver_of(NodeId device) const noexcept {
    return workers[driver_at(device)];
  }

private:
  [[nodiscard]] std::size_t driver_at(NodeId device) const noexcept {
    return static_cast<std::size_t>(placement.workers + device.value - 1);
  }
};

/// The state of seat 0. `spawning` lasts for one spawn, so no thread sleeps for its end, and a mere
/// store ends it. `wanted` means that it is taken and a thread sleeps until it is free.
enum class Seat : std::uint8_t { free, spawning, taken, wanted };

/// Seat 0, and the outside threads that sleep because it is taken.
class Seating {
public:
  [[nodiscard]] Seat state(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return seat_.load(order);
  }

  [[gnu::always_inline]] bool try_take(Seat how) noexcept {
    auto free = Seat::free; // acquire pairs with leave
    return seat_.load(std::memory_order_relaxed) == Seat::free &&
           seat_.compare_exchange_strong(free, how, std::memory_order_acquire);
  }

  /// The spawning thread keeps the seat for longer than a spawn, and leaves it by `leave`.
  void keep() noexcept { seat_.store(Seat::taken, std::memory_order_relaxed); }

  /// At the end of a spawn. Returns false if the thread has kept the seat.
  [[gnu::always_inline]] bool leave_after_spawn() noexcept {
    bool const brief = seat_.load(std::memory_order_relaxed) == Seat::spawning;
    if (brief) { // no other thread changes that
      seat_.store(Seat::free, std::memory_order_release);
    }
    return brief;
  }

  void leave() {
    if (seat_.exchange(Seat::free, std::memory_order_acq_rel) == Seat::wanted) {
      notify_outside();
    }
  }

  /// Whether the seat is taken. Its holder will then wake the sleepers.
  [[nodiscard]] bool want() noexcept {
    auto taken = Seat::taken;
    return seat_.load(std::memory_order_relaxed) == Seat::wanted ||
           seat_.compare_exchange_strong(taken, Seat::wanted, std::memory_order_acq_rel);
  }

  /// Tells outside threads that sleep to look at their conditions again.
  void notify_outside();

  void begin_to_wait() noexcept { waiters_.fetch_add(1, std::memory_order_acq_rel); }

  void end_to_wait() noexcept { waiters_.fetch_sub(1, std::memory_order_acq_rel); }

  [[nodiscard]] std::uint32_t events() const noexcept {
    return events_.load(std::memory_order_acquire);
  }

  void sleep(std::uint32_t since) noexcept { events_.wait(since, std::memory_order_acquire); }

private:
  alignas(64) Atomic<Seat> seat_{Seat::free};
  alignas(64) Atomic<int> waiters_{0};
  Atomic<std::uint32_t> events_{0};
};

/// Something outside the engine that ends external tasks, and that workers look at: between tasks,
/// and instead of all of them sleeping.
struct OutsideLook {
  /// Returns whether anything had happened. Several threads may call it at a time.
  bool (*look)(OutsideLook& self);
  std::int64_t patience_ns; // between tasks, the least time from one look to the next

  Atomic<std::int64_t> last_ns{0};
  Atomic<bool> watched{false}; // a worker without work looks again and again
};

/// Suspended bodies that wait for groups. Not in the groups: who empties one may not look at it any
/// more.
struct WaitingForGroups {
  SpinLock lock;
  Suspension* first = nullptr; // linked by `next`
  Atomic<bool> any{false};     // written under the lock
};

/// The sleeping workers, and what a thread has to look at before it sleeps.
struct Waiting {
  static constexpr std::uint64_t never_lifted = ~std::uint64_t{0};

  explicit Waiting(int workers) : parking(workers) {}

  Parking parking;
  Seating seating;
  alignas(64) Atomic<bool> stopping{false};
  Atomic<bool> failed{false};          // a task has failed: data may be poisoned
  Atomic<int> retired_devices{0};      // they have broken down, and their workers know it
  Atomic<std::uint64_t> lost_asked{0}; // see ThreadCore::ask_lost_if_all_sleep
  Atomic<int> aside{0};                // threads that have left their workers while they wait
  Atomic<std::uint64_t> syncs{0};      // of data, that have ended
  /// ThreadCore::events when the nesting rule was lifted last, to see whether it is worth looking
  /// again.
  Atomic<std::uint64_t> lifted_at{never_lifted};
  Atomic<int> drain_waiters{0};
  Mutex merging;                   // one drain inserts merges at a time
  Atomic<std::uint64_t> merged{0}; // drains that have inserted some; written under `merging`
  Atomic<std::uint64_t> sleep_events{0};
  UnpushedTasks unpushed;
  WaitingForGroups for_groups;
  Atomic<OutsideLook*> outside{nullptr}; // null: nothing to look at
  Atomic<int> looking{0};                // threads that may be in its `look`
};

/// Tasks with attempts under way.
struct AttemptList {
  Mutex lock; // taken inside the scheduler's
  Array<Attempts*> all;
  Atomic<int> undecided{0}; // tasks without a winner, if the scheduler reconsiders
};

/// For threads that are no worker's and found seat 0 taken.
struct Outsiders {
  Outsiders(TaskDepot& depot, std::uint64_t seed) : pool(depot), random(seed) {}

  mutable SpinLock lock;
  TaskPool pool;               // under the lock
  mutable RandomStream random; // under the lock
  Atomic<std::uint64_t> spawned{0};
  Atomic<std::uint64_t> completed{0};
  Atomic<std::uint64_t> merges{0};
  Atomic<std::uint64_t> rejected{0};
};

/// The counts at the last reset of the statistics.
struct StatsBase {
  Atomic<std::int64_t> since_ns{0};
  mutable Mutex mutex;
  Stats base;
};

} // namespace hetsched::detail
