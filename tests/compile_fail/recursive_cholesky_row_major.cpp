// SPDX-License-Identifier: MIT
// expected-error: hetsched: recursive_cholesky needs a column-major matrix
// needs: eigen3
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/recursive_cholesky.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  double numbers[4] = {};
  hs::linalg::recursive_cholesky(rt, rt.data(hs::row_major(numbers, 2, 2, 2)), 1);
}
