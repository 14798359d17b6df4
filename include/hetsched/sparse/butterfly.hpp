// SPDX-License-Identifier: MIT
#pragma once
// Random butterflies: they make the pivots of LU without pivoting good ones.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/sparse/block_residuals.hpp>
#include <hetsched/detail/sparse/butterfly_parts.hpp>
#include <hetsched/detail/sparse/refinement.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/sparse/block_matrix.hpp>
#include <hetsched/sparse/block_pattern.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace sparse {

/// A random recursive butterfly W of n rows and depth d: W = W_d ... W_1, where W_l has on its
/// diagonal 2^(l - 1) matrices of n / 2^(l - 1) rows
///
///     1 / sqrt(2) * ( R  S )
///                   ( R -S )
///
/// R and S are diagonal, with entries exp(r / 10), r uniform from -1/2 to 1/2. W is nearly
/// orthogonal: its condition number is at most exp(d / 10). Of depth 0 it is the identity.
///
/// Copies share the entries, which never change. Any call costs O(n d).
///
/// Source: Baboulin, Dongarra, Herrmann, Tomov, "Accelerating linear system solutions using
/// randomization techniques", ACM TOMS 2013.
template <class T>
class Butterfly {
public:
  /// The same entries for the same seed. Throws Error(bad_data) if rows is no multiple of 2^depth.
  Butterfly(std::size_t rows, std::size_t depth, std::uint64_t seed) : rows_(rows), depth_(depth) {
    (void)detail::butterfly_parts(rows, depth, "rows");
    hetsched::detail::RandomStream random(seed);
    std::vector<T> entries(rows * depth);
    for (auto& entry : entries) {
      double const r = static_cast<double>(random.next() >> 11U) * 0x1p-53 - 0.5;
      entry = static_cast<T>(std::exp(r / 10) / std::numbers::sqrt2);
    }
    entries_ = std::make_shared<std::vector<T> const>(std::move(entries));
  }

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

  /// The entries of R and S in W_level, level from 1 to depth, divided by sqrt(2), from `row` on.
  [[nodiscard]] T const* entries(std::size_t level, std::size_t row) const noexcept {
    return entries_->data() + (level - 1) * rows_ + row;
  }

  /// x := W x. Throws Error(bad_data), as the other two do, if x has not rows() elements.
  void apply(std::span<T> x) const {
    for (std::size_t level = 1; level <= depth_; ++level) {
      each_pair(level, x, [](T& first, T& second, T r, T s) {
        auto const one = r * first;
        auto const other = s * second;
        first = one + other;
        second = one - other;
      });
    }
  }

  /// x := W^T x
  void apply_transposed(std::span<T> x) const {
    for (auto level = depth_; level > 0; --level) {
      each_pair(level, x, [](T& first, T& second, T r, T s) {
        auto const difference = first - second;
        first = r * (first + second);
        second = s * difference;
      });
    }
  }

  /// x := W^-1 x
  void apply_inverse(std::span<T> x) const {
    for (auto level = depth_; level > 0; --level) {
      each_pair(level, x, [](T& first, T& second, T r, T s) {
        auto const difference = first - second;
        first = (first + second) / (2 * r);
        second = difference / (2 * s);
      });
    }
  }

private:
  /// visit(x1, x2, r, s) for what W_level combines.
  template <class Visit>
  void each_pair(std::size_t level, std::span<T> x, Visit const& visit) const {
    if (x.size() != rows_) {
      throw Error(ErrorCode::bad_data,
                  "butterfly",
                  "the vector has " + std::to_string(x.size()) + " elements, the butterfly " +
                      std::to_string(rows_) + " rows");
    }
    auto const half = rows_ >> level;
    auto const* const entry = entries(level, 0);
    for (std::size_t begin = 0; begin < rows_; begin += 2 * half) {
      for (auto k = begin; k < begin + half; ++k) {
        visit(x[k], x[k + half], entry[k], entry[k + half]);
      }
    }
  }

  std::size_t rows_;
  std::size_t depth_;
  std::shared_ptr<std::vector<T> const> entries_;
};

/// U and V of A' = U^T A V, drawn from one seed. Of depth 2 by default, as in the source.
template <class T>
struct Butterflies {
  Butterfly<T> left;
  Butterfly<T> right;

  /// Throws as Butterfly does.
  explicit Butterflies(std::size_t rows, std::size_t depth = 2, std::uint64_t seed = 1)
      : left(rows, depth, seed), right(rows, depth, hetsched::detail::RandomStream(seed).next()) {}
};

/// Blocks := those of U^T A V: every 4^depth blocks that the butterflies combine, down the columns;
/// given U, V, and the first row and column of the first block.
template <class T>
struct ButterflyBlocks : Task<5>::Signature<V<Butterfly<T>>,
                                            V<Butterfly<T>>,
                                            V<std::size_t>,
                                            V<std::size_t>,
                                            RW<Each<TileView<T>>>> {
  static constexpr std::string_view name = "butterfly";
};

} // namespace sparse

template <class T>
struct TaskBodyCPU<sparse::ButterflyBlocks<T>> {
  void operator()(sparse::Butterfly<T> const& left,
                  sparse::Butterfly<T> const& right,
                  std::size_t row,
                  std::size_t column,
                  Each<TileView<T>> blocks) const {
    sparse::detail::transform_blocks<T>(left, right, row, column, blocks);
  }
};

