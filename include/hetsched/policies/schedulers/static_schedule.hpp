// SPDX-License-Identifier: MIT
#pragma once
// Schedules worked out beforehand, followed to the letter or with corrections.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/followed_plan.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched::policies {

/// What the thesis leaves open: of its own tasks a GPU that looks for a type takes the highest
/// priority, before those of others, type by type; the earliest in the plan among equals. A core
/// that may steal lacks work if none of its own tasks is ready: if its next is not, it runs the
/// first of its own that is, and only then another core's, the earliest in the plan ("preferably
/// of similar size": all groups of cores are of one size here). Nobody takes what a waiting worker
/// of its own class would begin at once. Of merged GPUs, tasks that are ready are assigned in the
/// plan's order, anew whenever a GPU looks for work.
///
/// Decides: a worker runs the tasks that the plan gives it, in its order, each when it is ready.
///   Config's corrections: an idle GPU takes from others tasks of given types, idle cores steal
///   from cores, GPUs share one list. Tasks outside the graph: the oldest, when a worker has no
///   other.
/// Source: Kumar 2017, sec. 3.5 (SS), 3.5.1 (SS+G, SS+GS), 4.4.4; the readings are above.
/// Cost: push O(log Q + W); pop O(log Q), with corrections O(Q W) for who has nothing else; one
///   lock. Q: ready tasks.
/// Needs: context; merged GPUs: predicted times. Graphs that Runtime::run runs.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time, and what a worker runs without corrections.
/// Knobs: Config: plan; gpus_take, types of tasks, the most wanted first (+G: gemm, +GS: syrk
///   after it); cores_steal; merge_gpus. None by default.
/// Limits: a plan that does not fit the graph or the workers, or cannot be followed to its end, is
///   refused by prepare. Where a device's window overlaps kernels, the order is that of their
///   beginnings. On threads an idle GPU may learn late that a merged task became its own.
class StaticSchedule {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  struct Config {
    std::shared_ptr<StaticPlan const> plan = nullptr; // none: first come, first served
    std::vector<std::string> gpus_take = {};
    bool cores_steal = false;
    bool merge_gpus = false;
  };

  explicit StaticSchedule(std::span<WorkerInfo const> workers)
      : StaticSchedule(workers, Config{}) {}

  StaticSchedule(std::span<WorkerInfo const> workers, Config config)
      : config_(std::move(config)), tasks_(workers.size()), others_(std::make_unique<Fifo>()) {}

  /// Throws Error(bad_input), as check_plan, or if a task is given to a worker that cannot run it.
  template <placement_context Ctx>
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    if (config_.plan == nullptr) {
      return;
    }
    auto const& plan = *config_.plan;
    std::vector<Arch> archs;
    for (auto const& info : ctx.workers()) {
      archs.push_back(info.arch);
    }
    check_plan(plan, graph, archs);
    for (auto const& [task, worker] : plan.steps) {
      if (!expected[task].archs.has(archs[worker.index()])) {
        detail::PlanCheck const check(plan, graph);
        check.refuse("gives " + check.text(task) + " to worker " + std::to_string(worker.value) +
                     " of class " + std::to_string(archs[worker.index()].index) +
                     ", which cannot run it");
      }
    }
    tasks_.begin(plan, graph, config_.gpus_take);
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const view = ctx.task(task);
    auto* const node = tasks_.node_of(view.graph_node);
    // A task may come again, without a device that it failed on.
    if (node == nullptr || node->taken || !view.archs.has(class_of(ctx, node->worker))) {
      if (node != nullptr) {
        node->taken = true;
      }
      others_->push(task, view.priority);
      return Wake::any();
    }
    tasks_.add(static_cast<std::uint32_t>(view.graph_node), task, view.priority);
    return whom_to_wake(ctx, *node);
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    if (auto const found = choose(ctx, worker); found != nothing) {
      return tasks_.take(found);
    }
    return others_->pop([&](TaskId task) { return ctx.can_run(task, worker); });
  }

  /// Of tasks that a correction gives the worker only one, and then nothing behind it.
  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    bool const core = class_of(ctx, worker) == ArchHost;
    bool const merged = !core && config_.merge_gpus;
    bool const corrected = merged || (core ? config_.cores_steal : !config_.gpus_take.empty());
    auto const count = merged ? 0 : tasks_.peek(ctx, worker, next);
    if (corrected && count == 0 && !next.empty()) {
      if (auto const found = choose(ctx, worker); found != nothing) {
        next[0] = tasks_[found].task;
        return 1;
      }
    }
    if (corrected && count > 0) {
      return count;
    }
    return count + others_->peek(next.subspan(count),
                                 [&](TaskId task) { return ctx.can_run(task, worker); });
  }

