// SPDX-License-Identifier: MIT
#pragma once
// A captured graph as policies and bounds see it: immutable, plain data.

#include <hetsched/access.hpp>
#include <hetsched/types.hpp>

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
  void const* reduction = nullptr; // identity of a CW access's operator
};

/// Tasks in program order with their dependencies. An edge u -> v means that v may not start before
/// u has ended; every edge goes from a lower to a higher number. Edges implied by others along one
/// datum's accesses are left out. Commuting tasks have no edge between them, though they exclude
/// each other. Thread-safe: nothing changes after construction.
class TaskGraph {
public:
  struct Node {
    std::string_view type;
    std::string label;
    std::int32_t priority = 0;
    ArchMask archs;
    std::vector<GraphAccess> accesses; // at most one for each datum
  };

  TaskGraph() = default;

  /// `bytes[d]` is the size of datum d. Dependencies are derived from the accesses: O(edges).
  TaskGraph(std::vector<Node> nodes, std::vector<std::size_t> bytes)
      : nodes_(std::move(nodes)), bytes_(std::move(bytes)) {
    link();
  }

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

  [[nodiscard]] std::span<Node const> nodes() const noexcept { return nodes_; }

  [[nodiscard]] std::span<std::size_t const> data_bytes() const noexcept { return bytes_; }

  [[nodiscard]] std::span<std::uint32_t const> successors(std::size_t node) const noexcept {
    return std::span(successors_).subspan(first_[node], first_[node + 1] - first_[node]);
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
    Group before; // the one before it: what members of `last` depend on
  };

  static bool joins(Group const& group, GraphAccess const& access) noexcept {
    return group.mode == access.mode && group.reduction == access.reduction &&
           access.mode != AccessMode::write && access.mode != AccessMode::read_write;
  }

  void link() {
    std::vector<History> histories(bytes_.size());
    std::vector<std::vector<std::uint32_t>> out(nodes_.size());
    predecessors_.assign(nodes_.size(), 0);
    for (std::uint32_t v = 0; v < nodes_.size(); ++v) {
      for (auto const& access : nodes_[v].accesses) {
        auto& history = histories[access.data];
        if (!joins(history.last, access)) {
          history.before = std::move(history.last);
          history.last = {access.mode, access.reduction, {}};
        }
        history.last.members.push_back(v);
        for (auto const u : history.before.members) {
          if (u != v && (out[u].empty() || out[u].back() != v)) {
            out[u].push_back(v);
            ++predecessors_[v];
          }
        }
      }
    }
    first_.assign(1, 0);
    for (auto const& targets : out) {
      successors_.insert(successors_.end(), targets.begin(), targets.end());
      first_.push_back(successors_.size());
    }
  }

  std::vector<Node> nodes_;
  std::vector<std::size_t> bytes_;
  std::vector<std::size_t> first_{0};
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> predecessors_;
};

} // namespace hetsched
