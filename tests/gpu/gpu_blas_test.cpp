// SPDX-License-Identifier: MIT
#include <hetsched/gpu/gpu_blas.hpp>

#include "device_fixture.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace gpu = hetsched::gpu;
using devices_test::Array;
using devices_test::TestDevice;
using devices_test::TestStream;
using hetsched::TileView;
using hetsched::VectorView;

namespace gpu_blas_test {

TEST_SUITE_BEGIN("devices/gpu_blas");

/// Matrices on the host. Elements outside are 0.
template <class T>
struct Host {
  std::size_t rows, cols;
  std::vector<T> elements;

  Host(std::size_t m, std::size_t n, int seed) : rows(m), cols(n) {
    for (std::size_t k = 0; k < m * n; ++k) {
      elements.push_back(static_cast<T>((static_cast<int>(k) * 7 + seed * 3) % 11) / 4 - 1);
    }
  }

  T& operator()(std::size_t i, std::size_t j) { return elements[i + j * rows]; }

  T operator()(std::size_t i, std::size_t j) const { return elements[i + j * rows]; }
};

template <class T>
Host<T> transposed(Host<T> const& a) {
  Host<T> b(a.cols, a.rows, 0);
  for (std::size_t j = 0; j < a.cols; ++j) {
    for (std::size_t i = 0; i < a.rows; ++i) {
      b(j, i) = a(i, j);
    }
  }
  return b;
}

/// alpha a b + beta c
template <class T>
Host<T> product(T alpha, Host<T> const& a, Host<T> const& b, T beta, Host<T> c) {
  for (std::size_t j = 0; j < c.cols; ++j) {
    for (std::size_t i = 0; i < c.rows; ++i) {
      c(i, j) *= beta;
      for (std::size_t k = 0; k < a.cols; ++k) {
        c(i, j) += alpha * a(i, k) * b(k, j);
      }
    }
  }
  return c;
}

/// The lower triangle, with a diagonal that makes it easy to invert.
template <class T>
Host<T> lower(Host<T> a) {
  for (std::size_t j = 0; j < a.cols; ++j) {
    a(j, j) = T(4);
    for (std::size_t i = 0; i < j; ++i) {
      a(i, j) = 0;
    }
  }
  return a;
}

template <class T>
Host<T> symmetric(Host<T> a) {
  for (std::size_t j = 0; j < a.cols; ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      a(i, j) = a(j, i);
    }
  }
  return a;
}

/// An emulated device and one stream of it.
struct Bench {
  TestDevice device{hetsched_emulated_driver()};
  TestStream test_stream{device};
  hetsched::GpuStream stream{*device.driver, test_stream.handle, {}};
};

/// A matrix on the device.
template <class T>
struct OnDevice {
  OnDevice(Bench& its_bench, Host<T> const& host)
      : bench(&its_bench), rows(host.rows), cols(host.cols),
        array(its_bench.device, its_bench.test_stream, host.elements) {}

  [[nodiscard]] TileView<T> view() const { return {array.data, rows, cols, rows}; }

  [[nodiscard]] VectorView<T> vector() const { return {array.data, rows * cols}; }

  [[nodiscard]] std::vector<T> read() const { return array.read(bench->test_stream); }

  /// `triangle`: compares the elements on and below the diagonal only.
  void check(Host<T> const& expected, bool triangle = false) const {
    auto const got = read();
    double worst = 0;
    for (std::size_t j = 0; j < cols; ++j) {
      for (std::size_t i = triangle ? j : 0; i < rows; ++i) {
        auto const error = static_cast<double>(got[i + j * rows] - expected(i, j));
        worst = std::max(worst, std::isnan(error) ? 1 : std::abs(error));
      }
    }
    CHECK(worst < 1e-4);
  }

  Bench* bench;
  std::size_t rows, cols;
  Array<T> array;
};

TEST_CASE_TEMPLATE("gpu_blas: matrices", T, float, double) {
  Bench bench;
  auto& stream = bench.stream;
  Host<T> const a(5, 3, 1), b(3, 4, 2), c(5, 4, 3), s(5, 5, 4), w(5, 3, 5);
  auto const l = lower(s);
  OnDevice const da(bench, a), db(bench, b), ds(bench, s), dl(bench, l), dw(bench, w);
  OnDevice const dat(bench, transposed(a)), dbt(bench, transposed(b));
  for (bool const transpose : {false, true}) {
    OnDevice const dc(bench, c);
    char const trans = transpose ? 'T' : 'N';
    gpu::gemm(stream,
              trans,
              trans,
              2,
              transpose ? dat.view() : da.view(),
              transpose ? dbt.view() : db.view(),
              -1,
              dc.view());
    dc.check(product<T>(2, a, b, -1, c));
  }
  {
    OnDevice const dc(bench, c), dr(bench, transposed(c));
    OnDevice const result(bench, c), other(bench, transposed(c));
    gpu::symm(stream, 'L', 'L', 2, ds.view(), dc.view(), -1, result.view());
    gpu::symm(stream, 'R', 'L', 2, ds.view(), dr.view(), -1, other.view());
    auto const expected = product<T>(2, symmetric(s), c, -1, c);
    result.check(expected);
    other.check(transposed(expected));
  }
  {
    OnDevice const one(bench, s), two(bench, s), three(bench, s);
    gpu::syrk(stream, 'L', 'N', -1, da.view(), 1, one.view());
    one.check(product<T>(-1, a, transposed(a), 1, s), true);
    gpu::syrk(stream, 'L', 'T', -1, dat.view(), 1, two.view());
    two.check(product<T>(-1, a, transposed(a), 1, s), true);
    gpu::syr2k(stream, 'L', 'N', 2, da.view(), dw.view(), 1, three.view());
    three.check(product<T>(2, w, transposed(a), 1, product<T>(2, a, transposed(w), 1, s)), true);
  }
  {
    OnDevice const dc(bench, c), dr(bench, transposed(c));
    gpu::trmm(stream, 'L', 'L', 'N', 'N', 1, dl.view(), dc.view());
    dc.check(product<T>(1, l, c, 0, c));
    gpu::trsm(stream, 'L', 'L', 'N', 'N', 1, dl.view(), dc.view());
    dc.check(c);
    gpu::trmm(stream, 'R', 'L', 'T', 'N', 1, dl.view(), dr.view());
    dr.check(product<T>(1, transposed(c), transposed(l), 0, transposed(c)));
    gpu::trsm(stream, 'R', 'L', 'T', 'N', 1, dl.view(), dr.view());
    dr.check(transposed(c));
  }
}

