// SPDX-License-Identifier: MIT
#pragma once
// Attempts at abortable tasks on threads (design: spoliation).
//
// A worker that is given an abortable task begins an attempt: a copy of the task's record, which
// counts as a child of the task, so that the task completes with its last attempt. While none has a
// result, the scheduler's `reconsider` may have another worker begin one, too. The first that ends
// has the result: its writes become the data's value, the accesses by which the task writes end,
// and so what waits for these goes on. An attempt on the host that lost still reads the task's data
// in host memory: the task, and with it the accesses by which it reads, ends when that has
// returned. One on a device has places of its own there, and nobody waits for it.

#include <hetsched/detail/threads/attempt_records.hpp>
#include <hetsched/detail/threads/running_tasks.hpp>
#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/detail/threads/thread_host.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

namespace hetsched::detail {

/// A worker as it begins, runs and ends attempts. For the length of a call, by the worker's thread.
class ThreadAttempts {
public:
  ThreadAttempts(ThreadCore& core, ThreadWorker& worker) noexcept : core_(core), worker_(worker) {}

  /// An attempt at a task that this worker was given: the first, or, after none had a result, again
  /// the first. Null if there is none as it could not be made: the task has failed.
  TaskRecord* begin(TaskRecord& task);

  /// Asks the scheduler what this worker is to begin although another one is at it. Whether the
  /// worker has an attempt to begin.
  static bool begin_elsewhere(ThreadCore& core, ThreadWorker& worker);

  /// An attempt on a host core, from its beginning to its end.
  void run(TaskRecord& attempt);

  /// The attempt enters the window of this worker's device.
  void commit(DeviceWindow& window, TaskRecord& attempt);

  /// Until nobody looks at the task on behalf of an attempt that comes too late.
  static void await_visitors(Attempts const& all);

  /// An attempt has ended: its result is the task's (`won`, and nobody visits the task any more),
  /// or is dropped. `refusal`: why its device would not take it.
  void end(TaskRecord& attempt, bool won, Duration time, std::exception_ptr refusal = nullptr);

private:
  TaskRecord* begin_elsewhere();
  Attempts* reserve(TaskId id);
  void call(TaskRecord& attempt, std::exception_ptr& error);
  void publish_on_host(TaskRecord& attempt, TaskRecord& task);
  void note_result(TaskRecord& attempt, Duration time);
  void note_loss(TaskRecord& attempt);
  void record(TaskRecord& attempt, bool won);
  void overtake_others(TaskRecord& attempt);
  void leave(Attempts& all, TaskRecord* attempt, std::exception_ptr refusal);
  void begin_anew(TaskRecord& task, std::exception_ptr refusal);

  [[nodiscard]] bool reconsiders() const noexcept { return core_.policies_->has(hook_reconsider); }

