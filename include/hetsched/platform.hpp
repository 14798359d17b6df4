// SPDX-License-Identifier: MIT
#pragma once
// What a machine is made of, as policies see it.

#include <hetsched/types.hpp>

#include <cstddef>

namespace hetsched {

/// One worker. Immutable while the runtime lives.
struct WorkerInfo {
  WorkerId id;
  Arch arch;
  NodeId node;            // memory node whose data its bodies address
  std::int32_t cpu = -1;  // operating system's number of the core it is bound to; -1: not bound
  std::int32_t cores = 1; // that bodies have (team.hpp); in virtual time, that times are for
};

/// One address space.
struct NodeInfo {
  NodeId id;
  std::size_t capacity_bytes = 0; // 0: not bounded by the runtime (host memory)
};

} // namespace hetsched
