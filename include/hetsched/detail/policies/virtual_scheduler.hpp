// SPDX-License-Identifier: MIT
#pragma once
// A scheduler behind virtual functions.

#include <hetsched/concepts/push_activated.hpp>
#include <hetsched/concepts/scheduler.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace hetsched::detail {

/// The hooks of concepts/scheduler.hpp, for one type of context. One that the scheduler lacks does
/// nothing; without push_activated each task is pushed. Thread-safe as the scheduler is.
template <class Ctx>
class VirtualScheduler {
public:
  VirtualScheduler() = default;
  VirtualScheduler(VirtualScheduler const&) = delete;
  VirtualScheduler& operator=(VirtualScheduler const&) = delete;
  virtual ~VirtualScheduler() = default;

  [[nodiscard]] virtual SchedulerRules rules() const noexcept = 0;

  virtual Wake push(Ctx const& ctx, TaskId task, WorkerId worker) = 0;
  virtual void push_activated(Ctx const& ctx,
                              std::span<TaskId const> tasks,
                              WorkerId worker,
                              std::span<Wake> wakes) = 0;
  virtual TaskId pop(Ctx const& ctx, WorkerId worker) = 0;
  virtual Stolen steal(Ctx const& ctx, WorkerId thief) = 0;
  virtual void prologue(Ctx const& ctx, TaskId task, WorkerId worker) = 0;
  virtual void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration measured) = 0;
  virtual std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) = 0;
  virtual void
  prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) = 0;
  virtual TaskId reconsider(Ctx const& ctx, WorkerId worker) = 0;
  virtual TaskId preempt(Ctx const& ctx, TaskId task) = 0;
  [[nodiscard]] virtual FutureUses future_uses(std::uint64_t data, NodeId node) const = 0;
};

template <class S, class Ctx>
class VirtualSchedulerOf final : public VirtualScheduler<Ctx> {
public:
  template <class... Arguments>
  explicit VirtualSchedulerOf(Arguments const&... arguments) : scheduler_(arguments...) {}

  [[nodiscard]] SchedulerRules rules() const noexcept override { return rules_of<Ctx>(scheduler_); }

  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) override {
    return scheduler_.push(ctx, task, worker);
  }

  void push_activated(Ctx const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId worker,
                      std::span<Wake> wakes) override {
    push_all_activated(scheduler_, ctx, tasks, worker, wakes);
  }

  TaskId pop(Ctx const& ctx, WorkerId worker) override { return scheduler_.pop(ctx, worker); }

  Stolen steal([[maybe_unused]] Ctx const& ctx, [[maybe_unused]] WorkerId thief) override {
    if constexpr (has_steal<S, Ctx>) {
      return Stolen{scheduler_.steal(ctx, thief)};
    } else {
      return Stolen{no_task};
    }
  }

  void prologue([[maybe_unused]] Ctx const& ctx,
                [[maybe_unused]] TaskId task,
                [[maybe_unused]] WorkerId worker) override {
    if constexpr (has_prologue<S, Ctx>) {
      scheduler_.prologue(ctx, task, worker);
    }
  }

  void epilogue([[maybe_unused]] Ctx const& ctx,
                [[maybe_unused]] TaskId task,
                [[maybe_unused]] WorkerId worker,
                [[maybe_unused]] Duration measured) override {
    if constexpr (has_epilogue<S, Ctx>) {
      scheduler_.epilogue(ctx, task, worker, measured);
    }
  }

  std::size_t peek([[maybe_unused]] Ctx const& ctx,
                   [[maybe_unused]] WorkerId worker,
                   [[maybe_unused]] std::span<TaskId> next) override {
    if constexpr (has_peek<S, Ctx>) {
      return scheduler_.peek(ctx, worker, next);
    } else {
      return 0;
    }
  }

  void prepare([[maybe_unused]] Ctx const& ctx,
               [[maybe_unused]] TaskGraph const& graph,
               [[maybe_unused]] std::span<ExpectedTimes const> expected) override {
    if constexpr (has_prepare_expecting<S, Ctx>) {
      scheduler_.prepare(ctx, graph, expected);
    } else if constexpr (has_prepare<S, Ctx>) {
      scheduler_.prepare(ctx, graph);
    }
  }

  TaskId reconsider([[maybe_unused]] Ctx const& ctx, [[maybe_unused]] WorkerId worker) override {
    if constexpr (has_reconsider<S, Ctx>) {
      return scheduler_.reconsider(ctx, worker);
    } else {
      return no_task;
    }
  }

  TaskId preempt([[maybe_unused]] Ctx const& ctx, [[maybe_unused]] TaskId task) override {
    if constexpr (has_preempt<S, Ctx>) {
      return scheduler_.preempt(ctx, task);
    } else {
      return no_task;
    }
  }

  [[nodiscard]] FutureUses future_uses([[maybe_unused]] std::uint64_t data,
                                       [[maybe_unused]] NodeId node) const override {
    if constexpr (has_future_uses<S>) {
      return scheduler_.future_uses(data, node);
    } else {
      return {};
    }
  }

private:
  S scheduler_;
};

/// With these knobs, or its defaults.
template <class S, class Ctx, class... Knobs>
[[nodiscard]] std::unique_ptr<VirtualScheduler<Ctx>>
make_virtual_scheduler(std::span<WorkerInfo const> workers, Knobs const&... knobs) {
  if constexpr (std::is_constructible_v<S, std::span<WorkerInfo const>, Knobs const&...>) {
    return std::make_unique<VirtualSchedulerOf<S, Ctx>>(workers, knobs...);
  } else {
    static_assert(sizeof...(Knobs) == 0, "hetsched: Scheduler cannot be made with these knobs");
    return std::make_unique<VirtualSchedulerOf<S, Ctx>>();
  }
}

} // namespace hetsched::detail