TEST_CASE_TEMPLATE("gpu_blas: parts of matrices are copied and exchanged", T, float, double) {
  Bench bench;
  auto& stream = bench.stream;
  Host<T> const a(5, 4, 1);
  OnDevice const da(bench, a), db(bench, Host<T>(2, 3, 9)), dc(bench, a), dd(bench, a);
  gpu::copy(stream, TileView<T>(da.view().data() + 1, 2, 3, 5), db.view());
  CHECK(db.read() == std::vector<T>{a(1, 0), a(2, 0), a(1, 1), a(2, 1), a(1, 2), a(2, 2)});
  gpu::swap(stream, gpu::row(dc.view(), 1), gpu::row(dc.view(), 4));
  auto expected = a;
  for (std::size_t j = 0; j < 4; ++j) {
    std::swap(expected(1, j), expected(4, j));
  }
  CHECK(dc.read() == expected.elements);
  gpu::copy(stream, gpu::column(da.view(), 2), gpu::column(dd.view(), 0));
  expected = a;
  for (std::size_t i = 0; i < 5; ++i) {
    expected(i, 0) = a(i, 2);
  }
  CHECK(dd.read() == expected.elements);
}

TEST_CASE_TEMPLATE("gpu_blas: vectors", T, float, double) {
  Bench bench;
  auto& stream = bench.stream;
  Host<T> x(6, 1, 1), y(6, 1, 2);
  OnDevice const dx(bench, x), dy(bench, y), result(bench, Host<T>(3, 1, 0));
  gpu::axpy(stream, T(2), dx.vector(), dy.vector());
  gpu::scal(stream, T(-1), dy.vector());
  T dot = 0, squares = 0, sum = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    y(i, 0) = -(y(i, 0) + 2 * x(i, 0));
    dot += x(i, 0) * y(i, 0);
    squares += x(i, 0) * x(i, 0);
    sum += std::abs(x(i, 0));
  }
  dy.check(y);
  auto* const results = result.array.data;
  gpu::dot(stream, dx.vector(), dy.vector(), results[0]);
  gpu::nrm2(stream, dx.vector(), results[1]);
  gpu::asum(stream, dx.vector(), results[2]);
  auto const got = result.read();
  CHECK(got[0] == doctest::Approx(static_cast<double>(dot)).epsilon(1e-5));
  CHECK(got[1] == doctest::Approx(std::sqrt(static_cast<double>(squares))).epsilon(1e-5));
  CHECK(got[2] == doctest::Approx(static_cast<double>(sum)).epsilon(1e-5));
  gpu::swap(stream, dx.vector(), dy.vector());
  dx.check(y);
  gpu::copy(stream, dx.vector(), dy.vector());
  dy.check(y);
}

TEST_CASE("gpu_blas: nothing is done where nothing would be written; products of nothing are 0") {
  Bench bench;
  auto& stream = bench.stream;
  TileView<double> const none(nullptr, 0, 0, 0);
  TileView<double> const wide(nullptr, 0, 3, 0);
  VectorView<double> const empty(nullptr, 0);
  gpu::gemm(stream, 'N', 'N', 1, none, wide, 1, wide);
  gpu::symm(stream, 'L', 'L', 1, none, wide, 1, wide);
  gpu::syrk(stream, 'L', 'N', 1, none, 1, none);
  gpu::syr2k(stream, 'L', 'N', 1, none, none, 1, none);
  gpu::trmm(stream, 'L', 'L', 'N', 'N', 1, none, wide);
  gpu::trsm(stream, 'L', 'L', 'N', 'N', 1, none, wide);
  gpu::copy(stream, none, none);
  gpu::axpy(stream, 1.0, empty, empty);
  gpu::scal(stream, 1.0, empty);
  gpu::copy(stream, empty, empty);
  gpu::swap(stream, empty, empty);
  Host<double> c(2, 2, 1);
  OnDevice const dc(bench, c);
  TileView<double> const left(dc.view().data(), 2, 0, 2);
  TileView<double> const right(dc.view().data(), 0, 2, 0);
  gpu::gemm(stream, 'N', 'N', 1, left, right, 0.5, dc.view());
  dc.check(product<double>(0, c, c, 0.5, c));
}

TEST_CASE("gpu_blas: what a device refuses is thrown") {
  Bench bench;
  TileView<double> const bad(nullptr, 2, 2, 2);
  CHECK_THROWS_AS(gpu::gemm(bench.stream, 'N', 'N', 1, bad, bad, 1, bad), hetsched::Error);
}

TEST_SUITE_END();

} // namespace gpu_blas_test
