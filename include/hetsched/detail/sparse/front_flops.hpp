// SPDX-License-Identifier: MIT
#pragma once
// The work of the tasks of fronts.

#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/fronts.hpp>

#include <cstddef>

namespace hetsched::sparse::detail {

/// Flops of a tiled front's tasks. Their sum is Front::flops; assembling counts nothing.
///
/// Eliminating a column with h rows below its pivot changes h numbers of each column on its right,
/// with 2 flops each, or 1 in the mean of a symmetric front; panels are such columns, summed up as
/// Front::flops sums, without terms of lower order.
class FrontFlops {
public:
  explicit FrontFlops(Front const& front) : front_(front), w_(static_cast<double>(front.w)) {}

  /// Factors panel k, from its first row down.
  [[nodiscard]] double panel(std::size_t k) const noexcept {
    auto const h = height(k);
    auto const b = width(k);
    return front_.symmetric ? b * b * b / 3 + (h - b) * b * b : h * b * b - b * b * b / 3;
  }

  /// Applies panel k to panel j, on its right.
  [[nodiscard]] double update(std::size_t k, std::size_t j) const noexcept {
    auto const b = width(k);
    auto const c = width(j);
    return front_.symmetric ? b * c * (2 * height(j) - c) : b * c * (2 * height(k) - b);
  }

  /// Solves for block i of F12 or of F21.
  [[nodiscard]] double side(std::size_t i) const noexcept { return block(i) * w_ * w_; }

  /// Updates tile (i, j) of F22.
  [[nodiscard]] double product(std::size_t i, std::size_t j) const noexcept {
    bool const half = front_.symmetric && i == j;
    return (half ? 1 : 2) * block(i) * block(j) * w_;
  }

private:
  [[nodiscard]] double width(std::size_t k) const noexcept {
    return static_cast<double>(front_.panels.size(k));
  }

  /// From a panel's first row to the last of F11.
  [[nodiscard]] double height(std::size_t k) const noexcept {
    return w_ - static_cast<double>(front_.panels.begin(k));
  }

  [[nodiscard]] double block(std::size_t i) const noexcept {
    return static_cast<double>(front_.blocks.size(i));
  }

  Front const& front_;
  double w_;
};

/// Numbers that a task fills which assembles a region: what its time goes with.
[[nodiscard]] inline double assembled_numbers(Region const& region) noexcept {
  return static_cast<double>(region.rows.end - region.rows.begin) *
         static_cast<double>(region.columns.end - region.columns.begin);
}

} // namespace hetsched::sparse::detail
