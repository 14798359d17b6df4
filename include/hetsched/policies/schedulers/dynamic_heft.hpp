// SPDX-License-Identifier: MIT
#pragma once
// HEFT for tasks as they become ready, with priorities, and with a look at what will come of it.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/earliest_finish.hpp>
#include <hetsched/detail/heft_forecast.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::policies {

/// Decides: each ready task goes, in the order in which it becomes ready, to the queue of the
/// worker
///   that is expected to end it first, its transfers included, and stays there; a queue is first
///   come, first served. The thesis' `heft`, which is StarPU's dmda: the decisions are Dmda's.
/// Source: Kumar 2017, sec. 3.6 (transfers are free there). Not Heft, which is Lima's.
/// Cost: push O(W + data); pop O(1); one lock.
/// Needs: context: predicted times and transfers, from a PerfModel or a platform.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: what is given to a worker is not taken back, however late that is. Tasks of unknown
/// times
///   go to whoever is free.
class DynamicHeft {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit DynamicHeft(std::span<WorkerInfo const> workers) : dates_(workers) {}

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    return dates_.assign(ctx, task);
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return dates_.pop(ctx, worker);
  }

  template <context Ctx>
  std::size_t peek(Ctx const&, WorkerId worker, std::span<TaskId> next) {
    return dates_.peek(worker, next);
  }

  template <clock_context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration) {
    dates_.end(ctx, task, worker);
  }

private:
  detail::EarliestFinish<Fifo, Fifo> dates_;
};

/// How DynamicHeftp finds tasks that had better run on a core than where it would end them first
/// (Kumar 2017, sec. 3.6.1): by a simulation of what it would do with the rest of the graph.
enum class LookAhead : std::uint8_t {
  none,
  local_time,   // heftp+LET: a core is expected to end it no later than the simulation does
  gpus_busy,    // heftp+GB: with it on a core, no GPU is idle until it ends there; else on a GPU
  min_makespan, // heftp+MMS: the whole graph ends earlier with it on a core
};

/// What the thesis leaves open of heftp: what counts for when a worker is free (all that is in its
/// queue: the text has tasks passed over later, when dmdas would leave lower priorities out), and
/// which tasks are sorted before they choose (those that one task's end makes ready; ends at the
/// same time are told apart). Of the look-ahead: that the simulation knows what is not ready yet,
/// the only way for +MMS, goes on as plain heftp, and that its transfers are free.
///
/// Decides: as DynamicHeft, but of the tasks that one end makes ready the highest priority chooses
///   first, the first in its graph among equals, and workers run the highest priority of their
///   queues first. With a LookAhead a task may go to the core that would end it first instead.
/// Source: Kumar 2017, sec. 3.6 and 3.6.1: heftp, heftp+LET, +GB, +MMS; the readings are above.
/// Cost: push O(W + data), pop O(log Q); with a LookAhead each task one simulation, +MMS two, of
///   O(tasks left x W + edges) at most; one lock.
/// Needs: context: predicted times and transfers; priorities of graphs, such as
///   Priorities::bottom_min. Look-ahead: a graph by Runtime::run, and times of all its tasks.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: How, the look-ahead.
/// Limits: as DynamicHeft's. Without what it needs, or for tasks outside a graph, there is no
///   look-ahead. All that are not cores are GPUs.
template <LookAhead How = LookAhead::none>
class DynamicHeftp {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::per_queue;

  explicit DynamicHeftp(std::span<WorkerInfo const> workers)
      : dates_(workers), forecast_(workers) {}

