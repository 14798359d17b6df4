// SPDX-License-Identifier: MIT
#pragma once
// Solving with the factors: up the tree of fronts, and down.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/sweep_kernels.hpp>
#include <hetsched/detail/sparse/units.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// What the sweeps of one solve share. Units of different branches of the tree may be worked on at
/// a time.
template <class T, Form F>
class Sweeps {
public:
  using Block = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

  /// For right-hand sides in `x`, in the order of the permuted matrix, which become solutions; with
  /// the transposed matrix if so.
  Sweeps(Fronts const& plan, Units const& units, Numbers<T, F>& numbers, Block& x, bool transposed)
      : plan_(plan), units_(units), numbers_(numbers),
        x_(x.data(), std::size_t(x.rows()), std::size_t(x.cols()), std::size_t(x.rows())),
        transposed_(transposed), outs_(units.units.size()) {}

  /// From the leaves to the root.
  void up(Index u) {
    auto const& unit = units_.units[at(u)];
    auto const end = plan_.nodes.first[at(unit.end)];
    auto& out = outs_[at(u)];
    auto const out_rows = unit.parent == no_index ? 0 : plan_.fronts[at(unit.parent)].size();
    std::vector<Index> where;
    if (unit.parent != no_index) {
      out.assign(out_rows * x_.cols(), T(0));
      where = places_above(unit.parent, end);
    }
    std::vector<T> space;
    for (auto s = unit.begin; s < unit.end; ++s) {
      auto const& front = plan_.fronts[at(s)];
      auto const own = rows_of(front);
      auto const below = room(front.m, space);
      std::fill(space.begin(), space.end(), T(0));
      for (auto const child : units_.children[at(u)]) { // of the unit's only front
        auto& given = outs_[at(child)];
        for (std::size_t j = 0; j < x_.cols(); ++j) {
          auto const* const from = given.data() + j * front.size();
          add(from, front.w, own.data() + j * own.ld());
          add(from + front.w, front.m, below.data() + j * below.ld());
        }
        given = {};
      }
      transposed_ ? up_transposed(front, own, below) : up_front(front, own, below);
      auto const rows = plan_.below(s);
      for (std::size_t j = 0; j < x_.cols(); ++j) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          if (rows[r] < end) {
            x_(at(rows[r]), j) += below(r, j);
          } else {
            out[at(where[at(rows[r] - end)]) + j * out_rows] += below(r, j);
          }
        }
      }
    }
  }

  /// From the root to the leaves.
  void down(Index u) {
    auto const& unit = units_.units[at(u)];
    std::vector<T> space;
    for (auto s = unit.end; s-- > unit.begin;) {
      auto const& front = plan_.fronts[at(s)];
      auto const own = rows_of(front);
      auto const rows = plan_.below(s);
      auto const below = room(front.m, space);
      for (std::size_t j = 0; j < x_.cols(); ++j) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          below(r, j) = x_(at(rows[r]), j);
        }
      }
      transposed_ ? down_transposed(front, own, below) : down_front(front, own, below);
    }
  }