  ThreadCore& core_;
  ThreadWorker& worker_;
};

inline TaskRecord* ThreadAttempts::begin(TaskRecord& task) {
  if (core_.devices_) {
    core_.devices_->taken(task);
  }
  try {
    AttemptLink::of(task).in_place.store(false, std::memory_order_relaxed);
    Owned<Attempts> all(new Attempts);
    all->task = &task;
    auto& attempt = make_attempt(core_, worker_, *all);
    try {
      std::lock_guard const guard(core_.attempts_.lock);
      core_.attempts_.all.reserve(core_.attempts_.all.size() + 1);
      enter_first_attempt(*all, attempt);
      core_.attempts_.all.push_back(all.get());
    } catch (...) {
      drop_attempt(core_, worker_, attempt);
      throw;
    }
    (void)all.release();
    if (reconsiders() && core_.attempts_.undecided.fetch_add(1, std::memory_order_seq_cst) == 0) {
      core_.wake_all(WakeReason::task); // to reconsider now and then
    }
    return &attempt;
  } catch (...) {
    core_.fail(worker_, task, std::current_exception());
    return nullptr;
  }
}

inline bool ThreadAttempts::begin_elsewhere(ThreadCore& core, ThreadWorker& worker) {
  if (worker.attempt == nullptr && core.policies_->has(hook_reconsider)) {
    worker.attempt = ThreadAttempts(core, worker).begin_elsewhere();
  }
  return worker.attempt != nullptr;
}

inline TaskRecord* ThreadAttempts::begin_elsewhere() {
  Attempts* all = nullptr;
  auto const reserve_it = [&](TaskId task) { // until it is reserved, it is what the scheduler saw
    if (task) {
      all = reserve(task);
    }
  };
  (void)core_.policies_->reconsider(worker_.info.id, reserve_it);
  if (all == nullptr) {
    return nullptr;
  }
  TaskRecord* attempt = nullptr;
  try {
    Visit const visit(*all);
    if (visit) {
      attempt = &make_attempt(core_, worker_, *all);
      std::lock_guard const guard(core_.attempts_.lock);
      enter_attempt(*all, *attempt);
    }
  } catch (...) { // no memory: the other attempts go on
    if (attempt != nullptr) {
      drop_attempt(core_, worker_, *std::exchange(attempt, nullptr));
    }
  }
  if (attempt == nullptr) {
    leave(*all, nullptr, nullptr);
  }
  return attempt;
}

/// Keeps a task that attempts without a result are under way at, none of them of this worker, from
/// completing, and counts another one. Null if there is no such task, or if it was begun anew as
/// often as there are workers: bodies that make room for the next attempt, each time, would go on
/// for ever with a scheduler that never leaves them alone.
inline Attempts* ThreadAttempts::reserve(TaskId id) {
  std::lock_guard const guard(core_.attempts_.lock);
  for (auto* all : core_.attempts_.all) {
    if (all->task->id() == id &&
        reserve_attempt(*all, worker_.info.id.value, core_.crew_.infos.size())) {
      return all;
    }
  }
  return nullptr;
}

inline void ThreadAttempts::run(TaskRecord& attempt) {
  WatchPause const unwatched; // of a body that waits
  auto& link = AttemptLink::of(attempt);
  auto& all = *link.all;
  auto* const outer = worker_.running.load(std::memory_order_relaxed);
  std::exception_ptr error;
  bool begun = false;
  try {
    Visit const visit(all);
    if (visit) {
      if (core_.devices_) {
        core_.devices_->bring_to_host(attempt);
      }
      worker_.counts.kept_bytes.add(make_stand_ins(attempt, *all.task, true));
      note_running(core_, worker_, *all.task);
      if (core_.policies_->has(hook_prologue)) {
        core_.policies_->prologue(all.task->id(), worker_.info.id);
      }
      begun = true;
    }
  } catch (...) {
    error = std::current_exception();
    begun = true;
  }
  auto const begin = core_.clock();
  if (begun && error == nullptr) {
    call(attempt, error);
  }
  auto const time = core_.clock() - begin;
  bool const won = begun && !link.stopped.load(std::memory_order_relaxed) && claim(attempt);
  if (won) {
    await_visitors(all);
    if (error == nullptr) {
      publish_on_host(attempt, *all.task);
    } else {
      core_.fail(worker_, *all.task, error);
    }
  }
  end(attempt, won, time);
  worker_.busy_since_ns.store(0, std::memory_order_relaxed);
  worker_.running.store(outer, std::memory_order_release);
}

/// Calls the body of an attempt, which may not spawn.
inline void ThreadAttempts::call(TaskRecord& attempt, std::exception_ptr& error) {
  BodySink sink("the body of an abortable task");
  ThreadStateGuard const state({&core_, &worker_, nullptr, &sink, &core_});
  auto* const outer_attempt = std::exchange(this_attempt, &AttemptLink::of(attempt));
  try {
    if (core_.checked_ != nullptr) [[unlikely]] {
      auto body = core_.checked(worker_, attempt);
      body.declares = AttemptLink::of(attempt).all->task;
      access_check->run(body);
    } else {
      attempt.type_of().run(core_.runtime_, attempt);
    }
  } catch (...) {
    error = std::current_exception();
  }
  this_attempt = outer_attempt;
}

inline void ThreadAttempts::commit(DeviceWindow& window, TaskRecord& attempt) {
  auto& link = AttemptLink::of(attempt);
  std::exception_ptr refusal; // null: it is overtaken
  {
    Visit const visit(*link.all);
    if (visit) {
      try {
        new_stand_ins(attempt, *link.all->task);
        window.commit(attempt);
        (void)make_stand_ins(attempt, *link.all->task, false);
        return;
      } catch (...) { // no memory
        refusal = std::current_exception();
      }
    }
  }
  end(attempt, false, {}, std::move(refusal));
}

/// Makes what an attempt wrote the value of the task's data.
inline void ThreadAttempts::publish_on_host(TaskRecord& attempt, TaskRecord& task) {
  if (core_.devices_) {
    core_.devices_->take_on_host(task);
  }
  touch_data([&] { publish_stand_ins(attempt, task); });
}

inline void ThreadAttempts::await_visitors(Attempts const& all) {
  while (all.visitors.load(std::memory_order_seq_cst) != 0) {
    yield_core();
  }
}

inline void
ThreadAttempts::end(TaskRecord& attempt, bool won, Duration time, std::exception_ptr refusal) {
  auto& all = *AttemptLink::of(attempt).all;
  if (won) {
    note_result(attempt, time);
  } else {
    note_loss(attempt);
  }
  empty_attempt(attempt); // before anybody can see the task complete
  leave(all, &attempt, std::move(refusal));
  recycle_attempt(core_, worker_, attempt);
}

/// The attempt has the result.
inline void ThreadAttempts::note_result(TaskRecord& attempt, Duration time) {
  auto& task = *AttemptLink::of(attempt).all->task;
  if (core_.timing_) {
    worker_.times.add(task.type_of(), time);
  }
  if (core_.policies_->measures() && !task.failed) {
    core_.policies_->record(view_of(task), worker_.info.arch, time);
  }
  worker_.counts.executed.add();
  record(attempt, true);
  auto const overtake = [&](TaskId) { overtake_others(attempt); };
  core_.policies_->epilogue(task.id(), worker_.info.id, time, overtake);
  if (task.children.load(std::memory_order_acquire) != 1) {
    ThreadCore::Host host(core_, &worker_, nullptr, ThreadCore::Host::Origin::activated);
    host.note_end(task);
    release_written(host, task);
  }
}

/// The attempt has no result, or one that comes too late.
inline void ThreadAttempts::note_loss(TaskRecord& attempt) {
  auto& link = AttemptLink::of(attempt);
  { // no policy looks at the task on account of this worker once it lets go of it
    ThreadCore::HookGuard const hooks(core_);
    std::lock_guard const guard(core_.attempts_.lock);
    if (link.holds) {
      forget_running(core_, worker_, *link.all->task);
    }
  }
  worker_.counts.aborted.add();
  record(attempt, false);
  worker_.counts.wasted_ns.add(
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, core_.clock().ns - link.begin_ns)));
}

