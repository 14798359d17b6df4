// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: the event loop.

#include <hetsched/detail/virtual_engine_aborts.hpp>
#include <hetsched/detail/virtual_engine_host.hpp>
#include <hetsched/detail/virtual_engine_stats.hpp>

namespace hetsched::detail {

template <class S, class C, class P>
std::vector<WorkerInfo> VirtualCore<S, C, P>::infos_of(Platform const& platform) {
  std::vector<WorkerInfo> infos;
  std::int32_t node = 0;
  for (auto const& its : platform.classes) {
    for (int k = 0; k < its.workers; ++k) {
      auto const id = static_cast<std::int32_t>(infos.size());
      auto const at = its.arch == ArchHost ? host_node : NodeId{++node};
      infos.push_back({WorkerId{id}, its.arch, at, -1, its.cores});
    }
  }
  return infos;
}

template <class S, class C, class P>
std::vector<NodeInfo> VirtualCore<S, C, P>::nodes_of(Platform const& platform) {
  std::vector<NodeInfo> nodes{{host_node, 0}};
  for (auto const& info : infos_of(platform)) {
    auto const k = static_cast<std::size_t>(info.node.value);
    if (info.node != host_node) {
      nodes.push_back(
          {info.node, k < platform.nodes.size() ? platform.nodes[k].capacity_bytes : 0});
    }
  }
  return nodes;
}

// ---- the scheduler ----

template <class S, class C, class P>
template <class F>
auto VirtualCore<S, C, P>::decide(F&& hook) {
  Context const ctx(*this);
  if (!config_.time_decisions) {
    return hook(ctx);
  }
  auto const clock_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  };
  auto const before = clock_ns();
  auto answer = hook(ctx);
  deciding_.ns += clock_ns() - before;
  return answer;
}

