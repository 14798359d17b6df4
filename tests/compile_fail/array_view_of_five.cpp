// SPDX-License-Identifier: MIT
// expected-error: hetsched: an ArrayView has 1 to 4 dimensions
#include <hetsched/core/array_view.hpp>

namespace hs = hetsched;

int main() {
  double number = 0;
  hs::ArrayView<double, 5> const view(&number, {1, 1, 1, 1, 1});
}
