// SPDX-License-Identifier: MIT
#pragma once
// Every task to a worker drawn by lot.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::policies {

/// Decides: a ready task goes to a worker drawn from those of a class that can run it, and stays
///   there. If its time on each of these is known, a worker that is twice as fast has twice the
///   chance; else all have the same.
/// Source: StarPU's random (Kumar 2017, sec. 1.1.1). There a worker's speed is one number, here it
///   is the task's own.
/// Cost: push O(W), pop O(1).
/// Needs: placement_context; context for the weights.
/// Threading: concurrent.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: the queue, a task_queue.
/// Limits: no stealing, so it balances by luck only; the baseline that others must beat.
template <class Queue>
class Random {
  static_assert(task_queue<Queue>,
                "hetsched: Random<Queue> needs a task_queue: push and pop; see concepts/queue.hpp");

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope =
      Queue::ordered_by_priority ? PriorityScope::per_queue : PriorityScope::none;

  explicit Random(std::span<WorkerInfo const> workers) : slots_(workers.size()) {}

  template <placement_context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    auto const weights = weights_of(ctx, task, view);
    std::uint64_t sum = 0;
    for (auto const& info : ctx.workers()) {
      sum += weights[info.arch.index];
    }
    auto lot = ctx.random(worker) % sum;
    for (auto const& info : ctx.workers()) {
      auto const weight = weights[info.arch.index];
      if (lot < weight) {
        slots_[info.id.index()].queue.push(task, view.priority);
        return Wake::worker(info.id);
      }
      lot -= weight;
    }
    return Wake::none(); // not reached: lot < sum
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return slots_[worker.index()].queue.pop([&](TaskId task) { return ctx.can_run(task, worker); });
  }

  /// Nobody else takes from a worker's queue.
  template <placement_context Ctx>
    requires peekable_queue<Queue>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    return slots_[worker.index()].queue.peek(
        next, [&](TaskId task) { return ctx.can_run(task, worker); });
  }

private:
  using Weights = std::array<std::uint64_t, max_archs>;

  /// A worker's chance, by class: the task's speed there, or 1 if that is not known everywhere.
  template <placement_context Ctx>
  static Weights weights_of(Ctx const& ctx, TaskId task, TaskView const& view) {
    Weights speeds{};
    Weights ones{};
    bool known = context<Ctx>;
    for (auto const& info : ctx.workers()) {
      auto const arch = info.arch.index;
      if (!view.archs.has(info.arch) || ones[arch] != 0) {
        continue;
      }
      ones[arch] = 1;
      if constexpr (context<Ctx>) {
        constexpr std::int64_t fastest = std::int64_t{1} << 40U; // a task in a nanosecond
        auto const time = ctx.predicted(task, info.id);
        known = known && time;
        speeds[arch] = time ? static_cast<std::uint64_t>(
                                  fastest / std::clamp<std::int64_t>(time->mean.ns, 1, fastest))
                            : 0;
      }
    }
    return known ? speeds : ones;
  }

  struct alignas(64) Slot {
    Queue queue;
  };

  detail::FixedArray<Slot> slots_;
};

} // namespace hetsched::policies
