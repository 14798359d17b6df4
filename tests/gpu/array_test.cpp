// SPDX-License-Identifier: MIT
// Arrays as data of tasks, on cores and on emulated devices.

#include <hetsched/core/array_view.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::ArrayView;
using hs::LayoutLeft, hs::LayoutRight, hs::LayoutStride;
using support::error_of;

namespace array_test {

TEST_SUITE_BEGIN("gpu/array");

/// Calls visit(index, element) for each element of a view.
template <class T, std::size_t Rank, class Layout, class Visit>
void for_each(ArrayView<T, Rank, Layout> const& view, Visit const& visit) {
  std::array<std::size_t, Rank> index{};
  for (std::size_t k = 0; k < view.size(); ++k) {
    auto rest = k;
    for (std::size_t d = 0; d < Rank; ++d) {
      index[d] = rest % view.extent(d);
      rest /= view.extent(d);
    }
    visit(index, view[index]);
  }
}

/// A number for each index.
template <std::size_t Rank>
double number_at(std::array<std::size_t, Rank> const& index) {
  double number = 1;
  for (auto const i : index) {
    number = 10 * number + static_cast<double>(i);
  }
  return number;
}

/// Adds the number of its index to each element.
template <class View>
struct Number : hs::Task<1>::Signature<hs::RW<View>> {
  static void add(View view) {
    for_each(view, [](auto const& index, double& element) { element += number_at(index); });
  }
};

} // namespace array_test

template <class View>
struct hetsched::TaskBodyCPU<array_test::Number<View>> {
  void operator()(View view) const { array_test::Number<View>::add(view); }
};

template <class View>
struct hetsched::TaskBodyGPU<array_test::Number<View>> {
  void operator()(hetsched::GpuStream& stream, View view) const {
    CHECK(view.is_exhaustive());
    support::launch(stream, [view] { array_test::Number<View>::add(view); });
  }
};

