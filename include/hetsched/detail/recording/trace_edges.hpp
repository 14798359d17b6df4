// SPDX-License-Identifier: MIT
#pragma once
// The dependencies of recorded tasks, by what they access.

#include <hetsched/core/access.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The division of a region into parts, or the joining of the parts, among the children of
/// `parent`.
struct TraceDivision {
  std::uint32_t before; // task
  std::uint32_t parent;
  std::uint32_t opened;               // of a joining: the division that made the parts, or none
  std::vector<std::uint32_t> data;    // the whole, its parts
  std::vector<std::uint32_t> awaited; // tasks
};

/// Adds the edges to a trace that has all but them.
class TraceEdges {
public:
  /// `divisions`: in the order of the tasks.
  TraceEdges(Trace& trace, std::vector<TraceDivision>& divisions)
      : trace_(trace), divisions_(divisions) {}

  /// The key of a datum among the children of `parent`.
  [[nodiscard]] static std::uint64_t among(std::uint32_t parent, std::uint32_t datum) noexcept {
    return std::uint64_t{parent} << 32U | datum;
  }

  /// Adds dependencies by the accesses of each task's children, in the order of their spawns. A
  /// division or a joining is no task: the tasks after it depend on the tasks before it.
  void add() {
    std::vector<Node> nodes;
    auto const graph = graph_of(nodes);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges; // to, from
    auto const add_from = [&](std::uint32_t u, std::span<std::uint32_t const> tasks) {
      for (auto const w : graph.successors(u)) {
        auto const [divides, to] = nodes[w];
        if (!divides) {
          for (auto const from : tasks) {
            edges.emplace_back(to, from);
          }
        } else if (!nodes[u].divides || divisions_[to].opened != nodes[u].number) {
          auto& awaited = divisions_[to].awaited;
          awaited.insert(awaited.end(), tasks.begin(), tasks.end());
        }
      }
    };
    for (std::uint32_t u = 0; u < graph.size(); ++u) {
      if (!nodes[u].divides) {
        add_from(u, {&nodes[u].number, 1});
        continue;
      }
      auto& division = divisions_[nodes[u].number];
      if (division.awaited.empty() && division.opened != Trace::none) { // no task on its parts
        division.awaited = divisions_[division.opened].awaited;
      }
      std::sort(division.awaited.begin(), division.awaited.end());
      division.awaited.erase(std::unique(division.awaited.begin(), division.awaited.end()),
                             division.awaited.end());
      add_from(u, division.awaited);
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    trace_.edges.reserve(edges.size());
    for (auto const& [to, from] : edges) {
      trace_.edges.push_back({from, to});
    }
  }

private:
  struct Node {
    bool divides;
    std::uint32_t number; // of the task or the division
  };

  /// The tasks and, as if they wrote the whole and its parts, the divisions.
  [[nodiscard]] TaskGraph graph_of(std::vector<Node>& nodes) const {
    std::unordered_map<std::uint64_t, std::uint32_t> data; // of a parent's number and a datum's
    std::vector<TaskGraph::Node> accessing;
    accessing.reserve(trace_.tasks.size() + divisions_.size());
    auto const add = [&](std::uint32_t parent, std::uint32_t datum, AccessMode mode) {
      auto const next = static_cast<std::uint32_t>(data.size());
      auto const known = data.try_emplace(among(parent, datum), next).first;
      accessing.back().accesses.push_back({known->second, mode, nullptr});
    };
    std::uint32_t d = 0;
    for (std::uint32_t v = 0; v <= trace_.tasks.size(); ++v) {
      for (; d < divisions_.size() && divisions_[d].before == v; ++d) {
        nodes.push_back({true, d});
        accessing.emplace_back();
        for (auto const datum : divisions_[d].data) {
          add(divisions_[d].parent, datum, AccessMode::read_write);
        }
      }
      if (v < trace_.tasks.size()) {
        nodes.push_back({false, v});
        accessing.emplace_back();
        for (auto const& access : trace_.accesses_of(v)) {
          add(trace_.tasks[v].parent, access.datum, access.mode);
        }
      }
    }
    return {std::move(accessing), std::vector<std::size_t>(data.size())};
  }

  Trace& trace_;
  std::vector<TraceDivision>& divisions_;
};

} // namespace hetsched::detail
