// SPDX-License-Identifier: MIT
#pragma once
// The longest chain of tasks and messages of a graph on a cluster.

#include <hetsched/core/access.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Follows values through a graph in program order: when each can be where at the earliest, if
/// every task begins as soon as its values are there and every message is alone. Values go by way
/// of their home, as ClusterUses has it. An edge from a reader to a later writer counts on one node
/// only: elsewhere the writer has a copy of its own.
class ClusterPath {
public:
  ClusterPath(TaskGraph const& graph, Network const& network, std::span<std::int32_t const> homes)
      : graph_(graph), data_(homes.size()) {
    for (std::size_t d = 0; d < homes.size(); ++d) {
      data_[d].home = homes[d];
      data_[d].message = network.time(graph.data_bytes()[d]);
    }
  }

  /// Task v takes durations[v] on node where[v].
  [[nodiscard]] Duration longest(std::span<Duration const> durations,
                                 std::span<std::int32_t const> where) {
    Duration longest;
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      auto const& accesses = graph_.nodes()[v].accesses;
      Duration begin;
      for (auto const& access : accesses) {
        begin = std::max(begin, earliest(data_[access.data], access, where[v]));
      }
      auto const end = begin + durations[v];
      longest = std::max(longest, end);
      for (auto const& access : accesses) {
        longest = std::max(longest, note(data_[access.data], access.mode, where[v], end));
      }
    }
    return longest;
  }

private:
  static constexpr std::int32_t nobody = -1;
  static constexpr std::int32_t anybody = -2;

  struct Datum {
    std::int32_t home = 0;
    Duration message;   // what one takes
    Duration at_home;   // when the present value is there
    Duration at_writer; // and where it was written, if that was elsewhere
    std::int32_t writer = nobody;
    GraphAccess last;     // the access before
    bool grouped = false; // `last` and others commute, or contribute: these are
    bool contributions = false;
    Duration group_home;                                  // when what they have done is at home
    Duration group_end;                                   // when they have ended
    std::vector<std::pair<std::int32_t, Duration>> reads; // the last on each node
  };

  /// The present value on a node.
  [[nodiscard]] static Duration value_on(Datum const& datum, std::int32_t node) {
    if (node == datum.home) {
      return datum.at_home;
    }
    bool const there = datum.writer == node || datum.writer == anybody;
    return there ? datum.at_writer : datum.at_home + datum.message;
  }

  [[nodiscard]] static Duration last_read(Datum const& datum, std::int32_t node) {
    Duration last;
    for (auto const& [where, end] : datum.reads) {
      last = where == node ? std::max(last, end) : last;
    }
    return last;
  }

  /// When a task on that node may begin, as far as this access is concerned.
  [[nodiscard]] static Duration
  earliest(Datum& datum, GraphAccess const& access, std::int32_t node) {
    bool const joins = joins_group(datum.last.mode, datum.last.reduction, access);
    datum.last = access;
    if (datum.grouped && !joins) {
      datum.grouped = false;
      datum.at_home = std::max(datum.at_home, datum.group_home);
      datum.at_writer = datum.group_end;
      datum.writer = datum.contributions ? nobody : anybody; // who was the last has a copy
      datum.reads.clear();
    }
    bool const has_copy = node == datum.home || node == datum.writer;
    if (access.mode == AccessMode::reduce) { // elsewhere into a value of its own
      return node == datum.home ? std::max(datum.at_home, last_read(datum, node)) : Duration{};
    }
    auto begin = reads(access.mode) || has_copy ? value_on(datum, node) : Duration{};
    if (writes(access.mode) && has_copy) {
      begin = std::max(begin, last_read(datum, node));
    }
    return begin;
  }

  /// A task has ended. Returns when what it has done is at home.
  static Duration note(Datum& datum, AccessMode mode, std::int32_t node, Duration end) {
    auto const at_home = node == datum.home ? end : end + datum.message;
    if (!writes(mode)) {
      auto const known = std::find_if(datum.reads.begin(),
                                      datum.reads.end(),
                                      [&](auto const& read) { return read.first == node; });
      if (known == datum.reads.end()) {
        datum.reads.emplace_back(node, end);
      } else {
        known->second = std::max(known->second, end);
      }
      return end;
    }
    if (mode == AccessMode::reduce || mode == AccessMode::commute) {
      datum.group_home = datum.grouped ? std::max(datum.group_home, at_home) : at_home;
      datum.group_end = datum.grouped ? std::max(datum.group_end, end) : end;
      datum.grouped = true;
      datum.contributions = mode == AccessMode::reduce;
      return at_home;
    }
    datum.at_home = std::max(at_home, last_read(datum, datum.home));
    datum.at_writer = end;
    datum.writer = node == datum.home ? nobody : node;
    datum.reads.clear();
    return datum.at_home;
  }

  TaskGraph const& graph_;
  std::vector<Datum> data_;
};

} // namespace hetsched::detail
