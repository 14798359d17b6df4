// SPDX-License-Identifier: MIT
#pragma once
// The contract between an engine and a scheduler.

#include <hetsched/concepts/context.hpp>
#include <hetsched/core/types.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hetsched {

class TaskGraph;

/// The expected time of a task of a graph, for each class of worker that is present and can run it.
/// No value if the performance model (in virtual time also the platform) does not know it.
struct ExpectedTimes {
  ArchMask archs; // classes that can run it and have workers
  std::array<std::optional<Duration>, max_archs> on;
};

template <class S>
concept declares_rules = requires {
  { S::threading } -> std::convertible_to<Threading>;
  { S::priority_scope } -> std::convertible_to<PriorityScope>;
};

/// What an engine must know about a scheduler before it calls a hook.
struct SchedulerRules {
  Threading threading;
  PriorityScope priority_scope;
  unsigned hooks;             // bits of Hook
  std::string_view name = {}; // for people; empty: that of the scheduler's type; never freed
};

/// A scheduler whose rules are known only at run time. `rules<Ctx>()` returns them. They do not
/// change while a runtime uses the scheduler. It has every hook; the engine never calls a hook that
/// is not in `rules().hooks`.
template <class S, class Ctx>
concept chosen_at_run_time = requires(S const& s) {
  { s.template rules<Ctx>() } -> std::same_as<SchedulerRules>;
};

