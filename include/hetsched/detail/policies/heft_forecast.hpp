// SPDX-License-Identifier: MIT
#pragma once
// Simulates what heftp would do from now on, for its variants with look-ahead.

#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A captured graph half way through its run under heftp: its running tasks, the tasks in each
/// worker's queue, and the tasks that are not ready. It simulates how the run would go on (Kumar
/// 2017, sec. 3.6.1). Transfers are free. Times are in ns.
class HeftForecast {
public:
  using Node = std::uint32_t;
  using Times = ArchTimes;

  static constexpr auto never = never_ends;

  explicit HeftForecast(std::span<WorkerInfo const> workers) {
    for (auto const& info : workers) {
      here_.workers.push_back({info.arch, {}, {}, {}, {}});
    }
  }

  /// A graph begins. It outlives this, or the next `begin`. Without a time of every node, `never`
  /// where it cannot run, nothing can be foretold.
  void begin(TaskGraph const& graph, std::vector<Times> times) {
    times_ = std::move(times);
    graph_ = times_.size() == graph.size() ? &graph : nullptr;
    here_.open.reset(graph);
    roots_.clear();
    here_.open.for_each_ready([&](Node v) { roots_.push_back(v); });
    for (auto& worker : here_.workers) {
      worker = {worker.arch, {}, {}, {}, {}};
    }
  }

  /// Nothing can be foretold any more of this graph.
  void forget() noexcept { graph_ = nullptr; }

  [[nodiscard]] bool knows(std::int32_t node) const noexcept {
    return graph_ != nullptr && node >= 0;
  }

  // ---- what happens ----

  void give(Node node, WorkerId worker) {
    std::erase(roots_, node);
    enqueue(here_, here_.workers[worker.index()], node);
  }

  void take(Node node, WorkerId worker, std::int64_t now) {
    auto& taker = here_.workers[worker.index()];
    Given given{};
    if (!taker.queue.take([node](Given const& other) { return other.node == node; }, given)) {
      return;
    }
    auto const cost = times_[node][taker.arch.index];
    taker.load -= cost;
    taker.taken.push_back({node, cost});
    if (taker.taken.size() == 1) {
      taker.end = now + cost;
    }
  }

  void end(Node node, WorkerId worker, std::int64_t now) {
    here_.open.close(graph_->successors(node), [](Node) {});
    auto& ender = here_.workers[worker.index()];
    std::erase_if(ender.taken, [node](Taken const& taken) { return taken.node == node; });
    if (!ender.taken.empty()) {
      ender.end = now + ender.taken.front().cost;
    }
  }

  // ---- what would ----

  /// A worker, and when it would end a task.
  struct Choice {
    WorkerId worker; // none: no class may
    std::int64_t end = never;
  };

  /// The worker of these classes that ends the node first. Of equals it is the lowest number. O(W).
  [[nodiscard]] Choice choose(std::int64_t now, Node node, ArchMask among) const {
    return choose(here_, now, node, among);
  }

  /// Goes on from `now` after `node` was given to `worker`, and then `ready` and the roots that
  /// have not come yet, in this order, to whoever ends them first. `watch` says whether to go on:
  /// ended(node, when), idle(arch, when) of a worker that has nothing to do until something else
  /// ends. When it stopped, or all was done. O(tasks left x W + edges).
  template <class Watch>
  std::int64_t go_on(std::int64_t now,
                     Node node,
                     WorkerId worker,
                     std::span<Node const> ready,
                     Watch watch) const {
    auto there = here_;
    there.now = now;
    enqueue(there, there.workers[worker.index()], node);
    for (auto const other : ready) {
      if (other < times_.size()) { // other tasks are not part of the graph
        assign(there, other);
      }
    }
    for (auto const root : roots_) {
      if (root != node && std::find(ready.begin(), ready.end(), root) == ready.end()) {
        assign(there, root);
      }
    }
    RunningTasks running;
    for (std::uint32_t w = 0; w < there.workers.size(); ++w) {
      run_first(there.workers[w], w, now, running);
    }
    auto ended = [&](RunningTasks::Run const& run, std::int64_t at) {
      there.now = at;
      return end_first(there, run.place, running, watch);
    };
    auto begin = [&](std::int64_t at) {
      there.now = at;
      return begin_tasks(there, running, watch);
    };
    // Tasks that end now, or are late, end before any worker begins a task.
    return running.step(now, ended, begin) ? running.go_on(now, ended, begin) : now;
  }

private:
  /// The highest priority goes first, then the task that was given first.
  struct Given {
    std::uint64_t number;
    Node node;

