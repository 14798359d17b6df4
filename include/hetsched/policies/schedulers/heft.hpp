// SPDX-License-Identifier: MIT
#pragma once
// HEFT for tasks as they become ready, with priorities, and with a look at what will come of it.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/activated_order.hpp>
#include <hetsched/detail/policies/earliest_finish.hpp>
#include <hetsched/detail/policies/heft_forecast.hpp>
#include <hetsched/detail/policies/heft_look_ahead.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::policies {

/// Decides: each ready task goes, in the order in which it becomes ready, to the queue of the
/// worker
///   that is expected to end it first, its transfers included, and stays there; a queue is first
///   come, first served. The thesis' `heft`, which is StarPU's dmda: the decisions are Dmda's.
/// Source: Kumar 2017, sec. 3.6 (transfers are free there). Not XkaapiHeft, which is Lima's.
/// Cost: push O(W + data); pop O(1); one lock.
/// Needs: context: predicted times and transfers, from a PerfModel or a platform.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: what is given to a worker is not taken back, however late that is. Tasks of unknown
/// times
///   go to whoever is free.
class Heft : private detail::EarliestFinish<Fifo, Fifo> {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  using EarliestFinish::EarliestFinish;
  using EarliestFinish::epilogue;
  using EarliestFinish::peek;
  using EarliestFinish::pop;

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    return assign(ctx, task);
  }
};

/// What the thesis leaves open of heftp: what counts for when a worker is free (all that is in its
/// queue: the text has tasks passed over later, when dmdas would leave lower priorities out), and
/// which tasks are sorted before they choose (those that one task's end makes ready; ends at the
/// same time are told apart). Of the look-ahead: that the simulation knows what is not ready yet,
/// the only way for +MMS, goes on as plain heftp, and that its transfers are free.
///
/// Decides: as Heft, but of the tasks that one end makes ready the highest priority chooses
///   first, the first in its graph among equals, and workers run the highest priority of their
///   queues first. With a LookAhead a task may go to the core that would end it first instead.
/// Source: Kumar 2017, sec. 3.6 and 3.6.1: heftp, heftp+LET, +GB, +MMS; the readings are above.
/// Cost: push O(W + data), pop O(log Q); with a LookAhead each task one simulation, +MMS two, of
///   O(tasks left x W + edges) at most; one lock.
/// Needs: context: predicted times and transfers; priorities of graphs, such as
///   Priorities::bottom_min. Look-ahead: a graph by Runtime::run, and times of all its tasks.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: Config::look_ahead, none.
/// Limits: as Heft's. Without what it needs, or for tasks outside a graph, there is no
///   look-ahead. All that are not cores are GPUs.
class HeftpForms {
public:
  struct Config {
    LookAhead look_ahead = LookAhead::none;
  };

  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::per_queue;

  explicit HeftpForms(std::span<WorkerInfo const> workers) : HeftpForms(workers, Config{}) {}

  HeftpForms(std::span<WorkerInfo const> workers, Config config)
      : how_(config.look_ahead), dates_(workers), forecast_(workers) {}

  /// Without look-ahead no graph is prepared.
  template <class Ctx>
  [[nodiscard]] SchedulerRules rules() const noexcept {
    return {threading,
            priority_scope,
            hook_push | hook_pop | hook_push_activated | hook_peek | hook_epilogue |
                (how_ != LookAhead::none ? hook_prepare : 0U)};
  }

  template <context Ctx>
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    if (how_ == LookAhead::none) {
      return;
    }
    std::vector<detail::HeftForecast::Times> times;
    for (auto const& known : expected) {
      times.emplace_back().fill(detail::HeftForecast::never);
      for (auto const& info : ctx.workers()) {
        auto const& time = known.on[info.arch.index];
        if (known.archs.has(info.arch) && !time) {
          forecast_.begin(graph, {});
          return;
        }
        if (known.archs.has(info.arch)) {
          times.back()[info.arch.index] = time->ns;
        }
      }
    }
    forecast_.begin(graph, std::move(times));
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto wake = Wake::none();
    push_activated(ctx, {&task, 1}, worker, {&wake, 1});
    return wake;
  }

  template <context Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId /*worker*/,
                      std::span<Wake> wakes) {
    auto const order = order_.of(ctx, tasks);
    rest_.clear();
    for (auto const& place : order) {
      rest_.push_back(static_cast<Node>(place.node));
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      wakes[order[k].number] = assign(ctx, tasks[order[k].number], order[k].node, k);
    }
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const task = dates_.pop(ctx, worker);
    if (task && how_ != LookAhead::none) {
      if (auto const node = ctx.task(task).graph_node; forecast_.knows(node)) {
        foresee([&] { forecast_.take(static_cast<Node>(node), worker, ctx.now().ns); });
      }
    }
    return task;
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    return dates_.peek(ctx, worker, next);
  }

  template <context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration measured) {
    dates_.epilogue(ctx, task, worker, measured);
    if (how_ != LookAhead::none) {
      if (auto const node = ctx.task(task).graph_node; forecast_.knows(node)) {
        foresee([&] { forecast_.end(static_cast<Node>(node), worker, ctx.now().ns); });
      }
    }
  }

private:
  using Node = detail::HeftForecast::Node;

  /// Highest first, and all that is there counts.
  struct Queue : PriorityHeap {
    static constexpr bool ordered_by_priority = false;
  };

  /// The task, a node of the graph or none of it, is the k-th of those that are made ready.
  template <context Ctx>
  Wake assign(Ctx const& ctx, TaskId task, std::int32_t node, std::size_t k) {
    if (how_ == LookAhead::none || !forecast_.knows(node)) {
      return dates_.assign(ctx, task);
    }
    auto const rest = std::span(rest_).subspan(k + 1);
    ArchMask classes{0xff};
    foresee(
        [&] { classes = detail::classes_to_ask(forecast_, how_, ctx.now().ns, rest_[k], rest); });
    auto const wake = dates_.assign(ctx, task, classes);
    if (wake.target() && forecast_.knows(node)) {
      foresee([&] { forecast_.give(rest_[k], wake.target()); });
    }
    return wake;
  }

  /// Without memory there is no look-ahead until the next graph.
  template <class F>
  void foresee(F const& step) {
    try {
      step();
    } catch (std::bad_alloc const&) {
      forecast_.forget();
    }
  }

  LookAhead how_;
  detail::EarliestFinish<Queue, PriorityHeap> dates_;
  detail::HeftForecast forecast_; // of look-ahead
  detail::ActivatedOrder order_;
  std::vector<Node> rest_; // nodes in that order
};

/// With one look-ahead, as a type of its own, which has no hooks but those it needs.
template <LookAhead How = LookAhead::none>
class Heftp : private HeftpForms {
public:
  using HeftpForms::epilogue;
  using HeftpForms::peek;
  using HeftpForms::pop;
  using HeftpForms::priority_scope;
  using HeftpForms::push;
  using HeftpForms::push_activated;
  using HeftpForms::threading;

  explicit Heftp(std::span<WorkerInfo const> workers) : HeftpForms(workers, {How}) {}

  template <context Ctx>
    requires(How != LookAhead::none)
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    HeftpForms::prepare(ctx, graph, expected);
  }
};

} // namespace hetsched::policies
