// SPDX-License-Identifier: MIT
// What can be registered, how it arrives in a body, and which registrations are refused.

#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::on_cpus;

namespace data_test {

struct Particle {
  double mass = 1;
  std::array<double, 3> velocity{};
};

/// A matrix as Eigen's are: stored by columns, with a stride.
class Matrix {
public:
  [[nodiscard]] int rows() const { return 2; }

  [[nodiscard]] int cols() const { return 3; }

  [[nodiscard]] int outerStride() const { return 4; }

  [[nodiscard]] double* data() { return numbers.data(); }

  std::array<double, 12> numbers{};
};

/// Aligned to more than any allocator does by itself.
struct alignas(128) Wide {
  int value = 0;
};

struct AddWide {
  static Wide neutral() { return {}; }

  static Wide combine(Wide a, Wide b) { return {a.value + b.value}; }
};

struct Sum : hs::Task<2>::Signature<hs::R<hs::VectorView<int>>, hs::W<int>> {};

template <std::size_t I, class T>
using Repeated = T;

/// Some data, and one more.
template <class Indices>
struct Many;

template <std::size_t... I>
struct Many<std::index_sequence<I...>>
    : hs::Task<sizeof...(I) + 1>::template Signature<Repeated<I, hs::RW<int>>..., hs::RW<int>> {};

} // namespace data_test

template <>
struct hetsched::TaskBodyCPU<data_test::Sum> {
  void operator()(hs::VectorView<int const> v, int& sum) {
    sum = std::accumulate(v.begin(), v.end(), 0);
  }
};

/// Has a child add to the last.
template <std::size_t... I>
struct hetsched::TaskBodyCPU<data_test::Many<std::index_sequence<I...>>> {
  void operator()(hs::Runtime<>& rt,
                  data_test::Repeated<I, int&>... values,
                  hs::Handle<int> last) const {
    (++values, ...);
    rt.spawn()([](int& value) { ++value; }, hs::read_write(last));
  }
};

namespace data_test {

/// The sum of so many data, and one more, after a task and a lambda have each added 1 to them.
template <std::size_t... I>
int add_to_all(std::index_sequence<I...>) {
  std::array<int, sizeof...(I) + 1> values{};
  hs::Runtime<> rt(on_cpus(2));
  std::vector<hs::Handle<int>> handles;
  for (auto& value : values) {
    handles.push_back(rt.data(value));
  }
  rt.spawn<Many<std::index_sequence<I...>>>()(handles[I]..., handles.back());
  // g++ 12 looks into a body of deduced result to see what can be passed.
  rt.spawn()([](auto&... v) -> void { (++v, ...); },
             hs::read_write(handles[I])...,
             hs::read_write(handles.back()));
  rt.sync();
  return std::accumulate(values.begin(), values.end(), 0);
}

TEST_SUITE_BEGIN("data");

TEST_CASE("data: a task may have 33 or 64, the last of them as a handle") {
  CHECK(add_to_all(std::make_index_sequence<32>()) == 66);
  CHECK(add_to_all(std::make_index_sequence<63>()) == 128);
}

TEST_CASE("data: a scalar and any object arrive as references to what was registered") {
  hs::Runtime<> rt(on_cpus(1));
  Particle particle;
  Particle const* read = nullptr;
  auto const handle = rt.data(particle);

  rt.spawn()([](Particle& p) { p.velocity[2] = 3; }, hs::read_write(handle));
  rt.spawn()([&read](Particle const& p) { read = &p; }, hs::read(handle));
  rt.sync();

  CHECK(particle.velocity[2] == 3);
  CHECK(read == &particle);
  CHECK(handle.rows() == 1);
  CHECK(handle.cols() == 1);
}

TEST_CASE("data: vectors, arrays and count elements arrive as vector views") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> vector{1, 2, 3};
  std::array<int, 2> array{4, 5};
  int plain[4] = {6, 7, 8, 9};
  auto const hvector = rt.data(vector);
  auto const harray = rt.data(array);
  auto const hplain = rt.data(plain + 1, 2);
  std::array<int, 3> sums{};
  auto const h0 = rt.data(sums[0]), h1 = rt.data(sums[1]), h2 = rt.data(sums[2]);

  rt.spawn<Sum>()(hvector, h0);
  rt.spawn<Sum>()(harray, h1);
  rt.spawn<Sum>()(hplain, h2);
  rt.sync();

  CHECK(sums == std::array<int, 3>{6, 9, 15});
  CHECK(hvector.rows() == 3);
}

