// SPDX-License-Identifier: MIT
#pragma once
// The common part of schedulers that steal: a queue and an inbox for each worker.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/policies/at_node.hpp>
#include <hetsched/detail/policies/victims.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::detail {

/// Draws one of these memory nodes, and one of its workers that can run the task. Returns no_worker
/// if the task's maker is one of these workers, or if there is no node. Each node has such a
/// worker.
template <context Ctx>
[[nodiscard]] WorkerId
draw_worker(Ctx const& ctx, ArchMask archs, std::uint64_t nodes, WorkerId maker) {
  auto const draw = [&](std::int64_t count) {
    return count > 1 ? ctx.random(maker) % static_cast<std::uint64_t>(count) : 0;
  };
  for (auto lot = draw(std::popcount(nodes)); lot > 0; --lot) {
    nodes &= nodes - 1;
  }
  nodes &= ~(nodes - 1); // the first that is left
  auto const workers = ctx.workers();
  auto const is_there = [&](WorkerInfo const& info) {
    return archs.has(info.arch) && node_bit(info) == nodes;
  };
  if (maker && is_there(workers[maker.index()])) {
    return no_worker;
  }
  auto lot = draw(std::count_if(workers.begin(), workers.end(), is_there));
  for (auto const& info : workers) {
    if (is_there(info) && lot-- == 0) {
      return info.id;
    }
  }
  return no_worker;
}

/// A worker takes the newest of its own queue, then what others put into its inbox; a thief tries
/// each other worker once, in the order of `Victim` (victims.hpp): the oldest of its queue, then
/// its inbox. `Queue` is an owned_queue, `Inbox` a task_queue; both sized if the victim's load
/// counts.
///
/// pop, steal and peek are a scheduler's hooks. What only a theft would give is not peeked at.
template <class Queue, class Inbox, class Victim>
class StealingQueues {
  static_assert(!Victim::needs_load || (sized_queue<Queue> && sized_queue<Inbox>),
                "hetsched: MostLoadedVictim needs a sized_queue (size) and an inbox that is "
                "one; see concepts/queue.hpp");

public:
  explicit StealingQueues(std::span<WorkerInfo const> workers)
      : slots_(workers.size()), victim_(workers) {}

  /// Called by the worker itself.
  [[gnu::always_inline]] void push_own(TaskId task, std::int32_t priority, WorkerId worker) {
    slots_[worker.index()].own.push(task, priority);
  }

  /// Any worker or outside thread may call it.
  void send(TaskId task, std::int32_t priority, WorkerId to) {
    slots_[to.index()].inbox.push(task, priority);
  }

  /// Sends the task to a random worker of a class that can run it.
  template <placement_context Ctx>
  [[gnu::noinline]] WorkerId send_somewhere(Ctx const& ctx, TaskId task, WorkerId from) {
    auto const view = ctx.task(task);
    auto const workers = ctx.workers();
    auto const to = first_able(workers, view.archs, ctx.random(from) % workers.size());
    slots_[to].inbox.push(task, view.priority);
    return workers[to].id;
  }

  /// To the worker that is to have it; no_worker, or one that cannot run it now: to the one that
  /// makes it, or if that cannot run it to a random one of a class that can. Others may steal it:
  /// whoever sleeps should if that worker is busy.
  template <context Ctx>
  Wake give(Ctx const& ctx, TaskId task, TaskView const& view, WorkerId to, WorkerId from) {
    if (!to || (to != from && !ctx.can_run(task, to))) {
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

  /// A guess while other threads run: thieves may take the tasks meanwhile.
  template <placement_context Ctx>
    requires peekable_queue<Queue> && peekable_queue<Inbox>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto& slot = slots_[worker.index()];
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    auto const own = slot.own.peek(next, accept);
    return own + slot.inbox.peek(next.subspan(own), accept);
  }

  template <placement_context Ctx>
  Stolen steal(Ctx const& ctx, WorkerId thief) {
    if (ctx.workers().size() == 1) {
      return {};
    }
    auto const accept = [&](TaskId task) { return ctx.can_run(task, thief); };
    auto const load = [&](std::size_t victim) -> std::size_t {
      if constexpr (Victim::needs_load) {
        return slots_[victim].own.size() + slots_[victim].inbox.size();
      } else {
        return 0;
      }
    };
    auto const take = [&](std::size_t victim) -> Stolen {
      auto& slot = slots_[victim];
      if (auto const task = slot.own.steal(accept)) {
        return {task, is_contested(slot.own)};
      }
      return {slot.inbox.pop(accept)};
    };
    return victim_.steal(ctx, thief, load, take);
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
    return start; // not reached: the engine pushes only tasks that some worker can run
  }

  FixedArray<Slot> slots_;
  [[no_unique_address]] Victim victim_;
};

} // namespace hetsched::detail
