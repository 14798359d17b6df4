// SPDX-License-Identifier: MIT
// expected-error: an abortable task must write a datum
// expected-error: AbortableTask<Look
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

struct Look : hs::Task<1>::Signature<hs::R<double>> {};

template <>
struct hetsched::TaskBodyCPU<Look> {
  void operator()(double const&) const {}
};

int main() {
  hs::Runtime<> rt;
  double x = 0;
  auto hx = rt.data(x);
  rt.spawn<Look>(hs::abortable)(hx);
}
