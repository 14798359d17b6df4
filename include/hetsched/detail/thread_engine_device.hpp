// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: the workers that drive devices.

#include <hetsched/detail/thread_engine.hpp>
#include <hetsched/detail/thread_engine_attempts.hpp>
#include <hetsched/detail/thread_engine_run.hpp>
#include <hetsched/detail/thread_engine_wait.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <span>
#include <utility>

namespace hetsched::detail {

/// Where a device's window hands tasks back to their worker.
template <class S, class C, class P>
class ThreadCore<S, C, P>::LaunchSite final : public DeviceEvents {
public:
  LaunchSite(ThreadCore& core, ThreadWorker& worker) : core_(core), worker_(worker) {}

  bool launch(TaskRecord& task, GpuStream& stream) override {
    if (task.type_of().kind != TaskKind::user) {
      return true;
    }
    bool const attempt = is_attempt(task);
    if (attempt) {
      Visit const visit(*AttemptLink::of(task).all);
      if (!visit) {
        return true; // nothing is launched: its end will be seen at once
      }
      begin(*AttemptLink::of(task).all->task);
    } else {
      begin(task);
    }
    ThreadStateGuard const state({&core_, &worker_, nullptr, &sink_, &core_});
    try {
      task.type_of().launch(&stream, task);
    } catch (Error const& error) {
      if (error.code() == ErrorCode::device_failed) {
        throw; // the device's fault, not the body's
      }
      fail(task, std::current_exception());
      return false;
    } catch (...) {
      fail(task, std::current_exception());
      return false;
    }
    if (!attempt) { // else the task is not done when this is
      worker_.successors.note(task, worker_.info.arch);
    }
    return true;
  }

  void finished(TaskRecord& task, std::exception_ptr error, Duration kernel) override {
    if (is_attempt(task)) {
      if (error != nullptr) {
        fail(task, std::move(error));
      }
      bool const won = has_won(task);
      if (won) {
        core_.await_visitors(*AttemptLink::of(task).all);
      }
      core_.end_attempt(worker_, task, won, kernel);
      return;
    }
    worker_.successors.forget(task);
    if (error != nullptr) {
      core_.fail(worker_, task, std::move(error));
    }
    if (task.type_of().kind == TaskKind::user) {
      tell(task, kernel);
    }
    core_.finish_body(worker_, task);
  }

  void refused(TaskRecord& task, std::exception_ptr error) override {
    if (is_attempt(task)) {
      if (has_won(task)) { // the device broke down before the result was published
        finished(task, std::move(error), {});
      } else {
        core_.end_attempt(worker_, task, false, {}, std::move(error));
      }
      return;
    }
    worker_.successors.forget(task);
    forget(task);
    if (core_.undo_binding(task)) {
      return; // whoever grants its last access hands it to the scheduler
    }
    if (task.type_of().kind != TaskKind::user || !core_.run_elsewhere(worker_, task)) {
      finished(task, std::move(error), {});
    }
  }

  void undone(TaskRecord& task) override {
    worker_.successors.forget(task);
    forget(task);
    core_.undo_early(worker_, task);
  }

private:
  void begin(TaskRecord& task) {
    if constexpr (has_prologue<S, Context>) {
      Context const ctx(core_);
      core_.locked([&] { core_.scheduler_.prologue(ctx, task.id(), worker_.info.id); });
    }
    core_.note_running(worker_, task);
  }

  /// Policies do not see it running any more: until then `reconsider` may look at it.
  void forget(TaskRecord& task) {
    if constexpr (has_reconsider<S, Context>) {
      core_.locked([&] { core_.forget_running(worker_, task); });
    } else {
      core_.forget_running(worker_, task);
    }
  }

  /// An attempt that another has overtaken has nothing to fail.
  void fail(TaskRecord& task, std::exception_ptr error) {
    if (!is_attempt(task)) {
      core_.fail(worker_, task, std::move(error));
    } else if (claim(task) || has_won(task)) {
      auto& its = *AttemptLink::of(task).all->task;
      if (!its.failed) {
        core_.fail(worker_, its, std::move(error));
      }
    }
  }

