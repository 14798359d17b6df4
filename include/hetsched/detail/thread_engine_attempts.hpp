// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: attempts at abortable tasks (design: spoliation).
//
// A worker that is given an abortable task begins an attempt: a copy of the task's record, which
// counts as a child of the task, so that the task completes with its last attempt. While none has a
// result, the scheduler's `reconsider` may have another worker begin one, too. The first that ends
// has the result: its writes become the data's value, the accesses by which the task writes end,
// and so what waits for these goes on. An attempt on the host that lost still reads the task's data
// in host memory: the task, and with it the accesses by which it reads, ends when that has
// returned. One on a device has places of its own there, and nobody waits for it.

#include <hetsched/detail/attempts.hpp>
#include <hetsched/detail/thread_engine.hpp>
#include <hetsched/detail/thread_engine_run.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace hetsched::detail {

/// Takes the element out, if it is there.
template <class T>
void erase(Array<T>& all, T element) noexcept {
  auto const k = static_cast<std::size_t>(std::find(all.begin(), all.end(), element) - all.begin());
  if (k != all.size()) {
    all.erase(k, k + 1);
  }
}

/// An attempt at a task that this worker was given: the first, or, after none had a result, again
/// the first. Null if there is none as it could not be made: the task has failed.
template <class S, class C, class P>
[[gnu::noinline]] TaskRecord* ThreadCore<S, C, P>::begin_attempts(ThreadWorker& worker,
                                                                  TaskRecord& task) {
  try {
    AttemptLink::of(task).in_place.store(false, std::memory_order_relaxed);
    Owned<Attempts> all(new Attempts);
    all->task = &task;
    all->users = 1;
    auto& attempt = new_attempt(worker, *all);
    try {
      std::lock_guard const guard(attempts_lock_);
      all->under_way.push_back(&attempt);
      attempts_.push_back(all.get());
    } catch (...) {
      drop_attempt(worker, attempt);
      throw;
    }
    (void)all.release();
    task.children.fetch_add(1, std::memory_order_relaxed);
    if constexpr (has_reconsider<S, Context>) {
      if (undecided_.fetch_add(1, std::memory_order_seq_cst) == 0) {
        wake_all(WakeReason::task); // to reconsider now and then
      }
    }
    return &attempt;
  } catch (...) {
    fail(worker, task, std::current_exception());
    return nullptr;
  }
}

/// What the scheduler wants this worker to begin although another one is at it; null if nothing.
template <class S, class C, class P>
[[gnu::noinline]] TaskRecord* ThreadCore<S, C, P>::spoliate([[maybe_unused]] ThreadWorker& worker) {
  if constexpr (has_reconsider<S, Context>) {
    Attempts* all = nullptr;
    locked([&] { // until it is reserved, the task is what the scheduler saw
      Context const ctx(*this);
      if (auto const task = scheduler_.reconsider(ctx, worker.info.id)) {
        all = reserve_attempt(worker, task);
      }
    });
    if (all == nullptr) {
      return nullptr;
    }
    TaskRecord* attempt = nullptr;
    try {
      Visit const visit(*all);
      if (visit) {
        attempt = &new_attempt(worker, *all);
        std::lock_guard const guard(attempts_lock_);
        all->under_way.push_back(attempt);
        for (auto* other : all->under_way) {
          AttemptLink::of(*other).stop.store(other != attempt, std::memory_order_relaxed);
        }
      }
    } catch (...) { // no memory: the other attempts go on
      if (attempt != nullptr) {
        drop_attempt(worker, *std::exchange(attempt, nullptr));
      }
    }
    if (attempt == nullptr) {
      leave_attempts(worker, *all, nullptr, nullptr);
    }
    return attempt;
  } else {
    return nullptr;
  }
}

