// SPDX-License-Identifier: MIT
#pragma once
// Memory that is taken before it is needed, where it cannot be taken later.

#include <cstddef>

namespace hetsched::detail {

/// The vector takes no memory until it has more than `size` elements. Growing one by one costs
/// O(size) in all, as with push_back.
template <class Vector>
void make_room(Vector& vector, std::size_t size) {
  if (auto const twice = 2 * vector.capacity(); size > vector.capacity()) {
    vector.reserve(size < twice ? twice : size);
  }
}

/// The same of several.
template <class... Vectors>
void make_room_in_each(std::size_t size, Vectors&... vectors) {
  (make_room(vectors, size), ...);
}

} // namespace hetsched::detail
