// SPDX-License-Identifier: MIT
#pragma once
// From a sparse matrix to the plan of its factorisation.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/matching.hpp>
#include <hetsched/detail/sparse/ordering.hpp>
#include <hetsched/detail/sparse/supernodes.hpp>

#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::sparse {

/// Whether a solver exchanges rows beforehand so that large entries come to the diagonal.
enum class RowMatching : std::uint8_t {
  automatic, // if the pattern is far from symmetric, or an entry of the diagonal is small or
             // missing
  always,
  never
};

namespace detail {

/// What the plan depends on beside the matrix.
struct AnalysisOptions {
  Ordering ordering = Ordering::automatic;
  RowMatching matching = RowMatching::automatic;
  bool symmetric = false;
  FrontCut cut;
};

/// All that is known about a matrix before its factorisation.
struct Analysis {
  Pattern pattern;
  double symmetry = 1;
  bool matched = false;
  Scaling scaling;
  std::vector<Index> row_place; // in the permuted matrix
  std::vector<Index> column_place;
  Fronts plan;

  /// Cuts the fronts, for the first time or anew: O(entries log entries). The order, the tree and
  /// what each front holds stay.
  void cut(FrontCut const& how) {
    cut_fronts(plan, how);
    place_entries(plan, pattern, row_place, column_place);
  }
};

template <class T>
[[nodiscard]] Pattern pattern_of(Eigen::SparseMatrix<T> const& a) {
  Pattern pattern;
  auto const* const begin = a.outerIndexPtr();
  pattern.begin.assign(begin, begin + a.cols() + 1);
  pattern.rows.assign(a.innerIndexPtr(), a.innerIndexPtr() + a.nonZeros());
  return pattern;
}

/// Throws Error(bad_data) naming `who` unless the matrix is square, compressed with ascending rows,
/// and has finite numbers only.
template <class T>
void check_matrix(char const* who, Eigen::SparseMatrix<T> const& a) {
  if (a.rows() != a.cols()) {
    throw Error(ErrorCode::bad_data,
                who,
                "the matrix is not square: it has " + std::to_string(a.rows()) + " rows and " +
                    std::to_string(a.cols()) + " columns");
  }
  if (!a.isCompressed()) {
    throw Error(ErrorCode::bad_data, who, "the matrix is not compressed: see makeCompressed()");
  }
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    for (typename Eigen::SparseMatrix<T>::InnerIterator entry(a, j); entry; ++entry) {
      if (!std::isfinite(std::abs(entry.value()))) {
        throw Error(ErrorCode::bad_data,
                    who,
                    "the entry in row " + std::to_string(entry.row()) + ", column " +
                        std::to_string(j) + " is not a finite number");
      }
    }
  }
}

/// Throws Error(bad_data) naming `who` and an entry that differs from the one opposite.
template <class T>
void check_symmetric(char const* who, Eigen::SparseMatrix<T> const& a) {
  if (a.rows() != a.cols() || !a.isCompressed()) {
    return; // see check_matrix
  }
  Eigen::SparseMatrix<T> const t = a.transpose();
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    typename Eigen::SparseMatrix<T>::InnerIterator one(a, j);
    typename Eigen::SparseMatrix<T>::InnerIterator other(t, j);
    for (; one || other; ++one, ++other) {
      bool const same = one && other && one.row() == other.row();
      if (!same || (one.value() != other.value() && !std::isnan(one.value()))) {
        auto const row = !other || (one && one.row() <= other.row()) ? one.row() : other.row();
        throw Error(ErrorCode::bad_data,
                    who,
                    "the matrix is not symmetric: row " + std::to_string(row) + ", column " +
                        std::to_string(j));
      }
    }
  }
}

template <class T>
[[nodiscard]] std::vector<double> moduli_of(Eigen::SparseMatrix<T> const& a) {
  std::vector<double> moduli;
  moduli.reserve(static_cast<std::size_t>(a.nonZeros()));
  std::transform(a.valuePtr(), a.valuePtr() + a.nonZeros(), std::back_inserter(moduli), [](T x) {
    return static_cast<double>(std::abs(x));
  });
  return moduli;
}

