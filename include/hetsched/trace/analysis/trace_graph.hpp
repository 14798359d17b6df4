// SPDX-License-Identifier: MIT
#pragma once
// The task graph of a run that was recorded.

#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/graphs/edge_limit.hpp>
#include <hetsched/graphs/named_graph.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

/// The numbers of a trace's tasks in the order in which a program without nested tasks would spawn
/// them: by their numbers, but a task's children, and theirs, right behind it. Merges, which no
/// program spawns, are left out. O(tasks).
[[nodiscard]] inline std::vector<std::uint32_t> nesting_order(Trace const& trace) {
  auto const count = static_cast<std::uint32_t>(trace.tasks.size());
  std::vector<std::uint32_t> first(count + std::size_t{1}, Trace::none); // child; last: of nobody
  std::vector<std::uint32_t> next(count, Trace::none);                   // sibling
  for (auto k = count; k-- != 0;) {
    auto const parent = trace.tasks[k].parent;
    next[k] = std::exchange(first[parent == Trace::none ? count : parent], k);
  }
  std::vector<std::uint32_t> order;
  order.reserve(count);
  std::vector<std::uint32_t> left; // siblings to come, of each level
  for (auto task = first[count]; task != Trace::none || !left.empty();) {
    if (task == Trace::none) {
      task = left.back();
      left.pop_back();
      continue;
    }
    if (trace.types[trace.tasks[task].type].name != merge_task_name) {
      order.push_back(task);
    }
    left.push_back(next[task]);
    task = first[task];
  }
  return order;
}

/// What was spawned: types, labels, priorities, what each task may run on, accesses and sizes of
/// data. Its dependencies follow from the accesses in nesting_order, whose k-th task is node k;
/// that is task k where no tasks are nested. See edges_without_data. Contributions (CW) to one
/// datum are taken to be by one operator. Accesses must name data that there are, each at most once
/// in a task, as in what read_trace returns. O(size of the trace). Throws Error(bad_input) if they
/// make more dependencies than a graph in a file may have.
[[nodiscard]] inline NamedGraph task_graph_of(Trace const& trace) {
  NamedGraph result;
  std::vector<TaskGraph::Node> nodes;
  nodes.reserve(trace.tasks.size());
  detail::EdgeLimit edges;
  for (auto const k : nesting_order(trace)) {
    auto const& task = trace.tasks[k];
    auto& node = nodes.emplace_back();
    node.type = result.name(trace.types[task.type].name);
    node.label = trace.labels[task.label];
    node.priority = task.priority;
    node.archs = task.archs;
    for (auto const& access : trace.accesses_of(k)) {
      node.accesses.push_back({access.datum, access.mode, nullptr});
      if (!edges.take(node.accesses.back())) {
        throw Error(ErrorCode::bad_input, "trace", detail::EdgeLimit::exceeded);
      }
    }
  }
  std::vector<std::size_t> bytes;
  bytes.reserve(trace.data.size());
  for (auto const& datum : trace.data) {
    bytes.push_back(datum.bytes);
  }
  result.graph = TaskGraph(std::move(nodes), std::move(bytes));
  return result;
}

/// How many edges join tasks that have no datum in common: what waited for a partition or a join of
/// a region, which task_graph_of does not know of. For a trace as there. O(edges).
[[nodiscard]] inline std::size_t edges_without_data(Trace const& trace) {
  return static_cast<std::size_t>(
      std::count_if(trace.edges.begin(), trace.edges.end(), [&](Trace::Edge const& edge) {
        auto const all = trace.accesses_of(edge.from);
        auto const accesses = trace.accesses_of(edge.to);
        return std::none_of(accesses.begin(), accesses.end(), [&](auto const& a) {
          return std::any_of(
              all.begin(), all.end(), [&](auto const& b) { return a.datum == b.datum; });
        });
      }));
}

} // namespace hetsched
