// SPDX-License-Identifier: MIT
#pragma once
// Gives each task to the class of worker with which a simulation of the whole graph ends first.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/lookahead/expected_run.hpp>
#include <hetsched/detail/lookahead/ranked_plan_search.hpp>
#include <hetsched/detail/lookahead/ranked_plan_simulation.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/perf_models/no_model.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// For each task of a graph: the class that ran it, and when it began there for the last time.
struct SimulatedSchedule {
  std::vector<std::uint8_t> side; // Arch::index
  std::vector<std::int64_t> begin;
};

/// Simulates policies on a graph in the engine of virtual time. Tasks take the times that
/// `expected` says, and transfers are free. Results do not depend on Cache. A program that has this
/// engine with another cache can name that cache here: it then compiles no further engine.
template <class Cache = policies::Lru>
struct EngineSimulator {
  /// Runs the graph under Scheduler, with the graph's own priorities. Every task must have a time
  /// on each class of worker that can run it. Throws what SimulatedRuntime throws.
  template <class Scheduler>
  [[nodiscard]] static SimulatedSchedule run(TaskGraph const& graph,
                                             std::span<ExpectedTimes const> expected,
                                             std::span<WorkerInfo const> workers) {
    SimulatedSchedule schedule{std::vector<std::uint8_t>(graph.size()),
                               std::vector<std::int64_t>(graph.size())};
    detail::ExpectedRun const run(graph, expected, workers);
    auto config = run.simulation();
    std::vector<std::size_t> first; // the first worker of each class
    std::size_t count = 0;
    for (auto const& worker_class : config.platform.classes) {
      first.push_back(count);
      count += static_cast<std::size_t>(worker_class.workers);
    }
    config.on_task = [&](SimulatedTask const& task) {
      auto const node = static_cast<std::size_t>(task.node);
      auto const behind = std::upper_bound(first.begin(), first.end(), task.worker.index());
      auto const number = static_cast<std::size_t>(behind - first.begin()) - 1;
      if (!task.aborted) {
        schedule.side[node] = config.platform.classes[number].arch.index;
        schedule.begin[node] = task.begin.ns;
      }
    };
    SimulatedRuntime<Scheduler, Cache> rt(config);
    rt.run(run.graph());
    return schedule;
  }
};

/// Decides: before a graph runs, which class runs each task and in what order. The plan is the best
///   of the candidates' schedules, simulated on the whole graph, improved by a local search.
///   Workers take the highest task of their class. A worker with no ready task may take the highest
///   task of another class. It does so if the rest of the graph then ends earlier in a simulation
///   from now on. It stays idle as long as all tasks end when the plan says.
/// Source: Kumar 2017, ch. 6, asks to look ahead whether a slow worker should take a task; sec. 3.5
///   for schedules of the whole graph. The search is ours
///   (detail/lookahead/ranked_plan_search.hpp).
/// Cost: prepare simulates the graph under each candidate, then Config::effort tasks, some 0.1 us
///   each. A worker that finds no task after the end of another costs two simulations of the rest.
///   All else is O(log Q).
/// Needs: context: predicted times, of every task; a graph run as a whole; priorities of graphs.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time, for Config::seed.
/// Knobs: Simulator, EngineSimulator<> or one like it; Candidates, schedulers it simulates;
///   Config::effort, 30'000'000 tasks; Config::seed; Config::plan, shared by runtimes of one thread
///   that run one graph after another: kept for the next where times are the same.
/// Limits: transfers are not simulated. A task outside a graph, or of a graph with an unknown time,
///   goes to any free worker. The plan treats all workers of a class alike.
template <class Simulator, class... Candidates>
class HeteroPrioLookahead {
  static_assert(sizeof...(Candidates) > 0,
                "hetsched: HeteroPrioLookahead<Simulator, Candidates...> needs a candidate");

public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  struct Config {
    std::uint64_t effort = 30'000'000;
    std::uint64_t seed = 1;
    std::shared_ptr<LookaheadPlan> plan = {};
  };

