// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices to solve with, from a file or generated.

#include <hetsched/core/error.hpp>
#include <hetsched/linalg/matrix_io.hpp>

#include <Eigen/SparseCore>

#include <cmath>
#include <complex>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace example {

using Complex = std::complex<double>;

template <class T>
struct SparseProblem {
  std::string name;
  Eigen::SparseMatrix<T> a;
};

/// -u'' + c u' on a cube of k x k x k points, first derivatives upwind.
inline SparseProblem<double> convection_diffusion(std::size_t points) {
  auto const k = static_cast<int>(std::lround(std::cbrt(static_cast<double>(points))));
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < k * k * k; ++i) {
    entries.emplace_back(i, i, 6.6);
    int stride = 1;
    for (double const speed : {0.3, 0.2, 0.1}) {
      auto const place = i / stride % k;
      if (place > 0) {
        entries.emplace_back(i, i - stride, -1 - speed);
      }
      if (place + 1 < k) {
        entries.emplace_back(i, i + stride, -1);
      }
      stride *= k;
    }
  }
  Eigen::SparseMatrix<double> a(k * k * k, k * k * k);
  a.setFromTriplets(entries.begin(), entries.end());
  auto const side = std::to_string(k);
  return {"convection and diffusion on " + side + " x " + side + " x " + side + " points",
          std::move(a)};
}

inline SparseProblem<Complex> from_file(std::string const& path) {
  SparseProblem<Complex> problem{path, hetsched::linalg::read_matrix<Complex>(path).matrix};
  auto const& a = problem.a;
  if (a.rows() != a.cols()) {
    throw hetsched::Error(hetsched::ErrorCode::bad_input,
                          path,
                          "the matrix is " + std::to_string(a.rows()) + " x " +
                              std::to_string(a.cols()) + ", not square");
  }
  if (!a.coeffs().allFinite()) {
    throw hetsched::Error(
        hetsched::ErrorCode::bad_input, path, "the matrix has entries that are not finite");
  }
  return problem;
}

} // namespace example
