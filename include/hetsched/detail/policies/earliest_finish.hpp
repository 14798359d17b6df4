// SPDX-License-Identifier: MIT
#pragma once
// The common part of schedulers that give each ready task to the worker expected to end it first.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/policies/task_table.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A queue for each worker, and when it is expected to have done what is in it. The dates are
/// corrected whenever a task ends. A task for which the model has no time on some class that could
/// run it goes to a queue that all workers look into behind their own: it is run by whoever is free
/// first, and so tried on every class, until the model knows better.
///
/// Any thread may push, pop and end at any time: each queue has a lock, and tasks are pushed under
/// one more, so that whoever chooses sees what was chosen before. A worker's own pops and ends wait
/// for nobody but those who give it something at that moment. Nothing is iterated over in the order
/// of a hash. `Undecided` is a task_queue, too.
///
/// push, pop, peek and epilogue are a scheduler's hooks.
template <class Queue, class Undecided>
class EarliestFinish {
public:
  explicit EarliestFinish(std::span<WorkerInfo const> workers) : slots_(workers.size()) {}

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    return together([&] { return assign(ctx, task); });
  }

  /// `choices` assigns several tasks. No other thread assigns any meanwhile.
  template <class Choices>
  auto together(Choices&& choices) {
    std::lock_guard const guard(choosing_);
    return choices();
  }

  /// In `together`, or under the lock of a serialized scheduler. `among`: classes to choose from.
  /// Chooses the worker: the least sum of when it is free, the task's transfers
  /// there and its predicted time; the lowest number among equals. In a queue ordered by priority,
  /// it is free for the task when it has done what goes first. O(W + data), and O(distinct
  /// priorities in the queue) for each worker if these count. Workers that cannot run it now come
  /// last.
  template <context Ctx>
  Wake assign(Ctx const& ctx, TaskId task, ArchMask among = {0xff}) {
    auto const view = ctx.task(task);
    WorkerId best;
    Instant best_end;
    Duration best_cost;
    bool best_can = false;
    std::array<std::optional<Duration>, max_archs> times;
    std::array<bool, max_archs> asked{};
    NodeId node{-1};
    Duration transfer;
    for (auto const& info : ctx.workers()) {
      auto const arch = info.arch.index;
      if (!(view.archs & among).has(info.arch)) {
        continue;
      }
      if (!std::exchange(asked[arch], true)) {
        if (auto const known = ctx.predicted(task, info.id)) {
          times[arch] = known->mean;
        }
      }
      if (!times[arch]) {
        return leave_open(ctx, task);
      }
      if (info.node != node) { // neighbours are on one node
        node = info.node;
        transfer = ctx.transfer(task, info.id);
      }
      auto const free = free_at(slots_[info.id.index()], ctx.now(), view.priority);
      auto const end = free + transfer + *times[arch];
      bool const can = ctx.can_run(task, info.id);
      if (!best || (can == best_can ? end < best_end : can)) {
        best = info.id;
        best_end = end;
        best_can = can;
        // It keeps the worker waiting if the worker is free before the data can be there.
        best_cost = std::max(ctx.now() + transfer, free) - free + *times[arch];
      }
    }
    return give(ctx, task, best, best_cost, "is expected to end it first");
  }

  /// The same for a scheduler that has chosen in another way. The task goes to this worker, where
  /// it will take this time.
  template <context Ctx>
  Wake give(Ctx const& ctx, TaskId task, WorkerId worker, Duration cost, char const* why) {
    auto const priority = ctx.task(task).priority;
    explain(ctx, task, priority, worker, why);
    auto& slot = slots_[worker.index()];
    std::lock_guard const guard(slot.lock);
    slot.assigned.make_room(slot.assigned.size() + 1);
    slot.load.add(priority, cost);
    try {
      slot.queue.push(task, priority);
    } catch (...) {
      slot.load.remove(priority, cost);
      throw;
    }
    slot.assigned.insert(task, {cost, priority});
    // seq_cst, as pop's look at it: a push that precedes the engine's look at sleeping workers is
    // seen by one that announced its sleep before (concepts/queue.hpp, visibility).
    slot.queued.store(slot.assigned.size(), std::memory_order_seq_cst);
    return Wake::worker(worker);
  }

  /// The same: so many tasks can be given after that without memory.
  void make_room(std::size_t tasks) {
    for (auto& slot : slots_) {
      std::lock_guard const guard(slot.lock);
      slot.queue.make_room(tasks);
      slot.assigned.make_room(slot.assigned.size() + tasks);
    }
  }

  /// The same: the task goes to the first free worker.
  template <context Ctx>
  Wake leave_open(Ctx const& ctx, TaskId task) {
    auto const priority = ctx.task(task).priority;
    explain(ctx, task, priority, {}, "some class has no time for it yet: whoever is free");
    undecided_.push(task, priority);
    return Wake::any();
  }

  /// Takes the task back from this worker, which has not taken it yet.
  void take_back(TaskId task, WorkerId worker) {
    (void)take_from(
        slots_[worker.index()],
        [](Queue& queue, auto const& accept) { return queue.pop(accept); },
        [task](TaskId other) { return other == task; });
  }

  /// When the worker is expected to have done all that it was given.
  [[nodiscard]] Instant free_at(WorkerId worker, Instant now) const {
    return free_at(slots_[worker.index()], now, std::numeric_limits<std::int32_t>::min());
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return pop_by(ctx, worker, [](Queue& queue, auto const& accept) { return queue.pop(accept); });
  }

  /// `take(queue, accept)` chooses from the worker's queue.
  template <context Ctx, class Take>
  TaskId pop_by(Ctx const& ctx, WorkerId worker, Take const& take) {
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    auto& slot = slots_[worker.index()];
    if (slot.queued.load(std::memory_order_seq_cst) != 0) {
      if (auto const [task, cost, at] = take_from(slot, take, accept); task) {
        note_taken(ctx, slot, task, cost, worker);
        return task;
      }
    }
    return undecided_.pop(accept);
  }

  /// What one worker would take from another, and what it costs there.
  struct Chosen {
    TaskId task;
    Duration cost;
  };

  /// `taker` takes what `choose(queue, accept)` answers, a Chosen, of what it can run in the queue
  /// of another worker.
  template <context Ctx, class Choose>
  TaskId take_over(Ctx const& ctx, WorkerId owner, WorkerId taker, Choose const& choose) {
    Duration cost;
    auto const take = [&](Queue& queue, auto const& accept) {
      auto const chosen = choose(queue, accept);
      cost = chosen.cost;
      return chosen.task ? queue.pop([&](TaskId task) { return task == chosen.task; }) : no_task;
    };
    auto const task = take_from(slots_[owner.index()], take, [&](TaskId offered) {
                        return ctx.can_run(offered, taker);
                      }).task;
    if (task) {
      note_taken(ctx, slots_[taker.index()], task, cost, taker);
    }
    return task;
  }

  /// What `take_over` would take now.
  template <context Ctx, class Choose>
  TaskId would_take_over(Ctx const& ctx, WorkerId owner, WorkerId taker, Choose const& choose) {
    auto& slot = slots_[owner.index()];
    std::lock_guard const guard(slot.lock);
    return choose(slot.queue, [&](TaskId offered) { return ctx.can_run(offered, taker); }).task;
  }

  template <context Ctx>
    requires peekable_queue<Queue> && peekable_queue<Undecided>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    return peek_by(ctx, worker, next, [](Queue& queue, std::span<TaskId> room, auto const& accept) {
      return queue.peek(room, accept);
    });
  }

  /// `look(queue, next, accept)` peeks at the worker's queue. Of the tasks behind those any worker
  /// may take some meanwhile.
  template <context Ctx, class Look>
  std::size_t peek_by(Ctx const& ctx, WorkerId worker, std::span<TaskId> next, Look const& look) {
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    auto& slot = slots_[worker.index()];
    std::size_t count = 0;
    {
      std::lock_guard const guard(slot.lock);
      count = look(slot.queue, next, accept);
    }
    return count + undecided_.peek(next.subspan(count), accept);
  }

  /// When the worker took the task, which has not ended yet; the start if that is not known.
  [[nodiscard]] Instant taken_at(TaskId task, WorkerId worker) const {
    for (auto const& taken : slots_[worker.index()].taken) {
      if (taken.task == task) {
        return taken.at;
      }
    }
    return {};
  }

  template <clock_context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration) {
    auto& slot = slots_[worker.index()];
    std::erase_if(slot.taken, [task](Taken const& taken) { return taken.task == task; });
    auto until = ctx.now();
    for (auto const& taken : slot.taken) {
      until = until + taken.cost;
    }
    slot.busy_until(until);
  }