namespace sparse {

/// The blocks of U^T A V for butterflies of `depth`: with a block all 4^depth are there whose rows
/// and columns are a multiple of size / 2^depth away. O(size^2). Its fill comes after it:
/// `butterfly_pattern(pattern, 2).filled()`. Throws Error(bad_data) if the size is no multiple of
/// 2^depth: a program adds blocks to its matrix, with ones on their diagonal.
[[nodiscard]] inline BlockPattern butterfly_pattern(BlockPattern const& pattern,
                                                    std::size_t depth) {
  auto const parts = detail::butterfly_parts(pattern.size(), depth, "blocks in a row");
  return detail::united(pattern, pattern.size() / parts);
}

/// A := U^T A V in place, to be factored by `block_lu` behind it: its pivots are rarely small then,
/// whatever those of A are. `butterfly_solve` solves. Each element becomes a sum of 4^depth: where
/// all of these are 0 or tiny in a leading block, as in permutations of few entries, pivots stay
/// small, and greater depth helps.
///
/// `pattern` has the blocks that A has; those of `a` beyond it are 0, for what butterflies and
/// factorisation fill: `a` is made with `butterfly_pattern(pattern, depth).filled()`.
///
/// A task for each 4^depth blocks that are combined, on cores: each block is read and written once,
/// whatever the depth, and factorisation begins as soon as its first blocks are done. 4 flops for
/// each element and level. Asynchronous, and may be captured.
///
/// Throws Error(bad_data) at once, with nothing spawned, if the sizes do not fit, the blocks in a
/// row are no multiple of 2^depth, or `a` lacks blocks of `butterfly_pattern(pattern, depth)`.
///
/// Source: as Butterfly; there for dense matrices.
template <class Rt, class T>
void apply_butterflies(Rt& rt,
                       BlockMatrix<T> const& a,
                       BlockPattern const& pattern,
                       Butterflies<T> const& butterflies) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: butterflies transform a matrix of float or double");
  auto const& [left, right] = butterflies;
  if (a.rows() != left.rows()) {
    throw Error(ErrorCode::bad_data,
                "butterfly",
                "the matrix has " + std::to_string(a.rows()) + " rows, the butterflies " +
                    std::to_string(left.rows()));
  }
  auto const transformed = butterfly_pattern(pattern, left.depth());
  if (!detail::has_all(a.pattern(), transformed)) {
    throw Error(ErrorCode::bad_data,
                "butterfly",
                "the matrix lacks blocks that the butterflies fill: see butterfly_pattern");
  }
  auto const parts = std::size_t{1} << left.depth();
  auto const step = a.size() / parts;
  for (std::size_t j = 0; j < step; ++j) {
    for (std::size_t i = 0; i < step; ++i) {
      if (!transformed.at(i, j)) {
        continue;
      }
      std::vector<typename BlockMatrix<T>::Block> blocks;
      for (std::size_t k = 0; k < parts * parts; ++k) {
        blocks.push_back(a(i + k % parts * step, j + k / parts * step));
      }
      // Before what block_lu does with the first of them.
      auto const urgency = static_cast<std::int32_t>(3 * (a.size() - std::min(i, j) + 1));
      rt.template spawn<ButterflyBlocks<T>>(priority(urgency))(
          left, right, i * a.block_size(), j * a.block_size(), blocks);
    }
  }
}

/// What `butterfly_solve` did.
struct Refinement {
  double backward_error = 0;  // componentwise
  std::size_t steps = 0;      // of refinement
  std::size_t iterations = 0; // of GMRES
};

/// x := A^-1 x by the factors that block_lu left of A' = U^T A V, in host memory (after
/// `rt.sync()`): y := A'^-1 U^T b, x := V y, then iterative refinement with A, in double precision
/// also for factors of float, until the componentwise backward error is about the unit roundoff or
/// no longer halves. If it is above `accuracy` then, GMRES with the factors goes on, as in
/// SparseLU. Sequential; each step costs 2 flops for each element of a block of A' and 4 of A.
///
/// Throws Error(bad_data) if the sizes do not fit or x is not finite, and Error(numerical) with the
/// figures if the solution is not as accurate as that: A is singular or nearly so, or another seed
/// is needed. x is then what it was.
///
/// Source: as Butterfly; refinement as in SparseLU.
template <class T>
Refinement butterfly_solve(BlockMatrix<T> const& a,
                           BlockMatrix<T> const& factors,
                           Butterflies<T> const& butterflies,
                           std::span<double> x,
                           double accuracy = 1e-10) {
  using Vector = Eigen::VectorXd;
  for (auto const& [rows, what] : {std::pair(factors.rows(), "the factors have "),
                                   std::pair(butterflies.left.rows(), "the butterflies have "),
                                   std::pair(x.size(), "the right-hand side has ")}) {
    if (rows != a.rows()) {
      throw Error(ErrorCode::bad_data,
                  "butterfly",
                  what + std::to_string(rows) + " rows, the matrix " + std::to_string(a.rows()));
    }
  }
  Vector const b = Eigen::Map<Vector const>(x.data(), static_cast<Eigen::Index>(x.size()));
  if (!b.allFinite()) {
    throw Error(ErrorCode::bad_data, "butterfly", "the right-hand side is not finite");
  }
  auto const solve = [&](Vector const& right) {
    return detail::butterfly_solution<T>(factors, butterflies, right);
  };
  Vector solution = solve(b);
  auto const refined = detail::refine(detail::BlockResiduals<T>(a), solve, b, solution, accuracy);
  if (!(refined.backward_error <= accuracy)) {
    detail::refuse_butterflies(refined, accuracy);
  }
  std::copy(solution.begin(), solution.end(), x.begin());
  return {refined.backward_error, refined.steps, refined.iterations};
}

} // namespace sparse
} // namespace hetsched
