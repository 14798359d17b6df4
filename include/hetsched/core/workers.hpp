// SPDX-License-Identifier: MIT
#pragma once
// The parts of a machine, as policies see them.

#include <hetsched/core/types.hpp>

#include <cstddef>

namespace hetsched {

/// One worker. Immutable while the runtime lives.
struct WorkerInfo {
  WorkerId id;
  Arch arch;
  NodeId node;            // the memory node whose data its bodies address
  std::int32_t cpu = -1;  // the operating system's number of its core; -1: not bound
  std::int32_t cores = 1; // cores for its bodies (runtime/team.hpp); in virtual time, for its times
};

/// One address space.
struct NodeInfo {
  NodeId id;
  std::size_t capacity_bytes = 0; // 0: not bounded by the runtime (host memory)
};

} // namespace hetsched
