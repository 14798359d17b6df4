// SPDX-License-Identifier: MIT
#pragma once
// What kernels work on: tiles of column-major and of row-major matrices.

#include <hetsched/core/array_view.hpp>
#include <hetsched/core/views.hpp>

#include <concepts>
#include <type_traits>

namespace hetsched::linalg::kernels {

/// A TileView or a RowTileView.
template <class View>
concept tile = std::same_as<View, TileView<typename View::Element>> ||
               std::same_as<View, RowTileView<typename View::Element>>;

template <tile View>
using NumberOf = std::remove_const_t<typename View::Element>;

template <tile View>
inline constexpr bool is_row_major = hetsched::detail::is_row_major<View>;

/// A tile of such numbers, const or not.
template <class View, class T>
concept tile_of = tile<View> && std::same_as<NumberOf<View>, T>;

/// One of the numbers and the layout of another, const or not.
template <class View, class Other>
concept tile_like =
    tile<Other> && tile_of<View, NumberOf<Other>> && is_row_major<View> == is_row_major<Other>;

/// One that may be written, of float or double.
template <class View>
concept real_tile = tile<View> && std::floating_point<typename View::Element>;

} // namespace hetsched::linalg::kernels