private:
  using Tile = TileView<T>;

  /// As many columns as there are right-hand sides, in `space`.
  [[nodiscard]] Tile room(std::size_t rows, std::vector<T>& space) const {
    space.resize(rows * x_.cols());
    return {space.data(), rows, x_.cols(), rows};
  }

  static void add(T const* from, std::size_t count, T* to) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      to[i] += from[i];
    }
  }

  [[nodiscard]] Tile rows_of(Front const& front) const {
    return {x_.data() + front.first, front.w, x_.cols(), x_.ld()};
  }

  /// Of the columns from `end` on: their places in front p.
  [[nodiscard]] std::vector<Index> places_above(Index p, Index end) const {
    std::vector<Index> where(at(plan_.nodes.columns() - end), no_index);
    auto const& front = plan_.fronts[at(p)];
    for (std::size_t j = 0; j < front.w; ++j) {
      if (front.first + static_cast<Index>(j) >= end) {
        where[at(front.first - end) + j] = static_cast<Index>(j);
      }
    }
    auto const rows = plan_.below(p);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      where[at(rows[r] - end)] = static_cast<Index>(front.w + r);
    }
    return where;
  }

  [[nodiscard]] Tile square(Front const& front) const {
    return {numbers_.of(front), front.w, front.w, front.w};
  }

  [[nodiscard]] Tile upper(Front const& front) const {
    return {numbers_.of(front) + front.upper(), front.w, front.m, front.w};
  }

  /// Of the columns of F11: the triangle of a panel, and what is below it.
  [[nodiscard]] auto panel(Front const& front, std::size_t k) const {
    auto const first = front.panels.begin(k);
    auto const width = front.panels.size(k);
    auto const f11 = square(front);
    auto const next = first + width;
    using linalg::kernels::block;
    return std::pair(block(f11, first, first, width, width),
                     block(f11, next, first, front.w - next, width));
  }

  /// The rows of a panel, and those of F11 below it.
  [[nodiscard]] auto rows_of_panel(Front const& front, std::size_t k, Tile own) const {
    auto const first = front.panels.begin(k);
    auto const next = front.panels.begin(k + 1);
    using linalg::kernels::block;
    return std::pair(block(own, first, 0, next - first, own.cols()),
                     block(own, next, 0, front.w - next, own.cols()));
  }

  /// Those of block i below F11.
  [[nodiscard]] static Tile rows_of_block(Front const& front, std::size_t i, Tile below) {
    return linalg::kernels::block(
        below, front.blocks.begin(i), 0, front.blocks.size(i), below.cols());
  }

  /// The rows with which those of panel k were exchanged, among the rows of the front.
  [[nodiscard]] std::span<std::size_t const> pivots(Front const& front, std::size_t k) const {
    return {numbers_.pivots.data() + front.first + front.panels.begin(k), front.panels.size(k)};
  }

  /// Undoes swap_rows.
  void exchange_back(Front const& front, std::size_t k, Tile own) const {
    auto const with = pivots(front, k);
    for (std::size_t j = 0; j < own.cols(); ++j) {
      for (auto i = with.size(); i-- > 0;) {
        std::swap(own(front.panels.begin(k) + i, j), own(with[i], j));
      }
    }
  }

  static constexpr auto lower_triangle =
      F == Form::symmetric ? Triangle::lower : Triangle::unit_lower;

  void up_front(Front const& front, Tile own, Tile below) const {
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      if constexpr (F == Form::general) {
        auto const with = pivots(front, k);
        linalg::kernels::swap_rows<T>(front.panels.begin(k), {with.data(), with.size()}, own);
      }
      auto const [triangle, under] = panel(front, k);
      auto const [top, rest] = rows_of_panel(front, k, own);
      solve_triangle<T>(triangle, lower_triangle, false, top);
      subtract_product<T>(under, false, top, rest);
    }
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      subtract_product<T>(numbers_.lower(front, i), false, own, rows_of_block(front, i, below));
    }
  }

  void down_front(Front const& front, Tile own, Tile below) const {
    if constexpr (F == Form::symmetric) {
      down_transposed(front, own, below);
    } else {
      subtract_product<T>(upper(front), false, below, own);
      solve_triangle<T>(square(front), Triangle::upper, false, own);
    }
  }

  void up_transposed(Front const& front, Tile own, Tile below) const {
    if constexpr (F == Form::symmetric) {
      up_front(front, own, below);
    } else {
      solve_triangle<T>(square(front), Triangle::upper, true, own);
      subtract_product<T>(upper(front), true, own, below);
    }
  }

  void down_transposed(Front const& front, Tile own, Tile below) const {
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      subtract_product<T>(numbers_.lower(front, i), true, rows_of_block(front, i, below), own);
    }
    for (auto k = front.panels.count; k-- > 0;) {
      auto const [triangle, under] = panel(front, k);
      auto const [top, rest] = rows_of_panel(front, k, own);
      subtract_product<T>(under, true, rest, top);
      solve_triangle<T>(triangle, lower_triangle, true, top);
      if constexpr (F == Form::general) {
        exchange_back(front, k, own);
      }
    }
  }

  Fronts const& plan_;
  Units const& units_;
  Numbers<T, F>& numbers_;
  Tile x_;
  bool transposed_;
  std::vector<std::vector<T>> outs_; // of each unit, in its parent's places, by columns
};

} // namespace hetsched::sparse::detail
