// SPDX-License-Identifier: MIT
// What is found out about a sparse matrix before it is factorised.

#include <hetsched/detail/sparse/analysis.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include "../support/support.hpp"
#include "sparse_matrices.hpp"

#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace sparse_analysis_test {

using namespace hetsched::sparse::detail; // NOLINT: it is what is tested
using hetsched::sparse::Ordering;
using sparse_matrices::random_matrix;

Pattern neighbours(Eigen::SparseMatrix<double> const& a) {
  return symmetrised(pattern_of(a)).pattern;
}

/// The rows of each column of L, with the diagonal, by elimination as it is defined.
std::vector<std::set<Index>> filled(Pattern const& a) {
  std::vector<std::set<Index>> columns(at(a.size()));
  for (Index j = 0; j < a.size(); ++j) {
    columns[at(j)].insert(j);
    for (auto const i : a.column(j)) {
      if (i > j) {
        columns[at(j)].insert(i);
      }
    }
  }
  for (auto& column : columns) {
    auto const below = std::next(column.begin());
    if (below != column.end()) {
      columns[at(*below)].insert(std::next(below), column.end());
    }
  }
  return columns;
}

TEST_SUITE_BEGIN("sparse");

TEST_CASE("Pattern: A + A^T, and how symmetric A is") {
  Pattern const a{{0, 2, 3, 5}, {0, 2, 1, 0, 1}}; // (0,0) (2,0) (1,1) (0,2) (1,2)
  auto const [pattern, symmetry] = symmetrised(a);
  CHECK(pattern.rows == std::vector<Index>{2, 2, 0, 1});
  CHECK(pattern.begin == std::vector<std::size_t>{0, 1, 2, 4});
  CHECK(symmetry == doctest::Approx(2.0 / 3));
  CHECK(symmetrised(Pattern{{0, 1}, {0}}).symmetry == 1);
}

TEST_CASE("elimination: tree and counts as elimination by definition finds them, in any order") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto const n = static_cast<int>(5 * seed);
    auto const pattern = neighbours(random_matrix<double>(n, 2, seed));
    for (auto const choice : {Ordering::natural, Ordering::minimum_degree, Ordering::automatic}) {
      auto const e = ordered(pattern, choice);
      auto const columns = filled(permuted(pattern, e.order));
      double flops = 0;
      for (Index j = 0; j < n; ++j) {
        auto const& column = columns[at(j)];
        auto const below = std::next(column.begin());
        CHECK(e.parent[at(j)] == (below == column.end() ? no_index : *below));
        CHECK(at(e.counts[at(j)]) == column.size());
        auto const rows = static_cast<double>(column.size() - 1);
        flops += rows + 2 * rows * rows;
        CHECK((e.parent[at(j)] == no_index || e.parent[at(j)] > j));
      }
      CHECK(e.flops == flops);
    }
  }
}

TEST_CASE("supernodes: every column once, rows that hold the fill, parents that hold the rows") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto const n = static_cast<int>(8 * seed);
    auto const pattern = neighbours(random_matrix<double>(n, 2, seed));
    auto const nodes = supernodes(pattern, ordered(pattern, Ordering::minimum_degree));
    CHECK(nodes.columns() == n);
    auto olds = nodes.order.old_of;
    std::sort(olds.begin(), olds.end());
    for (Index j = 0; j < n; ++j) {
      CHECK(olds[at(j)] == j);
    }
    auto const columns = filled(permuted(pattern, nodes.order));
    for (Index s = 0; s < nodes.count(); ++s) {
      auto const rows = nodes.below(s);
      std::set<Index> const here(rows.begin(), rows.end());
      CHECK(here.size() == rows.size());
      for (auto j = nodes.first[at(s)]; j < nodes.first[at(s) + 1]; ++j) {
        for (auto const i : columns[at(j)]) {
          CHECK((i < nodes.first[at(s) + 1] || here.contains(i)));
        }
      }
      auto const p = nodes.parent[at(s)];
      CHECK((p == no_index) == rows.empty());
      for (auto const i : rows) {
        auto const above = nodes.below(p);
        CHECK((i < nodes.first[at(p) + 1] ||
               std::find(above.begin(), above.end(), i) != above.end()));
        CHECK(i >= nodes.first[at(p)]);
      }
    }
  }
}

