// SPDX-License-Identifier: MIT
// expected-error: hetsched: a sparse solver on a DistributedRuntime needs `#include
// needs: eigen3

#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/sparse/lu.hpp>

namespace hs = hetsched;

int main() {
  hs::LoopbackNetwork network(1);
  auto transport = network.transport(0);
  hs::DistributedRuntime rt(transport);
  hs::sparse::SparseLU<double> lu;
  lu.factorize(rt, {});
}
