// SPDX-License-Identifier: MIT
#pragma once
// Solving with the factors: up the tree of fronts, and down.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/sparse/front_sweeps.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
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
      : plan_(plan), units_(units),
        x_(x.data(), std::size_t(x.rows()), std::size_t(x.cols()), std::size_t(x.rows())),
        fronts_(numbers, transposed), outs_(units.units.size()) {}

  /// From the leaves to the root.
  void up(Index u) {
    auto const& unit = units_.units[at(u)];
    auto const end = plan_.nodes.first[at(unit.end)];
    auto& out = outs_[at(u)];
    auto const out_rows = unit.parent == no_index ? 0 : plan_.fronts[at(unit.parent)].size();
    out.assign(out_rows * x_.cols(), T(0));
    ParentPlaces const parent(plan_, unit.parent, end);
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
      fronts_.up(front, own, below);
      auto const rows = plan_.below(s);
      for (std::size_t j = 0; j < x_.cols(); ++j) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          if (rows[r] < end) {
            x_(at(rows[r]), j) += below(r, j);
          } else {
            out[parent[rows[r]] + j * out_rows] += below(r, j);
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
      fronts_.down(front, own, below);
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

  Fronts const& plan_;
  Units const& units_;
  Tile x_;
  FrontSweeps<T, F> fronts_;
  std::vector<std::vector<T>> outs_; // of each unit, in its parent's places, by columns
};

} // namespace hetsched::sparse::detail
