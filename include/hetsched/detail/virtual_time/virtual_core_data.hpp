// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: data that tasks wait for.

#include <hetsched/detail/virtual_time/virtual_core_ahead.hpp>

#include <algorithm>
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
  if (memory_->taken(node) == most_taken()) {
    idle_.erase(worker);
  }
  move_window(worker);
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

} // namespace hetsched::detail
