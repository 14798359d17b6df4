// SPDX-License-Identifier: MIT
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include "factorisations.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>

namespace hs = hetsched;
namespace kernels = hs::linalg::kernels;

namespace kernels_test {

TEST_SUITE_BEGIN("linalg/kernels");

using factorisations::marked; // where nobody may look
using factorisations::Matrix;
using factorisations::positive_definite;

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// A tile within a larger matrix of NaN, so that what is read or written beside it shows.
template <class T>
struct Framed {
  Matrix<T> whole;
  Eigen::Index rows, cols;

  explicit Framed(Matrix<T> const& contents)
      : whole(Matrix<T>::Constant(contents.rows() + 3, contents.cols() + 2, not_a_number<T>)),
        rows(contents.rows()), cols(contents.cols()) {
    inside() = contents;
  }

  auto inside() { return whole.block(1, 1, rows, cols); }

  hs::TileView<T> view() {
    return {&whole(1, 1),
            static_cast<std::size_t>(rows),
            static_cast<std::size_t>(cols),
            static_cast<std::size_t>(whole.rows())};
  }

  hs::TileView<T const> read() { return view(); }

  bool frame_is_intact() {
    return whole.topRows(1).hasNaN() &&
           whole.array().isNaN().count() ==
               whole.size() - rows * cols + inside().array().isNaN().count();
  }
};

template <class T>
bool upper_is_nan(Matrix<T> const& m) {
  return m.array().isNaN().count() == m.rows() * (m.rows() - 1) / 2;
}

template <class T>
bool close(Matrix<T> const& a, Matrix<T> const& b) {
  auto const tolerance = T(100) * std::numeric_limits<T>::epsilon();
  return (a - b).norm() <= tolerance * (a.norm() + b.norm());
}

constexpr Eigen::Index sizes[] = {1, 2, 7, 31, 32, 33, 64, 100};

TEST_CASE_TEMPLATE("kernels: gemm", T, float, double) {
  for (auto const m : sizes) {
    for (Eigen::Index const k : {0, 1, 5, 40}) {
      Eigen::Index const n = m / 2 + 1;
      Framed<T> a(Matrix<T>::Random(m, k));
      Framed<T> b(Matrix<T>::Random(k, n));
      for (T const beta : {T(0), T(1), T(-3)}) {
        Framed<T> c(Matrix<T>::Random(m, n));
        Matrix<T> const expected = T(2) * a.inside() * b.inside() + beta * c.inside();
        if (beta == T(0)) {
          c.inside().setConstant(not_a_number<T>); // not read
        }
        kernels::gemm(T(2), a.read(), b.read(), beta, c.view());
        CHECK(close<T>(c.inside(), expected));
        CHECK(c.frame_is_intact());
      }
      Framed<T> nothing(Matrix<T>::Constant(m, k, not_a_number<T>)); // not read if alpha is 0
      Framed<T> c(Matrix<T>::Ones(m, n));
      kernels::gemm(T(0), nothing.read(), b.read(), T(4), c.view());
      CHECK((c.inside().array() == T(4)).all());
    }
  }
}

TEST_CASE_TEMPLATE("kernels: gemm_update, syrk and trsm", T, float, double) {
  for (auto const n : sizes) {
    Eigen::Index const m = n / 3 + 1;
    Framed<T> a(Matrix<T>::Random(m, n));
    Framed<T> b(Matrix<T>::Random(n, n));
    Framed<T> c(Matrix<T>::Random(m, n));
    Matrix<T> const updated = c.inside() - a.inside() * b.inside().transpose();
    kernels::gemm_update(a.read(), b.read(), c.view());
    CHECK(close<T>(c.inside(), updated));
    CHECK(c.frame_is_intact());

    Matrix<T> const symmetric = positive_definite<T>(n);
    Framed<T> s(marked(symmetric));
    kernels::syrk(b.read(), s.view());
    CHECK(upper_is_nan<T>(s.inside()));
    CHECK(s.frame_is_intact());
    Matrix<T> const lower = s.inside().template triangularView<Eigen::Lower>();
    Matrix<T> const difference = symmetric - b.inside() * b.inside().transpose();
    CHECK(close<T>(lower, difference.template triangularView<Eigen::Lower>()));

    Framed<T> l(marked<T>(Matrix<T>::Random(n, n) + T(n) * Matrix<T>::Identity(n, n)));
    Matrix<T> const right = c.inside();
    kernels::trsm(l.read(), c.view());
    Matrix<T> const factor = l.inside().template triangularView<Eigen::Lower>();
    CHECK(close<T>(c.inside() * factor.transpose(), right));
    CHECK(c.frame_is_intact());
  }
}

TEST_CASE_TEMPLATE("kernels: potrf factorises the lower triangle", T, float, double) {
  for (auto const n : sizes) {
    Matrix<T> const symmetric = positive_definite<T>(n);
    Framed<T> a(marked(symmetric));
    CHECK_FALSE(kernels::potrf(a.view()).has_value());
    CHECK(upper_is_nan<T>(a.inside()));
    CHECK(a.frame_is_intact());
    Matrix<T> const l = a.inside().template triangularView<Eigen::Lower>();
    CHECK(close<T>(l * l.transpose(), symmetric));
  }
}

TEST_CASE_TEMPLATE("kernels: potrf says at which column it stopped", T, float, double) {
  constexpr auto inf = std::numeric_limits<T>::infinity();
  for (auto const n : sizes) {
    for (Eigen::Index const column : {Eigen::Index(0), n / 2, n - 1}) {
      for (T const pivot : {T(0), T(-1), not_a_number<T>, inf, -inf}) {
        Framed<T> a(marked<T>(Matrix<T>::Identity(n, n)));
        a.inside()(column, column) = pivot;
        auto const where = kernels::potrf(a.view());
        REQUIRE(where.has_value());
        CHECK(where->column == static_cast<std::size_t>(column));
        CHECK(std::isnan(where->pivot) == std::isnan(pivot));
        CHECK((where->pivot > 0) == (pivot > 0));
      }
      Framed<T> a(positive_definite<T>(n));
      a.inside()(column, 0) = not_a_number<T>; // reaches the pivot of its row
      auto const where = kernels::potrf(a.view());
      REQUIRE(where.has_value());
      CHECK(where->column == static_cast<std::size_t>(column));
      CHECK(std::isnan(where->pivot));
    }
  }
}

TEST_CASE_TEMPLATE("kernels: LU without pivoting, and trsm from the right", T, float, double) {
  for (auto const n : sizes) {
    Matrix<T> const dominant = Matrix<T>::Random(n, n) + T(n) * Matrix<T>::Identity(n, n);
    Framed<T> a(dominant);
    CHECK_FALSE(kernels::getrf_without_pivoting(a.view()).has_value());
    CHECK(a.frame_is_intact());
    Matrix<T> const l = a.inside().template triangularView<Eigen::UnitLower>();
    Matrix<T> const u = a.inside().template triangularView<Eigen::Upper>();
    CHECK(close<T>(l * u, dominant));

    Framed<T> upper(marked<T>(u.transpose()).transpose());
    Framed<T> b(Matrix<T>::Random(n / 3 + 1, n));
    Matrix<T> const right = b.inside();
    kernels::trsm_upper(upper.read(), b.view());
    CHECK(close<T>(b.inside() * u, right));
    CHECK(b.frame_is_intact());
  }
  for (Eigen::Index const at : {0, 3, 16, 32}) {
    for (double const pivot : {0.0, factorisations::quiet_nan, factorisations::inf}) {
      Matrix<T> a = Matrix<T>::Identity(33, 33) * T(-2);
      a(at, at) = static_cast<T>(pivot);
      hs::TileView<T> const view(a.data(), 33, 33, 33);
      auto const where = kernels::getrf_without_pivoting(view);
      REQUIRE(where.has_value());
      CHECK(where->column == static_cast<std::size_t>(at));
      CHECK((std::isnan(pivot) ? std::isnan(where->pivot) : where->pivot == pivot));
    }
  }
}

TEST_CASE_TEMPLATE("kernels: empty tiles", T, float, double) {
  Matrix<T> m = Matrix<T>::Ones(3, 3);
  hs::TileView<T> const none(nullptr, 0, 0, 0);
  hs::TileView<T> const flat(m.data(), 0, 3, 3);
  hs::TileView<T> const thin(m.data(), 3, 0, 3);
  hs::TileView<T> const whole(m.data(), 3, 3, 3);
  CHECK_FALSE(kernels::potrf(none).has_value());
  CHECK_FALSE(kernels::getrf_without_pivoting(none).has_value());
  kernels::trsm_upper<T>(whole, flat);
  kernels::trsm_upper<T>(none, thin);
  kernels::trsm<T>(whole, flat);
  kernels::trsm<T>(none, thin);
  kernels::syrk<T>(thin, whole);
  kernels::syrk<T>(flat, none);
  kernels::gemm_update<T>(thin, thin, whole);
  kernels::gemm_update<T>(flat, whole, flat);
  kernels::gemm<T>(1, thin, flat, 1, whole);
  CHECK((m.array() == T(1)).all());
  kernels::gemm<T>(1, thin, flat, 0, whole);
  CHECK((m.array() == T(0)).all());
}

#ifdef HETSCHED_HAVE_LAPACKE
TEST_CASE("kernels: use_one_blas_thread") {
  openblas_set_num_threads(2);
  hs::linalg::use_one_blas_thread();
  CHECK(openblas_get_num_threads() == 1);
}
#endif

TEST_SUITE_END();

} // namespace kernels_test
