// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: how a thread acts for it while it spawns or completes tasks.

#include <hetsched/detail/thread_engine.hpp>

namespace hetsched::detail {

/// A thread acting for the dataflow layer: hands ready tasks to the scheduler, at once when
/// spawned, in batches when activated by a completion. Belongs to one thread and one call.
template <class S, class P>
class ThreadCore<S, P>::Host {
public:
  enum class Origin : bool { spawned, activated };

  /// `worker` is null for an outside thread without the seat; `spawner` is the task, if any, whose
  /// children are being made.
  Host(ThreadCore& core, ThreadWorker* worker, TaskRecord* spawner, Origin origin) noexcept
      : core_(core), worker_(worker), spawner_(spawner), origin_(origin) {}

  Host(Host const&) = delete;
  Host& operator=(Host const&) = delete;

  ~Host() {
    if (count_ != 0) {
      flush();
    }
  }

  /// The task whose children are being made, or null.
  [[nodiscard]] TaskRecord* spawner() const noexcept { return spawner_; }

  [[gnu::always_inline]] void ready(TaskRecord& task) {
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    auto const id = task.id();
    if (origin_ == Origin::spawned) {
      push(id);
      return;
    }
    if (count_ == batch_size) {
      flush();
    }
    new (batch_.data() + count_++ * sizeof(TaskId)) TaskId(id);
  }

  void wait_granted(TaskRecord& task) {
    WorkerId const waiter{task.worker.load(std::memory_order_relaxed)};
    task.state.store(TaskState::running, std::memory_order_release); // the waiter may leave now
    if (waiter) {
      core_.parking_.unpark(waiter, WakeReason::condition);
    }
    core_.notify_outside();
  }

  TaskRecord& new_merge(AccessQueue& queue, ReductionOps const& ops) {
    auto& task = *allocate(sizeof(TaskRecord) + sizeof(Access));
    // A merge forced by a thread that is not in the domain (the last handle dies there) is waited
    // for there: it need not count as a child.
    start_record(task, merge_type, queue.domain->owner == spawner_ ? spawner_ : nullptr);
    task.archs.store(merge_type.archs.bits, std::memory_order_relaxed);
    task.access_count = 1;
    auto* const copies_op = const_cast<ReductionOps*>(&ops); // only carried; see merge_copies
    new (task.accesses()) Access{&queue, nullptr, copies_op, AccessMode::read_write, false, 0};
    count_spawn(task);
    if (worker_ != nullptr) {
      worker_->merges.add();
    } else {
      core_.outside_merges_.fetch_add(1, std::memory_order_relaxed);
    }
    return task;
  }

  [[nodiscard, gnu::always_inline]] TaskRecord* allocate(std::size_t bytes) {
    if (worker_ != nullptr) {
      return worker_->pool.allocate(bytes);
    }
    std::lock_guard const guard(core_.outside_lock_);
    return core_.outside_pool_.allocate(bytes);
  }

  /// Common part of a fresh record's header.
  [[gnu::always_inline]] static void
  start_record(TaskRecord& task, TaskType const& type, TaskRecord* parent) noexcept {
    task.type.store(&type, std::memory_order_relaxed);
    task.parent.store(parent, std::memory_order_relaxed);
    task.depth.store(parent == nullptr ? 0 : parent->depth.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    task.state.store(TaskState::pending, std::memory_order_relaxed);
    task.failed = false;
    task.cancelled = false;
    task.has_commute = false;
    task.has_reduce = false;
    task.access_count = 0;
    task.domain.store(nullptr, std::memory_order_relaxed);
    task.group = nullptr;
    task.label_bytes = 0;
    task.priority = 0;
    task.graph_node = -1;
    task.unpublished_children = 0;
    task.pending.store(1, std::memory_order_relaxed);
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

  /// The task turned out to be in error and was never registered.
  void uncount_spawn(TaskRecord& task) noexcept {
    if (auto* const parent = task.parent.load(std::memory_order_relaxed)) {
      --parent->unpublished_children;
    }
    if (task.group != nullptr) {
      task.group->state.fetch_sub(1, std::memory_order_relaxed);
    }
    if (worker_ != nullptr) {
      worker_->rejected.add();
      worker_->completed.add();
    } else {
      core_.outside_rejected_.fetch_add(1, std::memory_order_relaxed);
      core_.outside_completed_.fetch_add(1, std::memory_order_release);
    }
    core_.before_sleep(); // another thread may have begun to wait for this task
  }

private:
  static constexpr std::size_t batch_size = 32;

  [[nodiscard]] WorkerId from() const noexcept {
    return worker_ != nullptr ? worker_->info.id : no_worker;
  }

  [[gnu::always_inline]] void push(TaskId id) {
    Context const ctx(core_);
    auto const worker = from();
    core_.apply(core_.locked([&]() __attribute__((always_inline)) {
      return core_.scheduler_.push(ctx, id, worker);
    }),
                id);
  }

  [[gnu::noinline]] void flush() {
    std::span const tasks(reinterpret_cast<TaskId const*>(batch_.data()), count_);
    count_ = 0;
    if constexpr (has_push_activated<S, Context>) {
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
      if (wake.is_any() && worker_ != nullptr && !worker_->owed_wake &&
          core_.can_run(*TaskRecord::from(id), worker_->info.id)) {
        worker_->owed_wake = id;
      } else {
        core_.apply(wake, id);
      }
    }
  }

  ThreadCore& core_;
  ThreadWorker* worker_;
  TaskRecord* spawner_;
  Origin origin_;
  std::size_t count_ = 0;
  alignas(TaskId) std::array<std::byte, batch_size * sizeof(TaskId)> batch_; // uninitialised
};

/// The calling thread as a spawner: a worker of this runtime, or an outsider that borrows seat 0
/// for the length of the spawn if it is free, or else an outsider without it.
template <class S, class P>
class ThreadCore<S, P>::Spawner {
public:
  [[gnu::always_inline]] explicit Spawner(ThreadCore& core)
      : core_(core), seated_(this_thread.core != &core && core.try_seat(Seat::spawning)),
        worker_(this_thread.core == &core ? this_thread.worker
                : seated_                 ? &core.workers_[0]
                                          : nullptr),
        host_(core, worker_, core.current_task(), Host::Origin::spawned) {}

  Spawner(Spawner const&) = delete;
  Spawner& operator=(Spawner const&) = delete;

  [[gnu::always_inline]] ~Spawner() {
    if (seated_) {
      core_.leave_seat();
    }
  }

  [[nodiscard]] Host& host() noexcept { return host_; }

  void throttle() {
    if (core_.max_live_ != 0) {
      core_.throttle(worker_);
    }
  }

private:
  ThreadCore& core_;
  bool seated_;
  ThreadWorker* worker_;
  Host host_;
};

} // namespace hetsched::detail