/// Of a core: a device's window records its own.
inline void ThreadAttempts::record(TaskRecord& attempt, bool won) {
  if (!core_.recorder_ || worker_.drives_device()) [[likely]] {
    return;
  }
  auto const id = worker_.info.id;
  auto const& link = AttemptLink::of(attempt);
  Instant const begin{link.begin_ns};
  if (won) {
    bool const failed = link.all->task->failed;
    core_.recorder_->ran(id,
                         id,
                         link.of_task,
                         {},
                         begin,
                         core_.clock(),
                         failed ? TaskOutcome::failed : TaskOutcome::done);
  } else {
    core_.recorder_->aborted(id, id, link.of_task, begin, core_.clock());
  }
}

/// The attempt has the result: no policy sees the others any more, those on the host are asked to
/// stop, and those on devices let go of the task.
inline void ThreadAttempts::overtake_others(TaskRecord& attempt) {
  auto& all = *AttemptLink::of(attempt).all;
  auto& task = *all.task;
  std::lock_guard const guard(core_.attempts_.lock);
  if (reconsiders()) {
    core_.attempts_.undecided.fetch_sub(1, std::memory_order_relaxed);
  }
  forget_running(core_, worker_, task);
  overtake_attempts(all, attempt, [&](TaskRecord const& other) {
    auto& runs_it =
        core_.crew_.workers[WorkerId{other.worker.load(std::memory_order_relaxed)}.index()];
    forget_running(core_, runs_it, task);
    return runs_it.drives_device(); // it has places of its own there
  });
}

/// An attempt, or null one that was only reserved, is no more. Begins the task anew if it was the
/// last and none had a result; completes it if nothing else is left to wait for.
inline void ThreadAttempts::leave(Attempts& all, TaskRecord* attempt, std::exception_ptr refusal) {
  auto* const task = all.task;
  Departure departure{};
  {
    std::lock_guard const guard(core_.attempts_.lock);
    departure = leave_attempt(all, attempt);
    if (departure.last) {
      core_.attempts_.all.remove(&all);
    }
  }
  if (departure.last) {
    delete &all;
  }
  if (departure.again) {
    begin_anew(*task, std::move(refusal));
  }
  if (departure.held) {
    if (auto* const over = core_.tell_parent(worker_, *task)) {
      core_.complete_all(worker_, over);
    }
  }
}

/// No attempt at the task had a result.
inline void ThreadAttempts::begin_anew(TaskRecord& task, std::exception_ptr refusal) {
  if (reconsiders()) {
    core_.attempts_.undecided.fetch_sub(1, std::memory_order_relaxed);
  }
  task.children.fetch_add(TaskRecord::body_bias, std::memory_order_relaxed);
  if (refusal == nullptr) {
    ThreadCore::BareHost(core_, &worker_, nullptr).ready(task, true);
  } else if (!core_.run_elsewhere(worker_, task)) {
    core_.fail(worker_, task, std::move(refusal));
    task.children.fetch_sub(TaskRecord::body_bias, std::memory_order_relaxed);
  }
}

/// For the tables of abortable tasks.
inline constexpr AttemptFunctions thread_attempts{
    [](ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
      return ThreadAttempts(core, worker).begin(task);
    },
    [](ThreadCore& core, ThreadWorker& worker, TaskRecord& attempt) {
      ThreadAttempts(core, worker).run(attempt);
    }};

} // namespace hetsched::detail
