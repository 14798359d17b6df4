// SPDX-License-Identifier: MIT
#pragma once
// The region of memory in which the elements of an array lie.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hetsched::detail {

[[noreturn, gnu::cold]] inline void refuse_array(char const* why) {
  throw Error(ErrorCode::bad_data, "array view", why);
}

/// The region in which the elements of an array lie.
struct ArrayRegion {
  std::size_t rows = 1;
  std::size_t cols = 1;
  std::size_t ld = 1;
  ArrayShape array{};

  /// Points into this.
  [[nodiscard]] Shape shape() const noexcept { return {rows, cols, ld, &array}; }
};

/// Looks how the dimensions lie in memory. Throws Error(bad_data) unless they are dense but for one
/// gap, which follows each row of elements: a device's copies are made of such rows.
[[nodiscard, gnu::cold]] inline ArrayRegion
region_of_array(std::size_t const* extents, std::size_t const* strides, std::size_t rank) {
  ArrayRegion region;
  auto& array = region.array;
  array.rank = static_cast<std::uint8_t>(rank);
  bool empty = false;
  for (std::size_t d = 0; d < rank; ++d) {
    array.extents[d] = extents[d];
    array.order[d] = static_cast<std::uint8_t>(d);
    empty = empty || extents[d] == 0;
  }
  // Those of one element first: their strides mean nothing.
  auto const key = [&](std::uint8_t d) { return extents[d] <= 1 ? 0 : strides[d]; };
  for (std::size_t k = 1; k < rank; ++k) { // few: by insertion
    for (auto j = k; j > 0 && key(array.order[j]) < key(array.order[j - 1]); --j) {
      std::swap(array.order[j], array.order[j - 1]);
    }
  }
  std::size_t next = 1;
  bool gap = false;
  for (std::size_t k = 0; k < rank; ++k) {
    auto const d = array.order[k];
    if (extents[d] > 1 && !empty && strides[d] != next) {
      if (gap || strides[d] < next) {
        refuse_array(strides[d] < next ? "its strides make elements overlap"
                                       : "its strides leave gaps in more than one dimension: copy "
                                         "it, or register what it is a part of");
      }
      gap = true;
      region.ld = next = strides[d];
      array.row_rank = static_cast<std::uint8_t>(k);
    }
    (gap ? region.cols : region.rows) *= extents[d];
    next *= extents[d];
  }
  if (!gap) {
    region.ld = region.rows;
    array.row_rank = array.rank;
  }
  return region;
}

/// The region of an array of LayoutRight or LayoutLeft: a row of it is the fastest dimension.
[[nodiscard, gnu::cold]] inline ArrayRegion region_of_array(std::size_t const* extents,
                                                            std::size_t const* strides,
                                                            std::size_t rank,
                                                            bool last_is_fastest) {
  ArrayRegion region;
  auto& array = region.array;
  array.rank = static_cast<std::uint8_t>(rank);
  array.row_rank = 1;
  for (std::size_t k = 0; k < rank; ++k) {
    auto const d = last_is_fastest ? rank - 1 - k : k;
    array.order[k] = static_cast<std::uint8_t>(d);
    array.extents[d] = extents[d];
    (k == 0 ? region.rows : region.cols) *= extents[d];
  }
  region.ld = rank == 1 ? std::max<std::size_t>(region.rows, 1) : strides[array.order[1]];
  if (region.ld < region.rows) {
    throw Error(ErrorCode::bad_data,
                "array view",
                text("the distance %zu of its %s is less than their %zu elements",
                     region.ld,
                     last_is_fastest ? "rows" : "columns",
                     region.rows));
  }
  return region;
}

} // namespace hetsched::detail