namespace array_test {

/// Registers `view` on a runtime with devices, adds twice on devices and once on a core, and looks
/// at the memory of `all`, in which the view lies: what is beside it stays.
template <class View>
void check_on_devices(View const& view, std::vector<double>& all) {
  std::fill(all.begin(), all.end(), -1);
  hs::Runtime<> rt({.cpus = 1, .bind = hs::Bind::none, .devices = "emu:2"});
  auto const h = rt.data(view);
  CHECK(h.rows() == view.extent(0));
  rt.template spawn<Number<View>>(hs::SetArch(hs::ArchCUDA))(h);
  rt.template spawn<Number<View>>(hs::SetArch(hs::ArchHost))(h);
  rt.template spawn<Number<View>>(hs::SetArch(hs::ArchCUDA))(h);
  rt.sync();
  std::vector<double> expected(all.size(), -1);
  for_each(view, [&](auto const& index, double& element) {
    expected[static_cast<std::size_t>(&element - all.data())] += 3 * number_at(index);
  });
  CHECK(all == expected);
}

TEST_CASE("arrays: of every rank and layout, on devices and cores") {
  std::vector<double> all(400);
  auto* const at = all.data() + 1;
  check_on_devices(ArrayView<double, 1>(at, {7}), all);
  check_on_devices(ArrayView<double, 1, LayoutStride>(at, {7}, {3}), all);
  check_on_devices(ArrayView<double, 2>(at, {3, 5}), all);
  check_on_devices(hs::row_major(at, 3, 5, 8), all);
  check_on_devices(ArrayView<double, 2, LayoutLeft>(at, {3, 5}, 4), all);
  check_on_devices(ArrayView<double, 3>(at, {2, 3, 4}), all);
  check_on_devices(ArrayView<double, 3>(at, {2, 3, 4}, 6), all);
  check_on_devices(ArrayView<double, 3, LayoutLeft>(at, {2, 3, 4}, 3), all);
  check_on_devices(ArrayView<double, 4>(at, {2, 3, 2, 4}, 5), all);
  check_on_devices(ArrayView<double, 4, LayoutLeft>(at, {2, 3, 2, 4}), all);
  // the middle index fastest; a gap behind each 2 x 3 elements; single elements
  check_on_devices(ArrayView<double, 3, LayoutStride>(at, {4, 3, 2}, {6, 1, 3}), all);
  check_on_devices(ArrayView<double, 3, LayoutStride>(at, {4, 3, 2}, {7, 2, 1}), all);
  check_on_devices(ArrayView<double, 3, LayoutStride>(at, {4, 1, 2}, {4, 99, 2}), all);
  check_on_devices(ArrayView<double, 4, LayoutStride>(at, {2, 3, 2, 4}, {1, 2, 12, 24}), all);
  check_on_devices(ArrayView<double, 3>(at, {2, 0, 4}), all);
}

TEST_CASE("arrays: in lambdas, with every mode, as temporaries, lists and with handles") {
  std::vector<double> all(24);
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  using View = ArrayView<double, 3>;
  using Const = ArrayView<double const, 3>;
  auto const h = rt.data(View(all.data(), {2, 3, 4}));
  auto const scratch = rt.temporary<View>({2, 3, 4});
  CHECK(scratch.rows() == 2);
  CHECK(scratch.cols() == 3);
  rt.spawn()([](View v) { Number<View>::add((std::fill(&v(0, 0, 0), &v(0, 0, 0) + 24, 0), v)); },
             hs::write(scratch));
  rt.spawn()([](Const from, View to) { to(1, 2, 3) = from(1, 2, 3); },
             hs::read(scratch),
             hs::read_write(h));
  for (int k = 0; k < 5; ++k) {
    rt.spawn()([](View v) { v(0, 1, 2) += 2; }, hs::reduce<hs::Sum<double>>(h));
  }
  std::vector const list{h, scratch};
  double sum = 0;
  rt.spawn()([&sum](hs::Each<Const> each) { sum = each[0](1, 2, 3) + each[1](1, 2, 3); },
             hs::read(list));
  rt.spawn()(
      [](hs::Runtime<>& inner, hs::WithHandle<View> v) {
        v.view(0, 0, 0) = 5;
        inner.spawn()([](View w) { w(0, 0, 1) = w(0, 0, 0) + 1; }, hs::read_write(v.handle));
      },
      hs::read_write(h));
  rt.sync();
  CHECK(all[1 * 12 + 2 * 4 + 3] == 1123);
  CHECK(all[1 * 4 + 2] == 10);
  CHECK(sum == 2 * 1123);
  CHECK(all[1] == 6);

  std::vector<double> const constant(4, 3.0);
  auto const c = rt.data(ArrayView<double const, 2>(constant.data(), {2, 2}));
  rt.spawn()([&sum](ArrayView<double const, 2> v) { sum = v(1, 1); }, hs::read(c));
  rt.sync();
  CHECK(sum == 3);
}

TEST_CASE("arrays: a reduction on memory with gaps") {
  std::vector<double> all(3 * 7, -1);
  {
    hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none, .devices = "emu:1"});
    auto const h = rt.data(hs::row_major(all.data(), 3, 4, 7));
    for (int k = 0; k < 8; ++k) {
      rt.spawn()([](ArrayView<double, 2> v) { v(2, 1) += 1; }, hs::reduce<hs::Sum<double>>(h));
    }
    rt.spawn<Number<ArrayView<double, 2>>>(hs::SetArch(hs::ArchCUDA))(h);
    rt.sync();
  }
  CHECK(all[2 * 7 + 1] == -1 + 8 + 121);
  CHECK(all[1 * 7 + 3] == -1 + 113);
  CHECK(all[1 * 7 + 4] == -1);
}

/// Writes k + 1 to part k, or i + rows * j + 1 to part (i, j), and looks where that is.
template <class View, class Cut>
void check_parts(View const& view,
                 Cut const& cut,
                 std::vector<std::size_t> const& first_bounds,
                 std::vector<std::size_t> const& last_bounds) {
  constexpr auto last = View::rank() - 1;
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none, .devices = "emu:1"});
  auto const h = rt.data(view);
  auto parts = rt.partition(h, cut);
  auto const cols = last == 0 ? 1 : last_bounds.size() - 1;
  REQUIRE(parts.rows() == first_bounds.size() - 1);
  REQUIRE(parts.cols() == cols);
  for (std::size_t j = 0; j < parts.cols(); ++j) {
    for (std::size_t i = 0; i < parts.rows(); ++i) {
      CHECK(parts(i, j).rows() == first_bounds[i + 1] - first_bounds[i]);
      rt.template spawn<Number<View>>()(parts(i, j));
    }
  }
  rt.join(parts);
  rt.sync();
  for_each(view, [&](auto index, double const& element) {
    auto const within = [](auto const& bounds, std::size_t i) {
      return i - *(std::upper_bound(bounds.begin(), bounds.end(), i) - 1);
    };
    index[0] = within(first_bounds, index[0]);
    if (last != 0) {
      index[last] = within(last_bounds, index[last]);
    }
    REQUIRE(element == number_at(index));
  });
}

