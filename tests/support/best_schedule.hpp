// SPDX-License-Identifier: MIT
#pragma once
// The shortest schedule of a small graph or of independent tasks, by trying them all; and graphs to
// try it on.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace schedules {

namespace hs = hetsched;

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A graph with exactly these edges u -> v, u < v: one datum per edge, written by u, read by v.
inline hs::TaskGraph graph_of(std::size_t tasks, Edges const& edges) {
  std::vector<hs::TaskGraph::Node> nodes(tasks);
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    nodes[edges[e].first].accesses.push_back({e, hs::AccessMode::write, nullptr});
    nodes[edges[e].second].accesses.push_back({e, hs::AccessMode::read, nullptr});
  }
  for (auto& node : nodes) {
    node.type = "task";
  }
  return {std::move(nodes), std::vector<std::size_t>(edges.size(), 8)};
}

/// All of them, from lower to higher numbers.
inline Edges edges_of(hs::TaskGraph const& graph) {
  Edges edges;
  for (std::uint32_t u = 0; u < graph.size(); ++u) {
    for (auto const v : graph.successors(u)) {
      edges.emplace_back(u, v);
    }
  }
  return edges;
}

/// Each two tasks have an edge with a chance of one in three.
template <class Random>
hs::TaskGraph random_graph(std::size_t tasks, Random& random) {
  Edges edges;
  for (std::uint32_t v = 1; v < tasks; ++v) {
    for (std::uint32_t u = 0; u < v; ++u) {
      if (random() % 3 == 0) {
        edges.emplace_back(u, v);
      }
    }
  }
  return graph_of(tasks, edges);
}

/// The shortest makespan: tries every order and every worker for each task.
class BestSchedule {
public:
  BestSchedule(hs::TaskGraph const& graph, hs::ClassTimes const& times)
      : graph_(graph), times_(times), waiting_(graph.size()), earliest_(graph.size()),
        done_(graph.size()) {
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      for (int k = 0; k < times.workers[c]; ++k) {
        workers_.push_back({c, 0});
      }
    }
    for (std::size_t v = 0; v < graph.size(); ++v) {
      waiting_[v] = graph.predecessor_count(v);
    }
    extend(0, 0);
  }

  /// On equal workers.
  BestSchedule(hs::TaskGraph const& graph, std::span<hs::Duration const> durations, int workers)
      : BestSchedule(graph, {{workers}, {durations.begin(), durations.end()}}) {}

  [[nodiscard]] std::int64_t makespan() const { return best_; }

private:
  struct Worker {
    std::size_t its_class;
    std::int64_t free_at;
  };

  void extend(std::size_t placed, std::int64_t makespan) {
    if (makespan >= best_) {
      return;
    }
    if (placed == graph_.size()) {
      best_ = makespan;
      return;
    }
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      if (done_[v] || waiting_[v] != 0) {
        continue;
      }
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        auto& worker = workers_[w];
        auto const time = times_.on(v, worker.its_class);
        bool const like_the_last = w > 0 && workers_[w - 1].its_class == worker.its_class &&
                                   workers_[w - 1].free_at == worker.free_at;
        if (time == hs::ClassTimes::never || like_the_last) {
          continue;
        }
        auto const end = std::max(worker.free_at, earliest_[v]) + time.ns;
        auto const saved = std::exchange(worker.free_at, end);
        auto const saved_earliest = earliest_;
        done_[v] = true;
        for (auto const s : graph_.successors(v)) {
          --waiting_[s];
          earliest_[s] = std::max(earliest_[s], end);
        }
        extend(placed + 1, std::max(makespan, end));
        for (auto const s : graph_.successors(v)) {
          ++waiting_[s];
        }
        earliest_ = saved_earliest;
        done_[v] = false;
        worker.free_at = saved;
      }
    }
  }

  hs::TaskGraph const& graph_;
  hs::ClassTimes const times_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::int64_t> earliest_;
  std::vector<bool> done_;
  std::vector<Worker> workers_;
  std::int64_t best_ = INT64_MAX;
};

/// The shortest time in which the classes can do all tasks, dependencies ignored: tries every
/// worker for each task, of workers that have done the same so far the first.
inline hs::Duration best_assignment(hs::ClassTimes const& times) {
  std::vector<std::size_t> class_of;
  for (std::size_t c = 0; c < times.workers.size(); ++c) {
    class_of.insert(class_of.end(), static_cast<std::size_t>(times.workers[c]), c);
  }
  std::vector<std::int64_t> loads(class_of.size(), 0);
  auto best = std::numeric_limits<std::int64_t>::max();
  auto const place = [&](auto const& self, std::size_t v, std::int64_t makespan) -> void {
    if (makespan >= best) {
      return;
    }
    if (v == times.tasks()) {
      best = makespan;
      return;
    }
    for (std::size_t w = 0; w < loads.size(); ++w) {
      auto const time = times.on(v, class_of[w]);
      bool seen = time == hs::ClassTimes::never;
      for (std::size_t other = 0; other < w; ++other) {
        seen |= class_of[other] == class_of[w] && loads[other] == loads[w];
      }
      if (!seen) {
        loads[w] += time.ns;
        self(self, v + 1, std::max(makespan, loads[w]));
        loads[w] -= time.ns;
      }
    }
  };
  place(place, 0, 0);
  return {best};
}

} // namespace schedules
