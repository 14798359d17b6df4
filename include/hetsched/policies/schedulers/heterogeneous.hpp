// SPDX-License-Identifier: MIT
#pragma once
// The scheduler to take for cores and GPUs if one does not want to study schedulers.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/activated_order.hpp>
#include <hetsched/detail/policies/at_node.hpp>
#include <hetsched/detail/policies/earliest_finish.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hetsched::policies {

/// Decides: as Heftp, and corrects what that does badly where transfers count. A task goes to the
///   queue of the worker that is expected to end it first, of those that one end makes ready the
///   highest priority first; workers run the highest priority of their queues first. But
///   - a core that has nothing takes over the last task of the GPU that will be busy for longest,
///     unless the core would take more than 10/3 of that time. It need not end the task sooner: the
///     GPU has others, and the last one is the least urgent. Cores leave types of tasks alone of
///     which all of them together do less than 1/12 of what the GPUs do;
///   - a GPU whose memory is full but for a tenth, and that has of late waited for data for more
///     than a tenth of the time that its tasks ran, runs what lacks the fewest bytes first;
///   - a GPU tells only the two tasks that come next, so that the others stay free for cores.
/// Source: HEFT as in Kumar 2017, sec. 3.6; the corrections are our own (docs/schedulers.md).
/// Cost: push O(W + data), under a lock that pushes share; pop O(log Q), for an idle core or a GPU
///   with a full memory O(Q x data).
/// Needs: context: predicted times and transfers, from a PerfModel or a platform; free memory, if
///   it is limited; priorities, such as Priorities::bottom_min.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: all that are not cores are GPUs. What a GPU has does not go to another GPU. Tasks of
///   unknown times go to whoever is free.
class Heterogeneous {
public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::per_queue;

  explicit Heterogeneous(std::span<WorkerInfo const> workers)
      : dates_(workers), balances_(workers.size()),
        cores_(std::count_if(workers.begin(), workers.end(), is_core)),
        devices_(static_cast<std::int64_t>(workers.size()) - cores_) {}

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto wake = Wake::none();
    push_activated(ctx, {&task, 1}, worker, {&wake, 1});
    return wake;
  }

  template <context Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId /*worker*/,
                      std::span<Wake> wakes) {
    dates_.together([&] {
      for (auto const& place : order_.of(ctx, tasks)) {
        wakes[place.number] = assign(ctx, tasks[place.number]);
      }
    });
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const& info = ctx.workers()[worker.index()];
    if (data_first(ctx, info)) {
      return dates_.pop_by(ctx, worker, [&](Queue& queue, auto const& accept) {
        auto const least = queue.least(missing_on(ctx, info.node), accept);
        return queue.pop([least](TaskId task) { return task == least; });
      });
    }
    auto const task = dates_.pop(ctx, worker);
    return task || !is_core(info) ? task : take_over(ctx, worker);
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const& info = ctx.workers()[worker.index()];
    if (is_core(info)) {
      return dates_.peek(ctx, worker, next);
    }
    auto const told = next.first(std::min(next.size(), most_told));
    if (!data_first(ctx, info)) {
      return dates_.peek(ctx, worker, told);
    }
    return dates_.peek_by(
        ctx, worker, told, [&](Queue& queue, std::span<TaskId> room, auto const& accept) {
          std::size_t count = 0;
          auto const others = [&](TaskId task) {
            auto const found = room.first(count);
            return std::find(found.begin(), found.end(), task) == found.end() && accept(task);
          };
          for (; count < room.size(); ++count) {
            room[count] = queue.least(missing_on(ctx, info.node), others);
            if (!room[count]) {
              break;
            }
          }
          return count;
        });
  }

  template <clock_context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration measured) {
    auto& balance = balances_[worker.index()];
    auto const end = ctx.now();
    auto const could_begin = std::max(balance.end, dates_.taken_at(task, worker));
    auto const waited = std::max<std::int64_t>(0, (end - could_begin).ns - measured.ns);
    balance.waited = 0.98 * balance.waited + static_cast<double>(waited);
    balance.ran = 0.98 * balance.ran + static_cast<double>(measured.ns);
    balance.end = end;
    dates_.epilogue(ctx, task, worker, measured);
  }

