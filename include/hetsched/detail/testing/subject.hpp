// SPDX-License-Identifier: MIT
#pragma once
// A scheduler behind virtual functions: all the rest of the kit is then compiled once, not once for
// each scheduler.

#include <hetsched/concepts/push_activated.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/testing/subject_base.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace hetsched::testing::detail {

/// The hooks of some scheduler; a missing optional one does nothing.
class Subject : public SubjectBase {
public:
  [[nodiscard]] virtual Threading threading() const noexcept = 0;
  [[nodiscard]] virtual PriorityScope priority_scope() const noexcept = 0;
  [[nodiscard]] virtual unsigned hooks() const noexcept = 0; // bits of Hook

  virtual Wake push(ScriptedContext const& ctx, TaskId task, WorkerId from) = 0;
  virtual void push_activated(ScriptedContext const& ctx,
                              std::span<TaskId const> tasks,
                              WorkerId from,
                              std::span<Wake> wakes) = 0;
  virtual TaskId pop(ScriptedContext const& ctx, WorkerId worker) = 0;
  virtual TaskId steal(ScriptedContext const& ctx, WorkerId thief) = 0;
  virtual std::size_t peek(ScriptedContext const& ctx, WorkerId worker, std::span<TaskId> next) = 0;
  virtual void prologue(ScriptedContext const& ctx, TaskId task, WorkerId worker) = 0;
  virtual void epilogue(ScriptedContext const& ctx, TaskId task, WorkerId worker) = 0;
  virtual void prepare(ScriptedContext const& ctx, TaskGraph const& graph) = 0;
  virtual TaskId reconsider(ScriptedContext const& ctx, WorkerId worker) = 0;
  virtual TaskId preempt(ScriptedContext const& ctx, TaskId task) = 0;
};

using Make = std::function<std::unique_ptr<Subject>(std::span<WorkerInfo const>)>;

template <class S>
class SubjectOf final : public Subject {
public:
  static_assert(scheduler_for<S, ScriptedContext>,
                "hetsched: check_scheduler<S> needs a Scheduler; see concepts/scheduler.hpp");

  template <class... Arguments>
  explicit SubjectOf(Arguments const&... arguments) : scheduler_(arguments...) {}

  [[nodiscard]] Threading threading() const noexcept override { return rules().threading; }

  [[nodiscard]] PriorityScope priority_scope() const noexcept override {
    return rules().priority_scope;
  }

  [[nodiscard]] unsigned hooks() const noexcept override { return rules().hooks; }

  Wake push(ScriptedContext const& ctx, TaskId task, WorkerId from) override {
    return scheduler_.push(ctx, task, from);
  }

  void push_activated(ScriptedContext const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId from,
                      std::span<Wake> wakes) override {
    push_all_activated(scheduler_, ctx, tasks, from, wakes);
  }

  TaskId pop(ScriptedContext const& ctx, WorkerId worker) override {
    return scheduler_.pop(ctx, worker);
  }

  TaskId steal(ScriptedContext const& ctx, WorkerId thief) override {
    if constexpr (has_steal<S, ScriptedContext>) {
      return scheduler_.steal(ctx, thief);
    } else {
      return no_task;
    }
  }

  std::size_t peek(ScriptedContext const& ctx, WorkerId worker, std::span<TaskId> next) override {
    if constexpr (has_peek<S, ScriptedContext>) {
      return scheduler_.peek(ctx, worker, next);
    } else {
      return 0;
    }
  }

  void prologue(ScriptedContext const& ctx, TaskId task, WorkerId worker) override {
    if constexpr (has_prologue<S, ScriptedContext>) {
      scheduler_.prologue(ctx, task, worker);
    }
  }

  void epilogue(ScriptedContext const& ctx, TaskId task, WorkerId worker) override {
    if constexpr (has_epilogue<S, ScriptedContext>) {
      scheduler_.epilogue(ctx, task, worker, Duration{1});
    }
  }

  void prepare(ScriptedContext const& ctx, TaskGraph const& graph) override {
    if constexpr (has_prepare<S, ScriptedContext>) {
      scheduler_.prepare(ctx, graph);
    } else if constexpr (has_prepare_expecting<S, ScriptedContext>) {
      std::vector<ExpectedTimes> unknown;
      for (auto const& node : graph.nodes()) {
        unknown.push_back({node.archs, {}});
      }
      scheduler_.prepare(ctx, graph, unknown);
    }
  }

  TaskId reconsider(ScriptedContext const& ctx, WorkerId worker) override {
    if constexpr (has_reconsider<S, ScriptedContext>) {
      return scheduler_.reconsider(ctx, worker);
    } else {
      return no_task;
    }
  }

  TaskId preempt(ScriptedContext const& ctx, TaskId task) override {
    if constexpr (has_preempt<S, ScriptedContext>) {
      return scheduler_.preempt(ctx, task);
    } else {
      return no_task;
    }
  }

private:
  [[nodiscard]] SchedulerRules rules() const noexcept {
    return rules_of<ScriptedContext>(scheduler_);
  }

  S scheduler_;
};

} // namespace hetsched::testing::detail