private:
  /// The sum of what tasks cost; with priorities, of those that are not lower. Written under the
  /// slot's lock, and so read if there are priorities. relaxed: a choice uses several such figures,
  /// and none must be the latest.
  class Load {
  public:
    void add(std::int32_t priority, Duration cost) {
      if constexpr (Queue::ordered_by_priority) {
        auto level = level_of(priority);
        if (level == levels_.end() || level->priority != priority) {
          level = levels_.insert(level, {priority, 0, {}});
        }
        level->sum += cost;
        ++level->tasks;
      } else {
        all_ns_.store(all_ns_.load(std::memory_order_relaxed) + cost.ns, std::memory_order_relaxed);
      }
    }

    void remove(std::int32_t priority, Duration cost) {
      if constexpr (Queue::ordered_by_priority) {
        auto const level = level_of(priority);
        level->sum = level->sum - cost;
        if (--level->tasks == 0) {
          levels_.erase(level);
        }
      } else {
        add(priority, {-cost.ns});
      }
    }

    [[nodiscard]] Duration before(std::int32_t priority) const {
      if constexpr (Queue::ordered_by_priority) {
        Duration sum;
        for (auto level = levels_.begin(); level != levels_.end() && level->priority >= priority;
             ++level) {
          sum += level->sum;
        }
        return sum;
      } else {
        return {all_ns_.load(std::memory_order_relaxed)};
      }
    }

  private:
    struct Level {
      std::int32_t priority;
      std::uint32_t tasks;
      Duration sum;
    };

    /// The first that is not higher.
    auto level_of(std::int32_t priority) {
      return std::lower_bound(
          levels_.begin(), levels_.end(), priority, [](Level const& level, std::int32_t other) {
            return level.priority > other;
          });
    }

    Atomic<std::int64_t> all_ns_{0};
    std::vector<Level> levels_; // highest first
  };

  struct Taken {
    TaskId task;
    Duration cost;
    Instant at; // when the worker took it
  };

  struct Assigned {
    Duration cost;
    std::int32_t priority;
  };

  struct alignas(64) Slot {
    mutable SpinLock lock;         // of what comes up to `assigned`
    Atomic<std::size_t> queued{0}; // tasks in the queue; written under the lock
    Load load;                     // of them
    Queue queue;
    TaskTable<Assigned> assigned; // what is in the queue
    // the worker's own
    alignas(64) Atomic<std::int64_t> until_ns{0}; // expected end of the tasks that it has taken
    std::vector<Taken> taken;                     // and not ended

    /// relaxed: see Load.
    [[nodiscard]] Instant until() const { return {until_ns.load(std::memory_order_relaxed)}; }

    void busy_until(Instant until) { until_ns.store(until.ns, std::memory_order_relaxed); }
  };

  template <class Take, class Accept>
  static Taken take_from(Slot& slot, Take const& take, Accept const& accept) {
    std::lock_guard const guard(slot.lock);
    auto const task = take(slot.queue, accept);
    if (!task) {
      return {};
    }
    auto const [cost, priority] = slot.assigned.take(task);
    slot.queued.store(slot.assigned.size(),
                      std::memory_order_relaxed); // the number falls: no thread waits for that
    slot.load.remove(priority, cost);
    return {task, cost, {}};
  }

  /// The worker takes the task.
  template <context Ctx>
  static void note_taken(Ctx const& ctx, Slot& slot, TaskId task, Duration cost, WorkerId worker) {
    // A cancelled task has no epilogue. A core that looks for work has ended all its tasks. A
    // device may still wait for data of its tasks.
    bool const on_core = ctx.workers()[worker.index()].arch == ArchHost;
    if (!ctx.running(worker) && (on_core || slot.until() <= ctx.now())) {
      slot.taken.clear();
    }
    try {
      slot.taken.push_back({task, cost, ctx.now()});
    } catch (std::bad_alloc const&) { // the next end sets the date as if this task were over
    }
    slot.busy_until(std::max(slot.until(), ctx.now()) + cost);
  }

  /// Before the choice changes anything.
  template <context Ctx>
  void
  explain(Ctx const& ctx, TaskId task, std::int32_t priority, WorkerId chosen, char const* why) {
    if constexpr (explaining_context<Ctx>) {
      if (ctx.explains(task)) [[unlikely]] {
        try {
          std::vector<Duration> waits;
          for (auto const& slot : slots_) {
            waits.push_back(free_at(slot, ctx.now(), priority) - ctx.now());
          }
          ctx.explain(task, chosen, waits, why);
        } catch (std::bad_alloc const&) { // without it
        }
      }
    }
  }

  static Instant free_at(Slot const& slot, Instant now, std::int32_t priority) {
    if constexpr (Queue::ordered_by_priority) {
      std::lock_guard const guard(slot.lock);
      return std::max(slot.until(), now) + slot.load.before(priority);
    } else {
      return std::max(slot.until(), now) + slot.load.before(priority);
    }
  }

  SpinLock choosing_;
  FixedArray<Slot> slots_;
  Undecided undecided_;
};

} // namespace hetsched::detail
