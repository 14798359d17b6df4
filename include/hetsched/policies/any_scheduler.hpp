// SPDX-License-Identifier: MIT
#pragma once
// A scheduler that is chosen by its name when the program runs.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/any_context.hpp>
#include <hetsched/detail/policies/erased_scheduler.hpp>
#include <hetsched/policies/names.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::policies {

/// Decides: as the scheduler of that name, one of shipped_schedulers (names.hpp) or one that the
///   program has added by add_scheduler.
/// Source: the chosen one's.
/// Cost: the chosen one's, and a virtual call for each hook and for each question to the context.
/// Needs: context, of which the chosen one may need less.
/// Threading: the chosen one's, see rules().
/// Deterministic: as the chosen one.
/// Knobs: Config::name; empty: the environment's HETSCHED_SCHEDULER, or else `ws`.
/// Limits: names are for schedulers with their defaults. All are compiled, whichever is used.
class AnyScheduler {
public:
  struct Config {
    std::string name = {};
  };

  /// Throws Error(bad_config) for a name that is none.
  explicit AnyScheduler(std::span<WorkerInfo const> workers) : AnyScheduler(workers, Config{}) {}

  AnyScheduler(std::span<WorkerInfo const> workers, Config const& config)
      : AnyScheduler(make(workers, config.name)) {}

  template <class Ctx>
  [[nodiscard]] SchedulerRules rules() const noexcept {
    auto rules = scheduler_->rules();
    rules.name = name_;
    return rules;
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    return detail::with_any_context(
        ctx, [&](detail::AnyContext const& any) { return scheduler_->push(any, task, worker); });
  }

  template <context Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId worker,
                      std::span<Wake> wakes) {
    detail::with_any_context(ctx, [&](detail::AnyContext const& any) {
      return scheduler_->push_activated(any, tasks, worker, wakes);
    });
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return detail::with_any_context(
        ctx, [&](detail::AnyContext const& any) { return scheduler_->pop(any, worker); });
  }

  template <context Ctx>
  Stolen steal(Ctx const& ctx, WorkerId thief) {
    return detail::with_any_context(
        ctx, [&](detail::AnyContext const& any) { return scheduler_->steal(any, thief); });
  }

  template <context Ctx>
  void prologue(Ctx const& ctx, TaskId task, WorkerId worker) {
    detail::with_any_context(ctx, [&](detail::AnyContext const& any) {
      return scheduler_->prologue(any, task, worker);
    });
  }

  template <context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration measured) {
    detail::with_any_context(ctx, [&](detail::AnyContext const& any) {
      return scheduler_->epilogue(any, task, worker, measured);
    });
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    return detail::with_any_context(
        ctx, [&](detail::AnyContext const& any) { return scheduler_->peek(any, worker, next); });
  }

  template <context Ctx>
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    detail::with_any_context(ctx, [&](detail::AnyContext const& any) {
      return scheduler_->prepare(any, graph, expected);
    });
  }

  template <context Ctx>
  TaskId reconsider(Ctx const& ctx, WorkerId worker) {
    return detail::with_any_context(
        ctx, [&](detail::AnyContext const& any) { return scheduler_->reconsider(any, worker); });
  }

  template <context Ctx>
  TaskId preempt(Ctx const& ctx, TaskId task) {
    return detail::with_any_context(
        ctx, [&](detail::AnyContext const& any) { return scheduler_->preempt(any, task); });
  }

  [[nodiscard]] FutureUses future_uses(std::uint64_t data, NodeId node) const {
    return scheduler_->future_uses(data, node);
  }

private:
  explicit AnyScheduler(detail::ChosenScheduler chosen) noexcept
      : name_(chosen.name), scheduler_(std::move(chosen.scheduler)) {}

  [[nodiscard]] static detail::ChosenScheduler make(std::span<WorkerInfo const> workers,
                                                    std::string_view name) {
    if (!name.empty()) {
      return detail::scheduler_by_name(name, "Config::name", workers);
    }
    char const* const variable = std::getenv("HETSCHED_SCHEDULER");
    bool const chosen = variable != nullptr && *variable != '\0';
    return detail::scheduler_by_name(chosen ? variable : "ws", "HETSCHED_SCHEDULER", workers);
  }

  std::string_view name_; // never freed
  std::unique_ptr<detail::ErasedScheduler> scheduler_;
};

} // namespace hetsched::policies
