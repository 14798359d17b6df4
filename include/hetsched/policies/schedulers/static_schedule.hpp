// SPDX-License-Identifier: MIT
#pragma once
// Schedules worked out beforehand, followed to the letter or with corrections.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/error.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/static_plan.hpp>
#include <hetsched/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
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
      : config_(std::move(config)), lists_(workers.size()), others_(std::make_unique<Fifo>()) {}

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
    nodes_.assign(graph.size(), {});
    for (auto& list : lists_) {
      list = {};
    }
    for (std::size_t k = 0; k < plan.steps.size(); ++k) {
      auto const [task, worker] = plan.steps[k];
      if (!expected[task].archs.has(archs[worker.index()])) {
        detail::PlanCheck const check(plan, graph);
        check.refuse("gives " + check.text(task) + " to worker " + std::to_string(worker.value) +
                     " of class " + std::to_string(archs[worker.index()].index) +
                     ", which cannot run it");
      }
      auto const type = graph.nodes()[task].type;
      auto const wanted = std::find(config_.gpus_take.begin(), config_.gpus_take.end(), type);
      auto& node = nodes_[task];
      node.turn = static_cast<std::uint32_t>(k);
      node.worker = worker;
      node.wanted = static_cast<std::size_t>(wanted - config_.gpus_take.begin());
      lists_[worker.index()].order.push_back(task);
    }
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const view = ctx.task(task);
    auto* const node = node_of(view.graph_node);
    // A task may come again, without a device that it failed on.
    if (node == nullptr || node->taken || !view.archs.has(class_of(ctx, node->worker))) {
      if (node != nullptr) {
        node->taken = true;
      }
      others_->push(task, view.priority);
      return Wake::any();
    }
    node->task = task;
    node->priority = view.priority;
    lists_[node->worker.index()].ready.insert(
        {node->turn, static_cast<std::uint32_t>(view.graph_node)});
    return whom_to_wake(ctx, *node);
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    bool const core = class_of(ctx, worker) == ArchHost;
    auto found = !core && config_.merge_gpus ? first_of_merged(ctx, worker) : next_of(worker);
    if (!runs(ctx, found, worker)) {
      found = core ? (config_.cores_steal ? other_core_task(ctx, worker) : nothing)
                   : wanted_by_gpu(ctx, worker);
    }
    if (found != nothing) {
      return take(found);
    }
    return others_->pop([&](TaskId task) { return ctx.can_run(task, worker); });
  }

  template <placement_context Ctx>
  std::size_t peek(Ctx const&, WorkerId worker, std::span<TaskId> next) {
    auto const& list = lists_[worker.index()];
    std::size_t count = 0;
    for (auto k = list.next; k < list.order.size() && count < next.size(); ++k) {
      auto const& node = nodes_[list.order[k]];
      if (!node.taken) {
        if (!node.task || config_.merge_gpus) {
          break;
        }
        next[count++] = node.task;
      }
    }
    return count;
  }

