// SPDX-License-Identifier: MIT
#pragma once
// The order in which idle workers are offered work, and the state of a worker in virtual time.

#include <hetsched/core/time.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/dataflow/early.hpp>
#include <hetsched/platform/simulation.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::detail {

struct TaskRecord;
struct TypeEntry;

/// What a device's worker will probably take next, by the scheduler's `peek`.
struct NextTasks {
  struct Next {
    TaskRecord* task;
    Instant begin; // there
  };

  std::vector<Next> tasks;
  std::uint64_t moves = 0; // VirtualCore::moves_ then
};

struct VirtualWorker {
  TaskRecord* running = nullptr;
  TaskRecord* waiting = nullptr; // a core's task whose data are on their way
  TypeEntry* times = nullptr;    // of what it runs
  Instant begin;                 // of what it runs
  Instant end;
  Duration committed;            // expected time of tasks that it has taken and that have not begun
  std::uint64_t number = 0;      // of what it runs: see SimulatedTask
  LaunchedSuccessors successors; // of what it runs, on a device
  NextTasks next;                // of a device
  // since the statistics were reset
  std::uint64_t executed = 0;
  std::uint64_t steals = 0;
  Duration busy;
  std::uint64_t aborted = 0;
  Duration wasted;
};

/// A set of workers in the order in which they are offered work: one class first, lower numbers
/// first. A bit for each rank in that order.
class WorkerOrder {
public:
  /// All of them.
  WorkerOrder(std::span<WorkerInfo const> infos, Simulation::Serve first)
      : rank_(infos.size()), bits_((infos.size() + 63) / 64) {
    for (auto const host_turn :
         {first == Simulation::Serve::cpu, first == Simulation::Serve::gpu}) {
      for (auto const& info : infos) {
        if ((info.arch == ArchHost) == host_turn) {
          by_rank_.push_back(info.id);
        }
      }
    }
    for (std::size_t r = 0; r < by_rank_.size(); ++r) {
      rank_[by_rank_[r].index()] = r;
      insert(by_rank_[r]);
    }
  }

  void insert(WorkerId worker) noexcept {
    auto const rank = rank_[worker.index()];
    bits_[rank / 64] |= std::uint64_t{1} << (rank % 64);
  }

  void erase(WorkerId worker) noexcept {
    auto const rank = rank_[worker.index()];
    bits_[rank / 64] &= ~(std::uint64_t{1} << (rank % 64));
  }

  /// The first worker from a rank on; no_worker if there is none. `rank` becomes the rank behind
  /// it.
  [[nodiscard]] WorkerId next(std::size_t& rank) const noexcept {
    for (auto word = rank / 64; word < bits_.size(); ++word) {
      auto const low = word == rank / 64 ? rank % 64 : 0;
      if (auto const left = bits_[word] >> low; left != 0) {
        auto const found = word * 64 + low + static_cast<std::size_t>(std::countr_zero(left));
        rank = found + 1;
        return by_rank_[found];
      }
    }
    return no_worker;
  }

private:
  std::vector<WorkerId> by_rank_;
  std::vector<std::size_t> rank_; // of each worker
  std::vector<std::uint64_t> bits_;
};

} // namespace hetsched::detail
