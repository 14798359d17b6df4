// SPDX-License-Identifier: MIT
#pragma once
// What the tests of algorithms on matrices share: matrices to begin with, and the error of one that
// has no factors.

#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <Eigen/Core>
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace factorisations {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

inline constexpr auto quiet_nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr auto inf = std::numeric_limits<double>::infinity();

template <class T>
Matrix<T> positive_definite(Eigen::Index n) {
  Matrix<T> const m = Matrix<T>::Random(n, n);
  return m * m.transpose() + T(n + 1) * Matrix<T>::Identity(n, n);
}

/// The same, whose strictly upper triangle is NaN.
template <class T>
Matrix<T> marked(Matrix<T> a) {
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    a.col(j).head(j).setConstant(std::numeric_limits<T>::quiet_NaN());
  }
  return a;
}

/// The matrix with another element.
inline Matrix<double> with(Matrix<double> a, Eigen::Index i, Eigen::Index j, double value) {
  a(i, j) = value;
  return a;
}

/// What factorise(rt, a) says is wrong with A; "no error" if it says nothing. Then the runtime
/// stays usable: still_works(rt) is to check so.
template <class S, class Factorise, class StillWorks>
std::string
error_of(Matrix<double> a, int workers, Factorise const& factorise, StillWorks const& still_works) {
  hetsched::Runtime<S> rt(support::on_cpus(workers));
  auto const error = support::error_of([&] { factorise(rt, a); });
  if (!error) {
    return "no error";
  }
  CHECK(error->code() == hetsched::ErrorCode::numerical);
  still_works(rt);
  return error->what();
}

/// The same for factorise(rt, a, width), which must leave an identity as it is.
template <class S, class Factorise>
std::string error_of(Matrix<double> a, std::size_t width, int workers, Factorise const& factorise) {
  return error_of<S>(
      std::move(a),
      workers,
      [&](auto& rt, auto& matrix) { factorise(rt, matrix, width); },
      [&](auto& rt) {
        Matrix<double> identity = Matrix<double>::Identity(40, 40);
        factorise(rt, identity, 16);
        CHECK(identity.isIdentity());
      });
}

} // namespace factorisations