/// Keeps a task that attempts without a result are under way at, none of them of this worker, from
/// completing, and counts another one. Null if there is no such task, or if it was begun anew as
/// often as there are workers: bodies that make room for the next attempt, each time, would go on
/// for ever with a scheduler that never leaves them alone.
template <class S, class C, class P>
Attempts* ThreadCore<S, C, P>::reserve_attempt(ThreadWorker& worker, TaskId id) {
  std::lock_guard const guard(attempts_lock_);
  for (auto* all : attempts_) {
    // Without a winner so far, the task stays: who wins takes this lock before it lets go.
    if (all->task->id() != id || all->winner.load(std::memory_order_seq_cst) != nullptr) {
      continue;
    }
    bool const here =
        std::any_of(all->under_way.begin(), all->under_way.end(), [&](TaskRecord const* attempt) {
          return attempt->worker.load(std::memory_order_relaxed) == worker.info.id.value;
        });
    if (here || all->begun > infos_.size()) {
      return nullptr;
    }
    ++all->begun;
    ++all->users;
    all->task->children.fetch_add(1, std::memory_order_relaxed);
    return all;
  }
  return nullptr;
}

/// A copy of a task's record with copies of its values, for this worker to execute.
template <class S, class C, class P>
TaskRecord& ThreadCore<S, C, P>::new_attempt(ThreadWorker& worker, Attempts& all) {
  auto& task = *all.task;
  auto const& type = task.type_of();
  auto& attempt = *worker.pool.allocate(type.size_class);
  try {
    attempt.start(type,
                  ArchMask{task.archs.load(std::memory_order_relaxed)},
                  task.parent.load(std::memory_order_relaxed),
                  no_attributes);
    type.copy_values(attempt.values(), task.values());
  } catch (...) {
    BareHost(*this, &worker, nullptr).recycle(attempt);
    throw;
  }
  attempt.binding.store(Binding::none, std::memory_order_relaxed);
  attempt.state.store(TaskState::running, std::memory_order_relaxed);
  attempt.worker.store(worker.info.id.value, std::memory_order_relaxed);
  attempt.priority = task.priority;
  attempt.graph_node = task.graph_node;
  attempt.reuse = task.reuse;
  attempt.access_count = task.access_count;
  for (std::uint32_t k = 0; k < task.access_count; ++k) {
    auto const& its = task.accesses()[k];
    new (attempt.accesses() + k) Access{its.queue, nullptr, nullptr, its.mode, its.duplicate, k};
  }
  auto& link = AttemptLink::of(attempt);
  link.all = &all;
  link.begin_ns = clock().ns;
  link.of_task = task.id();
  return attempt;
}

/// Gives up what an attempt owns, which it is not to use any more.
inline void empty_attempt(TaskRecord& attempt) noexcept {
  drop_steads(attempt);
  if (auto* const destroy = attempt.type_of().destroy_values) {
    destroy(attempt.values());
  }
}

/// Undoes new_attempt.
template <class S, class C, class P>
void ThreadCore<S, C, P>::drop_attempt(ThreadWorker& worker, TaskRecord& attempt) {
  empty_attempt(attempt);
  BareHost(*this, &worker, nullptr).recycle(attempt);
}

/// An attempt on a host core, from its beginning to its end.
template <class S, class C, class P>
[[gnu::noinline]] void ThreadCore<S, C, P>::run_attempt(ThreadWorker& worker, TaskRecord& attempt) {
  auto& link = AttemptLink::of(attempt);
  auto& all = *link.all;
  BodySink sink("the body of an abortable task");
  auto* const outer = worker.running.load(std::memory_order_relaxed);
  std::exception_ptr error;
  bool begun = false;
  try {
    Visit const visit(all);
    if (visit) {
      if (devices_) {
        devices_->bring_to_host(attempt);
      }
      worker.kept_bytes.add(make_steads(attempt, *all.task, true));
      note_running(worker, *all.task);
      if constexpr (has_prologue<S, Context>) {
        Context const ctx(*this);
        locked([&] { scheduler_.prologue(ctx, all.task->id(), worker.info.id); });
      }
      begun = true;
    }
  } catch (...) {
    error = std::current_exception();
    begun = true;
  }
  auto const begin = clock();
  if (begun && error == nullptr) {
    ThreadStateGuard const state({this, &worker, nullptr, &sink, this});
    auto* const outer_attempt = std::exchange(this_attempt, &link);
    try {
      attempt.type_of().run(runtime_, attempt);
    } catch (...) {
      error = std::current_exception();
    }
    this_attempt = outer_attempt;
  }
  auto const time = clock() - begin;
  bool const won = begun && !link.stopped.load(std::memory_order_relaxed) && claim(attempt);
  if (won) {
    await_visitors(all);
    if (error == nullptr) {
      publish_on_host(attempt, *all.task);
    } else {
      fail(worker, *all.task, error);
    }
  }
  end_attempt(worker, attempt, won, time);
  worker.busy_since_ns.store(0, std::memory_order_relaxed);
  worker.running.store(outer, std::memory_order_release);
}

