// SPDX-License-Identifier: MIT
#pragma once
// The plan that HeteroPrioLookahead has found for a graph, as plain data.

#include <hetsched/core/types.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace hetsched {

/// The class of worker of each task, and its rank: a worker takes the ready task of its class with
/// the highest rank, and of equals the one with the lowest number.
struct RankedPlan {
  std::vector<std::uint8_t> side; // Arch::index
  std::vector<std::int64_t> rank;
};

/// A plan for one graph on one machine. Runtimes of one thread may share it. A runtime begins with
/// it if it is for its graph and machine, and replaces it if not.
struct LookaheadPlan {
  RankedPlan plan;
  std::vector<std::int64_t> ends; // of each task
  std::int64_t makespan = 0;      // in ns, if all tasks take the expected times

  // The graph and the machine that it is for.
  std::vector<std::array<std::int64_t, max_archs>> times; // of each task on each class, in ns
  std::array<int, max_archs> workers{};                   // of each class
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

} // namespace hetsched
