// SPDX-License-Identifier: MIT
#pragma once
// Every task to a worker drawn by lot.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/array.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <cstddef>
#include <span>

namespace hetsched::policies {

/// Decides: a ready task goes to a worker drawn uniformly from those of a class that can run it,
/// and
///   stays there.
/// Source: StarPU's random (Kumar 2017, sec. 1.1.1), here without weights: host cores are equal.
/// Cost: push O(W), pop O(1).
/// Needs: placement_context.
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
    std::size_t able = 0;
    for (auto const& info : ctx.workers()) {
      able += view.archs.has(info.arch) ? 1 : 0;
    }
    auto lot = ctx.random(worker) % able;
    for (auto const& info : ctx.workers()) {
      if (view.archs.has(info.arch) && lot-- == 0) {
        slots_[info.id.index()].queue.push(task, view.priority);
        return Wake::worker(info.id);
      }
    }
    return Wake::none(); // not reached: lot < able
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return slots_[worker.index()].queue.pop([&](TaskId task) { return ctx.can_run(task, worker); });
  }

  /// Nobody else takes from a worker's queue.
  template <placement_context Ctx>
    requires peekable_queue<Queue>
  std::size_t peek(Ctx const&, WorkerId worker, std::span<TaskId> next) {
    return slots_[worker.index()].queue.peek(next);
  }

private:
  struct alignas(64) Slot {
    Queue queue;
  };

  detail::FixedArray<Slot> slots_;
};

} // namespace hetsched::policies
