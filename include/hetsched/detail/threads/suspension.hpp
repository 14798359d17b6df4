// SPDX-License-Identifier: MIT
#pragma once
// Bodies that leave their worker before they are done, and go on when what they wait for is there.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <exception>

namespace hetsched::detail {

class ThreadCore;
struct ValueMaker;

/// One wait of a body that does not keep its worker. The task counts as one with a child left, so
/// it does not end, and keeps its data. When the wait is over it goes to the scheduler once more.
struct Suspension {
  TaskRecord* task = nullptr;
  GroupState* group = nullptr; // that it waits for; else null
  Suspension* next = nullptr;  // of those that wait for groups

  /// Before what is waited for can be there.
  void begin(TaskRecord& of) noexcept {
    task = &of;
    missing_.store(2, std::memory_order_relaxed);
  }

  /// What is waited for is there, or the body has left the worker. Returns whether both are so:
  /// then the caller makes the task ready. If not, it may not look at this any more. acq_rel: the
  /// second to come sees what the first one did.
  [[nodiscard]] bool arrive() noexcept {
    return missing_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// Whether what is waited for was there before the body has left. Then it need not leave.
  [[nodiscard]] bool is_over() const noexcept {
    return missing_.load(std::memory_order_acquire) == 1;
  }

private:
  Atomic<int> missing_{0};
};

/// The record with which a thread, or a suspended body, waits for a datum.
struct DataWaiter {
  TaskRecord task;
  Access access;

  /// `worker`: who is woken, or -1.
  DataWaiter(AccessQueue& queue, TaskRecord* parent, std::int32_t worker) noexcept
      : access{&queue, nullptr, {}, AccessMode::read_write, false, 0, 0} {
    task.start(wait_type, wait_type.archs, parent, {});
    task.access_count = 1;
    task.worker.store(worker, std::memory_order_relaxed);
  }

  DataWaiter(DataWaiter const&) = delete;
  DataWaiter& operator=(DataWaiter const&) = delete;

  [[nodiscard]] bool granted() const noexcept {
    return task.state.load(std::memory_order_acquire) == TaskState::running;
  }
};

static_assert(sizeof(DataWaiter) == sizeof(TaskRecord) + sizeof(Access));

/// What a runtime on threads does for bodies that suspend themselves. All but the first for
/// programs with such bodies: suspending.hpp. The thread that executes the body calls, unless
/// another one is named.
class Suspensions {
public:
  /// What a suspended body waits for is there. Called by any thread.
  static void resume(ThreadCore& core, Suspension& suspension);

  /// The body is about to return, suspended.
  static void leave(Suspension& suspension) noexcept;

  /// The body has been called again.
  static void come_back(TaskRecord& task) noexcept;

  /// Registers the wait for a datum; see Suspension::is_over.
  static void begin_to_await(ThreadCore& core, DataWaiter& waiter, Suspension& suspension);

  /// The datum is there: ends the wait. Returns why it cannot be used, if so.
  [[nodiscard]] static std::exception_ptr end_to_await(ThreadCore& core, DataWaiter& waiter);

  /// Registers the wait for a group. Returns whether the body has to leave.
  [[nodiscard]] static bool
  begin_to_await(ThreadCore& core, GroupState& group, Suspension& suspension);

  /// What counted as one of the group's tasks has ended. Called by any thread.
  static void leave_group(ThreadCore& core, GroupState& group);

  /// Whether a worker of a core has no task.
  [[nodiscard]] static bool any_core_asleep(ThreadCore const& core) noexcept;

  /// Spawns a task without data, below the calling task, whatever Config::max_live_tasks says.
  static TaskId spawn(ThreadCore& core, TaskType const& type, ValueMaker values);
};

} // namespace hetsched::detail