  explicit HeteroPrioLookahead(std::span<WorkerInfo const> workers)
      : HeteroPrioLookahead(workers, Config{}) {}

  HeteroPrioLookahead(std::span<WorkerInfo const> workers, Config config)
      : config_(std::move(config)), taken_(workers.size()), asked_(max_archs) {}

  template <context Ctx>
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    known_ = false;
    late_ = false;
    if (!detail::all_expected(expected)) {
      return;
    }
    std::vector<detail::ArchTimes> times;
    for (auto const& of_task : expected) {
      times.emplace_back().fill(detail::never_ends);
      for (std::size_t a = 0; a < max_archs; ++a) {
        if (of_task.archs.has(Arch{static_cast<std::uint8_t>(a)})) {
          times.back()[a] = of_task.on[a]->ns;
        }
      }
    }
    std::array<int, max_archs> workers{};
    for (auto const& info : ctx.workers()) {
      ++workers[info.arch.index];
    }
    plan_ = config_.plan ? config_.plan : std::make_shared<LookaheadPlan>();
    graph_ = detail::TimedGraph(graph, std::move(times), workers);
    auto edges = graph_.edges();
    if (plan_->times != graph_.times() || plan_->workers != workers || plan_->edges != edges) {
      plan_->times = graph_.times();
      plan_->workers = workers;
      plan_->edges = std::move(edges);
      search(graph, expected, ctx.workers());
    }
    begin_ = ctx.now();
    moment_.open.reset(graph);
    known_ = true;
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const node = ctx.task(task).graph_node;
    if (!known_ || node < 0) {
      others_.push_back(task);
      return Wake::any();
    }
    auto const v = static_cast<Node>(node);
    ready_[plan_->plan.side[v]].insert({-plan_->plan.rank[v], v, task});
    return Wake::any();
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const side = std::size_t{ctx.workers()[worker.index()].arch.index};
    if (auto const found = first(ctx, ready_[side], worker); found != ready_[side].end()) {
      return take(ctx, side, found, worker);
    }
    auto const any = std::find_if(
        others_.begin(), others_.end(), [&](TaskId task) { return ctx.can_run(task, worker); });
    if (any != others_.end()) {
      auto const task = *any;
      others_.erase(any);
      return task;
    }
    if (!late_ || asked_[side] == ended_) {
      return no_task;
    }
    asked_[side] = ended_;
    auto const [other, found] = from_another(ctx, side, worker);
    return other == side ? no_task : take(ctx, other, found, worker);
  }

  /// A task of another class only if it is the first: it costs the simulations.
  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const side = std::size_t{ctx.workers()[worker.index()].arch.index};
    std::size_t count = 0;
    auto const see = [&](TaskId task) {
      if (count < next.size() && ctx.can_run(task, worker)) {
        next[count++] = task;
      }
    };
    for (auto it = ready_[side].begin(); it != ready_[side].end() && count < next.size(); ++it) {
      see(it->task);
    }
    std::for_each(others_.begin(), others_.end(), see);
    if (count == 0 && !next.empty() && late_ && asked_[side] != ended_) {
      if (auto const [other, found] = from_another(ctx, side, worker); other != side) {
        see(found->task);
      }
    }
    return count;
  }

  template <context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration) {
    ++ended_;
    auto const node = ctx.task(task).graph_node;
    if (!known_ || node < 0) {
      return;
    }
    auto const v = static_cast<Node>(node);
    auto& taken = taken_[worker.index()];
    std::erase_if(taken, [v](Taken const& other) { return other.node == v; });
    moment_.open.close(graph_.next(v, false), [](Node) {});
    late_ = late_ || (ctx.now() - begin_).ns != plan_->ends[v];
  }

