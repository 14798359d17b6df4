// SPDX-License-Identifier: MIT
// Drivers' BLAS and LAPACK against plain loops.

#include "device_fixture.hpp"
#include "driver_conformance.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace devices_test {
namespace {

template <class T>
constexpr hs_type type_of = sizeof(T) == sizeof(float) ? hs_float : hs_double;

constexpr int m = 7;
constexpr int n = 5;
constexpr int k = 6;
constexpr int ld = 9;

/// ld x 9 elements, of which matrices use a part. They depend on the seed alone.
template <class T>
std::vector<T> matrix(int seed) {
  std::vector<T> all(static_cast<std::size_t>(ld * 9));
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const hash = (i * 37 + static_cast<std::size_t>(seed) * 101 + 11) % 64;
    all[i] = static_cast<T>(hash) / 32 - 1;
  }
  for (std::size_t i = 0; i < 9; ++i) {
    all[i * (ld + 1)] += 4; // well away from singular
  }
  return all;
}

template <class T>
T at(std::vector<T> const& a, char trans, int i, int j) {
  return a[static_cast<std::size_t>(trans == 'N' ? i + j * ld : j + i * ld)];
}

template <class T>
T& at(std::vector<T>& a, int i, int j) {
  return a[static_cast<std::size_t>(i + j * ld)];
}

bool stores(char uplo, int i, int j) {
  return uplo == 'L' ? i >= j : i <= j;
}

/// Element (i, j) of op(A) for a triangular A.
template <class T>
T triangular(std::vector<T> const& a, char uplo, char trans, char diag, int i, int j) {
  if (i == j && diag == 'U') {
    return 1;
  }
  bool const stored = trans == 'N' ? stores(uplo, i, j) : stores(uplo, j, i);
  return stored ? at(a, trans, i, j) : T(0);
}

template <class T>
void check_close(std::vector<T> const& found, std::vector<T> const& expected) {
  REQUIRE(found.size() == expected.size());
  auto const tolerance = sizeof(T) == sizeof(float) ? 2e-4 : 1e-11;
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const difference = std::abs(static_cast<double>(found[i] - expected[i]));
    worst = std::isnan(difference) ? 1e30 : std::fmax(worst, difference);
  }
  CHECK(worst < tolerance);
}

/// A device, a stream, and A, B, C on it.
template <class T>
struct Operands {
  explicit Operands(hs_driver const* driver) : device(driver), stream(device) {}

  /// Calls give(C) and compares the C that results.
  template <class Give>
  void check(std::vector<T> const& expected, Give&& give) {
    Array<T> const to(device, stream, c);
    CHECK_MESSAGE(give(to.data) == hs_ok, std::string(device.driver->last_error()));
    check_close(to.read(stream), expected);
  }

  TestDevice device;
  TestStream stream;
  std::vector<T> a = matrix<T>(1);
  std::vector<T> b = matrix<T>(2);
  std::vector<T> c = matrix<T>(3);
  Array<T> on_a{device, stream, a};
  Array<T> on_b{device, stream, b};
};

template <class T>
void check_gemm(hs_driver const* driver, char trans_a, char trans_b, T beta) {
  Operands<T> on(driver);
  auto expected = on.c;
  if (beta == 0) { // then C is not read
    on.c[0] = std::numeric_limits<T>::quiet_NaN();
  }
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += at(on.a, trans_a, i, l) * at(on.b, trans_b, l, j);
      }
      at(expected, i, j) = 2 * sum + (beta == 0 ? T(0) : beta * at(expected, i, j));
    }
  }
  on.check(expected, [&](T* c) {
    return driver->gemm(on.stream.handle,
                        type_of<T>,
                        trans_a,
                        trans_b,
                        m,
                        n,
                        k,
                        2,
                        on.on_a.data,
                        ld,
                        on.on_b.data,
                        ld,
                        beta,
                        c,
                        ld);
  });
}

template <class T>
void check_symm(hs_driver const* driver, char side, char uplo) {
  Operands<T> on(driver);
  auto expected = on.c;
  auto const a = [&](int i, int j) {
    return stores(uplo, i, j) ? at(on.a, 'N', i, j) : at(on.a, 'N', j, i);
  };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum = 0;
      for (int l = 0; l < (side == 'L' ? m : n); ++l) {
        sum += side == 'L' ? a(i, l) * at(on.b, 'N', l, j) : at(on.b, 'N', i, l) * a(l, j);
      }
      at(expected, i, j) = 2 * sum - at(expected, i, j);
    }
  }
  on.check(expected, [&](T* c) {
    return driver->symm(on.stream.handle,
                        type_of<T>,
                        side,
                        uplo,
                        m,
                        n,
                        2,
                        on.on_a.data,
                        ld,
                        on.on_b.data,
                        ld,
                        -1,
                        c,
                        ld);
  });
}

