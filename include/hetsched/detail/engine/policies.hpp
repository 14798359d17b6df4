// SPDX-License-Identifier: MIT
#pragma once
// A runtime's scheduler and performance model as an engine calls them: without their types.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/concepts/push_activated.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/engine/after_hook.hpp>
#include <hetsched/detail/engine/engine_context.hpp>
#include <hetsched/detail/engine/policy_checks.hpp>
#include <hetsched/detail/engine/unpushed_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

namespace hetsched::detail {

/// The hooks of a scheduler and of a model, for code that is compiled once for all of them. A hook
/// that `has` denies is not called. Thread-safe as the scheduler is: for a serialized one each hook
/// takes the engine's lock.
class PolicyPort {
public:
  PolicyPort(PolicyPort const&) = delete;
  PolicyPort& operator=(PolicyPort const&) = delete;

  /// With a name.
  [[nodiscard]] SchedulerRules const& rules() const noexcept { return rules_; }

  [[nodiscard]] bool has(Hook hook) const noexcept { return (rules_.hooks & hook) != 0; }

  /// Whether `prepare` wants the times that tasks are expected to take.
  [[nodiscard]] bool expects_times() const noexcept { return expects_times_; }

  /// Whether the model gets the measured times of bodies.
  [[nodiscard]] bool measures() const noexcept { return measures_; }

  /// Whether the model may know any time. If not, nobody needs to ask it.
  [[nodiscard]] bool predicts() const noexcept { return predicts_; }

  // ---- the scheduler; see concepts/scheduler.hpp ----

  virtual Wake push(TaskId task, WorkerId from) = 0;

  /// Answers for each task, also if the scheduler has another form of the hook, or none. If it
  /// throws, the answer for each task that the scheduler has not taken is `not_pushed`.
  virtual void
  push_activated(std::span<TaskId const> tasks, WorkerId from, std::span<Wake> wakes) = 0;

  virtual TaskId pop(WorkerId worker) = 0;
  virtual Stolen steal(WorkerId thief) = 0;
  virtual void prologue(TaskId task, WorkerId worker) = 0;
  virtual void
  epilogue(TaskId task, WorkerId worker, Duration measured, AfterHook<TaskId> after = {}) = 0;
  virtual std::size_t
  peek(WorkerId worker, std::span<TaskId> next, AfterHook<std::size_t> after = {}) = 0;
  virtual TaskId reconsider(WorkerId worker, AfterHook<TaskId> after = {}) = 0;
  virtual TaskId preempt(TaskId task) = 0;

  /// Thread-safe.
  [[nodiscard]] virtual FutureUses future_uses(std::uint64_t data, NodeId node) const = 0;

  /// `expected` is empty unless `expects_times`.
  virtual void prepare(TaskGraph const& graph, std::span<ExpectedTimes const> expected) = 0;

  // ---- the model; see concepts/perf_model.hpp ----

  [[nodiscard]] virtual std::optional<Prediction> predict(TaskView const& task,
                                                          Arch arch) const = 0;

  /// A time for which the model has no memory is left out: the task has ended.
  virtual void record(TaskView const& task, Arch arch, Duration measured) = 0;

  [[nodiscard]] virtual Duration transfer(std::size_t bytes, NodeId from, NodeId to) const = 0;

protected:
  PolicyPort(bool expects_times, bool measures, bool predicts) noexcept
      : expects_times_(expects_times), measures_(measures), predicts_(predicts) {}

  ~PolicyPort() = default;

  /// `type`: the name of the scheduler's type.
  void be_ruled(SchedulerRules const& rules, std::string_view type) noexcept {
    rules_ = rules;
    if (rules.name.empty()) {
      rules_.name = type;
    }
  }

private:
  SchedulerRules rules_{Threading::serialized, PriorityScope::none, 0};
  bool const expects_times_;
  bool const measures_;
  bool const predicts_;
};

/// A scheduler and a model, by value. `Core` is the engine's, without policies in its type:
/// contexts look at it, and `Core::HookGuard(core, threading)` lives for as long as a hook runs. An
/// engine whose guard has nothing to do for concurrent schedulers says `guards_concurrent = false`.
template <class Core, class Scheduler, class PerfModel>
class Policies final : public PolicyPort {
public:
  using Context = EngineContext<Core, Core::in_virtual_time || predicts_anything<PerfModel>>;

