// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: what a thread does for it while it spawns, and a worker at a completion.

#include <hetsched/detail/hints.hpp>
#include <hetsched/detail/virtual_engine.hpp>

#include <array>
#include <span>
#include <string>
#include <utility>

namespace hetsched::detail {

/// What the spawning thread does for the engine with tasks that have no data.
template <class S, class C, class P>
class VirtualCore<S, C, P>::BareHost {
public:
  BareHost(VirtualCore& core, VirtualWorker*, TaskRecord*) noexcept : core_(core) {}

  /// There is none: no body runs.
  [[nodiscard]] static BareHost of_running_task(VirtualCore& core) noexcept {
    return BareHost(core, nullptr, nullptr);
  }

  BareHost(BareHost const&) = delete;
  BareHost& operator=(BareHost const&) = delete;

  [[nodiscard]] VirtualWorker* worker() const noexcept { return nullptr; }

  [[nodiscard]] TaskRecord* spawner() const noexcept { return nullptr; }

  [[nodiscard]] TaskRecord* allocate(std::size_t size_class) {
    return core_.pool_.allocate(size_class);
  }

  void start_record(TaskRecord& task,
                    TaskType const& type,
                    TaskRecord* parent,
                    Attributes const& attributes = {}) noexcept {
    task.start(type, attributes.archs, parent, attributes);
  }

  void recycle(TaskRecord& task) {
    task.state.store(TaskState::free, std::memory_order_relaxed);
    auto const generation = task.generation.load(std::memory_order_relaxed);
    task.generation.store(static_cast<std::uint16_t>(generation + 1), std::memory_order_relaxed);
    core_.pool_.release(&task);
  }

  void count_spawn(TaskRecord& task) noexcept {
    if (task.group != nullptr) {
      task.group->state.fetch_add(1, std::memory_order_relaxed);
    }
    ++core_.registered_;
    core_.spawned_ += task.type_of().counted;
  }

  void count_child() noexcept {}

  void uncount_spawn(TaskRecord& task) noexcept {
    if (task.group != nullptr) {
      task.group->state.fetch_sub(1, std::memory_order_relaxed);
    }
    --core_.registered_;
    core_.spawned_ -= task.type_of().counted;
  }

  void count_hint(TaskRecord&) noexcept { ++core_.registered_; }

  void uncount_hint(TaskRecord&) noexcept { --core_.registered_; }

  void ready(TaskRecord& task) {
    check(task);
    record_spawn(task);
    hand_over(task, core_.spawner());
  }

protected:
  void record_spawn(TaskRecord const& task) {
    if (core_.recorder_) [[unlikely]] {
      core_.recorder_->spawned(no_worker, task, core_.now_);
    }
  }

  /// Throws if nobody can run the task: its times, and what its spawn asks for.
  void check(TaskRecord& task) {
    auto const& type = task.type_of();
    if (type.takes_runtime) {
      throw Error(ErrorCode::bad_call,
                  "task '" + std::string(type.name) + "'",
                  "its body takes the runtime and may spawn, which a simulation does not see: "
                  "simulate a recorded graph");
    }
    auto const archs =
        core_.times_.learn(type).archs & ArchMask{task.archs.load(std::memory_order_relaxed)};
    if (archs.bits == 0) {
      throw Error(ErrorCode::cannot_run,
                  "task '" + std::string(type.name) + "'",
                  core_.memory_ ? "the platform has no time for it on a class of worker that it "
                                  "asks for and that has room for its data"
                                : "the platform has no time for it on the class of worker that it "
                                  "asks for");
    }
    task.archs.store(archs.bits, std::memory_order_relaxed);
  }

  void hand_over(TaskRecord& task, WorkerId from) {
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    core_.push(task.id(), from);
  }

  VirtualCore& core_;
};

/// Acts for the dataflow layer, as ThreadCore's.
template <class S, class C, class P>
class VirtualCore<S, C, P>::Host : public BareHost {
public:
  enum class Origin : bool { spawned, activated };

  /// Of a spawn.
  Host(VirtualCore& core, VirtualWorker*, TaskRecord*, Origin) noexcept
      : BareHost(core, nullptr, nullptr), from_(core.spawner()) {}

  /// Of a completion on a worker.
  Host(VirtualCore& core, WorkerId worker) noexcept
      : BareHost(core, nullptr, nullptr), from_(worker), activates_(true) {}

  ~Host() {
    if (count_ != 0) {
      flush();
    }
  }

  void ready(TaskRecord& task) {
    if (task.type_of().kind != TaskKind::user) {
      core_.own_.push_back(&task);
    } else if (core_.unbind(task)) {
      return;
    } else if (!activates_) {
      this->hand_over(task, from_);
    } else {
      activate(task);
    }
  }

  /// The scheduler is to hear of it as activated by the worker.
  void activate(TaskRecord& task) {
    if (count_ == batch_.size()) {
      flush();
    }
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    batch_[count_++] = task.id();
  }

  /// A region is about to be divided, or joined.
  void note_division(PartitionState const& state, bool joined) {
    if (core_.recorder_) [[unlikely]] {
      record_division(*core_.recorder_, no_worker, state, joined, core_.now_);
    }
  }

  void note_spawn(TaskRecord& task) {
    this->check(task);
    this->record_spawn(task);
    if (core_.memory_) {
      core_.memory_->note_spawn(task);
    }
  }

  void note_end(TaskRecord& task) {
    if (core_.memory_) {
      core_.memory_->note_end(task);
    }
  }

  void wait_granted(TaskRecord& task) {
    task.state.store(TaskState::running, std::memory_order_relaxed);
  }

  void give_to_device(TaskRecord& hint) { core_.own_.push_back(&hint); }

  TaskRecord& new_merge(AccessQueue& queue, ReductionOps const&) {
    auto& task = *this->allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
    this->start_record(task, virtual_merge_type, nullptr);
    task.access_count = 1;
    new (task.accesses()) Access{&queue, nullptr, nullptr, AccessMode::read_write, false, 0};
    ++core_.registered_;
    ++core_.merges_;
    return task;
  }

private:
  using BareHost::core_;

  void flush() {
    auto const count = std::exchange(count_, 0);
    core_.push_activated(std::span(batch_).first(count), from_);
  }

  WorkerId from_;
  bool activates_ = false;
  std::size_t count_ = 0;
  std::array<TaskId, 32> batch_;
};

template <class S, class C, class P>
class VirtualCore<S, C, P>::Spawner {
public:
  explicit Spawner(VirtualCore& core) : host_(core, nullptr, nullptr, Host::Origin::spawned) {}

  [[nodiscard]] Host& host() noexcept { return host_; }

private:
  Host host_;
};

} // namespace hetsched::detail
