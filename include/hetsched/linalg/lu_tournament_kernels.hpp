// SPDX-License-Identifier: MIT
#pragma once
// Kernels of LU with tournament pivoting: choosing rows, and moving them between tiles.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::linalg::kernels {

/// In a list of rows: no more follow.
inline constexpr auto no_row = static_cast<std::size_t>(-1);

namespace detail {

template <class T>
using Plain = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
[[nodiscard]] TileView<T> view_of(Plain<T>& matrix) {
  auto const rows = static_cast<std::size_t>(matrix.rows());
  return {matrix.data(), rows, static_cast<std::size_t>(matrix.cols()), rows};
}

template <class T>
[[nodiscard]] TileView<T const> view_of(Plain<T> const& matrix) {
  auto const rows = static_cast<std::size_t>(matrix.rows());
  return {matrix.data(), rows, static_cast<std::size_t>(matrix.cols()), rows};
}

/// The pivots of a matrix that getrf cannot factorise beyond `column`, because of NaN or infinity:
/// those of the columns before it, a row that has such a number in this column then, and for the
/// columns after it no exchanges.
template <std::floating_point T>
void pivots_until(TileView<T const> a, std::size_t column, VectorView<std::size_t> pivots) {
  std::iota(pivots.begin(), pivots.end(), std::size_t{0});
  PivotFloor<T> floor{static_cast<double>(std::numeric_limits<T>::denorm_min())};
  for (;;) {
    Plain<T> work = as_eigen(a).leftCols(static_cast<Eigen::Index>(column + 1));
    auto const all = view_of(work);
    auto const left = block(all, 0, 0, a.rows(), column);
    if (auto const where = getrf(left, VectorView(pivots.data(), column), &floor)) {
      // With another number of columns, roundings differ.
      std::iota(pivots.begin(), pivots.end(), std::size_t{0});
      column = where->column;
      continue;
    }
    swap_rows(0, {pivots.data(), column}, block(all, 0, column, a.rows(), 1));
    auto const top = block(all, 0, column, column, 1);
    auto const rest = block(all, column, column, a.rows() - column, 1);
    trsm_unit(block(left, 0, 0, column, column), top);
    gemm<T>(T(-1), block(left, column, 0, a.rows() - column, column), top, T(1), rest);
    std::size_t at = 0;
    for (std::size_t i = 0; i < rest.rows(); ++i) {
      if (!std::isfinite(rest(i, 0))) {
        at = i;
        break;
      }
    }
    pivots[column] = column + at;
    return;
  }
}

} // namespace detail

/// The rows of A, m x n, in the order in which partial pivoting takes them: first its min(m, n)
/// pivots, then the others. A column without a pivot takes any row: a tournament goes on, as other
/// rows may have one. If there is NaN or infinity, a row that has it is the first after those that
/// partial pivoting takes before it meets it. m n^2 - n^3 / 3 flops, and a copy of A.
template <std::floating_point T>
[[nodiscard]] std::vector<std::size_t> order_rows(TileView<T const> a) {
  std::vector<std::size_t> pivots(std::min(a.rows(), a.cols()));
  VectorView const view(pivots.data(), pivots.size());
  PivotFloor<T> floor{static_cast<double>(std::numeric_limits<T>::denorm_min())};
  detail::Plain<T> work = as_eigen(a);
  if (auto const where = getrf(detail::view_of(work), view, &floor)) {
    detail::pivots_until(a, where->column, view);
  }
  std::vector<std::size_t> order(a.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    std::swap(order[k], order[pivots[k]]);
  }
  return order;
}

/// Rows that are left in a tournament for the pivots of w columns: their values, in the upper left
/// block of a tile, and their numbers in the matrix; after the last there is `no_row`, if the list
/// has more places.
template <class T>
struct Candidates {
  TileView<T> values;
  VectorView<std::size_t> rows;
};

/// How many there are.
[[nodiscard]] inline std::size_t count_rows(VectorView<std::size_t const> rows) noexcept {
  return static_cast<std::size_t>(std::find(rows.begin(), rows.end(), no_row) - rows.begin());
}

/// `count` rows of `width` columns one below the other, to be added first.
template <std::floating_point T>
class RowStack {
public:
  RowStack(std::size_t count, std::size_t width)
      : values_(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(width)) {
    rows_.reserve(count);
  }

  /// Rows `first`, first + 1, ... of the matrix.
  void add(TileView<T const> tile, std::size_t first) {
    put(tile);
    for (std::size_t i = 0; i < tile.rows(); ++i) {
      rows_.push_back(first + i);
    }
  }

  void add(TileView<T const> values, VectorView<std::size_t const> rows, std::size_t count) {
    put(block(values, 0, 0, count, static_cast<std::size_t>(values_.cols())));
    rows_.insert(rows_.end(), rows.begin(), rows.begin() + count);
  }

