// SPDX-License-Identifier: MIT
// expected-error: hetsched: the layout of an ArrayView is LayoutRight, LayoutLeft or LayoutStride
#include <hetsched/core/array_view.hpp>

namespace hs = hetsched;

struct ByDiagonals {};

int main() {
  double number = 0;
  hs::ArrayView<double, 2, ByDiagonals> const view(&number, {1, 1});
}
