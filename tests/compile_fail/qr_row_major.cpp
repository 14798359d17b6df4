// SPDX-License-Identifier: MIT
// expected-error: hetsched: qr needs column-major matrices
// needs: eigen3
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/qr.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  double numbers[4] = {};
  hs::linalg::TiledMatrix const a(rt, hs::row_major(numbers, 2, 2, 2), 1);
  hs::linalg::Reflections const q(rt, a);
}