/// syrk, or syr2k if `two`.
template <class T>
void check_rank_update(hs_driver const* driver, char uplo, char trans, bool two) {
  Operands<T> on(driver);
  auto expected = on.c;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      if (!stores(uplo, i, j)) {
        continue;
      }
      T sum = 0;
      for (int l = 0; l < k; ++l) {
        auto const& b = two ? on.b : on.a;
        sum += at(on.a, trans, i, l) * at(b, trans, j, l);
        sum += two ? at(on.b, trans, i, l) * at(on.a, trans, j, l) : T(0);
      }
      at(expected, i, j) = 2 * sum + 3 * at(expected, i, j);
    }
  }
  on.check(expected, [&](T* c) {
    return two ? driver->syr2k(on.stream.handle,
                               type_of<T>,
                               uplo,
                               trans,
                               n,
                               k,
                               2,
                               on.on_a.data,
                               ld,
                               on.on_b.data,
                               ld,
                               3,
                               c,
                               ld)
               : driver->syrk(on.stream.handle,
                              type_of<T>,
                              uplo,
                              trans,
                              n,
                              k,
                              2,
                              on.on_a.data,
                              ld,
                              3,
                              c,
                              ld);
  });
}

/// The C that trmm computes.
template <class T>
std::vector<T> multiplied(Operands<T> const& on, char side, char uplo, char trans, char diag) {
  auto product = on.c;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum = 0;
      for (int l = 0; l < (side == 'L' ? m : n); ++l) {
        sum += side == 'L' ? triangular(on.a, uplo, trans, diag, i, l) * at(on.c, 'N', l, j)
                           : at(on.c, 'N', i, l) * triangular(on.a, uplo, trans, diag, l, j);
      }
      at(product, i, j) = 2 * sum;
    }
  }
  return product;
}

template <class T>
void check_triangular(hs_driver const* driver, char side, char uplo, char trans, char diag) {
  Operands<T> on(driver);
  if (diag == 'U') { // keep the inverse small
    for (auto& element : on.a) {
      element /= 8;
    }
  }
  Array<T> const a(on.device, on.stream, on.a);
  auto const product = multiplied(on, side, uplo, trans, diag);
  on.check(product, [&](T* c) {
    return driver->trmm(
        on.stream.handle, type_of<T>, side, uplo, trans, diag, m, n, 2, a.data, ld, c, ld);
  });
  auto const solution = on.c; // trsm finds it in the result of trmm
  on.c = product;
  on.check(solution, [&](T* c) {
    return driver->trsm(
        on.stream.handle, type_of<T>, side, uplo, trans, diag, m, n, 0.5, a.data, ld, c, ld);
  });
}

template <class T>
void check_vectors(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream stream(device);
  auto* const on = stream.handle;
  constexpr auto type = type_of<T>;
  Array<T> const x(device, stream, {1, -2, 3, -4});
  Array<T> const y(device, stream, {10, 20, 30, 40, 50, 60, 70});
  CHECK(driver->axpy(on, type, 4, 2, x.data, 1, y.data, 2) == hs_ok);
  CHECK(y.read(stream) == std::vector<T>{12, 20, 26, 40, 56, 60, 62});
  CHECK(driver->scal(on, type, 2, 0.5, y.data, 4) == hs_ok);
  CHECK(y.read(stream) == std::vector<T>{6, 20, 26, 40, 28, 60, 62});
  CHECK(driver->swap(on, type, 2, x.data, 1, y.data, 1) == hs_ok);
  CHECK(x.read(stream) == std::vector<T>{6, 20, 3, -4});
  CHECK(driver->blas_copy(on, type, 2, y.data, 1, x.data, -1) == hs_ok); // backwards
  CHECK(x.read(stream) == std::vector<T>{-2, 1, 3, -4});
  Array<T> const results(device, 3);
  CHECK(driver->dot(on, type, 3, x.data, 1, x.data + 1, 1, results.data) == hs_ok);
  CHECK(driver->nrm2(on, type, 2, x.data + 2, 1, results.data + 1) == hs_ok);
  CHECK(driver->asum(on, type, 4, x.data, 1, results.data + 2) == hs_ok);
  check_close(results.read(stream), {-11, 5, 10});
}

template <class T>
void check_matrices(hs_driver const* driver) {
  for (char const trans : {'N', 'T'}) {
    for (char const trans_b : {'N', 'T'}) {
      check_gemm<T>(driver, trans, trans_b, 0);
      check_gemm<T>(driver, trans, trans_b, -3);
    }
    for (char const uplo : {'L', 'U'}) {
      check_rank_update<T>(driver, uplo, trans, false);
      check_rank_update<T>(driver, uplo, trans, true);
      for (char const side : {'L', 'R'}) {
        check_symm<T>(driver, side, uplo);
        check_triangular<T>(driver, side, uplo, trans, 'N');
        check_triangular<T>(driver, side, uplo, trans, 'U');
      }
    }
  }
}