TEST_CASE("arrays: partitions along the first and the last dimension") {
  auto const fresh = [] { return std::vector<double>(400); };
  auto a = fresh();
  check_parts(hs::row_major(a.data(), 5, 7, 9), hs::tiles(2, 3), {0, 2, 4, 5}, {0, 3, 6, 7});
  auto b = fresh();
  check_parts(hs::row_major(b.data(), 5, 7, 9), hs::cuts({1, 4}, {6}), {0, 1, 4, 5}, {0, 6, 7});
  auto c = fresh();
  check_parts(hs::row_major(c.data(), 5, 7, 7), hs::block_rows(3), {0, 3, 5}, {0, 7});
  auto d = fresh();
  check_parts(
      ArrayView<double, 3>(d.data(), {5, 3, 4}, 6), hs::cuts({2}, {1, 3}), {0, 2, 5}, {0, 1, 3, 4});
  auto e = fresh();
  check_parts(ArrayView<double, 3>(e.data(), {5, 3, 4}), hs::block_rows(2), {0, 2, 4, 5}, {0, 4});
  auto f = fresh();
  check_parts(ArrayView<double, 4, LayoutLeft>(f.data(), {5, 2, 3, 4}),
              hs::tiles(2, 3),
              {0, 2, 4, 5},
              {0, 3, 4});
  auto g = fresh();
  check_parts(ArrayView<double, 1>(g.data(), {9}), hs::block_rows(4), {0, 4, 8, 9}, {});
}

TEST_CASE("arrays: parts of parts") {
  std::vector<double> all(6 * 3 * 4);
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none});
  auto const h = rt.data(ArrayView<double, 3>(all.data(), {6, 3, 4}));
  auto halves = rt.partition(h, hs::block_rows(3));
  auto inner = rt.partition(halves[1], hs::cuts({1}, {2}));
  rt.spawn()([](ArrayView<double, 3> v) { v(1, 2, 1) = 7; }, hs::read_write(inner(1, 1)));
  rt.join(halves);
  rt.sync();
  CHECK(all[(3 + 1 + 1) * 12 + 2 * 4 + 2 + 1] == 7);
}

TEST_CASE("arrays: a temporary of one dimension") {
  hs::Runtime<> rt({.cpus = 1});
  double sum = 0;
  auto const h = rt.temporary<ArrayView<double, 1>>({5});
  static_assert(std::is_same_v<decltype(h), hs::Handle<ArrayView<double, 1>> const>);
  auto const all = rt.data(sum);
  rt.spawn()(
      [](ArrayView<double, 1> v) {
        for (std::size_t i = 0; i < v.extent(0); ++i) {
          v(i) = static_cast<double>(i);
        }
      },
      hs::write(h));
  rt.spawn()([](ArrayView<double const, 1> v, double& s) { s = v(1) + v(4); },
             hs::read(h),
             hs::write(all));
  rt.sync();
  CHECK(sum == 5);
}

TEST_CASE("arrays: what is refused") {
  std::vector<double> all(400);
  hs::Runtime<> rt({.cpus = 1});
  auto const error = [&](auto const& view) {
    auto const found = error_of([&] { static_cast<void>(rt.data(view)); });
    REQUIRE(found.has_value());
    CHECK(found->code() == hs::ErrorCode::bad_data);
    return std::string(found->what());
  };
  CHECK(error(ArrayView<double, 3, LayoutStride>(all.data(), {3, 3, 3}, {50, 10, 2})) ==
        "hetsched: array view: its strides leave gaps in more than one dimension: copy it, or "
        "register what it is a part of");
  CHECK(error(ArrayView<double, 2, LayoutStride>(all.data(), {3, 3}, {1, 1})) ==
        "hetsched: array view: its strides make elements overlap");
  CHECK(error(ArrayView<double, 2, LayoutLeft>(all.data(), {3, 3}, 2)) ==
        "hetsched: array view: the distance 2 of its columns is less than their 3 elements");
  double* const nothing = nullptr;
  CHECK(error(ArrayView<double, 2>(nothing, {3, 3})) == "hetsched: data(nullptr): has no memory");
  auto const h = rt.data(ArrayView<double, 3>(all.data(), {2, 3, 4}));
  auto const overlap = error(hs::row_major(all.data() + 23, 1, 1, 1));
  CHECK(overlap.find("(1 x 1): overlaps data at") != std::string::npos);
  CHECK(overlap.find("(2 x 3 x 4)") != std::string::npos);
  auto const cut = error_of([&] { static_cast<void>(rt.partition(h, hs::cuts({2}))); });
  REQUIRE(cut.has_value());
  CHECK(std::string(cut->what()).find("a cut at row 2: it has 2") != std::string::npos);
}

TEST_SUITE_END();

} // namespace array_test