  template <context Ctx>
    requires(How != LookAhead::none)
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    std::vector<detail::HeftForecast::Times> times;
    for (auto const& its : expected) {
      times.emplace_back().fill(detail::HeftForecast::never);
      for (auto const& info : ctx.workers()) {
        auto const& time = its.on[info.arch.index];
        if (its.archs.has(info.arch) && !time) {
          forecast_.begin(graph, {});
          return;
        }
        if (its.archs.has(info.arch)) {
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
    order_.clear();
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      auto const view = ctx.task(tasks[k]);
      order_.push_back({view.priority, k, view.graph_node});
    }
    std::sort(order_.begin(), order_.end(), [](Place const& a, Place const& b) {
      return a.priority != b.priority ? a.priority > b.priority
             : a.node != b.node       ? a.node < b.node
                                      : a.number < b.number;
    });
    if constexpr (How != LookAhead::none) {
      rest_.clear();
      for (auto const& place : order_) {
        rest_.push_back(static_cast<Node>(place.node));
      }
    }
    for (std::size_t k = 0; k < order_.size(); ++k) {
      wakes[order_[k].number] = assign(ctx, tasks[order_[k].number], k);
    }
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const task = dates_.pop(ctx, worker);
    if constexpr (How != LookAhead::none) {
      if (auto const node = task ? ctx.task(task).graph_node : -1; forecast_.knows(node)) {
        forecast_.take(static_cast<Node>(node), worker, ctx.now().ns);
      }
    }
    return task;
  }

  template <context Ctx>
  std::size_t peek(Ctx const&, WorkerId worker, std::span<TaskId> next) {
    return dates_.peek(worker, next);
  }

  template <context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration) {
    dates_.end(ctx, task, worker);
    if constexpr (How != LookAhead::none) {
      if (auto const node = ctx.task(task).graph_node; forecast_.knows(node)) {
        forecast_.end(static_cast<Node>(node), worker, ctx.now().ns);
      }
    }
  }

private:
  using Node = detail::HeftForecast::Node;

  /// Highest first, and all that is there counts.
  struct Queue : PriorityHeap {
    static constexpr bool ordered_by_priority = false;
  };

  struct Place {
    std::int32_t priority;
    std::size_t number; // among those activated
    std::int32_t node;
  };

  /// Stops at the task's end.
  struct UntilEnd {
    Node node;

    static bool idle(Arch, std::int64_t) noexcept { return true; }

    [[nodiscard]] bool ended(Node its, std::int64_t) const noexcept { return its != node; }
  };

  /// And before, if a GPU is idle.
  struct UntilIdle {
    Node node;
    bool* busy;

    [[nodiscard]] bool idle(Arch arch, std::int64_t) const noexcept {
      *busy = arch == ArchHost;
      return *busy;
    }

    [[nodiscard]] bool ended(Node its, std::int64_t) const noexcept { return its != node; }
  };

  struct ToTheEnd {
    static bool idle(Arch, std::int64_t) noexcept { return true; }

    static bool ended(Node, std::int64_t) noexcept { return true; }
  };

  /// The k-th of order_.
  template <context Ctx>
  Wake assign(Ctx const& ctx, TaskId task, std::size_t k) {
    if constexpr (How != LookAhead::none) {
      if (forecast_.knows(order_[k].node)) {
        auto const wake = dates_.assign(ctx, task, classes_for(ctx.now().ns, k));
        if (wake.target()) {
          forecast_.give(rest_[k], wake.target());
        }
        return wake;
      }
    }
    return dates_.assign(ctx, task);
  }

  /// Which are to be asked.
  [[nodiscard]] ArchMask classes_for(std::int64_t now, std::size_t k) const {
    auto const node = rest_[k];
    auto const first = forecast_.choose(now, node, all);
    auto const on_core = forecast_.choose(now, node, only_cores);
    if (!on_core.worker || !forecast_.choose(now, node, not_cores).worker) {
      return all;
    }
    auto const end = [&](WorkerId worker, auto const& watch) {
      return forecast_.go_on(now, node, worker, std::span(rest_).subspan(k + 1), watch);
    };
    if constexpr (How == LookAhead::gpus_busy) {
      bool busy = true;
      (void)end(on_core.worker, UntilIdle{node, &busy});
      return busy ? only_cores : not_cores;
    } else if (on_core.worker == first.worker) {
      return only_cores;
    } else if constexpr (How == LookAhead::local_time) {
      return on_core.end <= end(first.worker, UntilEnd{node}) ? only_cores : all;
    } else {
      return end(on_core.worker, ToTheEnd{}) < end(first.worker, ToTheEnd{}) ? only_cores : all;
    }
  }

  static constexpr ArchMask all{0xff};
  static constexpr auto only_cores = ArchMask::only(ArchHost);
  static constexpr ArchMask not_cores{static_cast<std::uint8_t>(~ArchMask::only(ArchHost).bits)};

  detail::EarliestFinish<Queue, PriorityHeap> dates_;
  detail::HeftForecast forecast_; // of look-ahead
  std::vector<Place> order_;
  std::vector<Node> rest_; // nodes of order_
};

} // namespace hetsched::policies
