// SPDX-License-Identifier: MIT
// expected-error: hetsched: the lambda cannot be called with its arguments: data arrive as views
// expected-within: 10
#include <hetsched/hetsched.hpp>

#include <vector>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  std::vector<double> numbers(8);
  auto const h = rt.data(numbers);
  rt.spawn()([](hs::TileView<double> x) { x(0, 0) = 1; }, hs::write(h));
}
