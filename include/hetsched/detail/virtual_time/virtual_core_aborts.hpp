// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: tasks that the scheduler has stopped half way.

#include <hetsched/detail/virtual_time/virtual_core.hpp>

#include <algorithm>
#include <string>

namespace hetsched::detail {

/// The next task of an idle worker, if there is one.
inline TaskId VirtualCore::spoliate_or_take(WorkerId worker) {
  if (spoliates()) {
    if (auto const task = policies_->reconsider(worker)) {
      if (TaskRecord::from(task)->worker.load(std::memory_order_relaxed) == worker.value) {
        give_up("would abort a task of worker " + std::to_string(worker.value) +
                ", to run it there again");
      }
      (void)abort(task, "reconsider");
      if (explainer_.watches()) [[unlikely]] {
        watch_taken(task, worker, false);
      }
      return task;
    }
  }
  return waiting_ != 0 ? take(worker) : no_task;
}

/// Calls `preempt` for the tasks that were pushed and for which no worker is idle, up to the first
/// answer. Returns whether there was one.
inline bool VirtualCore::preempt() {
  while (!pushed_.empty()) {
    auto const id = pushed_.front();
    pushed_.pop_front();
    auto const& task = *TaskRecord::from(id);
    bool somebody_idle = false;
    for (std::size_t rank = 0; !somebody_idle;) {
      auto const worker = idle_.next(rank);
      if (!worker) {
        break;
      }
      somebody_idle = can_run(task, worker);
    }
    if (somebody_idle || task.id() != id ||
        task.state.load(std::memory_order_relaxed) != TaskState::ready ||
        task.binding.load(std::memory_order_relaxed) == Binding::bound) {
      continue;
    }
    if (auto const victim = policies_->preempt(id)) {
      WorkerId const worker{abort(victim, "preempt").worker.load(std::memory_order_relaxed)};
      --waiting_; // no worker has it yet
      push(victim, worker);
      return true;
    }
  }
  return false;
}

/// Gives up if the scheduler may not have the task aborted.
inline void VirtualCore::check_abortable(TaskRecord const& task, TaskId id, char const* hook) {
  if (task.id() != id || task.state.load(std::memory_order_relaxed) != TaskState::running) {
    give_up(std::string("answered to ") + hook + " a task that no worker has taken");
  }
  if (!can_abort(task)) {
    give_up(std::string("answered to ") + hook + " task '" + std::string(task.type_of().name) +
            "', which is not abortable: it " +
            (task.type_of().reduces ? "contributes to a reduction"
                                    : "is launched behind another task, or before one"));
  }
  // A limit for each instant: each task could leave each worker once. A policy whose schedules get
  // better each time stays below it.
  if (++aborted_now_ > (waiting_ + workers().size()) * workers().size()) {
    give_up("aborts tasks over and over at one instant");
  }
}

/// The task leaves the worker that has taken it and is ready again. The worker is then idle. The
/// task's data are as they were before it began.
inline TaskRecord& VirtualCore::abort(TaskId id, char const* hook) {
  auto& task = *TaskRecord::from(id);
  check_abortable(task, id, hook);
  WorkerId const worker{task.worker.load(std::memory_order_relaxed)};
  leave(task, worker);
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  ++waiting_;
  idle_.insert(worker);
  if (auto const node = machine_.worker(worker).node; memory_ && node != host_node) {
    memory_->take_back(task, node);
    move_window(worker);
  }
  return task;
}

/// Takes the task from its worker. The worker runs it, waits for its data, or has it in its window.
inline void VirtualCore::leave(TaskRecord& task, WorkerId worker) {
  auto& state = workers_[worker.index()];
  ++state.aborted;
  if (state.running == &task) {
    state.wasted += clock_.now() - std::max(state.begin, counts_.since);
    report_execution(task, worker, true);
    state.running = nullptr;
    clock_.remove(worker);
  } else if (state.waiting == &task) {
    state.waiting = nullptr;
    state.committed = {};
    std::erase(cores_waiting_, worker);
  } else {
    state.committed = state.committed - std::min(state.committed, expected(task, worker));
  }
  state.successors.forget(task);
}

} // namespace hetsched::detail
