// SPDX-License-Identifier: MIT
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include "factorisations.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

namespace hs = hetsched;
namespace kernels = hs::linalg::kernels;

namespace kernels_test {

TEST_SUITE_BEGIN("linalg/kernels");

using factorisations::marked; // where nobody may look
using factorisations::Matrix;
using factorisations::positive_definite;

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// The numbers and the layout of a kernel's tiles.
template <class T, int layout>
struct Kind {
  using Number = T;
  static constexpr int other_layout = layout == Eigen::RowMajor ? Eigen::ColMajor : Eigen::RowMajor;
  using Stored = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, layout>;
  using Other = Kind<T, other_layout>;
};

#define KINDS                                                                                      \
  Kind<float, Eigen::ColMajor>, Kind<double, Eigen::ColMajor>, Kind<float, Eigen::RowMajor>,       \
      Kind<double, Eigen::RowMajor>

/// A tile within a larger matrix of NaN, so that what is read or written beside it shows.
template <class K>
struct Framed {
  using T = typename K::Number;
  static constexpr bool by_rows = K::Stored::IsRowMajor;
  template <class E>
  using View = std::conditional_t<by_rows, hs::RowTileView<E>, hs::TileView<E>>;

  typename K::Stored whole;
  Eigen::Index rows, cols;

  explicit Framed(Matrix<T> const& contents)
      : whole(K::Stored::Constant(contents.rows() + 3, contents.cols() + 2, not_a_number<T>)),
        rows(contents.rows()), cols(contents.cols()) {
    inside() = contents;
  }

  auto inside() { return whole.block(1, 1, rows, cols); }

  View<T> view() {
    auto const m = static_cast<std::size_t>(rows);
    auto const n = static_cast<std::size_t>(cols);
    auto const ld = static_cast<std::size_t>(whole.outerStride());
    if constexpr (by_rows) {
      return hs::row_major(&whole(1, 1), m, n, ld);
    } else {
      return {&whole(1, 1), m, n, ld};
    }
  }

