// SPDX-License-Identifier: MIT
#pragma once
// Dependencies when stolen (Lima et al. 2015, sec. 3.3): who runs a body runs the tasks that it
// spawns in program order, which is always a right order. Nobody computes their dependencies before
// another worker wants one of them.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/backlog.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <cstdint>
#include <span>
#include <utility>

namespace hetsched::detail {

/// What a body has spawned, and nobody has registered. On the stack of the thread that runs the
/// body; no other thread sees it. Once it was handed over, the body's tasks are ordinary ones,
/// until it has waited for all of them.
///
/// A task here has accesses, but they are in no queue. Where the datum is one that the parent
/// declared, Access::queue is that of the parent's access for now: it has the same base, and its
/// poison, which is of another domain, is not looked at.
struct Backlog {
  Backlog* outer; // of this thread
  TaskRecord& parent;
  TaskRecord* first = nullptr; // in program order, linked by `next`
  TaskRecord* last = nullptr;
  TaskRecord* running = nullptr; // was the first one, and has not ended
  bool handed_over = false;
  bool spoilt = false; // a task failed, and there was no memory to note what it should have written

  void push(TaskRecord& task) noexcept {
    task.next = nullptr;
    (first == nullptr ? first : last->next) = &task;
    last = &task;
  }

  [[nodiscard]] TaskRecord& pop() noexcept { return *std::exchange(first, first->next); }

  /// Whether all that the body has spawned is registered, or has ended.
  [[nodiscard]] bool is_empty() const noexcept { return first == nullptr && running == nullptr; }

  /// Whether another worker would find something here.
  [[nodiscard]] bool has_more_than_one() const noexcept {
    return first != nullptr && (running != nullptr || first->next != nullptr);
  }
};

/// Threads that wait until others have handed over what they have.
inline constinit Atomic<int> backlogs_wanted{0};

class Backlogs {
public:
  [[nodiscard]] static bool possible(ThreadCore const& core) {
    return !core.devices_ && !core.recorder_ && !core.explainer_.watches() &&
           !core.limits_live_tasks() && core.crew_.one_class &&
           (core.attention_ & (attention_hooks | attention_check)) == 0;
  }

  static void run(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  static bool postpone(ThreadCore& core,
                       TaskType const& type,
                       Attributes const& attributes,
                       std::span<DataRecord* const> data,
                       ValueMaker values);
  static bool keep(ThreadCore& core, TaskRecord& task);
  static void end(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  static void run_own(ThreadCore& core, TaskRecord& task);
  static void begin_again(ThreadCore& core, TaskRecord& task);
  static void hand_over_own(ThreadCore& core, bool though_empty);
  static void hand_over_all();
  static void leave();
  static void await_owner(AccessQueue& queue);

private:
  /// Nested deeper, a task is an ordinary one: those that run in program order nest on the stack.
  static constexpr std::uint32_t most_depth = 200;

  static void look(ThreadCore& core);
  static void help();
  static bool fits(ThreadCore const& core, TaskType const& type, Attributes const& attributes);
  static bool add_accesses(TaskRecord& task,
                           std::span<DataRecord* const> data,
                           TaskRecord& parent,
                           Domain* domain);
  static AccessQueue*
  queue_of(DataRecord& record, AccessMode mode, TaskRecord& parent, Domain* domain);
  static void fold(TaskRecord& task) noexcept;
  static void count(TaskRecord& task, Domain const* domain, std::uint32_t change) noexcept;
  static void call(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  static void run_all(ThreadCore& core, ThreadWorker& worker, Backlog& backlog);
  static void run_first(ThreadCore& core, ThreadWorker& worker, Backlog& backlog);
  static void skip_first(ThreadCore& core, ThreadWorker& worker, Backlog& backlog);
  static void leave_children(ThreadCore& core, Backlog& backlog, TaskRecord& task);
  static void hand_over(Backlog& backlog);
  static bool try_to_hand_over(Backlog& backlog) noexcept;
  static void find_queues(TaskRecord& task, Domain& domain);
  static bool enqueue(TaskRecord& task);
};

inline constexpr BacklogFunctions backlog_functions{&Backlogs::possible,
                                                    &Backlogs::run,
                                                    &Backlogs::postpone,
                                                    &Backlogs::keep,
                                                    &Backlogs::end,
                                                    &Backlogs::run_own,
                                                    &Backlogs::begin_again,
                                                    &Backlogs::hand_over_own,
                                                    &Backlogs::hand_over_all,
                                                    &Backlogs::leave,
                                                    &Backlogs::await_owner};

} // namespace hetsched::detail

#include <hetsched/detail/threads/backlog_hand_over_inl.hpp>
// behind backlog_hand_over_inl.hpp
#include <hetsched/detail/threads/backlog_spawn_inl.hpp>
// behind backlog_spawn_inl.hpp
#include <hetsched/detail/threads/backlog_run_inl.hpp>
