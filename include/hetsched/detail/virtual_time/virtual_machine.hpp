// SPDX-License-Identifier: MIT
#pragma once
// The machine that a simulation describes.

#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/virtual_time/kernel_times.hpp>
#include <hetsched/platform/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::detail {

/// Its workers and memory nodes, the times of tasks on it, and a stream of random numbers for each
/// worker.
class VirtualMachine {
public:
  explicit VirtualMachine(Simulation const& config)
      : config_(config), times_(config_), workers_(workers_of(config_.platform)),
        nodes_(nodes_of(config_.platform, workers_)) {
    RandomStream seeds(config_.seed);
    for (std::size_t w = 0; w <= workers_.size(); ++w) {
      random_.emplace_back(seeds.next());
    }
  }

  VirtualMachine(VirtualMachine const&) = delete;
  VirtualMachine& operator=(VirtualMachine const&) = delete;

  [[nodiscard]] Simulation const& config() const noexcept { return config_; }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return workers_; }

  [[nodiscard]] WorkerInfo const& worker(WorkerId id) const noexcept {
    return workers_[id.index()];
  }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return nodes_; }

  [[nodiscard]] KernelTimes& times() noexcept { return times_; }

  [[nodiscard]] KernelTimes const& times() const noexcept { return times_; }

  /// no_worker: the stream of threads outside.
  [[nodiscard]] std::uint64_t random(WorkerId worker) const {
    return random_[worker ? worker.index() : workers_.size()].next();
  }

  /// The worker as which the program's thread spawns: worker 0, in whose seat it waits, if that is
  /// a core.
  [[nodiscard]] WorkerId spawner() const noexcept {
    return workers_.front().arch == ArchHost ? workers_.front().id : no_worker;
  }

private:
  /// Cores first, then the GPUs, each with a node of its own.
  static std::vector<WorkerInfo> workers_of(Platform const& platform) {
    std::vector<WorkerInfo> workers;
    std::int32_t node = 0;
    for (auto const& kind : platform.classes) {
      for (int k = 0; k < kind.workers; ++k) {
        auto const id = static_cast<std::int32_t>(workers.size());
        auto const at = kind.arch == ArchHost ? host_node : NodeId{++node};
        workers.push_back({WorkerId{id}, kind.arch, at, -1, kind.cores});
      }
    }
    return workers;
  }

  static std::vector<NodeInfo> nodes_of(Platform const& platform,
                                        std::span<WorkerInfo const> workers) {
    std::vector<NodeInfo> nodes{{host_node, 0}};
    for (auto const& worker : workers) {
      auto const k = static_cast<std::size_t>(worker.node.value);
      if (worker.node != host_node) {
        nodes.push_back(
            {worker.node, k < platform.nodes.size() ? platform.nodes[k].capacity_bytes : 0});
      }
    }
    return nodes;
  }

  Simulation const config_;
  KernelTimes times_;
  std::vector<WorkerInfo> const workers_;
  std::vector<NodeInfo> const nodes_;
  mutable std::vector<RandomStream> random_; // of each worker, and of threads outside
};

} // namespace hetsched::detail