  /// The scheduler, the model and the statistics.
  void tell(TaskRecord& task, Duration kernel) {
    if constexpr (has_epilogue<S, Context>) {
      Context const ctx(core_);
      core_.locked([&] { core_.scheduler_.epilogue(ctx, task.id(), worker_.info.id, kernel); });
    }
    if (core_.timing_) {
      worker_.times.add(task.type_of(), kernel);
    }
    if constexpr (P::measures) {
      core_.model_.record(view_of(task), worker_.info.arch, kernel);
    }
    forget(task);
    worker_.executed.add();
  }

  ThreadCore& core_;
  ThreadWorker& worker_;
  BodySink sink_{"a GPU body"};
};

/// The loop of a worker that drives a device (Lima et al. 2015, sec. 3.4.2 and 3.4.3): takes tasks
/// while the window has room, and looks after what is under way. Completions are polled for; the
/// longer nothing happens the longer it sleeps between two looks, up to a tenth of the time since
/// something did.
template <class S, class C, class P>
void ThreadCore<S, C, P>::work_on_device(ThreadWorker& worker) {
  constexpr std::int64_t spin_ns = 20000;
  constexpr std::int64_t longest_ns = 200000;
  auto& window = devices_->window(worker.info.node);
  LaunchSite site(*this, worker);
  Until done([this, &worker] {
    return stopping_.load(std::memory_order_seq_cst) ||
           worker.has_mail.load(std::memory_order_seq_cst);
  });
  auto last_event = clock();
  for (;;) {
    bool moved = window.poll(site);
    moved = take_mail(worker, window) || moved;
    while (window.has_room()) {
      auto task = window.empty() && !moved ? find_task(worker, done) : take(worker);
      if (has_attempt(worker)) {
        commit_attempt(worker, window, *std::exchange(worker.attempt, nullptr));
        moved = true;
        continue;
      }
      if (!task) {
        task = take_early(worker);
      }
      if (!task) {
        break;
      }
      commit(worker, window, task);
      moved = true;
      if (!window.has_room()) {
        send_ahead(worker, window);
      }
    }
    if (moved) {
      last_event = clock();
    } else if (window.empty()) {
      if (stopping_.load(std::memory_order_seq_cst)) {
        break;
      }
    } else if (auto const quiet = clock().ns - last_event.ns; quiet > spin_ns) {
      timespec const pause{0, std::min(quiet / 10, longest_ns)};
      nanosleep(&pause, nullptr);
    } else {
      sched_yield();
    }
  }
}

/// What the worker would take next, had its window room: its data begin to move. The scheduler says
/// only what nobody else can take before the hook and this are over.
template <class S, class C, class P>
void ThreadCore<S, C, P>::send_ahead(ThreadWorker& worker, DeviceWindow const& window) {
  if constexpr (has_peek<S, Context>) {
    std::array<TaskId, most_peeked> next;
    Context const ctx(*this);
    locked([&] {
      auto const room = std::span(next).first(std::min(next.size(), window.length()));
      auto const count = scheduler_.peek(ctx, worker.info.id, room);
      HETSCHED_ASSERT(count <= room.size(),
                      "scheduler's peek answered more than there was room for");
      for (auto const id : room.first(count)) {
        devices_->send_ahead(*TaskRecord::from(id), worker.info.node);
      }
    });
  }
}

/// Hands a task that this worker's device refused back to the scheduler: for the host if it has a
/// body there, else for another device. False if nobody is left to run it.
template <class S, class C, class P>
bool ThreadCore<S, C, P>::run_elsewhere(ThreadWorker& worker, TaskRecord& task) {
  bool const lost = devices_->window(worker.info.node).lost();
  if (lost && !std::exchange(worker.retired, true)) {
    retired_devices_.fetch_add(1, std::memory_order_relaxed);
  }
  ArchMask const archs{task.archs.load(std::memory_order_relaxed)};
  if (archs.has(ArchHost)) {
    task.archs.store(ArchMask::only(ArchHost).bits, std::memory_order_relaxed);
  } else if (!lost || retired_devices_.load(std::memory_order_relaxed) == device_count()) {
    return false;
  } else {
    timespec const pause{0, 100000}; // this worker may well be given it again
    nanosleep(&pause, nullptr);
  }
  if (task.type_of().reduces) {
    return_copies(task);
  }
  worker.rerun.add();
  BareHost(*this, &worker, nullptr).ready(task, true);
  return true;
}

/// Takes on the hints that have come for the device. Whether there was any.
template <class S, class C, class P>
bool ThreadCore<S, C, P>::take_mail(ThreadWorker& worker, DeviceWindow& window) {
  if (!worker.has_mail.load(std::memory_order_acquire)) {
    return false;
  }
  Array<TaskRecord*> hints;
  {
    std::lock_guard const guard(worker.inbox_lock);
    worker.has_mail.store(false, std::memory_order_relaxed);
    for (auto* hint : worker.inbox) {
      hints.push_back(hint);
    }
    worker.inbox.clear();
  }
  for (auto* hint : hints) {
    if (hint->type_of().kind == TaskKind::prefetch) {
      devices_->prefetch(*hint, worker.info.node);
      finish_body(worker, *hint);
    } else {
      commit(worker, window, hint->id());
    }
  }
  return true;
}

/// The worker takes the task on.
template <class S, class C, class P>
void ThreadCore<S, C, P>::commit(ThreadWorker& worker, DeviceWindow& window, TaskId id) {
  auto& task = *TaskRecord::from(id);
  HETSCHED_ASSERT(task.id() == id && task.state.load() == TaskState::ready,
                  "scheduler gave a task twice, or one that it was not given");
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker.info.id.value, std::memory_order_relaxed);
  bool const early = task.binding.load(std::memory_order_acquire) == Binding::bound;
  if (early && !worker.successors.all_before(task)) {
    undo_early(worker, task);
    return;
  }
  if ((task.group != nullptr || failed_.load(std::memory_order_relaxed)) &&
      is_to_be_skipped(task)) {
    if (early) {
      undo_early(worker, task); // it will be skipped when it may end
      return;
    }
    worker.cancelled.add();
    record_not_run(worker, task);
    finish_body(worker, task);
    return;
  }
  if (task.type_of().attempt_at != 0) {
    if (!early) {
      auto* const attempt = begin_attempts(worker, task);
      finish_body(worker, task);
      if (attempt != nullptr) {
        commit_attempt(worker, window, *attempt);
      }
      return;
    }
    AttemptLink::of(task).in_place.store(true, std::memory_order_relaxed);
  }
  if (task.type_of().reduces) {
    lease_copies(task);
  }
  window.commit(task);
}

