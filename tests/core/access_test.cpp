// SPDX-License-Identifier: MIT
// What each access mode promises.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::on_cpus;

namespace access_test {

using Vector = hs::VectorView<int>;
using Tile = hs::TileView<int>;

struct Add {
  void operator()(int& to, int amount) const { to += amount; }
};

/// Distinguishes every order: the digits of a number.
struct Digit {
  void operator()(long& number, int digit) const { number = number * 10 + digit; }
};

struct Copy {
  template <class T>
  void operator()(T const& from, T& to) const {
    to = from;
  }
};

/// A user's operator: keeps the larger of the last decimal digits.
struct LargerDigit {
  static int neutral() { return 0; }

  static int combine(int a, int b) { return std::max(a % 10, b % 10); }
};

/// A reader and a writer of the same datum, as two parameters of one task.
struct ReadAndWrite : hs::Task<2>::Signature<hs::R<int>, hs::W<int>> {};

struct ContributeTwice
    : hs::Task<2>::Signature<hs::CW<int, hs::Sum<int>>, hs::CW<int, hs::Sum<int>>> {};

struct CommuteTwice : hs::Task<2>::Signature<hs::Commute<int>, hs::Commute<int>> {};

struct ContributeAndRead : hs::Task<2>::Signature<hs::CW<int, hs::Sum<int>>, hs::R<int>> {};

struct TwoOperators : hs::Task<2>::Signature<hs::CW<int, hs::Sum<int>>, hs::CW<int, hs::Max<int>>> {
};

} // namespace access_test

template <>
struct hetsched::TaskBodyCPU<access_test::ReadAndWrite> {
  void operator()(int const& in, int& out) { out = in + 1; }
};

template <>
struct hetsched::TaskBodyCPU<access_test::ContributeTwice> {
  void operator()(int& a, int& b) {
    a += 1;
    b += 2;
  }
};

template <>
struct hetsched::TaskBodyCPU<access_test::CommuteTwice>
    : TaskBodyCPU<access_test::ContributeTwice> {};

template <>
struct hetsched::TaskBodyCPU<access_test::ContributeAndRead> {
  void operator()(int&, int const&) {}
};

template <>
struct hetsched::TaskBodyCPU<access_test::TwoOperators> {
  void operator()(int&, int&) {}
};

namespace access_test {

TEST_SUITE_BEGIN("access");

//   123 --> copy --> 1234 --> 12345 --> copy --> 9
TEST_CASE_TEMPLATE("access: writers and readers of a datum keep program order",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(3));
  for (int round = 0; round < 20; ++round) {
    long x = 0, early = 0, late = 0;
    auto const hx = rt.data(x), hearly = rt.data(early), hlate = rt.data(late);
    rt.spawn()([](long& v) { v = 123; }, hs::write(hx));
    rt.spawn()(Copy{}, hs::read(hx), hs::write(hearly));
    rt.spawn()(Digit{}, hs::read_write(hx), 4);
    rt.spawn()(Digit{}, hs::read_write(hx), 5);
    rt.spawn()(Copy{}, hs::read(hx), hs::write(hlate));
    rt.spawn()([](long& v) { v = 9; }, hs::write(hx));
    rt.sync();
    REQUIRE(early == 123);
    REQUIRE(late == 12345);
    REQUIRE(x == 9);
  }
}

TEST_CASE_TEMPLATE("access: readers run at the same time",
                   Scheduler,
                   HETSCHED_BALANCING_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int x = 1;
  auto const hx = rt.data(x);
  support::Meeting meeting(2);
  std::atomic<int> met{0};
  for (int k = 0; k < 2; ++k) {
    rt.spawn()([&](int const&) { met += meeting.meet() ? 1 : 0; }, hs::read(hx));
  }
  rt.sync();
  CHECK(met == 2);
}

TEST_CASE_TEMPLATE("access: commuting tasks exclude each other, also on two data at once",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(4));
  int x = 0, y = 0; // not atomic: a data race would be seen by ThreadSanitizer
  auto const hx = rt.data(x), hy = rt.data(y);
  auto const both = [](int& a, int& b) {
    ++a;
    ++b;
  };
  for (int k = 0; k < 300; ++k) {
    rt.spawn()(Add{}, hs::commute(hx), 1);
    rt.spawn()(both, hs::commute(hy), hs::commute(hx));
    rt.spawn()(Add{}, hs::commute(hy), 1);
  }
  rt.sync();
  CHECK(x == 600);
  CHECK(y == 600);
}

