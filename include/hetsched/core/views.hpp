// SPDX-License-Identifier: MIT
#pragma once
// Views that task bodies receive, and the shapes in which a region can be cut.

#include <hetsched/core/build_config.hpp>
#include <hetsched/core/device_code.hpp>

#if HETSCHED_CHECK_BOUNDS
#include <hetsched/core/error.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hetsched {

#if HETSCHED_CHECK_BOUNDS // see core/build_config.hpp
inline namespace checked {

[[noreturn, gnu::cold, gnu::noinline]] inline void
throw_out_of_bounds(std::size_t i, std::size_t j, std::size_t rows, std::size_t cols) {
  throw Error(ErrorCode::bad_access,
              "view",
              detail::text("has no element (%zu, %zu): it has %zu x %zu", i, j, rows, cols));
}

HETSCHED_DEVICE constexpr void
check_bounds(std::size_t i, std::size_t j, std::size_t rows, std::size_t cols) {
  if (i >= rows || j >= cols) {
#ifdef __CUDA_ARCH__
    __trap();
#else
    throw_out_of_bounds(i, j, rows, cols);
#endif
  }
}

#define HETSCHED_BOUNDS(i, j, rows, cols) check_bounds(i, j, rows, cols)
#else
#define HETSCHED_BOUNDS(i, j, rows, cols) static_cast<void>(0)
#endif

#ifdef __CUDACC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 554 // nvcc warns about conversions of const views that do not exist
#endif

/// `size` contiguous elements. As a parameter type (`R<VectorView<double>>`) it names a vector; the
/// body gets the view itself, with a const element when the access is R. Never owns.
template <class T>
class VectorView {
public:
  using Element = T;

  HETSCHED_DEVICE constexpr VectorView(T* data, std::size_t size) noexcept
      : data_(data), size_(size) {}

  /// A writable view converts to a read-only view.
  HETSCHED_DEVICE constexpr
  operator VectorView<T const>() const noexcept // NOLINT: like T* to T const*
    requires(!std::is_const_v<T>)
  {
    return {data_, size_};
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr T* data() const noexcept { return data_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t size() const noexcept { return size_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr T& operator[](std::size_t i) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0) {
    HETSCHED_BOUNDS(i, 0, size_, 1);
    return data_[i];
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr T* begin() const noexcept { return data_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr T* end() const noexcept { return data_ + size_; }

private:
  T* data_;
  std::size_t size_;
};

/// A column-major block: element (i, j) is `data()[i + j * ld()]`, `ld() >= rows()`. Never owns.
template <class T>
class TileView {
public:
  using Element = T;

  HETSCHED_DEVICE constexpr TileView(T* data,
                                     std::size_t rows,
                                     std::size_t cols,
                                     std::size_t ld) noexcept
      : data_(data), rows_(rows), cols_(cols), ld_(ld) {}

  /// A writable view converts to a read-only view.
  HETSCHED_DEVICE constexpr operator TileView<T const>() const noexcept // NOLINT: as T* to T const*
    requires(!std::is_const_v<T>)
  {
    return {data_, rows_, cols_, ld_};
  }

  [[nodiscard]] HETSCHED_DEVICE constexpr T* data() const noexcept { return data_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t cols() const noexcept { return cols_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr std::size_t ld() const noexcept { return ld_; }

  [[nodiscard]] HETSCHED_DEVICE constexpr T& operator()(std::size_t i, std::size_t j) const
      noexcept(HETSCHED_CHECK_BOUNDS == 0) {
    HETSCHED_BOUNDS(i, j, rows_, cols_);
    return data_[i + j * ld_];
  }

private:
  T* data_;
  std::size_t rows_;
  std::size_t cols_;
  std::size_t ld_;
};

#if HETSCHED_CHECK_BOUNDS
} // namespace checked
#endif

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif

/// How `Runtime::partition` cuts a region: into blocks of `rows` x `cols` elements. The last ones
/// may be smaller.
struct Blocks {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// Tiles of `rows` x `cols` elements.
[[nodiscard]] constexpr Blocks tiles(std::size_t rows, std::size_t cols) noexcept {
  return {rows, cols};
}

/// Square tiles.
[[nodiscard]] constexpr Blocks tiles(std::size_t size) noexcept {
  return {size, size};
}

/// Blocks of `rows` full rows, or of `rows` elements of a vector.
[[nodiscard]] constexpr Blocks block_rows(std::size_t rows) noexcept {
  return {rows, static_cast<std::size_t>(-1)};
}

namespace detail {

/// The dimensions of an array (core/array_view.hpp) whose memory is a region: the first `row_rank`
/// of `order` make the contiguous elements of a column of the region, the others its columns.
struct ArrayShape {
  static constexpr std::size_t most_dimensions = 4;

  std::size_t extents[most_dimensions]; // by dimension
  std::uint8_t order[most_dimensions];  // dimensions, the fastest in memory first
  std::uint8_t rank;
  std::uint8_t row_rank;
};

/// The size of a region, as memory has it. A vector has one column, a scalar one element.
struct Shape {
  std::size_t rows = 1;
  std::size_t cols = 1;
  std::size_t ld = 1;
  ArrayShape const* array = nullptr; // of an array; belongs to the datum's record
};

/// What a parameter or handle type says: element, views, and whether it may be written.
template <class D>
struct DataTraits {
  using Element = std::remove_const_t<D>;
  using Mutable = Element;
  using ReadView = Element const&;
  using WriteView = Element&;
  static constexpr bool writable = !std::is_const_v<D>;

  template <class E>
  static E& view(E* base, Shape const&) noexcept {
    return *base;
  }
};

/// A type of data whose dimensions are not those of its memory: see ArrayView.
template <class D>
concept array_data = requires { DataTraits<D>::dimensions; };

/// The extent of a datum's dimension, counted from 0.
template <class D>
[[nodiscard]] std::size_t extent_of(Shape const& shape, std::size_t dimension) noexcept {
  if constexpr (array_data<D>) {
    return DataTraits<D>::extent(shape, dimension);
  } else {
    return dimension == 0 ? shape.rows : shape.cols;
  }
}

template <template <class> class View, class T>
struct ViewTraits {
  using Element = std::remove_const_t<T>;
  using Mutable = View<Element>;
  using ReadView = View<Element const>;
  using WriteView = View<Element>;
  static constexpr bool writable = !std::is_const_v<T>;
};

template <class T>
struct DataTraits<VectorView<T>> : ViewTraits<VectorView, T> {
  template <class E>
  static VectorView<E> view(E* base, Shape const& shape) noexcept {
    return {base, shape.rows};
  }
};

template <class T>
struct DataTraits<TileView<T>> : ViewTraits<TileView, T> {
  template <class E>
  static TileView<E> view(E* base, Shape const& shape) noexcept {
    return {base, shape.rows, shape.cols, shape.ld};
  }
};

/// Where a datum is.
struct DataPlace {
  void* base;
  Shape shape;
};

/// Where the data of a list are: asked for one by one.
struct DataSource {
  DataPlace (*at)(DataSource const& source, std::size_t k); // datum number k of the task
  void* task;
  void* const* places; // in a device's memory; null on the host
  std::size_t first;   // number of the list's first datum
};

} // namespace detail

#if HETSCHED_CHECK_BOUNDS
inline namespace checked {
#endif

/// Data whose number is known when the task is spawned. As a parameter type
/// (`RW<Each<TileView<double>>>`) it stands for a list: the spawn is given anything with `size()`
/// and `[i]` that has handles in it (std::vector<Handle<...>>, std::span, Partition). The body gets
/// the list of views, const ones when the access is R; or, to hand them to nested tasks, an
/// `Each<Handle<D>>`. A list may be empty, and a datum may be in it more than once. All of its data
/// are in place when the body begins, as if they were a parameter each.
///
/// Valid while the body runs; for host code. To give pointers to a kernel, copy them.
template <class D>
class Each {
  using Traits = detail::DataTraits<D>;

public:
  using Data = D;
  using View =
      std::conditional_t<Traits::writable, typename Traits::WriteView, typename Traits::ReadView>;

  /// For the library.
  Each(detail::DataSource const& source, std::size_t size) noexcept
      : source_(source), size_(size) {}

  /// Writable data can be read.
  template <class Other>
    requires(!Traits::writable && std::is_same_v<Other, typename Traits::Mutable>)
  Each(Each<Other> const& other) noexcept // NOLINT: as a view to a read-only view
      : source_(other.source()), size_(other.size()) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] View operator[](std::size_t i) const noexcept(HETSCHED_CHECK_BOUNDS == 0) {
    HETSCHED_BOUNDS(i, 0, size_, 1);
    using Element = std::
        conditional_t<Traits::writable, typename Traits::Element, typename Traits::Element const>;
    auto const place = source_.at(source_, source_.first + i);
    return Traits::view(static_cast<Element*>(place.base), place.shape);
  }

  class Iterator {
  public:
    Iterator(Each const& list, std::size_t i) noexcept : list_(&list), i_(i) {}

    [[nodiscard]] View operator*() const { return (*list_)[i_]; }

    Iterator& operator++() noexcept {
      ++i_;
      return *this;
    }

    friend bool operator==(Iterator const&, Iterator const&) = default;

  private:
    Each const* list_;
    std::size_t i_;
  };

  [[nodiscard]] Iterator begin() const noexcept { return {*this, 0}; }

  [[nodiscard]] Iterator end() const noexcept { return {*this, size_}; }

  /// For the library.
  [[nodiscard]] detail::DataSource const& source() const noexcept { return source_; }

private:
  detail::DataSource source_;
  std::size_t size_;
};

#if HETSCHED_CHECK_BOUNDS
} // namespace checked
#endif
#undef HETSCHED_BOUNDS

namespace detail {

template <class D>
struct DataTraits<Each<D>> {
  using Element = typename DataTraits<D>::Element;
  using Mutable = Each<typename DataTraits<D>::Mutable>;
  using ReadView = Each<std::remove_reference_t<typename DataTraits<D>::ReadView>>;
  using WriteView = Mutable;
  static constexpr bool writable = DataTraits<D>::writable;
};

} // namespace detail
} // namespace hetsched
