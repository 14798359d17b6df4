// SPDX-License-Identifier: MIT
#pragma once
// DeviceDriver: the worker of a device that is lost. It takes no tasks; what a scheduler gives it
// all the same goes to others.

#include <hetsched/detail/threads/device_driver.hpp>

namespace hetsched::detail {

/// The device is lost. What the scheduler keeps for this worker goes back to it, for others. What
/// only lost devices could run fails in the window.
inline void DeviceDriver::give_all_back() {
  core_.retire(worker_);
  Array<TaskRecord*> tasks;
  worker_.launched.gives_back = true;
  while (auto const id = core_.policies_->pop(worker_.info.id)) {
    tasks.push_back(TaskRecord::from(id));
  }
  worker_.launched.gives_back = false;
  while (core_.policies_->has(hook_steal)) { // what only lost devices could run
    auto const id = core_.policies_->steal(worker_.info.id).task;
    if (!id) {
      break;
    }
    tasks.push_back(TaskRecord::from(id));
  }
  if (tasks.size() == 0) {
    return;
  }
  core_.waiting_.lost_asked.store(0, std::memory_order_seq_cst); // some may come back here
  for (auto* task : tasks) {
    if (task->binding.load(std::memory_order_acquire) == Binding::bound) {
      undo_early(*task);
    } else if (core_.is_left_to_lost(*task)) {
      commit(task->id());
    } else {
      core_.give_back(worker_, *task);
    }
  }
}

/// The device is lost, and its window empty. Sleeps until somebody gives this worker something.
inline void DeviceDriver::sleep_lost() {
  auto& parking = core_.waiting_.parking;
  parking.announce(worker_.info.id);
  give_all_back();
  core_.before_sleep();
  if (!window_.empty() || has_other_work()) {
    (void)parking.retract(worker_.info.id); // if it was claimed: it looks again before it sleeps
  } else {
    (void)parking.park(worker_.info.id);
  }
}

} // namespace hetsched::detail