template <class T>
void check_potrf(hs_driver const* driver, char uplo) {
  TestDevice device(driver);
  TestStream stream(device);
  // A = L L^T with L(i, j) = 1 below the diagonal, i + 1 on it.
  auto const l = [](int i, int j) { return i == j ? T(i + 1) : T(1); };
  std::vector<T> a(static_cast<std::size_t>(ld * n), T(-7));
  auto expected = a;
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      T sum = 0;
      for (int p = 0; p <= j; ++p) {
        sum += l(i, p) * l(j, p);
      }
      at(a, uplo == 'L' ? i : j, uplo == 'L' ? j : i) = sum;
      at(expected, uplo == 'L' ? i : j, uplo == 'L' ? j : i) = l(i, j);
    }
  }
  std::size_t elements = 0;
  REQUIRE(driver->potrf_work(stream.handle, type_of<T>, uplo, n, ld, &elements) == hs_ok);
  Array<T> const work(device, elements);
  Array<int> const info(device, stream, {-1});
  Array<T> const on_a(device, stream, a);
  CHECK(driver->potrf(
            stream.handle, type_of<T>, uplo, n, on_a.data, ld, work.data, elements, info.data) ==
        hs_ok);
  check_close(on_a.read(stream), expected);
  CHECK(info.read(stream)[0] == 0);
  at(a, 2, 2) = -1; // not positive definite
  Array<T> const bad(device, stream, a);
  CHECK(driver->potrf(
            stream.handle, type_of<T>, uplo, n, bad.data, ld, work.data, elements, info.data) ==
        hs_ok);
  CHECK(info.read(stream)[0] == 3);
}

template <class T>
void check_getrf(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream stream(device);
  //     0 2   rows swapped: 4 8   L = 1    U = 4 8
  //     4 8                 0 2       0 1      0 2
  Array<T> const a(device, stream, {0, 4, 2, 8});
  std::size_t elements = 0;
  REQUIRE(driver->getrf_work(stream.handle, type_of<T>, 2, 2, 2, &elements) == hs_ok);
  Array<T> const work(device, elements);
  Array<int> const pivots(device, 2);
  Array<int> const info(device, 1);
  CHECK(driver->getrf(stream.handle,
                      type_of<T>,
                      2,
                      2,
                      a.data,
                      2,
                      work.data,
                      elements,
                      pivots.data,
                      info.data) == hs_ok);
  check_close(a.read(stream), {4, 0, 8, 2});
  CHECK(pivots.read(stream) == std::vector{2, 2});
  CHECK(info.read(stream)[0] == 0);
}

bool has_blas(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream stream(device);
  Array<double> const x(device, 1);
  bool const has = driver->scal(stream.handle, hs_double, 1, 0, x.data, 1) != hs_not_supported;
  CHECK(stream.synchronize() == hs_ok);
  return has;
}

} // namespace

void check_blas(hs_driver const* driver) {
  if (!has_blas(driver)) {
    MESSAGE("skipped: the driver " << std::string(driver->name) << " has no BLAS here");
    return;
  }
  check_matrices<float>(driver);
  check_matrices<double>(driver);
  check_vectors<float>(driver);
  check_vectors<double>(driver);
  TestDevice device(driver);
  TestStream stream(device);
  Array<double> const x(device, 16);
  auto* const on = stream.handle;
  CHECK(driver->gemm(on, hs_double, 'X', 'N', 1, 1, 1, 1, x.data, 1, x.data, 1, 0, x.data, 1) ==
        hs_failed);
  CHECK(contains(driver->last_error(), "trans_a"));
  CHECK(driver->gemm(on, hs_double, 'N', 'N', 4, 1, 1, 1, x.data, 3, x.data, 1, 0, x.data, 4) !=
        hs_ok); // A's leading dimension
  CHECK(is_one_line(std::string(driver->last_error())));
  CHECK(stream.synchronize() == hs_ok);
}

void check_lapack(hs_driver const* driver) {
  if (driver->potrf == nullptr) {
    MESSAGE("skipped: the driver " << std::string(driver->name) << " has no LAPACK here");
    return;
  }
  for (char const uplo : {'L', 'U'}) {
    check_potrf<float>(driver, uplo);
    check_potrf<double>(driver, uplo);
  }
  check_getrf<float>(driver);
  check_getrf<double>(driver);
}

} // namespace devices_test
