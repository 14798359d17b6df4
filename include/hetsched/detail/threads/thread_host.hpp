// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: how a thread acts for it while it spawns or completes tasks.

#include <hetsched/detail/recording/record_division.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <utility>

namespace hetsched::detail {

/// What a thread does for the engine with tasks that have no data: makes them, counts them,
/// recycles them. Belongs to one thread and one call. Its address goes nowhere, so it lives in
/// registers; that is why `Host` is another class.
class ThreadCore::BareHost {
public:
  /// `worker` is null for an outside thread without the seat; `spawner` is the task, if any, whose
  /// children are being made.
  [[gnu::always_inline]]
  BareHost(ThreadCore& core, ThreadWorker* worker, TaskRecord* spawner) noexcept
      : core_(core), worker_(worker), spawner_(spawner) {}

  /// Of the task whose body the calling thread is in.
  [[nodiscard, gnu::always_inline]] static BareHost of_running_task(ThreadCore& core) noexcept {
    auto* const worker = this_thread.worker;
    auto* const task = this_thread.task;
    if (worker == nullptr || task == nullptr) {
      __builtin_unreachable();
    }
    return BareHost(core, worker, task);
  }

  BareHost(BareHost const&) = delete;
  BareHost& operator=(BareHost const&) = delete;

  /// Null for an outside thread without the seat.
  [[nodiscard]] ThreadWorker* worker() const noexcept { return worker_; }

  /// The task whose children are being made, or null.
  [[nodiscard]] TaskRecord* spawner() const noexcept { return spawner_; }

  /// As whom the thread acts.
  [[nodiscard]] WorkerId from() const noexcept {
    return worker_ != nullptr ? worker_->info.id : no_worker;
  }

  /// Hands the task to the scheduler. `again`: it was before, and nobody could end it.
  void ready(TaskRecord& task, bool again = false);

  /// A record in a block of that SizeClass.
  [[nodiscard, gnu::always_inline]] TaskRecord* allocate(std::size_t size_class) {
    if (worker_ != nullptr) {
      return worker_->pool.allocate(size_class);
    }
    std::lock_guard const guard(core_.outsiders_.lock);
    return core_.outsiders_.pool.allocate(size_class);
  }

  /// The header of a fresh record.
  [[gnu::always_inline]] static void start_record(TaskRecord& task,
                                                  TaskType const& type,
                                                  TaskRecord* parent,
                                                  Attributes const& attributes = {}) noexcept {
    task.start(type, type.archs & attributes.archs, parent, attributes);
  }

  [[gnu::always_inline]] void recycle(TaskRecord& task) {
    task.retire();
    if (worker_ != nullptr) {
      worker_->pool.release(&task);
      return;
    }
    std::lock_guard const guard(core_.outsiders_.lock);
    core_.outsiders_.pool.release(&task);
  }

  /// Before a task can complete: makes every sync that should wait for it do so.
  [[gnu::always_inline]] void count_spawn(TaskRecord& task) noexcept {
    if (auto* const parent = task.parent.load(std::memory_order_relaxed)) {
      ++parent->unpublished_children;
    }
    if (task.group != nullptr) {
      task.group->state.fetch_add(1, std::memory_order_relaxed);
    }
    count_spawned(1);
  }

  /// The same of so many tasks that have no parent.
  void count_spawned(std::uint64_t tasks) noexcept {
    if (worker_ != nullptr) {
      worker_->counts.spawned.add(tasks);
    } else {
      core_.outsiders_.spawned.fetch_add(tasks, std::memory_order_release);
    }
  }

  /// The same of a child of the running task, in no group.
  [[gnu::always_inline]] void count_child() noexcept {
    ++spawner_->unpublished_children;
    worker_->counts.spawned.add();
  }

  /// The task turned out to be in error and was never registered.
  void uncount_spawn(TaskRecord& task) noexcept;

  /// As count_spawn and uncount_spawn, of a task that the user does not count.
  void count_hint(TaskRecord& hint) noexcept;
  void uncount_hint(TaskRecord& hint) noexcept;

protected:
  void count_rejected() noexcept;
  void count_completed() noexcept;

  ThreadCore& core_;
  ThreadWorker* const worker_;
  TaskRecord* const spawner_;
};

/// A thread acting for the dataflow layer: hands ready tasks to the scheduler, at once when
/// spawned, in batches when activated by a completion. Belongs to one thread and one call.
class ThreadCore::Host : public BareHost {
public:
  enum class Origin : bool { spawned, activated };

