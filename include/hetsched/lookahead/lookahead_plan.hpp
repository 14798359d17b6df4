// SPDX-License-Identifier: MIT
#pragma once
// What HeteroPrioLookahead has found for a graph, as plain data.

#include <hetsched/core/types.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace hetsched {

/// The class of worker of each task, and its rank: a worker takes the highest of its class that is
/// ready, and of those the lowest number.
struct RankedPlan {
  std::vector<std::uint8_t> side; // Arch::index
  std::vector<std::int64_t> rank;
};

/// A plan for one graph on one machine. Runtimes of one thread that share it begin with it if it is
/// for their graph and machine, and replace it if not.
struct LookaheadPlan {
  RankedPlan plan;
  std::vector<std::int64_t> ends; // of each task
  std::int64_t makespan = 0;      // in ns, if all takes what was expected

  // What it is for.
  std::vector<std::array<std::int64_t, max_archs>> times; // of each task on each class, in ns
  std::array<int, max_archs> workers{};                   // of each class
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

} // namespace hetsched
