// SPDX-License-Identifier: MIT
#pragma once
// List scheduling of a known graph by a plan: which class runs each task, and in what order.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The sides of a RankedPlan on a machine.
struct PlanSides {
  std::vector<std::uint8_t> of_worker;
  std::vector<std::uint8_t> archs; // of each side: Arch::index
  std::vector<int> workers;        // of each side

  PlanSides() = default;

  /// The class of each worker, and whether each device is a side of its own.
  PlanSides(std::span<Arch const> of_workers, bool each_device) : workers(max_archs) {
    for (std::uint8_t a = 0; a < max_archs; ++a) {
      archs.push_back(a);
    }
    for (auto const arch : of_workers) {
      bool const own = each_device && arch != ArchHost;
      of_worker.push_back(own ? static_cast<std::uint8_t>(archs.size()) : arch.index);
      if (own) {
        archs.push_back(arch.index);
        workers.push_back(0);
      }
      ++workers[of_worker.back()];
    }
  }
};

/// A graph, the times of its tasks on each class in ns, and the sides of plans for it. The graph
/// outlives it.
class TimedGraph {
public:
  using Node = std::uint32_t;

  TimedGraph() = default;

  TimedGraph(TaskGraph const& graph, std::vector<ArchTimes> times, PlanSides sides)
      : graph_(&graph), times_(std::move(times)), sides_(std::move(sides)), predecessors_(graph) {}

  [[nodiscard]] std::size_t size() const noexcept { return times_.size(); }

  [[nodiscard]] std::size_t sides() const noexcept { return sides_.archs.size(); }

  [[nodiscard]] std::int64_t time(Node node, std::size_t side) const noexcept {
    return times_[node][sides_.archs[side]];
  }

  [[nodiscard]] std::vector<ArchTimes> const& times() const noexcept { return times_; }

  [[nodiscard]] std::vector<int> const& workers() const noexcept { return sides_.workers; }

  [[nodiscard]] std::vector<std::pair<Node, Node>> edges() const {
    std::vector<std::pair<Node, Node>> edges;
    for (Node u = 0; u < size(); ++u) {
      for (auto const v : graph_->successors(u)) {
        edges.emplace_back(u, v);
      }
    }
    return edges;
  }

  /// Successors or, `backward`, predecessors.
  [[nodiscard]] std::span<Node const> next(Node node, bool backward) const noexcept {
    return backward ? predecessors_[node] : graph_->successors(node);
  }

private:
  TaskGraph const* graph_ = nullptr;
  std::vector<ArchTimes> times_;
  PlanSides sides_;
  Predecessors predecessors_;
};

/// A run half way through.
struct PlanMoment {
  struct Running {
    TimedGraph::Node node;
    std::uint32_t side;
    std::int64_t end;
  };

  std::int64_t now = 0;
  OpenDependencies open;
  std::vector<TimedGraph::Node> ready; // ready and not taken
  std::vector<Running> running;
};

/// List scheduling by a plan, transfers free. Cost of a run: O(n log n + edges) of what is left.
class RankedPlanSimulation {
public:
  using Node = TimedGraph::Node;

  /// When each task ends; 0 for tasks that ended before the moment. Reused by the next run.
  std::vector<std::int64_t> ends;

  /// Runs the graph from its beginning, or backward in time. Returns the makespan.
  std::int64_t run(TimedGraph const& graph, RankedPlan const& plan, bool backward = false) {
    begin(graph, plan);
    open_.reset(graph.size(), [&](Node v) { return graph.next(v, !backward).size(); });
    open_.for_each_ready([&](Node v) { enqueue(v); });
    return go_on(0, backward);
  }

  /// Runs the rest from a moment on.
  std::int64_t run(TimedGraph const& graph, RankedPlan const& plan, PlanMoment const& from) {
    begin(graph, plan);
    open_ = from.open;
    for (auto const& task : from.running) {
      --idle_[task.side];
      running_.push({std::max(task.end, from.now), task.node, task.side});
    }
    for (auto const node : from.ready) {
      enqueue(node);
    }
    return go_on(from.now, false);
  }

private:
  void begin(TimedGraph const& graph, RankedPlan const& plan) {
    graph_ = &graph;
    plan_ = &plan;
    idle_ = graph.workers();
    ends.assign(graph.size(), 0);
    running_.clear();
    queues_.resize(graph.sides());
    for (auto& queue : queues_) {
      queue.clear();
    }
  }

  void enqueue(Node node) { queues_[plan_->side[node]].push(plan_->rank[node], node); }

  void begin_tasks(std::int64_t now) {
    for (std::uint32_t side = 0; side < queues_.size(); ++side) {
      auto& queue = queues_[side];
      for (; idle_[side] > 0 && !queue.empty(); --idle_[side]) {
        auto const node = queue.pop();
        running_.push({now + graph_->time(node, side), node, side});
      }
    }
  }

  std::int64_t go_on(std::int64_t now, bool backward) {
    begin_tasks(now);
    return running_.go_on(
        now,
        [&](RunningTasks::Run const& task, std::int64_t at) {
          ++idle_[task.place];
          ends[task.order] = at;
          open_.close(graph_->next(task.order, backward), [&](Node next) { enqueue(next); });
          return true;
        },
        [&](std::int64_t at) {
          begin_tasks(at);
          return true;
        });
  }

  TimedGraph const* graph_ = nullptr;
  RankedPlan const* plan_ = nullptr;
  std::vector<int> idle_; // workers of each side
  OpenDependencies open_;
  RunningTasks running_; // in the order of their numbers
  std::vector<ReadyTasks<>> queues_;
};

} // namespace hetsched::detail
