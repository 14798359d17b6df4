// SPDX-License-Identifier: MIT
// Views of arrays by themselves: where elements are, and what converts to and from an mdspan.

#include <hetsched/core/array_view.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace hs = hetsched;
using hs::ArrayView;
using hs::LayoutLeft, hs::LayoutRight, hs::LayoutStride;

namespace array_view_test {

TEST_SUITE_BEGIN("core/array_view");

/// What std::mdspan has, of strides that are given, or dense with the last index the fastest.
template <class T, std::size_t Rank, bool given_strides>
class Span {
public:
  using index_type = int;
  using layout_type = void;
  using data_handle_type = T*;

  struct extents_type {
    explicit extents_type(std::array<int, Rank> const& of) : sizes(of) {}

    std::array<int, Rank> sizes;
  };

  struct Dense {
    explicit Dense(extents_type const& of) : sizes(of.sizes) {
      int next = 1;
      for (auto d = Rank; d-- > 0; next *= sizes[d]) {
        strides[d] = next;
      }
    }

    [[nodiscard]] std::size_t stride(std::size_t d) const {
      return static_cast<std::size_t>(strides[d]);
    }

    std::array<int, Rank> sizes;
    std::array<int, Rank> strides{};
  };

  struct Strided {
    Strided(extents_type const& of, std::array<int, Rank> const& its_strides)
        : sizes(of.sizes), strides(its_strides) {}

    std::array<int, Rank> sizes;
    std::array<int, Rank> strides;
  };

  using mapping_type = std::conditional_t<given_strides, Strided, Dense>;

  Span(T* data, mapping_type const& mapping) : data_(data), mapping_(mapping) {}

  [[nodiscard]] static constexpr std::size_t rank() { return Rank; }

  [[nodiscard]] int extent(std::size_t d) const { return mapping_.sizes[d]; }

  [[nodiscard]] int stride(std::size_t d) const { return mapping_.strides[d]; }

  [[nodiscard]] T* data_handle() const { return data_; }

private:
  T* data_;
  mapping_type mapping_;
};

std::vector<int> numbers(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST_CASE("ArrayView: where elements are") {
  auto all = numbers(200);
  ArrayView<int, 3> const right(all.data(), {2, 3, 4});
  CHECK(right(1, 2, 3) == 1 * 12 + 2 * 4 + 3);
  CHECK(right[{1, 0, 2}] == 14);
  CHECK(right.stride(0) == 12);
  CHECK(right.is_exhaustive());
  CHECK(right.size() == 24);

  ArrayView<int, 3, LayoutLeft> const left(all.data(), {2, 3, 4});
  CHECK(left(1, 2, 3) == 1 + 2 * 2 + 3 * 6);

  ArrayView<int, 4> const gaps(all.data(), {2, 3, 2, 4}, 5);
  CHECK(gaps(1, 2, 1, 3) == 1 * 30 + 2 * 10 + 1 * 5 + 3);
  CHECK_FALSE(gaps.is_exhaustive());
  CHECK(gaps.mapping().required_span_size() == 30 + 20 + 5 + 4);

  ArrayView<int, 3, LayoutLeft> const left_gaps(all.data(), {2, 3, 4}, 7);
  CHECK(left_gaps(1, 2, 3) == 1 + 2 * 7 + 3 * 21);

  ArrayView<int, 2, LayoutStride> const any(all.data(), {3, 2}, {2, 50});
  CHECK(any(2, 1) == 54);
  CHECK(any.mapping()(2, 1) == 54);

  ArrayView<int, 1> const line(all.data(), {9});
  CHECK(line[4] == 4);
  CHECK(line(8) == 8);
  CHECK(ArrayView<int, 2>(all.data(), {0, 3}).empty());
  CHECK(ArrayView<int, 2>(all.data(), {0, 3}).mapping().required_span_size() == 0);
}

TEST_CASE("ArrayView: conversions, and transposed tiles") {
  auto all = numbers(60);
  auto const rows = hs::row_major(all.data(), 3, 4, 10);
  static_assert(std::is_same_v<decltype(rows), hs::RowTileView<int> const>);
  CHECK(rows(2, 3) == 23);
  CHECK(rows.rows() == 3);
  CHECK(rows.cols() == 4);
  CHECK(rows.ld() == 10);
  ArrayView<int const, 2> const read = rows;
  CHECK(&read(1, 1) == &rows(1, 1));
  auto const strided = rows.strided();
  CHECK(&strided(2, 3) == &rows(2, 3));
  auto const columns = hs::transposed(rows);
  CHECK(columns.rows() == 4);
  CHECK(&columns(3, 2) == &rows(2, 3));
  CHECK(&hs::transposed(columns)(2, 3) == &rows(2, 3));
  static_assert(!std::is_convertible_v<ArrayView<int const, 2>, ArrayView<int, 2>>);
  static_assert(!std::is_convertible_v<ArrayView<int, 2, LayoutLeft>, ArrayView<int, 2>>);
}

TEST_CASE("ArrayView: to what has mdspan's shape, and from it") {
  auto all = numbers(60);
  using Dense = Span<int, 2, false>;
  using Strided = Span<int const, 2, true>;
  auto const rows = hs::row_major(all.data(), 3, 4, 10);
  Strided const span = rows;
  CHECK(span.stride(0) == 10);
  CHECK(span.extent(1) == 4);
  CHECK(span.data_handle() == all.data());
  auto const error = support::error_of([&] { static_cast<void>(static_cast<Dense>(rows)); });
  REQUIRE(error.has_value());
  CHECK(std::string(error->what()) ==
        "hetsched: array view: its strides are not those of the mdspan's layout");
  Dense const dense = hs::row_major(all.data(), 3, 4, 4);
  CHECK(dense.stride(0) == 4);

  ArrayView const back(span); // with strides of its own
  static_assert(std::is_same_v<decltype(back), ArrayView<int const, 2, LayoutStride> const>);
  CHECK(back(2, 3) == 23);
  ArrayView<int const, 2> const right(span);
  CHECK(right(2, 3) == 23);
  CHECK(right.ld() == 10);
  CHECK_THROWS_WITH_AS((ArrayView<int const, 2, LayoutLeft>(span)),
                       "hetsched: array view: the mdspan's strides are not those of the view's "
                       "layout",
                       hs::Error);
}

#ifdef __cpp_lib_mdspan
TEST_CASE("ArrayView: to a std::mdspan and from it") {
  auto all = numbers(60);
  std::mdspan<int, std::dextents<std::size_t, 3>> const dense =
      ArrayView<int, 3>(all.data(), {2, 3, 4});
  CHECK(dense.mapping()(1, 2, 3) == 23);
  std::mdspan<int const, std::dextents<int, 2>, std::layout_stride> const span =
      hs::row_major(all.data(), 3, 4, 10);
  CHECK(span.stride(0) == 10);
  std::mdspan<int, std::dextents<int, 2>, std::layout_left> const left =
      ArrayView<int, 2, LayoutLeft>(all.data(), {3, 4});
  CHECK(left.stride(1) == 3);
  CHECK(ArrayView(span)(2, 3) == 23);
  CHECK(ArrayView<int, 3>(dense)(1, 2, 3) == 23);
  CHECK_THROWS_AS(
      (static_cast<std::mdspan<int, std::dextents<int, 2>>>(hs::row_major(all.data(), 3, 4, 10))),
      hs::Error);
}
#endif

TEST_SUITE_END();

} // namespace array_view_test
