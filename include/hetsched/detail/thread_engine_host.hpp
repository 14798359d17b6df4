// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: how a thread acts for it while it spawns or completes tasks.

#include <hetsched/detail/hints.hpp>
#include <hetsched/detail/thread_engine.hpp>

namespace hetsched::detail {

/// What a thread does for the engine with tasks that have no data: makes them, hands them to the
/// scheduler at once, recycles them. Belongs to one thread and one call. Its address goes nowhere,
/// so it lives in registers; that is why `Host` is another class.
template <class S, class C, class P>
class ThreadCore<S, C, P>::BareHost {
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

  /// `again`: it was before, and nobody could end it.
  [[gnu::always_inline]] void ready(TaskRecord& task, bool again = false) {
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    Context const ctx(core_);
    auto const id = task.id();
    auto const worker = from();
    if (core_.explainer_.watches()) [[unlikely]] {
      core_.watch_ready(id, worker, !again);
    }
    core_.apply(core_.locked([&]() __attribute__((always_inline)) {
      return core_.scheduler_.push(ctx, id, worker);
    }),
                id);
  }

  /// A record in a block of that SizeClass.
  [[nodiscard, gnu::always_inline]] TaskRecord* allocate(std::size_t size_class) {
    if (worker_ != nullptr) {
      return worker_->pool.allocate(size_class);
    }
    std::lock_guard const guard(core_.outside_lock_);
    return core_.outside_pool_.allocate(size_class);
  }

  /// The header of a fresh record.
  [[gnu::always_inline]] static void start_record(TaskRecord& task,
                                                  TaskType const& type,
                                                  TaskRecord* parent,
                                                  Attributes const& attributes = {}) noexcept {
    task.start(type, type.archs & attributes.archs, parent, attributes);
  }

  [[gnu::always_inline]] void recycle(TaskRecord& task) {
    task.state.store(TaskState::free, std::memory_order_relaxed);
    auto const generation = task.generation.load(std::memory_order_relaxed);
    task.generation.store(static_cast<std::uint16_t>(generation + 1), std::memory_order_relaxed);
    if (worker_ != nullptr) {
      worker_->pool.release(&task);
      return;
    }
    std::lock_guard const guard(core_.outside_lock_);
    core_.outside_pool_.release(&task);
  }

  /// Before a task can complete: makes every sync that should wait for it do so.
  [[gnu::always_inline]] void count_spawn(TaskRecord& task) noexcept {
    if (auto* const parent = task.parent.load(std::memory_order_relaxed)) {
      ++parent->unpublished_children;
    }
    if (task.group != nullptr) {
      task.group->state.fetch_add(1, std::memory_order_relaxed);
    }
    if (worker_ != nullptr) {
      worker_->spawned.add();
    } else {
      core_.outside_spawned_.fetch_add(1, std::memory_order_release);
    }
  }

  /// The same of a child of the running task, in no group.
  [[gnu::always_inline]] void count_child() noexcept {
    ++spawner_->unpublished_children;
    worker_->spawned.add();
  }

  /// The task turned out to be in error and was never registered.
  void uncount_spawn(TaskRecord& task) noexcept {
    if (auto* const parent = task.parent.load(std::memory_order_relaxed)) {
      --parent->unpublished_children;
    }
    if (task.group != nullptr) {
      task.group->state.fetch_sub(1, std::memory_order_relaxed);
    }
    count_rejected();
    count_completed();
    core_.before_sleep(); // another thread may have begun to wait for this task
  }

  /// As count_spawn and uncount_spawn, of a task that the user does not count.
  void count_hint(TaskRecord& hint) noexcept {
    count_spawn(hint);
    count_rejected();
  }

  void uncount_hint(TaskRecord& hint) noexcept {
    if (auto* const parent = hint.parent.load(std::memory_order_relaxed)) {
      --parent->unpublished_children;
    }
    count_completed();
    core_.before_sleep();
  }

protected:
  [[nodiscard]] WorkerId from() const noexcept {
    return worker_ != nullptr ? worker_->info.id : no_worker;
  }

