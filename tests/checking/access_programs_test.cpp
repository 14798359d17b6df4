// SPDX-License-Identifier: MIT
// Whole programs with HETSCHED_CHECK=access: what is right is told of nothing, whoever touches data
// meanwhile, and what is wrong is found behind every kind of wait.
#include <hetsched/checking.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/runtime/coroutine.hpp>

#include "../support/dice.hpp"
#include "../support/support.hpp"
#include "checked.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace access_programs_test {

TEST_SUITE_BEGIN("checking/access programs");

using checked::check_told;
using checked::config;
using checked::in_a_page;
using checked::Reads;
using checked::told;
using checked::Vector;

constexpr std::size_t several_pages = 3 * in_a_page;

double volatile sink = 0;

TEST_CASE("access: coroutines are watched before and after they wait, and so are their calls") {
  std::vector<double> x(several_pages, 1.0), y(several_pages, 1.0);
  auto* const other = y.data() + in_a_page;
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x).named("x");
  auto const hy = rt.data(y).named("y");
  auto const message = [&](auto coroutine) {
    auto const done = rt.async(coroutine, hs::read_write(hx));
    return told(rt);
  };
  auto const key = rt.async([] { return 5.0; });
  CHECK(message([key](Vector a) -> hs::Coroutine<> {
          a[0] = co_await key;
          a[in_a_page] = co_await key;
        }) == "");
  CHECK(x[0] == 5.0);
  check_told(message([key, other](Vector a) -> hs::Coroutine<> {
               a[0] = co_await key;
               a[1] = other[3];
             }),
             {"reads row 515, column 0 of data 'y'"});
  check_told(message([key, other](Vector a) -> hs::Coroutine<> {
               a[1] = other[3];
               a[0] = co_await key;
             }),
             {"reads row 515, column 0 of data 'y'"});
  auto const add = [](Vector a, std::size_t from, std::size_t to) -> hs::Coroutine<> {
    for (auto i = from; i < to; ++i) {
      a[i] += 1;
    }
    co_return;
  };
  CHECK(message([&add](Vector a) -> hs::Coroutine<> { // calls may become tasks
          auto const step = a.size() / 8;
          std::vector<hs::Coroutine<>> all;
          for (std::size_t k = 0; k < 8; ++k) {
            all.push_back(add(a, k * step, (k + 1) * step));
          }
          co_await hs::when_all(std::move(all));
        }) == "");
  check_told(message([&add, other](Vector a) -> hs::Coroutine<> {
               co_await hs::when_all(add(a, 0, 9), add(Vector(other, 5), 0, 5));
             }),
             {"row 512, column 0 of data 'y'"});
}

TEST_CASE("access: what groups and single data are waited for inside a body") {
  std::vector<double> x(several_pages, 1.0), y(several_pages, 1.0);
  auto const* const other = y.data() + in_a_page;
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x).named("x");
  auto const hy = rt.data(y).named("y");
  hs::TaskGroup group(rt);
  std::atomic<bool> others_ran{false};
  rt.spawn(hs::label("waits"))(
      [&](hs::Runtime<>& inner, hs::Handle<Vector> a) {
        inner.spawn()([](Vector v) { v[0] = 2.0; }, hs::read_write(a));
        inner.sync(a);
        inner.sync(group); // of a task that needs the turn
        others_ran = true;
        sink = other[0];
      },
      hs::read_write(hx));
  rt.spawn(hs::in(group))([](Vector v) { v[1] = 3.0; }, hs::read_write(hy));
  check_told(told(rt), {"task 'waits'", "reads row 512, column 0 of data 'y'"});
  CHECK(others_ran);
  CHECK(y[1] == 3.0);
}

/// All of this is right: nobody is told of anything.
TEST_CASE("access: the program writes data that no task uses while bodies run") {
  for (int round = 0; round < 20; ++round) {
    std::array<double, 40> small{};
    std::vector<double> large(several_pages);
    hs::Runtime<> rt(config());
    std::vector<hs::Handle<double>> handles;
    for (auto& value : small) {
      handles.push_back(rt.data(value));
    }
    auto const whole = rt.data(large);
    for (std::size_t k = 0; k < small.size(); ++k) {
      small[k] = 1.0; // none of its tasks is spawned yet
      rt.spawn()([](double& value) { value += 1.0; }, hs::read_write(handles[k]));
      if (k % 7 == 0) {
        large[in_a_page] = static_cast<double>(k);
        rt.spawn()([](Vector v) { v[0] += v[in_a_page]; }, hs::read_write(whole));
        rt.sync(whole);
      }
    }
    CHECK(told(rt) == "");
    CHECK(std::all_of(small.begin(), small.end(), [](double value) { return value == 2.0; }));
  }
}

