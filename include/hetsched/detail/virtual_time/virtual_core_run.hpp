// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: the event loop.

#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/virtual_time/virtual_core_aborts.hpp>
#include <hetsched/detail/virtual_time/virtual_core_data.hpp>
#include <hetsched/detail/virtual_time/virtual_core_end.hpp>
#include <hetsched/detail/virtual_time/virtual_core_report.hpp>

namespace hetsched::detail {

// ---- the scheduler ----

/// Notes that the scheduler gets these tasks now.
inline void VirtualCore::note_pushed(std::span<TaskId const> tasks) {
  waiting_ += tasks.size();
  ++moves_;
  if (explainer_.watches()) [[unlikely]] {
    watch_pushed(tasks);
  }
  if (preempts()) {
    pushed_.insert(pushed_.end(), tasks.begin(), tasks.end());
  }
}

/// The Wake has no effect, because all idle workers are offered work. Keeps the task if a hook
/// throws.
inline void VirtualCore::push(TaskId task, WorkerId from) noexcept {
  try {
    note_pushed({&task, 1});
    (void)policies_->push(task, from);
  } catch (...) {
    keep_unpushed(task);
  }
}

inline void VirtualCore::push_activated(std::span<TaskId const> tasks, WorkerId from) noexcept {
  if (policies_->has(hook_push_activated)) {
    std::array<Wake, most_activated> wakes;
    wakes.fill(not_pushed);
    try {
      note_pushed(tasks);
      policies_->push_activated(tasks, from, std::span(wakes).first(tasks.size()));
    } catch (...) {
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        if (wakes[k] == not_pushed) {
          keep_unpushed(tasks[k]);
        }
      }
    }
  } else {
    for (auto const task : tasks) {
      push(task, from);
    }
  }
}

/// Called where a hook threw. As of ThreadCore.
[[gnu::cold]] inline void VirtualCore::keep_unpushed(TaskId task) noexcept {
  auto& record = *TaskRecord::from(task);
  try {
    throw;
  } catch (std::bad_alloc const&) {
  } catch (...) {
    tasks_.root().failure.offer(
        failure_log().add(std::current_exception(), "hetsched push", record.label_text()));
  }
  unpushed_.add(record);
}

inline TaskId VirtualCore::take(WorkerId worker) {
  auto task = policies_->pop(worker);
  bool const stolen = !task;
  if (!task && policies_->has(hook_steal)) {
    task = policies_->steal(worker).task;
    workers_[worker.index()].steals += task ? 1 : 0;
  }
  if (!task && unpushed_.any()) [[unlikely]] {
    auto const* const kept =
        unpushed_.take([&](TaskRecord const& other) { return can_run(other, worker); });
    task = kept != nullptr ? kept->id() : no_task;
  }
  if (task && explainer_.watches()) [[unlikely]] {
    watch_taken(task, worker, stolen);
  }
  return task;
}

inline void VirtualCore::end_run(std::string const& policy, std::string const& what) {
  given_up_ = true;
  throw Error(ErrorCode::bad_call, policy, what);
}

inline void VirtualCore::give_up(std::string const& why) {
  end_run(policy_called("scheduler", policies_->rules().name), why);
}

/// No event can happen any more, and tasks are left.
inline void VirtualCore::give_up_waiting() {
  give_up("keeps " + std::to_string(waiting_) + " tasks from " + std::to_string(workers().size()) +
          " idle workers");
}

// ---- the loop ----

inline void VirtualCore::offer_work() {
  while (offer_to_devices() || (memory_ && offer(false)) || offer(true) || preempt() ||
         activate_early()) {
  }
}

/// Offers work once to each device that has none, if devices are served first. Then the devices
/// claim what is next there, before cores are asked. Returns whether one of them has begun a task.
inline bool VirtualCore::offer_to_devices() {
  bool found = false;
  for (auto const worker : device_workers_) {
    if (waiting_ != 0 && memory_->taken(machine_.worker(worker).node) == 0 &&
        machine_.config().serve == Simulation::Serve::gpu) {
      if (auto const task = take(worker)) {
        begin(task, worker);
        found = true;
      }
    }
  }
  for (auto const worker : device_workers_) {
    send_ahead(worker);
  }
  return found;
}

/// Offers work once to each idle worker. Returns whether one of them has begun a task. While claims
/// hold, no task is aborted.
inline bool VirtualCore::offer(bool claims_yield) {
  claims_yield_ = claims_yield;
  bool found = false;
  for (std::size_t rank = 0; waiting_ != 0 || (claims_yield && spoliates());) {
    auto const worker = idle_.next(rank);
    if (!worker) {
      break;
    }
    if (takes_now(worker)) {
      if (auto const task = claims_yield ? spoliate_or_take(worker) : take(worker)) {
        begin(task, worker);
        send_ahead(worker);
        found = true;
      }
    }
  }
  claims_yield_ = false;
  return found;
}

/// The scheduler gave the worker a task that it may not begin.
inline void VirtualCore::refuse(TaskRecord const& task, WorkerId worker, bool is_ready) {
  auto const who = "gave worker " + std::to_string(worker.value);
  give_up(is_ready ? who + " task '" + std::string(task.type_of().name) + "', which it cannot run"
                   : who + " a task twice, or one that it had not");
}