TEST_CASE("access: of commuting tasks that wait, the highest priority is next") {
  struct Log {
    std::vector<int> order;
  } log;

  auto& order = log.order;
  hs::Runtime<> rt(on_cpus(1)); // its scheduler does not look at priorities
  auto const h = rt.data(log);
  auto const spawn = [&](int priority, int number) {
    rt.spawn(hs::priority(priority))([number](Log& its) { its.order.push_back(number); },
                                     hs::commute(h));
  };
  SUBCASE("the datum is free: the first that came has it") {
    for (int const number : {1, 10, 30, 31, 20, 32, 2}) {
      spawn(number / 10, number);
    }
    rt.sync();
    CHECK(order == std::vector{1, 30, 31, 32, 20, 10, 2});
  }
  SUBCASE("all wait for a task before") {
    rt.spawn()([](Log& its) { its.order.clear(); }, hs::read_write(h));
    for (int const number : {1, 10, 30, 31, 20, 32, 2}) {
      spawn(number / 10, number);
    }
    rt.sync();
    CHECK(order == std::vector{30, 31, 32, 20, 10, 1, 2});
  }
}

TEST_CASE("access: commuting tasks take turns in time that grows as their number") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 0;
  auto const hx = rt.data(x);
  auto const seconds_for = [&](int tasks) {
    auto const begin = std::chrono::steady_clock::now();
    rt.spawn()([](int& v) { v = 0; }, hs::write(hx));
    for (int k = 0; k < tasks; ++k) {
      rt.spawn()(Add{}, hs::commute(hx), 1);
    }
    rt.sync();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  CHECK(seconds_for(20000) < 20); // were every waiter asked at every turn: hours
  CHECK(x == 20000);
}

//   wait at the gate, write y --> read y, commute x        the last task overtakes the one that
//                                 commute x, open gate     waits for y; else all three are stuck
TEST_CASE_TEMPLATE("access: a commuting task does not wait for one that waits for other data",
                   Scheduler,
                   HETSCHED_BALANCING_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  long x = 0;
  bool passed = false;
  auto const hx = rt.data(x);
  auto const hpassed = rt.data(passed);
  support::Gate gate;
  rt.spawn()([&](bool& ok) { ok = gate.pass(); }, hs::write(hpassed));
  rt.spawn()([](bool const&, long& v) { Digit{}(v, 1); }, hs::read(hpassed), hs::commute(hx));
  rt.spawn()(
      [&](long& v) {
        Digit{}(v, 2);
        gate.open();
      },
      hs::commute(hx));
  rt.sync();
  CHECK(passed);
  CHECK(x == 21);
}

TEST_CASE_TEMPLATE("access: contributions arrive, merged once before the next reader",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(3));
  int sum = 1000, seen = 0;
  auto const hsum = rt.data(sum), hseen = rt.data(seen);
  for (int k = 1; k <= 100; ++k) {
    rt.spawn()(Add{}, hs::reduce<hs::Sum<int>>(hsum), k);
  }
  rt.spawn()(Copy{}, hs::read(hsum), hs::write(hseen));
  for (int k = 1; k <= 10; ++k) {
    rt.spawn()(Add{}, hs::reduce<hs::Sum<int>>(hsum), 1);
  }
  rt.sync();
  CHECK(seen == 6050);
  CHECK(sum == 6060);
  CHECK(rt.stats().merges == 2);
  CHECK(rt.stats().spawned == 111);
}

TEST_CASE("access: Min, Max, and an operator of one's own") {
  hs::Runtime<> rt(on_cpus(2));
  int smallest = 50, largest = 50, digit = 0;
  auto const hsmallest = rt.data(smallest), hlargest = rt.data(largest), hdigit = rt.data(digit);
  for (int const number : {63, 8, 91, 17, 44}) {
    rt.spawn()([](int& mine, int n) { mine = std::min(mine, n); },
               hs::reduce<hs::Min<int>>(hsmallest),
               number);
    rt.spawn()([](int& mine, int n) { mine = std::max(mine, n); },
               hs::reduce<hs::Max<int>>(hlargest),
               number);
    rt.spawn()([](int& mine, int n) { mine = LargerDigit::combine(mine, n); },
               hs::reduce<LargerDigit>(hdigit),
               number);
  }
  rt.sync();
  CHECK(smallest == 8);
  CHECK(largest == 91);
  CHECK(digit == 8);
  CHECK(hs::Min<int>::neutral() == std::numeric_limits<int>::max());
  CHECK(hs::Max<double>::neutral() == -std::numeric_limits<double>::infinity());
}

