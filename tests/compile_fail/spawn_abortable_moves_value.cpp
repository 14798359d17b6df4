// SPDX-License-Identifier: MIT
// expected-error: one of them cannot be copied
// expected-error: AbortableTask<Owner
#include <hetsched/hetsched.hpp>

#include <memory>

namespace hs = hetsched;

struct Owner : hs::Task<2>::Signature<hs::W<double>, std::unique_ptr<int>> {};

template <>
struct hetsched::TaskBodyCPU<Owner> {
  void operator()(double&, std::unique_ptr<int>&) const {}
};

int main() {
  hs::Runtime<> rt;
  double x = 0;
  auto hx = rt.data(x);
  rt.spawn<Owner>(hs::abortable)(hx, std::make_unique<int>(1));
}