/// A scheduler is a plain struct. It stores ready tasks and decides which worker takes which task.
/// It acts only by what it stores and returns (Lima et al. 2015, sec. 4.1: pop, push, steal).
///
/// Declarations
///   static constexpr Threading threading
///     serialized: the engine holds one lock around every hook. The scheduler needs no protection.
///     concurrent: hooks run at the same time. All state is in queues that allow this.
///   static constexpr PriorityScope priority_scope
///     none; per_queue; global: no pop returns a task while a strictly higher one that this worker
///     can run has completed its push; first come first served among equals. The promise does not
///     include steal.
/// Construction: from (std::span<WorkerInfo const>) or by default. A scheduler with knobs has a
///   nested aggregate `Config`, which is the constructor's second argument. The runtime passes it:
///   `Runtime(Config{...}, S::Config{...})`.
///
/// Memory: push and push_activated may throw, but then they must have left the scheduler without
/// the
///   task: of push_activated, without the tasks for which they have not written a wake (none is
///   written by the form that answers one). The engine keeps these tasks, and runs them when a
///   worker gets none from the scheduler; they have a prologue and an epilogue like the others. The
///   other hooks must not throw: what they need is to be taken in push, or done without.
///
/// Hooks (each takes the context first, by const reference)
///   Wake push(ctx, task, worker)
///     A task is ready, and some worker can run it. Called in the spawning thread; worker is
///     no_worker outside the runtime's threads. Should be O(1): every spawn may pay this cost.
///     A worker pushes a task anew when its body, which has suspended itself, can go on.
///   Wake push_activated(ctx, std::span<TaskId const>, worker)              optional
///     A task that `worker` finished made these tasks ready. Wake::any() wakes one worker for each
///     task; Wake::worker(w) wakes that worker. Without this hook each task is pushed. To answer
///     for each task, declare instead
///   void push_activated(ctx, std::span<TaskId const>, worker, std::span<Wake> wakes)
///     which writes one wake for each task.
///   TaskId pop(ctx, worker)
///     The task that the worker runs next, or no_task. The task then belongs to the worker. pop
///     returns only tasks with ctx.can_run(task, worker). It must find every task that only this
///     worker can reach.
///   TaskId steal(ctx, thief)                                               optional
///     Called when pop returned no_task. Tries every eligible victim once, in seeded order. May
///     return Stolen, which says whether the victim is using its queue (contested). If the body of
///     a contested task took less time than the theft, the thief pauses before it steals again: for
///     32 times as long as the theft, at most 10 us.
///   void prologue(ctx, task, worker), epilogue(ctx, task, worker, Duration) optional
///     Around a body. The duration is 0 unless the model or Config::timing needs clocks.
///   std::size_t peek(ctx, worker, std::span<TaskId> next)                  optional
///     The worker of a device has something to do. Writes the tasks that pop would
///     return to it next, and returns their number k: k pops by that worker without a push (or any
///     other event) between give the peeked tasks in that order. It may write fewer tasks than
///     there are, but a serialized scheduler writes at least one if the next pop would return one.
///     What only `steal` would return is not written. The scheduler decides afterwards as if it had
///     not been called: it takes nothing out and draws no random numbers. The tasks stay where
///     other workers may take them. Beside other threads a concurrent scheduler answers with a
///     guess: its tasks were in its queues at some time during the call, but may have been taken,
///     and may even have ended. Engines send the data of the peeked tasks ahead, and the device
///     claims the tasks: for a while can_run is false for others.
///   void prepare(ctx, TaskGraph const&)                                    optional
///     Called before a captured graph runs; no task is live but what other threads spawn meanwhile,
///     which must not be lost. The graph lives until all its tasks have ended. To learn also how
///     long the tasks are expected to take, declare instead
///   void prepare(ctx, TaskGraph const&, std::span<ExpectedTimes const>)
///     with one entry for each task. The span is valid until prepare returns.
///   TaskId reconsider(ctx, worker)                                         optional
///     Called before pop, for every worker that can take a task. Returns a task that another worker
///     has taken. That task is aborted there and runs here from its beginning (spoliation: Kumar
///     2017, sec. 3.7.2 and 5.2). With no_task, pop follows. The scheduler is serialized: so the
///     tasks that it looks at do not end meanwhile.
///   TaskId preempt(ctx, task)                                              optional
///     Called once for each push, if no worker that can run the pushed task is idle or took it.
///     Returns a task that a worker has taken, to be aborted, or no_task. The aborted task is
///     pushed again, as if by that worker. The worker is then offered work (sec. 3.7.2, HP+PP).
///     Called in virtual time only.
///   FutureUses future_uses(std::uint64_t data, NodeId node) const          optional
///     How many tasks that the scheduler plans to give to workers of the memory node use a datum,
///     which is named as in ArgumentView, and how many ready tasks. Caches may ask for this when
///     they evict. Called without a context, by any thread, beside any hook, and under the lock of
///     the node's memory: so it waits for no lock under which a hook asks for free_bytes.
/// reconsider and preempt return only tasks with ctx.task(t).abortable; ctx.running(w) names some
/// of the tasks that have been taken. An aborted attempt leaves no trace in its data and has no
/// epilogue. In virtual time all tasks are abortable. On threads those that were spawned so are.
/// There the attempt that was to be aborted may go on, and may even end first: then its result
/// counts. A task that has ended since is left alone.
/// A scheduler without `steal` may keep a task for one worker. Nested programs can then block each
/// other's children. The engine notices this (all workers are asleep) and lifts the nesting rule.
template <class S, class Ctx>
concept scheduler_for = requires(S& s, Ctx const& ctx, TaskId task, WorkerId worker) {
  requires chosen_at_run_time<S, Ctx> || declares_rules<S>;
  { s.push(ctx, task, worker) } -> std::same_as<Wake>;
  { s.pop(ctx, worker) } -> std::same_as<TaskId>;
};

template <class S, class Ctx>
concept has_push_activated =
    requires(S& s, Ctx const& ctx, std::span<TaskId const> tasks, WorkerId worker) {
      { s.push_activated(ctx, tasks, worker) } -> std::same_as<Wake>;
    };

template <class S, class Ctx>
concept has_push_activated_each = requires(
    S& s, Ctx const& ctx, std::span<TaskId const> tasks, WorkerId worker, std::span<Wake> wakes) {
  { s.push_activated(ctx, tasks, worker, wakes) } -> std::same_as<void>;
};

