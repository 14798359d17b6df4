// SPDX-License-Identifier: MIT
// expected-error: this task type has two bodies for one class of worker
// expected-error: BodyExists<Twice>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

struct Twice : hs::Task<1>::Signature<hs::RW<double>> {
  static void cpu(double& value) { value += 1; }
};

template <>
struct hetsched::TaskBodyCPU<Twice> {
  void operator()(double& value) const { value += 2; }
};

int main() {
  hs::Runtime<> rt;
  double value = 0;
  rt.spawn<Twice>()(rt.data(value));
}