TEST_CASE("access: the copies that contribute are private, neutral and of any operator in turn") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 7;
  auto const hx = rt.data(x);
  support::Meeting meeting(2);
  std::array<int*, 2> copies{};
  std::array<int, 2> initial{};
  std::atomic<int> met{0};
  for (std::size_t k = 0; k < 2; ++k) {
    rt.spawn()(
        [&, k](int& mine) {
          copies[k] = &mine;
          initial[k] = mine;
          mine += 10;
          met += meeting.meet() ? 1 : 0;
        },
        hs::reduce<hs::Sum<int>>(hx));
  }
  rt.spawn()([](int& mine) { mine = 25; }, hs::reduce<hs::Max<int>>(hx)); // max(27, 25)
  rt.sync();
  CHECK(met == 2); // they ran at the same time
  CHECK(copies[0] != copies[1]);
  CHECK(copies[0] != &x);
  CHECK(copies[1] != &x);
  CHECK(initial == std::array<int, 2>{0, 0});
  CHECK(x == 27);
  CHECK(rt.stats().merges == 2);
}

TEST_CASE("access: contributions to vectors and tiles are element by element, padding untouched") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> vector(5, 1);
  std::array<int, 8> block{1, 1, 1, -1, 1, 1, 1, -1}; // 3 x 2, leading dimension 4
  auto const hvector = rt.data(vector);
  auto const hblock = rt.data(block.data(), 3, 2, 4);
  for (int k = 0; k < 6; ++k) {
    rt.spawn()([](Vector mine) { mine[4] += 2; }, hs::reduce<hs::Sum<int>>(hvector));
    rt.spawn()(
        [](Tile mine) {
          mine(2, 1) += 1;
          mine(0, 0) += static_cast<int>(mine.rows() * 10 + mine.cols());
        },
        hs::reduce<hs::Sum<int>>(hblock));
  }
  rt.sync();
  CHECK(vector == std::vector<int>{1, 1, 1, 1, 13});
  CHECK(block == std::array<int, 8>{193, 1, 1, -1, 1, 1, 7, -1});
}

TEST_CASE("access: a datum named twice in one task is accessed once, in the stronger mode") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 1, y = 0;
  auto const hx = rt.data(x), hy = rt.data(y);

  rt.spawn<ReadAndWrite>()(hx, hx);
  rt.spawn<ReadAndWrite>()(hx, hy);
  rt.sync();
  CHECK(x == 2);
  CHECK(y == 3);

  rt.spawn<ContributeTwice>()(hx, hx);
  rt.spawn<CommuteTwice>()(hx, hx);
  rt.sync();
  CHECK(x == 8);
}

TEST_CASE("access: a contribution cannot be mixed with another mode in one task") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 1;
  auto hx = rt.data(x);
  hx.named("both ways");

  auto const error = support::error_of([&] { rt.spawn<ContributeAndRead>()(hx, hx); });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_access);
  CHECK(error->culprit() == "data 'both ways'");
  CHECK(code_of([&] { rt.spawn<TwoOperators>()(hx, hx); }) == hs::ErrorCode::bad_access);

  rt.sync(); // nothing was spawned, nothing is stuck
  CHECK(rt.stats().spawned == 0);
  CHECK(rt.stats().executed == 0);
}

TEST_CASE("access: values are copied or moved in, changed by one task only, and destroyed") {
  hs::Runtime<> rt(on_cpus(2));
  auto const shared = std::make_shared<int>(1);
  std::string text = "a";
  std::string seen;
  auto owned = std::make_unique<int>(42);
  int moved = 0;

  rt.spawn()([&seen](std::string& mine) { seen = mine += "b"; }, text);
  text = "changed";
  rt.spawn()([&moved](std::unique_ptr<int> const& mine) { moved = *mine; }, std::move(owned));
  rt.spawn()([](std::shared_ptr<int> const&) {}, shared);
  CHECK(owned == nullptr);
  rt.sync();

  CHECK(seen == "ab");
  CHECK(moved == 42);
  CHECK(shared.use_count() == 1);
}

TEST_SUITE_END();

} // namespace access_test
