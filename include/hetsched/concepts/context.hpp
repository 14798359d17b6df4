// SPDX-License-Identifier: MIT
#pragma once
// What a policy may know: the concept `context`, implemented once per engine.

#include <hetsched/platform.hpp>
#include <hetsched/task.hpp>
#include <hetsched/time.hpp>
#include <hetsched/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hetsched {

/// A performance model's answer: how long, how sure.
struct Prediction {
  Duration mean;
  Duration spread;           // standard deviation
  std::uint64_t samples = 0; // behind the answer; 0: taken from a description, not measured
};

/// now(): since the runtime began; never decreases; frozen during a hook (read it at most once).
template <class Ctx>
concept clock_context = requires(Ctx const& ctx) {
  { ctx.now() } -> std::same_as<Instant>;
};

/// workers(): all workers, in order of their ids; the same span for ever.
/// can_run(t, w): whether w may take t now. It changes with time: a worker that waits in a nested
///   sync can run descendants of the waiting task only. A stale t gets an arbitrary answer. A
///   policy never returns from pop or steal a task that the worker cannot run.
/// random(w): next number of w's own stream (seeded); no_worker has a stream too.
/// task(t): valid from t's push until its epilogue returns.
template <class Ctx>
concept placement_context = requires(Ctx const& ctx, TaskId t, WorkerId w) {
  { ctx.workers() } -> std::same_as<std::span<WorkerInfo const>>;
  { ctx.can_run(t, w) } -> std::same_as<bool>;
  { ctx.random(w) } -> std::same_as<std::uint64_t>;
  { ctx.task(t) } -> std::same_as<TaskView>;
};

/// predicted(t, w): how long t would run on w; nothing if the model does not know.
/// transfer(t, w): time to bring t's missing data to w's memory node.
/// running(w): what w executes, or no_task. busy_until(w): when it will have done what it has
///   committed to; now() if that is nothing or not known.
template <class Ctx>
concept context =
    clock_context<Ctx> && placement_context<Ctx> && requires(Ctx const& ctx, TaskId t, WorkerId w) {
      { ctx.predicted(t, w) } -> std::same_as<std::optional<Prediction>>;
      { ctx.transfer(t, w) } -> std::same_as<Duration>;
      { ctx.running(w) } -> std::same_as<TaskId>;
      { ctx.busy_until(w) } -> std::same_as<Instant>;
    };

/// explains(t): whether somebody asked why t goes where it goes, between its push and its pop.
/// explain(t, chosen, waits, why): the scheduler has chosen a worker, or none; waits[w] is how long
/// t would have to wait for worker w to be free.
template <class Ctx>
concept explaining_context =
    context<Ctx> &&
    requires(Ctx const& ctx, TaskId t, WorkerId w, std::span<Duration const> waits) {
      { ctx.explains(t) } -> std::same_as<bool>;
      { ctx.explain(t, w, waits, "why") } -> std::same_as<void>;
    };

/// nodes(): all memory nodes. valid_bytes(t, n): bytes of t's data that node n holds.
/// free_bytes(n): what it could still take; the largest size_t where nothing bounds it.
template <class Ctx>
concept memory_context = clock_context<Ctx> && requires(Ctx const& ctx, TaskId t, NodeId n) {
  { ctx.nodes() } -> std::same_as<std::span<NodeInfo const>>;
  { ctx.valid_bytes(t, n) } -> std::same_as<std::size_t>;
  { ctx.free_bytes(n) } -> std::same_as<std::size_t>;
};

} // namespace hetsched
