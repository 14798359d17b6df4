// SPDX-License-Identifier: MIT
#pragma once
// What schedulers have in common that give each ready task to the worker expected to end it first.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/array.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A map whose entries come and go: their memory is used again.
template <class Map>
class ReusingMap {
public:
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  /// The key's entry, made if there was none.
  Value& operator[](Key key) {
    if (spare_.empty()) {
      return map_[key];
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = key;
    node.mapped() = Value{};
    auto inserted = map_.insert(std::move(node));
    if (!inserted.inserted) {
      spare_.push_back(std::move(inserted.node));
    }
    return inserted.position->second;
  }

  [[nodiscard]] auto find(Key key) { return map_.find(key); }

  void erase(typename Map::iterator its) { spare_.push_back(map_.extract(its)); }

  [[nodiscard]] auto begin() const { return map_.begin(); }

  [[nodiscard]] auto end() const { return map_.end(); }

private:
  Map map_;
  std::vector<typename Map::node_type> spare_;
};

/// A queue for each worker, and when it is expected to have done what is in it. The dates are
/// corrected whenever a task ends. A task for which the model has no time on some class that could
/// run it goes to a queue that all workers look into behind their own: it is run by whoever is free
/// first, and so tried on every class, until the model knows better.
///
/// To be used under one lock. Nothing is iterated over in the order of a hash. `Undecided` is a
/// task_queue, too.
template <class Queue, class Undecided>
class EarliestFinish {
public:
  explicit EarliestFinish(std::span<WorkerInfo const> workers) : slots_(workers.size()) {}

  /// Chooses the worker: the least sum of when it is free, the task's transfers there and its
  /// predicted time; the lowest number among equals. In a queue ordered by priority, it is free for
  /// the task when it has done what goes first. O(W + data), and O(distinct priorities in the
  /// queue) for each worker if these count. Workers that cannot run it now come last.
  template <context Ctx>
  Wake assign(Ctx const& ctx, TaskId task) {
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
      if (!view.archs.has(info.arch)) {
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
      if (info.node != node) { // neighbours share one
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
        // It keeps the worker waiting as far as that is free before the data can be there.
        best_cost = std::max(ctx.now() + transfer, free) - free + *times[arch];
      }
    }
    return give(ctx, task, best, best_cost, "is expected to end it first");
  }

  /// To this worker, for which it will take that long.
  template <context Ctx>
  Wake give(Ctx const& ctx, TaskId task, WorkerId worker, Duration cost, char const* why) {
    auto const priority = ctx.task(task).priority;
    explain(ctx, task, priority, worker, why);
    auto& slot = slots_[worker.index()];
    slot.queue.push(task, priority);
    slot.load.add(priority, cost);
    assigned_[task.value] = {cost, priority};
    return Wake::worker(worker);
  }

  /// To whoever is free.
  template <context Ctx>
  Wake leave_open(Ctx const& ctx, TaskId task) {
    auto const priority = ctx.task(task).priority;
    explain(ctx, task, priority, {}, "some class has no time for it yet: whoever is free");
    undecided_.push(task, priority);
    return Wake::any();
  }

  /// It was given to that worker, which has not taken it: as if it had not been.
  void take_back(TaskId task, WorkerId worker) {
    auto& slot = slots_[worker.index()];
    (void)slot.queue.pop([task](TaskId its) { return its == task; });
    forget(slot, task);
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
    auto const task = take(slot.queue, accept);
    if (!task) {
      return undecided_.pop(accept);
    }
    auto const cost = forget(slot, task);
    // What was cancelled has no epilogue. A core has ended all else when it looks for work; a
    // device may wait for data of what it has taken.
    bool const on_core = ctx.workers()[worker.index()].arch == ArchHost;
    if (!ctx.running(worker) && (on_core || slot.until <= ctx.now())) {
      slot.taken.clear();
    }
    slot.taken.push_back({task, cost});
    slot.until = std::max(slot.until, ctx.now()) + cost;
    return task;
  }

  /// What pop would answer the worker next.
  std::size_t peek(WorkerId worker, std::span<TaskId> next) {
    return slots_[worker.index()].queue.peek(next);
  }

  /// The task has ended there.
  template <clock_context Ctx>
  void end(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto& slot = slots_[worker.index()];
    std::erase_if(slot.taken, [task](Taken const& its) { return its.task == task; });
    slot.until = ctx.now();
    for (auto const& its : slot.taken) {
      slot.until = slot.until + its.cost;
    }
  }

private:
  /// The sum of what tasks cost; with priorities, of those that are not lower.
  class Load {
  public:
    void add(std::int32_t priority, Duration cost) {
      if constexpr (Queue::ordered_by_priority) {
        auto& its = by_priority_[priority];
        its.sum += cost;
        ++its.tasks;
      } else {
        all_ += cost;
      }
    }

    void remove(std::int32_t priority, Duration cost) {
      if constexpr (Queue::ordered_by_priority) {
        auto const its = by_priority_.find(priority);
        its->second.sum = its->second.sum - cost;
        if (--its->second.tasks == 0) {
          by_priority_.erase(its);
        }
      } else {
        all_ = all_ - cost;
      }
    }

    [[nodiscard]] Duration before(std::int32_t priority) const {
      if constexpr (Queue::ordered_by_priority) {
        Duration sum;
        for (auto const& [its, level] : by_priority_) {
          if (its < priority) {
            break;
          }
          sum += level.sum;
        }
        return sum;
      } else {
        return all_;
      }
    }

  private:
    struct Level {
      Duration sum;
      std::size_t tasks = 0;
    };

    Duration all_;
    ReusingMap<std::map<std::int32_t, Level, std::greater<>>> by_priority_; // highest first
  };

  struct Taken {
    TaskId task;
    Duration cost;
  };

  struct alignas(64) Slot {
    Queue queue;
    Load load;                // of the queue
    Instant until;            // expected end of what it has taken
    std::vector<Taken> taken; // and not ended
  };

  /// The task is no longer in the queue. Answers what it was to cost.
  Duration forget(Slot& slot, TaskId task) {
    auto const known = assigned_.find(task.value);
    auto const [cost, priority] = known->second;
    assigned_.erase(known);
    slot.load.remove(priority, cost);
    return cost;
  }

  /// Before the choice changes anything.
  template <context Ctx>
  void
  explain(Ctx const& ctx, TaskId task, std::int32_t priority, WorkerId chosen, char const* why) {
    if constexpr (explaining_context<Ctx>) {
      if (ctx.explains(task)) [[unlikely]] {
        std::vector<Duration> waits;
        for (auto const& slot : slots_) {
          waits.push_back(free_at(slot, ctx.now(), priority) - ctx.now());
        }
        ctx.explain(task, chosen, waits, why);
      }
    }
  }

  static Instant free_at(Slot const& slot, Instant now, std::int32_t priority) {
    return std::max(slot.until, now) + slot.load.before(priority);
  }

  FixedArray<Slot> slots_;
  Undecided undecided_;
  ReusingMap<std::unordered_map<std::uint64_t, std::pair<Duration, std::int32_t>>>
      assigned_; // in the queues
};

} // namespace hetsched::detail
