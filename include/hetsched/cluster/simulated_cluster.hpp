// SPDX-License-Identifier: MIT
#pragma once
// A cluster in virtual time: the same policies on as many nodes as one likes.

#include <hetsched/cluster/placement.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/detail/cluster/simulated_nodes.hpp>
#include <hetsched/detail/cluster/virtual_cluster.hpp>
#include <hetsched/detail/spawn/ranked_graph.hpp>
#include <hetsched/platform/network.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched {

/// The settings of a SimulatedCluster.
struct ClusterSimulation {
  /// Of every node. Its seed is of node 0; node k has the k-th after it. `trace`, `memory_trace`,
  /// `reuse_profile` and `on_task` are of one runtime, and must be empty; with `record`,
  /// merge_ranks makes one trace of those of the nodes.
  Simulation node = {};
  Network network = {};
  int nodes = 1;
  /// Called at the end of each execution, in the order of the ends, with the node's number.
  std::function<void(int, SimulatedTask const&)> on_task = {};
  /// Every node looks at each task, as it does in a run on a real cluster. The result is the same,
  /// and dealing takes time in proportion to nodes x tasks.
  bool each_spawns_all = false;
};

/// What a run of a SimulatedCluster was.
struct ClusterStats {
  struct Node {
    std::uint64_t executed = 0; // tasks
    Duration busy;              // of its workers together
  };

  Duration elapsed; // until the last task and the last message
  Traffic sent;     // of all nodes
  std::vector<Node> nodes;
};

/// Runs graphs on a cluster that a Platform and a Network describe, in virtual time. Each node has
/// a SimulatedRuntime<Scheduler, Cache, PerfModel>; which node runs a task, and which values go
/// from node to node, follows from the homes of data by the rules of DistributedRuntime. All nodes
/// share one time. Spawns cost no virtual time, and neither do what merges contributions and the
/// processor's part in sending.
///
/// Deterministic, as a SimulatedRuntime is. For one thread at a time.
template <class Scheduler = policies::WorkStealing<>,
          class Cache = policies::Lru,
          class PerfModel = policies::NoModel,
          class PlacementPolicy = OwnerComputes>
  requires Placement<PlacementPolicy>
class SimulatedCluster {
public:
  using Node = SimulatedRuntime<Scheduler, Cache, PerfModel>;

  /// `knobs`: of the schedulers, as for Runtime. Throws Error(bad_config) naming what is wrong.
  template <class... Knobs>
  explicit SimulatedCluster(ClusterSimulation const& config, Knobs const&... knobs)
      : cluster_(checked(config).network, config.nodes, config.each_spawns_all),
        priorities_(config.node.priorities), parts_(static_cast<std::size_t>(config.nodes)) {
    for (int rank = 0; rank < config.nodes; ++rank) {
      auto own = config.node;
      own.seed += static_cast<std::uint64_t>(rank);
      if (config.on_task) {
        own.on_task = [this, tell = config.on_task, rank](SimulatedTask task) {
          auto const& part = parts_[static_cast<std::size_t>(rank)];
          if (!part.empty()) {
            task.node = part[static_cast<std::size_t>(task.node)];
          }
          tell(rank, task);
        };
      }
      auto& node = nodes_.emplace_back(own, knobs...);
      if (auto* const recorder = node.engine().recorder(); recorder && config.nodes > 1) {
        recorder->of_rank(
            static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(config.nodes), {});
      }
      cluster_.add(node);
    }
  }

  SimulatedCluster(SimulatedCluster const&) = delete;
  SimulatedCluster& operator=(SimulatedCluster const&) = delete;

  ~SimulatedCluster() {
    cluster_.forget_data();
    if (broken_) {
      detail::forget_tasks(nodes_);
    }
  }

  [[nodiscard]] int nodes() const noexcept { return static_cast<int>(nodes_.size()); }

  /// A node's runtime: its statistics, its trace.
  [[nodiscard]] Node& node(int rank) { return nodes_[static_cast<std::size_t>(rank)]; }

