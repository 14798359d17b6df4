// SPDX-License-Identifier: MIT
// expected-error: this body parameter could write data that the signature declares R; take it const
// expected-error: BodyParameter<Add, 0>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;
using V = hs::VectorView<double>; // hidden in a specialisation, which stands in namespace hetsched

struct Add : hs::Task<2>::Signature<hs::R<V>, hs::RW<V>> {
  static void cpu(V from, V to) { to[0] += from[0]; }
};

int main() {
  hs::Runtime<> rt;
  double numbers[2] = {1, 2};
  auto h = rt.data(numbers, 2);
  rt.spawn<Add>()(h, h);
}
