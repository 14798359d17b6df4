// SPDX-License-Identifier: MIT
#pragma once
// Which part of the work each class of worker does in the area bound's solution.

#include <hetsched/bounds/bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// The simplex method on the area bound's linear program (Kumar 2017, sec. 2.3.1): the least l with
/// parts x of the tasks such that sum_c x(v, c) = 1 for each task v, and sum_v x(v, c) load(v, c)
/// <= l for each class c, load being the time on the class over its number of workers. It begins
/// with each task whole where its load is least, which is a solution for the l of the class that
/// has most then, and goes on by Bland's rule, which ends.
class AreaTableau {
public:
  /// Throws Error(bad_call) naming a task that no worker can run.
  explicit AreaTableau(ClassTimes const& times)
      : tasks_(times.tasks()), classes_(times.workers.size()) {
    bases_.assign(tasks_ + classes_, 0);
    rows_.assign(tasks_ + classes_, std::vector<double>(columns() + 1, 0));
    auto const greatest = greatest_load(times);
    std::vector<std::size_t> least(tasks_);
    for (std::size_t v = 0; v < tasks_; ++v) {
      auto best = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < classes_; ++c) {
        if (!runs(times, v, c)) {
          continue;
        }
        auto const load = load_of(times, v, c) / greatest;
        rows_[v][part(v, c)] = 1;
        rows_[tasks_ + c][part(v, c)] = load;
        if (load < best) {
          best = load;
          least[v] = c;
        }
      }
      if (best == std::numeric_limits<double>::infinity()) {
        refuse_task(v);
      }
      rows_[v].back() = 1;
    }
    for (std::size_t c = 0; c < classes_; ++c) {
      auto& row = rows_[tasks_ + c];
      row[bound()] = -1;
      row[slack(c)] = 1;
      bases_[tasks_ + c] = slack(c);
    }
    for (std::size_t v = 0; v < tasks_; ++v) {
      pivot(v, part(v, least[v]));
    }
    std::size_t fullest = 0; // of the classes
    for (std::size_t c = 1; c < classes_; ++c) {
      if (rows_[tasks_ + c].back() < rows_[tasks_ + fullest].back()) {
        fullest = c;
      }
    }
    pivot(tasks_ + fullest, bound());
    solve();
  }

  /// Part of task v on class c.
  [[nodiscard]] double share(std::size_t v, std::size_t c) const {
    for (std::size_t r = 0; r < bases_.size(); ++r) {
      if (bases_[r] == part(v, c)) {
        return std::clamp(rows_[r].back(), 0.0, 1.0);
      }
    }
    return 0;
  }

private:
  static constexpr double rounding = 1e-11; // numbers are about 1

  static bool runs(ClassTimes const& times, std::size_t v, std::size_t c) {
    return times.workers[c] > 0 && times.on(v, c) != ClassTimes::never;
  }

  static double load_of(ClassTimes const& times, std::size_t v, std::size_t c) {
    return static_cast<double>(times.on(v, c).ns) / times.workers[c];
  }

  [[nodiscard]] double greatest_load(ClassTimes const& times) const {
    double greatest = 1;
    for (std::size_t v = 0; v < tasks_; ++v) {
      for (std::size_t c = 0; c < classes_; ++c) {
        greatest = runs(times, v, c) ? std::max(greatest, load_of(times, v, c)) : greatest;
      }
    }
    return greatest;
  }

  [[nodiscard]] std::size_t part(std::size_t v, std::size_t c) const { return v * classes_ + c; }

  [[nodiscard]] std::size_t bound() const { return tasks_ * classes_; }

  [[nodiscard]] std::size_t slack(std::size_t c) const { return bound() + 1 + c; }

  [[nodiscard]] std::size_t columns() const { return slack(classes_); }

  void pivot(std::size_t row, std::size_t column) {
    auto& pivot_row = rows_[row];
    auto const divisor = pivot_row[column];
    for (auto& value : pivot_row) {
      value /= divisor;
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      auto const factor = rows_[r][column];
      if (r == row || factor == 0) {
        continue;
      }
      for (std::size_t k = 0; k < pivot_row.size(); ++k) {
        rows_[r][k] -= factor * pivot_row[k];
      }
      rows_[r][column] = 0;
    }
    bases_[row] = column;
  }

  void solve() {
    for (;;) {
      // What l loses by a unit of each column: it is basic, and nothing else has a cost.
      auto const of_bound = std::find(bases_.begin(), bases_.end(), bound()) - bases_.begin();
      auto const& gain = rows_[static_cast<std::size_t>(of_bound)];
      std::size_t column = 0;
      while (column < columns() && (column == bound() || gain[column] <= rounding)) {
        ++column;
      }
      if (column == columns()) {
        return;
      }
      auto row = rows_.size();
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        if (rows_[r][column] <= rounding) {
          continue;
        }
        auto const ratio = [&](std::size_t i) { return rows_[i].back() / rows_[i][column]; };
        if (row == rows_.size() || ratio(r) < ratio(row) ||
            (ratio(r) == ratio(row) && bases_[r] < bases_[row])) {
          row = r;
        }
      }
      pivot(row, column); // there is one: l cannot fall below 0
    }
  }

  std::size_t tasks_;
  std::size_t classes_;
  std::vector<std::size_t> bases_;        // the column of each row
  std::vector<std::vector<double>> rows_; // and what it is equal to
};

} // namespace detail

/// Which part of task v the workers of class c do together, at v * classes + c, in a solution of
/// the area bound's linear program (Kumar 2017, sec. 2.3.1): parts of a task add up to 1. Where
/// there are several solutions it is one of them, always the same. Tasks of one type may be given
/// as one that takes as long as all of them. Any number of classes; no solver needed, for few tasks
/// (linear_bounds.hpp has the bound itself for many). Throws Error(bad_call) naming a task that no
/// worker can run. Cost: a step O((tasks + classes) x tasks x classes), usually about as many as
/// there are tasks and classes.
[[nodiscard]] inline std::vector<double> area_shares(ClassTimes const& times) {
  std::vector<double> shares;
  if (times.tasks() == 0) {
    return shares;
  }
  detail::AreaTableau const tableau(times);
  for (std::size_t v = 0; v < times.tasks(); ++v) {
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      shares.push_back(tableau.share(v, c));
    }
  }
  return shares;
}

} // namespace hetsched
