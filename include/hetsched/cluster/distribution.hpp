// SPDX-License-Identifier: MIT
#pragma once
// Which rank the tiles of a matrix are at home on.

#include <hetsched/core/error.hpp>
#include <hetsched/core/version.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace hetsched {

/// `rank_of(i, j)` answers the rank of the tile in row i and column j of a grid, always the same. A
/// function object that is called with i and j is one, too.
template <class D>
concept Distribution = requires(D const& distribution, std::size_t i) {
  { distribution.rank_of(i, i) } -> std::convertible_to<std::int32_t>;
} || requires(D const& distribution, std::size_t i) {
  { distribution(i, i) } -> std::convertible_to<std::int32_t>;
};

namespace detail {

/// The rank of the tile in row i and column j.
template <Distribution D>
[[nodiscard]] std::int32_t rank_in(D const& where, std::size_t i, std::size_t j) {
  if constexpr (requires { where.rank_of(i, j); }) {
    return where.rank_of(i, j);
  } else {
    return where(i, j);
  }
}

} // namespace detail

/// Tile (i, j) is on rank (i mod rows) columns + j mod columns: 2DBC, as in ScaLAPACK. In a tile
/// Cholesky factorisation a tile goes to at most rows + columns - 2 other ranks.
struct BlockCyclic {
  std::int32_t rows = 1;
  std::int32_t columns = 1;

  [[nodiscard]] constexpr std::int32_t ranks() const noexcept { return rows * columns; }

  [[nodiscard]] constexpr std::int32_t rank_of(std::size_t i, std::size_t j) const noexcept {
    return static_cast<std::int32_t>(i % static_cast<std::size_t>(rows)) * columns +
           static_cast<std::int32_t>(j % static_cast<std::size_t>(columns));
  }
};

/// A pattern of size x size tiles, repeated, for symmetric matrices: (a, b) and (b, a) are on one
/// rank, so that a tile of a Cholesky factor goes to at most size - 2 other ranks, where 2DBC on as
/// many ranks needs about sqrt(2) times as many messages.
///
/// `extended`: size (size - 1) / 2 ranks; the diagonal of the pattern is given to them in turn,
/// differently from one repetition to the next. Else size / 2 more ranks have the diagonals; size
/// is even then.
///
/// Source: Beaumont, Duchon, Eyraud-Dubois, Langou, Verite, "Symmetric Block-Cyclic Distribution:
/// Fewer Communications Leads to Faster Dense Cholesky Factorization", SC22.
struct SymmetricBlockCyclic {
  std::int32_t size;
  bool extended = true;

  /// Throws Error(bad_data): size < 2, or not extended and odd.
  explicit SymmetricBlockCyclic(std::int32_t its_size, bool is_extended = true)
      : size(its_size), extended(is_extended) {
    if (size < 2 || (!extended && size % 2 != 0)) {
      throw Error(ErrorCode::bad_data,
                  "SymmetricBlockCyclic",
                  detail::text("a pattern of %d is %s", int{size}, size < 2 ? "too small" : "odd"));
    }
  }

  [[nodiscard]] std::int32_t ranks() const noexcept { return pairs() + (extended ? 0 : size / 2); }

  [[nodiscard]] std::int32_t rank_of(std::size_t i, std::size_t j) const noexcept {
    auto const r = static_cast<std::size_t>(size);
    auto const row = static_cast<std::int32_t>(i % r);
    auto const column = static_cast<std::int32_t>(j % r);
    if (row != column) {
      return rank_of_pair(row, column);
    }
    if (!extended) {
      return pairs() + row % (size / 2);
    }
    return rank_of_pair(row, (row + shift(row, j / r)) % size);
  }

private:
  [[nodiscard]] std::int32_t pairs() const noexcept { return size * (size - 1) / 2; }

  [[nodiscard]] static std::int32_t rank_of_pair(std::int32_t a, std::int32_t b) noexcept {
    auto const high = std::max(a, b);
    return high * (high - 1) / 2 + std::min(a, b);
  }

  /// How far from diagonal position `d` its partner is, in a repetition of the pattern. Over all
  /// kinds of repetition each pair has equally many diagonal positions: with an odd size one in
  /// (size - 1) / 2 kinds, with an even one two in size - 1.
  [[nodiscard]] std::int32_t shift(std::int32_t d, std::size_t repetition) const noexcept {
    auto const half = size / 2;
    if (size % 2 != 0) {
      return static_cast<std::int32_t>(repetition % static_cast<std::size_t>(half)) + 1;
    }
    auto const kind = static_cast<std::int32_t>(repetition % static_cast<std::size_t>(size - 1));
    if (kind < half - 1) {
      return kind + 1;
    }
    auto const late = kind - (half - 1); // the pairs at distance size / 2 come once in each half
    if (d < half) {
      return late == 0 ? half : late;
    }
    return late == half - 1 ? half : late + 1;
  }
};

} // namespace hetsched
