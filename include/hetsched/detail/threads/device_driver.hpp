// SPDX-License-Identifier: MIT
#pragma once
// The workers of the thread engine that drive devices. Compiled in the library of devices alone.

#include <hetsched/detail/threads/device_ahead.hpp>
#include <hetsched/detail/threads/running_tasks.hpp>
#include <hetsched/detail/threads/thread_attempts.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace hetsched::detail {

/// The loop of one worker that drives a device. The device's window hands tasks back to it. Used by
/// the worker's thread only.
class DeviceDriver final : public DeviceEvents {
public:
  DeviceDriver(ThreadCore& core, ThreadWorker& worker, DeviceWindow& window)
      : core_(core), worker_(worker), window_(window), ahead_(core, worker, window) {}

  /// Runs until the engine stops (Lima et al. 2015, sec. 3.4.2 and 3.4.3). Takes a task when its
  /// kernel can run soon, and polls for transfers and kernels that have ended. The longer nothing
  /// happens, the longer it sleeps between two polls, up to a tenth of the time since the last
  /// event.
  void work();

  bool launch(TaskRecord& task, GpuStream& stream) override;
  void finished(TaskRecord& task, std::exception_ptr error, Duration kernel) override;
  void refused(TaskRecord& task, std::exception_ptr error) override;
  void undone(TaskRecord& task) override;

private:
  void launch_checked(TaskRecord& task, GpuStream& stream);
  std::exception_ptr take_watched(TaskRecord const& task);
  void begin(TaskRecord& task);
  void forget(TaskRecord& task);
  void fail(TaskRecord& task, std::exception_ptr error);
  void tell(TaskRecord& task, Duration kernel);
  bool fill_window(bool moved);

  [[nodiscard]] bool has_other_work() const noexcept {
    return core_.waiting_.stopping.load(std::memory_order_seq_cst) ||
           worker_.mail.there.load(std::memory_order_seq_cst) || worker_.launched.offers.any();
  }

  bool take_mail();
  void give_all_back();
  void sleep_lost();
  void commit(TaskId id);
  bool commit_abortable(TaskRecord& task, bool early);
  TaskId take_early();
  static bool undo_binding(TaskRecord& task);
  void undo_early(TaskRecord& task);

  ThreadAttempts attempts() noexcept { return {core_, worker_}; }

  ThreadCore& core_;
  ThreadWorker& worker_;
  DeviceWindow& window_;
  DeviceAhead ahead_;
  BodySink sink_{"a GPU body"};

  struct WatchedTask {
    TaskRecord* task;
    CheckedKernels* kernels;
  };

  Array<WatchedTask> watched_; // launched, if accesses are checked
};

// ---- what the window tells ----

