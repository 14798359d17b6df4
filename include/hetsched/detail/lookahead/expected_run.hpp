// SPDX-License-Identifier: MIT
#pragma once
// A graph and a machine for virtual time, made from the expected times of tasks.

#include <hetsched/concepts/context.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Whether there is a time for each task of a graph on each class of worker that can run it.
[[nodiscard]] inline bool all_expected(std::span<ExpectedTimes const> expected) {
  return std::all_of(expected.begin(), expected.end(), [](ExpectedTimes const& times) {
    for (std::uint8_t a = 0; a < max_archs; ++a) {
      if (times.archs.has(Arch{a}) && !times.on[a]) {
        return false;
      }
    }
    return true;
  });
}

/// The same graph, with one kernel for all tasks with the same times, and a machine with these
/// workers, whose memory nodes are those of `transfers` unless transfers are free. The graph lives
/// as long as this object.
class ExpectedRun {
public:
  ExpectedRun(TaskGraph const& graph,
              std::span<ExpectedTimes const> expected,
              std::span<WorkerInfo const> workers,
              LookaheadTransfers const& transfers = {}) {
    auto& platform = simulation_.platform;
    platform.name = "as expected";
    platform.cores = static_cast<int>(workers.size());
    for (auto const& info : workers) {
      auto& classes = platform.classes;
      auto const known = std::find_if(classes.begin(), classes.end(), [&](auto const& other) {
        return other.arch == info.arch;
      });
      if (known != classes.end()) {
        ++known->workers;
      } else {
        classes.push_back({"", info.arch, 1, ""});
      }
    }
    simulation_.algorithm = "graph";
    platform.nodes = transfers.nodes;
    platform.routes = transfers.routes;
    platform.links = transfers.links;
    simulation_.transfers = transfers.kind;
    simulation_.window = transfers.window;
    simulation_.serve = transfers.serve;
    graph_ = with_times(graph, expected);
  }

  ExpectedRun(ExpectedRun const&) = delete;
  ExpectedRun& operator=(ExpectedRun const&) = delete;

  [[nodiscard]] Simulation const& simulation() const noexcept { return simulation_; }

  [[nodiscard]] TaskGraph const& graph() const noexcept { return graph_; }

private:
  TaskGraph with_times(TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    using Key = std::pair<std::string_view, std::vector<std::int64_t>>;
    auto& platform = simulation_.platform;
    std::map<Key, std::string_view> types;
    std::vector<TaskGraph::Node> nodes(graph.nodes().begin(), graph.nodes().end());
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      std::vector<std::optional<Platform::KernelTime>> times;
      Key key{nodes[v].type, {}};
      for (auto const& worker_class : platform.classes) {
        auto const time = expected[v].on[worker_class.arch.index];
        times.push_back(time ? std::optional(Platform::KernelTime{*time, {}, {}}) : std::nullopt);
        key.second.push_back(time ? time->ns : -1);
      }
      auto const [known, fresh] = types.try_emplace(std::move(key));
      if (fresh) {
        known->second =
            names_.emplace_back(std::string(nodes[v].type) + "#" + std::to_string(names_.size()));
        Platform::Kernel kernel;
        kernel.name = known->second;
        kernel.algorithms = {"graph"};
        kernel.times = std::move(times);
        platform.kernels.push_back(std::move(kernel));
      }
      nodes[v].type = known->second;
    }
    auto const bytes = graph.data_bytes();
    return {std::move(nodes), std::vector<std::size_t>(bytes.begin(), bytes.end())};
  }

  Simulation simulation_;
  std::deque<std::string> names_; // of the kernels
  TaskGraph graph_;
};

} // namespace hetsched::detail
