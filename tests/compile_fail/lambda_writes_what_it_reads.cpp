// SPDX-License-Identifier: MIT
// expected-error: read(h) arrives const, as a VectorView<T const>
// expected-within: 10
#include <hetsched/hetsched.hpp>

#include <vector>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  std::vector<double> numbers(8);
  auto const h = rt.data(numbers);
  rt.spawn()([](hs::VectorView<double> x) { x[0] = 1; }, hs::read(h));
}
