// SPDX-License-Identifier: MIT
#pragma once
// Which entries of a matrix come to its diagonal, and how its rows and columns are scaled.

#include <hetsched/detail/sparse/pattern.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// Factors for rows and columns, each a power of two: scaling rounds nothing.
struct Scaling {
  std::vector<double> rows;
  std::vector<double> columns;
};

[[nodiscard]] inline double power_of_two(double factor) {
  constexpr int most = 1000; // factors at which no product of two of them leaves double
  if (!(factor > 0) || !std::isfinite(factor)) {
    return 1;
  }
  return std::ldexp(1.0, std::clamp(std::ilogb(factor), -most / 2, most / 2));
}

/// Rows and columns divided by the square roots of their largest moduli, three times: then these
/// are near 1. `moduli` are those of the entries of `a`; rows and columns without entries keep 1.
///
/// Source: Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices",
/// 2001.
[[nodiscard]] inline Scaling equilibrated(Pattern const& a, std::vector<double> const& moduli) {
  auto const n = at(a.size());
  Scaling scaling{std::vector<double>(n, 1), std::vector<double>(n, 1)};
  for (int round = 0; round < 3; ++round) {
    std::vector<double> rows(n);
    std::vector<double> columns(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (auto k = a.begin[j]; k < a.begin[j + 1]; ++k) {
        auto const i = at(a.rows[k]);
        auto const modulus = moduli[k] * scaling.rows[i] * scaling.columns[j];
        rows[i] = std::max(rows[i], modulus);
        columns[j] = std::max(columns[j], modulus);
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      scaling.rows[k] /= rows[k] > 0 ? std::sqrt(rows[k]) : 1;
      scaling.columns[k] /= columns[k] > 0 ? std::sqrt(columns[k]) : 1;
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    scaling.rows[k] = power_of_two(scaling.rows[k]);
    scaling.columns[k] = power_of_two(scaling.columns[k]);
  }
  return scaling;
}

/// One entry of each row and column, of the largest product of moduli, and factors by which these
/// entries become about 1 and no other much larger.
struct Matching {
  std::vector<Index> row_of;    // each column's
  std::vector<Index> column_of; // each row's; no_index if there is no such matching
  Scaling scaling;

  /// A row without an entry of its own, if the matrix is structurally singular, else no_index.
  [[nodiscard]] Index unmatched() const noexcept {
    auto const found = std::find(column_of.begin(), column_of.end(), no_index);
    return found == column_of.end() ? no_index : static_cast<Index>(found - column_of.begin());
  }
};

/// Finds the matching of least cost, where an entry costs the logarithm of how much smaller it is
/// than the largest in its column: shortest augmenting paths, one for each column that a greedy
/// start leaves over.
///
/// Source: Duff and Koster, "On algorithms for permuting large entries to the diagonal of a sparse
/// matrix", 2001, with the scaling of sec. 4.
class MatchingSearch {
public:
  /// `moduli` of 0 are no entries.
  MatchingSearch(Pattern const& a, std::vector<double> const& moduli)
      : a_(a), cost_(moduli.size(), none), largest_(at(a.size())), u_(at(a.size()), none),
        v_(at(a.size())), distance_(at(a.size()), none), from_(at(a.size()), no_index),
        done_(at(a.size())) {
    result_.row_of.assign(at(a.size()), no_index);
    result_.column_of.assign(at(a.size()), no_index);
    for (std::size_t j = 0; j < at(a.size()); ++j) {
      for (auto k = a.begin[j]; k < a.begin[j + 1]; ++k) {
        largest_[j] = std::max(largest_[j], moduli[k]);
      }
      for (auto k = a.begin[j]; k < a.begin[j + 1]; ++k) {
        if (moduli[k] > 0) {
          cost_[k] = std::log(largest_[j]) - std::log(moduli[k]);
          auto& least = u_[at(a.rows[k])];
          least = std::min(least, cost_[k]);
        }
      }
    }
    std::replace(u_.begin(), u_.end(), none, 0.0); // rows without entries
  }

  [[nodiscard]] Matching run() {
    match_greedily();
    for (Index j = 0; j < a_.size(); ++j) {
      if (result_.row_of[at(j)] == no_index) {
        augment(j);
      }
    }
    result_.scaling.rows.resize(u_.size());
    result_.scaling.columns.resize(v_.size());
    for (std::size_t k = 0; k < u_.size(); ++k) {
      result_.scaling.rows[k] = power_of_two(std::exp(u_[k]));
      result_.scaling.columns[k] =
          power_of_two(std::exp(v_[k] - std::log(largest_[k] > 0 ? largest_[k] : 1)));
    }
    return std::move(result_);
  }

private:
  static constexpr double none = std::numeric_limits<double>::infinity();

  using Reached = std::pair<double, Index>; // distance, row

  void match(Index i, Index j) {
    result_.row_of[at(j)] = i;
    result_.column_of[at(i)] = j;
  }

  [[nodiscard]] double reduced(std::size_t k, Index j) const {
    return cost_[k] - u_[at(a_.rows[k])] - v_[at(j)];
  }

  void match_greedily() {
    for (Index j = 0; j < a_.size(); ++j) {
      double least = none;
      for (auto k = a_.begin[at(j)]; k < a_.begin[at(j) + 1]; ++k) {
        least = std::min(least, reduced(k, j));
      }
      if (least == none) {
        continue;
      }
      v_[at(j)] = least;
      for (auto k = a_.begin[at(j)]; k < a_.begin[at(j) + 1]; ++k) {
        auto const i = a_.rows[k];
        if (result_.column_of[at(i)] == no_index && !(reduced(k, j) > 0)) {
          match(i, j);
          break;
        }
      }
    }
  }

  /// Relaxes the entries of column j, which is `base` away.
  void scan(Index j, double base) {
    for (auto k = a_.begin[at(j)]; k < a_.begin[at(j) + 1]; ++k) {
      auto const i = at(a_.rows[k]);
      if (cost_[k] == none || done_[i] != 0) {
        continue;
      }
      auto const far = base + std::max(0.0, reduced(k, j));
      if (far < distance_[i]) {
        if (distance_[i] == none) {
          touched_.push_back(a_.rows[k]);
        }
        distance_[i] = far;
        from_[i] = j;
        heap_.push({far, a_.rows[k]});
      }
    }
  }

  /// Matches column `source`, too, if that is possible.
  void augment(Index source) {
    scan(source, 0);
    Index end = no_index;
    while (!heap_.empty()) {
      auto const [far, i] = heap_.top();
      heap_.pop();
      if (done_[at(i)] != 0 || far > distance_[at(i)]) {
        continue;
      }
      if (result_.column_of[at(i)] == no_index) {
        end = i;
        break;
      }
      done_[at(i)] = 1;
      scan(result_.column_of[at(i)], far);
    }
    if (end != no_index) {
      auto const length = distance_[at(end)];
      v_[at(source)] += length;
      for (auto const i : touched_) {
        if (done_[at(i)] != 0) {
          auto const change = length - distance_[at(i)];
          u_[at(i)] -= change;
          v_[at(result_.column_of[at(i)])] += change;
        }
      }
      for (auto i = end; i != no_index;) {
        auto const j = from_[at(i)];
        auto const before = result_.row_of[at(j)];
        match(i, j);
        i = j == source ? no_index : before;
      }
    }
    for (auto const i : touched_) {
      distance_[at(i)] = none;
      done_[at(i)] = 0;
    }
    touched_.clear();
    heap_ = {};
  }

  Pattern const& a_;
  std::vector<double> cost_;
  std::vector<double> largest_;
  std::vector<double> u_; // duals of rows and columns
  std::vector<double> v_;
  std::vector<double> distance_;
  std::vector<Index> from_;
  std::vector<char> done_;
  std::vector<Index> touched_;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> heap_;
  Matching result_;
};

} // namespace hetsched::sparse::detail
