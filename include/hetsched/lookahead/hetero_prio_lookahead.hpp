// SPDX-License-Identifier: MIT
#pragma once
// Gives each task to the class of worker with which a simulation of the whole graph ends first.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/lookahead/expected_run.hpp>
#include <hetsched/detail/lookahead/placed_plan.hpp>
#include <hetsched/detail/lookahead/ranked_plan_search.hpp>
#include <hetsched/detail/lookahead/ranked_plan_simulation.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/detail/plans/schedule_list.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/lookahead/engine_simulator.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/platform/simulation.hpp>

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

/// Decides: before a graph runs, which class runs each task and in what order. The plan is the best
///   of the candidates' schedules, simulated on the whole graph, improved by a local search.
///   Workers take the highest task of their class. A worker with no ready task may take the highest
///   task of another class. It does so if the rest of the graph then ends earlier in a simulation
///   from now on. It stays idle as long as all tasks end when the plan says. With
///   Config::transfers, search_plan makes the plan, with a worker for each task. It is followed to
///   the letter until a task ends at another time. From then on, each device is to others as a
///   class is.
/// Source: Kumar 2017, ch. 6, asks to look ahead whether a slow worker should take a task; sec. 3.5
///   for schedules of the whole graph. The search is ours
///   (detail/lookahead/ranked_plan_search.hpp; detail/plans/annealed_plan.hpp with transfers).
/// Cost: prepare simulates the graph under each candidate, then Config::effort tasks, some 0.1 us
///   each. A worker that finds no task after the end of another costs two simulations of the rest.
///   All else is O(log Q).
/// Needs: context: predicted times, of every task; a graph run as a whole; priorities of graphs.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time, for Config::seed.
/// Knobs: Simulator, EngineSimulator<> or one like it; Candidates, schedulers it simulates;
///   Config::effort, 30'000'000 tasks; Config::seed; Config::plan, shared by runtimes of one thread
///   that run one graph after another: kept for the next where times are the same;
///   Config::transfers, a machine with this one's memory nodes, of which routes, links, transfers,
///   window and serve count; none: transfers are free.
/// Limits: whether a task pays elsewhere is asked with its own transfer only. A task outside a
///   graph, or of a graph with an unknown time, goes to any free worker, as one that comes again.
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
    std::shared_ptr<Simulation const> transfers = {};
  };

  explicit HeteroPrioLookahead(std::span<WorkerInfo const> workers)
      : HeteroPrioLookahead(workers, Config{}) {}

  HeteroPrioLookahead(std::span<WorkerInfo const> workers, Config config)
      : config_(std::move(config)), taken_(workers.size()) {
    if (config_.transfers && config_.transfers->transfers == Simulation::Transfers::free) {
      config_.transfers = nullptr;
    }
    std::vector<Arch> archs;
    for (auto const& info : workers) {
      archs.push_back(info.arch);
    }
    sides_ = detail::PlanSides(archs, config_.transfers != nullptr);
    ready_.resize(sides_.archs.size());
    turns_.resize(workers.size());
    asked_.resize(ready_.size());
  }

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
    graph_ = detail::TimedGraph(graph, std::move(times), sides_);
    if (!plan_->on_trial) {
      auto edges = graph_.edges();
      auto transfers = known_transfers();
      if (plan_->times != graph_.times() || plan_->workers != workers || plan_->edges != edges ||
          plan_->transfers != transfers) {
        *plan_ = {}; // also if the search throws
        search(graph, expected, ctx.workers());
        plan_->times = graph_.times();
        plan_->workers = workers;
        plan_->edges = std::move(edges);
        plan_->transfers = std::move(transfers);
      }
    }
    begin_ = ctx.now();
    moment_.open.reset(graph);
    pushed_.assign(graph.size(), false);
    for (auto& turns : turns_) {
      turns.clear();
    }
    auto const& worker = plan_->plan.worker;
    for (std::size_t v = 0; v < worker.size(); ++v) {
      turns_[worker[v].index()].insert(-plan_->plan.rank[v]);
    }
    known_ = true;
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const node = ctx.task(task).graph_node;
    // A task comes again if its device is lost.
    if (!known_ || node < 0 || pushed_[static_cast<Node>(node)]) {
      others_.push_back(task);
      return Wake::any();
    }
    auto const v = static_cast<Node>(node);
    pushed_[v] = true;
    ready_[plan_->plan.side[v]].insert({-plan_->plan.rank[v], v, task});
    return Wake::any();
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    std::size_t const side = sides_.of_worker[worker.index()];
    auto const own = to_the_letter() ? next_turn(ctx, side, turns_[worker.index()].begin(), worker)
                                     : first(ctx, ready_[side], worker);
    if (own != ready_[side].end()) {
      return take(ctx, side, own, worker);
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
    std::size_t const side = sides_.of_worker[worker.index()];
    std::size_t count = 0;
    auto const see = [&](TaskId task) {
      if (count < next.size() && ctx.can_run(task, worker)) {
        next[count++] = task;
      }
    };
    if (to_the_letter()) {
      for (auto turn = turns_[worker.index()].begin(); count < next.size(); ++turn) {
        auto const found = next_turn(ctx, side, turn, worker);
        if (found == ready_[side].end()) {
          break;
        }
        next[count++] = found->task;
      }
    } else {
      for (auto it = ready_[side].begin(); it != ready_[side].end() && count < next.size(); ++it) {
        see(it->task);
      }
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
    late_ = late_ || (!plan_->on_trial && (ctx.now() - begin_).ns != plan_->ends[v]);
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

  [[nodiscard]] LookaheadTransfers known_transfers() const {
    if (!config_.transfers) {
      return {};
    }
    auto const& machine = *config_.transfers;
    auto const& platform = machine.platform;
    return {machine.transfers,
            machine.window,
            machine.serve,
            platform.nodes,
            platform.routes,
            platform.links};
  }

  void search(TaskGraph const& graph,
              std::span<ExpectedTimes const> expected,
              std::span<WorkerInfo const> workers) {
    auto const begin = detail::clock_seconds();
    detail::ExpectedRun const run(graph, expected, workers, known_transfers());
    auto const& simulation = run.simulation();
    std::array<SimulatedSchedule, sizeof...(Candidates)> schedules{
        Simulator::template run<Candidates>(run.graph(), simulation)...};
    if (ready_.size() > max_archs) {
      auto const follow = [&](RankedPlan const& plan) {
        auto const trial = std::make_shared<LookaheadPlan>();
        trial->plan = plan;
        trial->on_trial = true;
        Config config;
        config.plan = trial;
        config.transfers = config_.transfers;
        return Simulator::template run<HeteroPrioLookahead>(run.graph(), simulation, config);
      };
      detail::find_placed_plan(
          run.graph(), simulation, schedules, config_.effort, config_.seed, follow, *plan_);
    } else {
      detail::RankedPlanSearch search(graph_, config_.seed);
      for (auto& schedule : schedules) {
        search.offer(std::move(schedule.side), schedule.begin);
      }
      search.improve(config_.effort);
      plan_->plan = search.best();
      plan_->makespan = simulation_.run(graph_, plan_->plan);
      plan_->ends = simulation_.ends;
    }
    plan_->seconds = detail::clock_seconds() - begin;
  }

  template <class Ctx>
  [[nodiscard]] static typename Queue::const_iterator
  first(Ctx const& ctx, Queue const& queue, WorkerId worker) {
    return std::find_if(queue.begin(), queue.end(), [&](Ready const& waiting) {
      return ctx.can_run(waiting.task, worker);
    });
  }

  /// Whether each worker takes what the plan gives it, in the plan's order: so it is if the plan
  /// names workers, as long as all tasks end when it says.
  [[nodiscard]] bool to_the_letter() const noexcept {
    return known_ && !late_ && !plan_->plan.worker.empty();
  }

  /// The worker's task whose turn it is, if that is ready and the worker can run it; or else the
  /// end.
  template <class Ctx>
  [[nodiscard]] typename Queue::const_iterator
  next_turn(Ctx const& ctx,
            std::size_t side,
            std::set<std::int64_t>::const_iterator turn,
            WorkerId worker) const {
    auto const& ready = ready_[side];
    if (turn == turns_[worker.index()].end()) {
      return ready.end();
    }
    auto const found = ready.lower_bound({*turn, 0, no_task});
    bool const now =
        found != ready.end() && found->minus_rank == *turn && ctx.can_run(found->task, worker);
    return now ? found : ready.end();
  }

  /// The first task of another class with which the graph would end earlier on this side, and that
  /// class; `side` if there is none.
  template <class Ctx>
  [[nodiscard]] std::pair<std::size_t, typename Queue::const_iterator>
  from_another(Ctx const& ctx, std::size_t side, WorkerId worker) {
    for (std::size_t other = 0; other < ready_.size(); ++other) {
      auto const found = other == side ? ready_[other].end() : first(ctx, ready_[other], worker);
      if (found != ready_[other].end() && pays(ctx, *found, worker)) {
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
    if (!plan_->plan.worker.empty()) {
      turns_[plan_->plan.worker[node].index()].erase(rank);
    }
    auto& taken = taken_[worker.index()];
    auto const now = ctx.now().ns;
    auto const begin = taken.empty() ? now : std::max(now, taken.back().end);
    taken.push_back({node, begin + graph_.time(node, sides_.of_worker[worker.index()])});
    return task;
  }

  /// Whether the graph would end earlier with the task on this worker's side than on the side that
  /// it waits for.
  template <class Ctx>
  [[nodiscard]] bool pays(Ctx const& ctx, Ready const& waiting_there, WorkerId worker) {
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
        std::uint32_t const side = sides_.of_worker[info.id.index()];
        moment_.running.push_back({taken.front().node, side, taken.back().end});
      }
    }
    auto const without = simulation_.run(graph_, plan_->plan, moment_);
    auto& at = plan_->plan.side[waiting_there.node];
    auto const before = std::exchange(at, sides_.of_worker[worker.index()]);
    auto const with = simulation_.run(graph_, plan_->plan, moment_);
    at = before;
    auto const transfer = config_.transfers ? ctx.transfer(waiting_there.task, worker).ns : 0;
    return with + transfer < without;
  }

  Config config_;
  detail::TimedGraph graph_; // the graph that runs
  std::shared_ptr<LookaheadPlan> plan_;
  detail::PlanSides sides_;
  std::vector<Queue> ready_;                  // by the side that the plan gives them
  std::vector<std::set<std::int64_t>> turns_; // of each worker's tasks, minus their ranks
  std::vector<bool> pushed_;                  // the tasks of the graph
  std::deque<TaskId> others_;                 // tasks without a plan, and those that came again
  std::vector<std::vector<Taken>> taken_;
  std::vector<std::uint64_t> asked_; // for each side, after how many ends it was left idle
  std::uint64_t ended_ = 0;
  detail::PlanMoment moment_;
  detail::RankedPlanSimulation simulation_;
  Instant begin_;      // of the graph
  bool known_ = false; // there is a plan for the graph that runs
  bool late_ = false;  // a task ended at another time than planned
};

} // namespace hetsched
