// SPDX-License-Identifier: MIT
#pragma once
// Calls a scheduler's hooks as an engine does, and judges every answer.

#include <hetsched/detail/testing/foresight.hpp>
#include <hetsched/detail/testing/hook_caller.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hetsched::testing::detail {

/// One instance of a scheduler. With Threads::many, everything but `add` and the judgements at the
/// end may be called from any thread, for a worker by one at a time.
class Driver : public HookCaller {
public:
  using HookCaller::HookCaller;

  /// What is done with it counts as an event: see concepts/scheduler.hpp, peek.
  [[nodiscard]] ScriptedContext& context() noexcept {
    end_foresight();
    return context_;
  }

  /// From now on peek is not called.
  void leave_out_peeks() noexcept { peeks_ = false; }

  [[nodiscard]] bool peeks() const noexcept {
    return peeks_ && (subject_->rules().hooks & hook_peek) != 0;
  }

  // ---- hooks ----

  void prepare(TaskGraph const& graph) {
    end_foresight();
    auto const unknown = unknown_times(graph);
    call("prepare", [&] { return subject_->prepare(context_, graph, unknown), 0; }, 0);
  }

  Wake push(TaskId task, WorkerId from) {
    end_foresight();
    before_push(task, from);
    auto const wake =
        call("push", [&] { return subject_->push(context_, task, from); }, Wake::none());
    after_push(task, wake);
    return wake;
  }

  /// One wake for each task; by `push` each if the scheduler has no push_activated.
  std::vector<Wake> activate(std::span<TaskId const> tasks, WorkerId from) {
    end_foresight();
    std::vector<Wake> wakes;
    if ((subject_->rules().hooks & hook_push_activated) != 0) {
      wakes.assign(tasks.size(), Wake::none());
      for (auto const task : tasks) {
        before_push(task, from);
      }
      call(
          "push_activated",
          [&] { return subject_->push_activated(context_, tasks, from, wakes), 0; },
          0);
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        after_push(tasks[k], wakes[k]);
      }
    } else {
      for (auto const task : tasks) {
        wakes.push_back(push(task, from));
      }
    }
    return wakes;
  }

  /// pop, and steal if that gave none. Only judged answers count as a task. Before, a peek foresees
  /// the answer, unless another has done so, and only pops of this worker came since.
  TaskId poll(WorkerId worker) {
    if (peeks() && (threads_ == Threads::many || !foresight_.is_for(worker))) {
      look(worker);
    }
    auto begin = stamp();
    auto task = call("pop", [&] { return subject_->pop(context_, worker); }, no_task);
    judge_foresight(task, worker);
    bool stolen = false;
    if (!task && (subject_->rules().hooks & hook_steal) != 0) {
      end_foresight();
      begin = stamp();
      task = call("steal", [&] { return subject_->steal(context_, worker).task; }, no_task);
      stolen = true;
    }
    if (!task || spoiled()) {
      note(worker.index(), 0);
      return no_task;
    }
    return accept(task, worker, stolen, begin, stamp()) ? task : no_task;
  }

  /// Bodies of one worker may nest.
  void begin_body(TaskId task, WorkerId worker) {
    end_foresight();
    entry(task).outer = context_.running(worker);
    context_.set_running(worker, task);
    call("prologue", [&] { return subject_->prologue(context_, task, worker), 0; }, 0);
  }

  void end_body(TaskId task, WorkerId worker) {
    end_foresight();
    call("epilogue", [&] { return subject_->epilogue(context_, task, worker, Duration{1}), 0; }, 0);
    context_.set_running(worker, entry(task).outer);
    context_.finish(task);
  }

  /// Whether the scheduler may stop tasks half way.
  [[nodiscard]] bool aborts() const noexcept {
    return (subject_->rules().hooks & (hook_reconsider | hook_preempt)) != 0;
  }

  /// A task that is to leave another worker for this one: it has left, and not begun.
  TaskId reconsider(WorkerId worker) {
    end_foresight();
    auto const task =
        call("reconsider", [&] { return subject_->reconsider(context_, worker); }, no_task);
    if (!task || spoiled() || !stop(task, worker, "reconsider for " + describe(worker))) {
      return no_task;
    }
    entry(task).taker = worker;
    return task;
  }

  /// Whether a task had to make room for this one, and was pushed again.
  bool preempt(TaskId task) {
    end_foresight();
    auto const victim = call("preempt", [&] { return subject_->preempt(context_, task); }, no_task);
    auto const hook = "preempt for " + describe(task);
    if (!victim || spoiled() || !stop(victim, no_worker, hook)) {
      return false;
    }
    entry(victim).taken.store(false);
    push(victim, entry(victim).taker);
    return true;
  }

  // ---- for scenarios ----

  void run(TaskId task, WorkerId worker) {
    begin_body(task, worker);
    end_body(task, worker);
  }

  /// All workers poll, unrestricted, until a round over them gives nothing. body(task, worker) runs
  /// each task, and may push more. Ends, because every task counts once.
  template <class Body>
  void drain(Body&& body) {
    for (auto const& info : workers()) {
      context().restrict_to(info.id, 0);
    }
    for (bool found = true; found && !spoiled();) {
      found = false;
      for (auto const& info : workers()) {
        while (auto const task = poll(info.id)) {
          found = true;
          body(task, info.id);
        }
      }
    }
  }

  void drain() {
    drain([this](TaskId task, WorkerId worker) { run(task, worker); });
  }

  /// At the end, after `drain`.
  void judge() {
    if (auto const task = first_pending(); task && !spoiled()) {
      report(Rule::lost,
             no_worker,
             describe(task) +
                 " never came out, though every worker polled until all found nothing");
    }
    if (context_.stale_views() != 0) {
      report(Rule::stale_view,
             no_worker,
             "ctx.task() was asked " + std::to_string(context_.stale_views()) +
                 " times about a task that had ended or never was");
    }
  }

  /// At the end of a scenario with threads: the order of all pops. Nobody was restricted.
  void judge_priorities() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      auto const& mine = tasks_.at(i);
      if (!mine.taken.load() || mine.stolen) {
        continue;
      }
      for (std::size_t k = 0; k < tasks_.size(); ++k) {
        auto const& other = tasks_.at(k);
        bool const was_there = other.pushed.load() && other.push_end < mine.take_begin &&
                               (!other.taken.load() || other.take_begin > mine.take_end);
        if (was_there && precedes(priority_scope(), other, mine, mine.taker) &&
            other.task.archs.has(workers()[mine.taker.index()].arch)) {
          report_order(context_.task_id(k), context_.task_id(i), mine.taker);
          return;
        }
      }
    }
  }

