// SPDX-License-Identifier: MIT
#pragma once
// A dense matrix in tiles, which several ranks share.

#include <hetsched/cluster/distributed_handle.hpp>
#include <hetsched/cluster/distribution.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched {

/// A rows x cols matrix of tiles of `tile` x `tile` elements, the last row and column of them
/// ragged, for algorithms on a DistributedRuntime, such as linalg::cholesky. Each rank allocates
/// the tiles that are at home there, each contiguous, with elements of value T(). Registration is
/// collective, in column-major order of the tiles, and costs O(tiles) on every rank.
///
///     hs::DistributedMatrix<double> a(rt, n, n, 320, hs::BlockCyclic{2, 2});
///     a.fill([](std::size_t i, std::size_t j) { return i == j ? n : 1.0 / (i + j + 1); });
///     hs::linalg::cholesky(rt, a);
///     rt.sync();
///
/// It must outlive the tasks that were spawned on its tiles: `rt.sync()` before it goes. Move-only.
template <class T>
class DistributedMatrix {
public:
  using Element = T;
  using Tile = DistributedHandle<TileView<T>>;

  /// Throws Error: bad_data (tile == 0), bad_call (the distribution names a rank that does not
  /// exist).
  template <class Rt, Distribution D>
  DistributedMatrix(Rt& rt, std::size_t rows, std::size_t cols, std::size_t tile, D const& where)
      : rows_(rows), cols_(cols), tile_(tile), rank_(rt.rank()) {
    if (tile == 0) {
      throw Error(ErrorCode::bad_data, "DistributedMatrix", "tile size is 0");
    }
    tiles_.reserve(tile_rows() * tile_cols());
    own_.resize(tile_rows() * tile_cols());
    for (std::size_t j = 0; j < tile_cols(); ++j) {
      for (std::size_t i = 0; i < tile_rows(); ++i) {
        auto const home = detail::rank_in(where, i, j);
        auto const height = std::min(tile, rows - i * tile);
        auto const width = std::min(tile, cols - j * tile);
        auto& own = own_[i + j * tile_rows()];
        if (home == rank_) {
          own = std::make_unique<T[]>(height * width);
        }
        tiles_.push_back(rt.data(home, own.get(), height, width, height));
      }
    }
  }

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t cols() const noexcept { return cols_; }

  [[nodiscard]] std::size_t tile_size() const noexcept { return tile_; }

  /// Tiles in a column of the grid.
  [[nodiscard]] std::size_t tile_rows() const noexcept { return (rows_ + tile_ - 1) / tile_; }

  /// Tiles in a row of the grid.
  [[nodiscard]] std::size_t tile_cols() const noexcept { return (cols_ + tile_ - 1) / tile_; }

  /// The tile in row i and column j of the grid.
  [[nodiscard]] Tile const& operator()(std::size_t i, std::size_t j) const noexcept {
    HETSCHED_ASSERT(i < tile_rows() && j < tile_cols(), "no such tile");
    return tiles_[i + j * tile_rows()];
  }

  /// Whether the tile is at home on this rank.
  [[nodiscard]] bool is_here(std::size_t i, std::size_t j) const noexcept {
    return (*this)(i, j).home() == rank_;
  }

  /// The elements of a tile that `is_here`, to be read and written after a sync of the runtime and
  /// until the next spawn on the tile.
  [[nodiscard]] TileView<T> here(std::size_t i, std::size_t j) const noexcept {
    auto const& tile = (*this)(i, j);
    HETSCHED_ASSERT(tile.home() == rank_, "the tile is at home elsewhere");
    return {own_[i + j * tile_rows()].get(), tile.rows(), tile.cols(), tile.rows()};
  }

  /// Element (i, j) := f(i, j), on each rank those that are there.
  template <class F>
  void fill(F const& f) const {
    for (std::size_t tj = 0; tj < tile_cols(); ++tj) {
      for (std::size_t ti = 0; ti < tile_rows(); ++ti) {
        if (!is_here(ti, tj)) {
          continue;
        }
        auto const tile = here(ti, tj);
        for (std::size_t j = 0; j < tile.cols(); ++j) {
          for (std::size_t i = 0; i < tile.rows(); ++i) {
            tile(i, j) = f(ti * tile_ + i, tj * tile_ + j);
          }
        }
      }
    }
  }

private:
  std::size_t rows_;
  std::size_t cols_;
  std::size_t tile_;
  std::int32_t rank_;
  std::vector<std::unique_ptr<T[]>> own_; // null: at home elsewhere
  std::vector<Tile> tiles_;               // go before their memory
};

} // namespace hetsched
