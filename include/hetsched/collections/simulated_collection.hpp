// SPDX-License-Identifier: MIT
#pragma once
// Collections of tasks in virtual time: the same policies on as many nodes as one likes.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/collections/steal.hpp>
#include <hetsched/collections/task_distribution.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/simulated_nodes.hpp>
#include <hetsched/detail/collections/virtual_collection.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/network.hpp>
#include <hetsched/platform/one_sided_costs.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

/// The settings of a SimulatedCollection.
struct CollectionSimulation {
  /// Of every rank's node. Its seed is of rank 0; rank k has the k-th after it. What is of one
  /// runtime (trace, memory_trace, record, reuse_profile, on_task) must be empty.
  Simulation node = {};
  Network network = {};
  OneSidedCosts costs = {};
  int ranks = 1;
  CollectionOptions options = {};
  /// How long a task of the graph is expected to take, by its number, for queues and distributions;
  /// see TaskCollection::estimate. A platform's times are of the execution alone: an estimate may
  /// count copies to a GPU, too. Empty: what the platform says.
  std::function<EstimatedTimes(std::size_t)> estimate = {};
  /// Called at the end of each execution, in the order of the ends, with the rank's number.
  /// SimulatedTask::node is the task's number in the graph.
  std::function<void(int, SimulatedTask const&)> on_task = {};
};

/// What the runs of a SimulatedCollection were.
struct SimulatedCollectionStats {
  struct Rank {
    CollectionStats tasks;
    Duration busy; // of the workers together
  };

  Duration elapsed;            // of all runs together
  Traffic values;              // that were got, put and added between ranks
  std::uint64_t one_sided = 0; // operations on other ranks, also for steals
  std::vector<Rank> ranks;
};

/// Runs independent tasks on ranks that a Platform and a Network describe, in virtual time. Queues,
/// steals, admission, patches that are kept and the waves that find the end are those of
/// TaskCollection, line by line; each rank's tasks run on a
/// SimulatedRuntime<Scheduler, Cache, PerfModel>, and its one-sided operations take what the
/// network and OneSidedCosts say. A rank looks whenever something happens to it, and looking takes
/// no time; so do spawns.
///
/// Deterministic, as a SimulatedRuntime is. For one thread at a time.
template <class Steal = SingleEnded,
          class Distribution = AsAdded,
          class Scheduler = policies::WorkStealing<>,
          class Cache = policies::Lru,
          class PerfModel = policies::NoModel>
class SimulatedCollection {
  static_assert(StealPolicy<Steal>,
                "hetsched: the steal policy of a SimulatedCollection needs a `static constexpr "
                "hetsched::StealRule rule`");
  static_assert(TaskDistribution<Distribution>,
                "hetsched: the distribution of a SimulatedCollection needs a `static void "
                "place(std::span<hetsched::TaskToPlace>, int ranks)`");

public:
  using Node = SimulatedRuntime<Scheduler, Cache, PerfModel>;

  /// `knobs`: of the schedulers, as for Runtime. Throws Error(bad_config) naming what is wrong.
  template <class... Knobs>
  explicit SimulatedCollection(CollectionSimulation const& config, Knobs const&... knobs)
      : config_(checked(config)) {
    for (int rank = 0; rank < config.ranks; ++rank) {
      auto own = config.node;
      own.seed += static_cast<std::uint64_t>(rank);
      own.on_task = [this, rank](SimulatedTask const& task) {
        if (running_ != nullptr && workers()[task.worker.index()].arch == ArchHost) {
          running_->note_end(static_cast<std::size_t>(rank));
        }
        if (config_.on_task) {
          config_.on_task(rank, task);
        }
      };
      nodes_.emplace_back(own, knobs...);
      stats_.ranks.emplace_back();
    }
  }

  SimulatedCollection(SimulatedCollection const&) = delete;
  SimulatedCollection& operator=(SimulatedCollection const&) = delete;

