// SPDX-License-Identifier: MIT
#pragma once
// Linear systems for the programs to solve: read from a file or generated.

#include <hetsched/linalg/matrix_io.hpp>

#include "measure.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>

namespace example {

struct Problem {
  std::string name;
  MatrixXd a; // both triangles
};

/// Exponential covariance of random points of the unit square, plus a nugget of 1e-4.
inline Problem covariance(Options const& options) {
  check_memory("--n", options.n, 2);
  auto const n = static_cast<Eigen::Index>(options.n);
  auto const points = random_matrix(2, n, options.seed);
  Problem problem{"a generated covariance matrix (exponential, seed " +
                      std::to_string(options.seed) + ")",
                  MatrixXd(n, n)};
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      problem.a(i, j) = std::exp(-(points.col(i) - points.col(j)).norm() / 0.2);
    }
    problem.a(j, j) += 1e-4;
  }
  return problem;
}

/// Random numbers from -1 to 1. Checks that there is memory for `copies` such matrices.
inline Problem random_problem(Options const& options, int copies) {
  check_memory("--n", options.n, copies);
  auto const n = static_cast<Eigen::Index>(options.n);
  return {"a random matrix (seed " + std::to_string(options.seed) + ")",
          random_matrix(n, n, options.seed)};
}

/// Throws Error(bad_input) if the matrix is not square or too large.
inline Problem dense(hs::linalg::MatrixFile const& file, std::string const& path, int copies) {
  auto const& sparse = file.matrix;
  if (sparse.rows() != sparse.cols()) {
    bad_input(path,
              "the matrix is " + std::to_string(sparse.rows()) + " x " +
                  std::to_string(sparse.cols()) + ", not square");
  }
  check_memory(path, static_cast<std::size_t>(sparse.rows()), copies);
  return {path, MatrixXd(sparse)};
}

/// A square matrix.
inline Problem square_from_file(std::string const& path, int copies) {
  return dense(hs::linalg::read_matrix(path), path, copies);
}

/// Throws Error(bad_input) if the matrix is not square, not symmetric, or too large.
inline Problem symmetric_from_file(std::string const& path) {
  auto const file = hs::linalg::read_matrix(path);
  auto problem = dense(file, path, 2);
  auto const& a = problem.a;
  for (Eigen::Index j = 0; j < a.cols() && !file.symmetric; ++j) {
    for (Eigen::Index i = j + 1; i < a.rows(); ++i) {
      if (a(i, j) != a(j, i) && !(std::isnan(a(i, j)) && std::isnan(a(j, i)))) {
        std::ostringstream text;
        text << "not symmetric: entry (" << i + 1 << ", " << j + 1 << ") is " << a(i, j) << ", ("
             << j + 1 << ", " << i + 1 << ") is " << a(j, i);
        bad_input(path, text.str());
      }
    }
  }
  return problem;
}

/// ||b - A x|| / (||A||_F ||x|| + ||b||)
[[nodiscard]] inline double
backward_error(MatrixXd const& a, VectorXd const& x, VectorXd const& b) {
  auto const error = (b - a * x).norm();
  return error == 0 ? 0 : error / (a.norm() * x.norm() + b.norm());
}

/// The root of the sum of `squares(first, width)` over the blocks of columns of an n-column matrix,
/// divided by `size`. Each block is a task.
template <class Rt, class Squares>
double relative_norm(Rt& rt, Eigen::Index n, double size, Squares const& squares) {
  Eigen::Index const step = 128;
  VectorXd sums = VectorXd::Zero(n / step + 1);
  for (Eigen::Index first = 0; first < n; first += step) {
    rt.spawn()([&sums, &squares, first, width = std::min(step, n - first)] {
      sums[first / step] = squares(first, width);
    });
  }
  rt.sync();
  return n == 0 ? 0 : std::sqrt(sums.sum()) / size;
}

} // namespace example
