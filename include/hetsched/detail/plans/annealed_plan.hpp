// SPDX-License-Identifier: MIT
#pragma once
// Simulated annealing of schedules.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/plans/local_search.hpp>
#include <hetsched/detail/plans/schedule_list.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/plans/search_limits.hpp>
#include <hetsched/plans/static_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Simulated annealing over schedules as lists.
template <class List>
class AnnealedPlan {
public:
  /// The makespan of a plan that is followed. Empty: what the list says.
  using Follow = std::function<Duration(StaticPlan const&)>;

  AnnealedPlan(TaskGraph const& graph, List list, SearchLimits const& limits, Follow const& follow)
      : graph_(graph), limits_(limits), follow_(follow), random_(limits.seed),
        list_(std::move(list)) {}

  /// Replaces the plan by the best that was found, if that is shorter. The plan has a makespan.
  void run(StaticPlan& plan) {
    plan_ = &plan;
    auto const first = list_.evaluate(List::too_long);
    keep(first);
    local_search(*this, first, Cooling{*this, clock_seconds()});
  }

  // ---- for local_search ----

  void change() {
    moved_ = List::nobody;
    changed_.clear();
    auto const task = any_task();
    auto const what = unit();
    if (what < 0.25) {
      give_seat(task, below(list_.seats()));
    } else if (what < 0.5) {
      trade_seats(task);
    } else {
      move(task);
      if (what > 0.85) {
        give_seat(task, below(list_.seats()));
      }
    }
  }

  void take_back() {
    if (moved_ != List::nobody) {
      list_.move(moved_, from_);
    }
    for (auto const& changed : changed_) {
      list_.set_seat(changed.task, changed.before);
    }
  }

  std::int64_t evaluate(std::int64_t most) { return list_.evaluate(most); }

  std::int64_t keep(std::int64_t makespan) {
    list_.critical_path(path_);
    if (makespan < best_) {
      best_ = makespan;
      offer();
    }
    return makespan;
  }

private:
  struct Changed {
    std::uint32_t task;
    std::uint32_t before; // its seat
  };

  /// How much longer a step may make the schedule, less and less.
  struct Cooling {
    AnnealedPlan& plan;
    double began;
    double part = 0; // of what may be spent
    std::uint64_t steps = 0;

    [[nodiscard]] bool more() {
      auto const& limits = plan.limits_;
      if (part >= 1 || plan.plan_->makespan <= limits.enough) {
        return false;
      }
      ++steps;
      if (steps % 64 == 0 && limits.seconds > 0) {
        part = std::max(part, (clock_seconds() - began) / limits.seconds);
      }
      if (limits.evaluations > 0) {
        part = std::max(part, static_cast<double>(steps) / static_cast<double>(limits.evaluations));
      }
      return true;
    }

    // Tried on Cholesky of 12 and 24 tiles on haswell_k40: hotter, large graphs do not cool down.
    [[nodiscard]] std::int64_t most(std::int64_t current) {
      auto const heat = 0.4 * static_cast<double>(plan.best_) /
                        static_cast<double>(plan.graph_.size()) * std::pow(0.03, part);
      return static_cast<std::int64_t>(static_cast<double>(current) -
                                       heat * std::log(1 - plan.unit()));
    }
  };

  /// Every other time one that the end depends on.
  std::uint32_t any_task() {
    return random_.next() % 2 == 0 ? path_[below(static_cast<std::uint32_t>(path_.size()))]
                                   : below(static_cast<std::uint32_t>(graph_.size()));
  }

  /// The list is the best so far. Plans are followed only if they are shorter by some part, since
  /// that takes as long as many steps.
  void offer() {
    constexpr double part = 0.998;
    if (!follow_) {
      plan_->makespan = {best_};
      plan_->steps = list_.steps();
    } else if (static_cast<double>(best_) <= part * static_cast<double>(followed_)) {
      followed_ = best_;
      auto plan = *plan_;
      plan.makespan = {best_};
      plan.steps = list_.steps();
      plan.makespan = follow_(plan);
      if (plan.makespan < plan_->makespan) {
        *plan_ = std::move(plan);
      }
    }
  }

  void give_seat(std::uint32_t task, std::uint32_t seat) {
    if (list_.can_run(task, seat)) {
      changed_.push_back({task, list_.seat_of(task)});
      list_.set_seat(task, seat);
    }
  }

  /// With a task of its type that has another seat, if one is found.
  void trade_seats(std::uint32_t task) {
    for (int tries = 0; tries < 8; ++tries) {
      auto const other = below(static_cast<std::uint32_t>(graph_.size()));
      if (graph_.nodes()[other].type == graph_.nodes()[task].type &&
          list_.seat_of(other) != list_.seat_of(task)) {
        auto const seat = list_.seat_of(task);
        give_seat(task, list_.seat_of(other));
        give_seat(other, seat);
        return;
      }
    }
  }

  /// Near or, every other time, anywhere.
  void move(std::uint32_t task) {
    auto [from, to] = list_.range(task);
    auto const place = list_.place(task);
    if (random_.next() % 2 == 0) {
      constexpr std::uint32_t near = 12;
      from = std::max(from, place - std::min(place, near));
      to = std::min(to, place + near);
    }
    moved_ = task;
    from_ = place;
    list_.move(task, from + below(to - from + 1));
  }

  /// From 0 to below `limit`.
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((random_.next() >> 32U) * limit >> 32U);
  }

  /// From 0 to below 1.
  double unit() { return static_cast<double>(random_.next() >> 11U) * 0x1p-53; }

  TaskGraph const& graph_;
  SearchLimits const limits_;
  Follow const& follow_;
  RandomStream random_;
  List list_;
  std::vector<std::uint32_t> path_; // of the current schedule
  std::uint32_t moved_ = List::nobody;
  std::uint32_t from_ = 0;
  std::vector<Changed> changed_;
  StaticPlan* plan_ = nullptr;         // the best so far
  std::int64_t best_ = never_ends;     // by the list
  std::int64_t followed_ = never_ends; // the best when a plan was last followed
};

} // namespace hetsched::detail