/// All idle workers are offered work anyway: whom to wake does not matter.
template <class S, class C, class P>
void VirtualCore<S, C, P>::push(TaskId task, WorkerId from) {
  note_pushed({&task, 1});
  (void)decide([&](Context const& ctx) { return scheduler_.push(ctx, task, from); });
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::push_activated(std::span<TaskId const> tasks, WorkerId from) {
  if constexpr (has_push_activated_each<S, Context>) {
    note_pushed(tasks);
    wakes_.assign(tasks.size(), Wake::none());
    (void)decide(
        [&](Context const& ctx) { return scheduler_.push_activated(ctx, tasks, from, wakes_), 0; });
  } else if constexpr (has_push_activated<S, Context>) {
    note_pushed(tasks);
    (void)decide([&](Context const& ctx) { return scheduler_.push_activated(ctx, tasks, from); });
  } else {
    for (auto const task : tasks) {
      push(task, from);
    }
  }
}

template <class S, class C, class P>
TaskId VirtualCore<S, C, P>::take(WorkerId worker) {
  auto task = decide([&](Context const& ctx) { return scheduler_.pop(ctx, worker); });
  bool const stolen = !task;
  if constexpr (has_steal<S, Context>) {
    if (!task) {
      task = decide([&](Context const& ctx) { return Stolen{scheduler_.steal(ctx, worker)}.task; });
      workers_[worker.index()].steals += task ? 1 : 0;
    }
  }
  if (task && explainer_.watches()) [[unlikely]] {
    watch_taken(task, worker, stolen);
  }
  return task;
}

// ---- the loop ----

/// Offers work to idle workers, in their order, until none of them finds any.
template <class S, class C, class P>
void VirtualCore<S, C, P>::offer_work() {
  for (bool found = true; found;) {
    found = false;
    std::size_t rank = 0;
    while (waiting_ != 0 || spoliates) {
      auto const worker = idle_.next(rank);
      if (!worker) {
        break;
      }
      if (auto const task = spoliate_or_take(worker)) {
        begin(task, worker);
        found = true;
      }
    }
    found = found || preempt() || activate_early();
  }
}

// ---- early activation (early.hpp) ----

/// Lets a device whose window has room, and for which the scheduler has nothing, have what comes
/// behind the task that runs there. Whether some task could go.
template <class S, class C, class P>
bool VirtualCore<S, C, P>::activate_early() {
  for (auto const worker : device_workers_) {
    auto const& its = workers_[worker.index()];
    auto* const task =
        memory_->has_room(infos_[worker.index()].node) ? its.successors.next() : nullptr;
    if (task != nullptr) {
      task->worker.store(worker.value, std::memory_order_relaxed);
      task->binding.store(Binding::bound, std::memory_order_relaxed);
      ++early_;
      Host(*this, worker).activate(*task);
      if (auto const next = take(worker)) {
        begin(next, worker);
      }
      return true;
    }
  }
  return false;
}

/// The task holds all its data. Whether it was bound: the scheduler or the device has it already.
template <class S, class C, class P>
bool VirtualCore<S, C, P>::unbind(TaskRecord& task) {
  auto const before = task.binding.load(std::memory_order_relaxed);
  task.binding.store(Binding::none, std::memory_order_relaxed);
  if constexpr (preempts) {
    if (before == Binding::bound &&
        task.state.load(std::memory_order_relaxed) == TaskState::ready) {
      pushed_.push_back(task.id());
    }
  }
  return before == Binding::bound;
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::begin(TaskId id, WorkerId worker) {
  auto& task = *TaskRecord::from(id);
  if (task.id() != id || task.state.load(std::memory_order_relaxed) != TaskState::ready) {
    give_up("gave worker " + std::to_string(worker.value) +
            " a task twice, or one that it had not");
  }
  if (!can_run(task, worker)) {
    give_up("gave worker " + std::to_string(worker.value) + " task '" +
            std::string(task.type_of().name) + "', which that cannot run");
  }
  --waiting_;
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.value, std::memory_order_relaxed);
  if (task.group != nullptr && task.group->cancelled.load(std::memory_order_relaxed)) {
    if (task.binding.load(std::memory_order_relaxed) == Binding::bound) {
      task.state.store(TaskState::pending, std::memory_order_relaxed);
      task.binding.store(Binding::undone, std::memory_order_relaxed); // skipped when it may end
      return;
    }
    ++cancelled_;
    if (recorder_) {
      recorder_->ran(no_worker, worker, id, {}, now_, now_, Trace::Outcome::cancelled);
    }
    complete(task, worker);
    end_own_tasks();
    return;
  }
  if (memory_) {
    commit(task, worker);
    return;
  }
  idle_.erase(worker);
  launch(task, worker);
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::launch(TaskRecord& task, WorkerId worker) {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    __builtin_prefetch(access.queue, 1); // its end will look there, some events from now
  }
  auto& its = workers_[worker.index()];
  its.running = &task;
  its.begin = now_;
  its.times = &times_.of(task.type_of());
  its.end = now_ + times_.draw(*its.times, infos_[worker.index()].arch);
  its.number = begun_++;
  if (memory_ && infos_[worker.index()].node != host_node) {
    its.successors.note(task, infos_[worker.index()].arch);
  }
  if constexpr (has_prologue<S, Context>) {
    decide([&](Context const& ctx) { return scheduler_.prologue(ctx, task.id(), worker), 0; });
  }
  events_.push_back({its.end, worker});
  std::push_heap(events_.begin(), events_.end());
}

// ---- data that have to move ----

/// How long the task is expected to run there.
template <class S, class C, class P>
Duration VirtualCore<S, C, P>::expected(TaskRecord const& task, WorkerId worker) const {
  auto const time = predicted(task, infos_[worker.index()]);
  return time ? time->mean : Duration{};
}

/// The worker takes the task on; it begins when its data are there.
template <class S, class C, class P>
void VirtualCore<S, C, P>::commit(TaskRecord& task, WorkerId worker) {
  auto const node = infos_[worker.index()].node;
  auto& its = workers_[worker.index()];
  its.committed += expected(task, worker);
  if (task.type_of().reduces) {
    memory_->lease_copies(task);
  }
  if (node == host_node) {
    idle_.erase(worker);
    its.waiting = &task;
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

template <class S, class C, class P>
bool VirtualCore<S, C, P>::launch_if_here(WorkerId core) {
  auto& its = workers_[core.index()];
  if (!memory_->acquire_on_host(*its.waiting)) {
    return false;
  }
  auto& task = *std::exchange(its.waiting, nullptr);
  its.committed = {};
  launch(task, core);
  return true;
}

/// On a device, what can go on does.
template <class S, class C, class P>
void VirtualCore<S, C, P>::move_window(WorkerId worker) {
  if (auto* const task = memory_->next_kernel(infos_[worker.index()].node)) {
    auto& its = workers_[worker.index()];
    its.committed = its.committed - std::min(its.committed, expected(*task, worker));
    launch(*task, worker);
  }
}

/// What the worker would take next, had its window room: its data begin to move.
template <class S, class C, class P>
void VirtualCore<S, C, P>::send_ahead(WorkerId worker) {
  if constexpr (has_peek<S, Context>) {
    std::array<TaskId, most_peeked> next;
    auto const room = std::span(next).first(std::min(next.size(), memory_->window()));
    auto const count =
        decide([&](Context const& ctx) { return scheduler_.peek(ctx, worker, room); });
    HETSCHED_ASSERT(count <= room.size(), "scheduler's peek answered more than there was room for");
    for (auto const id : room.first(count)) {
      memory_->send_ahead(*TaskRecord::from(id), infos_[worker.index()].node);
    }
  }
}

/// Transfers or kernels have ended: what waited for them goes on.
template <class S, class C, class P>
void VirtualCore<S, C, P>::see_to_data() {
  std::erase_if(cores_waiting_, [this](WorkerId core) { return launch_if_here(core); });
  own_.insert(own_.end(), merges_waiting_.rbegin(), merges_waiting_.rend());
  merges_waiting_.clear();
  end_own_tasks();
  for (auto const worker : device_workers_) {
    move_window(worker);
  }
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::end(WorkerId worker) {
  auto& its = workers_[worker.index()];
  auto& task = *its.running;
  auto const arch = infos_[worker.index()].arch;
  auto const time = its.end - its.begin;
  its.times->count(arch, time);
  ++its.executed;
  its.busy += time;
  if (config_.on_task) {
    config_.on_task({task.type_of().name,
                     task.label_text(),
                     its.number,
                     worker,
                     its.begin,
                     now_,
                     false,
                     task.graph_node});
  }
  if (recorder_) {
    recorder_->ran(no_worker, worker, task.id(), {}, its.begin, now_, Trace::Outcome::done);
  }
  if constexpr (has_epilogue<S, Context>) {
    decide(
        [&](Context const& ctx) { return scheduler_.epilogue(ctx, task.id(), worker, time), 0; });
  }
  if constexpr (P::measures) {
    model_.record(view_of(task), arch, time);
  }
  its.running = nullptr;
  its.successors.forget(task);
  if (memory_) {
    auto const node = infos_[worker.index()].node;
    node == host_node ? memory_->end_on_host(task) : memory_->end_kernel(node);
  }
  idle_.insert(worker);
  complete(task, worker);
  end_own_tasks();
}

/// Releases the task's data; what that makes ready goes to the scheduler.
template <class S, class C, class P>
void VirtualCore<S, C, P>::complete(TaskRecord& task, WorkerId worker) {
  auto* const group = task.group;
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
  BareHost(*this, nullptr, nullptr).recycle(task);
  if (group != nullptr) {
    group->state.fetch_sub(1, std::memory_order_relaxed);
  }
  ++completed_;
}

/// Merges and hints, which take no time. Each may grant others.
template <class S, class C, class P>
void VirtualCore<S, C, P>::end_own_tasks() {
  if (ending_own_) {
    return;
  }
  ending_own_ = true;
  while (!own_.empty()) {
    auto& task = *own_.back();
    own_.pop_back();
    if (end_own_task(task)) {
      complete(task, infos_.front().id);
    } else {
      merges_waiting_.push_back(&task);
    }
  }
  ending_own_ = false;
}

/// False: it waits for data.
template <class S, class C, class P>
bool VirtualCore<S, C, P>::end_own_task(TaskRecord& task) {
  if (memory_ && task.type_of().kind == TaskKind::merge) {
    return memory_->acquire_for_merge(task);
  }
  if (memory_ && task.type_of().kind == TaskKind::prefetch) {
    memory_->prefetch(task.accesses()[0], Hinted::of(task).node);
  }
  return true;
}

/// The task's end is next but one: what waits for it comes to the cache meanwhile. Large graphs are
/// in main memory, and a task is touched a few times only.
template <class S, class C, class P>
void VirtualCore<S, C, P>::fetch_successors(TaskRecord const& task) noexcept {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    if (auto const next = reinterpret_cast<std::uintptr_t>(access.queue->head); next != 0) {
      __builtin_prefetch(reinterpret_cast<void const*>(next), 1);
      __builtin_prefetch(reinterpret_cast<void const*>(next - 64), 1); // its task's record begins
      __builtin_prefetch(reinterpret_cast<void const*>(next - 128), 1);
    }
  }
}

/// Lets time pass until `done`. Throws Error(bad_call) if nothing can happen any more.
template <class S, class C, class P>
template <class Done>
void VirtualCore<S, C, P>::run_until(Done&& done) {
  end_own_tasks();
  while (!done() && !given_up_) {
    offer_work();
    auto const next = memory_ ? memory_->next() : VirtualMemory::never;
    if (events_.empty() && next == VirtualMemory::never) {
      if (done()) { // what was cancelled takes no time
        break;
      }
      give_up("keeps " + std::to_string(waiting_) + " tasks from " + std::to_string(infos_.size()) +
              " idle workers");
    }
    now_ = events_.empty() ? next : std::min(next, events_.front().at);
    aborted_now_ = 0;
    if (memory_) {
      memory_->advance(now_);
    }
    while (!events_.empty() && events_.front().at == now_) {
      auto const worker = events_.front().worker;
      std::pop_heap(events_.begin(), events_.end());
      events_.pop_back();
      if (!events_.empty()) {
        fetch_successors(*workers_[events_.front().worker.index()].running);
      }
      end(worker);
    }
    if (memory_) {
      see_to_data();
    }
  }
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::give_up(std::string const& why) {
  given_up_ = true;
  throw Error(ErrorCode::bad_call, "scheduler", why);
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::drain() {
  int merges = 0;
  do {
    run_until([this] { return completed_ == registered_; });
    Spawner spawner(*this);
    merges = given_up_ ? 0 : merge_all(spawner.host(), *root_);
  } while (merges != 0);
}

template <class S, class C, class P>
std::exception_ptr VirtualCore<S, C, P>::await_data(AccessQueue& queue, TaskRecord*) {
  if (given_up_) {
    return nullptr;
  }
  Spawner spawner(*this);
  auto& host = spawner.host();
  auto& waiter = *host.allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
  host.start_record(waiter, wait_type, nullptr);
  waiter.access_count = 1;
  new (waiter.accesses()) Access{&queue, nullptr, nullptr, AccessMode::read_write, false, 0};
  register_accesses(host, waiter);
  run_until(
      [&waiter] { return waiter.state.load(std::memory_order_relaxed) == TaskState::running; });
  release_accesses(host, waiter);
  host.recycle(waiter);
  return nullptr;
}

} // namespace hetsched::detail
