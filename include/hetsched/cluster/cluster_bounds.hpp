// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds on the makespan of a graph on a cluster, for a given placement.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/cluster_path.hpp>
#include <hetsched/detail/cluster/relay.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hetsched {

/// No run of the graph with this placement, on these nodes and this network, ends sooner than the
/// largest of them.
struct ClusterBounds {
  std::optional<Duration> area;    // all work on all nodes; nothing: see area_solution
  std::optional<Duration> busiest; // the work of the node that has most of it; the same
  Duration path;                   // the longest chain of tasks, with the messages between them
  Duration ports;                  // what the busiest port has to receive or, where nodes pass on
                                   // no values, to send; else what a port sends on average

  [[nodiscard]] Duration best() const noexcept {
    auto const work = std::max(area.value_or(Duration{}), busiest.value_or(Duration{}));
    return std::max({work, path, ports});
  }
};

namespace detail {

/// What one direction of a port takes. Each message's time is rounded to whole nanoseconds.
[[nodiscard]] inline Duration
port_time(Traffic const& traffic, double bytes_per_s, Duration latency) noexcept {
  if (traffic.messages == 0) {
    return {};
  }
  auto const whole = Network::at(traffic.bytes, bytes_per_s).ns;
  auto const rounding = static_cast<std::int64_t>(traffic.messages / 2 + 1);
  return Duration{std::max<std::int64_t>(0, whole - rounding)} + latency;
}

/// The area bound of each node's own tasks, the largest.
[[nodiscard]] inline std::optional<Duration>
busiest_node(ClassTimes const& times, std::span<std::int32_t const> where, int nodes) {
  std::vector<ClassTimes> of(static_cast<std::size_t>(nodes));
  for (auto& own : of) {
    own.workers = times.workers;
  }
  auto const classes = times.workers.size();
  for (std::size_t v = 0; v < where.size(); ++v) {
    auto& own = of[static_cast<std::size_t>(where[v])].times;
    own.insert(own.end(),
               times.times.begin() + static_cast<std::ptrdiff_t>(v * classes),
               times.times.begin() + static_cast<std::ptrdiff_t>((v + 1) * classes));
  }
  std::optional<Duration> most;
  for (auto const& own : of) {
    if (auto const bound = area_bound(own); bound && (!most || *most < *bound)) {
      most = bound;
    }
  }
  return most;
}

} // namespace detail

/// The bounds for a graph whose datum d is at home on node homes[d] and whose task v runs on node
/// where[v] (SimulatedCluster::placed), in the time that `times` says for every node. `traffic`: of
/// each node's port, as SimulatedCluster counts it. Where messages do not wait for each other, what
/// ports have to do is no bound. Throws Error(bad_call): sizes that do not fit, a task that no
/// worker can run. Cost: O(tasks x (log tasks + data)).
[[nodiscard]] inline ClusterBounds cluster_bounds(TaskGraph const& graph,
                                                  ClassTimes const& times,
                                                  Network const& network,
                                                  std::span<std::int32_t const> homes,
                                                  std::span<std::int32_t const> where,
                                                  std::span<PortTraffic const> traffic) {
  if (homes.size() != graph.data_bytes().size() || where.size() != graph.size() ||
      times.tasks() != graph.size()) {
    throw Error(
        ErrorCode::bad_call, "cluster_bounds", "homes, nodes or times do not fit the graph");
  }
  auto const nodes = static_cast<int>(traffic.size());
  ClusterBounds bounds;
  auto together = times;
  for (auto& workers : together.workers) {
    workers *= nodes;
  }
  bounds.area = area_bound(together);
  bounds.busiest = detail::busiest_node(times, where, nodes);
  bounds.path = detail::ClusterPath(graph, network, homes).longest(shortest_times(times), where);
  if (network.sharing != Network::Sharing::none) {
    std::size_t largest = 0;
    for (auto const bytes : graph.data_bytes()) {
      largest = std::max(largest, bytes);
    }
    bool const relays = detail::may_relay(traffic.size(), largest, network.latency_bytes);
    Traffic average;
    for (auto const& port : traffic) {
      average.bytes += port.sent.bytes;
      average.messages = std::max(average.messages, port.sent.messages);
    }
    average.bytes /= std::max<std::size_t>(traffic.size(), 1);
    for (auto const& port : traffic) {
      auto const& sent = relays ? average : port.sent;
      bounds.ports =
          std::max({bounds.ports,
                    detail::port_time(sent, network.out_bytes_per_s, network.latency),
                    detail::port_time(port.received, network.in_bytes_per_s, network.latency)});
    }
  }
  return bounds;
}

} // namespace hetsched