TEST_CASE("matching: the best of all permutations, scaled to 1") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto const a = random_matrix<double>(6, 2, seed);
    auto const pattern = pattern_of(a);
    auto const found = MatchingSearch(pattern, moduli_of(a)).run();
    REQUIRE(found.unmatched() == no_index);
    Eigen::MatrixXd const dense = Eigen::MatrixXd(a).cwiseAbs();
    auto const product = [&](std::vector<int> const& row_of) {
      double all = 1;
      for (int j = 0; j < 6; ++j) {
        all *= dense(row_of[static_cast<std::size_t>(j)], j);
      }
      return all;
    };
    std::vector<int> rows(6);
    std::iota(rows.begin(), rows.end(), 0);
    double best = 0;
    do {
      best = std::max(best, product(rows));
    } while (std::next_permutation(rows.begin(), rows.end()));
    CHECK(product(found.row_of) == doctest::Approx(best));
    for (int j = 0; j < 6; ++j) {
      CHECK(found.column_of[at(found.row_of[at(j)])] == j);
      for (int i = 0; i < 6; ++i) {
        // Powers of two: each factor is right to a factor of two.
        auto const scaled = dense(i, j) * found.scaling.rows[at(i)] * found.scaling.columns[at(j)];
        CHECK(scaled <= 1 + 1e-12);
        CHECK((found.row_of[at(j)] != i || scaled >= 0.25 - 1e-12));
      }
    }
  }
}

TEST_CASE("matching: names a row of a structurally singular matrix") {
  // Rows 1, 2 and 3 have entries in columns 0 and 1 only.
  Eigen::SparseMatrix<double> const a = sparse_matrices::assembled<double>(
      4,
      {{0, 2, 1.0}, {0, 3, 1.0}, {1, 0, 1.0}, {1, 1, 1.0}, {2, 0, 1.0}, {3, 0, 1.0}, {3, 1, 2.0}});
  auto const found = MatchingSearch(pattern_of(a), moduli_of(a)).run();
  CHECK(found.unmatched() >= 1);
}

TEST_CASE("fronts: parts cover what they divide, units cover the fronts") {
  Parts const parts(10, 4);
  CHECK(parts.count == 3);
  CHECK(parts.begin(1) == 3);
  CHECK(parts.begin(2) == 6);
  CHECK(parts.begin(3) == 10);
  CHECK(Parts(0, 4).count == 1);

  auto const a = sparse_matrices::convection_diffusion<double>(7);
  AnalysisOptions options;
  auto const analysis = analysed("test", a, options);
  auto const& plan = analysis.plan;
  CHECK(plan.entries.size() == static_cast<std::size_t>(a.nonZeros()));
  for (double const parts_of : {1.0, 4.0, 100.0, 1e9}) {
    auto const units = make_units(plan, plan.flops / parts_of);
    Index next = 0;
    for (auto const& unit : units.units) {
      CHECK(unit.begin == next);
      CHECK(unit.end > unit.begin);
      next = unit.end;
      CHECK((unit.flops <= plan.flops / parts_of + 1 || unit.end == unit.begin + 1));
    }
    CHECK(next == plan.count());
    CHECK((parts_of > 1 || units.units.size() == 1));
  }
}

TEST_CASE("numbers: memory that the system does not have is named") {
  hetsched::sparse::detail::Buffer<double> some(10, "SparseLU");
  CHECK(some.size() == 10);
  CHECK(support::message_of([] { Buffer<double>(std::size_t{1} << 56U, "SparseLU"); }) ==
        "hetsched: SparseLU: needs 5.76e+11 MB of memory, which the system does not have");
  CHECK(support::code_of([] { Buffer<double>(static_cast<std::size_t>(-1), "SparseLU"); }) ==
        hetsched::ErrorCode::bad_data);
}

TEST_SUITE_END();

} // namespace sparse_analysis_test