TEST_CASE("data: a tile with a leading dimension beyond its rows leaves the rows between alone") {
  hs::Runtime<> rt(on_cpus(1));
  std::array<int, 15> memory{}; // 5 rows stored, of which rows 1 to 3 of 3 columns
  auto const tile = rt.data(memory.data() + 1, 3, 3, 5);

  rt.spawn()(
      [](hs::TileView<int> t) {
        for (std::size_t j = 0; j < t.cols(); ++j) {
          for (std::size_t i = 0; i < t.rows(); ++i) {
            t(i, j) = static_cast<int>(10 * i + j + 100);
          }
        }
      },
      hs::write(tile));
  rt.sync();

  CHECK(memory ==
        std::array<int, 15>{0, 100, 110, 120, 0, 0, 101, 111, 121, 0, 0, 102, 112, 122, 0});
}

TEST_CASE("data: copies that the library makes are aligned as their elements need") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<Wide> v(5);
  std::vector<std::unique_ptr<char[]>> between; // so that blocks begin anywhere
  auto const hv = rt.data(v);
  int misplaced = 0;
  auto const increment = [&misplaced](hs::VectorView<Wide> view) {
    misplaced += reinterpret_cast<std::uintptr_t>(view.data()) % alignof(Wide) == 0 ? 0 : 1;
    ++view[4].value;
  };
  for (std::size_t k = 0; k < 32; ++k) {
    between.push_back(std::make_unique<char[]>(8 + 16 * (k % 7)));
    rt.spawn(hs::abortable)(increment, hs::read_write(hv));
    rt.spawn()(increment, hs::reduce<AddWide>(hv));
    rt.sync();
  }
  CHECK(misplaced == 0);
  CHECK(v[4].value == 64);
}

TEST_CASE("data: a matrix with a stride arrives as a tile") {
  hs::Runtime<> rt(on_cpus(1));
  Matrix matrix;
  auto const handle = rt.data(matrix);

  rt.spawn()([](hs::TileView<double> t) { t(1, 2) = static_cast<double>(t.ld()); },
             hs::write(handle));
  rt.sync();

  CHECK(handle.rows() == 2);
  CHECK(handle.cols() == 3);
  CHECK(matrix.numbers[9] == 4);
}

TEST_CASE("data: const memory may be read") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> const table{1, 2, 3};
  int sum = 0;
  hs::Handle<hs::VectorView<int const>> const htable = rt.data(table);
  auto const hsum = rt.data(sum);

  rt.spawn<Sum>()(htable, hsum);
  rt.sync();

  CHECK(sum == 6);
}

TEST_CASE("data: nothing at all is a region, too") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> empty;
  int sum = -1;
  auto const hempty = rt.data(empty), again = rt.data(empty);
  auto const hsum = rt.data(sum);

  rt.spawn<Sum>()(hempty, hsum);
  rt.sync();

  CHECK(sum == 0);
  CHECK(hempty != again);
}

TEST_CASE("data: what is not a region is refused, with its name") {
  hs::Runtime<> rt(on_cpus(1));
  int* const null = nullptr;
  std::array<int, 12> memory{};

  CHECK(code_of([&] { (void)rt.data(null, 3); }) == hs::ErrorCode::bad_data);
  auto const error = error_of([&] { (void)rt.data(memory.data(), 4, 3, 3); });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_data);
  CHECK(std::string(error->what()).find("leading dimension 3 is less than the rows") !=
        std::string::npos);
  CHECK_NOTHROW((void)rt.data(null, 0));
}