private:
  void end_foresight() noexcept {
    if (threads_ == Threads::one) {
      foresight_.end();
    }
  }

  /// What the worker would get next. With threads that is a guess: others may have taken it.
  void look(WorkerId worker) {
    std::array<TaskId, 4> room;
    auto const next = std::span(room).first(looks_.fetch_add(1, std::memory_order_relaxed) % 5);
    auto const count = call_peek(worker, next);
    auto const hook = "peek for " + describe(worker) + " answered ";
    if (count > next.size()) {
      report(Rule::peeked, worker, hook + "more tasks than it was asked for");
      spoiled_.store(true);
      return;
    }
    auto const wrong =
        wrong_with_peeked(tasks_, context_, worker, next.first(count), threads_ == Threads::many);
    if (!wrong.empty()) {
      report(Rule::peeked, worker, hook + wrong);
    }
    if (threads_ == Threads::one) {
      foresight_.begin(worker, next.first(count), next.size());
      std::array<TaskId, 4> again;
      if (call_peek(worker, std::span(again).first(next.size())) != count ||
          !std::equal(
              next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count), again.begin())) {
        report(Rule::peeked, worker, hook + "something else when it was called again at once");
      }
    }
  }

  std::size_t call_peek(WorkerId worker, std::span<TaskId> next) {
    return call("peek", [&] { return subject_->peek(context_, worker, next); }, std::size_t{0});
  }

  /// One thread: what a pop answered must have been foreseen, if there was a peek for it.
  void judge_foresight(TaskId answer, WorkerId worker) {
    if (threads_ == Threads::many || spoiled()) {
      return;
    }
    auto const foreseen = foresight_.next();
    auto const verdict = foresight_.judge(worker, answer);
    bool const must = subject_->rules().threading == Threading::serialized;
    if (verdict == Foresight::Verdict::right || (verdict == Foresight::Verdict::unseen && !must)) {
      return;
    }
    auto const name = [this](TaskId task) {
      return !task                            ? "none"
             : tasks_.pushed(task) == nullptr ? "an id that was not pushed"
                                              : describe(task);
    };
    report(Rule::peeked,
           worker,
           "peek for " + describe(worker) + " foresaw " + name(foreseen) + ", but pop answered " +
               name(answer));
    foresight_.end();
  }

  /// Judges what is to be aborted, for `heir` if that is a worker; what runs and may be, stops.
  bool stop(TaskId task, WorkerId heir, std::string const& hook) {
    auto const number = context_.number(task);
    auto const* const known = number ? &entry(task) : nullptr;
    bool const runs =
        known != nullptr && known->taken.load() && context_.running(known->taker) == task;
    std::string wrong;
    if (!runs) {
      wrong = number ? describe(task) + ", which no worker runs" : "an id that was not pushed";
    } else if (!known->task.abortable) {
      wrong = describe(task) + ", which is not abortable";
    } else if (heir == known->taker) {
      wrong = describe(task) + ", which runs there";
    } else if (heir && !context_.can_run(task, heir)) {
      wrong = describe(task) + ", which that cannot run";
    }
    if (!wrong.empty()) {
      report(Rule::aborted, heir, hook + " answered " + wrong);
      spoiled_.store(true);
      return false;
    }
    note(known->taker.index(), *number + 1);
    context_.set_running(known->taker, no_task);
    return true;
  }

  void before_push(TaskId task, WorkerId from) {
    auto& entry = this->entry(task);
    entry.from = from;
    entry.push_begin = stamp();
    entry.pushed.store(true);
  }

  void after_push(TaskId task, Wake wake) {
    auto& entry = this->entry(task);
    entry.push_end = stamp();
    entry.wake = wake;
    auto const target = wake.target();
    note(static_cast<std::uint64_t>(target.value + 1), wake.is_any() ? 1 : 2);
    if (target && (target.index() >= workers().size() ||
                   !entry.task.archs.has(workers()[target.index()].arch))) {
      report(Rule::wrong_wake,
             target,
             "the answer to the push of " + describe(task) + " names " + describe(target));
      spoiled_.store(true);
    }
  }

  bool accept(TaskId task, WorkerId worker, bool stolen, std::uint64_t begin, std::uint64_t end) {
    auto* const known = tasks_.pushed(task);
    auto const hook = std::string(stolen ? "steal" : "pop") + " for " + describe(worker);
    if (known == nullptr) {
      report(Rule::invented, worker, hook + " answered an id that was not pushed");
      spoiled_.store(true);
      return false;
    }
    auto& entry = *known;
    if (entry.taken.exchange(true)) {
      report(Rule::twice, worker, hook + " answered " + describe(task) + " again");
      spoiled_.store(true);
      return false;
    }
    entry.taker = worker;
    entry.stolen = stolen;
    entry.take_begin = begin;
    entry.take_end = end;
    note(worker.index(), tasks_.number(task) + 1);
    if (!context_.can_run(task, worker)) {
      report(Rule::wrong_worker,
             worker,
             hook + " answered " + describe(task) + ", which it cannot run" +
                 (context_.restricted_to(worker) != 0 ? " while it waits in another task" : ""));
    }
    if (threads_ == Threads::one && !stolen) {
      judge_priority(task, worker);
    }
    return true;
  }

  /// One thread: nothing that is still there should have come instead.
  void judge_priority(TaskId task, WorkerId worker) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      auto const& other = tasks_.at(i);
      if (other.pushed.load() && !other.taken.load() &&
          precedes(priority_scope(), other, entry(task), worker) &&
          context_.can_run(context_.task_id(i), worker)) {
        report_order(context_.task_id(i), task, worker);
        return;
      }
    }
  }

  void report_order(TaskId first, TaskId answered, WorkerId worker) {
    report(Rule::priority,
           worker,
           "pop for " + describe(worker) + " answered " + describe(answered) + " before " +
               describe(first));
  }

  Foresight foresight_; // one thread
  std::atomic<std::size_t> looks_{1};
  bool peeks_ = true;
};

} // namespace hetsched::testing::detail
