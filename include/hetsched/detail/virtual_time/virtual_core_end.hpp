// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: what happens when a task ends.

#include <hetsched/detail/dataflow/outcomes.hpp>
#include <hetsched/detail/virtual_time/virtual_core.hpp>
#include <hetsched/detail/virtual_time/virtual_core_report.hpp>
#include <hetsched/detail/virtual_time/virtual_host.hpp>

#include <string>

namespace hetsched::detail {

inline void VirtualCore::end(WorkerId worker) {
  auto& state = workers_[worker.index()];
  auto& task = *state.running;
  auto const& info = machine_.worker(worker);
  auto const time = state.end - state.begin;
  state.times->count(info.arch, time);
  ++state.executed;
  state.busy += time;
  report_execution(task, worker, false);
  if (policies_->has(hook_epilogue)) {
    policies_->epilogue(task.id(), worker, time);
  }
  if (policies_->measures()) {
    policies_->record(view_of(task), info.arch, time);
  }
  state.running = nullptr;
  state.successors.forget(task);
  if (memory_) {
    info.node == host_node ? memory_->end_on_host(task) : memory_->end_kernel(info.node);
  }
  idle_.insert(worker);
  bool const spawns = task.type_of().only_spawns && info.arch == ArchHost;
  if (!spawns || spawn_children(task, worker)) {
    complete(task, worker);
  }
  end_own_tasks();
}

/// Runs the body of a task that only spawns. Returns whether no child is left; otherwise the last
/// one completes the task. If the body throws, so does the program's sync, and the run is over.
inline bool VirtualCore::spawn_children(TaskRecord& task, WorkerId worker) {
  spawning_ = &task;
  spawning_on_ = worker;
  try {
    task.type_of().run(runtime_, task);
    if (auto* const domain = task.domain.load(std::memory_order_relaxed)) {
      Host host(*this);
      (void)merge_all(host, *domain);
    }
  } catch (...) {
    spawning_ = nullptr;
    throw;
  }
  spawning_ = nullptr;
  task.state.store(TaskState::waiting, std::memory_order_relaxed);
  auto const left = task.children.fetch_sub(TaskRecord::body_bias, std::memory_order_relaxed);
  return left == TaskRecord::body_bias;
}

inline void VirtualCore::await_children(TaskRecord& task) {
  throw Error(ErrorCode::bad_call,
              "task '" + std::string(task.type_of().name) + "'",
              "its body only spawns in virtual time, and may not wait");
}

/// Completes a task, then the task whose last child it was, and so on.
inline void VirtualCore::complete(TaskRecord& task, WorkerId worker) {
  for (auto* next = &task; next != nullptr;) {
    next = complete_one(*next, worker);
  }
}

/// Releases the task's data. The tasks that this makes ready go to the scheduler. Returns its
/// parent if no other child is left there and the parent's body has ended.
inline TaskRecord* VirtualCore::complete_one(TaskRecord& task, WorkerId worker) {
  auto* const group = task.group;
  auto* const parent = task.parent.load(std::memory_order_relaxed);
  if (task.type_of().only_spawns) [[unlikely]] {
    task.children.store(TaskRecord::body_bias, std::memory_order_relaxed); // as in free records
    if (task.domain.load(std::memory_order_relaxed) != nullptr) {
      close_domain(task, tasks_.root());
    }
  }
  if (memory_ && task.type_of().kind == TaskKind::user) {
    memory_->note_end(task);
  }
  if (task.access_count != 0) {
    Host host(*this, worker);
    release_accesses(host, task);
  }
  if (auto* const destroy = task.type_of().destroy_values) {
    destroy(task.values());
  }
  tasks_.recycle(task);
  if (group != nullptr) {
    group->state.fetch_sub(1, std::memory_order_relaxed);
  }
  tasks_.count_complete();
  bool const last =
      parent != nullptr && parent->children.fetch_sub(1, std::memory_order_relaxed) == 1;
  return last ? parent : nullptr;
}

/// Ends merges and hints, which take no time. Each may grant others.
inline void VirtualCore::end_own_tasks() {
  if (own_.being_ended) {
    return;
  }
  own_.being_ended = true;
  while (own_.ready != nullptr) {
    auto& task = OwnTasks::take(own_.ready);
    if (end_own_task(task)) {
      complete(task, workers().front().id);
    } else {
      OwnTasks::add(own_.waiting, task);
    }
  }
  own_.being_ended = false;
}

/// What it makes ready is activated by a core that is idle, as such a one looks for messages.
inline void VirtualCore::end_external(TaskRecord& external) {
  if (memory_) {
    memory_->end_on_host(external);
  }
  std::size_t rank = 0;
  auto worker = idle_.next(rank);
  while (worker && machine_.worker(worker).arch != ArchHost) {
    worker = idle_.next(rank);
  }
  complete(external, worker ? worker : workers().front().id);
  end_own_tasks();
}

/// Returns false if it waits for data.
inline bool VirtualCore::end_own_task(TaskRecord& task) {
  if (memory_ && task.type_of().kind == TaskKind::merge) {
    return memory_->acquire_for_merge(task);
  }
  if (memory_ && task.type_of().kind == TaskKind::prefetch) {
    memory_->prefetch(task.accesses()[0], task.accesses()[0].carried.hint.node);
  }
  if (memory_ && task.type_of().kind == TaskKind::evict) {
    return memory_->evict(task.accesses()[0], task.accesses()[0].carried.hint.node);
  }
  return true;
}

} // namespace hetsched::detail