private:
  using Node = detail::FollowedPlan::Node;

  static constexpr auto nothing = detail::FollowedPlan::nothing;

  template <placement_context Ctx>
  static Arch class_of(Ctx const& ctx, WorkerId worker) {
    return ctx.workers()[worker.index()].arch;
  }

  /// What the worker runs next of the graph, if anything.
  template <context Ctx>
  [[nodiscard]] std::uint32_t choose(Ctx const& ctx, WorkerId worker) {
    bool const core = class_of(ctx, worker) == ArchHost;
    auto const found =
        !core && config_.merge_gpus ? tasks_.first_of_merged(ctx, worker) : tasks_.next_of(worker);
    if (tasks_.runs(ctx, found, worker)) {
      return found;
    }
    return core ? (config_.cores_steal ? other_core_task(ctx, worker) : nothing)
                : wanted_by_gpu(ctx, worker);
  }

  // ---- corrections ----

  template <context Ctx>
  [[nodiscard]] std::uint32_t other_core_task(Ctx const& ctx, WorkerId thief) {
    for (auto const& [turn, node] : tasks_.ready(thief)) {
      if (tasks_.runs(ctx, node, thief)) {
        return node;
      }
    }
    auto best = nothing;
    for (auto const& info : ctx.workers()) {
      if (info.arch != ArchHost) {
        continue;
      }
      for (auto const& [turn, node] : tasks_.ready(info.id)) {
        if (best != nothing && tasks_[best].turn < turn) {
          break;
        }
        if (tasks_.runs(ctx, node, thief) && !tasks_.begins_at_once(ctx, node, ArchHost)) {
          best = node;
          break;
        }
      }
    }
    return best;
  }

  template <context Ctx>
  [[nodiscard]] std::uint32_t wanted_by_gpu(Ctx const& ctx, WorkerId gpu) {
    auto best = nothing;
    auto const better = [&](std::uint32_t node) {
      auto const rank = [&](Node const& task) {
        return std::tuple(task.wanted, task.worker != gpu, -std::int64_t{task.priority}, task.turn);
      };
      return best == nothing || rank(tasks_[node]) < rank(tasks_[best]);
    };
    if (config_.gpus_take.empty()) {
      return best;
    }
    auto const arch = class_of(ctx, gpu);
    for (auto const& info : ctx.workers()) {
      for (auto const& [turn, node] : tasks_.ready(info.id)) {
        if (tasks_[node].wanted < config_.gpus_take.size() && better(node) &&
            tasks_.runs(ctx, node, gpu) &&
            (tasks_[node].worker == gpu || !tasks_.begins_at_once(ctx, node, arch))) {
          best = node;
        }
      }
    }
    return best;
  }

  /// Who has it next; an idle worker that a correction allows it if that one is at work.
  template <context Ctx>
  [[nodiscard]] Wake whom_to_wake(Ctx const& ctx, Node const& node) {
    if (!ctx.can_run(node.task, node.worker)) {
      return Wake::any(); // launched behind another task, or the worker waits in one
    }
    bool const on_gpu = class_of(ctx, node.worker) != ArchHost;
    if (on_gpu && config_.merge_gpus) {
      return Wake::worker(tasks_.ends_first(ctx, node));
    }
    auto const next = tasks_.next_of(node.worker);
    bool const its_turn = next != nothing && tasks_[next].task == node.task;
    if (its_turn && !ctx.running(node.worker)) {
      return Wake::worker(node.worker);
    }
    for (auto const& info : ctx.workers()) {
      bool const may = info.arch == ArchHost ? !on_gpu && config_.cores_steal
                                             : node.wanted < config_.gpus_take.size();
      if (may && !ctx.running(info.id) && ctx.can_run(node.task, info.id)) {
        return Wake::worker(info.id);
      }
    }
    return its_turn ? Wake::worker(node.worker) : Wake::none();
  }

  Config config_;
  detail::FollowedPlan tasks_;
  std::unique_ptr<Fifo> others_;
};

} // namespace hetsched::policies
