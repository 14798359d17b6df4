// SPDX-License-Identifier: MIT
#pragma once
// Definitions of external_tasks.hpp.

#include <hetsched/detail/dataflow/release.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/detail/threads/thread_host.hpp>
#include <hetsched/detail/threads/waiting.hpp>

#include <algorithm>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::begin_to_look(ThreadCore& core,
                                                                OutsideLook& look) {
  core.waiting_.outside.store(&look, std::memory_order_seq_cst);
  core.wake_all(WakeReason::condition); // one of the sleepers looks from now on
}

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::end_looking(ThreadCore& core) noexcept {
  core.waiting_.outside.store(nullptr, std::memory_order_seq_cst);
  while (core.waiting_.looking.load(std::memory_order_seq_cst) != 0) {
    yield_core();
  }
}

/// What there is to look at, null if nothing, which stays while this lives. seq_cst: either
/// `end_looking` sees the thread in `looking`, or the thread sees that there is nothing.
class OutsideUse {
public:
  explicit OutsideUse(Waiting& waiting) noexcept : looking_(waiting.looking) {
    looking_.fetch_add(1, std::memory_order_seq_cst);
    outside_ = waiting.outside.load(std::memory_order_seq_cst);
  }

  OutsideUse(OutsideUse const&) = delete;
  OutsideUse& operator=(OutsideUse const&) = delete;

  ~OutsideUse() { looking_.fetch_sub(1, std::memory_order_seq_cst); }

  [[nodiscard]] OutsideLook* get() const noexcept { return outside_; }

private:
  Atomic<int>& looking_;
  OutsideLook* outside_ = nullptr;
};

/// Returns whether anything had happened.
[[gnu::cold]] HETSCHED_INLINE bool look_at(OutsideLook& outside, std::int64_t now_ns) {
  outside.last_ns.store(now_ns, std::memory_order_relaxed);
  return outside.look(outside);
}

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::look_if_due(ThreadCore& core) {
  OutsideUse const use(core.waiting_);
  if (auto* const outside = use.get()) {
    auto const now = monotonic_ns();
    if (now - outside->last_ns.load(std::memory_order_relaxed) >= outside->patience_ns) {
      look_at(*outside, now);
    }
  }
}

[[gnu::cold]] HETSCHED_INLINE void
ExternalTasks::end(ThreadCore& core, TaskRecord& task, bool failed) {
  if (failed) {
    core.waiting_.failed.store(true, std::memory_order_relaxed); // as in ThreadCore::fail
    task.failed = true;
  }
  ThreadCore::SpawnSeat const seat(core);
  auto* const worker = seat.worker();
  // Tasks that become ready here count neither as spawned nor as completed.
  core.waiting_.lifted_at.store(Waiting::never_lifted, std::memory_order_seq_cst);
  {
    ThreadCore::Host host(core, worker, nullptr, ThreadCore::Host::Origin::activated);
    release_accesses(host, task);
  }
  if (worker != nullptr) {
    core.pay_owed_wake(*worker);
  }
  ThreadCore::BareHost host(core, worker, nullptr);
  host.recycle(task);
  host.uncount_hint(task); // last: a drain may then return
}

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::bring_home(TaskRecord& task) {
  auto const& access = task.accesses()[0];
  take_data(replicas_of(*access.queue), Destination::home, writes(access.mode));
}

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::await(ThreadCore& core, Condition const& done) {
  core.wait(nullptr, done);
}

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::wake_waiters(ThreadCore& core) {
  core.wake_all(WakeReason::condition);
  core.waiting_.seating.notify_outside();
}

[[gnu::cold]] HETSCHED_INLINE ExternalTasks::Outside::Outside() noexcept
    : state_({this_thread.core, this_thread.worker, nullptr, nullptr, nullptr, true}) {
}

// ---- a worker without work ----

/// seq_cst: this worker has announced sleep. If it finds another one watching, that one finds it
/// asleep when it ends to watch.
[[gnu::cold]] HETSCHED_INLINE bool ExternalTasks::Watch::begin() noexcept {
  OutsideUse const use(core_.waiting_);
  auto* const outside = use.get();
  watches_ = outside != nullptr && !outside->watched.exchange(true, std::memory_order_seq_cst);
  return watches_;
}

[[gnu::cold]] HETSCHED_INLINE void ExternalTasks::Watch::end() noexcept {
  watches_ = false;
  OutsideUse const use(core_.waiting_);
  if (auto* const outside = use.get()) {
    outside->watched.store(false, std::memory_order_seq_cst); // before the look at who sleeps
    auto& parking = core_.waiting_.parking;
    parking.find_asleep(
        [&](WorkerId worker) { return parking.unpark(worker, WakeReason::condition); });
  }
}

[[gnu::cold]] HETSCHED_INLINE bool ExternalTasks::Watch::look() {
  OutsideUse const use(core_.waiting_);
  return use.get() != nullptr && look_at(*use.get(), monotonic_ns());
}

HETSCHED_INLINE ExternalTasks::Watch::~Watch() {
  if (watches_) [[unlikely]] {
    end();
  }
}

HETSCHED_INLINE bool ExternalTasks::Watch::looks_instead() {
  constexpr std::int64_t shortest_ns = 20000;
  constexpr std::int64_t longest_ns = 200000;
  constexpr std::int64_t idle_ns = 1000000; // after a hundred of the longest: others need the cores
  constexpr int rounds_to_idle = 100;
  if (core_.waiting_.outside.load(std::memory_order_relaxed) == nullptr) [[likely]] {
    return false;
  }
  if (!watches_ && !begin()) {
    return false;
  }
  if (look()) {
    idle_rounds_ = 0;
  } else {
    pause_for(idle_rounds_ > rounds_to_idle
                  ? idle_ns
                  : std::min(longest_ns, shortest_ns * (idle_rounds_ / 4 + 1)));
    idle_rounds_ = std::min(idle_rounds_ + 1, rounds_to_idle + 1);
  }
  return true;
}

} // namespace hetsched::detail
