// SPDX-License-Identifier: MIT
// expected-error: the body of an abortable task cannot spawn
// expected-error: AbortableTask<Spawner
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

struct Spawner : hs::Task<1>::Signature<hs::W<double>> {};

template <>
struct hetsched::TaskBodyCPU<Spawner> {
  void operator()(hs::Runtime<>&, double&) const {}
};

int main() {
  hs::Runtime<> rt;
  double x = 0;
  auto hx = rt.data(x);
  rt.spawn<Spawner>(hs::abortable)(hx);
}
