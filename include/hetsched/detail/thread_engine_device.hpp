// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: the workers that drive devices.

#include <hetsched/detail/thread_engine.hpp>
#include <hetsched/detail/thread_engine_run.hpp>
#include <hetsched/detail/thread_engine_wait.hpp>

#include <ctime>
#include <utility>

namespace hetsched::detail {

/// Refuses whatever a body for devices asks of the runtime.
class LaunchSink : public CaptureSink {
public:
  LaunchSink()
      : CaptureSink{[](CaptureSink&,
                       TaskType const&,
                       Attributes const&,
                       std::span<DataRecord* const>) -> void* {
                      throw Error(ErrorCode::bad_call, "spawn", "not allowed inside a GPU body");
                    },
                    [](CaptureSink&) {},
                    "a GPU body"} {}
};

/// Where a device's window hands tasks back to their worker.
template <class S, class C, class P>
class ThreadCore<S, C, P>::LaunchSite final : public DeviceEvents {
public:
  LaunchSite(ThreadCore& core, ThreadWorker& worker) : core_(core), worker_(worker) {}

  bool launch(TaskRecord& task, GpuStream& stream) override {
    if (task.type_of().kind != TaskKind::user) {
      return true;
    }
    if constexpr (has_prologue<S, Context>) {
      Context const ctx(core_);
      core_.locked([&] { core_.scheduler_.prologue(ctx, task.id(), worker_.info.id); });
    }
    worker_.running.store(&task, std::memory_order_release);
    ThreadStateGuard const state({&core_, &worker_, nullptr, &sink_, &core_});
    try {
      task.type_of().launch(&stream, task);
    } catch (Error const& error) {
      if (error.code() == ErrorCode::device_failed) {
        throw; // the device's fault, not the body's
      }
      core_.fail(worker_, task, std::current_exception());
    } catch (...) {
      core_.fail(worker_, task, std::current_exception());
    }
    return !task.failed;
  }

  void finished(TaskRecord& task, std::exception_ptr error, Duration kernel) override {
    if (error != nullptr) {
      core_.fail(worker_, task, std::move(error));
    }
    if (task.type_of().kind == TaskKind::user) {
      tell(task, kernel);
    }
    core_.finish_body(worker_, task);
  }

  void refused(TaskRecord& task, std::exception_ptr error) override {
    if (task.type_of().kind != TaskKind::user || !core_.run_elsewhere(worker_, task)) {
      finished(task, std::move(error), {});
    }
  }

private:
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
    if (worker_.running.load(std::memory_order_relaxed) == &task) {
      worker_.running.store(nullptr, std::memory_order_release);
    }
    worker_.executed.add();
  }

  ThreadCore& core_;
  ThreadWorker& worker_;
  LaunchSink sink_;
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
      auto const task = window.empty() && !moved ? find_task(worker, done) : take(worker);
      if (!task) {
        break;
      }
      commit(worker, window, task);
      moved = true;
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
  BareHost(*this, &worker, nullptr).ready(task);
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
  if ((task.group != nullptr || failed_.load(std::memory_order_relaxed)) &&
      is_to_be_skipped(task)) {
    worker.cancelled.add();
    finish_body(worker, task);
    return;
  }
  if (task.type_of().reduces) {
    lease_copies(task);
  }
  window.commit(task);
}

} // namespace hetsched::detail
