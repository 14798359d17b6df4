// SPDX-License-Identifier: MIT
#pragma once
// What heftp would do from now on: the simulation that its look-ahead variants ask.

#include <hetsched/platform.hpp>
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

/// A captured graph half way through its run under heftp: what runs, what waits in which worker's
/// queue, what has not become ready; and how it would go on (Kumar 2017, sec. 3.6.1), transfers
/// free. Times are in ns.
class HeftForecast {
public:
  using Node = std::uint32_t;
  using Times = std::array<std::int64_t, max_archs>; // of a node on each class

  static constexpr auto never = std::numeric_limits<std::int64_t>::max();

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
    here_.waits_for.clear();
    roots_.clear();
    for (Node v = 0; v < graph.size(); ++v) {
      here_.waits_for.push_back(graph.predecessor_count(v));
      if (here_.waits_for.back() == 0) {
        roots_.push_back(v);
      }
    }
    for (auto& worker : here_.workers) {
      worker = {worker.arch, {}, {}, {}, {}};
    }
  }

  [[nodiscard]] bool knows(std::int32_t node) const noexcept {
    return graph_ != nullptr && node >= 0;
  }

  // ---- what happens ----

  void give(Node node, WorkerId worker) {
    std::erase(roots_, node);
    enqueue(here_, here_.workers[worker.index()], node);
  }

  void take(Node node, WorkerId worker, std::int64_t now) {
    auto& its = here_.workers[worker.index()];
    auto const place = std::find_if(its.queue.begin(),
                                    its.queue.end(),
                                    [node](Waiting const& other) { return other.node == node; });
    if (place == its.queue.end()) {
      return;
    }
    auto const cost = place->cost;
    its.queue.erase(place);
    std::make_heap(its.queue.begin(), its.queue.end());
    its.load -= cost;
    its.taken.push_back({node, cost});
    if (its.taken.size() == 1) {
      its.end = now + cost;
    }
  }

  void end(Node node, WorkerId worker, std::int64_t now) {
    for (auto const next : graph_->successors(node)) {
      --here_.waits_for[next];
    }
    auto& its = here_.workers[worker.index()];
    std::erase_if(its.taken, [node](Taken const& taken) { return taken.node == node; });
    if (!its.taken.empty()) {
      its.end = now + its.taken.front().cost;
    }
  }

  // ---- what would ----

  /// A worker, and when it would end a task.
  struct Choice {
    WorkerId worker; // none: no class may
    std::int64_t end = never;
  };

  /// Who ends the node first, of these classes; the lowest number among equals. O(W).
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
      if (other < times_.size()) { // others are not of the graph
        assign(there, other);
      }
    }
    for (auto const root : roots_) {
      if (root != node && std::find(ready.begin(), ready.end(), root) == ready.end()) {
        assign(there, root);
      }
    }
    // What ends now, or is late, ends before anybody begins anything.
    while (end_tasks(there, watch) && begin_tasks(there, watch)) {
      auto next = never;
      for (auto const& its : there.workers) {
        next = its.taken.empty() ? next : std::min(next, its.end);
      }
      if (next == never) {
        break;
      }
      there.now = next;
    }
    return there.now;
  }

private:
  struct Waiting {
    std::int32_t priority;
    std::uint64_t number;
    Node node;
    std::int64_t cost;

    /// The first to run is the greatest.
    friend bool operator<(Waiting const& a, Waiting const& b) noexcept {
      return a.priority != b.priority ? a.priority < b.priority : a.number > b.number;
    }
  };

  struct Taken {
    Node node;
    std::int64_t cost;
  };

  struct Worker {
    Arch arch;
    std::vector<Taken> taken;   // and not ended; the first one runs
    std::int64_t end;           // of that
    std::vector<Waiting> queue; // a heap
    std::int64_t load;          // of the queue
  };

  /// Of the run, real or not.
  struct Moment {
    std::int64_t now = 0;
    std::uint64_t number = 0;             // tasks given so far
    std::vector<std::uint32_t> waits_for; // of each node, those that have not ended
    std::vector<Worker> workers;
  };

  void enqueue(Moment& its, Worker& worker, Node node) const {
    auto const cost = times_[node][worker.arch.index];
    worker.queue.push_back({graph_->nodes()[node].priority, its.number++, node, cost});
    std::push_heap(worker.queue.begin(), worker.queue.end());
    worker.load += cost;
  }

  Choice choose(Moment const& its, std::int64_t now, Node node, ArchMask among) const {
    Choice best;
    for (std::size_t w = 0; w < its.workers.size(); ++w) {
      auto const& worker = its.workers[w];
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

  void assign(Moment& its, Node node) const {
    enqueue(its, its.workers[choose(its, its.now, node, {0xff}).worker.index()], node);
  }

  /// Idle workers begin what is in their queues.
  template <class Watch>
  static bool begin_tasks(Moment& its, Watch& watch) {
    for (auto& worker : its.workers) {
      if (!worker.taken.empty()) {
        continue;
      }
      if (worker.queue.empty()) {
        if (!watch.idle(worker.arch, its.now)) {
          return false;
        }
        continue;
      }
      std::pop_heap(worker.queue.begin(), worker.queue.end());
      auto const first = worker.queue.back();
      worker.queue.pop_back();
      worker.load -= first.cost;
      worker.taken.push_back({first.node, first.cost});
      worker.end = its.now + first.cost;
    }
    return true;
  }

  /// Those that are over, and what they make ready finds its workers.
  template <class Watch>
  bool end_tasks(Moment& its, Watch& watch) const {
    std::vector<Node> ready;
    for (auto& worker : its.workers) {
      if (worker.taken.empty() || worker.end > its.now) {
        continue;
      }
      auto const node = worker.taken.front().node;
      worker.taken.erase(worker.taken.begin());
      if (!worker.taken.empty()) {
        worker.end = its.now + worker.taken.front().cost;
      }
      if (!watch.ended(node, its.now)) {
        return false;
      }
      ready.clear();
      for (auto const successor : graph_->successors(node)) {
        if (--its.waits_for[successor] == 0) {
          ready.push_back(successor);
        }
      }
      std::sort(ready.begin(), ready.end(), [this](Node a, Node b) {
        auto const first = graph_->nodes()[a].priority;
        auto const second = graph_->nodes()[b].priority;
        return first != second ? first > second : a < b;
      });
      for (auto const other : ready) {
        assign(its, other);
      }
    }
    return true;
  }

  TaskGraph const* graph_ = nullptr;
  std::vector<Times> times_;
  std::vector<Node> roots_; // that were not given to anybody yet
  Moment here_;
};

} // namespace hetsched::detail
