// SPDX-License-Identifier: MIT
#pragma once
// Where the elements of a global array are.

#include <hetsched/concepts/rma_transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail {

/// A rectangle of elements of a global array.
struct PatchOf {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t array = 0; // its number
  std::uint32_t element_bytes = 0;

  bool operator==(PatchOf const&) const = default;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return std::size_t{rows} * columns * element_bytes;
  }
};

/// What is done with a patch: it goes between an array and memory of a rank.
enum class PatchUse : std::uint8_t { get, put, accumulate };

/// An array in tiles of `tile` x `tile` elements, the last ones ragged. Each is column-major and
/// contiguous in its rank's part of the window, one after the other.
struct ArrayLayout {
  struct Tile {
    std::int32_t rank = 0;
    std::size_t first = 0; // its first element in the part
  };

  Window window;
  WindowElement element = WindowElement::f64;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t tile = 1;
  std::vector<Tile> tiles; // column-major
  bool freed = false;      // nothing is left of it

  [[nodiscard]] std::size_t tile_rows() const noexcept { return (rows + tile - 1) / tile; }

  [[nodiscard]] std::size_t tile_columns() const noexcept { return (columns + tile - 1) / tile; }

  [[nodiscard]] Tile const& tile_at(std::size_t i, std::size_t j) const noexcept {
    return tiles[i + j * tile_rows()];
  }

  [[nodiscard]] std::size_t height(std::size_t i) const noexcept {
    return std::min(tile, rows - i * tile);
  }

  [[nodiscard]] std::size_t width(std::size_t j) const noexcept {
    return std::min(tile, columns - j * tile);
  }

  /// Whether it has all elements of the patch.
  [[nodiscard]] bool has(PatchOf const& patch) const noexcept {
    return size_of(element) == patch.element_bytes && patch.row + patch.rows <= rows &&
           patch.column + patch.columns <= columns;
  }

  /// The rank of the patch's first element; 0 for an empty patch.
  [[nodiscard]] std::int32_t rank_of(PatchOf const& patch) const noexcept {
    return patch.row < rows && patch.column < columns
               ? tile_at(patch.row / tile, patch.column / tile).rank
               : 0;
  }

  /// In how many tiles the patch has elements.
  [[nodiscard]] std::size_t pieces(PatchOf const& patch) const noexcept {
    auto const across = [this](std::size_t first, std::size_t count) {
      return (first + count - 1) / tile - first / tile + 1;
    };
    return across(patch.row, patch.rows) * across(patch.column, patch.columns);
  }

  /// Calls f(piece, first) for the part of the patch in each tile: what it is in the window, whose
  /// rows are the array's columns, and its first element's place in a dense copy of the patch.
  template <class F>
  void each_piece(PatchOf const& patch, F&& f) const {
    for (std::size_t j = patch.column; j < patch.column + patch.columns;) {
      auto const tj = j / tile;
      auto const wide = std::min((tj + 1) * tile, patch.column + patch.columns) - j;
      for (std::size_t i = patch.row; i < patch.row + patch.rows;) {
        auto const ti = i / tile;
        auto const high = std::min((ti + 1) * tile, patch.row + patch.rows) - i;
        auto const& home = tile_at(ti, tj);
        auto const ld = height(ti);
        f(WindowPatch{.rank = home.rank,
                      .first = home.first + (i - ti * tile) + (j - tj * tile) * ld,
                      .columns = high,
                      .rows = wide,
                      .stride = ld},
          (i - patch.row) + (j - patch.column) * patch.rows);
        i += high;
      }
      j += wide;
    }
  }
};

} // namespace hetsched::detail
