// SPDX-License-Identifier: MIT
#pragma once
// A plan while it is followed: the turns of tasks, the ready tasks, and the taken ones.

#include <hetsched/concepts/context.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/static_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The tasks of a plan, and for each worker its tasks in the plan's order.
class FollowedPlan {
public:
  static constexpr auto nothing = std::numeric_limits<std::uint32_t>::max();

  struct Node {
    std::uint32_t turn = 0; // in the plan
    WorkerId worker;
    std::size_t wanted = 0; // place among the types that are wanted; their number: none
    TaskId task;            // once it is ready
    std::int32_t priority = 0;
    bool taken = false;
  };

  /// The tasks of one worker.
  struct List {
    std::vector<std::uint32_t> order;
    std::size_t next = 0;                                    // all tasks before it are taken
    std::set<std::pair<std::uint32_t, std::uint32_t>> ready; // turn, task; not taken
  };

  explicit FollowedPlan(std::size_t workers) : lists_(workers) {}

  /// A graph begins. `wanted` are types of tasks. The plan fits the graph.
  void begin(StaticPlan const& plan, TaskGraph const& graph, std::span<std::string const> wanted) {
    nodes_.assign(graph.size(), {});
    for (auto& list : lists_) {
      list = {};
    }
    for (std::size_t k = 0; k < plan.steps.size(); ++k) {
      auto const [task, worker] = plan.steps[k];
      auto const type = graph.nodes()[task].type;
      auto const place = std::find(wanted.begin(), wanted.end(), type);
      auto& node = nodes_[task];
      node.turn = static_cast<std::uint32_t>(k);
      node.worker = worker;
      node.wanted = static_cast<std::size_t>(place - wanted.begin());
      lists_[worker.index()].order.push_back(task);
    }
  }

  [[nodiscard]] Node* node_of(std::int32_t graph_node) {
    auto const place = static_cast<std::size_t>(graph_node);
    return graph_node >= 0 && place < nodes_.size() ? &nodes_[place] : nullptr;
  }

  [[nodiscard]] Node const& operator[](std::uint32_t node) const { return nodes_[node]; }

  /// A worker's tasks that are ready and not taken, by their turns.
  [[nodiscard]] auto const& ready(WorkerId worker) const { return lists_[worker.index()].ready; }

  /// The node is ready, as this task.
  void add(std::uint32_t number, TaskId task, std::int32_t priority) {
    auto& node = nodes_[number];
    node.task = task;
    node.priority = priority;
    lists_[node.worker.index()].ready.insert({node.turn, number});
  }

  /// Whether the task is ready, and this worker can run it now.
  template <placement_context Ctx>
  [[nodiscard]] bool runs(Ctx const& ctx, std::uint32_t node, WorkerId worker) const {
    return node != nothing && nodes_[node].task && ctx.can_run(nodes_[node].task, worker);
  }

  /// The worker's next task in the plan, ready or not.
  [[nodiscard]] std::uint32_t next_of(WorkerId worker) {
    auto& list = lists_[worker.index()];
    while (list.next < list.order.size() && nodes_[list.order[list.next]].taken) {
      ++list.next;
    }
    return list.next < list.order.size() ? list.order[list.next] : nothing;
  }

  TaskId take(std::uint32_t node) {
    auto& entry = nodes_[node];
    entry.taken = true;
    lists_[entry.worker.index()].ready.erase({entry.turn, node});
    return entry.task;
  }

  /// Whether a worker of this class would begin the task at once if it looked for work.
  template <context Ctx>
  [[nodiscard]] bool begins_at_once(Ctx const& ctx, std::uint32_t node, Arch arch) {
    auto const owner = nodes_[node].worker;
    return class_of(ctx, owner) == arch && !ctx.running(owner) && next_of(owner) == node &&
           ctx.can_run(nodes_[node].task, owner);
  }

  /// The worker's next tasks in the plan, as far as they run now.
  template <placement_context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) const {
    auto const& list = lists_[worker.index()];
    std::size_t count = 0;
    for (auto k = list.next; k < list.order.size() && count < next.size(); ++k) {
      auto const& node = nodes_[list.order[k]];
      if (!node.taken) {
        if (!runs(ctx, list.order[k], worker)) {
          break;
        }
        next[count++] = node.task;
      }
    }
    return count;
  }

  // ---- if GPUs share one list ----

  /// Of the ready tasks of all GPUs, in the plan's order: the first task that this GPU is expected
  /// to end before any other GPU. Earlier tasks are assumed to be on the GPUs that end them first.
  template <context Ctx>
  [[nodiscard]] std::uint32_t first_of_merged(Ctx const& ctx, WorkerId gpu) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> merged;
    for (auto const& info : ctx.workers()) {
      if (info.arch != ArchHost) {
        auto const& own = ready(info.id);
        merged.insert(merged.end(), own.begin(), own.end());
      }
    }
    std::sort(merged.begin(), merged.end());
    auto free = free_at(ctx);
    for (auto const& [turn, node] : merged) {
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

  /// The GPU that is expected to end the task first.
  template <context Ctx>
  [[nodiscard]] static WorkerId ends_first(Ctx const& ctx, Node const& node) {
    return ends_first(ctx, node.task, free_at(ctx), node.worker).first;
  }

private:
  template <placement_context Ctx>
  static Arch class_of(Ctx const& ctx, WorkerId worker) {
    return ctx.workers()[worker.index()].arch;
  }

  template <context Ctx>
  [[nodiscard]] static std::vector<Instant> free_at(Ctx const& ctx) {
    std::vector<Instant> free;
    for (auto const& info : ctx.workers()) {
      free.push_back(ctx.busy_until(info.id));
    }
    return free;
  }

  /// The GPU that is expected to end the task first, and when, if the GPUs are free at these times.
  /// Of equals it is the preferred GPU, then the lowest number.
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

  std::vector<Node> nodes_; // of the graph
  std::vector<List> lists_; // of each worker
};

} // namespace hetsched::detail
