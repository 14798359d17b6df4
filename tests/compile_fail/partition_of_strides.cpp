// SPDX-License-Identifier: MIT
// expected-error: hetsched: partition needs an array of LayoutRight or LayoutLeft
#include <hetsched/core/array_view.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  double numbers[12] = {};
  auto const odd = rt.data(hs::ArrayView<double, 2, hs::LayoutStride>(numbers, {3, 2}, {4, 2}));
  auto const parts = rt.partition(odd, hs::tiles(1));
}