    friend bool operator<(Given const& a, Given const& b) noexcept { return a.number < b.number; }
  };

  struct Taken {
    Node node;
    std::int64_t cost;
  };

  struct Worker {
    Arch arch;
    std::vector<Taken> taken; // and not ended; the first one runs
    std::int64_t end;         // of that
    ReadyTasks<Given> queue;
    std::int64_t load; // of the queue
  };

  /// Of the run, real or not.
  struct Moment {
    std::int64_t now = 0;
    std::uint64_t number = 0; // number of tasks given so far
    OpenDependencies open;
    std::vector<Worker> workers;
  };

  void enqueue(Moment& moment, Worker& worker, Node node) const {
    auto const cost = times_[node][worker.arch.index];
    worker.queue.push(graph_->nodes()[node].priority, {moment.number++, node});
    worker.load += cost;
  }

  Choice choose(Moment const& moment, std::int64_t now, Node node, ArchMask among) const {
    Choice best;
    for (std::size_t w = 0; w < moment.workers.size(); ++w) {
      auto const& worker = moment.workers[w];
      auto const time = times_[node][worker.arch.index];
      if (time == never || !among.has(worker.arch)) {
        continue;
      }
      auto end = (worker.taken.empty() ? now : std::max(now, worker.end)) + worker.load + time;
      for (std::size_t k = 1; k < worker.taken.size(); ++k) {
        end += worker.taken[k].cost;
      }
      if (end < best.end) {
        best = {WorkerId{static_cast<std::int32_t>(w)}, end};
      }
    }
    return best;
  }

  void assign(Moment& moment, Node node) const {
    enqueue(moment, moment.workers[choose(moment, moment.now, node, {0xff}).worker.index()], node);
  }

  static void
  run_first(Worker& worker, std::uint32_t number, std::int64_t now, RunningTasks& running) {
    if (!worker.taken.empty()) {
      running.push({std::max(worker.end, now), number, number});
    }
  }

  /// Idle workers begin the tasks in their queues.
  template <class Watch>
  bool begin_tasks(Moment& moment, RunningTasks& running, Watch& watch) const {
    for (std::uint32_t w = 0; w < moment.workers.size(); ++w) {
      auto& worker = moment.workers[w];
      if (!worker.taken.empty()) {
        continue;
      }
      if (worker.queue.empty()) {
        if (!watch.idle(worker.arch, moment.now)) {
          return false;
        }
        continue;
      }
      auto const node = worker.queue.pop().node;
      auto const cost = times_[node][worker.arch.index];
      worker.load -= cost;
      worker.taken.push_back({node, cost});
      worker.end = moment.now + cost;
      run_first(worker, w, moment.now, running);
    }
    return true;
  }

  /// The worker's task has ended. The tasks that this makes ready get their workers.
  template <class Watch>
  bool end_first(Moment& moment, std::uint32_t number, RunningTasks& running, Watch& watch) const {
    auto& worker = moment.workers[number];
    auto const node = worker.taken.front().node;
    worker.taken.erase(worker.taken.begin());
    if (!worker.taken.empty()) {
      worker.end = moment.now + worker.taken.front().cost;
      run_first(worker, number, moment.now, running);
    }
    if (!watch.ended(node, moment.now)) {
      return false;
    }
    std::vector<Node> ready;
    moment.open.close(graph_->successors(node), [&](Node next) { ready.push_back(next); });
    std::sort(ready.begin(), ready.end(), [this](Node a, Node b) {
      auto const first = graph_->nodes()[a].priority;
      auto const second = graph_->nodes()[b].priority;
      return first != second ? first > second : a < b;
    });
    for (auto const other : ready) {
      assign(moment, other);
    }
    return true;
  }

  TaskGraph const* graph_ = nullptr;
  std::vector<Times> times_;
  std::vector<Node> roots_; // roots that no worker has got yet
  Moment here_;
};

} // namespace hetsched::detail