  void count_rejected() noexcept {
    if (worker_ != nullptr) {
      worker_->rejected.add();
    } else {
      core_.outside_rejected_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void count_completed() noexcept {
    if (worker_ != nullptr) {
      worker_->completed.add();
    } else {
      core_.outside_completed_.fetch_add(1, std::memory_order_release);
    }
  }

  ThreadCore& core_;
  ThreadWorker* const worker_;
  TaskRecord* const spawner_;
};

/// A thread acting for the dataflow layer: hands ready tasks to the scheduler, at once when
/// spawned, in batches when activated by a completion. Belongs to one thread and one call.
template <class S, class C, class P>
class ThreadCore<S, C, P>::Host : public BareHost {
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

  /// The scheduler is to hear of it as activated by this worker.
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

  /// A region is about to be divided, or joined.
  void note_division(PartitionState const& state, bool joined) {
    if (core_.recorder_) [[unlikely]] {
      record_division(*core_.recorder_, from(), state, joined, core_.clock());
    }
  }

  void note_end(TaskRecord& task) noexcept {
    if (core_.devices_) [[unlikely]] {
      core_.devices_->note_end(task);
    }
  }

  void wait_granted(TaskRecord& task) {
    WorkerId const waiter{task.worker.load(std::memory_order_relaxed)};
    task.state.store(TaskState::running, std::memory_order_release); // the waiter may leave now
    if (waiter) {
      core_.parking_.unpark(waiter, WakeReason::condition);
    }
    core_.notify_outside();
  }

  void give_to_device(TaskRecord& hint) {
    auto& worker = core_.driver_of(Hinted::of(hint).node);
    hint.state.store(TaskState::ready, std::memory_order_relaxed);
    {
      std::lock_guard const guard(worker.inbox_lock);
      worker.inbox.push_back(&hint);
    }
    worker.has_mail.store(true, std::memory_order_seq_cst); // before the look at who sleeps
    core_.parking_.unpark(worker.info.id, WakeReason::condition);
  }

  TaskRecord& new_merge(AccessQueue& queue, ReductionOps const& ops) {
    auto& task = *this->allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
    // A merge forced by a thread that is not in the domain (the last handle dies there) is waited
    // for there: it need not count as a child.
    this->start_record(task, merge_type, queue.domain->owner == spawner_ ? spawner_ : nullptr);
    task.access_count = 1;
    auto* const copies_op = const_cast<ReductionOps*>(&ops); // only carried; see merge_copies
    new (task.accesses()) Access{&queue, nullptr, copies_op, AccessMode::read_write, false, 0};
    if (core_.recorder_) [[unlikely]] {
      core_.recorder_->spawned(from(), task, core_.clock());
    }
    this->count_spawn(task);
    if (worker_ != nullptr) {
      worker_->merges.add();
    } else {
      core_.outside_merges_.fetch_add(1, std::memory_order_relaxed);
    }
    return task;
  }

private:
  static constexpr std::size_t batch_size = 32;

  using BareHost::core_;
  using BareHost::from;
  using BareHost::spawner_;
  using BareHost::worker_;

  [[gnu::noinline]] void flush() {
    std::span const tasks(reinterpret_cast<TaskId const*>(batch_.data()), count_);
    count_ = 0;
    if (core_.explainer_.watches()) [[unlikely]] {
      for (auto const id : tasks) {
        core_.watch_ready(id, from(), false);
      }
    }
    if constexpr (has_push_activated_each<S, Context>) {
      std::array<Wake, batch_size> wakes;
      Context const ctx(core_);
      core_.locked([&] {
        core_.scheduler_.push_activated(ctx, tasks, from(), std::span(wakes).first(tasks.size()));
      });
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        wake_activated(wakes[k], tasks.subspan(k, 1));
      }
    } else if constexpr (has_push_activated<S, Context>) {
      Context const ctx(core_);
      auto const wake =
          core_.locked([&] { return core_.scheduler_.push_activated(ctx, tasks, from()); });
      wake_activated(wake, tasks);
    } else {
      for (auto const id : tasks) {
        Context const ctx(core_);
        auto const wake = core_.locked([&] { return core_.scheduler_.push(ctx, id, from()); });
        wake_activated(wake, std::span(&id, 1));
      }
    }
  }

  /// The finishing worker takes one of the tasks itself, so one wake-up can be saved; `work_until`
  /// makes up for it if the worker leaves without taking any.
  void wake_activated(Wake wake, std::span<TaskId const> tasks) {
    for (auto const id : tasks) {
      if (wake.is_any() && worker_ != nullptr && !worker_->owed_wake && !worker_->drives_device() &&
          core_.can_run(*TaskRecord::from(id), worker_->info.id)) {
        worker_->owed_wake = id;
      } else {
        core_.apply(wake, id);
      }
    }
  }

  Origin origin_;
  std::size_t count_ = 0;
  alignas(TaskId) std::array<std::byte, batch_size * sizeof(TaskId)> batch_; // uninitialised
};

/// The calling thread as a spawner: a worker of this runtime, or an outsider that borrows seat 0
/// for as long as this lives if it is free, or else an outsider without it.
template <class S, class C, class P>
class ThreadCore<S, C, P>::SpawnSeat {
public:
  [[gnu::always_inline]] explicit SpawnSeat(ThreadCore& core)
      : core_(core), seated_(this_thread.core != &core && core.try_seat(Seat::spawning)),
        worker_(this_thread.core == &core ? this_thread.worker
                : seated_                 ? &core.workers_[0]
                                          : nullptr) {}

  SpawnSeat(SpawnSeat const&) = delete;
  SpawnSeat& operator=(SpawnSeat const&) = delete;

  [[gnu::always_inline]] ~SpawnSeat() {
    if (seated_) {
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
template <class S, class C, class P>
class ThreadCore<S, C, P>::Spawner {
public:
  explicit Spawner(ThreadCore& core)
      : seat_(core), host_(core, seat_.worker(), core.current_task(), Host::Origin::spawned) {}

  [[nodiscard]] Host& host() noexcept { return host_; }

private:
  SpawnSeat seat_;
  Host host_;
};

} // namespace hetsched::detail