  /// Of all rows, those that win: as many as there are columns, or all, and in the order in which
  /// partial pivoting takes them.
  void choose(Candidates<T> const& winners) const {
    HETSCHED_ASSERT(rows_.size() == static_cast<std::size_t>(values_.rows()), "rows are missing");
    auto const order = order_rows<T>(detail::view_of(values_));
    auto const width = static_cast<std::size_t>(values_.cols());
    auto const count = std::min(order.size(), width);
    HETSCHED_ASSERT(count <= winners.rows.size() && width <= winners.values.cols(), "shapes");
    for (std::size_t j = 0; j < width; ++j) {
      T const* const column = values_.data() + j * rows_.size();
      for (std::size_t i = 0; i < count; ++i) {
        winners.values(i, j) = column[order[i]];
      }
    }
    for (std::size_t i = 0; i < winners.rows.size(); ++i) {
      winners.rows[i] = i < count ? rows_[order[i]] : no_row;
    }
  }

private:
  void put(TileView<T const> block) {
    values_.middleRows(static_cast<Eigen::Index>(rows_.size()),
                       static_cast<Eigen::Index>(block.rows())) = as_eigen(block);
  }

  detail::Plain<T> values_;
  std::vector<std::size_t> rows_;
};

/// What the exchanges of a panel do to the rows of the matrix, for a panel of w columns whose first
/// row is `first`. In memory it is 3 w numbers.
template <class Number>
class PanelPermutation {
public:
  PanelPermutation(std::size_t first, VectorView<Number> numbers)
      : first_(first), width_(numbers.size() / 3), numbers_(numbers) {}

  [[nodiscard]] std::size_t size() const noexcept { return width_; }

  /// As LAPACK's ipiv: for t = 0, 1, ..., row first + t was exchanged with row pivot(t).
  [[nodiscard]] Number& pivot(std::size_t t) const { return numbers_[t]; }

  /// The row that goes to first + t.
  [[nodiscard]] Number& winner(std::size_t t) const { return numbers_[width_ + t]; }

  /// Where row first + t goes.
  [[nodiscard]] Number& place(std::size_t t) const { return numbers_[2 * width_ + t]; }

  /// Whether a row is one of those from first on that winners go to.
  [[nodiscard]] bool is_on_top(std::size_t row) const noexcept { return row < first_ + width_; }

  /// From the winners, in the order in which they are the pivots. O(w).
  void make(VectorView<std::size_t const> winners) const {
    std::vector<std::size_t> content(width_); // the row that is at first + t now
    for (std::size_t t = 0; t < width_; ++t) {
      content[t] = first_ + t;
      place(t) = first_ + t;
      winner(t) = winners[t];
    }
    for (std::size_t t = 0; t < width_; ++t) {
      // A row below stays where it is until it wins. So what is at first + t now was on top in the
      // beginning, and only for rows that were is it noted where they are.
      auto const from = is_on_top(winners[t]) ? place(winners[t] - first_) : winners[t];
      auto const displaced = content[t];
      pivot(t) = from;
      place(displaced - first_) = from;
      if (is_on_top(winners[t])) {
        place(winners[t] - first_) = first_ + t;
      }
      if (is_on_top(from)) {
        content[from - first_] = displaced;
      }
      content[t] = winners[t];
    }
  }

private:
  std::size_t first_;
  std::size_t width_;
  VectorView<Number> numbers_;
};

/// A row of one tile that goes to a row of another, or of the same: the addresses of their first
/// elements, and the leading dimensions.
template <class T>
struct RowMove {
  T const* from;
  std::size_t from_ld;
  T* to;
  std::size_t to_ld;
};

/// Moves rows of so many elements, all at once: a row may be overwritten by one move and be the
/// source of another. By groups of columns, as a row's elements are far from each other.
template <class T>
void move_rows(std::span<RowMove<T> const> moves, std::size_t cols) {
  if (moves.empty() || detail::on_team(cols, [&](std::size_t begin, std::size_t end) {
        std::vector<RowMove<T>> part(moves.begin(), moves.end());
        for (auto& move : part) {
          move.from += begin * move.from_ld;
          move.to += begin * move.to_ld;
        }
        move_rows<T>(part, end - begin);
      })) {
    return;
  }
  constexpr std::size_t most = 8;
  std::vector<T> copies(most * moves.size());
  for (std::size_t j = 0; j < cols; j += most) {
    auto const count = std::min(most, cols - j);
    T* copy = copies.data();
    for (auto const& move : moves) {
      for (std::size_t c = 0; c < count; ++c) {
        copy[c] = move.from[(j + c) * move.from_ld];
      }
      copy += most;
    }
    copy = copies.data();
    for (auto const& move : moves) {
      for (std::size_t c = 0; c < count; ++c) {
        move.to[(j + c) * move.to_ld] = copy[c];
      }
      copy += most;
    }
  }
}

} // namespace hetsched::linalg::kernels
