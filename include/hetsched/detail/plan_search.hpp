// SPDX-License-Identifier: MIT
#pragma once
// A search for a short schedule of a known graph: which class runs each task, and in what order.

#include <hetsched/detail/random_stream.hpp>
#include <hetsched/task_graph.hpp>
#include <hetsched/types.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A graph, what its tasks take on each class in ns, and how many workers each class has. The graph
/// outlives it.
class TimedGraph {
public:
  using Node = std::uint32_t;
  using Times = std::array<std::int64_t, max_archs>;

  static constexpr auto never = std::numeric_limits<std::int64_t>::max();

  TimedGraph() = default;

  TimedGraph(TaskGraph const& graph,
             std::vector<Times> times,
             std::array<int, max_archs> const& workers)
      : graph_(&graph), times_(std::move(times)), workers_(workers), first_(graph.size() + 1) {
    for (Node v = 0; v < graph.size(); ++v) {
      first_[v + 1] = first_[v] + graph.predecessor_count(v);
    }
    predecessors_.resize(first_.back());
    auto next = first_;
    for (Node v = 0; v < graph.size(); ++v) {
      for (auto const successor : graph.successors(v)) {
        predecessors_[next[successor]++] = v;
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return times_.size(); }

  [[nodiscard]] std::int64_t time(Node node, std::size_t side) const noexcept {
    return times_[node][side];
  }

  [[nodiscard]] std::array<int, max_archs> const& workers() const noexcept { return workers_; }

  /// In the direction of time, or against it.
  [[nodiscard]] std::span<Node const> next(Node node, bool backward) const noexcept {
    return backward
               ? std::span(predecessors_).subspan(first_[node], first_[node + 1] - first_[node])
               : graph_->successors(node);
  }

  [[nodiscard]] bool same_as(TimedGraph const& other) const {
    return times_ == other.times_ && workers_ == other.workers_ && first_ == other.first_ &&
           predecessors_ == other.predecessors_;
  }

private:
  TaskGraph const* graph_ = nullptr;
  std::vector<Times> times_;
  std::array<int, max_archs> workers_{};
  std::vector<std::size_t> first_;
  std::vector<Node> predecessors_;
};

/// Each task's class, and its rank: a worker takes the highest of its class that is ready.
struct Plan {
  std::vector<std::uint8_t> side;
  std::vector<std::int64_t> rank;
};

/// A run half way through.
struct PlanMoment {
  struct Running {
    TimedGraph::Node node;
    std::size_t side;
    std::int64_t end;
  };

  std::int64_t now = 0;
  std::vector<std::uint32_t> waits_for; // of each task, those that have not ended
  std::vector<TimedGraph::Node> ready;  // and not taken
  std::vector<Running> running;
};

/// List scheduling by a plan, transfers free. Cost of a run: O(n log n + edges) of what is left.
class PlanSimulation {
public:
  using Node = TimedGraph::Node;

  /// When each task ends; 0 of those that ended before. Reused from run to run.
  std::vector<std::int64_t> ends;

  /// From the beginning, or the whole graph backward in time. Answers the makespan.
  std::int64_t run(TimedGraph const& graph, Plan const& plan, bool backward = false) {
    begin(graph, plan);
    for (Node v = 0; v < graph.size(); ++v) {
      waits_for_[v] = static_cast<std::uint32_t>(graph.next(v, !backward).size());
      if (waits_for_[v] == 0) {
        enqueue(v);
      }
    }
    return go_on(0, backward);
  }

  /// From a moment on.
  std::int64_t run(TimedGraph const& graph, Plan const& plan, PlanMoment const& from) {
    begin(graph, plan);
    waits_for_ = from.waits_for;
    for (auto const& its : from.running) {
      --idle_[its.side];
      events_.push_back({-std::max(its.end, from.now), its.node, its.side});
    }
    std::make_heap(events_.begin(), events_.end());
    for (auto const node : from.ready) {
      enqueue(node);
    }
    return go_on(from.now, false);
  }

private:
  struct Event {
    std::int64_t minus_end;
    Node node;
    std::size_t side;

    friend bool operator<(Event const& a, Event const& b) noexcept {
      return a.minus_end != b.minus_end ? a.minus_end < b.minus_end : a.node > b.node;
    }
  };

  using Waiting = std::pair<std::int64_t, std::int64_t>; // rank, -node

  void begin(TimedGraph const& graph, Plan const& plan) {
    graph_ = &graph;
    plan_ = &plan;
    idle_ = graph.workers();
    waits_for_.resize(graph.size());
    ends.assign(graph.size(), 0);
    events_.clear();
    for (auto& queue : queues_) {
      queue.clear();
    }
  }

  void enqueue(Node node) {
    auto& queue = queues_[plan_->side[node]];
    queue.emplace_back(plan_->rank[node], -std::int64_t{node});
    std::push_heap(queue.begin(), queue.end());
  }

  void begin_tasks(std::int64_t now) {
    for (std::size_t side = 0; side < max_archs; ++side) {
      auto& queue = queues_[side];
      for (; idle_[side] > 0 && !queue.empty(); --idle_[side]) {
        std::pop_heap(queue.begin(), queue.end());
        auto const node = static_cast<Node>(-queue.back().second);
        queue.pop_back();
        events_.push_back({-(now + graph_->time(node, side)), node, side});
        std::push_heap(events_.begin(), events_.end());
      }
    }
  }

  std::int64_t go_on(std::int64_t now, bool backward) {
    for (begin_tasks(now); !events_.empty(); begin_tasks(now)) {
      now = -events_.front().minus_end;
      while (!events_.empty() && -events_.front().minus_end == now) {
        std::pop_heap(events_.begin(), events_.end());
        auto const event = events_.back();
        events_.pop_back();
        ++idle_[event.side];
        ends[event.node] = now;
        for (auto const next : graph_->next(event.node, backward)) {
          if (--waits_for_[next] == 0) {
            enqueue(next);
          }
        }
      }
    }
    return now;
  }

  TimedGraph const* graph_ = nullptr;
  Plan const* plan_ = nullptr;
  std::array<int, max_archs> idle_{};
  std::vector<std::uint32_t> waits_for_;
  std::vector<Event> events_; // a heap
  std::array<std::vector<Waiting>, max_archs> queues_;
};

/// Local search. A step moves one to three tasks to another class and keeps that if the makespan is
/// no longer. Ranks are the longest way to the end with the times of the classes chosen; or, in the
/// second half, the order of the best schedule so far, which now and then goes backward and forward
/// in time for a shorter one (the forward-backward improvement of project scheduling).
class PlanSearch {
public:
  using Node = TimedGraph::Node;

  PlanSearch(TimedGraph const& graph, std::uint64_t seed) : graph_(graph), random_(seed) {
    for (Node v = 0; v < graph.size(); ++v) {
      std::size_t count = 0;
      for (std::size_t side = 0; side < max_archs; ++side) {
        count += may(v, side) ? 1 : 0;
      }
      if (count > 1) {
        movable_.push_back(v);
      }
    }
  }

  /// A schedule to begin from: the class and the beginning of each task.
  void offer(std::vector<std::uint8_t> side, std::span<std::int64_t const> begin) {
    Plan plan{std::move(side), std::vector<std::int64_t>(begin.size())};
    std::transform(
        begin.begin(), begin.end(), plan.rank.begin(), [](std::int64_t its) { return -its; });
    keep(simulation_.run(graph_, plan), plan);
    rank_by_levels(plan);
    keep(simulation_.run(graph_, plan), plan);
  }

  /// A step takes as much as it simulates: `effort` tasks in all, at least one step.
  void improve(std::uint64_t effort) {
    auto const steps = 1 + effort / std::max<std::size_t>(1, graph_.size());
    if (movable_.empty()) {
      return;
    }
    auto plan = best_;
    rank_by_levels(plan);
    auto now = simulation_.run(graph_, plan);
    keep(now, plan);
    for (std::uint64_t k = 0; k < steps / 2; ++k) {
      move();
      flip(plan);
      rank_by_levels(plan);
      accept(plan, now);
    }
    plan = best_;
    back_and_forth(plan);
    now = makespan_;
    for (std::uint64_t k = steps / 2; k < steps; ++k) {
      move();
      flip(plan);
      if (accept(plan, now) && random_.next() % 16 == 0) {
        back_and_forth(plan);
        now = simulation_.run(graph_, plan);
      }
    }
  }

  [[nodiscard]] Plan const& best() const noexcept { return best_; }

  [[nodiscard]] std::int64_t makespan() const noexcept { return makespan_; }

private:
  struct Moved {
    Node node;
    std::uint8_t to;
  };

  [[nodiscard]] bool may(Node node, std::size_t side) const noexcept {
    return graph_.workers()[side] > 0 && graph_.time(node, side) != TimedGraph::never;
  }

  void keep(std::int64_t makespan, Plan const& plan) {
    if (makespan < makespan_) {
      makespan_ = makespan;
      best_ = plan;
    }
  }

  /// Draws the tasks of a step, and for each another class of those that may run it.
  void move() {
    moved_.clear();
    auto const count = 1 + random_.next() % 3;
    for (std::uint64_t k = 0; k < count; ++k) {
      auto const node = movable_[random_.next() % movable_.size()];
      auto const skip = random_.next() % max_archs;
      moved_.push_back({node, static_cast<std::uint8_t>(skip)});
    }
  }

  /// Does the step; then moved_ has what undoes it, the last first.
  void flip(Plan& plan) {
    for (auto& its : moved_) {
      auto const before = plan.side[its.node];
      std::size_t to = its.to;
      do {
        to = (to + 1) % max_archs;
      } while (to == before || !may(its.node, to));
      plan.side[its.node] = static_cast<std::uint8_t>(to);
      its.to = before;
    }
    std::reverse(moved_.begin(), moved_.end());
  }

  /// Simulates a plan after a step, and undoes the step if that is longer than before.
  bool accept(Plan& plan, std::int64_t& now) {
    auto const its = simulation_.run(graph_, plan);
    if (its > now) {
      for (auto const& moved : moved_) {
        plan.side[moved.node] = moved.to;
      }
      return false;
    }
    now = its;
    keep(its, plan);
    return true;
  }

  void rank_by_levels(Plan& plan) const {
    for (auto v = static_cast<Node>(graph_.size()); v-- > 0;) { // edges go to higher numbers
      std::int64_t longest = 0;
      for (auto const next : graph_.next(v, false)) {
        longest = std::max(longest, plan.rank[next]);
      }
      plan.rank[v] = graph_.time(v, plan.side[v]) + longest;
    }
  }

  void back_and_forth(Plan& plan) {
    constexpr int most_passes = 8;
    auto least = simulation_.run(graph_, plan);
    for (int k = 0; k < most_passes; ++k) {
      Plan turned{plan.side, simulation_.ends}; // what ended last comes first
      simulation_.run(graph_, turned, true);
      turned.rank = simulation_.ends;
      auto const its = simulation_.run(graph_, turned);
      if (its >= least) {
        break;
      }
      least = its;
      plan = turned;
      keep(its, plan);
    }
  }

  TimedGraph const& graph_;
  RandomStream random_;
  PlanSimulation simulation_;
  std::vector<Node> movable_;
  std::vector<Moved> moved_;
  Plan best_;
  std::int64_t makespan_ = TimedGraph::never;
};

} // namespace hetsched::detail