  /// Runs a graph to its end. Datum d is at home on node homes[d]; task v runs on node on[v], or,
  /// if that is negative or `on` is empty, where the placement policy says. Priorities are as the
  /// simulation asks; classes that tasks allow are ignored, as in SimulatedRuntime::run.
  ///
  /// A scheduler that prepares for graphs is given what its node runs, with the edges there.
  ///
  /// Throws Error: bad_call (not one home for each datum, no such node, a scheduler that keeps
  /// tasks for ever), and what a spawn throws. After an error the cluster cannot be used any more.
  void run(TaskGraph const& graph,
           std::span<std::int32_t const> homes,
           std::span<std::int32_t const> on = {}) {
    check_run(graph, homes, on);
    detail::GraphTypes types;
    cluster_.begin(homes.size());
    try {
      auto const ranked = this->ranked(graph, types, homes);
      auto const& tasks = ranked ? *ranked : graph;
      auto const where = placed(graph, homes, on);
      auto const numbers = prepare(tasks, types, homes, where);
      cluster_.deal(tasks, types, homes, where, numbers);
      elapsed_ = cluster_.run() - Instant{};
      for (auto& node : nodes_) {
        node.sync(); // last contributions, and what devices hold
      }
    } catch (...) {
      cluster_.abandon();
      broken_ = true;
      throw;
    }
    cluster_.forget_data();
  }

  /// The node that runs each task, as `run` has it. Throws Error(bad_call): a placement policy
  /// that names no node.
  [[nodiscard]] std::vector<std::int32_t> placed(TaskGraph const& graph,
                                                 std::span<std::int32_t const> homes,
                                                 std::span<std::int32_t const> on = {}) const {
    PlacementPolicy policy;
    std::vector<std::int32_t> where;
    where.reserve(graph.size());
    std::vector<PlacedDatum> data;
    for (std::size_t v = 0; v < graph.size(); ++v) {
      if (!on.empty() && on[v] >= 0) {
        where.push_back(on[v]);
        continue;
      }
      auto const& node = graph.nodes()[v];
      data.clear();
      for (auto const& access : node.accesses) {
        data.push_back({homes[access.data], access.mode, graph.data_bytes()[access.data]});
      }
      where.push_back(policy.rank_of({node.type, data, v, nodes()}));
      if (where.back() < 0 || where.back() >= nodes()) {
        throw Error(ErrorCode::bad_call,
                    "run",
                    detail::text("the placement policy put task %zu on node %d of %d",
                                 v,
                                 int{where.back()},
                                 nodes()));
      }
    }
    return where;
  }

  /// Of all runs so far.
  [[nodiscard]] ClusterStats stats() const {
    ClusterStats stats;
    stats.elapsed = elapsed_;
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      auto& node = stats.nodes.emplace_back();
      for (auto const& type : nodes_[rank].stats().types) {
        node.executed += type.count;
        node.busy += type.total;
      }
      stats.sent.messages += traffic()[rank].sent.messages;
      stats.sent.bytes += traffic()[rank].sent.bytes;
    }
    return stats;
  }

  /// What each node has sent and received, in all runs so far.
  [[nodiscard]] std::span<PortTraffic const> traffic() const noexcept { return cluster_.traffic(); }

  /// What one node has sent to another, in all runs so far.
  [[nodiscard]] Traffic sent(int from, int to) const { return cluster_.sent(from, to); }