  View<T const> read() { return view(); }

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

TEST_CASE_TEMPLATE("kernels: gemm", K, KINDS) {
  using T = typename K::Number;
  for (auto const m : sizes) {
    for (Eigen::Index const k : {0, 1, 5, 40}) {
      Eigen::Index const n = m / 2 + 1;
      Framed<K> a(Matrix<T>::Random(m, k));
      Framed<K> b(Matrix<T>::Random(k, n));
      for (T const beta : {T(0), T(1), T(-3)}) {
        Framed<K> c(Matrix<T>::Random(m, n));
        Matrix<T> const expected = T(2) * a.inside() * b.inside() + beta * c.inside();
        if (beta == T(0)) {
          c.inside().setConstant(not_a_number<T>); // not read
        }
        kernels::gemm(T(2), a.read(), b.read(), beta, c.view());
        CHECK(close<T>(c.inside(), expected));
        CHECK(c.frame_is_intact());

        Framed<typename K::Other> other_a(a.inside());
        Framed<typename K::Other> other_b(b.inside());
        Framed<typename K::Other> other_c(Matrix<T>::Zero(m, n));
        kernels::gemm(T(2), other_a.read(), b.read(), T(0), c.view());
        kernels::gemm(T(-2), a.read(), other_b.read(), T(1), c.view());
        CHECK(c.inside().norm() <= T(1e-4) * (a.inside().norm() * b.inside().norm() + T(1)));
        kernels::gemm(T(2), a.read(), b.read(), T(0), other_c.view());
        Matrix<T> const product = T(2) * a.inside() * b.inside();
        CHECK(close<T>(other_c.inside(), product));
        CHECK(other_c.frame_is_intact());
      }
      Framed<K> nothing(Matrix<T>::Constant(m, k, not_a_number<T>)); // not read if alpha is 0
      Framed<K> c(Matrix<T>::Ones(m, n));
      kernels::gemm(T(0), nothing.read(), b.read(), T(4), c.view());
      CHECK((c.inside().array() == T(4)).all());
    }
  }
}

TEST_CASE_TEMPLATE("kernels: gemm_update, syrk and trsm", K, KINDS) {
  using T = typename K::Number;
  for (auto const n : sizes) {
    Eigen::Index const m = n / 3 + 1;
    Framed<K> a(Matrix<T>::Random(m, n));
    Framed<K> b(Matrix<T>::Random(n, n));
    Framed<K> c(Matrix<T>::Random(m, n));
    Matrix<T> const updated = c.inside() - a.inside() * b.inside().transpose();
    kernels::gemm_update(a.read(), b.read(), c.view());
    CHECK(close<T>(c.inside(), updated));
    CHECK(c.frame_is_intact());

    Matrix<T> const symmetric = positive_definite<T>(n);
    Framed<K> s(marked(symmetric));
    kernels::syrk(b.read(), s.view());
    CHECK(upper_is_nan<T>(s.inside()));
    CHECK(s.frame_is_intact());
    Matrix<T> const lower = s.inside().template triangularView<Eigen::Lower>();
    Matrix<T> const difference = symmetric - b.inside() * b.inside().transpose();
    CHECK(close<T>(lower, difference.template triangularView<Eigen::Lower>()));

    Framed<K> l(marked<T>(Matrix<T>::Random(n, n) + T(n) * Matrix<T>::Identity(n, n)));
    Matrix<T> const right = c.inside();
    kernels::trsm(l.read(), c.view());
    Matrix<T> const factor = l.inside().template triangularView<Eigen::Lower>();
    CHECK(close<T>(c.inside() * factor.transpose(), right));
    CHECK(c.frame_is_intact());
  }
}

TEST_CASE_TEMPLATE("kernels: potrf factorises the lower triangle", K, KINDS) {
  using T = typename K::Number;
  for (auto const n : sizes) {
    Matrix<T> const symmetric = positive_definite<T>(n);
    Framed<K> a(marked(symmetric));
    CHECK_FALSE(kernels::potrf(a.view()).has_value());
    CHECK(upper_is_nan<T>(a.inside()));
    CHECK(a.frame_is_intact());
    Matrix<T> const l = a.inside().template triangularView<Eigen::Lower>();
    CHECK(close<T>(l * l.transpose(), symmetric));
  }
}

TEST_CASE_TEMPLATE("kernels: potrf says at which column it stopped", K, KINDS) {
  using T = typename K::Number;
  constexpr auto inf = std::numeric_limits<T>::infinity();
  for (auto const n : sizes) {
    for (Eigen::Index const column : {Eigen::Index(0), n / 2, n - 1}) {
      for (T const pivot : {T(0), T(-1), not_a_number<T>, inf, -inf}) {
        Framed<K> a(marked<T>(Matrix<T>::Identity(n, n)));
        a.inside()(column, column) = pivot;
        auto const where = kernels::potrf(a.view());
        REQUIRE(where.has_value());
        CHECK(where->column == static_cast<std::size_t>(column));
        CHECK(std::isnan(where->pivot) == std::isnan(pivot));
        CHECK((where->pivot > 0) == (pivot > 0));
      }
      Framed<K> a(positive_definite<T>(n));
      a.inside()(column, 0) = not_a_number<T>; // reaches the pivot of its row
      auto const where = kernels::potrf(a.view());
      REQUIRE(where.has_value());
      CHECK(where->column == static_cast<std::size_t>(column));
      CHECK(std::isnan(where->pivot));
    }
  }
}

TEST_CASE_TEMPLATE("kernels: LU without pivoting, and trsm from the right", K, KINDS) {
  using T = typename K::Number;
  for (auto const n : sizes) {
    Matrix<T> const dominant = Matrix<T>::Random(n, n) + T(n) * Matrix<T>::Identity(n, n);
    Framed<K> a(dominant);
    CHECK_FALSE(kernels::getrf_without_pivoting(a.view()).has_value());
    CHECK(a.frame_is_intact());
    Matrix<T> const l = a.inside().template triangularView<Eigen::UnitLower>();
    Matrix<T> const u = a.inside().template triangularView<Eigen::Upper>();
    CHECK(close<T>(l * u, dominant));

    Framed<K> upper(marked<T>(u.transpose()).transpose());
    Framed<K> b(Matrix<T>::Random(n / 3 + 1, n));
    Matrix<T> const right = b.inside();
    kernels::trsm_upper(upper.read(), b.view());
    CHECK(close<T>(b.inside() * u, right));
    CHECK(b.frame_is_intact());
  }
  for (Eigen::Index const at : {0, 3, 16, 32}) {
    for (double const pivot : {0.0, factorisations::quiet_nan, factorisations::inf}) {
      Framed<K> a(Matrix<T>::Identity(33, 33) * T(-2));
      a.inside()(at, at) = static_cast<T>(pivot);
      auto const where = kernels::getrf_without_pivoting(a.view());
      REQUIRE(where.has_value());
      CHECK(where->column == static_cast<std::size_t>(at));
      CHECK((std::isnan(pivot) ? std::isnan(where->pivot) : where->pivot == pivot));
    }
  }
}

TEST_CASE_TEMPLATE("kernels: LU with pivoting, and trsm with ones on the diagonal", K, KINDS) {
  using T = typename K::Number;
  for (auto const n : sizes) {
    for (auto const m : {n, n / 2 + 1, n + 5}) {
      Matrix<T> const matrix = Matrix<T>::Random(m, n);
      Framed<K> a(matrix);
      std::vector<std::size_t> pivots(static_cast<std::size_t>(std::min(m, n)));
      hs::VectorView<std::size_t> const chosen(pivots.data(), pivots.size());
      CHECK_FALSE(kernels::getrf(a.view(), chosen).has_value());
      CHECK(a.frame_is_intact());
      Framed<K> exchanged(matrix);
      kernels::swap_rows(0, chosen, exchanged.view());
      CHECK(exchanged.frame_is_intact());
      auto const depth = std::min(m, n);
      Matrix<T> const l = a.inside().leftCols(depth).template triangularView<Eigen::UnitLower>();
      Matrix<T> const u = a.inside().topRows(depth).template triangularView<Eigen::Upper>();
      CHECK(close<T>(l * u, exchanged.inside()));

      Framed<K> triangle(marked<T>(l.topRows(depth)));
      Framed<K> b(u);
      kernels::trsm_unit(triangle.read(), b.view());
      CHECK(close<T>(l.topRows(depth) * b.inside(), u));
      CHECK(b.frame_is_intact());
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
  kernels::trsm_upper(whole, flat);
  kernels::trsm_upper(none, thin);
  kernels::trsm(whole, flat);
  kernels::trsm(none, thin);
  kernels::syrk(thin, whole);
  kernels::syrk(flat, none);
  kernels::gemm_update(thin, thin, whole);
  kernels::gemm_update(flat, whole, flat);
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
