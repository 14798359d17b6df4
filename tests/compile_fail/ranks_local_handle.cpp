// SPDX-License-Identifier: MIT
// expected-error: hetsched: a DistributedRuntime spawns on a DistributedHandle for each

#include <hetsched/cluster.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

struct Twice : hs::Task<1>::Signature<hs::RW<int>> {
  static void cpu(int& x) { x *= 2; }
};

int main() {
  hs::LoopbackNetwork network(1);
  auto transport = network.transport(0);
  hs::DistributedRuntime rt(transport);
  int x = 1;
  rt.spawn<Twice>()(rt.node().data(x));
}