TEST_CASE("access: data come and go while bodies run") {
  std::vector<double> x(several_pages, 1.0);
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x);
  for (int round = 0; round < 50; ++round) {
    for (int k = 0; k < 4; ++k) {
      rt.spawn()(
          [](hs::Runtime<>& inner, Vector a) {
            std::vector<double> own(40000, 1.0); // on pages that go back to the system
            auto const handle = inner.data(own);
            inner.spawn()([](Vector v) { v[0] = 2.0; }, hs::read_write(handle));
            inner.sync();
            a[0] += own[0];
          },
          hs::read_write(hx));
    }
    std::vector<double> own(40000, 1.0);
    {
      auto const handle = rt.data(own);
      rt.spawn()([](Vector v) { v[7] = 2.0; }, hs::write(handle));
      rt.sync(handle);
    }
    own.assign(own.size(), 3.0);
  }
  CHECK(told(rt) == "");
  CHECK(x[0] == 401.0);
}

/// They meet although the turn is one's: the second one is not checked.
TEST_CASE("access: bodies that wait for each other end") {
  int x = 0;
  int y = 0;
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x);
  auto const hy = rt.data(y);
  std::atomic<int> met{0};
  auto const meet = [&met](int& value) {
    ++met;
    value = support::eventually([&] { return met == 2; }) ? 1 : -1;
  };
  rt.spawn()(meet, hs::write(hx));
  rt.spawn()(meet, hs::write(hy));
  CHECK(told(rt) == "");
  CHECK(x == 1);
  CHECK(y == 1);
}

TEST_CASE("access: several threads spawn and wait") {
  std::vector<double> x(several_pages, 0.0);
  hs::Runtime<> rt(config());
  auto const parts = rt.partition(rt.data(x), hs::block_rows(several_pages / 4));
  std::deque<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 50; ++k) {
        rt.spawn()([](Vector v) { v[0] += 1.0; }, hs::read_write(parts[t]));
        if (k % 10 == 0) {
          rt.sync(parts[t]);
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(told(rt) == "");
  CHECK(x[0] + x[several_pages / 2] == 100.0);
}

/// One task on some of the data, with children now and then.
struct RandomProgram {
  explicit RandomProgram(std::uint64_t seed) : dice(seed) {}

  void spawn_one(hs::Runtime<>& rt) {
    auto const& one = blocks[dice.below(4)];
    auto const& other = blocks[dice.below(4)];
    switch (dice.below(6)) {
    case 0:
      rt.spawn()(
          [](Reads a, double& b) { b += a[a.size() - 1]; }, hs::read(one), hs::read_write(of[0]));
      break;
    case 1:
      rt.spawn()([](Vector a) { std::fill(a.begin(), a.end(), a[0] + 1.0); }, hs::read_write(one));
      break;
    case 2:
      rt.spawn()([](double& sum, Reads a) { sum += a[0]; },
                 hs::reduce<hs::Sum<double>>(of[1]),
                 hs::read(one));
      break;
    case 3:
      rt.spawn()([](double& count) { count += 1.0; }, hs::commute(of[2]));
      break;
    case 4:
      rt.spawn()(
          [](hs::Runtime<>& inner, hs::Handle<Vector> a, hs::Handle<double> sum) {
            auto const scratch = inner.temporary<double>(700);
            inner.spawn()([](Vector t, Reads v) { std::fill(t.begin(), t.end(), v[0]); },
                          hs::write(scratch),
                          hs::read(a));
            inner.spawn()(
                [](Reads t, double& s) { s += t[699]; }, hs::read(scratch), hs::read_write(sum));
            inner.sync();
          },
          hs::read(one),
          hs::read_write(of[3]));
      break;
    default:
      if (&one != &other) {
        rt.spawn()([](Reads a, Vector b) { b[0] = a[a.size() / 2]; },
                   hs::read(one),
                   hs::read_write(other));
      }
      break;
    }
  }

  void run(int tasks) {
    auto own = config();
    own.cpus = 1 + dice.below(3);
    hs::Runtime<> rt(own);
    auto const length = dice.chance(50) ? std::size_t{20} : std::size_t{900};
    std::vector<double> memory(4 * length, 1.0);
    std::array<double, 4> numbers{};
    auto const parts = rt.partition(rt.data(memory), hs::block_rows(length));
    for (std::size_t k = 0; k < 4; ++k) {
      blocks.push_back(parts[k]);
      of.push_back(rt.data(numbers[k]));
    }
    for (int k = 0; k < tasks; ++k) {
      spawn_one(rt);
      if (dice.chance(3)) {
        rt.sync();
        numbers[0] = 0.0;
      }
    }
    CHECK(told(rt) == "");
    blocks.clear();
    of.clear();
  }

  support::Dice dice;
  std::vector<hs::Handle<Vector>> blocks;
  std::vector<hs::Handle<double>> of;
};

TEST_CASE("access: random programs without a mistake are told of nothing") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    RandomProgram(seed).run(60);
  }
}

TEST_SUITE_END();

} // namespace access_programs_test
