// SPDX-License-Identifier: MIT
#pragma once
// What a policy may ask: the concept `context`. Each engine implements it once.

#include <hetsched/core/task.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hetsched {

/// A time that a performance model predicts, and how certain it is.
struct Prediction {
  Duration mean;
  Duration spread;           // standard deviation
  std::uint64_t samples = 0; // measured times behind it; 0: from a description, not measured
};

/// now()   Time since the runtime began. It never decreases, and it does not change during a hook.
///   Call it at most once in a hook.
template <class Ctx>
concept clock_context = requires(Ctx const& ctx) {
  { ctx.now() } -> std::same_as<Instant>;
};

/// workers()      All workers, in the order of their ids. Always the same span.
/// can_run(t, w)  Whether worker w may take task t now. The answer changes with time: a worker that
///   waits in a nested sync can run only descendants of the waiting task, and one whose device is
///   lost none that others can run. For a stale t the answer is arbitrary. pop and steal must
///   return only tasks that the worker can run.
/// random(w)      The next number of the worker's own random stream, which is seeded. no_worker has
///   a stream, too.
/// task(t)        The task's view. Valid from the push of t until its epilogue returns.
template <class Ctx>
concept placement_context = requires(Ctx const& ctx, TaskId t, WorkerId w) {
  { ctx.workers() } -> std::same_as<std::span<WorkerInfo const>>;
  { ctx.can_run(t, w) } -> std::same_as<bool>;
  { ctx.random(w) } -> std::same_as<std::uint64_t>;
  { ctx.task(t) } -> std::same_as<TaskView>;
};

/// predicted(t, w)  How long t would run on w; no value if the model does not know.
/// transfer(t, w)   Time to bring the missing data of t to the memory node of w.
/// running(w)       The task that w executes, or no_task.
/// busy_until(w)    When w will have done all work to which it is committed. It is now() if w has
///   no such work, or if the time is not known.
template <class Ctx>
concept context =
    clock_context<Ctx> && placement_context<Ctx> && requires(Ctx const& ctx, TaskId t, WorkerId w) {
      { ctx.predicted(t, w) } -> std::same_as<std::optional<Prediction>>;
      { ctx.transfer(t, w) } -> std::same_as<Duration>;
      { ctx.running(w) } -> std::same_as<TaskId>;
      { ctx.busy_until(w) } -> std::same_as<Instant>;
    };

/// explains(t)      Whether somebody asked for an explanation of the choice of a worker for t. Ask
///   between the push and the pop of t.
/// explain(t, chosen, waits, why)  The scheduler has chosen a worker, or none (no_worker). waits[w]
///   is the time that t would wait until worker w is free.
template <class Ctx>
concept explaining_context =
    context<Ctx> &&
    requires(Ctx const& ctx, TaskId t, WorkerId w, std::span<Duration const> waits) {
      { ctx.explains(t) } -> std::same_as<bool>;
      { ctx.explain(t, w, waits, "why") } -> std::same_as<void>;
    };

/// nodes()            All memory nodes.
/// valid_bytes(t, n)  Bytes of the data of t that node n holds.
/// free_bytes(n)      Bytes that node n can still take; the largest size_t if it has no limit.
template <class Ctx>
concept memory_context = clock_context<Ctx> && requires(Ctx const& ctx, TaskId t, NodeId n) {
  { ctx.nodes() } -> std::same_as<std::span<NodeInfo const>>;
  { ctx.valid_bytes(t, n) } -> std::same_as<std::size_t>;
  { ctx.free_bytes(n) } -> std::same_as<std::size_t>;
};

} // namespace hetsched
