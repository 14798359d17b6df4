// SPDX-License-Identifier: MIT
#pragma once
// The plan that HeteroPrioLookahead has found for a graph, as plain data.

#include <hetsched/core/types.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace hetsched {

/// For each task of a graph that was simulated: who ran it, and when it began and ended there.
struct SimulatedSchedule {
  std::vector<std::uint8_t> side; // Arch::index
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<WorkerId> worker;
  std::int64_t makespan = 0; // in ns, until the last task ends
};

/// The side of each task, and its rank: a worker takes the ready task of its side with the highest
/// rank, and of equals the one with the lowest number. A side is a class of worker, by Arch::index.
/// If transfers cost time, each device is a side of its own: number k is side max_archs + k. The
/// plan then has a worker of the side for each task, too, and all ranks differ.
struct RankedPlan {
  std::vector<std::uint8_t> side;
  std::vector<std::int64_t> rank;
  std::vector<WorkerId> worker = {}; // none if transfers are free
};

/// What a machine says of transfers, and what its schedules depend on beside.
struct LookaheadTransfers {
  Simulation::Transfers kind = Simulation::Transfers::free;
  int window = Simulation{}.window;
  Simulation::Serve serve = Simulation::Serve::cpu;
  std::vector<Platform::Node> nodes = {};
  std::vector<Platform::Route> routes = {};
  std::vector<Platform::Link> links = {};

  friend bool operator==(LookaheadTransfers const&, LookaheadTransfers const&) = default;
};

/// A plan for one graph on one machine. Runtimes of one thread may share it. A runtime begins with
/// it if it is for its graph and machine, and replaces it if not.
struct LookaheadPlan {
  RankedPlan plan;
  std::vector<std::int64_t> ends; // of each task
  std::int64_t makespan = 0;      // in ns, if all tasks take the expected times
  double seconds = 0;             // that finding it took
  bool on_trial = false;          // only `plan` is known, and is followed to the letter

  // The graph and the machine that it is for.
  std::vector<std::array<std::int64_t, max_archs>> times; // of each task on each class, in ns
  std::array<int, max_archs> workers{};                   // of each class
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  LookaheadTransfers transfers;
};

} // namespace hetsched