private:
  using Node = detail::TimedGraph::Node;

  struct Ready {
    std::int64_t minus_rank;
    Node node;
    TaskId task;

    friend bool operator<(Ready const& a, Ready const& b) noexcept {
      return a.minus_rank != b.minus_rank ? a.minus_rank < b.minus_rank : a.node < b.node;
    }
  };

  using Queue = std::set<Ready>;

  struct Taken {
    Node node;
    std::int64_t end; // when it will end, as expected when it was taken
  };

  void search(TaskGraph const& graph,
              std::span<ExpectedTimes const> expected,
              std::span<WorkerInfo const> workers) {
    detail::RankedPlanSearch search(graph_, config_.seed);
    auto const offer = [&](SimulatedSchedule schedule) {
      search.offer(std::move(schedule.side), schedule.begin);
    };
    (offer(Simulator::template run<Candidates>(graph, expected, workers)), ...);
    search.improve(config_.effort);
    plan_->plan = search.best();
    plan_->makespan = simulation_.run(graph_, plan_->plan);
    plan_->ends = simulation_.ends;
  }

  template <class Ctx>
  [[nodiscard]] static typename Queue::const_iterator
  first(Ctx const& ctx, Queue const& queue, WorkerId worker) {
    return std::find_if(queue.begin(), queue.end(), [&](Ready const& waiting) {
      return ctx.can_run(waiting.task, worker);
    });
  }

  /// The first task of another class with which the graph would end earlier on this side, and that
  /// class; `side` if there is none.
  template <class Ctx>
  [[nodiscard]] std::pair<std::size_t, typename Queue::const_iterator>
  from_another(Ctx const& ctx, std::size_t side, WorkerId worker) {
    for (std::size_t other = 0; other < max_archs; ++other) {
      auto const found = other == side ? ready_[other].end() : first(ctx, ready_[other], worker);
      if (found != ready_[other].end() && pays(ctx, found->node, side)) {
        return {other, found};
      }
    }
    return {side, ready_[side].end()};
  }

  template <class Ctx>
  TaskId
  take(Ctx const& ctx, std::size_t from, typename Queue::const_iterator chosen, WorkerId worker) {
    auto const [rank, node, task] = *chosen;
    ready_[from].erase(chosen);
    auto& taken = taken_[worker.index()];
    auto const now = ctx.now().ns;
    auto const begin = taken.empty() ? now : std::max(now, taken.back().end);
    auto const side = ctx.workers()[worker.index()].arch.index;
    taken.push_back({node, begin + graph_.time(node, side)});
    return task;
  }

  /// Whether the graph would end earlier with the task on this class than on the class that it
  /// waits for.
  template <class Ctx>
  [[nodiscard]] bool pays(Ctx const& ctx, Node node, std::size_t side) {
    moment_.now = ctx.now().ns;
    moment_.ready.clear();
    for (auto const& queue : ready_) {
      for (auto const& waiting : queue) {
        moment_.ready.push_back(waiting.node);
      }
    }
    moment_.running.clear();
    for (auto const& info : ctx.workers()) {
      auto const& taken = taken_[info.id.index()];
      if (!taken.empty()) {
        moment_.running.push_back({taken.front().node, info.arch.index, taken.back().end});
      }
    }
    auto const without = simulation_.run(graph_, plan_->plan, moment_);
    auto& at = plan_->plan.side[node];
    auto const before = std::exchange(at, static_cast<std::uint8_t>(side));
    auto const with = simulation_.run(graph_, plan_->plan, moment_);
    at = before;
    return with < without;
  }

  Config config_;
  detail::TimedGraph graph_; // the graph that runs
  std::shared_ptr<LookaheadPlan> plan_;
  std::array<Queue, max_archs> ready_; // by the class that the plan gives them
  std::deque<TaskId> others_;          // tasks without a plan
  std::vector<std::vector<Taken>> taken_;
  std::vector<std::uint64_t> asked_; // for each class, after how many ends it was left idle
  std::uint64_t ended_ = 0;
  detail::PlanMoment moment_;
  detail::RankedPlanSimulation simulation_;
  Instant begin_;      // of the graph
  bool known_ = false; // there is a plan for the graph that runs
  bool late_ = false;  // a task ended at another time than planned
};

} // namespace hetsched
