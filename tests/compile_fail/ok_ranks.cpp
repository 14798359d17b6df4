// SPDX-License-Identifier: MIT
// What the cases beside it get wrong.

#include <hetsched/cluster.hpp>
#include <hetsched/cluster/checkpoint.hpp>
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
  std::vector<int> y(3);
  auto const hx = rt.data(0, x);
  auto const hy = rt.data(0, y.data(), y.size());
  rt.spawn<Twice>()(hx);
  rt.spawn()([](hs::VectorView<int> v) { v[0] = 1; }, hs::write(hy));
  rt.checkpoint("state");
}
