// SPDX-License-Identifier: MIT
#pragma once
// Iterative refinement of solutions, and GMRES where it stalls.

#include <Eigen/Core>
#include <Eigen/Jacobi>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

namespace hetsched::sparse::detail {

/// The componentwise backward error of a solution with residuals r: the largest |r| / scale of a
/// row, where scale = |A| |x| + |b|; the smallest e such that x is exact for numbers that are
/// relatively e away. Infinite if a residual is not finite.
///
/// Source: Oettli and Prager 1964; Higham, "Accuracy and stability of numerical algorithms",
/// theorem 7.3.
template <class Vector, class Moduli>
[[nodiscard]] double backward_error(Vector const& r, Moduli const& scale) {
  double worst = 0;
  for (Eigen::Index i = 0; i < r.size(); ++i) {
    auto const modulus = std::abs(r[i]);
    if (!std::isfinite(modulus)) {
      return std::numeric_limits<double>::infinity();
    }
    if (modulus > 0) {
      worst = std::max(worst,
                       scale[i] > 0 ? modulus / scale[i] : std::numeric_limits<double>::infinity());
    }
  }
  return worst;
}

/// Products with a matrix or its transpose, and how far solutions are from right.
template <class V>
class Residuals {
public:
  using Matrix = Eigen::SparseMatrix<V>;
  using Vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;
  using Moduli = Eigen::Matrix<double, Eigen::Dynamic, 1>;

  Residuals(Matrix const& a, bool transposed) : a_(a), transposed_(transposed) {}

  /// r := b - A x, and returns the componentwise backward error.
  template <class B, class X>
  [[nodiscard]] double operator()(B const& b, X const& x, Vector& r) const {
    Moduli scale = b.cwiseAbs();
    r = b;
    for (Eigen::Index j = 0; j < a_.cols(); ++j) {
      for (typename Matrix::InnerIterator entry(a_, j); entry; ++entry) {
        auto const row = transposed_ ? j : entry.row();
        auto const term = entry.value() * x[transposed_ ? entry.row() : j];
        r[row] -= term;
        scale[row] += std::abs(term);
      }
    }
    return backward_error(r, scale);
  }

  [[nodiscard]] Vector product(Vector const& x) const {
    return transposed_ ? Vector(a_.transpose() * x) : Vector(a_ * x);
  }

private:
  Matrix const& a_;
  bool transposed_;
};

/// What refinement did.
struct Refined {
  double backward_error = 0;
  std::size_t steps = 0;      // of refinement
  std::size_t iterations = 0; // of GMRES
};

/// Solves A x = r for a correction by GMRES, with `solve` as left preconditioner, from 0. Returns
/// the number of iterations, at most `most`.
///
/// Source: Saad and Schultz 1986, with modified Gram-Schmidt and Givens rotations.
template <class A, class Solve>
[[nodiscard]] std::size_t gmres(A const& a,
                                Solve const& solve,
                                typename A::Vector const& r,
                                typename A::Vector& x,
                                std::size_t most) {
  using Vector = typename A::Vector;
  using V = typename Vector::Scalar;
  using Matrix = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic>;
  auto const count = static_cast<Eigen::Index>(most);
  std::vector<Vector> basis{solve(r)};
  x = Vector::Zero(r.size());
  double const norm = basis[0].norm();
  if (!(norm > 0) || !std::isfinite(norm)) {
    return 0;
  }
  basis[0] /= norm;
  Matrix h = Matrix::Zero(count + 1, count);
  Vector right = Vector::Zero(count + 1);
  right[0] = norm;
  std::vector<Eigen::JacobiRotation<V>> rotations;
  Eigen::Index k = 0;
  constexpr double small = 1e-15;
  while (k < count && std::abs(right[k]) > small * norm) {
    Vector next = solve(a.product(basis[static_cast<std::size_t>(k)]));
    for (Eigen::Index i = 0; i <= k; ++i) {
      h(i, k) = basis[static_cast<std::size_t>(i)].dot(next);
      next -= h(i, k) * basis[static_cast<std::size_t>(i)];
    }
    double const length = next.norm();
    h(k + 1, k) = length;
    for (Eigen::Index i = 0; i < k; ++i) {
      h.col(k).applyOnTheLeft(i, i + 1, rotations[static_cast<std::size_t>(i)].adjoint());
    }
    Eigen::JacobiRotation<V> rotation;
    rotation.makeGivens(h(k, k), h(k + 1, k));
    rotations.push_back(rotation);
    h.col(k).applyOnTheLeft(k, k + 1, rotation.adjoint());
    right.applyOnTheLeft(k, k + 1, rotation.adjoint());
    ++k;
    if (!(length > small) || !std::isfinite(length)) {
      break;
    }
    basis.push_back(next / length);
  }
  Vector y = right.head(k);
  h.topLeftCorner(k, k).template triangularView<Eigen::Upper>().solveInPlace(y);
  for (Eigen::Index i = 0; i < k; ++i) {
    x += y[i] * basis[static_cast<std::size_t>(i)];
  }
  return static_cast<std::size_t>(k);
}

/// Refines x, which `solve` found for b, until the backward error is about the unit roundoff or no
/// longer halves; then, if it is above `enough`, corrects it by GMRES. `a`: Residuals, or what has
/// the same members.
template <class A, class Solve, class B, class X>
[[nodiscard]] Refined refine(A const& a, Solve const& solve, B const& b, X&& x, double enough) {
  using Vector = typename A::Vector;
  constexpr double exact = 8 * std::numeric_limits<double>::epsilon();
  constexpr std::size_t most_steps = 30;
  Refined result;
  Vector r;
  Vector best = x;
  result.backward_error = a(b, best, r);
  auto const take = [&](Vector const& correction) {
    Vector const next = best + correction;
    Vector rest;
    double const error = a(b, next, rest);
    bool const better = error < result.backward_error;
    bool const much = error < result.backward_error / 2;
    if (better) {
      best = next;
      r = rest;
      result.backward_error = error;
    }
    return much;
  };
  auto const improve = [&] {
    bool better = true;
    while (better && result.backward_error > exact && result.steps < most_steps) {
      ++result.steps;
      better = take(solve(r));
    }
  };
  improve();
  constexpr std::size_t most_iterations = 40;
  for (int restart = 0; restart < 4 && result.backward_error > enough; ++restart) {
    Vector correction;
    result.iterations += gmres(a, solve, r, correction, most_iterations);
    if (!take(correction)) {
      break;
    }
    improve();
  }
  x = best;
  return result;
}

} // namespace hetsched::sparse::detail
