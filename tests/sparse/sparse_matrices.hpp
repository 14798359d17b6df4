// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices that tests of the solvers factorise.

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

namespace sparse_matrices {

template <class T>
using Sparse = Eigen::SparseMatrix<T>;

template <class T>
using Entries = std::vector<Eigen::Triplet<T>>;

/// From -1 to 1, or such real and imaginary parts.
template <class T>
T number(std::mt19937_64& random) {
  std::uniform_real_distribution<double> draw(-1, 1);
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(draw(random));
  } else {
    auto const real = draw(random);
    return T(real, draw(random));
  }
}

template <class T>
Sparse<T> assembled(int n, Entries<T> const& entries) {
  Sparse<T> a(n, n);
  a.setFromTriplets(entries.begin(), entries.end());
  a.makeCompressed();
  return a;
}

/// -u'' + c u' on a cube of k x k x k points, upwind differences of the first derivatives.
template <class T>
Sparse<T> convection_diffusion(int k) {
  Entries<T> entries;
  auto const point = [k](int x, int y, int z) { return x + k * (y + k * z); };
  for (int z = 0; z < k; ++z) {
    for (int y = 0; y < k; ++y) {
      for (int x = 0; x < k; ++x) {
        auto const i = point(x, y, z);
        entries.emplace_back(i, i, T(6.6));
        auto const neighbour = [&](int dx, int dy, int dz, double value) {
          auto const inside = [k](int c) { return c >= 0 && c < k; };
          if (inside(x + dx) && inside(y + dy) && inside(z + dz)) {
            entries.emplace_back(i, point(x + dx, y + dy, z + dz), T(value));
          }
        };
        neighbour(-1, 0, 0, -1.3);
        neighbour(1, 0, 0, -1);
        neighbour(0, -1, 0, -1.2);
        neighbour(0, 1, 0, -1);
        neighbour(0, 0, -1, -1.1);
        neighbour(0, 0, 1, -1);
      }
    }
  }
  return assembled(k * k * k, entries);
}

/// A random pattern, in which a random permutation is there, so that it is not structurally
/// singular. The diagonal in general has zeros.
template <class T>
Sparse<T> random_matrix(int n, int per_row, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  Entries<T> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, order[static_cast<std::size_t>(i)], T(3) + number<T>(random));
    for (int k = 0; k < per_row; ++k) {
      entries.emplace_back(
          i, static_cast<int>(random() % static_cast<std::uint64_t>(n)), number<T>(random));
    }
  }
  return assembled(n, entries);
}

/// [H B; B^T 0] with H diagonally dominant: symmetric, half of it without a diagonal.
template <class T>
Sparse<T> saddle_point(int n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Entries<T> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, T(4));
    if (i > 0) {
      entries.emplace_back(i, i - 1, T(-1));
      entries.emplace_back(i - 1, i, T(-1));
    }
  }
  for (int c = 0; c < n / 2; ++c) {
    for (int const i : {2 * c, (2 * c + 7) % n}) {
      auto const value = T(1) + number<T>(random) * T(0.1);
      entries.emplace_back(n + c, i, value);
      entries.emplace_back(i, n + c, value);
    }
  }
  return assembled(n + n / 2, entries);
}

/// A A^T and a little: positive definite.
inline Sparse<double> positive_definite(int n, std::uint64_t seed) {
  auto const a = random_matrix<double>(n, 2, seed);
  Sparse<double> product = a * Sparse<double>(a.transpose());
  for (int i = 0; i < n; ++i) {
    product.coeffRef(i, i) += 0.1;
  }
  // Both triangles are to have the same bits.
  Sparse<double> const lower = product.triangularView<Eigen::Lower>();
  Sparse<double> whole = lower.selfadjointView<Eigen::Lower>();
  whole.makeCompressed();
  return whole;
}

/// Symmetric positive definite.
inline Sparse<double> laplacian(int k) {
  auto a = convection_diffusion<double>(k);
  for (int i = 0; i < a.rows(); ++i) {
    for (Sparse<double>::InnerIterator entry(a, i); entry; ++entry) {
      entry.valueRef() = entry.row() == i ? 6 : -1;
    }
  }
  return a;
}

} // namespace sparse_matrices