inline void VirtualCore::begin(TaskId id, WorkerId worker) {
  auto& task = *TaskRecord::from(id);
  bool const is_ready =
      task.id() == id && task.state.load(std::memory_order_relaxed) == TaskState::ready;
  if (!is_ready || !can_run(task, worker)) [[unlikely]] {
    refuse(task, worker, is_ready);
  }
  --waiting_;
  ++moves_;
  if (is_claimed(task.binding.load(std::memory_order_relaxed))) {
    task.binding.store(Binding::none, std::memory_order_relaxed);
  }
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.value, std::memory_order_relaxed);
  if (task.group != nullptr && task.group->cancelled.load(std::memory_order_relaxed)) {
    skip(task, worker);
  } else if (memory_) {
    commit(task, worker);
  } else {
    idle_.erase(worker);
    launch(task, worker);
  }
}

/// The worker has taken a task whose group was cancelled: it ends without having begun.
inline void VirtualCore::skip(TaskRecord& task, WorkerId worker) {
  if (task.binding.load(std::memory_order_relaxed) == Binding::bound) {
    task.state.store(TaskState::pending, std::memory_order_relaxed);
    // It is skipped when its predecessors have ended.
    task.binding.store(Binding::undone, std::memory_order_relaxed);
    return;
  }
  ++counts_.cancelled;
  if (recorder_) {
    auto const now = clock_.now();
    recorder_->ran(no_worker, worker, task.id(), {}, now, now, TaskOutcome::cancelled);
  }
  complete(task, worker);
  end_own_tasks();
}

inline void VirtualCore::launch(TaskRecord& task, WorkerId worker) {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    __builtin_prefetch(access.queue, 1); // the task's end will use it, some events from now
  }
  auto const& info = machine_.worker(worker);
  auto& state = workers_[worker.index()];
  state.running = &task;
  state.begin = clock_.now();
  state.times = &machine_.times().of(task.type_of());
  state.end = clock_.now() + machine_.times().draw(*state.times, info.arch, task.flops, [&] {
    return view_of(task);
  });
  state.number = tasks_.number_execution();
  if (memory_ && info.node != host_node) {
    state.successors.note(task, info.arch);
  }
  if (policies_->has(hook_prologue)) {
    policies_->prologue(task.id(), worker);
  }
  clock_.add(state.end, worker);
}

/// The task's end is the second next event. Fetches its successors into the cache until then,
/// because large graphs are in main memory and each task is used only a few times.
inline void fetch_successors(TaskRecord const& task) noexcept {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    if (auto const next = reinterpret_cast<std::uintptr_t>(access.queue->head); next != 0) {
      __builtin_prefetch(reinterpret_cast<void const*>(next), 1);
      __builtin_prefetch(reinterpret_cast<void const*>(next - 64), 1); // the record's beginning
      __builtin_prefetch(reinterpret_cast<void const*>(next - 128), 1);
    }
  }
}

inline Instant VirtualCore::next_event() const noexcept {
  auto const transfer = memory_ ? memory_->next() : VirtualMemory::never;
  return clock_.idle() ? transfer : std::min(transfer, clock_.next());
}

inline void VirtualCore::advance(Instant now) {
  clock_.set(now);
  aborted_now_ = 0;
  if (memory_) {
    memory_->advance(now);
  }
  while (!clock_.idle() && clock_.next() == now) {
    auto const worker = clock_.pop();
    if (!clock_.idle()) {
      fetch_successors(*workers_[clock_.next_worker().index()].running);
    }
    end(worker);
  }
  if (memory_) {
    see_to_data();
  }
}

/// Lets time pass until `done`. Throws Error(bad_call) if no event can happen any more.
template <class Done>
void VirtualCore::run_until(Done const& done) {
  run_until([](void const* what) { return (*static_cast<Done const*>(what))(); }, &done);
}

/// The same, compiled once for all.
inline void VirtualCore::run_until(bool (*done)(void const* what), void const* what) {
  if (spawning_ != nullptr) [[unlikely]] {
    await_children(*spawning_);
  }
  try {
    end_own_tasks();
    while (!done(what) && !given_up_) {
      offer_work();
      auto const next = next_event();
      if (next == VirtualMemory::never) {
        if (done(what)) { // cancelled tasks take no time
          break;
        }
        give_up_waiting();
      }
      advance(next);
    }
  } catch (...) {
    given_up_ = true; // what was under way was left in the middle
    throw;
  }
}

inline void VirtualCore::drain() {
  int merges = 0;
  do {
    run_until([this] { return tasks_.live() == 0; });
    Host host(*this);
    merges = given_up_ ? 0 : merge_all(host, tasks_.root());
  } while (merges != 0);
}

inline void VirtualCore::await_group(GroupState& group) {
  run_until([&group] { return group.empty(); });
}

inline void VirtualCore::take_all_home(Domain const* domain, TaskRecord*) {
  if (!given_up_) {
    run_until([this, domain] { return memory_->all_home(*domain); });
  }
}

inline std::exception_ptr VirtualCore::await_data(AccessQueue& queue, TaskRecord*) {
  if (given_up_) {
    return nullptr;
  }
  Host host(*this);
  auto& waiter = *host.allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
  host.start_record(waiter, wait_type, nullptr);
  waiter.access_count = 1;
  new (waiter.accesses()) Access{&queue, nullptr, {}, AccessMode::read_write, false, 0, 0};
  register_accesses(host, waiter);
  run_until(
      [&waiter] { return waiter.state.load(std::memory_order_relaxed) == TaskState::running; });
  release_accesses(host, waiter);
  host.recycle(waiter);
  return nullptr;
}

} // namespace hetsched::detail
