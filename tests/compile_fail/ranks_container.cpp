// SPDX-License-Identifier: MIT
// expected-error: hetsched: DistributedRuntime::data takes a scalar, or a pointer and sizes

#include <hetsched/cluster.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

int main() {
  hs::LoopbackNetwork network(1);
  auto transport = network.transport(0);
  hs::DistributedRuntime rt(transport);
  std::vector<int> x(3);
  (void)rt.data(0, x);
}
