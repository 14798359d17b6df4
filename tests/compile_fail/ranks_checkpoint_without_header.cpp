// SPDX-License-Identifier: MIT
// expected-error: hetsched: DistributedRuntime::checkpoint and restore need `#include

#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

int main() {
  hs::LoopbackNetwork network(1);
  auto transport = network.transport(0);
  hs::DistributedRuntime rt(transport);
  rt.checkpoint("state");
}
