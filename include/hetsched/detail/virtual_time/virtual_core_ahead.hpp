// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: when devices take tasks, what is sent ahead to them, and early activation.
//
// A task stays the scheduler's until its kernel can run, so that an idle worker may have it. What
// the device's worker would take next, `peek` tells. The data of these tasks are sent ahead, and
// the tasks are claimed: others leave them alone while there is anything else for them, and take
// one only if they end it sooner than the device would.

#include <hetsched/detail/virtual_time/virtual_host.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace hetsched::detail {

/// How many tasks a device has taken at most: one that runs or waits for its data, and one more.
/// Two more if only a theft gives them and the scheduler has `peek`, which then tells so.
inline std::size_t VirtualCore::most_taken() const noexcept {
  bool const only_stolen = policies_->has(hook_peek) && policies_->has(hook_steal);
  return machine_.config().window == 1 ? 1 : only_stolen ? 3 : 2;
}

/// What the scheduler says that the worker would take next, while claims hold; at most
/// Simulation::window tasks.
inline std::size_t VirtualCore::peek(WorkerId worker, std::span<TaskId> next) {
  auto const most = std::min(next.size(), static_cast<std::size_t>(machine_.config().window));
  auto const yield = std::exchange(claims_yield_, false);
  auto const count = std::min(policies_->peek(worker, next.first(most)), most);
  claims_yield_ = yield;
  return count;
}

/// Whether an idle worker takes a task now. A device that has some takes another one
/// - whose data are all there, while no kernel can run,
/// - for whose data the memory is too full while a kernel runs, because only admission evicts, or
/// - of which the scheduler could not say before that it is next: it has no `peek`, or only a theft
///   would give the task.
inline bool VirtualCore::takes_now(WorkerId worker) {
  auto const node = machine_.worker(worker).node;
  if (!memory_ || node == host_node || memory_->taken(node) == 0 || !policies_->has(hook_peek)) {
    return true;
  }
  auto const& next = next_tasks(worker);
  if (next.empty()) {
    return policies_->has(hook_steal);
  }
  auto const& task = *next.front().task;
  return memory_->busy(node) ? !memory_->has_places(task, node)
                             : memory_->taken(node) == 1 && memory_->has_all(task, node);
}

/// What a device's worker claims, by what the scheduler says now. Nothing if that has no `peek`.
inline std::span<NextTasks::Next const> VirtualCore::next_tasks(WorkerId worker) {
  auto& next = workers_[worker.index()].next;
  if (next.moves != moves_ && policies_->has(hook_peek)) {
    next.moves = moves_;
    claim(worker, memory_->taken(machine_.worker(worker).node) != 0 && most_taken() > 1);
  }
  return next.tasks;
}

/// Claims the tasks that a device's worker would take next. Sends their data ahead, in that order,
/// as long as nothing else is on its way to the device.
inline void VirtualCore::send_ahead(WorkerId worker) {
  auto const node = machine_.worker(worker).node;
  if (!memory_ || node == host_node) {
    return;
  }
  for (auto const& [task, begin] : next_tasks(worker)) {
    if (!memory_->send_ahead(*task, node)) {
      break;
    }
  }
}

/// The worker claims what it would take next (`any`), and nothing else.
inline void VirtualCore::claim(WorkerId worker, bool any) {
  auto& next = workers_[worker.index()].next.tasks;
  for (auto const& [task, begin] : next) {
    if (task->binding.load(std::memory_order_relaxed) == Binding::claimed &&
        task->worker.load(std::memory_order_relaxed) == worker.value) {
      task->binding.store(Binding::none, std::memory_order_relaxed);
    }
  }
  next.clear();
  std::array<TaskId, most_peeked> ids;
  auto begin = busy_until(worker);
  for (auto const id : std::span(ids).first(any && waiting_ != 0 ? peek(worker, ids) : 0)) {
    auto& task = *TaskRecord::from(id);
    next.push_back({&task, begin});
    begin = begin + expected(task, worker);
    if (task.binding.load(std::memory_order_relaxed) == Binding::none) {
      task.worker.store(worker.value, std::memory_order_relaxed);
      task.binding.store(Binding::claimed, std::memory_order_relaxed);
    }
  }
}

/// Whether the task is claimed by a device, and the worker would end it sooner if it began now.
inline bool VirtualCore::ends_sooner(TaskRecord const& task, WorkerId worker) const {
  if (task.binding.load(std::memory_order_relaxed) != Binding::claimed) {
    return false;
  }
  WorkerId const claimant{task.worker.load(std::memory_order_relaxed)};
  auto const& next = workers_[claimant.index()].next.tasks;
  auto const there = std::find_if(
      next.begin(), next.end(), [&](auto const& other) { return other.task == &task; });
  return there != next.end() &&
         clock_.now() + Context(*this).transfer(task.id(), worker) + expected(task, worker) <
             there->begin + expected(task, claimant);
}

// ---- early activation (early.hpp) ----

/// If the scheduler has no task for a device on which a kernel runs, activates a successor of that
/// task. Returns whether there was one.
inline bool VirtualCore::activate_early() {
  for (auto const worker : device_workers_) {
    auto const node = machine_.worker(worker).node;
    std::array<TaskId, 1> buffer;
    if (!memory_->busy(node) || memory_->taken(node) >= most_taken() ||
        (policies_->has(hook_peek) && waiting_ != 0 && peek(worker, buffer) != 0)) {
      continue;
    }
    auto* const task = workers_[worker.index()].successors.next();
    if (task != nullptr && !others_end_sooner(*task, worker)) {
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

/// Whether some other worker would end the task, a successor of what the device runs, before the
/// device. It needs what the device writes until then.
inline bool VirtualCore::others_end_sooner(TaskRecord const& task, WorkerId worker) const {
  auto const& running = *workers_[worker.index()].running;
  auto const from = machine_.worker(worker).node;
  auto const begin = busy_until(worker);
  auto const end = begin + expected(task, worker);
  auto const written = [&](Access const& access) {
    auto const& others = std::span(running.accesses(), running.access_count);
    return !access.duplicate && reads(access.mode) &&
           std::any_of(others.begin(), others.end(), [&](Access const& other) {
             return other.queue == access.queue && writes(other.mode);
           });
  };
  return std::any_of(workers().begin(), workers().end(), [&](WorkerInfo const& other) {
    if (other.id == worker ||
        !ArchMask{task.archs.load(std::memory_order_relaxed)}.has(other.arch)) {
      return false;
    }
    auto there = std::max(begin, busy_until(other.id)) + expected(task, other.id);
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      if (other.node != from && written(access)) {
        there = there + transfer(access.queue->data->bytes(), from, other.node);
      }
    }
    return there < end;
  });
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
