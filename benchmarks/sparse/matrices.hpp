// SPDX-License-Identifier: MIT
#pragma once
// The matrices that the sparse solvers are given.

#include <hetsched/linalg/matrix_io.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sparse_peers {

using Sparse = Eigen::SparseMatrix<double>;
using Vector = Eigen::VectorXd;
using Triplets = std::vector<Eigen::Triplet<double>>;

[[nodiscard]] inline Sparse assembled(int n, Triplets const& entries) {
  Sparse a(n, n);
  a.setFromTriplets(entries.begin(), entries.end());
  a.makeCompressed();
  return a;
}

/// The seven-point stencil on a cube of k x k x k points, whose boundary values are known: row i
/// has `centre` at i and 1 - `wind`[d], negated, at i's neighbour before it in direction d, -1 at
/// the one behind it.
[[nodiscard]] inline Sparse seven_points(int k, double centre, std::vector<double> const& wind) {
  Triplets entries;
  entries.reserve(7 * static_cast<std::size_t>(k * k * k));
  int const steps[] = {1, k, k * k};
  for (int i = 0; i < k * k * k; ++i) {
    entries.emplace_back(i, i, centre);
    for (std::size_t d = 0; d < 3; ++d) {
      auto const coordinate = i / steps[d] % k;
      if (coordinate > 0) {
        entries.emplace_back(i, i - steps[d], -1 - wind[d]);
      }
      if (coordinate + 1 < k) {
        entries.emplace_back(i, i + steps[d], -1.0);
      }
    }
  }
  return assembled(k * k * k, entries);
}

/// -(u_xx + u_yy + u_zz) + c . grad u by upwind differences, times the square of the distance of
/// points, which has been absorbed into c = (0.3, 0.2, 0.1): unsymmetric, diagonally dominant.
[[nodiscard]] inline Sparse convection_diffusion(int k) {
  return seven_points(k, 6.6, {0.3, 0.2, 0.1});
}

/// -(u_xx + u_yy + u_zz): symmetric positive definite.
[[nodiscard]] inline Sparse laplacian(int k) {
  return seven_points(k, 6, {0, 0, 0});
}

/// Modified nodal analysis of a made-up circuit: a chain of n nodes with conductances of six
/// decades, on average one more to a node nearby, long wires from a fiftieth of the nodes, and
/// transistors (an entry without its opposite) at a tenth. n / 20 more unknowns are currents of
/// voltage sources, whose diagonal is 0.
[[nodiscard]] inline Sparse circuit(int n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const below = [&](int limit) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(limit));
  };
  auto const conductance = [&] {
    return std::pow(10.0, static_cast<double>(below(6000)) / 1000 - 3);
  };
  Triplets entries;
  auto const resistor = [&](int i, int j) {
    auto const value = conductance();
    entries.emplace_back(i, i, value);
    entries.emplace_back(j, j, value);
    entries.emplace_back(i, j, -value);
    entries.emplace_back(j, i, -value);
  };
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 1e-3); // to ground
    if (i > 0) {
      resistor(i - 1, i);
    }
    resistor(i, (i + 2 + below(10)) % n);
    if (below(50) == 0) {
      resistor(i, (i + n / 2 + below(10)) % n);
    }
    if (below(10) == 0) {
      auto const gain = conductance();
      entries.emplace_back(i, (i + 3 + below(10)) % n, gain);
      entries.emplace_back(i, i, gain);
    }
  }
  auto const sources = n / 20;
  for (int s = 0; s < sources; ++s) {
    auto const node = 20 * s + below(20);
    entries.emplace_back(n + s, node, 1.0);
    entries.emplace_back(node, n + s, 1.0);
  }
  return assembled(n + sources, entries);
}

/// A case of `sparse_solvers`: "convection" or "laplace" with points per edge, "circuit" with
/// nodes, or "file" with its name. Throws Error(bad_input) for a file.
[[nodiscard]] inline Sparse
matrix_of(std::string_view name, std::string const& size, std::uint64_t seed) {
  if (name == "file") {
    auto a = hetsched::linalg::read_matrix(size).matrix;
    a.makeCompressed();
    return a;
  }
  auto const number = std::atoi(size.c_str());
  if (name == "circuit") {
    return circuit(number, seed);
  }
  if (name == "convection" || name == "laplace") {
    return name == "laplace" ? laplacian(number) : convection_diffusion(number);
  }
  throw std::runtime_error("no such matrix");
}

/// Another matrix of the same pattern: D A D for a diagonal D of numbers from 1 to 1.3. If A is
/// positive definite, it is, too.
[[nodiscard]] inline Sparse with_other_values(Sparse a) {
  auto const factor = [](Eigen::Index i) { return 1 + static_cast<double>(i % 7) / 20; };
  for (Eigen::Index j = 0; j < a.outerSize(); ++j) {
    for (Sparse::InnerIterator entry(a, j); entry; ++entry) {
      entry.valueRef() *= factor(entry.row()) * factor(j);
    }
  }
  return a;
}

/// A right-hand side of numbers from -1 to 1.
[[nodiscard]] inline Vector right_hand_side(Eigen::Index n) {
  std::mt19937_64 random(7);
  return Vector::NullaryExpr(n,
                             [&] { return static_cast<double>(random() >> 11U) * 0x1p-52 - 1.0; });
}

/// The largest |b - A x| / (|A| |x| + |b|) of a row, the componentwise backward error of Oettli and
/// Prager, 1964; infinite if x is not finite.
[[nodiscard]] inline double backward_error(Sparse const& a, Vector const& x, Vector const& b) {
  if (x.size() != b.size() || !x.allFinite()) {
    return HUGE_VAL;
  }
  Vector const residual = (b - a * x).cwiseAbs();
  Vector const scale = a.cwiseAbs() * x.cwiseAbs() + b.cwiseAbs();
  double largest = 0;
  for (Eigen::Index i = 0; i < b.size(); ++i) {
    if (residual[i] > 0) {
      largest = std::max(largest, residual[i] / scale[i]);
    }
  }
  return largest;
}

} // namespace sparse_peers