  /// See BareHost.
  Host(ThreadCore& core, ThreadWorker* worker, TaskRecord* spawner, Origin origin) noexcept
      : BareHost(core, worker, spawner), origin_(origin) {}

  ~Host() {
    if (count_ != 0) {
      flush();
    }
  }

  [[gnu::always_inline]] void ready(TaskRecord& task) {
    if (origin_ == Origin::spawned) {
      BareHost::ready(task);
      return;
    }
    if (core_.devices_ && core_.unbind(task)) [[unlikely]] {
      return;
    }
    activate(task);
  }

  /// Tells the scheduler that this worker has activated the task.
  [[gnu::always_inline]] void activate(TaskRecord& task) {
    if (count_ == batch_size) {
      flush();
    }
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    new (batch_.data() + count_++ * sizeof(TaskId)) TaskId(task.id());
  }

  /// The task is about to be registered; is complete, or has turned out to be in error.
  void note_spawn(TaskRecord& task) {
    if (core_.notes_spawns_) [[unlikely]] {
      core_.note_spawn(task, from());
    }
  }

  void note_end(TaskRecord& task) noexcept {
    if (core_.devices_) [[unlikely]] {
      core_.devices_->note_end(task);
    }
  }

  /// A region is about to be divided, or joined.
  void note_division(PartitionState const& state, bool joined);

  /// A waiting thread holds the datum it waited for.
  void wait_granted(TaskRecord& task);

  /// A hint for a device's worker holds its datum.
  void give_to_device(TaskRecord& hint);

  /// Keeps a task of the library's own back behind tasks that are postponed. Returns false if there
  /// are none: then it is to be registered.
  [[nodiscard]] bool postpone(TaskRecord& task) {
    return core_.postpones() && backlogs->keep(core_, task);
  }

  /// See `divide`.
  [[nodiscard]] Divisions*& divisions() noexcept { return divisions_; }

  /// The data of a partition are lost.
  void fail(TaskRecord& holder, std::exception_ptr error);

  /// For a merge task's record.
  void prepare_merge(AccessQueue& queue) {
    auto* const record = allocate(SizeClass::of(bytes_to_accesses(1)));
    record->next = std::exchange(queue.spare_merge, record);
  }

  /// Makes and counts a merge task.
  TaskRecord& new_merge(AccessQueue& queue, ReductionOps const& ops);

private:
  static constexpr std::size_t batch_size = 32;

  void flush() noexcept;
  void push_alone(TaskId task);
  void wake_activated(Wake wake, TaskId task);

  Origin origin_;
  std::size_t count_ = 0;
  Divisions* divisions_ = nullptr;
  alignas(TaskId) std::array<std::byte, batch_size * sizeof(TaskId)> batch_; // uninitialised
};

/// The calling thread as a spawner: a worker of this runtime, or an outsider that borrows seat 0
/// for as long as this lives if it is free, or else an outsider without it.
class ThreadCore::SpawnSeat {
public:
  [[gnu::always_inline]] explicit SpawnSeat(ThreadCore& core)
      : core_(core),
        seated_(this_thread.core != &core && core.waiting_.seating.try_take(Seat::spawning)),
        worker_(this_thread.core == &core ? this_thread.worker
                : seated_                 ? &core.crew_.workers[0]
                                          : nullptr) {}

  SpawnSeat(SpawnSeat const&) = delete;
  SpawnSeat& operator=(SpawnSeat const&) = delete;

  [[gnu::always_inline]] ~SpawnSeat() {
    if (seated_ && !core_.waiting_.seating.leave_after_spawn()) {
      core_.leave_seat();
    }
  }

  /// Null without the seat.
  [[nodiscard]] ThreadWorker* worker() const noexcept { return worker_; }

private:
  ThreadCore& core_;
  bool const seated_;
  ThreadWorker* const worker_;
};

/// A seat and a host in it.
class ThreadCore::Spawner {
public:
  explicit Spawner(ThreadCore& core, Registers what = Registers::tasks)
      : seat_(core), host_(core, seat_.worker(), core.current_task(), Host::Origin::spawned) {
    // What this thread makes ready is not counted as spawned or completed.
    core.waiting_.lifted_at.store(Waiting::never_lifted, std::memory_order_seq_cst);
    if (this_thread.backlog != nullptr && what != Registers::postponable) [[unlikely]] {
      backlogs->hand_over_own(core, what == Registers::tasks);
    }
  }

  [[nodiscard]] Host& host() noexcept { return host_; }

private:
  SpawnSeat seat_;
  Host host_;
};

} // namespace hetsched::detail