inline bool DeviceDriver::launch(TaskRecord& task, GpuStream& stream) {
  if (task.type_of().kind != TaskKind::user) {
    return true;
  }
  bool const attempt = is_attempt(task);
  std::optional<Visit> visit; // its arguments may name what goes when the task ends
  if (attempt) {
    visit.emplace(*AttemptLink::of(task).all);
    if (!*visit) {
      return true; // nothing is launched, so the task ends at once
    }
    begin(*AttemptLink::of(task).all->task);
  } else {
    begin(task);
  }
  ThreadStateGuard const state({&core_, &worker_, nullptr, &sink_, &core_});
  try {
    if (core_.checked_ != nullptr) {
      launch_checked(task, stream);
    } else {
      task.type_of().launch(&stream, task);
    }
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
  if (!attempt) { // the end of an attempt is not the end of its task
    worker_.launched.successors.note(task, worker_.info.arch);
  }
  return true;
}

/// The same, with a watch on what its body and its kernels touch.
inline void DeviceDriver::launch_checked(TaskRecord& task, GpuStream& stream) {
  auto body = core_.checked(worker_, task);
  if (is_attempt(task)) {
    body.declares = AttemptLink::of(task).all->task;
  }
  watched_.reserve(watched_.size() + 1);
  auto* const kernels = access_check->launch(body);
  watched_.push_back({&task, kernels});
  kernels->places(stream.places());
  this_launch = kernels;
  auto launch = [&] { task.type_of().launch(&stream, task); };
  try {
    kernels->run({}, [](void* call) { (*static_cast<decltype(launch)*>(call))(); }, &launch);
  } catch (...) {
    this_launch = nullptr;
    throw;
  }
  this_launch = nullptr;
}

/// What the task's kernels touched that it did not declare. It has left the window.
inline std::exception_ptr DeviceDriver::take_watched(TaskRecord const& task) {
  for (auto& watched : watched_) {
    if (watched.task == &task) {
      auto* const kernels = watched.kernels;
      watched = watched_.back();
      (void)watched_.pop_back();
      auto error = kernels->error();
      kernels->release();
      return error;
    }
  }
  return nullptr;
}

inline void DeviceDriver::finished(TaskRecord& task, std::exception_ptr error, Duration kernel) {
  if (core_.checked_ != nullptr) {
    if (auto touched = take_watched(task); touched != nullptr && error == nullptr) {
      error = std::move(touched);
    }
  }
  if (is_attempt(task)) {
    if (error != nullptr) {
      fail(task, std::move(error));
    }
    bool const won = has_won(task);
    if (won) {
      ThreadAttempts::await_visitors(*AttemptLink::of(task).all);
    }
    attempts().end(task, won, kernel);
    return;
  }
  worker_.launched.successors.forget(task);
  if (error != nullptr) {
    core_.fail(worker_, task, std::move(error));
  }
  if (task.type_of().kind == TaskKind::user) {
    tell(task, kernel);
  }
  core_.finish_body(worker_, task);
}

inline void DeviceDriver::refused(TaskRecord& task, std::exception_ptr error) {
  (void)take_watched(task);
  if (is_attempt(task)) {
    if (has_won(task)) { // the device broke down before the result was published
      finished(task, std::move(error), {});
    } else {
      attempts().end(task, false, {}, std::move(error));
    }
    return;
  }
  worker_.launched.successors.forget(task);
  forget(task);
  if (undo_binding(task)) {
    return; // the thread that grants its last access hands it to the scheduler
  }
  if (task.type_of().kind != TaskKind::user || !core_.run_elsewhere(worker_, task)) {
    finished(task, std::move(error), {});
  }
}

inline void DeviceDriver::undone(TaskRecord& task) {
  (void)take_watched(task);
  worker_.launched.successors.forget(task);
  forget(task);
  undo_early(task);
}

inline void DeviceDriver::begin(TaskRecord& task) {
  if (core_.policies_->has(hook_prologue)) {
    core_.policies_->prologue(task.id(), worker_.info.id);
  }
  note_running(core_, worker_, task);
}

/// Policies do not see the task running from now on. Until now `reconsider` might look at it.
inline void DeviceDriver::forget(TaskRecord& task) {
  if (core_.policies_->has(hook_reconsider)) {
    ThreadCore::HookGuard const guard(core_);
    forget_running(core_, worker_, task);
  } else {
    forget_running(core_, worker_, task);
  }
}

/// An attempt that another has overtaken cannot fail its task.
inline void DeviceDriver::fail(TaskRecord& task, std::exception_ptr error) {
  if (!is_attempt(task)) {
    core_.fail(worker_, task, std::move(error));
  } else if (claim(task) || has_won(task)) {
    auto& real_task = *AttemptLink::of(task).all->task;
    if (!real_task.failed) {
      core_.fail(worker_, real_task, std::move(error));
    }
  }
}

/// Tells the scheduler, the model and the statistics.
inline void DeviceDriver::tell(TaskRecord& task, Duration kernel) {
  if (core_.policies_->has(hook_epilogue)) {
    core_.policies_->epilogue(task.id(), worker_.info.id, kernel);
  }
  if (core_.timing_) {
    worker_.times.add(task.type_of(), kernel);
  }
  if (core_.policies_->measures()) {
    core_.policies_->record(view_of(task), worker_.info.arch, kernel);
  }
  forget(task);
  worker_.counts.executed.add();
}

// ---- the loop ----

inline void DeviceDriver::work() {
  constexpr std::int64_t spin_ns = 20000;
  constexpr std::int64_t longest_ns = 200000;
  auto last_event = core_.clock();
  for (;;) {
    bool moved = window_.poll(*this);
    moved = take_mail() || moved;
    bool const lost = window_.lost();
    if (!lost) {
      moved = fill_window(moved);
    } else {
      ahead_.close();
      if (moved) {
        give_all_back();
      }
    }
    if (moved) {
      last_event = core_.clock();
    } else if (window_.empty()) {
      if (core_.waiting_.stopping.load(std::memory_order_seq_cst)) {
        break;
      }
      if (lost) {
        sleep_lost();
      }
    } else if (auto const quiet = core_.clock().ns - last_event.ns; quiet > spin_ns) {
      pause_for(std::min(quiet / 10, longest_ns));
    } else {
      yield_core();
    }
  }
}

/// Takes tasks while the device takes some, and claims those that come next. `moved`: whether
/// anything happened before. Returns whether anything has happened.
inline bool DeviceDriver::fill_window(bool moved) {
  auto const has_other_work = [this] { return this->has_other_work(); };
  moved = ahead_.take_offers() || moved;
  bool looked = moved;
  for (;;) {
    TaskId task;
    if (window_.empty() && moved) {
      task = core_.take(worker_); // before others have what it claims
    } else if (window_.empty()) {
      ahead_.drop_all();
      ahead_.settle();
      task = core_.find_task(worker_, Condition::that(has_other_work));
    } else {
      if (moved) {
        ahead_.look();
      } else {
        looked = ahead_.look_again() || looked;
      }
      task = ahead_.takes_now() ? core_.take(worker_) : no_task;
    }
    if (worker_.attempt != nullptr) {
      attempts().commit(window_, *std::exchange(worker_.attempt, nullptr));
    } else if (task || (task = take_early())) {
      commit(task);
    } else {
      if (looked) {
        ahead_.settle();
      }
      return moved;
    }
    moved = looked = true;
  }
}

/// Puts the hints for the device into its window. Returns whether there were any.
inline bool DeviceDriver::take_mail() {
  auto& mail = worker_.mail;
  if (!mail.there.load(std::memory_order_acquire)) {
    return false;
  }
  TaskRecord* hints = nullptr;
  {
    std::lock_guard const guard(mail.lock);
    mail.there.store(false, std::memory_order_relaxed);
    hints = std::exchange(mail.first, nullptr);
  }
  while (hints != nullptr) {
    auto& hint = *std::exchange(hints, hints->next);
    if (hint.type_of().kind == TaskKind::prefetch) {
      core_.devices_->prefetch(hint, worker_.info.node);
      core_.finish_body(worker_, hint);
    } else {
      commit(hint.id());
    }
  }
  return true;
}

/// Puts the task into the device's window.
inline void DeviceDriver::commit(TaskId id) {
  auto& task = *TaskRecord::from(id);
  check_is_ready(core_, worker_, task, id);
  task.state.store(TaskState::running, std::memory_order_relaxed);
  task.worker.store(worker_.info.id.value, std::memory_order_relaxed);
  ahead_.release(task);
  bool const early = task.binding.load(std::memory_order_acquire) == Binding::bound;
  if (early && !worker_.launched.successors.all_before(task)) {
    undo_early(task);
    return;
  }
  if ((task.group != nullptr || core_.waiting_.failed.load(std::memory_order_relaxed)) &&
      core_.is_to_be_skipped(task)) {
    if (early) {
      undo_early(task); // it is skipped when its predecessors have ended
      return;
    }
    worker_.counts.cancelled.add(task.type_of().kind == TaskKind::user ? 1 : 0); // or a hint
    core_.record_not_run(worker_, task);
    core_.finish_body(worker_, task);
    return;
  }
  if (task.type_of().attempt_at != 0 && commit_abortable(task, early)) {
    return;
  }
  try {
    if (task.type_of().reduces) {
      lease_copies(task);
    }
    window_.commit(task);
  } catch (...) { // no memory
    refused(task, std::current_exception());
  }
}

/// For an abortable task: an attempt enters the window (true), or, behind other tasks, the task
/// itself.
inline bool DeviceDriver::commit_abortable(TaskRecord& task, bool early) {
  if (early) {
    AttemptLink::of(task).in_place.store(true, std::memory_order_relaxed);
    return false;
  }
  auto* const attempt = attempts().begin(task);
  core_.finish_body(worker_, task);
  if (attempt != nullptr) {
    attempts().commit(window_, *attempt);
  }
  return true;
}

// ---- early activation (early.hpp) ----

/// Activates a task that may be launched behind others. Then takes a task from the scheduler.
inline TaskId DeviceDriver::take_early() {
  auto const& successors = worker_.launched.successors;
  auto* const task = ahead_.has_room_behind() ? successors.next() : nullptr;
  if (task == nullptr || ahead_.others_end_sooner(*task)) {
    return no_task;
  }
  task->worker.store(worker_.info.id.value, std::memory_order_relaxed);
  task->binding.store(Binding::bound, std::memory_order_seq_cst);
  worker_.counts.early.add();
  ThreadCore::Host(core_, &worker_, nullptr, ThreadCore::Host::Origin::activated).activate(*task);
  return core_.take(worker_);
}

/// If the task is still bound, unbinds it: it then waits for its predecessors like any other task.
/// Returns whether it was bound; the task may then be gone.
inline bool DeviceDriver::undo_binding(TaskRecord& task) {
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

/// The same. A task that holds its data by now goes back to the scheduler.
inline void DeviceDriver::undo_early(TaskRecord& task) {
  if (!undo_binding(task)) {
    core_.give_back(worker_, task);
  }
}

} // namespace hetsched::detail

#include <hetsched/detail/threads/lost_device.hpp>
