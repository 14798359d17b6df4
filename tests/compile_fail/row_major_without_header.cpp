// SPDX-License-Identifier: MIT
// expected-error: hetsched: data(matrix) of a row-major matrix needs
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

/// As a row-major matrix of Eigen's.
struct Matrix {
  static constexpr bool IsRowMajor = true;

  int rows() { return 1; }

  int cols() { return 1; }

  int outerStride() { return 1; }

  double* data() { return &number; }

  double number = 0;
};

int main() {
  hs::Runtime<> rt;
  Matrix matrix;
  rt.data(matrix);
}
