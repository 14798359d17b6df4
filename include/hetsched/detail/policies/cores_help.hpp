// SPDX-License-Identifier: MIT
#pragma once
// The common part of schedulers that place tasks where they end first, and let cores help GPUs.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/activated_order.hpp>
#include <hetsched/detail/policies/at_node.hpp>
#include <hetsched/detail/policies/earliest_finish.hpp>
#include <hetsched/detail/policies/peek_each.hpp>
#include <hetsched/detail/policies/ratio_of_times.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace hetsched::detail {

/// See policies::Heterogeneous. What a core that has nothing takes over from a GPU is `Takeover`'s
/// part: `choose(ctx, queue, accept)` answers one of the GPU's tasks, or no_task, and
/// `whatever_it_takes(ctx, task, transfer)` whether the core may have the task even if it takes
/// much longer than the GPU's tasks.
///
/// push, push_activated, pop, peek and epilogue are a scheduler's hooks.
template <class Takeover>
class CoresHelp {
public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::per_queue;

  explicit CoresHelp(std::span<WorkerInfo const> workers)
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
    if (task || !is_core(info)) {
      return task;
    }
    auto const device = busiest(ctx);
    return device ? dates_.take_over(ctx, device, worker, choice(ctx, device, worker)) : no_task;
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const& info = ctx.workers()[worker.index()];
    if (is_core(info)) {
      return peek_for_core(ctx, worker, next);
    }
    auto const told = next.first(std::min(next.size(), most_told));
    if (!data_first(ctx, info)) {
      return dates_.peek(ctx, worker, told);
    }
    return dates_.peek_by(
        ctx, worker, told, [&](Queue& queue, std::span<TaskId> room, auto const& accept) {
          return peek_each(room, accept, [&](auto const& allowed) {
            return queue.least(missing_on(ctx, info.node), allowed);
          });
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

protected:
  /// Whether the worker's queue has a task that it can run now.
  template <context Ctx>
  bool has_ready(Ctx const& ctx, WorkerId worker) {
    auto next = no_task;
    return dates_.peek(ctx, worker, {&next, 1}) != 0;
  }

private:
  static constexpr std::size_t most_told = 2;

  /// Highest first, and all that is there counts.
  struct Queue : policies::PriorityHeap {
    static constexpr bool ordered_by_priority = false;
  };

  using Dates = EarliestFinish<Queue, policies::PriorityHeap>;

  static bool is_core(WorkerInfo const& info) noexcept { return info.arch == ArchHost; }

  static ArchMask without_cores(ArchMask archs) noexcept {
    return {static_cast<std::uint8_t>(archs.bits & ~ArchMask::only(ArchHost).bits)};
  }

  /// Whether its acceleration factor is at least a quarter of the greatest one, a device can run it
  /// now, and its data would not take the devices longer than a core takes for all.
  template <context Ctx>
  bool suits_devices(Ctx const& ctx, TaskId task) {
    auto const ratio = ratio_of_times(ctx, task);
    if (!std::isinf(ratio)) {
      greatest_ratio_ = std::max(greatest_ratio_, ratio);
    }
    auto const workers = ctx.workers();
    return ratio > 1 && 4 * ratio >= greatest_ratio_ &&
           std::any_of(workers.begin(),
                       workers.end(),
                       [&](WorkerInfo const& info) {
                         return !is_core(info) && ctx.can_run(task, info.id);
                       }) &&
           !is_slowed_by_data(ctx, task);
  }

  /// Whether an idle core, transfers included, ends the task no later than an idle device.
  template <context Ctx>
  static bool is_slowed_by_data(Ctx const& ctx, TaskId task) {
    auto const archs = ctx.task(task).archs;
    constexpr Duration never{std::numeric_limits<std::int64_t>::max()};
    auto on_core = never;
    auto on_device = never;
    WorkerInfo const* before = nullptr;
    for (auto const& info : ctx.workers()) {
      auto const* const last = std::exchange(before, &info);
      bool const same = last != nullptr && info.node == last->node && info.arch == last->arch;
      if (same || !archs.has(info.arch)) {
        continue;
      }
      if (auto const known = ctx.predicted(task, info.id)) {
        auto& least = is_core(info) ? on_core : on_device;
        least = std::min(least, ctx.transfer(task, info.id) + known->mean);
      }
    }
    return on_core != never && on_core <= on_device;
  }

  /// What is in the core's queue, or else what it would take over first.
  template <context Ctx>
  std::size_t peek_for_core(Ctx const& ctx, WorkerId core, std::span<TaskId> next) {
    auto const count = dates_.peek(ctx, core, next);
    if (count != 0 || next.empty()) {
      return count;
    }
    auto const device = busiest(ctx);
    next[0] =
        device ? dates_.would_take_over(ctx, device, core, choice(ctx, device, core)) : no_task;
    return next[0] ? 1 : 0;
  }

  /// The worker that the task was given to is woken, or a core that would take over a task of it.
  template <context Ctx>
  Wake assign(Ctx const& ctx, TaskId task) {
    auto const wake = suits_devices(ctx, task)
                          ? dates_.assign(ctx, task, without_cores(ctx.task(task).archs))
                          : dates_.assign(ctx, task);
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

  /// The GPU that will be busy for longest; none if no GPU runs a task.
  template <context Ctx>
  WorkerId busiest(Ctx const& ctx) const {
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
    return busiest;
  }

  /// Chooses what the core takes over from the device's queue.
  template <context Ctx>
  auto choice(Ctx const& ctx, WorkerId device, WorkerId core) const {
    return [this, &ctx, device, core](Queue& queue, auto const& accept) -> typename Dates::Chosen {
      auto const task = Takeover::choose(ctx, queue, accept);
      auto const cost = task ? this->cost_of_taking_over(ctx, task, device, core) : std::nullopt;
      return cost ? typename Dates::Chosen{task, *cost} : typename Dates::Chosen{};
    };
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
    auto const transfer = ctx.transfer(task, core);
    auto const cost = transfer + here->mean;
    auto const wait = dates_.free_at(device, ctx.now()) - ctx.now();
    return 3 * cost.ns <= 10 * wait.ns || Takeover::whatever_it_takes(ctx, task, transfer)
               ? std::optional(cost)
               : std::nullopt;
  }

  /// Whether data are what the worker waits for: much longer than its tasks run, or at all while
  /// its memory is full but for a tenth.
  template <context Ctx>
  bool data_first(Ctx const& ctx, WorkerInfo const& worker) const {
    auto const& balance = balances_[worker.id.index()];
    if (is_core(worker) || !balance.waits(0.1)) {
      return false;
    }
    if (balance.waits(2)) {
      return true;
    }
    if constexpr (memory_context<Ctx>) {
      for (auto const& info : ctx.nodes()) {
        if (info.id == worker.node && info.capacity_bytes != 0) {
          return ctx.free_bytes(info.id) < info.capacity_bytes / 10;
        }
      }
    }
    return false;
  }

  template <context Ctx>
  static auto missing_on(Ctx const& ctx, NodeId node) {
    return [&ctx, node](TaskId task) { return bytes_missing(ctx, task, node); };
  }

  /// How long a worker has run tasks, and waited for the data of those that it had. Of late: with
  /// each task, what was before it counts a fiftieth less.
  struct alignas(64) Balance {
    Instant end; // of the last task
    double ran = 0;
    double waited = 0;

    /// Whether for more than so many times as long as its tasks ran.
    [[nodiscard]] bool waits(double times) const noexcept { return waited > times * ran; }
  };

  Dates dates_;
  FixedArray<Balance> balances_; // each of one worker
  std::int64_t cores_;
  std::int64_t devices_;
  // under the lock of `together`
  ActivatedOrder order_;
  double greatest_ratio_ = 1; // of a task's times so far
};

} // namespace hetsched::detail
