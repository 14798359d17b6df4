// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: its host, for a thread that spawns and for a completion on a worker.

#include <hetsched/detail/dataflow/task_host.hpp>
#include <hetsched/detail/recording/record_division.hpp>
#include <hetsched/detail/virtual_time/virtual_core.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace hetsched::detail {

/// Merges of reductions take no time: no platform says how long.
inline constexpr TaskType virtual_merge_type =
    laid_out({merge_task_name, TaskKind::merge, {}, {}, nullptr, nullptr, nullptr}, false);

/// The host for the dataflow layer and for spawns.
class VirtualCore::Host {
public:
  /// For a spawn by the program's thread, or by a body.
  explicit Host(VirtualCore& core) noexcept
      : core_(core),
        from_(core.spawning_ != nullptr ? core.spawning_on_ : core.machine_.spawner()) {}

  /// For a completion on a worker.
  Host(VirtualCore& core, WorkerId worker) noexcept
      : core_(core), from_(worker), activates_(true) {}

  Host(Host const&) = delete;
  Host& operator=(Host const&) = delete;

  ~Host() {
    if (count_ != 0) {
      flush();
    }
  }

  // ---- records ----

  /// The task whose body spawns.
  [[nodiscard]] TaskRecord* spawner() const noexcept { return core_.spawning_; }

  [[nodiscard]] TaskRecord* allocate(std::size_t size_class) {
    return core_.tasks_.allocate(size_class);
  }

  void start_record(TaskRecord& task,
                    TaskType const& type,
                    TaskRecord* parent,
                    Attributes const& attributes = {}) noexcept {
    task.start(type, attributes.archs, parent, attributes);
  }

  void recycle(TaskRecord& task) { core_.tasks_.recycle(task); }

  // ---- what is spawned ----

  void count_spawn(TaskRecord& task) noexcept {
    if (task.group != nullptr) {
      task.group->state.fetch_add(1, std::memory_order_relaxed);
    }
    count_child(task, 1);
    core_.tasks_.count_registered();
    core_.counts_.spawned += task.type_of().counted;
  }

  void uncount_spawn(TaskRecord& task) noexcept {
    if (task.group != nullptr) {
      task.group->state.fetch_sub(1, std::memory_order_relaxed);
    }
    count_child(task, -1);
    core_.tasks_.uncount_registered();
    core_.counts_.spawned -= task.type_of().counted;
  }

  void count_hint(TaskRecord& hint) noexcept {
    count_child(hint, 1);
    core_.tasks_.count_registered();
  }

  void uncount_hint(TaskRecord& hint) noexcept {
    count_child(hint, -1);
    core_.tasks_.uncount_registered();
  }

  /// Throws Error if no worker can run the task.
  void note_spawn(TaskRecord& task) {
    check(task);
    if (core_.recorder_) [[unlikely]] {
      core_.recorder_->spawned(no_worker, task, core_.clock());
    }
    if (core_.memory_ && task.access_count != 0) {
      core_.memory_->note_spawn(task);
    }
  }

  void note_end(TaskRecord& task) {
    if (core_.memory_) {
      core_.memory_->note_end(task);
    }
  }

  /// A region is about to be divided, or joined.
  void note_division(PartitionState const& state, bool joined) {
    if (core_.recorder_) [[unlikely]] {
      record_division(*core_.recorder_, no_worker, state, joined, core_.clock());
    }
  }

  // ---- what holds its data ----

  void ready(TaskRecord& task) {
    if (task.type_of().kind != TaskKind::user) {
      OwnTasks::add(core_.own_.ready, task);
    } else if (core_.unbind(task)) {
      return;
    } else if (!activates_) {
      task.state.store(TaskState::ready, std::memory_order_relaxed);
      core_.push(task.id(), from_);
    } else {
      activate(task);
    }
  }

  /// Keeps the task for the next call of `push_activated`, as activated by the worker.
  void activate(TaskRecord& task) {
    if (count_ == most_activated) {
      flush();
    }
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    std::construct_at(batch() + count_++, task.id());
  }

  void wait_granted(TaskRecord& task) {
    task.state.store(TaskState::running, std::memory_order_relaxed);
  }

  void give_to_device(TaskRecord& hint) { OwnTasks::add(core_.own_.ready, hint); }

  [[nodiscard]] Divisions*& divisions() noexcept { return divisions_; }

  void fail(TaskRecord& holder, std::exception_ptr error) {
    fail_division(holder, core_.failure_log(), std::move(error));
  }

  void prepare_merge(AccessQueue& queue) {
    auto* const record = allocate(SizeClass::of(bytes_to_accesses(1)));
    record->next = std::exchange(queue.spare_merge, record);
  }

  TaskRecord& new_merge(AccessQueue& queue, ReductionOps const&) {
    auto& task = *queue.spare_merge;
    queue.spare_merge = task.next;
    start_record(task, virtual_merge_type, queue.domain->owner);
    count_child(task, 1);
    task.access_count = 1;
    new (task.accesses()) Access{&queue, nullptr, {}, AccessMode::read_write, false, 0, 0};
    core_.tasks_.count_registered();
    ++core_.counts_.merges;
    return task;
  }

private:
  static void count_child(TaskRecord& task, std::int32_t change) noexcept {
    if (auto* const parent = task.parent.load(std::memory_order_relaxed)) {
      parent->children.fetch_add(change, std::memory_order_relaxed);
    }
  }

  /// Throws if no worker can run the task, by its times and the attributes of its spawn.
  void check(TaskRecord& task) {
    auto const& type = task.type_of();
    if (type.takes_runtime && !type.only_spawns) [[unlikely]] {
      refuse(type);
    }
    auto const archs = core_.archs_of(type) & ArchMask{task.archs.load(std::memory_order_relaxed)};
    if (archs.bits == 0) [[unlikely]] {
      refuse(type);
    }
    task.archs.store(archs.bits, std::memory_order_relaxed);
  }

  [[noreturn, gnu::cold]] void refuse(TaskType const& type) const {
    auto const culprit = "task '" + std::string(type.name) + "'";
    if (type.takes_runtime && !type.only_spawns) {
      throw Error(ErrorCode::bad_call,
                  culprit,
                  "its body takes the runtime and may spawn, which a simulation does not see: "
                  "declare it only_spawns, or simulate a recorded graph");
    }
    throw Error(ErrorCode::cannot_run,
                culprit,
                core_.memory_ ? "the platform has no time for it on a class of worker that it "
                                "asks for and that has room for its data"
                              : "the platform has no time for it on the class of worker that it "
                                "asks for");
  }

  /// The `count_` tasks that `activate` keeps for the scheduler.
  [[nodiscard]] TaskId* batch() noexcept { return reinterpret_cast<TaskId*>(batch_.data()); }

  void flush() {
    auto const count = std::exchange(count_, 0);
    core_.push_activated({batch(), count}, from_);
  }

  VirtualCore& core_;
  WorkerId from_;
  bool activates_ = false;
  std::size_t count_ = 0;
  Divisions* divisions_ = nullptr;
  alignas(TaskId) std::array<std::byte, most_activated * sizeof(TaskId)> batch_; // not initialised
};

static_assert(spawn_host<VirtualCore::Host>);

/// The calling thread while it spawns.
class VirtualCore::Spawner {
public:
  explicit Spawner(VirtualCore& core, Registers /*what*/ = Registers::tasks) noexcept
      : host_(core) {}

  [[nodiscard]] Host& host() noexcept { return host_; }

private:
  Host host_;
};

} // namespace hetsched::detail
