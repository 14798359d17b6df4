// SPDX-License-Identifier: MIT
#pragma once
// What sweeps do with the parts of a front.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/sweep_kernels.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include <cstddef>
#include <utility>

namespace hetsched::sparse::detail {

/// Solving with A, or with its transpose, is a sweep up the tree with L, or U^T, and one down with
/// U, or L^T. Of a front, `own` are the right-hand sides' rows of the supernode, w x columns, and
/// `below` those of a block below.
template <class T, Form F>
class FrontSweeps {
public:
  FrontSweeps(Numbers<T, F>& numbers, bool transposed)
      : numbers_(numbers), upper_up_(F == Form::general && transposed),
        upper_down_(F == Form::general && !transposed) {}

  /// Whether the blocks of F12, not those of F21, are used.
  [[nodiscard]] bool takes_upper(bool up) const noexcept { return up ? upper_up_ : upper_down_; }

  /// Panels upwards, k = 0, 1, ...
  void up_panel(Front const& front, std::size_t k, TileView<T> own) const {
    auto const parts = parts_of(front, k, own);
    if (upper_up_) {
      subtract_product<T>(parts.above, true, parts.rows_above, parts.rows);
      solve_triangle<T>(parts.triangle, Triangle::upper, true, parts.rows);
      return;
    }
    if constexpr (F == Form::general) {
      linalg::kernels::swap_rows(front.panels.begin(k), numbers_.pivots_of(front, k), own);
    }
    solve_triangle<T>(parts.triangle, lower_triangle, false, parts.rows);
    subtract_product<T>(parts.under, false, parts.rows, parts.rows_under);
  }

  /// After all panels.
  void up_block(Front const& front, std::size_t i, TileView<T const> own, TileView<T> below) const {
    subtract_product<T>(block(front, i, upper_up_), upper_up_, own, below);
  }

  /// Before the panels.
  void
  down_block(Front const& front, std::size_t i, TileView<T const> below, TileView<T> own) const {
    subtract_product<T>(block(front, i, upper_down_), !upper_down_, below, own);
  }

  /// Panels downwards, from the last.
  void down_panel(Front const& front, std::size_t k, TileView<T> own) const {
    auto const parts = parts_of(front, k, own);
    if (upper_down_) {
      solve_triangle<T>(parts.triangle, Triangle::upper, false, parts.rows);
      subtract_product<T>(parts.above, false, parts.rows, parts.rows_above);
      return;
    }
    subtract_product<T>(parts.under, true, parts.rows_under, parts.rows);
    solve_triangle<T>(parts.triangle, lower_triangle, true, parts.rows);
    if constexpr (F == Form::general) {
      exchange_back(front, k, own);
    }
  }

  /// A whole front, with all rows below it.
  void up(Front const& front, TileView<T> own, TileView<T> below) const {
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      up_panel(front, k, own);
    }
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      up_block(front, i, own, rows_of_block(front, i, below));
    }
  }

  void down(Front const& front, TileView<T> own, TileView<T> below) const {
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      down_block(front, i, rows_of_block(front, i, below), own);
    }
    for (auto k = front.panels.count; k-- > 0;) {
      down_panel(front, k, own);
    }
  }

private:
  static constexpr auto lower_triangle =
      F == Form::symmetric ? Triangle::lower : Triangle::unit_lower;

  /// Of the columns of F11 that are in a panel, and of the rows of right-hand sides.
  struct Parts {
    TileView<T> above;
    TileView<T> triangle;
    TileView<T> under;
    TileView<T> rows_above;
    TileView<T> rows;
    TileView<T> rows_under;
  };

  [[nodiscard]] Parts parts_of(Front const& front, std::size_t k, TileView<T> own) const {
    auto const panel = numbers_.panel(front, k);
    auto const first = front.panels.begin(k);
    auto const width = panel.cols();
    auto const next = first + width;
    auto const rest = front.w - next;
    using linalg::kernels::block;
    return {block(panel, 0, 0, first, width),
            block(panel, first, 0, width, width),
            block(panel, next, 0, rest, width),
            block(own, 0, 0, first, own.cols()),
            block(own, first, 0, width, own.cols()),
            block(own, next, 0, rest, own.cols())};
  }

  [[nodiscard]] TileView<T> block(Front const& front, std::size_t i, bool upper) const {
    return upper ? numbers_.upper(front, i) : numbers_.lower(front, i);
  }

  [[nodiscard]] static TileView<T>
  rows_of_block(Front const& front, std::size_t i, TileView<T> below) {
    return linalg::kernels::block(
        below, front.blocks.begin(i), 0, front.blocks.size(i), below.cols());
  }

  /// Undoes swap_rows.
  void exchange_back(Front const& front, std::size_t k, TileView<T> own) const {
    auto const with = numbers_.pivots_of(front, k);
    for (std::size_t j = 0; j < own.cols(); ++j) {
      for (auto i = with.size(); i-- > 0;) {
        std::swap(own(front.panels.begin(k) + i, j), own(with[i], j));
      }
    }
  }

  Numbers<T, F>& numbers_;
  bool upper_up_;
  bool upper_down_;
};

} // namespace hetsched::sparse::detail
