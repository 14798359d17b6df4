// SPDX-License-Identifier: MIT
#pragma once
// The part of the thread engine that depends on the scheduler: the hooks through which every task
// passes.

#include <hetsched/detail/engine/engine_concepts.hpp>
#include <hetsched/detail/threads/thread_attempts.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

namespace hetsched::detail {

static_assert(engine<ThreadCore>);

/// ThreadCore with a scheduler and a model. Each pair that a program names compiles this class and
/// `Policies`, nothing more.
template <class Scheduler, class PerfModel>
class ThreadCoreOf final : public ThreadCore {
public:
  /// `knobs`: the scheduler's Config, or nothing.
  template <class... Knobs>
  ThreadCoreOf(Config const& config, void* runtime, CacheKind const& cache, Knobs const&... knobs)
      : ThreadCore(config, runtime, cache), typed_policies_(*this, knobs...) {
    if constexpr (has_begin<PerfModel>) {
      typed_policies_.begin(site_of(config));
    }
    start(typed_policies_);
  }

  ~ThreadCoreOf() override { stop(); }

  void await_children(TaskRecord& task) override {
    if (this_thread.backlog != nullptr) [[unlikely]] {
      backlogs->run_own(*this, task);
    }
    do {
      wait_for_children(task);
    } while (task.domain.load(std::memory_order_acquire) != nullptr &&
             merge_children(*this_thread.worker, task) != 0);
    if (this_thread.backlog != nullptr) [[unlikely]] {
      backlogs->begin_again(*this, task);
    }
  }

  /// Hands a task that is ready when it is spawned to the scheduler.
  [[gnu::always_inline]] void push_spawned(TaskRecord& task, WorkerId from) {
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    auto const id = task.id();
    if (explainer_.watches()) [[unlikely]] {
      watch_ready(id, from, true);
    }
    try {
      if (crew_.one_class) [[likely]] {
        apply(typed_policies_.push(id, from), id);
      } else {
        push_beside_devices(task, from);
      }
    } catch (...) {
      keep_unpushed(task);
    }
  }

private:
  using TypedPolicies = Policies<ThreadCore, Scheduler, PerfModel>;
  using Context = typename TypedPolicies::Context;

  TaskId take(ThreadWorker& worker) override { return take_inline(worker); }

  [[gnu::always_inline]] TaskId take_inline(ThreadWorker& worker) {
    if constexpr (has_reconsider<Scheduler, Context>) {
      if ((attempts_.undecided.load(std::memory_order_relaxed) != 0 || worker.attempt != nullptr) &&
          ThreadAttempts::begin_elsewhere(*this, worker)) {
        return no_task;
      }
    }
    if (explainer_.watches()) [[unlikely]] {
      return take_watched(worker);
    }
    auto task = typed_policies_.pop(worker.info.id);
    if (!task) [[unlikely]] {
      task = steal(worker);
      if (!task) {
        return waiting_.unpushed.any() ? take_unpushed(worker) : no_task;
      }
    }
    worker.owed_wake = no_task;
    if (explainer_.watches()) [[unlikely]] { // somebody asked while this worker looked for work
      note_taken(worker.info.id, task, clock());
    }
    return task;
  }

  [[gnu::noinline]] TaskId steal([[maybe_unused]] ThreadWorker& worker) {
    if constexpr (has_steal<Scheduler, Context>) {
      return steal_with(worker, [&] { return typed_policies_.steal(worker.info.id); });
    } else {
      return no_task;
    }
  }

  void work_until(ThreadWorker& worker, Condition const& done) override {
    while (done.only_when_idle || !done()) {
      if (worker.aside != nullptr) [[unlikely]] {
        let_go_on(worker, done);
      }
      if (auto const task = take_inline(worker)) {
        execute(worker, task);
        if (waiting_.outside.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
          ExternalTasks::look_if_due(*this);
        }
      } else if (done()) {
        break;
      } else {
        work_when_found(worker, done);
      }
    }
    pay_owed_wake(worker);
  }

  /// The loop behind a sync of children. Nested tasks pass through it, so all of it is inlined.
  [[gnu::always_inline]] void wait_for_children(TaskRecord& task) {
    auto const all_done = [&task] { return task.children_left() == 0; };
    if (all_done()) {
      return;
    }
    if (this_thread.capture != nullptr) [[unlikely]] { // of another runtime: ignored here
      wait(&task, Condition::that(all_done));
      return;
    }
    auto& worker = *this_thread.worker;
    auto* const outer = enter_scope(worker, &task);
    while (!all_done()) {
      if (worker.aside != nullptr) [[unlikely]] {
        let_go_on(worker, Condition::in_body_that(all_done));
      }
      if (auto const found = take_inline(worker)) {
        execute_inline(worker, found);
      } else if (!all_done()) {
        work_when_found(worker, Condition::in_body_that(all_done));
      }
    }
    pay_owed_wake(worker);
    worker.scope.store(outer, std::memory_order_relaxed);
  }

  TypedPolicies typed_policies_;
};

} // namespace hetsched::detail