  ~SimulatedCollection() {
    if (broken_) {
      detail::forget_tasks(nodes_);
    }
  }

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(nodes_.size()); }

  /// A rank's runtime: its statistics.
  [[nodiscard]] Node& node(int rank) { return nodes_[static_cast<std::size_t>(rank)]; }

  /// One `process`: runs the graph's tasks, which are independent, to their end. Datum d is a patch
  /// of an array, in the part of rank homes[d]; what a task reads (R) is got, what it overwrites
  /// (W) put, and what it adds to (CW) accumulated. Task v begins on rank on[v]; if that is
  /// negative or `on` is empty, where the distribution says, which sees such tasks as if rank 0 had
  /// added them.
  ///
  /// Throws Error: bad_call (not one home for each datum, no such rank, tasks that are not
  /// independent, a scheduler that keeps tasks for ever), bad_config (options that cannot be),
  /// cannot_run. After an error in the middle of a run it cannot be used any more.
  void run(TaskGraph const& graph,
           std::span<std::int32_t const> homes,
           std::span<std::int32_t const> on = {}) {
    check_run(graph, homes, on);
    detail::GraphCollection tasks(graph, homes, nodes_.front(), config_.estimate);
    auto const where = placed(tasks, on);
    std::vector<detail::VirtualCollection::Node*> nodes;
    for (auto& node : nodes_) {
      nodes.push_back(&node);
    }
    detail::VirtualCollection collection(nodes,
                                         tasks,
                                         config_.network,
                                         config_.costs,
                                         Steal::rule,
                                         config_.options,
                                         Instant{} + stats_.elapsed);
    for (std::size_t v = 0; v < graph.size(); ++v) {
      collection.add(v, where[v]);
    }
    running_ = &collection;
    try {
      stats_.elapsed = collection.run() - Instant{};
    } catch (...) {
      running_ = nullptr;
      broken_ = true;
      for (auto& node : nodes_) {
        node.engine().abandon();
      }
      throw;
    }
    running_ = nullptr;
    note(collection);
  }

  /// Of all runs so far.
  [[nodiscard]] SimulatedCollectionStats stats() const {
    auto stats = stats_;
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      for (auto const& type : nodes_[rank].stats().types) {
        stats.ranks[rank].busy += type.total;
      }
    }
    return stats;
  }

private:
  static constexpr int most_ranks = 100'000;

  [[nodiscard]] static CollectionSimulation const& checked(CollectionSimulation const& config) {
    auto const refuse = [](char const* culprit, std::string const& why) {
      throw Error(ErrorCode::bad_config, culprit, why);
    };
    if (config.ranks < 1 || config.ranks > most_ranks) {
      refuse("CollectionSimulation::ranks",
             detail::text("%d is not from 1 to %d", config.ranks, most_ranks));
    }
    detail::check_network(config.network);
    detail::check_costs(config.costs);
    if (auto const error = detail::mistake_in(config.options)) {
      throw Error(*error);
    }
    if (!config.node.trace.empty() || !config.node.memory_trace.empty() || config.node.record ||
        !config.node.reuse_profile.empty() || config.node.on_task) {
      refuse("CollectionSimulation::node",
             "has a trace, memory_trace, record, reuse_profile or on_task, which are of one "
             "runtime");
    }
    return config;
  }

  void check_run(TaskGraph const& graph,
                 std::span<std::int32_t const> homes,
                 std::span<std::int32_t const> on) const {
    if (broken_) {
      throw Error(ErrorCode::bad_call, "run", "an earlier run failed");
    }
    detail::check_places(
        graph, homes, on, std::numeric_limits<std::int32_t>::min(), ranks(), "rank");
  }

  /// Where each task begins.
  [[nodiscard]] std::vector<std::int32_t> placed(detail::GraphCollection const& tasks,
                                                 std::span<std::int32_t const> on) const {
    std::vector<std::int32_t> where(on.begin(), on.end());
    where.resize(tasks.graph().size(), -1);
    std::vector<TaskToPlace> places;
    for (std::size_t v = 0; v < where.size(); ++v) {
      if (where[v] < 0) {
        places.push_back({.cpu = tasks.expected(v, ArchHost),
                          .gpu = tasks.expected(v, ArchCUDA),
                          .output = tasks.output_of(v, 0)});
      }
    }
    Distribution::place(places, ranks());
    auto next = places.begin();
    for (auto& rank : where) {
      if (rank < 0) {
        rank = (next++)->rank;
        if (rank < 0 || rank >= ranks()) {
          throw Error(ErrorCode::bad_call,
                      "run",
                      detail::text("the distribution names rank %d of %d", int{rank}, ranks()));
        }
      }
    }
    return where;
  }

  /// Of each rank.
  [[nodiscard]] std::span<WorkerInfo const> workers() const { return nodes_.front().workers(); }

  void note(detail::VirtualCollection const& collection) {
    using S = CollectionStats;
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      for (auto const part : {&S::added,
                              &S::completed,
                              &S::failed,
                              &S::steal_attempts,
                              &S::steals,
                              &S::stolen,
                              &S::released,
                              &S::taken_back,
                              &S::gets,
                              &S::get_hits,
                              &S::bytes_got,
                              &S::bytes_put,
                              &S::waves}) {
        stats_.ranks[rank].tasks.*part += collection.stats(rank).*part;
      }
    }
    auto const& rma = collection.rma();
    stats_.values.messages += rma.values().messages;
    stats_.values.bytes += rma.values().bytes;
    stats_.one_sided += rma.operations();
  }

  CollectionSimulation const config_;
  std::deque<Node> nodes_;
  SimulatedCollectionStats stats_;
  detail::VirtualCollection* running_ = nullptr;
  bool broken_ = false;
};

} // namespace hetsched
