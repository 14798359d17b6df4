// SPDX-License-Identifier: MIT
#pragma once
// A captured graph as policies and bounds see it: plain data that does not change.

#include <hetsched/core/access.hpp>
#include <hetsched/core/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched {

/// One access of a captured task.
struct GraphAccess {
  std::uint32_t data = 0; // number of the datum within the graph
  AccessMode mode = AccessMode::read;
  void const* reduction = nullptr; // identity of the operator of a CW access
};

namespace detail {

/// Whether an access to a datum is compatible with a group of others: no edge joins them.
[[nodiscard]] constexpr bool
joins_group(AccessMode mode, void const* reduction, GraphAccess const& access) noexcept {
  return mode == access.mode && reduction == access.reduction && access.mode != AccessMode::write &&
         access.mode != AccessMode::read_write;
}

} // namespace detail

/// Tasks in program order with their dependencies. An edge u -> v means that v may not start before
/// u has ended. Every edge goes from a lower to a higher number. Edges that follow from other edges
/// along one datum's accesses are left out. Commuting tasks have no edge between them, though they
/// exclude each other. Thread-safe, because nothing changes after construction.
class TaskGraph {
public:
  struct Node {
    std::string_view type;
    std::string label;
    std::int32_t priority = 0;
    ArchMask archs;
    std::vector<GraphAccess> accesses; // at most one for each datum
    float flops = 0;                   // its work, if known: see hetsched::flops
  };

  TaskGraph() = default;

  /// `bytes[d]` is the size of datum d. Dependencies are derived from the accesses, O(edges).
  template <class Nodes = std::vector<Node>> // a template: compiled only where a graph is made
  TaskGraph(Nodes nodes, std::vector<std::size_t> bytes)
      : nodes_(std::move(nodes)), bytes_(std::move(bytes)) {
    link<History>();
  }

  /// The same tasks with other priorities, one for each task.
  [[nodiscard]] TaskGraph with_priorities(std::span<std::int32_t const> priorities) const {
    auto graph = *this;
    for (std::size_t v = 0; v < nodes_.size(); ++v) {
      graph.nodes_[v].priority = priorities[v];
    }
    return graph;
  }

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

  [[nodiscard]] std::span<Node const> nodes() const noexcept {
    return {nodes_.data(), nodes_.size()};
  }

  [[nodiscard]] std::span<std::size_t const> data_bytes() const noexcept {
    return {bytes_.data(), bytes_.size()};
  }

  [[nodiscard]] std::span<std::uint32_t const> successors(std::size_t node) const noexcept {
    return {successors_.data() + first_[node], first_[node + 1] - first_[node]};
  }

  /// Edges into the node.
  [[nodiscard]] std::uint32_t predecessor_count(std::size_t node) const noexcept {
    return predecessors_[node];
  }

private:
  struct Group {
    AccessMode mode = AccessMode::value;
    void const* reduction = nullptr;
    std::vector<std::uint32_t> members;
  };

  struct History {
    Group last;   // the latest group of compatible accesses
    Group before; // the group before it, on which the members of `last` depend
  };

  template <class H>
  void link() {
    constexpr auto none = std::uint32_t(-1);
    std::vector<H> histories(bytes_.size());
    std::vector<std::uint32_t> newest(nodes_.size(), none); // the last successor found of each node
    std::vector<std::uint32_t> from;                        // edges by ascending target
    predecessors_.assign(nodes_.size(), 0);
    first_.assign(nodes_.size() + 1, 0);
    for (std::uint32_t v = 0; v < nodes_.size(); ++v) {
      for (auto const& access : nodes_[v].accesses) {
        auto& history = histories[access.data];
        if (!detail::joins_group(history.last.mode, history.last.reduction, access)) {
          history.before = std::move(history.last);
          history.last = {access.mode, access.reduction, {}};
        }
        history.last.members.push_back(v);
        for (auto const u : history.before.members) {
          if (u != v && newest[u] != v) {
            newest[u] = v;
            from.push_back(u);
            ++first_[u + 1];
            ++predecessors_[v];
          }
        }
      }
    }
    sort_edges(from);
  }

  /// Counting sort by source; first_[u + 1] holds the number of edges from u.
  template <class Edges>
  void sort_edges(Edges const& from) {
    for (std::size_t u = 0; u < nodes_.size(); ++u) {
      first_[u + 1] += first_[u];
    }
    successors_.resize(from.size());
    auto next = first_;
    std::size_t edge = 0;
    for (std::uint32_t v = 0; v < nodes_.size(); ++v) {
      for (std::uint32_t k = 0; k < predecessors_[v]; ++k) {
        successors_[next[from[edge++]]++] = v;
      }
    }
  }

  std::vector<Node> nodes_;
  std::vector<std::size_t> bytes_;
  std::vector<std::size_t> first_{0};
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> predecessors_;
};

} // namespace hetsched
