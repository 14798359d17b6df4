// SPDX-License-Identifier: MIT
#pragma once
// Views of arrays of 1 to 4 dimensions, row-major, column-major or with any strides, in the shape
// of C++23's std::mdspan, to which and from which they convert.
//
//     std::vector<double> field(4 * 5 * 6);
//     auto h = rt.data(hs::ArrayView<double, 3>(field.data(), {4, 5, 6}));
//     rt.spawn()([](hs::ArrayView<double, 3> v) { v(1, 2, 3) = 7; }, hs::write(h));

#include <hetsched/core/array_mapping.hpp>
#include <hetsched/core/device_code.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/array_region.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// What std::mdspan and others of its shape have; their elements are where pointers say.
template <class M, std::size_t dimensions>
concept mdspan_like = requires(M const& m) {
  typename M::extents_type;
  typename M::mapping_type;
  typename M::layout_type;
  requires std::is_pointer_v<typename M::data_handle_type>;
  requires M::rank() == dimensions;
  m.stride(std::size_t{0});
};

} // namespace detail

#if HETSCHED_CHECK_BOUNDS
inline namespace checked {

[[noreturn, gnu::cold, gnu::noinline]] inline void
throw_out_of_extent(std::size_t dimension, std::size_t index, std::size_t extent) {
  throw Error(ErrorCode::bad_access,
              "array view",
              detail::text(
                  "has no index %zu in dimension %zu: it has %zu there", index, dimension, extent));
}
#endif

/// An array of `Rank` dimensions, 1 to 4. As a parameter type (`R<ArrayView<double, 3>>`) it names
/// an array; the body gets the view itself, with a const element when the access is R. Never owns.
/// On devices it is dense. The members with mdspan's names mean what they mean there.
template <class T, std::size_t Rank, class Layout = LayoutRight>
class ArrayView {
public:
  using Element = T;
  using Extents = std::array<std::size_t, Rank>;
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using index_type = std::size_t;
  using rank_type = std::size_t;
  using reference = T&;
  using data_handle_type = T*;
  using layout_type = Layout;
  using mapping_type = ArrayMapping<Rank, Layout>;

  HETSCHED_DEVICE constexpr ArrayView(T* data, mapping_type const& mapping) noexcept
      : data_(data), mapping_(mapping) {}

  /// Dense.
  constexpr ArrayView(T* data, Extents const& extents) noexcept
    requires(!std::same_as<Layout, LayoutStride>)
      : ArrayView(data, mapping_type::with_distance(extents.data())) {}

  /// The rows (LayoutLeft: columns) along the fastest dimension begin `distance` elements apart:
  /// the leading dimension of a matrix. No less than they have.
  constexpr ArrayView(T* data, Extents const& extents, std::size_t distance) noexcept
    requires(!std::same_as<Layout, LayoutStride> && Rank > 1)
      : ArrayView(data, mapping_type::with_distance(extents.data(), distance)) {}

  /// With these strides. Data of a runtime must be dense but for one gap (see `Runtime::data`).
  constexpr ArrayView(T* data, Extents const& extents, Extents const& strides) noexcept
    requires(std::same_as<Layout, LayoutStride>)
      : ArrayView(data, mapping_type::with_strides(extents.data(), strides.data())) {}

  /// What a std::mdspan shows. Throws Error(bad_data) if its strides are not of this layout.
  template <detail::mdspan_like<Rank> M>
    requires std::is_convertible_v<typename M::data_handle_type, T*>
  explicit constexpr ArrayView(M const& m) : data_(m.data_handle()) {
    Extents extents{};
    Extents strides{};
    for (std::size_t d = 0; d < Rank; ++d) {
      extents[d] = static_cast<std::size_t>(m.extent(d));
      strides[d] = static_cast<std::size_t>(m.stride(d));
    }
    mapping_ = mapping_type::with_strides(extents.data(), strides.data());
    if constexpr (!std::same_as<Layout, LayoutStride>) {
      mapping_ = mapping_type::with_distance(extents.data(), strides[mapping_type::second]);
      for (std::size_t d = 0; d < Rank; ++d) {
        if (size() != 0 && extent(d) > 1 && strides[d] != stride(d)) {
          detail::refuse_array("the mdspan's strides are not those of the view's layout");
        }
      }
    }
  }

  /// A writable view converts to a read-only view.
  HETSCHED_DEVICE constexpr operator ArrayView<T const, Rank, Layout>() const noexcept // NOLINT
    requires(!std::is_const_v<T>)
  {
    return {data_, mapping_};
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr ArrayView<T, Rank, LayoutStride>
  strided() const noexcept {
    return {data_, mapping_.strided()};
  }

  /// To a std::mdspan: one with layout_stride always, another if the strides are as there; else
  /// throws Error(bad_data).
  template <detail::mdspan_like<Rank> M>
    requires std::is_convertible_v<T*, typename M::data_handle_type>
  constexpr operator M() const { // NOLINT: as a view to a view
    using Index = typename M::index_type;
    std::array<Index, Rank> extents{};
    std::array<Index, Rank> strides{};
    for (std::size_t d = 0; d < Rank; ++d) {
      extents[d] = static_cast<Index>(extent(d));
      strides[d] = static_cast<Index>(stride(d));
    }
    typename M::extents_type const its_extents(extents);
    using Mapping = typename M::mapping_type;
    if constexpr (std::is_constructible_v<Mapping, decltype(its_extents), decltype(strides)>) {
      return M(data_, Mapping(its_extents, strides));
    } else {
      Mapping const mapping(its_extents);
      for (std::size_t d = 0; d < Rank; ++d) {
        if (size() != 0 && extent(d) > 1 &&
            static_cast<std::size_t>(mapping.stride(d)) != stride(d)) {
          detail::refuse_array("its strides are not those of the mdspan's layout");
        }
      }
      return M(data_, mapping);
    }
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr T* data_handle() const noexcept { return data_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr mapping_type const& mapping() const noexcept {
    return mapping_;
  }

  [[nodiscard]] HETSCHED_DEVICE static constexpr rank_type rank() noexcept { return Rank; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t extent(rank_type d) const noexcept {
    return mapping_.extent(d);
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t stride(rank_type d) const noexcept {
    return mapping_.stride(d);
  }

  [[nodiscard]] constexpr Extents extents() const noexcept { return mapping_.extents(); }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t size() const noexcept {
    return mapping_.size();
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] HETSCHED_DEVICE constexpr bool is_exhaustive() const noexcept {
    return mapping_.is_exhaustive();
  }

  template <std::convertible_to<std::size_t>... Index>
    requires(sizeof...(Index) == Rank)
  [[nodiscard]] HETSCHED_DEVICE constexpr T& operator()(Index... index) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0) {
    std::size_t const at[] = {static_cast<std::size_t>(index)...};
    return element(at);
  }

  /// `v[{i, j}]`
  [[nodiscard]] constexpr T& operator[](Extents const& index) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0) {
    return element(index.data());
  }

#ifdef __cpp_multidimensional_subscript
  template <std::convertible_to<std::size_t>... Index>
    requires(sizeof...(Index) == Rank)
  [[nodiscard]] HETSCHED_DEVICE constexpr T& operator[](Index... index) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0) {
    return (*this)(index...);
  }
#else
  [[nodiscard]] HETSCHED_DEVICE constexpr T& operator[](std::size_t index) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0)
    requires(Rank == 1)
  {
    return (*this)(index);
  }
#endif

  // Of a matrix, as TileView has them.

  [[nodiscard]] HETSCHED_DEVICE constexpr T* data() const noexcept { return data_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t rows() const noexcept
    requires(Rank == 2)
  {
    return extent(0);
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t cols() const noexcept
    requires(Rank == 2)
  {
    return extent(1);
  }

  /// From one row to the next; LayoutLeft: from one column.
  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t ld() const noexcept
    requires(Rank == 2 && !std::same_as<Layout, LayoutStride>)
  {
    return stride(1 - mapping_type::fastest);
  }

private:
  HETSCHED_DEVICE constexpr T& element(std::size_t const* index) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0) {
#if HETSCHED_CHECK_BOUNDS
    for (std::size_t d = 0; d < Rank; ++d) {
      if (index[d] >= extent(d)) {
#ifdef __CUDA_ARCH__
        __trap();
#else
        throw_out_of_extent(d, index[d], extent(d));
#endif
      }
    }
#endif
    return data_[mapping_.offset(index)];
  }

  T* data_;
  mapping_type mapping_;
};

template <class M>
  requires detail::mdspan_like<M, M::rank()>
ArrayView(M const&)
    -> ArrayView<std::remove_pointer_t<typename M::data_handle_type>, M::rank(), LayoutStride>;

#if HETSCHED_CHECK_BOUNDS
} // namespace checked
#endif

/// A row-major matrix in memory: element (i, j) is `data[i * ld + j]`, ld >= cols.
template <class T>
[[nodiscard]] constexpr ArrayView<T, 2>
row_major(T* data, std::size_t rows, std::size_t cols, std::size_t ld) noexcept {
  return {data, {rows, cols}, ld};
}

/// A tile of a row-major matrix.
template <class T>
using RowTileView = ArrayView<T, 2, LayoutRight>;

/// The transposed matrix in the same memory, which is column-major.
template <class T>
[[nodiscard]] HETSCHED_DEVICE constexpr TileView<T> transposed(RowTileView<T> a) noexcept {
  return {a.data(), a.cols(), a.rows(), a.ld()};
}

/// The transposed matrix in the same memory, which is row-major.
template <class T>
[[nodiscard]] HETSCHED_DEVICE constexpr RowTileView<T> transposed(TileView<T> a) noexcept {
  std::size_t const extents[] = {a.cols(), a.rows()};
  return {a.data(), ArrayMapping<2, LayoutRight>::with_distance(extents, a.ld())};
}

namespace detail {

template <class View>
inline constexpr bool is_row_major = false;
template <class T>
inline constexpr bool is_row_major<RowTileView<T>> = true;

template <class T>
struct RowMajorData {
  template <class Matrix>
  static ArrayView<T, 2> view(Matrix& matrix) noexcept {
    auto const cols = static_cast<std::size_t>(matrix.cols());
    auto const stride = static_cast<std::size_t>(matrix.outerStride());
    return {matrix.data(),
            {static_cast<std::size_t>(matrix.rows()), cols},
            matrix.rows() <= 1 ? std::max(cols, stride) : stride};
  }
};

template <class T, std::size_t Rank, class Layout>
struct DataTraits<ArrayView<T, Rank, Layout>> {
  using Element = std::remove_const_t<T>;
  using Mutable = ArrayView<Element, Rank, Layout>;
  using ReadView = ArrayView<Element const, Rank, Layout>;
  using WriteView = Mutable;
  static constexpr bool writable = !std::is_const_v<T>;
  static constexpr std::size_t dimensions = Rank;
  static constexpr bool has_strides = std::same_as<Layout, LayoutStride>;

  template <class E>
  static ArrayView<E, Rank, Layout> view(E* base, Shape const& shape) noexcept {
    auto const& array = *shape.array;
    using Mapping = ArrayMapping<Rank, Layout>;
    if constexpr (has_strides) {
      std::size_t strides[Rank];
      std::size_t next = 1;
      for (std::size_t k = 0; k < Rank; ++k) {
        next = k == array.row_rank ? shape.ld : next;
        strides[array.order[k]] = next;
        next *= array.extents[array.order[k]];
      }
      return {base, Mapping::with_strides(array.extents, strides)};
    } else {
      return {base, Mapping::with_distance(array.extents, shape.ld)};
    }
  }

  static std::size_t extent(Shape const& shape, std::size_t dimension) noexcept {
    return dimension < Rank ? shape.array->extents[dimension] : 1;
  }

  /// Throws Error(bad_data): see ArrayView.
  static ArrayRegion region(ArrayView<T, Rank, Layout> const& view) {
    std::size_t extents[Rank];
    std::size_t strides[Rank];
    for (std::size_t d = 0; d < Rank; ++d) {
      extents[d] = view.extent(d);
      strides[d] = view.stride(d);
    }
    if constexpr (has_strides) {
      return region_of_array(extents, strides, Rank);
    } else {
      return region_of_array(extents, strides, Rank, ArrayMapping<Rank, Layout>::last_is_fastest);
    }
  }

  /// Calls open with the cut as memory has it, and make(state, grid rows, parts) with what it
  /// gives.
  template <class Cut, class Open, class Make>
  static auto partition(Shape const& shape, Cut const& cut, Open const& open, Make const& make) {
    static_assert(!has_strides, "hetsched: partition needs an array of LayoutRight or LayoutLeft");
    constexpr bool right = ArrayMapping<Rank, Layout>::last_is_fastest;
    if constexpr (Rank == 1) {
      auto [state, parts] = open(cut);
      auto const rows = state->grid_rows;
      return make(state, rows, std::move(parts));
    } else {
      auto memory = cut;
      if constexpr (right) {
        std::swap(memory.blocks.rows, memory.blocks.cols);
        std::swap(memory.row_cuts, memory.col_cuts);
      }
      auto const& array = *shape.array;
      auto const slowest = array.extents[array.order[Rank - 1]];
      auto const slice = slowest == 0 ? 1 : std::max<std::size_t>(shape.cols / slowest, 1);
      std::vector<std::size_t> cuts(memory.col_cuts.begin(), memory.col_cuts.end());
      for (auto& one : cuts) {
        one *= slice;
      }
      memory.col_cuts = cuts;
      memory.blocks.cols = std::min(memory.blocks.cols, std::max<std::size_t>(slowest, 1)) * slice;
      auto [state, parts] = open(memory);
      auto const rows = state->grid_rows; // of parts one behind the other in memory
      auto const cols = parts.size() / rows;
      if constexpr (right) {
        auto grid = parts;
        for (std::size_t k = 0; k < parts.size(); ++k) {
          grid[k / rows + k % rows * cols] = std::move(parts[k]);
        }
        return make(state, cols, std::move(grid));
      } else {
        return make(state, rows, std::move(parts));
      }
    }
  }
};

} // namespace detail
} // namespace hetsched
