// SPDX-License-Identifier: MIT
#pragma once
// Poisson's equation on a grid whose tiles several ranks share.

#include <hetsched/cluster/distributed_matrix.hpp>
#include <hetsched/stencil/kernels.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace hetsched::stencil {

/// The system of PoissonGrid on a DistributedRuntime, for stencil::jacobi and squared_residual. A
/// tile has its points, its right-hand side, its edges and the boundary beside it at home on one
/// rank; what a sweep sends is the edges between tiles of different ranks. `T` is float or double.
///
///     hs::stencil::DistributedPoissonGrid<double> grid(rt, n, n, 256, hs::BlockCyclic{2, 2});
///     grid.fill([&](auto i, auto j) { return start(i, j); }, [&](auto i, auto j) { return b(i, j);
///     }); hs::stencil::jacobi(rt, grid, 100); rt.sync();
///
/// Made by all ranks. It must outlive the tasks that were spawned on it: `rt.sync()` before it
/// goes. Move-only. Each rank has 3 elements for each of its points, and the edges.
template <class T>
class DistributedPoissonGrid {
public:
  using Element = T;
  using Tile = DistributedHandle<TileView<T>>;

  /// rows x cols points, without the boundary. Throws what DistributedMatrix throws.
  template <class Rt, Distribution D>
  DistributedPoissonGrid(
      Rt& rt, std::size_t rows, std::size_t cols, std::size_t tile, D const& where)
      : points_{{rt, rows, cols, tile, where}, {rt, rows, cols, tile, where}},
        b_(rt, rows, cols, tile, where) {
    for (auto& lines : lines_) {
      lines.reserve(4 * tile_rows() * tile_cols());
    }
    for (std::size_t j = 0; j < tile_cols(); ++j) {
      for (std::size_t i = 0; i < tile_rows(); ++i) {
        auto const& own = b_(i, j);
        for (auto& lines : {&lines_[0], &lines_[1], &boundary_}) {
          for (auto const& [height, width] : {std::array{std::size_t{1}, own.cols()},
                                              std::array{std::size_t{1}, own.cols()},
                                              std::array{own.rows(), std::size_t{1}},
                                              std::array{own.rows(), std::size_t{1}}}) {
            lines->emplace_back(rt, own.home(), height, width);
          }
        }
      }
    }
  }

  /// Points, without the boundary.
  [[nodiscard]] std::size_t rows() const noexcept { return b_.rows(); }

  [[nodiscard]] std::size_t cols() const noexcept { return b_.cols(); }

  [[nodiscard]] std::size_t tile_size() const noexcept { return b_.tile_size(); }

  /// Tiles in a column of the grid, and in a row.
  [[nodiscard]] std::size_t tile_rows() const noexcept { return b_.tile_rows(); }

  [[nodiscard]] std::size_t tile_cols() const noexcept { return b_.tile_cols(); }

  /// Tile (i, j) of copy 0, which has the solution, or 1.
  [[nodiscard]] Tile const& points(int copy, std::size_t i, std::size_t j) const noexcept {
    return points_[copy](i, j);
  }

  [[nodiscard]] Tile const& b(std::size_t i, std::size_t j) const noexcept { return b_(i, j); }

  /// The tile's own outermost lines.
  [[nodiscard]] Sides<Tile> edges(int copy, std::size_t i, std::size_t j) const noexcept {
    auto const* const own = lines_[copy].data() + place(i, j);
    return {own[0].handle, own[1].handle, own[2].handle, own[3].handle};
  }

  /// The lines around the tile: edges of its neighbours, or the boundary.
  [[nodiscard]] Sides<Tile> halo(int copy, std::size_t i, std::size_t j) const noexcept {
    auto const& all = lines_[copy];
    auto const* const own = boundary_.data() + place(i, j);
    return {(i == 0 ? own[0] : all[place(i - 1, j) + 1]).handle,
            (i + 1 == tile_rows() ? own[1] : all[place(i + 1, j)]).handle,
            (j == 0 ? own[2] : all[place(i, j - 1) + 3]).handle,
            (j + 1 == tile_cols() ? own[3] : all[place(i, j + 1) + 2]).handle};
  }

  /// Whether the tile is at home on this rank.
  [[nodiscard]] bool is_here(std::size_t i, std::size_t j) const noexcept {
    return b_.is_here(i, j);
  }

  /// The solution in a tile that `is_here`, as DistributedMatrix::here.
  [[nodiscard]] TileView<T> here(std::size_t i, std::size_t j) const noexcept {
    return points_[0].here(i, j);
  }

  /// u(i, j) := u(i, j) of (rows + 2) x (cols + 2) points, of which the outermost are the boundary,
  /// and b(i, j) := b(i, j) of rows x cols; on each rank those that are there. After a sync.
  template <class U, class B>
  void fill(U const& u, B const& right) const {
    points_[0].fill([&](std::size_t i, std::size_t j) { return u(i + 1, j + 1); });
    b_.fill(right);
    for (std::size_t tj = 0; tj < tile_cols(); ++tj) {
      for (std::size_t ti = 0; ti < tile_rows(); ++ti) {
        if (!is_here(ti, tj)) {
          continue;
        }
        auto const* const own = boundary_.data() + place(ti, tj);
        auto const first_row = ti * tile_size();
        auto const first_col = tj * tile_size();
        for (std::size_t j = 0; j < b(ti, tj).cols(); ++j) {
          own[0].memory[j] = u(first_row, first_col + j + 1);
          own[1].memory[j] = u(first_row + b(ti, tj).rows() + 1, first_col + j + 1);
        }
        for (std::size_t i = 0; i < b(ti, tj).rows(); ++i) {
          own[2].memory[i] = u(first_row + i + 1, first_col);
          own[3].memory[i] = u(first_row + i + 1, first_col + b(ti, tj).cols() + 1);
        }
      }
    }
  }

private:
  /// One row or column beside a tile.
  struct Line {
    std::unique_ptr<T[]> memory; // null: at home elsewhere
    Tile handle;                 // goes first

    template <class Rt>
    Line(Rt& rt, int home, std::size_t height, std::size_t width)
        : memory(home == rt.rank() ? std::make_unique<T[]>(height * width) : nullptr),
          handle(rt.data(home, memory.get(), height, width, height)) {}
  };

  /// Of a tile's north; south, west and east follow.
  [[nodiscard]] std::size_t place(std::size_t i, std::size_t j) const noexcept {
    return 4 * (i + j * tile_rows());
  }

  DistributedMatrix<T> points_[2];
  DistributedMatrix<T> b_;
  std::vector<Line> lines_[2]; // of each copy
  std::vector<Line> boundary_; // beside outermost tiles; of others it is not used
};

} // namespace hetsched::stencil