/// Throws Error(numerical) naming an empty row or column; explicit zeros are no entries.
inline void check_not_empty(char const* who, Pattern const& a, std::vector<double> const& moduli) {
  std::vector<char> rows(at(a.size()));
  for (Index j = 0; j < a.size(); ++j) {
    bool some = false;
    for (auto k = a.begin[at(j)]; k < a.begin[at(j) + 1]; ++k) {
      if (moduli[k] > 0) {
        rows[at(a.rows[k])] = 1;
        some = true;
      }
    }
    if (!some) {
      throw Error(ErrorCode::numerical,
                  who,
                  "the matrix is singular: column " + std::to_string(j) + " is empty");
    }
  }
  if (auto const row = std::find(rows.begin(), rows.end(), 0); row != rows.end()) {
    throw Error(ErrorCode::numerical,
                who,
                "the matrix is singular: row " + std::to_string(row - rows.begin()) + " is empty");
  }
}

/// Whether an entry of the diagonal of the scaled matrix is missing or much smaller than the
/// largest of its column.
[[nodiscard]] inline bool
weak_diagonal(Pattern const& a, std::vector<double> const& moduli, Scaling const& scaling) {
  constexpr double weak = 1e-6;
  for (Index j = 0; j < a.size(); ++j) {
    double diagonal = 0;
    double largest = 0;
    for (auto k = a.begin[at(j)]; k < a.begin[at(j) + 1]; ++k) {
      auto const modulus = moduli[k] * scaling.rows[at(a.rows[k])];
      largest = std::max(largest, modulus);
      if (a.rows[k] == j) {
        diagonal = modulus;
      }
    }
    if (!(diagonal >= weak * largest)) {
      return true;
    }
  }
  return false;
}

/// Rows of a pattern renamed.
[[nodiscard]] inline Pattern with_rows(Pattern const& a, std::vector<Index> const& place) {
  Pattern result;
  result.begin = a.begin;
  result.rows.resize(a.rows.size());
  for (std::size_t k = 0; k < a.rows.size(); ++k) {
    result.rows[k] = place[at(a.rows[k])];
  }
  for (Index j = 0; j < a.size(); ++j) {
    std::sort(result.rows.begin() + static_cast<std::ptrdiff_t>(a.begin[at(j)]),
              result.rows.begin() + static_cast<std::ptrdiff_t>(a.begin[at(j) + 1]));
  }
  return result;
}

/// Scales, matches, orders and plans. Throws Error(numerical) if the matrix is structurally
/// singular, naming a row.
///
/// A matching costs fill where the pattern is symmetric, and saves much where it is not; see
/// RowMatching.
template <class T>
[[nodiscard]] Analysis
analysed(char const* who, Eigen::SparseMatrix<T> const& a, AnalysisOptions const& options) {
  Analysis result;
  result.pattern = pattern_of(a);
  auto const moduli = moduli_of(a);
  check_not_empty(who, result.pattern, moduli);
  result.scaling = equilibrated(result.pattern, moduli);
  auto graph = symmetrised(result.pattern);
  result.symmetry = graph.symmetry;
  constexpr double symmetric_enough = 0.5;
  bool const match = options.matching == RowMatching::always ||
                     (options.matching == RowMatching::automatic &&
                      (graph.symmetry < symmetric_enough ||
                       weak_diagonal(result.pattern, moduli, result.scaling)));
  std::vector<Index> column_of;
  if (match) {
    auto matching = MatchingSearch(result.pattern, moduli).run();
    if (auto const row = matching.unmatched(); row != no_index) {
      throw Error(ErrorCode::numerical,
                  who,
                  "the matrix is structurally singular: no choice of one entry from each row and "
                  "column has one for row " +
                      std::to_string(row));
    }
    column_of = std::move(matching.column_of);
    result.scaling = std::move(matching.scaling);
    result.matched = true;
    graph = symmetrised(with_rows(result.pattern, column_of));
  }
  auto nodes = supernodes(graph.pattern, ordered(graph.pattern, options.ordering));
  result.column_place = nodes.order.new_of;
  result.row_place = nodes.order.new_of;
  if (match) {
    for (std::size_t i = 0; i < column_of.size(); ++i) {
      result.row_place[i] = nodes.order.new_of[at(column_of[i])];
    }
  }
  result.plan = make_fronts(std::move(nodes), options.symmetric);
  result.cut(options.cut);
  return result;
}

} // namespace detail
} // namespace hetsched::sparse
