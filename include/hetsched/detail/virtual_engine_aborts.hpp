// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: tasks that stop half way, because the scheduler says so.

#include <hetsched/detail/virtual_engine.hpp>

#include <algorithm>
#include <span>
#include <string>

namespace hetsched::detail {

/// The scheduler gets these tasks now.
template <class S, class C, class P>
void VirtualCore<S, C, P>::note_pushed(std::span<TaskId const> tasks) {
  if (explainer_.watches()) [[unlikely]] {
    watch_pushed(tasks);
  }
  waiting_ += tasks.size();
  if constexpr (preempts) {
    pushed_.insert(pushed_.end(), tasks.begin(), tasks.end());
  }
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::watch_pushed(std::span<TaskId const> tasks) {
  for (auto const task : tasks) {
    if (recorder_) {
      recorder_->ready(no_worker, task, now_);
    }
    if (explainer_.on()) {
      explainer_.ready(Context(*this), task);
    }
  }
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::watch_taken(TaskId task, WorkerId worker, bool stolen) {
  if (recorder_) {
    recorder_->taken(no_worker, worker, task, {now_, now_, stolen});
  }
  if (explainer_.on()) {
    explainer_.taken(task, worker, now_);
  }
}

/// What an idle worker is to begin, if anything.
template <class S, class C, class P>
TaskId VirtualCore<S, C, P>::spoliate_or_take(WorkerId worker) {
  if constexpr (spoliates) {
    auto const task =
        decide([&](Context const& ctx) { return scheduler_.reconsider(ctx, worker); });
    if (task) {
      if (TaskRecord::from(task)->worker.load(std::memory_order_relaxed) == worker.value) {
        give_up("would abort a task of worker " + std::to_string(worker.value) +
                ", to run it there again");
      }
      (void)abort(task, "reconsider");
      if (explainer_.watches()) [[unlikely]] {
        watch_taken(task, worker, false);
      }
      return task;
    }
  }
  return waiting_ != 0 ? take(worker) : no_task;
}

/// Asks about the tasks that were pushed and for which nobody is idle, up to the first answer:
/// whether there was one.
template <class S, class C, class P>
bool VirtualCore<S, C, P>::preempt() {
  if constexpr (preempts) {
    while (!pushed_.empty()) {
      auto const id = pushed_.front();
      pushed_.pop_front();
      auto const& task = *TaskRecord::from(id);
      bool somebody_idle = false;
      for (std::size_t rank = 0; !somebody_idle;) {
        auto const worker = idle_.next(rank);
        if (!worker) {
          break;
        }
        somebody_idle = can_run(task, worker);
      }
      if (somebody_idle || task.id() != id ||
          task.state.load(std::memory_order_relaxed) != TaskState::ready ||
          task.binding.load(std::memory_order_relaxed) == Binding::bound) {
        continue;
      }
      auto const victim = decide([&](Context const& ctx) { return scheduler_.preempt(ctx, id); });
      if (victim) {
        WorkerId const worker{abort(victim, "preempt").worker.load(std::memory_order_relaxed)};
        --waiting_; // it is nobody's yet
        push(victim, worker);
        return true;
      }
    }
  }
  return false;
}

/// The task leaves the worker that has taken it, which is idle then, and is ready again. Its data
/// are as they were before it began.
template <class S, class C, class P>
TaskRecord& VirtualCore<S, C, P>::abort(TaskId id, char const* hook) {
  auto& task = *TaskRecord::from(id);
  if (task.id() != id || task.state.load(std::memory_order_relaxed) != TaskState::running) {
    give_up(std::string("answered to ") + hook + " a task that no worker has taken");
  }
  if (!can_abort(task)) {
    give_up(std::string("answered to ") + hook + " task '" + std::string(task.type_of().name) +
            "', which is not abortable: it " +
            (task.type_of().reduces ? "contributes to a reduction"
                                    : "is launched behind another task, or before one"));
  }
  // Each at most once from each worker, and some more: a policy that gets better each time ends.
  if (++aborted_now_ > (waiting_ + infos_.size()) * infos_.size()) {
    give_up("aborts tasks over and over at one instant");
  }
  WorkerId const worker{task.worker.load(std::memory_order_relaxed)};
  auto& its = workers_[worker.index()];
  ++its.aborted;
  if (its.running == &task) {
    its.wasted += now_ - std::max(its.begin, since_);
    if (recorder_) {
      recorder_->aborted(no_worker, worker, id, its.begin, now_);
    }
    if (config_.on_task) {
      config_.on_task({task.type_of().name,
                       task.label_text(),
                       its.number,
                       worker,
                       its.begin,
                       now_,
                       true,
                       task.graph_node});
    }
    its.running = nullptr;
    std::erase_if(events_, [worker](Event const& event) { return event.worker == worker; });
    std::make_heap(events_.begin(), events_.end());
  } else if (its.waiting == &task) {
    its.waiting = nullptr;
    its.committed = {};
    std::erase(cores_waiting_, worker);
  } else {
    its.committed = its.committed - std::min(its.committed, expected(task, worker));
  }
  its.successors.forget(task);
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  ++waiting_;
  idle_.insert(worker);
  if (auto const node = infos_[worker.index()].node; memory_ && node != host_node) {
    memory_->take_back(task, node);
    move_window(worker);
  }
  return task;
}

} // namespace hetsched::detail
