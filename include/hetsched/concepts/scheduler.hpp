// SPDX-License-Identifier: MIT
#pragma once
// The contract between an engine and a scheduler.

#include <hetsched/concepts/context.hpp>
#include <hetsched/types.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>

namespace hetsched {

class TaskGraph;

/// What a task of a graph is expected to take on each class of worker that is there and can run it;
/// nothing where the performance model (in virtual time: and the platform) does not know.
struct ExpectedTimes {
  ArchMask archs; // that can run it, of those that have workers
  std::array<std::optional<Duration>, max_archs> on;
};

/// A scheduler is a plain struct. It stores ready tasks and answers which worker takes which; it
/// acts only by what it stores and returns (Lima et al. 2015, sec. 4.1: pop, push, steal).
///
/// Declarations
///   static constexpr Threading threading
///     serialized: the engine holds one lock around every hook; the scheduler needs no care.
///     concurrent: hooks run at the same time; state lives in queues that allow that.
///   static constexpr PriorityScope priority_scope
///     none; per_queue; global: no pop returns a task while a strictly higher one that this worker
///     can run has completed its push; first come first served among equals. Stealing is outside.
/// Construction: from (std::span<WorkerInfo const>) or by default. A scheduler with knobs has a
///   nested aggregate `Config` and takes it as the constructor's second argument: what was given to
///   the runtime, `Runtime(Config{...}, S::Config{...})`.
///
/// Hooks (each takes the context first, by const reference)
///   Wake push(ctx, task, worker)
///     A ready task appears, in the spawning thread; worker is no_worker outside the runtime's
///     threads. Some worker can run it. O(1) expected; may be the cost of every spawn.
///   Wake push_activated(ctx, std::span<TaskId const>, worker)              optional
///     `worker`'s finished task made these ready. Wake::any() wakes one for each task;
///     Wake::worker(w) that worker. Without it each is pushed. Or, to answer for each,
///   void push_activated(ctx, std::span<TaskId const>, worker, std::span<Wake> wakes)
///     which writes as many wakes as there are tasks.
///   TaskId pop(ctx, worker)
///     What the worker runs next, or no_task. From then on it is the worker's. Must answer only
///     tasks with ctx.can_run(task, worker), and sees every task that this worker alone can reach.
///   TaskId steal(ctx, thief)                                               optional
///     pop gave none: tries every eligible victim once, in seeded order. May answer Stolen instead,
///     so that the engine can spare a busy victim: the thief of a contested task whose body took
///     less than the theft pauses for 32 times as long, at most 10 us, before it steals again.
///   void prologue(ctx, task, worker), epilogue(ctx, task, worker, Duration) optional
///     Around a body; the duration is 0 unless the model or Config::timing asks for clocks.
///   std::size_t peek(ctx, worker, std::span<TaskId> next)                  optional
///     The worker, a device's, has taken on as much as it may: writes what pop would answer it
///     next, first things first, and answers how many. Their data are sent ahead where there is
///     room. Of a concurrent scheduler only tasks that nobody but this worker can take.
///   void prepare(ctx, TaskGraph const&)                                    optional
///     Before a captured graph runs; no task is live. Or, to know beforehand what its tasks take,
///   void prepare(ctx, TaskGraph const&, std::span<ExpectedTimes const>)
///     with one for each task, known until it returns. The graph is there until all have ended.
///   TaskId reconsider(ctx, worker)                                         optional
///     Before pop, for every worker that can take a task: one that another worker has taken and
///     that is to be aborted there and run here instead, from its beginning (spoliation: Kumar
///     2017, sec. 3.7.2 and 5.2), or no_task: pop goes on.
///   TaskId preempt(ctx, task)                                              optional
///     This ready task was pushed, and no worker that can run it is idle or took it: a task that a
///     worker has taken and that is to be aborted, or no_task. It is pushed again, as if by that
///     worker, which is then offered work (sec. 3.7.2, HP+PP). Once for each push.
/// The last two name tasks with ctx.task(t).abortable only, and those that ctx.running(w) says are
/// some. An aborted attempt leaves no trace in its data and has no epilogue. In virtual time all
/// tasks are abortable; on threads those spawned so, where the attempt that was to be aborted may
/// go on, and even end first: then its result counts. A task that has ended since is left alone. On
/// threads `preempt` is not called.
/// A scheduler without `steal` that keeps a task for one worker may see nested programs block each
/// other's children; the engine notices (all workers asleep) and lifts the nesting rule then.
template <class S, class Ctx>
concept scheduler_for = requires(S& s, Ctx const& ctx, TaskId task, WorkerId worker) {
  { S::threading } -> std::convertible_to<Threading>;
  { S::priority_scope } -> std::convertible_to<PriorityScope>;
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

/// The hooks an engine found, as bits; every scheduler's test asserts its set, so that a misspelt
/// optional hook cannot go unnoticed.
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
         (has_preempt<S, Ctx> ? hook_preempt : 0U);
}

} // namespace hetsched