private:
  [[nodiscard]] static ClusterSimulation const& checked(ClusterSimulation const& config) {
    auto const refuse = [](char const* culprit, std::string const& why) {
      throw Error(ErrorCode::bad_config, culprit, why);
    };
    if (config.nodes < 1 || config.nodes > most_nodes) {
      refuse("ClusterSimulation::nodes",
             detail::text("%d is not from 1 to %d", config.nodes, most_nodes));
    }
    detail::check_network(config.network);
    if (!config.node.trace.empty() || !config.node.memory_trace.empty() ||
        !config.node.reuse_profile.empty() || config.node.on_task) {
      refuse("ClusterSimulation::node",
             "has a trace, memory_trace, reuse_profile or on_task, which are of one runtime");
    }
    return config;
  }

  void check_run(TaskGraph const& graph,
                 std::span<std::int32_t const> homes,
                 std::span<std::int32_t const> on) const {
    if (broken_) {
      throw Error(ErrorCode::bad_call, "run", "an earlier run failed");
    }
    detail::check_places(graph, homes, on, -1, nodes(), "node");
  }

  /// A task as ranked_graph and expected_times ask for it; `data` is of the latest one.
  [[nodiscard]] detail::Prospect prospect(TaskGraph const& graph,
                                          std::size_t v,
                                          detail::GraphTypes& types,
                                          std::span<std::int32_t const> homes,
                                          std::vector<detail::DataRecord*>& data) {
    auto const& node = graph.nodes()[v];
    data.clear();
    for (auto const& access : node.accesses) {
      data.push_back(
          &cluster_.at_home(access.data, homes[access.data], graph.data_bytes()[access.data]));
    }
    return {&types.of(node), detail::Attributes{}.archs, node.label, data, node.flops};
  }

  /// The graph with the priorities that are asked for; nothing if they are its own.
  [[nodiscard]] std::optional<TaskGraph>
  ranked(TaskGraph const& graph, detail::GraphTypes& types, std::span<std::int32_t const> homes) {
    std::vector<detail::DataRecord*> data;
    return detail::ranked_graph(nodes_.front().engine(), graph, priorities_, [&](std::size_t v) {
      return prospect(graph, v, types, homes, data);
    });
  }

  /// Lets schedulers prepare that want to. Returns the number of each task in what its node
  /// prepares for, or else in the graph.
  [[nodiscard]] std::vector<std::int32_t> prepare(TaskGraph const& graph,
                                                  detail::GraphTypes& types,
                                                  std::span<std::int32_t const> homes,
                                                  std::span<std::int32_t const> where) {
    std::vector<std::int32_t> numbers(graph.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    if (!nodes_.front().engine().policies().has(hook_prepare)) {
      return numbers;
    }
    for (auto& part : parts_) {
      part.clear();
    }
    for (std::size_t v = 0; v < graph.size(); ++v) {
      auto& part = parts_[static_cast<std::size_t>(where[v])];
      numbers[v] = static_cast<std::int32_t>(part.size());
      part.push_back(static_cast<std::int32_t>(v));
    }
    graphs_.clear();
    std::vector<detail::DataRecord*> data;
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      auto const& part = parts_[rank];
      auto& policies = nodes_[rank].engine().policies();
      std::vector<ExpectedTimes> expected;
      if (policies.expects_times()) {
        expected = detail::expected_times(nodes_[rank].engine(), part.size(), [&](std::size_t k) {
          return prospect(graph, static_cast<std::size_t>(part[k]), types, homes, data);
        });
      }
      policies.prepare(graphs_.emplace_back(part_of(graph, part)), expected);
    }
    return numbers;
  }

  /// Some tasks of a graph, and the edges that follow from their accesses.
  [[nodiscard]] static TaskGraph part_of(TaskGraph const& graph,
                                         std::span<std::int32_t const> part) {
    std::vector<TaskGraph::Node> nodes;
    std::vector<std::size_t> bytes;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    for (auto const v : part) {
      auto& node = nodes.emplace_back(graph.nodes()[static_cast<std::size_t>(v)]);
      for (auto& access : node.accesses) {
        auto const [known, fresh] =
            numbers.emplace(access.data, static_cast<std::uint32_t>(bytes.size()));
        if (fresh) {
          bytes.push_back(graph.data_bytes()[access.data]);
        }
        access.data = known->second;
      }
    }
    return {std::move(nodes), std::move(bytes)};
  }

  static constexpr int most_nodes = 100'000;

  std::deque<Node> nodes_;
  detail::VirtualCluster cluster_;
  Priorities const priorities_;
  std::vector<std::vector<std::int32_t>> parts_; // the tasks of each node, if it has prepared
  std::deque<TaskGraph> graphs_; // of these; schedulers may look at them while tasks run
  Duration elapsed_;
  bool broken_ = false;
};

} // namespace hetsched
