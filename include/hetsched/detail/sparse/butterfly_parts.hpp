// SPDX-License-Identifier: MIT
#pragma once
// What butterflies combine, and the solution that they give before it is refined.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/sparse/matching.hpp>
#include <hetsched/detail/sparse/refinement.hpp>
#include <hetsched/sparse/block_matrix.hpp>
#include <hetsched/sparse/block_pattern.hpp>
#include <hetsched/sparse/block_solve.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace hetsched::sparse::detail {

/// 2^depth, into which butterflies of that depth cut `count` rows or blocks. Throws
/// Error(bad_data) if that leaves a rest.
[[nodiscard]] inline std::size_t
butterfly_parts(std::size_t count, std::size_t depth, char const* what) {
  constexpr std::size_t most = 62;
  auto const parts = std::size_t{1} << std::min(depth, most);
  if (depth > most || count % parts != 0) {
    throw Error(ErrorCode::bad_data,
                "butterfly",
                "butterflies of depth " + std::to_string(depth) + " need a multiple of 2^" +
                    std::to_string(depth) + " " + what + ": there are " + std::to_string(count));
  }
  return parts;
}

/// The pattern in which a block is there wherever one is that is multiples of `step` away from it.
[[nodiscard]] inline BlockPattern united(BlockPattern const& pattern, std::size_t step) {
  BlockPattern folded(step);
  auto const each = [&](auto const& visit) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      for (std::size_t j = 0; j < pattern.size(); ++j) {
        visit(i, j);
      }
    }
  };
  each([&](std::size_t i, std::size_t j) {
    if (pattern.at(i, j)) {
      folded.add(i % step, j % step);
    }
  });
  BlockPattern all(pattern.size());
  each([&](std::size_t i, std::size_t j) {
    if (folded.at(i % step, j % step)) {
      all.add(i, j);
    }
  });
  return all;
}

/// Whether the matrix of pattern `all` has the size and every block of `some`.
[[nodiscard]] inline bool has_all(BlockPattern const& all, BlockPattern const& some) {
  bool there = all.size() == some.size();
  for (std::size_t i = 0; i < some.size() && there; ++i) {
    for (std::size_t j = 0; j < some.size() && there; ++j) {
      there = all.at(i, j) || !some.at(i, j);
    }
  }
  return there;
}

/// (first, second) := (R (first + second), S (first - second)), with scale(r, i, j) of element
/// (i, j) for R, and likewise for S.
template <class T, class Scale>
void combine(TileView<T> first, TileView<T> second, T const* r, T const* s, Scale const& scale) {
  for (std::size_t j = 0; j < first.cols(); ++j) {
    for (std::size_t i = 0; i < first.rows(); ++i) {
      auto const one = first(i, j);
      auto const other = second(i, j);
      first(i, j) = scale(r, i, j) * (one + other);
      second(i, j) = scale(s, i, j) * (one - other);
    }
  }
}

/// Blocks := those of U^T A V: see ButterflyBlocks. The last level is the first, as in the
/// transpose of W_d ... W_1.
template <class T, class Butterfly>
void transform_blocks(Butterfly const& left,
                      Butterfly const& right,
                      std::size_t row,
                      std::size_t column,
                      Each<TileView<T>> blocks) {
  auto const parts = std::size_t{1} << left.depth();
  auto const step = left.rows() / parts; // from a block to the next one
  auto const by_row = [](T const* scales, std::size_t i, std::size_t) { return scales[i]; };
  auto const by_column = [](T const* scales, std::size_t, std::size_t j) { return scales[j]; };
  for (auto level = left.depth(); level > 0; --level) {
    auto const half = parts >> level;
    for (std::size_t p = 0; p < parts; ++p) {
      if ((p & half) != 0) {
        continue;
      }
      auto const* const u = left.entries(level, row + p * step);
      auto const* const v = right.entries(level, column + p * step);
      for (std::size_t q = 0; q < parts; ++q) {
        combine<T>(blocks[p + q * parts], blocks[p + half + q * parts], u, u + half * step, by_row);
      }
      for (std::size_t q = 0; q < parts; ++q) {
        combine<T>(
            blocks[q + p * parts], blocks[q + (p + half) * parts], v, v + half * step, by_column);
      }
    }
  }
}

/// V A'^-1 U^T b by the factors of A' = U^T A V.
template <class T, class Butterflies>
[[nodiscard]] Eigen::VectorXd butterfly_solution(BlockMatrix<T> const& factors,
                                                 Butterflies const& butterflies,
                                                 Eigen::VectorXd const& b) {
  // Single precision must neither overflow nor underflow: a residual may be very small.
  double const unit = power_of_two(b.lpNorm<Eigen::Infinity>());
  std::vector<T> x(static_cast<std::size_t>(b.size()));
  std::transform(
      b.begin(), b.end(), x.begin(), [&](double value) { return static_cast<T>(value / unit); });
  butterflies.left.apply_transposed(x);
  block_solve(factors, std::span<T>(x));
  butterflies.right.apply(x);
  Eigen::VectorXd result(b.size());
  std::transform(x.begin(), x.end(), result.begin(), [&](T value) {
    return static_cast<double>(value) * unit;
  });
  return result;
}

[[noreturn]] inline void refuse_butterflies(Refined const& refined, double accuracy) {
  throw Error(ErrorCode::numerical,
              "butterfly",
              hetsched::detail::text(
                  "backward error %.2g after %zu steps of refinement and %zu iterations of GMRES, "
                  "above %.2g: the matrix is singular or nearly so, or another seed is needed",
                  refined.backward_error,
                  refined.steps,
                  refined.iterations,
                  accuracy));
}

} // namespace hetsched::sparse::detail