/// The attempt enters the window of this worker's device.
template <class S, class C, class P>
void ThreadCore<S, C, P>::commit_attempt(ThreadWorker& worker,
                                         DeviceWindow& window,
                                         TaskRecord& attempt) {
  auto& link = AttemptLink::of(attempt);
  {
    Visit const visit(*link.all);
    if (visit) {
      link.steads = new DataRecord[attempt.access_count];
      window.commit(attempt);
      (void)make_steads(attempt, *link.all->task, false);
      return;
    }
  }
  end_attempt(worker, attempt, false, {});
}

/// Makes what an attempt wrote the value of the task's data.
template <class S, class C, class P>
void ThreadCore<S, C, P>::publish_on_host(TaskRecord& attempt, TaskRecord& task) {
  if (devices_) {
    devices_->take_on_host(task);
  }
  publish_steads(attempt, task);
}

/// Until nobody looks at the task on behalf of an attempt that comes too late.
template <class S, class C, class P>
void ThreadCore<S, C, P>::await_visitors(Attempts const& all) {
  while (all.visitors.load(std::memory_order_seq_cst) != 0) {
    sched_yield();
  }
}

/// An attempt has ended: its result is the task's (`won`, and nobody visits the task any more), or
/// is dropped. `refusal`: why its device would not take it.
template <class S, class C, class P>
void ThreadCore<S, C, P>::end_attempt(ThreadWorker& worker,
                                      TaskRecord& attempt,
                                      bool won,
                                      Duration time,
                                      std::exception_ptr refusal) {
  auto& link = AttemptLink::of(attempt);
  auto& all = *link.all;
  if (won) {
    auto& task = *all.task;
    if (timing_) {
      worker.times.add(task.type_of(), time);
    }
    if constexpr (P::measures) {
      if (!task.failed) {
        model_.record(view_of(task), worker.info.arch, time);
      }
    }
    worker.executed.add();
    record_attempt(worker, attempt, true);
    locked([&] {
      if constexpr (has_epilogue<S, Context>) {
        Context const ctx(*this);
        scheduler_.epilogue(ctx, task.id(), worker.info.id, time);
      }
      overtake_others(worker, attempt);
    });
    if (task.children.load(std::memory_order_acquire) != 1) {
      Host host(*this, &worker, nullptr, Host::Origin::activated);
      host.note_end(task);
      release_written(host, task);
    }
  } else {
    locked([&] { // no policy looks at the task on account of this worker once it lets go of it
      std::lock_guard const guard(attempts_lock_);
      if (link.holds) {
        forget_running(worker, *all.task);
      }
    });
    worker.aborted.add();
    record_attempt(worker, attempt, false);
    worker.wasted_ns.add(
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, clock().ns - link.begin_ns)));
  }
  empty_attempt(attempt); // before anybody can see the task complete
  leave_attempts(worker, all, &attempt, std::move(refusal));
  BareHost(*this, &worker, nullptr).recycle(attempt);
}

/// Of a core: a device's window records its own.
template <class S, class C, class P>
void ThreadCore<S, C, P>::record_attempt(ThreadWorker const& worker,
                                         TaskRecord& attempt,
                                         bool won) {
  if (!recorder_ || worker.drives_device()) [[likely]] {
    return;
  }
  auto const id = worker.info.id;
  auto const& link = AttemptLink::of(attempt);
  Instant const begin{link.begin_ns};
  if (won) {
    bool const failed = link.all->task->failed;
    recorder_->ran(id,
                   id,
                   link.of_task,
                   {},
                   begin,
                   clock(),
                   failed ? Trace::Outcome::failed : Trace::Outcome::done);
  } else {
    recorder_->aborted(id, id, link.of_task, begin, clock());
  }
}