template <class S, class Ctx>
concept has_steal = requires(S& s, Ctx const& ctx, WorkerId thief) {
  requires std::same_as<decltype(s.steal(ctx, thief)), TaskId> ||
               std::same_as<decltype(s.steal(ctx, thief)), Stolen>;
};

template <class S, class Ctx>
concept has_prologue = requires(S& s, Ctx const& ctx, TaskId task, WorkerId worker) {
  { s.prologue(ctx, task, worker) } -> std::same_as<void>;
};

template <class S, class Ctx>
concept has_epilogue =
    requires(S& s, Ctx const& ctx, TaskId task, WorkerId worker, Duration measured) {
      { s.epilogue(ctx, task, worker, measured) } -> std::same_as<void>;
    };

template <class S, class Ctx>
concept has_peek = requires(S& s, Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
  { s.peek(ctx, worker, next) } -> std::same_as<std::size_t>;
};

template <class S, class Ctx>
concept has_prepare = requires(S& s, Ctx const& ctx, TaskGraph const& graph) {
  { s.prepare(ctx, graph) } -> std::same_as<void>;
};

template <class S, class Ctx>
concept has_prepare_expecting = requires(
    S& s, Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
  { s.prepare(ctx, graph, expected) } -> std::same_as<void>;
};

template <class S, class Ctx>
concept has_reconsider = requires(S& s, Ctx const& ctx, WorkerId worker) {
  { s.reconsider(ctx, worker) } -> std::same_as<TaskId>;
};

template <class S, class Ctx>
concept has_preempt = requires(S& s, Ctx const& ctx, TaskId task) {
  { s.preempt(ctx, task) } -> std::same_as<TaskId>;
};

template <class S>
concept has_future_uses = requires(S const& s, std::uint64_t data, NodeId node) {
  { s.future_uses(data, node) } -> std::same_as<FutureUses>;
};

/// The hooks that an engine found, as bits. Every scheduler's test asserts its set, so that a
/// misspelt optional hook cannot go unnoticed.
enum Hook : unsigned {
  hook_push = 1,
  hook_pop = 2,
  hook_push_activated = 4,
  hook_steal = 8,
  hook_prologue = 16,
  hook_epilogue = 32,
  hook_prepare = 64,
  hook_peek = 128,
  hook_reconsider = 256,
  hook_preempt = 512,
  hook_future_uses = 1024,
};

template <class S, class Ctx>
[[nodiscard]] constexpr unsigned hooks_of() noexcept {
  return (scheduler_for<S, Ctx> ? hook_push | hook_pop : 0U) |
         (has_push_activated<S, Ctx> || has_push_activated_each<S, Ctx> ? hook_push_activated
                                                                        : 0U) |
         (has_steal<S, Ctx> ? hook_steal : 0U) | (has_prologue<S, Ctx> ? hook_prologue : 0U) |
         (has_epilogue<S, Ctx> ? hook_epilogue : 0U) |
         (has_prepare<S, Ctx> || has_prepare_expecting<S, Ctx> ? hook_prepare : 0U) |
         (has_peek<S, Ctx> ? hook_peek : 0U) | (has_reconsider<S, Ctx> ? hook_reconsider : 0U) |
         (has_preempt<S, Ctx> ? hook_preempt : 0U) | (has_future_uses<S> ? hook_future_uses : 0U);
}

/// The rules of a scheduler: constants of its type, or what a scheduler chosen at run time says.
template <class Ctx, class S>
[[nodiscard]] constexpr SchedulerRules rules_of(S const& scheduler) noexcept {
  if constexpr (chosen_at_run_time<S, Ctx>) {
    return scheduler.template rules<Ctx>();
  } else {
    return {S::threading, S::priority_scope, hooks_of<S, Ctx>()};
  }
}

} // namespace hetsched
