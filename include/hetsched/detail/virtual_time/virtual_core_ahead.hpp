// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: when devices take tasks, what is sent ahead to them, and early activation. The rules
// are those of device_rules.hpp.

#include <hetsched/detail/engine/device_rules.hpp>
#include <hetsched/detail/virtual_time/virtual_host.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace hetsched::detail {

inline std::size_t VirtualCore::most_taken() const noexcept {
  return detail::most_taken(*policies_, static_cast<std::size_t>(machine_.config().window), 1);
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

/// Whether an idle worker takes a task now. A device that has some also takes a task of which the
/// scheduler could not say before that it is next: it has no `peek`, or only a theft would give the
/// task.
inline bool VirtualCore::takes_now(WorkerId worker) {
  auto const node = machine_.worker(worker).node;
  if (!memory_ || node == host_node || memory_->taken(node) == 0 || !policies_->has(hook_peek)) {
    return true;
  }
  auto const& next = next_tasks(worker);
  if (next.empty()) {
    return policies_->has(hook_steal);
  }

  struct First {
    VirtualMemory& memory;
    TaskRecord const& task;
    NodeId node;

    [[nodiscard]] bool has_all() const { return memory.has_all(task, node); }

    [[nodiscard]] bool has_places() const { return memory.has_places(task, node); }

    static constexpr bool makes_room() noexcept { return false; } // a launch takes no time
  };

  return takes_beside({memory_->taken(node), memory_->busy(node) ? 1U : 0U, 1},
                      First{*memory_, *next.front().task, node});
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
  auto const claim = claimed_by(machine_.worker(worker).node);
  auto& next = workers_[worker.index()].next.tasks;
  for (auto const& [task, begin] : next) {
    if (task->binding.load(std::memory_order_relaxed) == claim) {
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
      task.binding.store(claim, std::memory_order_relaxed);
    }
  }
}

/// Whether a worker may take the task as far as its binding is concerned.
inline bool VirtualCore::may_take(TaskRecord const& task, Binding binding, WorkerId worker) const {
  if (is_claimed(binding)) {
    return claimant(binding) == machine_.worker(worker).node ||
           (claims_yield_ && ends_sooner(task, claimant(binding), worker));
  }
  return binding == Binding::none || task.worker.load(std::memory_order_relaxed) == worker.value;
}

/// Whether the worker would end a task that a device claims sooner if it began now.
inline bool VirtualCore::ends_sooner(TaskRecord const& task, NodeId device, WorkerId worker) const {
  auto const claimant =
      *std::find_if(device_workers_.begin(), device_workers_.end(), [&](WorkerId other) {
        return machine_.worker(other).node == device;
      });
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
    auto const& successors = workers_[worker.index()].successors;
    auto const expects = [this](TaskRecord const& task, WorkerInfo const& there) {
      return expected(task, there.id);
    };
    auto* const task = successors.next();
    if (task != nullptr &&
        !others_end_sooner(
            *this, *task, successors, machine_.worker(worker), busy_until(worker), expects)) {
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
