// SPDX-License-Identifier: MIT
#pragma once
// The row exchanges of LU with tournament pivoting, and the memory that finding them takes.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::linalg {

namespace detail {

/// The tiles of one column of the grid by the rank where they are at home.
struct ColumnHomes {
  struct Group {
    std::int32_t rank;
    std::vector<std::size_t> tile_rows; // upwards

    /// How many of them are above a tile row.
    [[nodiscard]] std::size_t above(std::size_t k) const noexcept {
      return static_cast<std::size_t>(std::lower_bound(tile_rows.begin(), tile_rows.end(), k) -
                                      tile_rows.begin());
    }

    /// Whether some are not.
    [[nodiscard]] bool reaches(std::size_t k) const noexcept { return tile_rows.back() >= k; }
  };

  struct Member {
    std::uint32_t group; // of the tile in this row
    std::uint32_t place; // in the group
  };

  std::vector<Group> groups;
  std::vector<Member> members; // by tile row

  void add(std::int32_t rank) {
    auto const same = [rank](Group const& group) { return group.rank == rank; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({rank, {}});
      found = groups.end() - 1;
    }
    members.push_back({static_cast<std::uint32_t>(found - groups.begin()),
                       static_cast<std::uint32_t>(found->tile_rows.size())});
    found->tile_rows.push_back(members.size() - 1);
  }

  [[nodiscard]] std::int32_t home(std::size_t i) const { return groups[members[i].group].rank; }
};

} // namespace detail

/// The row exchanges of a factorisation by `lu_tournament`, one after the other: for k = 0, 1, ...,
/// size() - 1, row k was exchanged with row [k]. On several ranks every rank has all of them.
/// Readable after `rt.sync()`, if that did not throw, and until the next call.
///
///     hs::linalg::TournamentPivots pivots(rt, a); // a TiledMatrix or DistributedMatrix
///     hs::linalg::lu_tournament(rt, a, pivots);
///     rt.sync();
///
/// It must outlive the tasks that use it, is move-only, and is made outside `Runtime::capture`; on
/// several ranks by all of them. It may be used again, for any matrix whose shape, tiles and homes
/// are those of `a`. Not thread-safe.
///
/// Has room for a block of n x tile candidates, where several ranks share a row of tiles on each of
/// them for its part; n + 3 n row numbers; and, where several ranks share a column of tiles, a tile
/// for each column and rank. O(N^2) numbers on N = ceil(n / tile) on every rank.
template <tiled_matrix A>
class TournamentPivots {
  static_assert(detail::is_column_major<A>, "hetsched: lu_tournament needs a column-major matrix");

public:
  using Element = typename A::Element;
  using Tile = typename A::Tile;
  using RowsHandle = typename hetsched::detail::OfSameKind<Tile, RowIndices>::Type;

  /// For matrices as `a`; not square ones cannot be factorised.
  template <class Rt>
  TournamentPivots(Rt& rt, A const& a)
      : rows_(std::min(a.rows(), a.cols())), tile_(a.tile_size()),
        rank_(hetsched::detail::rank_of(rt)) {
    auto const count = std::min(a.tile_rows(), a.tile_cols());
    columns_.resize(count);
    buffers_.resize(count);
    candidates_.resize(count);
    for (std::size_t j = 0; j < count; ++j) {
      for (std::size_t i = 0; i < count; ++i) {
        columns_[j].add(hetsched::detail::home_of(a(i, j)));
      }
      if (auto const& groups = columns_[j].groups; groups.size() > 1) {
        for (auto const& group : groups) {
          buffers_[j].emplace_back(rt, group.rank, tile_, a(0, j).cols());
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k <= i; ++k) {
        auto const home = columns_[k].home(i);
        if (find(i, home) == nullptr) {
          candidates_[i].emplace_back(rt, home, tile_);
        }
      }
      permutations_.emplace_back(rt, columns_[i].home(i), 3 * height(i));
    }
    for (std::int32_t r = 0; r < hetsched::detail::ranks_of(rt) && count > 0; ++r) {
      all_.emplace_back(rt, r, rows_);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return rows_; }

  [[nodiscard]] std::size_t operator[](std::size_t k) const noexcept {
    HETSCHED_ASSERT(k < rows_, "no such row");
    return all_[static_cast<std::size_t>(rank_)].memory()[k];
  }

  /// M := P M, for an Eigen matrix or vector M of as many rows as the factorised matrix.
  template <detail::dense_matrix M>
  void exchange_rows(M& matrix) const {
    HETSCHED_ASSERT(static_cast<std::size_t>(matrix.rows()) == rows_, "shapes");
    detail::exchange_rows(matrix, *this);
  }

  // ---- for the library ----

  /// Rows that are left in a tournament: their values, a tile of which the upper left part is used,
  /// and their numbers.
  struct Candidates {
    std::int32_t home;
    hetsched::detail::HomeMemory<Tile, TileView<Element>> values;
    hetsched::detail::HomeMemory<Tile, RowIndices> rows;

    template <class Rt>
    Candidates(Rt& rt, std::int32_t rank, std::size_t tile)
        : home(rank), values(rt, rank, tile, tile), rows(rt, rank, tile) {}
  };

  /// Where tile row i has them for the pivots of column k.
  [[nodiscard]] Candidates const& candidates(std::size_t i, std::size_t k) const {
    return *find(i, columns_[k].home(i));
  }

  /// See kernels::PanelPermutation.
  [[nodiscard]] RowsHandle const& permutation(std::size_t k) const {
    return permutations_[k].handle();
  }

  [[nodiscard]] detail::ColumnHomes const& column(std::size_t j) const { return columns_[j]; }

  /// Rows of tile column j that leave the tiles of a group, if there are several.
  [[nodiscard]] Tile const& buffer(std::size_t j, std::size_t group) const {
    return buffers_[j][group].handle();
  }

  /// All pivots, for a rank.
  [[nodiscard]] RowsHandle const& all(std::size_t rank) const { return all_[rank].handle(); }

  /// All panels' permutations.
  [[nodiscard]] std::vector<RowsHandle> permutations() const {
    std::vector<RowsHandle> handles;
    handles.reserve(permutations_.size());
    for (auto const& one : permutations_) {
      handles.push_back(one.handle());
    }
    return handles;
  }

  /// Whether they were made for a matrix as this square one.
  [[nodiscard]] bool fit(A const& a) const {
    if (rows_ != a.rows() || tile_ != a.tile_size()) {
      return false;
    }
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[j].home(i) != hetsched::detail::home_of(a(i, j))) {
          return false;
        }
      }
    }
    return true;
  }

private:
  [[nodiscard]] std::size_t height(std::size_t k) const {
    return std::min(tile_, rows_ - k * tile_);
  }

  [[nodiscard]] Candidates const* find(std::size_t i, std::int32_t home) const {
    for (auto const& some : candidates_[i]) {
      if (some.home == home) {
        return &some;
      }
    }
    return nullptr;
  }

  std::size_t rows_;
  std::size_t tile_;
  std::int32_t rank_;
  std::vector<detail::ColumnHomes> columns_;
  std::vector<std::vector<hetsched::detail::HomeMemory<Tile, TileView<Element>>>>
      buffers_;                                     // by group
  std::vector<std::vector<Candidates>> candidates_; // by tile row
  std::vector<hetsched::detail::HomeMemory<Tile, RowIndices>> permutations_;
  std::vector<hetsched::detail::HomeMemory<Tile, RowIndices>> all_; // by rank
};

template <class Rt, tiled_matrix A>
TournamentPivots(Rt&, A const&) -> TournamentPivots<A>;

} // namespace hetsched::linalg
