// SPDX-License-Identifier: MIT
#pragma once
// Work stealing.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/array.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace hetsched::policies {

/// Decides: a worker runs the newest task of its own queue; an idle one steals the oldest of a
///   randomly chosen other, trying each once. A task that its maker cannot run, or that comes from
///   outside the runtime, goes to the inbox of a random worker that can; thieves look there too.
/// Source: Lima et al. 2015, sec. 4.1, algorithm 1, and sec. 4.3.1. The thief runs what it stole
///   instead of putting it into its own queue first.
/// Cost: push and pop O(1); steal O(W).
/// Needs: placement_context.
/// Threading: concurrent.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: the queue, an owned_queue.
/// Limits: knows neither priorities nor data; a task refused by a thief hides those behind it.
template <class Queue>
class WorkStealing {
  static_assert(owned_queue<Queue>,
                "hetsched: WorkStealing<Queue> needs an owned_queue: push, pop "
                "and steal; see concepts/queue.hpp");

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit WorkStealing(std::span<WorkerInfo const> workers) : slots_(workers.size()) {}

  template <placement_context Ctx>
  [[gnu::always_inline]] Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    auto const workers = ctx.workers();
    if (worker && view.archs.has(workers[worker.index()].arch)) {
      slots_[worker.index()].own.push(task, view.priority);
    } else {
      push_elsewhere(ctx, task, worker);
    }
    return Wake::any();
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto& own = slots_[worker.index()].own;
    auto const task = own.pop([&](TaskId offered) { return ctx.can_run(offered, worker); });
    return task ? task : pop_inbox(ctx, worker);
  }

  template <placement_context Ctx>
  Stolen steal(Ctx const& ctx, WorkerId thief) {
    auto const count = ctx.workers().size();
    if (count == 1) {
      return {};
    }
    auto const accept = [&](TaskId task) { return ctx.can_run(task, thief); };
    auto const first = ctx.random(thief) % count;
    for (std::size_t i = 0; i < count; ++i) {
      auto const victim = (first + i) % count;
      if (victim == thief.index()) {
        continue;
      }
      auto& slot = slots_[victim];
      if (auto const task = slot.own.steal(accept)) {
        return {task, is_contested(slot.own)};
      }
      if (auto const task = slot.inbox.pop(accept)) {
        return {task};
      }
    }
    return {};
  }

private:
  template <placement_context Ctx>
  [[gnu::noinline]] TaskId pop_inbox(Ctx const& ctx, WorkerId worker) {
    auto& inbox = slots_[worker.index()].inbox;
    return inbox.pop([&](TaskId offered) { return ctx.can_run(offered, worker); });
  }

  template <placement_context Ctx>
  [[gnu::noinline]] void push_elsewhere(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    auto const workers = ctx.workers();
    auto const target = first_able(workers, view.archs, ctx.random(worker) % workers.size());
    slots_[target].inbox.push(task, view.priority);
  }

  static bool is_contested(Queue const& queue) noexcept {
    if constexpr (requires {
                    { queue.contested() } -> std::same_as<bool>;
                  }) {
      return queue.contested();
    } else {
      return false;
    }
  }

  struct alignas(64) Slot {
    Queue own;
    Fifo inbox;
  };

  /// The first worker from `start` on, cyclically, of a class in `archs`.
  static std::size_t
  first_able(std::span<WorkerInfo const> workers, ArchMask archs, std::size_t start) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      auto const w = (start + i) % workers.size();
      if (archs.has(workers[w].arch)) {
        return w;
      }
    }
    return start; // not reached: the engine pushes only what some worker can run
  }

  detail::FixedArray<Slot> slots_;
};

} // namespace hetsched::policies
