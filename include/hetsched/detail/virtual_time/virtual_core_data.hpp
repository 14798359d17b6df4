// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: transfers of data, and early activation.

#include <hetsched/detail/virtual_time/virtual_host.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace hetsched::detail {

/// Gives the task to the worker. It begins when its data are there.
inline void VirtualCore::commit(TaskRecord& task, WorkerId worker) {
  auto const node = machine_.worker(worker).node;
  auto& state = workers_[worker.index()];
  state.committed += expected(task, worker);
  if (task.type_of().reduces) {
    memory_->lease_copies(task);
  }
  if (node == host_node) {
    idle_.erase(worker);
    state.waiting = &task;
    if (!launch_if_here(worker)) {
      cores_waiting_.push_back(worker);
    }
    return;
  }
  memory_->commit(task, node);
  move_window(worker);
  if (!memory_->has_room(node)) {
    idle_.erase(worker);
    send_ahead(worker);
  }
}

inline bool VirtualCore::launch_if_here(WorkerId core) {
  auto& state = workers_[core.index()];
  if (!memory_->acquire_on_host(*state.waiting)) {
    return false;
  }
  auto& task = *std::exchange(state.waiting, nullptr);
  state.committed = {};
  launch(task, core);
  return true;
}

/// Moves the window of a device on as far as possible.
inline void VirtualCore::move_window(WorkerId worker) {
  if (auto* const task = memory_->next_kernel(machine_.worker(worker).node)) {
    auto& state = workers_[worker.index()];
    state.committed = state.committed - std::min(state.committed, expected(*task, worker));
    launch(*task, worker);
  }
}

/// Sends data ahead for the tasks that the worker would take next if its window had room.
inline void VirtualCore::send_ahead(WorkerId worker) {
  if (!policies_->sends_ahead()) {
    return;
  }
  std::array<TaskId, most_peeked> next;
  auto const room = std::span(next).first(std::min(next.size(), memory_->window()));
  auto const count = policies_->peek(worker, room);
  for (auto const id : room.first(std::min(count, room.size()))) {
    memory_->send_ahead(*TaskRecord::from(id), machine_.worker(worker).node);
  }
}

/// Transfers or kernels have ended. The tasks that waited for them go on.
inline void VirtualCore::see_to_data() {
  std::erase_if(cores_waiting_, [this](WorkerId core) { return launch_if_here(core); });
  while (own_.waiting != nullptr) {
    OwnTasks::add(own_.ready, OwnTasks::take(own_.waiting));
  }
  end_own_tasks();
  for (auto const worker : device_workers_) {
    move_window(worker);
  }
}

// ---- early activation (early.hpp) ----

/// If a device's window has room and the scheduler has no task for it, activates successors of the
/// task that runs there. Returns whether there was one.
inline bool VirtualCore::activate_early() {
  for (auto const worker : device_workers_) {
    auto const& state = workers_[worker.index()];
    auto* const task =
        memory_->has_room(machine_.worker(worker).node) ? state.successors.next() : nullptr;
    if (task != nullptr) {
      task->worker.store(worker.value, std::memory_order_relaxed);
      task->binding.store(Binding::bound, std::memory_order_relaxed);
      ++counts_.early;
      Host(*this, worker).activate(*task);
      if (auto const next = take(worker)) {
        begin(next, worker);
      }
      return true;
    }
  }
  return false;
}

/// The task holds all its data. Returns whether it was bound: the scheduler or the device then has
/// it already.
inline bool VirtualCore::unbind(TaskRecord& task) {
  auto const before = task.binding.load(std::memory_order_relaxed);
  task.binding.store(Binding::none, std::memory_order_relaxed);
  bool const was_bound = before == Binding::bound;
  if (was_bound && preempts() && task.state.load(std::memory_order_relaxed) == TaskState::ready) {
    pushed_.push_back(task.id());
  }
  return was_bound;
}

} // namespace hetsched::detail
