// SPDX-License-Identifier: MIT
#pragma once
// A search for a short schedule of a known graph: which class runs each task, and in what order.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/lookahead/ranked_plan_simulation.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/detail/plans/local_search.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Local search. A step moves one to three tasks to another class and keeps the change if the
/// makespan does not grow. In the first half of the steps, a task's rank is its longest way to the
/// end, with the times of the classes chosen. In the second half, ranks are the order of the best
/// schedule so far. Now and then this schedule is repeated backward and forward in time, which may
/// shorten it (the forward-backward improvement of project scheduling).
class RankedPlanSearch {
public:
  using Node = TimedGraph::Node;

  RankedPlanSearch(TimedGraph const& graph, std::uint64_t seed) : graph_(graph), random_(seed) {
    for (Node v = 0; v < graph.size(); ++v) {
      std::size_t count = 0;
      for (std::size_t side = 0; side < graph.sides(); ++side) {
        count += may(v, side) ? 1 : 0;
      }
      if (count > 1) {
        movable_.push_back(v);
      }
    }
  }

  /// A schedule to begin from: the class and the beginning of each task.
  void offer(std::vector<std::uint8_t> side, std::span<std::int64_t const> begin) {
    RankedPlan plan{std::move(side), std::vector<std::int64_t>(begin.size())};
    std::transform(
        begin.begin(), begin.end(), plan.rank.begin(), [](std::int64_t at) { return -at; });
    keep(simulation_.run(graph_, plan), plan);
    rank_by_levels(plan);
    keep(simulation_.run(graph_, plan), plan);
  }

  /// Makes steps that simulate `effort` tasks in all, and at least one step.
  void improve(std::uint64_t effort) {
    auto const steps = 1 + effort / std::max<std::size_t>(1, graph_.size());
    if (movable_.empty()) {
      return;
    }
    ByLevels by_levels{*this, best_};
    rank_by_levels(by_levels.plan);
    auto const first = simulation_.run(graph_, by_levels.plan);
    keep(first, by_levels.plan);
    local_search(by_levels, first, NoLonger{steps / 2});
    ByOrder by_order{*this, best_};
    back_and_forth(by_order.plan);
    local_search(by_order, makespan_, NoLonger{steps - steps / 2});
  }

  [[nodiscard]] RankedPlan const& best() const noexcept { return best_; }

  [[nodiscard]] std::int64_t makespan() const noexcept { return makespan_; }

private:
  struct Moved {
    Node node;
    std::uint8_t to;
  };

  /// A plan for local_search.
  struct Changing {
    RankedPlanSearch& search;
    RankedPlan plan;

    void change() {
      search.move();
      search.flip(plan);
    }

    void take_back() {
      for (auto const& moved : search.moved_) {
        plan.side[moved.node] = moved.to;
      }
    }
  };

  struct ByLevels : Changing {
    std::int64_t evaluate(std::int64_t /*most*/) {
      this->search.rank_by_levels(this->plan);
      return this->search.simulation_.run(this->search.graph_, this->plan);
    }

    std::int64_t keep(std::int64_t makespan) {
      this->search.keep(makespan, this->plan);
      return makespan;
    }
  };

  struct ByOrder : Changing {
    std::int64_t evaluate(std::int64_t /*most*/) {
      return this->search.simulation_.run(this->search.graph_, this->plan);
    }

    std::int64_t keep(std::int64_t makespan) {
      this->search.keep(makespan, this->plan);
      if (this->search.random_.next() % 16 != 0) {
        return makespan;
      }
      this->search.back_and_forth(this->plan);
      return evaluate(makespan);
    }
  };

  /// Accepts a number of steps in which the makespan does not grow.
  struct NoLonger {
    std::uint64_t steps;

    [[nodiscard]] bool more() noexcept { return steps-- > 0; }

    [[nodiscard]] std::int64_t most(std::int64_t now) const noexcept { return now; }
  };

  [[nodiscard]] bool may(Node node, std::size_t side) const noexcept {
    return graph_.workers()[side] > 0 && graph_.time(node, side) != never_ends;
  }

  void keep(std::int64_t makespan, RankedPlan const& plan) {
    if (makespan < makespan_) {
      makespan_ = makespan;
      best_ = plan;
    }
  }

  /// Draws the tasks of a step, and for each task another class that can run it.
  void move() {
    moved_.clear();
    auto const count = 1 + random_.next() % 3;
    for (std::uint64_t k = 0; k < count; ++k) {
      auto const node = movable_[random_.next() % movable_.size()];
      auto const skip = random_.next() % graph_.sides();
      moved_.push_back({node, static_cast<std::uint8_t>(skip)});
    }
  }

  /// Does the step. moved_ then has the moves that undo it, the last one first.
  void flip(RankedPlan& plan) {
    for (auto& moved : moved_) {
      auto const before = plan.side[moved.node];
      std::size_t to = moved.to;
      do {
        to = (to + 1) % graph_.sides();
      } while (to == before || !may(moved.node, to));
      plan.side[moved.node] = static_cast<std::uint8_t>(to);
      moved.to = before;
    }
    std::reverse(moved_.begin(), moved_.end());
  }

  void rank_by_levels(RankedPlan& plan) const {
    for (auto v = static_cast<Node>(graph_.size()); v-- > 0;) { // edges go to higher numbers
      std::int64_t longest = 0;
      for (auto const next : graph_.next(v, false)) {
        longest = std::max(longest, plan.rank[next]);
      }
      plan.rank[v] = graph_.time(v, plan.side[v]) + longest;
    }
  }

  void back_and_forth(RankedPlan& plan) {
    constexpr int most_passes = 8;
    auto least = simulation_.run(graph_, plan);
    for (int k = 0; k < most_passes; ++k) {
      RankedPlan turned{plan.side, simulation_.ends}; // the task that ended last comes first
      simulation_.run(graph_, turned, true);
      turned.rank = simulation_.ends;
      auto const makespan = simulation_.run(graph_, turned);
      if (makespan >= least) {
        break;
      }
      least = makespan;
      plan = turned;
      keep(makespan, plan);
    }
  }

  TimedGraph const& graph_;
  RandomStream random_;
  RankedPlanSimulation simulation_;
  std::vector<Node> movable_;
  std::vector<Moved> moved_;
  RankedPlan best_;
  std::int64_t makespan_ = never_ends;
};

} // namespace hetsched::detail