private:
  static constexpr auto nothing = std::numeric_limits<std::uint32_t>::max();

  struct Node {
    std::uint32_t turn = 0; // in the plan
    WorkerId worker;
    std::size_t wanted = 0; // place in gpus_take; its size: not there
    TaskId task;            // once it is ready
    std::int32_t priority = 0;
    bool taken = false;
  };

  /// The tasks of one worker.
  struct List {
    std::vector<std::uint32_t> order;
    std::size_t next = 0;                                    // those before it are taken
    std::set<std::pair<std::uint32_t, std::uint32_t>> ready; // turn, task; not taken
  };

  template <placement_context Ctx>
  static Arch class_of(Ctx const& ctx, WorkerId worker) {
    return ctx.workers()[worker.index()].arch;
  }

  [[nodiscard]] Node* node_of(std::int32_t graph_node) {
    auto const place = static_cast<std::size_t>(graph_node);
    return graph_node >= 0 && place < nodes_.size() ? &nodes_[place] : nullptr;
  }

  /// Whether the task is ready, and this worker can run it now.
  template <placement_context Ctx>
  [[nodiscard]] bool runs(Ctx const& ctx, std::uint32_t node, WorkerId worker) const {
    return node != nothing && nodes_[node].task && ctx.can_run(nodes_[node].task, worker);
  }

  /// Whose turn is next, ready or not.
  [[nodiscard]] std::uint32_t next_of(WorkerId worker) {
    auto& list = lists_[worker.index()];
    while (list.next < list.order.size() && nodes_[list.order[list.next]].taken) {
      ++list.next;
    }
    return list.next < list.order.size() ? list.order[list.next] : nothing;
  }

  TaskId take(std::uint32_t node) {
    auto& its = nodes_[node];
    its.taken = true;
    lists_[its.worker.index()].ready.erase({its.turn, node});
    return its.task;
  }

  /// Whether a worker of this class would begin it at once if it looked for work.
  template <context Ctx>
  [[nodiscard]] bool begins_at_once(Ctx const& ctx, std::uint32_t node, Arch arch) {
    auto const owner = nodes_[node].worker;
    return class_of(ctx, owner) == arch && !ctx.running(owner) && next_of(owner) == node &&
           ctx.can_run(nodes_[node].task, owner);
  }

  // ---- corrections ----

  template <context Ctx>
  [[nodiscard]] std::uint32_t other_core_task(Ctx const& ctx, WorkerId thief) {
    for (auto const& [turn, node] : lists_[thief.index()].ready) {
      if (runs(ctx, node, thief)) {
        return node;
      }
    }
    auto best = nothing;
    for (auto const& info : ctx.workers()) {
      if (info.arch != ArchHost) {
        continue;
      }
      for (auto const& [turn, node] : lists_[info.id.index()].ready) {
        if (best != nothing && nodes_[best].turn < turn) {
          break;
        }
        if (runs(ctx, node, thief) && !begins_at_once(ctx, node, ArchHost)) {
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
      auto const rank = [&](Node const& its) {
        return std::tuple(its.wanted, its.worker != gpu, -std::int64_t{its.priority}, its.turn);
      };
      return best == nothing || rank(nodes_[node]) < rank(nodes_[best]);
    };
    if (config_.gpus_take.empty()) {
      return best;
    }
    auto const arch = class_of(ctx, gpu);
    for (auto const& list : lists_) {
      for (auto const& [turn, node] : list.ready) {
        if (nodes_[node].wanted < config_.gpus_take.size() && better(node) &&
            runs(ctx, node, gpu) &&
            (nodes_[node].worker == gpu || !begins_at_once(ctx, node, arch))) {
          best = node;
        }
      }
    }
    return best;
  }

  /// Of the tasks of all GPUs that are ready, in the plan's order: the first that this one is
  /// expected to end before any other would, if those before it are where they end first.
  template <context Ctx>
  [[nodiscard]] std::uint32_t first_of_merged(Ctx const& ctx, WorkerId gpu) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ready;
    for (auto const& info : ctx.workers()) {
      if (info.arch != ArchHost) {
        auto const& its = lists_[info.id.index()].ready;
        ready.insert(ready.end(), its.begin(), its.end());
      }
    }
    std::sort(ready.begin(), ready.end());
    auto free = free_at(ctx);
    for (auto const& [turn, node] : ready) {
      auto const [best, end] = ends_first(ctx, nodes_[node].task, free, gpu);
      if (best == gpu) {
        return node;
      }
      if (best) {
        free[best.index()] = end;
      }
    }
    return nothing;
  }

  template <context Ctx>
  [[nodiscard]] static std::vector<Instant> free_at(Ctx const& ctx) {
    std::vector<Instant> free;
    for (auto const& info : ctx.workers()) {
      free.push_back(ctx.busy_until(info.id));
    }
    return free;
  }

  /// The GPU that is expected to end the task first, if they are free by then, and when; among
  /// equals the one that is preferred, then the lowest number.
  template <context Ctx>
  [[nodiscard]] static std::pair<WorkerId, Instant>
  ends_first(Ctx const& ctx, TaskId task, std::span<Instant const> free, WorkerId preferred) {
    WorkerId best;
    Instant best_end;
    for (auto const& info : ctx.workers()) {
      if (info.arch == ArchHost || !ctx.can_run(task, info.id)) {
        continue;
      }
      auto const known = ctx.predicted(task, info.id);
      auto const end =
          free[info.id.index()] + ctx.transfer(task, info.id) + (known ? known->mean : Duration{});
      if (!best || end < best_end || (end == best_end && info.id == preferred)) {
        best = info.id;
        best_end = end;
      }
    }
    return {best, best_end};
  }

  /// Who has it next; an idle worker that a correction allows it if that one is at work.
  template <context Ctx>
  [[nodiscard]] Wake whom_to_wake(Ctx const& ctx, Node const& its) {
    if (!ctx.can_run(its.task, its.worker)) {
      return Wake::any(); // launched behind another task, or the worker waits in one
    }
    bool const on_gpu = class_of(ctx, its.worker) != ArchHost;
    if (on_gpu && config_.merge_gpus) {
      return Wake::worker(ends_first(ctx, its.task, free_at(ctx), its.worker).first);
    }
    auto const next = next_of(its.worker);
    bool const its_turn = next != nothing && nodes_[next].task == its.task;
    if (its_turn && !ctx.running(its.worker)) {
      return Wake::worker(its.worker);
    }
    for (auto const& info : ctx.workers()) {
      bool const may = info.arch == ArchHost ? !on_gpu && config_.cores_steal
                                             : its.wanted < config_.gpus_take.size();
      if (may && !ctx.running(info.id) && ctx.can_run(its.task, info.id)) {
        return Wake::worker(info.id);
      }
    }
    return its_turn ? Wake::worker(its.worker) : Wake::none();
  }

  Config config_;
  std::vector<Node> nodes_; // of the graph
  std::vector<List> lists_; // of each worker
  std::unique_ptr<Fifo> others_;
};

} // namespace hetsched::policies