// ---- early activation (early.hpp) ----

/// Activates a task that may be launched behind others and takes what the scheduler then has.
template <class S, class C, class P>
TaskId ThreadCore<S, C, P>::take_early(ThreadWorker& worker) {
  auto* const task = worker.successors.next();
  if (task == nullptr) {
    return no_task;
  }
  task->worker.store(worker.info.id.value, std::memory_order_relaxed);
  task->binding.store(Binding::bound, std::memory_order_seq_cst);
  worker.early.add();
  Host(*this, &worker, nullptr, Host::Origin::activated).activate(*task);
  return take(worker);
}

/// The task holds all its data. Whether it was bound: the scheduler or the device has it already.
template <class S, class C, class P>
[[gnu::noinline]] bool ThreadCore<S, C, P>::unbind(TaskRecord& task) {
  // Bound, if at all, before its predecessors ended, on which this thread's coming here depends.
  if (task.binding.load(std::memory_order_relaxed) == Binding::none) {
    return false;
  }
  bool const queued = task.state.load(std::memory_order_relaxed) == TaskState::ready;
  if (task.binding.exchange(Binding::none, std::memory_order_seq_cst) == Binding::undone) {
    return false;
  }
  if (queued) { // others may run it from now on, and any of them may be the one to find it
    wake_all(WakeReason::task);
  }
  return true;
}

/// A task that is on no device any more is to wait for its predecessors like any other, if it is
/// still bound: then true, and the task may be gone.
template <class S, class C, class P>
bool ThreadCore<S, C, P>::undo_binding(TaskRecord& task) {
  auto expected = Binding::bound;
  if (task.binding.load(std::memory_order_acquire) != expected) {
    return false;
  }
  auto const before = task.state.exchange(TaskState::pending, std::memory_order_relaxed);
  if (task.binding.compare_exchange_strong(expected, Binding::undone, std::memory_order_acq_rel)) {
    return true;
  }
  task.state.store(before, std::memory_order_relaxed);
  return false;
}

/// The same; a task that holds its data by now goes back to the scheduler.
template <class S, class C, class P>
void ThreadCore<S, C, P>::undo_early(ThreadWorker& worker, TaskRecord& task) {
  if (!undo_binding(task)) {
    BareHost(*this, &worker, nullptr).ready(task, true);
  }
}

} // namespace hetsched::detail
