// SPDX-License-Identifier: MIT
#pragma once
// For GPUs whose memories are too small: the datum that lets most tasks run comes next.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/gpu_plans.hpp>
#include <hetsched/detail/policies/wake_idle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::policies {

/// Decides: a GPU has planned tasks. Those come first whose data its memory has or is about to get,
///   the most urgent first. If there are none, it plans anew: the tasks that lack nothing; else
///   those that lack one datum only, and it is the datum for which these are most; else the one
///   that lacks the fewest bytes. As long as it finds others, it leaves a task to the GPU that has
///   the only copy of what the task changes. It plans at most its share. If nothing is left, it
///   takes a task from the longest plan. A core takes what it runs no later than a GPU; else what
///   GPUs gain least on, if that takes at most 10/3 of the time that they need for all that is
///   ready.
/// Source: DARTS (Gonthier, Marchal, Thibault, Memory-aware scheduling of tasks sharing data on
///   multiple GPUs with dynamic runtime systems, 2022), without cores, shares and owners. There
///   evictions change plans; here tasks are found to lack data when they would come next.
/// Cost: push O(data log D); pop O(P x data) for P planned tasks, O(Q x data) for a new plan.
/// Needs: context: valid copies; for cores predicted times. The cache LeastUsedFuture.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: looks at no transfer times. All that are not cores are GPUs, one in each memory node.
class Darts {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit Darts(std::span<WorkerInfo const> workers) : plans_(workers) {}

  /// Wakes a worker that takes the task. Worker 0, in which no thread may sit, comes last.
  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const& added = plans_.add(ctx, task, ++pushed_);
    work_ns_ += added.gpu_ns;
    return detail::wake_idle(
        ctx, task, [&](WorkerInfo const& info) { return is_core(info) == added.suits_cores(); });
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const& info = ctx.workers()[worker.index()];
    plans_.take_back_lost(ctx);
    if (is_core(info)) {
      auto const found = for_core(ctx, worker);
      return found == plans_.ready().end()
                 ? no_task
                 : taken(*found, [&] { return plans_.take(plans_.ready(), found); });
    }
    auto const found = next(ctx, info);
    return found == plans_.of(info.node).tasks.end()
               ? no_task
               : taken(*found, [&] { return plans_.take(info.node, found); });
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> told) {
    auto const& info = ctx.workers()[worker.index()];
    if (told.empty()) {
      return 0;
    }
    plans_.take_back_lost(ctx);
    if (is_core(info)) {
      auto const found = for_core(ctx, worker);
      told[0] = found == plans_.ready().end() ? no_task : found->task;
      return told[0] ? 1 : 0;
    }
    auto const first = next(ctx, info);
    auto const& gpu = plans_.of(info.node);
    if (first == gpu.tasks.end()) {
      return 0;
    }
    std::size_t count = 0;
    told[count++] = first->task;
    auto const there = [&](ArgumentView const& argument) {
      return gpu.is_there(argument, info.node, count) ||
             std::find(first->ids.begin(), first->ids.end(), argument.data) != first->ids.end();
    };
    auto const most = std::min(told.size(), detail::GpuPlan::most_told);
    for (auto const& task : gpu.tasks) {
      if (count < most && &task != &*first && ctx.can_run(task.task, worker) &&
          task.all_there(ctx, there)) {
        told[count++] = task.task;
      }
    }
    return count;
  }

  [[nodiscard]] FutureUses future_uses(std::uint64_t data, NodeId node) const noexcept {
    return plans_.uses(data, node);
  }

private:
  using Task = detail::PlannedTask;
  using Place = detail::GpuPlans::Place;

  static bool is_core(WorkerInfo const& info) noexcept { return info.arch == ArchHost; }

  template <class Take>
  TaskId taken(Task const& task, Take const& take) {
    work_ns_ -= task.gpu_ns;
    return take();
  }

  template <context Ctx>
  Place next(Ctx const& ctx, WorkerInfo const& info) {
    return plans_.next(ctx, info.node, [&](Task const& task) {
      return ctx.can_run(task.task, info.id) &&
             !(task.suits_cores() && any_can_run<true>(ctx, task));
    });
  }

  template <context Ctx>
  Place for_core(Ctx const& ctx, WorkerId core) {
    auto& ready = plans_.ready();
    auto best = ready.end();
    for (auto it = ready.begin(); it != ready.end(); ++it) {
      if (ctx.can_run(it->task, core) &&
          (best == ready.end() || detail::suits_cores_more(*it, *best)) &&
          core_may_take(ctx, *it)) {
        best = it;
      }
    }
    return best;
  }

  template <context Ctx>
  bool core_may_take(Ctx const& ctx, Task const& task) const {
    auto const gpus = static_cast<std::int64_t>(plans_.gpu_count());
    return task.suits_cores() || 3 * task.core_ns * gpus <= 10 * work_ns_ ||
           !any_can_run<false>(ctx, task);
  }

  /// Whether any core, or any GPU, can run the task now.
  template <bool Cores, context Ctx>
  static bool any_can_run(Ctx const& ctx, Task const& task) {
    auto const workers = ctx.workers();
    return std::any_of(workers.begin(), workers.end(), [&](WorkerInfo const& info) {
      return is_core(info) == Cores && ctx.can_run(task.task, info.id);
    });
  }

  detail::GpuPlans plans_;
  std::int64_t work_ns_ = 0; // on GPUs, of all that is ready
  std::uint64_t pushed_ = 0;
};

} // namespace hetsched::policies