private:
  static constexpr std::size_t most_told = 2;

  /// Highest first, and all that is there counts.
  struct Queue : PriorityHeap {
    static constexpr bool ordered_by_priority = false;
  };

  static bool is_core(WorkerInfo const& info) noexcept { return info.arch == ArchHost; }

  /// The worker that the task was given to is woken, or a core that would take over a task of it.
  template <context Ctx>
  Wake assign(Ctx const& ctx, TaskId task) {
    auto const wake = dates_.assign(ctx, task);
    auto const device = wake.target();
    if (!device || is_core(ctx.workers()[device.index()]) || !ctx.running(device)) {
      return wake; // a device at work does not sleep
    }
    auto const workers = ctx.workers();
    auto const idle = std::find_if(workers.begin(), workers.end(), [&](WorkerInfo const& info) {
      return is_core(info) && !ctx.running(info.id) && ctx.can_run(task, info.id);
    });
    return idle != workers.end() && cost_of_taking_over(ctx, task, device, idle->id) // as any core
               ? Wake::worker(idle->id)
               : wake;
  }

  template <context Ctx>
  TaskId take_over(Ctx const& ctx, WorkerId core) {
    WorkerId busiest;
    Instant until = ctx.now();
    for (auto const& info : ctx.workers()) {
      if (!is_core(info) && ctx.running(info.id)) {
        if (auto const free = dates_.free_at(info.id, ctx.now()); free > until) {
          busiest = info.id;
          until = free;
        }
      }
    }
    return busiest ? dates_.take_last(
                         ctx,
                         busiest,
                         core,
                         [&](TaskId task) { return cost_of_taking_over(ctx, task, busiest, core); })
                   : no_task;
  }

  /// How long the core would take for a task that the device has, if it may take that over.
  template <context Ctx>
  std::optional<Duration>
  cost_of_taking_over(Ctx const& ctx, TaskId task, WorkerId device, WorkerId core) const {
    auto const here = ctx.predicted(task, core);
    auto const there = ctx.predicted(task, device);
    if (!here || !there || 12 * cores_ * there->mean.ns < devices_ * here->mean.ns) {
      return std::nullopt;
    }
    auto const cost = ctx.transfer(task, core) + here->mean;
    auto const wait = dates_.free_at(device, ctx.now()) - ctx.now();
    return 3 * cost.ns <= 10 * wait.ns ? std::optional(cost) : std::nullopt;
  }

  /// Whether the worker's memory is full but for a tenth, and data are what it waits for.
  template <context Ctx>
  bool data_first(Ctx const& ctx, WorkerInfo const& worker) const {
    if constexpr (memory_context<Ctx>) {
      for (auto const& info : ctx.nodes()) {
        if (info.id == worker.node && info.capacity_bytes != 0) {
          return balances_[worker.id.index()].waits_much() &&
                 ctx.free_bytes(info.id) < info.capacity_bytes / 10;
        }
      }
    }
    return false;
  }

  template <context Ctx>
  static auto missing_on(Ctx const& ctx, NodeId node) {
    return [&ctx, node](TaskId task) { return detail::bytes_missing(ctx, task, node); };
  }

  /// How long a worker has run tasks, and waited for the data of those that it had. Of late: with
  /// each task, what was before it counts a fiftieth less.
  struct alignas(64) Balance {
    Instant end; // of the last task
    double ran = 0;
    double waited = 0;

    [[nodiscard]] bool waits_much() const noexcept { return 10 * waited > ran; }
  };

  detail::EarliestFinish<Queue, PriorityHeap> dates_;
  detail::FixedArray<Balance> balances_; // each of one worker
  std::int64_t cores_;
  std::int64_t devices_;
  detail::ActivatedOrder order_; // under the lock of `together`
};

} // namespace hetsched::policies
