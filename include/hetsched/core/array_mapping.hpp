// SPDX-License-Identifier: MIT
#pragma once
// Where the elements of an array of 1 to 4 dimensions are, in the shape of std::mdspan's mappings.

#include <hetsched/core/build_config.hpp>
#include <hetsched/core/device_code.hpp>
#include <hetsched/core/views.hpp>

#include <array>
#include <concepts>
#include <cstddef>

namespace hetsched {

/// The last index runs fastest, as in C: row-major.
struct LayoutRight {};

/// The first index runs fastest, as in Fortran: column-major.
struct LayoutLeft {};

/// Each dimension has a stride of its own.
struct LayoutStride {};

namespace detail {

template <class Layout>
concept array_layout = std::same_as<Layout, LayoutRight> || std::same_as<Layout, LayoutLeft> ||
                       std::same_as<Layout, LayoutStride>;

} // namespace detail

#if HETSCHED_CHECK_BOUNDS
inline namespace checked {
#endif

/// Where element (i, j, ...) of an array is: as mdspan's mappings. With LayoutRight and LayoutLeft
/// the rows, or columns, of the fastest dimension may be further apart than they are long.
template <std::size_t Rank, class Layout>
class ArrayMapping {
  static_assert(Rank >= 1 && Rank <= detail::ArrayShape::most_dimensions,
                "hetsched: an ArrayView has 1 to 4 dimensions");
  static_assert(detail::array_layout<Layout>,
                "hetsched: the layout of an ArrayView is LayoutRight, LayoutLeft or LayoutStride");

public:
  using Extents = std::array<std::size_t, Rank>;
  using index_type = std::size_t;
  using rank_type = std::size_t;
  using layout_type = Layout;

  static constexpr bool last_is_fastest = std::same_as<Layout, LayoutRight>;
  static constexpr std::size_t fastest = last_is_fastest ? Rank - 1 : 0; // not of LayoutStride
  static constexpr std::size_t second = Rank == 1 ? 0 : last_is_fastest ? Rank - 2 : 1;

  HETSCHED_DEVICE constexpr ArrayMapping() noexcept : extents_{}, strides_{} {}

  /// Of so many elements by dimension; 0: dense.
  HETSCHED_DEVICE static constexpr ArrayMapping with_distance(std::size_t const* extents,
                                                              std::size_t distance = 0) noexcept {
    ArrayMapping mapping;
    std::size_t stride = 1;
    for (std::size_t k = 0; k < Rank; ++k) {
      auto const d = last_is_fastest ? Rank - 1 - k : k;
      mapping.extents_[d] = extents[d];
      mapping.strides_[d] = stride;
      stride = k == 0 && Rank > 1 && distance != 0 ? distance : stride * extents[d];
    }
    return mapping;
  }

  HETSCHED_DEVICE static constexpr ArrayMapping with_strides(std::size_t const* extents,
                                                             std::size_t const* strides) noexcept {
    ArrayMapping mapping;
    for (std::size_t d = 0; d < Rank; ++d) {
      mapping.extents_[d] = extents[d];
      mapping.strides_[d] = strides[d];
    }
    return mapping;
  }

  [[nodiscard]] HETSCHED_DEVICE static constexpr rank_type rank() noexcept { return Rank; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t extent(rank_type d) const noexcept {
    return extents_[d];
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t stride(rank_type d) const noexcept {
    return strides_[d];
  }

  [[nodiscard]] constexpr Extents extents() const noexcept { return copy(extents_); }

  [[nodiscard]] constexpr Extents strides() const noexcept { return copy(strides_); }

  [[nodiscard]] HETSCHED_DEVICE constexpr ArrayMapping<Rank, LayoutStride>
  strided() const noexcept {
    return ArrayMapping<Rank, LayoutStride>::with_strides(extents_, strides_);
  }

  template <class... Index>
    requires(sizeof...(Index) == Rank)
  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t operator()(Index... index) const noexcept {
    std::size_t const at[] = {static_cast<std::size_t>(index)...};
    return offset(at);
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t
  offset(std::size_t const* index) const noexcept {
    std::size_t sum = 0;
    for (std::size_t d = 0; d < Rank; ++d) {
      if constexpr (std::same_as<Layout, LayoutStride>) {
        sum += index[d] * strides_[d];
      } else {
        sum += d == fastest ? index[d] : index[d] * strides_[d];
      }
    }
    return sum;
  }

  /// Number of elements.
  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t size() const noexcept {
    std::size_t product = 1;
    for (auto const extent : extents_) {
      product *= extent;
    }
    return product;
  }

  /// From the first element to behind the last.
  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t required_span_size() const noexcept {
    std::size_t span = 1;
    for (std::size_t d = 0; d < Rank; ++d) {
      if (extents_[d] == 0) {
        return 0;
      }
      span += (extents_[d] - 1) * strides_[d];
    }
    return span;
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr bool is_exhaustive() const noexcept {
    return required_span_size() == size();
  }

  [[nodiscard]] static constexpr bool is_unique() noexcept { return true; }

  [[nodiscard]] static constexpr bool is_strided() noexcept { return true; }

  [[nodiscard]] static constexpr bool is_always_unique() noexcept { return true; }

  [[nodiscard]] static constexpr bool is_always_strided() noexcept { return true; }

  [[nodiscard]] static constexpr bool is_always_exhaustive() noexcept { return false; }

  friend constexpr bool operator==(ArrayMapping const&, ArrayMapping const&) = default;

private:
  [[nodiscard]] static constexpr Extents copy(std::size_t const (&from)[Rank]) noexcept {
    Extents to{};
    for (std::size_t d = 0; d < Rank; ++d) {
      to[d] = from[d];
    }
    return to;
  }

  std::size_t extents_[Rank];
  std::size_t strides_[Rank];
};

#if HETSCHED_CHECK_BOUNDS
} // namespace checked
#endif

} // namespace hetsched
