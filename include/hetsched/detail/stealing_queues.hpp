// SPDX-License-Identifier: MIT
#pragma once
// What schedulers that steal have in common: a queue and an inbox for each worker.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/array.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::detail {

/// A worker takes the newest of its own queue, then what others put into its inbox; a thief tries
/// each other worker once, from a random one on: the oldest of its queue, then its inbox. `Queue`
/// is an owned_queue, `Inbox` a task_queue.
template <class Queue, class Inbox>
class StealingQueues {
public:
  explicit StealingQueues(std::span<WorkerInfo const> workers) : slots_(workers.size()) {}

  /// By the worker itself.
  [[gnu::always_inline]] void push_own(TaskId task, std::int32_t priority, WorkerId worker) {
    slots_[worker.index()].own.push(task, priority);
  }

  /// By anybody.
  void send(TaskId task, std::int32_t priority, WorkerId to) {
    slots_[to.index()].inbox.push(task, priority);
  }

  /// To a random worker of a class that the task is for.
  template <placement_context Ctx>
  [[gnu::noinline]] WorkerId send_somewhere(Ctx const& ctx, TaskId task, WorkerId from) {
    auto const view = ctx.task(task);
    auto const workers = ctx.workers();
    auto const to = first_able(workers, view.archs, ctx.random(from) % workers.size());
    slots_[to].inbox.push(task, view.priority);
    return workers[to].id;
  }

  /// To the worker that is to have it; no_worker: to the one that makes it, or if it cannot run it
  /// to a random one that can. Others may steal it: whoever sleeps should if that worker is busy.
  template <context Ctx>
  Wake give(Ctx const& ctx, TaskId task, TaskView const& view, WorkerId to, WorkerId from) {
    if (!to) {
      to = from && view.archs.has(ctx.workers()[from.index()].arch) ? from : no_worker;
    }
    if (!to) {
      (void)send_somewhere(ctx, task, from);
      return Wake::any();
    }
    if (to == from) {
      push_own(task, view.priority, from);
      return Wake::any();
    }
    send(task, view.priority, to);
    return ctx.running(to) ? Wake::any() : Wake::worker(to);
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
    Inbox inbox;
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

  FixedArray<Slot> slots_;
};

} // namespace hetsched::detail