TEST_CASE("data: overlapping memory is refused, touching and interleaved memory is not") {
  hs::Runtime<> rt(on_cpus(1));
  std::array<int, 40> memory{};
  auto middle = rt.data(memory.data() + 10, 10);
  middle.named("middle");

  for (int const first : {5, 10, 15, 19}) {
    CAPTURE(first);
    auto const error = error_of([&] { (void)rt.data(memory.data() + first, 8); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_data);
    CHECK(std::string(error->what()).find("overlaps data 'middle'") != std::string::npos);
  }
  CHECK(code_of([&] { (void)rt.data(memory); }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { (void)rt.data(memory[12]); }) == hs::ErrorCode::bad_data);
  CHECK_NOTHROW((void)rt.data(memory.data(), 10));
  CHECK_NOTHROW((void)rt.data(memory.data() + 20, 10));

  auto const even = rt.data(memory.data() + 20, 2, 4, 4); // rows 0, 1 of columns of 4
  CHECK_NOTHROW((void)rt.data(memory.data() + 22, 2, 4, 4));
  CHECK(code_of([&] { (void)rt.data(memory.data() + 21, 2, 4, 4); }) == hs::ErrorCode::bad_data);
}

TEST_CASE("data: memory is free again with its last handle") {
  hs::Runtime<> rt(on_cpus(1));
  int x = 0;
  auto first = rt.data(x);
  auto second = first;
  first = {};
  CHECK(code_of([&] { (void)rt.data(x); }) == hs::ErrorCode::bad_data);
  second = {};
  CHECK_NOTHROW((void)rt.data(x));
}

TEST_CASE("data: copies of a handle name one datum; an empty one names none") {
  hs::Runtime<> rt(on_cpus(1));
  int x = 0, y = 0;
  auto const hx = rt.data(x), hy = rt.data(y);
  auto copy = hx;
  hs::Handle<int> const none;

  CHECK(copy == hx);
  CHECK(hx != hy);
  CHECK(!none);
  CHECK(code_of([&] { rt.spawn()([](int&) {}, hs::write(none)); }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { rt.sync(none); }) == hs::ErrorCode::bad_data);
  auto const moved = std::move(copy);
  CHECK(moved == hx);
}

TEST_CASE("data: a handle of another runtime is refused, and the message says so") {
  hs::Runtime<> one(on_cpus(1));
  hs::Runtime<> two(on_cpus(1));
  int x = 0;
  auto const hx = one.data(x);

  for (auto const& error : {error_of([&] { two.spawn()([](int&) {}, hs::write(hx)); }),
                            error_of([&] { two.sync(hx); })}) {
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_access);
    CHECK(std::string(error->what()).find("another runtime") != std::string::npos);
  }
  CHECK_NOTHROW(two.sync());
}

TEST_CASE("data: of two threads that sync at a time, each finds its contributions merged") {
#ifdef HETSCHED_TEST_FEW
  constexpr int rounds = 2000;
#else
  constexpr int rounds = 20'000;
#endif
  hs::Runtime<> rt(on_cpus(2));
  auto const unmerged = [&rt] {
    int sum = 0;
    int found = 0;
    auto const hsum = rt.data(sum);
    for (int k = 1; k <= rounds; ++k) {
      rt.spawn()([](int& mine) { ++mine; }, hs::reduce<hs::Sum<int>>(hsum));
      rt.sync();
      found += sum == k ? 0 : 1;
    }
    return found;
  };
  int others = 0;
  std::thread other([&] { others = unmerged(); });
  CHECK(unmerged() == 0);
  other.join();
  CHECK(others == 0);
}

TEST_CASE("data: a handle may outlive its runtime") {
  int x = 0;
  hs::Handle<int> handle;
  {
    hs::Runtime<> rt(on_cpus(2));
    handle = rt.data(x);
    rt.spawn()([](int& v) { v = 1; }, hs::write(handle));
  }
  CHECK(x == 1);
  CHECK(handle.rows() == 1);
}

TEST_CASE("data: containers that change after they were registered are named, if asked for") {
  auto config = on_cpus(1);
  config.check = hs::Check::containers;
  hs::Runtime<> rt(config);
  std::vector<double> grows(4);
  std::vector<double> stays(4);
  std::string text = "abcd";
  double memory[4] = {};
  auto hg = rt.data(grows);
  auto const hs_ = rt.data(stays);
  auto const ht = rt.data(text);
  auto const hm = rt.data(memory);
  hg.named("grows");
  rt.spawn()([](hs::VectorView<double> v) { v[0] = 1; }, hs::write(hg));
  rt.sync();
  grows.resize(1000);
  CHECK(code_of([&] { rt.sync(); }) == hs::ErrorCode::bad_data);
  auto const message = support::message_of([&] { (void)rt.partition(hs_, hs::block_rows(2)); });
  CAPTURE(message);
  CHECK(message.find("'grows'") != std::string::npos);
  CHECK(message.find("1000 elements") != std::string::npos);
  hg = {}; // nobody uses it any more
  rt.sync();
  stays.clear();
  CHECK(code_of([&] { rt.wait(); }) == hs::ErrorCode::bad_data);
  stays.resize(4); // there as it was
  rt.sync();
  CHECK(memory[0] == 0);

  hs::Runtime<> plain(on_cpus(1));
  auto const h = plain.data(grows);
  grows.reserve(100'000);
  plain.sync();
}

TEST_SUITE_END();

} // namespace data_test