  template <class... Knobs>
  explicit Policies(Core& core, Knobs const&... knobs)
      : PolicyPort(has_prepare_expecting<Scheduler, Context>,
                   PerfModel::measures,
                   predicts_anything<PerfModel>),
        core_(core), scheduler_(make_scheduler<Scheduler>(core.workers(), knobs...)) {
    be_ruled(rules_of<Context>(scheduler_), type_name<Scheduler>());
  }

  [[gnu::always_inline]] Wake push(TaskId task, WorkerId from) override {
    return hook(
        "push",
        [&](Context const& ctx)
            __attribute__((always_inline)) { return scheduler_.push(ctx, task, from); },
        [&](PolicyCall const& call, Wake wake) { check_wake(core_, call, wake); });
  }

  void
  push_activated(std::span<TaskId const> tasks, WorkerId from, std::span<Wake> wakes) override {
    std::fill(wakes.begin(), wakes.end(), not_pushed);
    if constexpr (has_push_activated_each<Scheduler, Context> ||
                  has_push_activated<Scheduler, Context>) {
      hook(
          "push_activated",
          [&](Context const& ctx) { push_all_activated(scheduler_, ctx, tasks, from, wakes); },
          [&](PolicyCall const& call) {
            for (auto const wake : wakes) {
              check_wake(core_, call, wake);
            }
          });
    } else {
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        wakes[k] = push(tasks[k], from);
      }
    }
  }

  [[gnu::always_inline]] TaskId pop(WorkerId worker) override {
    return hook(
        "pop",
        [&](Context const& ctx)
            __attribute__((always_inline)) { return scheduler_.pop(ctx, worker); },
        [&](PolicyCall const& call, TaskId task) { check_taken(call, task, worker); });
  }

  Stolen steal([[maybe_unused]] WorkerId thief) override {
    if constexpr (has_steal<Scheduler, Context>) {
      return hook(
          "steal",
          [&](Context const& ctx) { return Stolen{scheduler_.steal(ctx, thief)}; },
          [&](PolicyCall const& call, Stolen got) { check_taken(call, got.task, thief); });
    } else {
      return Stolen{no_task};
    }
  }

  void prologue([[maybe_unused]] TaskId task, [[maybe_unused]] WorkerId worker) override {
    if constexpr (has_prologue<Scheduler, Context>) {
      hook(
          "prologue",
          [&](Context const& ctx) { scheduler_.prologue(ctx, task, worker); },
          unchecked);
    }
  }

  void epilogue([[maybe_unused]] TaskId task,
                [[maybe_unused]] WorkerId worker,
                [[maybe_unused]] Duration measured,
                AfterHook<TaskId> after) override {
    hook(
        "epilogue",
        [&]([[maybe_unused]] Context const& ctx) {
          if constexpr (has_epilogue<Scheduler, Context>) {
            scheduler_.epilogue(ctx, task, worker, measured);
          }
          after(task);
        },
        unchecked);
  }

  std::size_t peek([[maybe_unused]] WorkerId worker,
                   [[maybe_unused]] std::span<TaskId> next,
                   [[maybe_unused]] AfterHook<std::size_t> after) override {
    if constexpr (has_peek<Scheduler, Context>) {
      return hook(
          "peek",
          [&](Context const& ctx) {
            auto const count = scheduler_.peek(ctx, worker, next);
            if constexpr (HETSCHED_CHECK_POLICIES != 0) {
              check_peeked(core_, *PolicyCall::of(&core_), worker, next, count, rules().threading);
            }
            after(count);
            return count;
          },
          unchecked);
    } else {
      return 0;
    }
  }

  TaskId reconsider([[maybe_unused]] WorkerId worker,
                    [[maybe_unused]] AfterHook<TaskId> after) override {
    if constexpr (has_reconsider<Scheduler, Context>) {
      return hook(
          "reconsider",
          [&](Context const& ctx) {
            auto const task = scheduler_.reconsider(ctx, worker);
            if constexpr (HETSCHED_CHECK_POLICIES != 0) {
              check_aborted(core_, *PolicyCall::of(&core_), task);
            }
            after(task);
            return task;
          },
          unchecked);
    } else {
      return no_task;
    }
  }

  TaskId preempt([[maybe_unused]] TaskId task) override {
    if constexpr (has_preempt<Scheduler, Context>) {
      return hook(
          "preempt",
          [&](Context const& ctx) { return scheduler_.preempt(ctx, task); },
          [&](PolicyCall const& call, TaskId victim) { check_aborted(core_, call, victim); });
    } else {
      return no_task;
    }
  }

