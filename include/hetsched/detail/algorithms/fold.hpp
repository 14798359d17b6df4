// SPDX-License-Identifier: MIT
#pragma once
// The sum of a block, for any operator.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

/// op over load(begin) to load(end - 1), at least one. Numbers are combined in 8 lanes, so that the
/// compiler may use vectors and additions need not wait for each other; in an order that depends on
/// the number of elements only.
template <class T, class Op, class Load>
[[nodiscard]] T fold(std::size_t begin, std::size_t end, Op const& op, Load const& load) {
  if constexpr (std::is_arithmetic_v<T>) {
    constexpr std::size_t lanes = 8;
    if (end - begin >= 2 * lanes) {
      T lane[lanes];
      for (std::size_t l = 0; l < lanes; ++l) {
        lane[l] = static_cast<T>(load(begin + l));
      }
      auto i = begin + lanes;
      for (; i + lanes <= end; i += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) {
          lane[l] = static_cast<T>(op(lane[l], load(i + l)));
        }
      }
      for (std::size_t width = lanes / 2; width != 0; width /= 2) {
        for (std::size_t l = 0; l < width; ++l) {
          lane[l] = static_cast<T>(op(lane[l], lane[l + width]));
        }
      }
      for (; i < end; ++i) {
        lane[0] = static_cast<T>(op(lane[0], load(i)));
      }
      return lane[0];
    }
  }
  auto sum = static_cast<T>(load(begin));
  for (auto i = begin + 1; i < end; ++i) {
    sum = static_cast<T>(op(std::move(sum), load(i)));
  }
  return sum;
}

} // namespace hetsched::detail