/// The attempt has the result: no policy sees the others any more, those on the host are asked to
/// stop, and those on devices let go of the task.
template <class S, class C, class P>
void ThreadCore<S, C, P>::overtake_others(ThreadWorker& worker, TaskRecord& attempt) {
  auto& all = *AttemptLink::of(attempt).all;
  auto& task = *all.task;
  std::lock_guard const guard(attempts_lock_);
  if constexpr (has_reconsider<S, Context>) {
    undecided_.fetch_sub(1, std::memory_order_relaxed);
  }
  forget_running(worker, task);
  std::int32_t dropped = 0;
  for (auto* other : all.under_way) {
    auto& its = workers_[WorkerId{other->worker.load(std::memory_order_relaxed)}.index()];
    auto& its_link = AttemptLink::of(*other);
    if (other == &attempt) {
      continue;
    }
    its_link.stop.store(true, std::memory_order_relaxed);
    forget_running(its, task);
    if (its.drives_device() && std::exchange(its_link.holds, false)) {
      ++dropped;
    }
  }
  task.children.fetch_sub(dropped, std::memory_order_acq_rel); // this attempt still counts
}

/// An attempt, or null one that was only reserved, is no more. Begins the task anew if it was the
/// last and none had a result; completes it if nothing else is left to wait for.
template <class S, class C, class P>
void ThreadCore<S, C, P>::leave_attempts(ThreadWorker& worker,
                                         Attempts& all,
                                         TaskRecord* attempt,
                                         std::exception_ptr refusal) {
  bool held = true;
  Owned<Attempts> last;
  auto* const task = all.task;
  {
    std::lock_guard const guard(attempts_lock_);
    if (attempt != nullptr) {
      held = AttemptLink::of(*attempt).holds; // now that nobody changes it
      erase(all.under_way, attempt);
    }
    if (--all.users == 0) {
      last = Owned<Attempts>(&all);
      erase(attempts_, &all);
    }
  }
  if (last && last->winner.load(std::memory_order_seq_cst) == nullptr) {
    if constexpr (has_reconsider<S, Context>) {
      undecided_.fetch_sub(1, std::memory_order_relaxed);
    }
    task->children.fetch_add(TaskRecord::body_bias, std::memory_order_relaxed); // it begins anew
    if (refusal == nullptr) {
      BareHost(*this, &worker, nullptr).ready(*task, true);
    } else if (!run_elsewhere(worker, *task)) {
      fail(worker, *task, std::move(refusal));
      task->children.fetch_sub(TaskRecord::body_bias, std::memory_order_relaxed);
    }
  }
  if (held) {
    if (auto* const over = tell_parent(worker, *task)) {
      complete_all(worker, over);
    }
  }
}

// ---- what policies see running ----

/// A worker has begun the task, or, of a device's, launched it; the oldest of those counts.
template <class S, class C, class P>
void ThreadCore<S, C, P>::note_running(ThreadWorker& worker, TaskRecord& task) {
  std::lock_guard const guard(worker.launched_lock);
  if (worker.drives_device()) {
    worker.launched.push_back(&task);
    if (worker.launched.size() == 1) {
      show_running(worker, &task);
    }
  } else {
    show_running(worker, &task);
  }
}

/// It is over there, or may be gone soon.
template <class S, class C, class P>
void ThreadCore<S, C, P>::forget_running(ThreadWorker& worker, TaskRecord& task) {
  std::lock_guard const guard(worker.launched_lock);
  erase(worker.launched, &task);
  if (worker.running.load(std::memory_order_relaxed) == &task) {
    show_running(worker, worker.launched.empty() ? nullptr : worker.launched[0]);
  }
}

template <class S, class C, class P>
void ThreadCore<S, C, P>::show_running(ThreadWorker& worker, TaskRecord* task) {
  auto const now = clock();
  auto until = now;
  bool const abortable = task != nullptr && task->type_of().attempt_at != 0;
  if (task != nullptr) {
    if (auto const expected = model_.predict(view_of(*task), worker.info.arch)) {
      until = now + expected->mean;
    }
  }
  worker.busy_since_ns.store(abortable ? now.ns : 0, std::memory_order_relaxed);
  worker.busy_until_ns.store(until.ns, std::memory_order_relaxed);
  worker.running.store(task, std::memory_order_release);
}

} // namespace hetsched::detail