  [[nodiscard]] FutureUses future_uses([[maybe_unused]] std::uint64_t data,
                                       [[maybe_unused]] NodeId node) const override {
    if constexpr (has_future_uses<Scheduler>) {
      return scheduler_.future_uses(data, node);
    } else {
      return {};
    }
  }

  void prepare([[maybe_unused]] TaskGraph const& graph,
               [[maybe_unused]] std::span<ExpectedTimes const> expected) override {
    if constexpr (has_prepare_expecting<Scheduler, Context>) {
      prepare_by([&](Context const& ctx) { scheduler_.prepare(ctx, graph, expected); });
    } else if constexpr (has_prepare<Scheduler, Context>) {
      prepare_by([&](Context const& ctx) { scheduler_.prepare(ctx, graph); });
    }
  }

  /// Called once, before any task. `site` names the machine whose times the model keeps, if it
  /// keeps any.
  void begin(Site const& site)
    requires has_begin<PerfModel>
  {
    model_.begin(site);
  }

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const override {
    return ask("predict", [&] { return model_.predict(task, arch); });
  }

  void record([[maybe_unused]] TaskView const& task,
              [[maybe_unused]] Arch arch,
              [[maybe_unused]] Duration measured) override {
    if constexpr (PerfModel::measures) {
      try {
        ask("record", [&] { model_.record(task, arch, measured); });
      } catch (std::bad_alloc const&) { // the model knows one measurement less
      }
    }
  }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const override {
    return ask("transfer", [&] { return model_.transfer(bytes, from, to); });
  }

private:
  static constexpr auto unchecked = [](PolicyCall const&, auto const&...) {};

  void check_taken(PolicyCall const& call, TaskId task, WorkerId worker) const {
    if (task) {
      check_given(core_, call, task, worker);
    }
  }

  /// Calls a hook of the scheduler. `check(call, answer)` looks at the answer, if that is asked
  /// for.
  template <class F, class Check>
  [[gnu::always_inline]] auto hook([[maybe_unused]] char const* name, F&& f, Check const& check) {
    if constexpr (HETSCHED_CHECK_POLICIES != 0) {
      if (auto const* const outer = PolicyCall::of(&core_)) { // before a lock that it may hold
        policy_broke(core_, outer->policy(), std::string(outer->hook()) + " led to " + name);
      }
      PolicyCall const call(&core_, "scheduler", rules().name, name);
      return watched(call, [&] { return guarded(f); }, check);
    } else {
      return guarded(f);
    }
  }

  /// `prepare` may throw: nothing runs yet, and the program gets it.
  template <class F>
  void prepare_by(F&& f) {
    if constexpr (HETSCHED_CHECK_POLICIES != 0) {
      PolicyCall const call(&core_, "scheduler", rules().name, "prepare");
      guarded(f);
    } else {
      guarded(f);
    }
  }

  /// Calls a function of the model.
  template <class F>
  auto ask([[maybe_unused]] char const* name, F&& f) const {
    if constexpr (HETSCHED_CHECK_POLICIES != 0) {
      PolicyCall const call(&core_, "performance model", type_name<PerfModel>(), name);
      return watched(call, f, [&](auto const&, auto const&... answer) {
        (check_time(core_, call, answer), ...);
      });
    } else {
      return f();
    }
  }

  template <class F, class Check>
  auto watched(PolicyCall const& call, F&& f, Check const& check) const {
    auto const broken = [this](auto const& policy, auto const& what) {
      policy_broke(core_, policy, what);
    };
    if constexpr (std::is_void_v<decltype(f())>) {
      watched_call(call, f, broken);
      check(call);
    } else {
      auto const answer = watched_call(call, f, broken);
      check(call, answer);
      return answer;
    }
  }

  /// Calls a hook, under the engine's guard.
  template <class F>
  [[gnu::always_inline]] auto guarded(F&& call) {
    Context const ctx(core_);
    if constexpr (chosen_at_run_time<Scheduler, Context>) {
      typename Core::HookGuard const guard(core_, rules().threading);
      return call(ctx);
    } else if constexpr (Core::guards_concurrent || Scheduler::threading == Threading::serialized) {
      typename Core::HookGuard const guard(core_, Scheduler::threading);
      return call(ctx);
    } else {
      return call(ctx);
    }
  }

  Core& core_;
  Scheduler scheduler_;
  PerfModel model_;
};

} // namespace hetsched::detail
