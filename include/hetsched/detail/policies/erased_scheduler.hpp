// SPDX-License-Identifier: MIT
#pragma once
// Any scheduler, without its type.

#include <hetsched/concepts/push_activated.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/any_context.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace hetsched::detail {

/// The hooks of concepts/scheduler.hpp. One that the scheduler lacks does nothing; without
/// push_activated each task is pushed. Thread-safe as the scheduler is.
class ErasedScheduler {
public:
  ErasedScheduler() = default;
  ErasedScheduler(ErasedScheduler const&) = delete;
  ErasedScheduler& operator=(ErasedScheduler const&) = delete;
  virtual ~ErasedScheduler() = default;

  [[nodiscard]] virtual SchedulerRules rules() const noexcept = 0;

  virtual Wake push(AnyContext const& ctx, TaskId task, WorkerId worker) = 0;
  virtual void push_activated(AnyContext const& ctx,
                              std::span<TaskId const> tasks,
                              WorkerId worker,
                              std::span<Wake> wakes) = 0;
  virtual TaskId pop(AnyContext const& ctx, WorkerId worker) = 0;
  virtual Stolen steal(AnyContext const& ctx, WorkerId thief) = 0;
  virtual void prologue(AnyContext const& ctx, TaskId task, WorkerId worker) = 0;
  virtual void epilogue(AnyContext const& ctx, TaskId task, WorkerId worker, Duration measured) = 0;
  virtual std::size_t peek(AnyContext const& ctx, WorkerId worker, std::span<TaskId> next) = 0;
  virtual void prepare(AnyContext const& ctx,
                       TaskGraph const& graph,
                       std::span<ExpectedTimes const> expected) = 0;
  virtual TaskId reconsider(AnyContext const& ctx, WorkerId worker) = 0;
  virtual TaskId preempt(AnyContext const& ctx, TaskId task) = 0;
};

template <class S>
class ErasedSchedulerOf final : public ErasedScheduler {
public:
  template <class... Arguments>
  explicit ErasedSchedulerOf(Arguments const&... arguments) : scheduler_(arguments...) {}

  [[nodiscard]] SchedulerRules rules() const noexcept override {
    return rules_of<AnyContext>(scheduler_);
  }

  Wake push(AnyContext const& ctx, TaskId task, WorkerId worker) override {
    return scheduler_.push(ctx, task, worker);
  }

  void push_activated(AnyContext const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId worker,
                      std::span<Wake> wakes) override {
    push_all_activated(scheduler_, ctx, tasks, worker, wakes);
  }

  TaskId pop(AnyContext const& ctx, WorkerId worker) override {
    return scheduler_.pop(ctx, worker);
  }

  Stolen steal([[maybe_unused]] AnyContext const& ctx, [[maybe_unused]] WorkerId thief) override {
    if constexpr (has_steal<S, AnyContext>) {
      return Stolen{scheduler_.steal(ctx, thief)};
    } else {
      return Stolen{no_task};
    }
  }

  void prologue([[maybe_unused]] AnyContext const& ctx,
                [[maybe_unused]] TaskId task,
                [[maybe_unused]] WorkerId worker) override {
    if constexpr (has_prologue<S, AnyContext>) {
      scheduler_.prologue(ctx, task, worker);
    }
  }

  void epilogue([[maybe_unused]] AnyContext const& ctx,
                [[maybe_unused]] TaskId task,
                [[maybe_unused]] WorkerId worker,
                [[maybe_unused]] Duration measured) override {
    if constexpr (has_epilogue<S, AnyContext>) {
      scheduler_.epilogue(ctx, task, worker, measured);
    }
  }

  std::size_t peek([[maybe_unused]] AnyContext const& ctx,
                   [[maybe_unused]] WorkerId worker,
                   [[maybe_unused]] std::span<TaskId> next) override {
    if constexpr (has_peek<S, AnyContext>) {
      return scheduler_.peek(ctx, worker, next);
    } else {
      return 0;
    }
  }

  void prepare([[maybe_unused]] AnyContext const& ctx,
               [[maybe_unused]] TaskGraph const& graph,
               [[maybe_unused]] std::span<ExpectedTimes const> expected) override {
    if constexpr (has_prepare_expecting<S, AnyContext>) {
      scheduler_.prepare(ctx, graph, expected);
    } else if constexpr (has_prepare<S, AnyContext>) {
      scheduler_.prepare(ctx, graph);
    }
  }

  TaskId reconsider([[maybe_unused]] AnyContext const& ctx,
                    [[maybe_unused]] WorkerId worker) override {
    if constexpr (has_reconsider<S, AnyContext>) {
      return scheduler_.reconsider(ctx, worker);
    } else {
      return no_task;
    }
  }

  TaskId preempt([[maybe_unused]] AnyContext const& ctx, [[maybe_unused]] TaskId task) override {
    if constexpr (has_preempt<S, AnyContext>) {
      return scheduler_.preempt(ctx, task);
    } else {
      return no_task;
    }
  }

private:
  S scheduler_;
};

/// With these knobs, or its defaults.
template <class S, class... Knobs>
[[nodiscard]] std::unique_ptr<ErasedScheduler>
make_erased_scheduler(std::span<WorkerInfo const> workers, Knobs const&... knobs) {
  if constexpr (std::is_constructible_v<S, std::span<WorkerInfo const>, Knobs const&...>) {
    return std::make_unique<ErasedSchedulerOf<S>>(workers, knobs...);
  } else {
    return std::make_unique<ErasedSchedulerOf<S>>();
  }
}

} // namespace hetsched::detail
