// SPDX-License-Identifier: MIT
#pragma once
// Solving with the factors: up the tree of fronts, and down.

#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/units.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <vector>

namespace hetsched::sparse::detail {

/// What the sweeps of one solve share. `Columns` is 1 or Eigen::Dynamic. Units of different
/// branches of the tree may be worked on at a time.
template <class T, int Columns, Form F>
class Sweeps {
public:
  using Block = Eigen::Matrix<T, Eigen::Dynamic, Columns>;

  /// For right-hand sides in `x`, in the order of the permuted matrix, which become solutions; with
  /// the transposed matrix if so.
  Sweeps(Fronts const& plan, Units const& units, Numbers<T, F>& numbers, Block& x, bool transposed)
      : plan_(plan), units_(units), numbers_(numbers), x_(x), transposed_(transposed),
        outs_(units.units.size()) {}

  /// From the leaves to the root.
  void up(Index u) {
    auto const& unit = units_.units[at(u)];
    auto const end = plan_.nodes.first[at(unit.end)];
    auto& out = outs_[at(u)];
    std::vector<Index> where;
    if (unit.parent != no_index) {
      auto const& parent = plan_.fronts[at(unit.parent)];
      out = Block::Zero(index(parent.size()), x_.cols());
      where = places_above(unit.parent, end);
    }
    for (auto s = unit.begin; s < unit.end; ++s) {
      auto const& front = plan_.fronts[at(s)];
      auto own = x_.middleRows(front.first, index(front.w));
      Block below = Block::Zero(index(front.m), x_.cols());
      for (auto const child : units_.children[at(u)]) { // of the unit's only front
        auto& given = outs_[at(child)];
        own += given.topRows(index(front.w));
        below += given.bottomRows(index(front.m));
        given.resize(0, x_.cols());
      }
      transposed_ ? up_transposed(front, own, below) : up_front(front, own, below);
      auto const rows = plan_.below(s);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r] < end) {
          x_.row(rows[r]) += below.row(index(r));
        } else {
          out.row(where[at(rows[r] - end)]) += below.row(index(r));
        }
      }
    }
  }

  /// From the root to the leaves.
  void down(Index u) {
    auto const& unit = units_.units[at(u)];
    for (auto s = unit.end; s-- > unit.begin;) {
      auto const& front = plan_.fronts[at(s)];
      auto own = x_.middleRows(front.first, index(front.w));
      auto const rows = plan_.below(s);
      Block below(index(front.m), x_.cols());
      for (std::size_t r = 0; r < rows.size(); ++r) {
        below.row(index(r)) = x_.row(rows[r]);
      }
      transposed_ ? down_transposed(front, own, below) : down_front(front, own, below);
    }
  }

private:
  using Rows = Eigen::Block<Block, Eigen::Dynamic, Columns>;

  template <class Size>
  [[nodiscard]] static Eigen::Index index(Size value) {
    return static_cast<Eigen::Index>(value);
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

  [[nodiscard]] auto square(Front const& front) const {
    return linalg::kernels::as_eigen(TileView<T>(numbers_.of(front), front.w, front.w, front.w));
  }

  [[nodiscard]] auto upper(Front const& front) const {
    return linalg::kernels::as_eigen(
        TileView<T>(numbers_.of(front) + front.upper(), front.w, front.m, front.w));
  }

  [[nodiscard]] auto lower(Front const& front, std::size_t i) const {
    return linalg::kernels::as_eigen(numbers_.lower(front, i));
  }

  void exchange(Front const& front, std::size_t k, Rows& own, bool back) const {
    auto const* const pivots = numbers_.pivots.data() + front.first;
    auto const first = front.panels.begin(k);
    auto const last = front.panels.begin(k + 1);
    for (auto i = first; i < last; ++i) {
      auto const row = back ? first + last - 1 - i : i;
      if (pivots[row] != row) {
        own.row(index(row)).swap(own.row(index(pivots[row])));
      }
    }
  }

  void up_front(Front const& front, Rows& own, Block& below) const {
    auto const f11 = square(front);
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      auto const first = index(front.panels.begin(k));
      auto const width = index(front.panels.size(k));
      auto const rest = index(front.w) - first - width;
      if constexpr (F == Form::general) {
        exchange(front, k, own, false);
      }
      auto top = own.middleRows(first, width);
      auto const triangle = f11.block(first, first, width, width);
      if constexpr (F == Form::symmetric) {
        triangle.template triangularView<Eigen::Lower>().solveInPlace(top);
      } else {
        triangle.template triangularView<Eigen::UnitLower>().solveInPlace(top);
      }
      own.bottomRows(rest).noalias() -= f11.block(first + width, first, rest, width) * top;
    }
    for (std::size_t i = 0; i < front.blocks.count && front.m > 0; ++i) {
      below.middleRows(index(front.blocks.begin(i)), index(front.blocks.size(i))).noalias() -=
          lower(front, i) * own;
    }
  }

  void down_front(Front const& front, Rows& own, Block& below) const {
    if constexpr (F == Form::symmetric) {
      down_transposed(front, own, below);
      return;
    }
    own.noalias() -= upper(front) * below;
    square(front).template triangularView<Eigen::Upper>().solveInPlace(own);
  }

  void up_transposed(Front const& front, Rows& own, Block& below) const {
    if constexpr (F == Form::symmetric) {
      up_front(front, own, below);
      return;
    }
    square(front).transpose().template triangularView<Eigen::Lower>().solveInPlace(own);
    below.noalias() -= upper(front).transpose() * own;
  }

  void down_transposed(Front const& front, Rows& own, Block& below) const {
    for (std::size_t i = 0; i < front.blocks.count && front.m > 0; ++i) {
      own.noalias() -= lower(front, i).transpose() *
                       below.middleRows(index(front.blocks.begin(i)), index(front.blocks.size(i)));
    }
    auto const f11 = square(front);
    for (auto k = front.panels.count; k-- > 0;) {
      auto const first = index(front.panels.begin(k));
      auto const width = index(front.panels.size(k));
      auto const rest = index(front.w) - first - width;
      auto top = own.middleRows(first, width);
      top.noalias() -=
          f11.block(first + width, first, rest, width).transpose() * own.bottomRows(rest);
      auto const triangle = f11.block(first, first, width, width).transpose();
      if constexpr (F == Form::symmetric) {
        triangle.template triangularView<Eigen::Upper>().solveInPlace(top);
      } else {
        triangle.template triangularView<Eigen::UnitUpper>().solveInPlace(top);
        exchange(front, k, own, true);
      }
    }
  }

  Fronts const& plan_;
  Units const& units_;
  Numbers<T, F>& numbers_;
  Block& x_;
  bool transposed_;
  std::vector<Block> outs_; // of each unit, in its parent's places
};

} // namespace hetsched::sparse::detail
