// SPDX-License-Identifier: MIT
// Coroutines as tasks.

#include <hetsched/capture.hpp>
#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies.hpp>
#include <hetsched/recording.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::contains;
using support::eventually;
using support::Gate;
using support::message_of;
using support::on_cpus;
using support::seeds;

namespace coroutine_test {

hs::Coroutine<long> fibonacci(int n) {
  if (n < 2) {
    co_return n;
  }
  auto const [a, b] = co_await hs::when_all(fibonacci(n - 1), fibonacci(n - 2));
  co_return a + b;
}

hs::Coroutine<long> count_down(long n) {
  if (n == 0) {
    co_return 0;
  }
  co_return 1 + co_await count_down(n - 1);
}

TEST_SUITE_BEGIN("coroutine");

TEST_CASE("coroutine: a task with a result") {
  for (int const cpus : {1, 2}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const number = rt.async([]() -> hs::Coroutine<int> { co_return 42; });
    auto const nothing = rt.async([](int) -> hs::Coroutine<> { co_return; }, 1);
    auto const moved = rt.async(
        [](std::unique_ptr<int>& it) -> hs::Coroutine<std::unique_ptr<int>> {
          co_return std::move(it);
        },
        std::make_unique<int>(7));
    static_assert(std::is_same_v<decltype(number), hs::Future<int> const>);
    CHECK(number.get() == 42);
    nothing.get();
    CHECK(*moved.get() == 7);
  }
}

TEST_CASE("coroutine: calls others, one at a time and in parallel") {
  for (int const cpus : {1, 2, 8}) {
    hs::Runtime<> rt(on_cpus(cpus));
    CHECK(rt.async(fibonacci, 16).get() == 987);
    CHECK(rt.async(count_down, 1000).get() == 1000);
    auto const mixed = rt.async([]() -> hs::Coroutine<std::string> {
      auto const one = [](std::string text) -> hs::Coroutine<std::string> { co_return text; };
      auto const none = []() -> hs::Coroutine<> { co_return; };
      auto const [a, b] = co_await hs::when_all(one("a"), one("b"));
      co_await hs::when_all(none(), none());
      auto const [x, nothing, y] = co_await hs::when_all(one("x"), none(), one("y"));
      static_cast<void>(nothing);
      auto const [alone] = co_await hs::when_all(one("z"));
      co_return a + b + x + y + alone + co_await one("!");
    });
    CHECK(mixed.get() == "abxyz!");
  }
}

TEST_CASE("coroutine: any number in parallel") {
  hs::Runtime<> rt(on_cpus(3));
  auto const squares = rt.async([]() -> hs::Coroutine<std::vector<long>> {
    std::vector<hs::Coroutine<long>> calls;
    for (long k = 0; k < 1000; ++k) {
      calls.push_back([](long x) -> hs::Coroutine<long> { co_return x* x; }(k));
    }
    auto values = co_await hs::when_all(std::move(calls));
    std::vector<hs::Coroutine<>> none;
    co_await hs::when_all(std::move(none));
    co_return values;
  });
  auto const& values = squares.get();
  REQUIRE(values.size() == 1000);
  bool all = true;
  for (std::size_t k = 0; k < values.size(); ++k) {
    all = all && values[k] == static_cast<long>(k * k);
  }
  CHECK(all);
}

TEST_CASE("coroutine: chains of a million need no stack") {
  auto const length = static_cast<long>(seeds(1000000, 200000));
  hs::Runtime<> rt(on_cpus(1));
  CHECK(rt.async(count_down, length).get() == length);
  auto const in_a_row = rt.async(
      [](long n) -> hs::Coroutine<long> {
        long sum = 0;
        for (long k = 0; k < n; ++k) {
          sum += co_await [](long x) -> hs::Coroutine<long> { co_return x; }(k);
        }
        co_return sum;
      },
      length);
  CHECK(in_a_row.get() == length * (length - 1) / 2);
}

hs::Coroutine<long> throw_at(long depth) {
  if (depth == 0) {
    throw std::runtime_error("at the bottom");
  }
  co_return 1 + co_await throw_at(depth - 1);
}

TEST_CASE("coroutine: exceptions pass through any number of them") {
  hs::Runtime<> rt(on_cpus(2));
  auto const failed = rt.async(throw_at, 1000);
  CHECK(message_of([&] { (void)failed.get(); }) == "at the bottom");
  rt.sync(); // told
  auto const caught = rt.async([]() -> hs::Coroutine<std::string> {
    try {
      co_await throw_at(10);
    } catch (std::runtime_error const& error) {
      co_return error.what();
    }
    co_return "";
  });
  CHECK(caught.get() == "at the bottom");
}

TEST_CASE("coroutine: when_all waits for all, and throws the first exception in their order") {
  for (int const cpus : {1, 4}) {
    hs::Runtime<> rt(on_cpus(cpus));
    std::atomic<int> ended{0};
    auto const fails = [&ended](int k) -> hs::Coroutine<int> {
      ++ended;
      if (k > 1) {
        throw std::runtime_error("number " + std::to_string(k));
      }
      co_return k;
    };
    auto const several = [&fails]() -> hs::Coroutine<> {
      std::vector<hs::Coroutine<int>> all;
      for (int k = 0; k < 10; ++k) {
        all.push_back(fails(k));
      }
      co_await hs::when_all(std::move(all));
    };
    CHECK(message_of([&] { (void)rt.async(several).get(); }) == "number 2");
    CHECK(ended == 10);
    auto const three = [&fails]() -> hs::Coroutine<> {
      co_await hs::when_all(fails(1), fails(5), fails(3));
    };
    CHECK(message_of([&] { (void)rt.async(three).get(); }) == "number 5");
    CHECK(ended == 13);
  }
}

TEST_CASE("coroutine: waits for futures, data and groups") {
  for (int const cpus : {1, 2, 4}) {
    hs::Runtime<> rt(on_cpus(cpus));
    std::vector<double> values(100, 1.0);
    auto data = rt.data(values);
    auto const sum = rt.async(
        [](auto& its, hs::Handle<hs::VectorView<double>> own) -> hs::Coroutine<double> {
          auto const factor = its.async([] { return 3.0; });
          double const by = co_await factor;
          its.spawn()(
              [by](hs::VectorView<double> x) {
                for (auto& element : x) {
                  element *= by;
                }
              },
              hs::read_write(own));
          co_await own;
          hs::TaskGroup group(its);
          std::atomic<int> members{0};
          for (int k = 0; k < 10; ++k) {
            its.spawn(hs::in(group))([&members] { ++members; });
          }
          co_await group;
          double total = members.load();
          its.spawn()(
              [&total](hs::VectorView<double const> x) {
                for (auto const element : x) {
                  total += element;
                }
              },
              hs::read(own));
          co_await own;
          co_return total;
        },
        hs::read_write(data));
    CHECK(sum.get() == doctest::Approx(310));
  }
}

int count_threads() {
  int threads = 0;
  for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(thread);
    ++threads;
  }
  return threads;
}

TEST_CASE("coroutine: one that waits keeps neither its worker nor a thread") {
  constexpr int count = 1000;
  hs::Runtime<> rt(on_cpus(3)); // two of them without the main thread
  Gate gate;
  std::atomic<int> waiting{0};
  auto const key = rt.async([&] { return gate.pass() ? 1 : -1; });
  std::vector<hs::Future<int>> all;
  auto const wait = [&waiting](hs::Future<int> it) -> hs::Coroutine<int> {
    ++waiting;
    co_return co_await it;
  };
  for (int k = 0; k < count; ++k) {
    all.push_back(rt.async([wait, key] { return wait(key); }));
  }
  REQUIRE(eventually([&] { return waiting == count; }));
  CHECK(count_threads() <= 4); // sanitizers have one
  CHECK(rt.stats().executed == 0);
  gate.open();
  int sum = 0;
  for (auto const& one : all) {
    sum += one.get();
  }
  CHECK(sum == count);
  rt.sync();
  CHECK(rt.stats().executed == count + 1); // each task counts once
}

TEST_CASE("coroutine: chains of tasks that wait for each other") {
  auto const length = static_cast<int>(seeds(100000, 10000));
  hs::Runtime<> rt(on_cpus(2));
  auto last = rt.async([] { return 0; });
  for (int k = 0; k < length; ++k) {
    last = rt.async([last]() -> hs::Coroutine<int> { co_return 1 + co_await last; });
  }
  CHECK(last.get() == length);
  std::function<hs::Coroutine<int>(int)> nested = [&](int n) -> hs::Coroutine<int> {
    if (n == 0) {
      co_return 0;
    }
    co_return 1 + co_await rt.async(nested, n - 1); // each below the one that waits
  };
  CHECK(rt.async(nested, 1000).get() == 1000);
}

TEST_CASE("coroutine: keeps its data while it waits") {
  for (int const cpus : {1, 3}) {
    hs::Runtime<> rt(on_cpus(cpus));
    int number = 0;
    auto const data = rt.data(number);
    auto const key = rt.async([] { return 5; });
    auto const written = rt.async(
        [key](int& own) -> hs::Coroutine<> {
          own = 1;
          own += co_await key;
          own += co_await key;
        },
        hs::read_write(data));
    auto const seen = rt.async([](int const& value) { return value; }, hs::read(data));
    CHECK(seen.get() == 11);
  }
}

TEST_CASE("coroutine: what a failed task should have made is an exception") {
  for (int const cpus : {1, 2}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const bad = rt.async([]() -> int { throw std::runtime_error("no number"); });
    auto const caught = rt.async([bad]() -> hs::Coroutine<std::string> {
      try {
        co_await bad;
      } catch (std::runtime_error const& error) {
        co_return error.what();
      }
      co_return "";
    });
    CHECK(caught.get() == "no number");
    auto const passed_on = rt.async([bad]() -> hs::Coroutine<int> { co_return co_await bad; });
    CHECK(message_of([&] { (void)passed_on.get(); }) == "no number");

    int number = 0;
    auto const data = rt.data(number);
    auto const fails_late =
        rt.async([bad](int&) -> hs::Coroutine<> { co_await bad; }, hs::write(data));
    auto const needs_it = rt.async([](int const& value) { return value; }, hs::read(data));
    CHECK(message_of([&] { fails_late.get(); }) == "no number");
    CHECK(code_of([&] { (void)needs_it.get(); }) == hs::ErrorCode::cancelled);
    rt.sync(); // all told

    auto const group_failed = rt.async([&rt]() -> hs::Coroutine<std::string> {
      hs::TaskGroup group(rt);
      rt.spawn(hs::in(group))([] { throw std::runtime_error("in the group"); });
      try {
        co_await group;
      } catch (std::runtime_error const& error) {
        co_return error.what();
      }
      co_return "";
    });
    CHECK(group_failed.get() == "in the group");
  }
}

TEST_CASE("coroutine: a cancelled one that has begun goes on") {
  hs::Runtime<> rt(on_cpus(3));
  hs::TaskGroup group(rt);
  Gate gate;
  std::atomic<bool> waits{false};
  auto const key = rt.async([&] { return gate.pass() ? 1 : -1; });
  auto const begun = rt.async(hs::in(group), [&, key]() -> hs::Coroutine<int> {
    waits = true;
    co_return co_await key;
  });
  REQUIRE(eventually([&] { return waits.load(); }));
  group.cancel();
  gate.open();
  auto const late = rt.async(hs::in(group), []() -> hs::Coroutine<int> { co_return 1; });
  CHECK(begun.get() == 1);
  CHECK(code_of([&] { (void)late.get(); }) == hs::ErrorCode::cancelled);
}

TEST_CASE("coroutine: contributions, merged when it has ended") {
  hs::Runtime<> rt(on_cpus(2));
  long sum = 0;
  auto const data = rt.data(sum);
  auto const key = rt.async([] { return 1L; });
  for (int k = 0; k < 20; ++k) {
    (void)rt.async(
        [key](long& own) -> hs::Coroutine<> {
          own += co_await key;
          own += co_await key;
        },
        hs::reduce<hs::Sum<long>>(data));
  }
  rt.sync();
  CHECK(sum == 40);
}

TEST_CASE("coroutine: below when_all there are only coroutines") {
  for (int const cpus : {1, 4}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const key = rt.async([] { return 5; });
    hs::TaskGroup group(rt);
    int number = 0;
    auto const data = rt.data(number);
    auto const waits = [](auto const& it) -> hs::Coroutine<> { co_await it; };
    auto const waits_for_group = [](hs::TaskGroup& it) -> hs::Coroutine<> { co_await it; };
    auto const calls = [](auto f) -> hs::Coroutine<> {
      f();
      co_return;
    };
    auto const message = [&](auto make) {
      return message_of(
          [&] { rt.async([&]() -> hs::Coroutine<> { co_await hs::when_all(make()); }).get(); });
    };
    auto const* const place = "not allowed inside a coroutine of when_all";
    CHECK(contains(message([&] { return waits(key); }), place));
    CHECK(contains(message([&] { return waits(data); }), place));
    CHECK(contains(message([&] { return waits_for_group(group); }), place));
    CHECK(contains(message([&] { return calls([&] { rt.spawn()([] {}); }); }), place));
    CHECK(contains(message([&] { return calls([&] { rt.sync(); }); }), place));
    CHECK(contains(message([&] { return calls([&] { (void)rt.async([] {}); }); }), place));
    CHECK(contains(message([&] { return calls([&] { (void)rt.data(number); }); }), place));
    auto const after = rt.async([&]() -> hs::Coroutine<int> { // and behind it, all is allowed
      co_await hs::when_all(count_down(3), count_down(4));
      co_return co_await rt.async([] { return 7; });
    });
    CHECK(after.get() == 7);
  }
}

TEST_CASE("coroutine: wrong waits are errors") {
  hs::Runtime<> rt(on_cpus(2));
  hs::Runtime<> other(on_cpus(1));
  int number = 0;
  auto const data = rt.data(number);
  auto const message = [&rt](auto f) { return message_of([&] { rt.async(f).get(); }); };
  CHECK(contains(message([]() -> hs::Coroutine<> {
                   hs::Handle<int> const none;
                   co_await none;
                 }),
                 "handle: is empty"));
  CHECK(contains(message([&]() -> hs::Coroutine<> { co_await data; }), "did not declare it"));
  hs::TaskGroup of_other(other);
  CHECK(contains(message([&]() -> hs::Coroutine<> { co_await of_other; }),
                 "the group belongs to another runtime"));
  hs::TaskGroup own(rt);
  auto const in_group = rt.async(hs::in(own), [&]() -> hs::Coroutine<> { co_await own; });
  CHECK(contains(message_of([&] { in_group.get(); }), "called from a task of that group"));
  CHECK_THROWS(rt.sync(own)); // the group has it, too
  CHECK(contains(message_of([&] {
                   auto const captured =
                       rt.capture([&] { (void)rt.async([]() -> hs::Coroutine<> { co_return; }); });
                 }),
                 "not allowed inside capture"));
}

TEST_CASE("coroutine: one that nobody awaits is only destroyed") {
  hs::Runtime<> rt(on_cpus(1));
  auto const alive = std::make_shared<int>(1);
  auto const holds = [](std::shared_ptr<int> it) -> hs::Coroutine<int> { co_return *it; };
  {
    auto never = holds(alive);
    auto const all = hs::when_all(holds(alive), holds(alive));
    CHECK(alive.use_count() == 4);
    never = holds(alive);
  }
  CHECK(alive.use_count() == 1);
  auto const some = rt.async([holds, alive]() -> hs::Coroutine<int> {
    auto moved = holds(alive);
    auto again = std::move(moved);
    co_return co_await std::move(again);
  });
  CHECK(some.get() == 1);
  rt.sync();
}

TEST_CASE("coroutine: blocks like any body where it does not await") {
  for (int const cpus : {1, 2}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const sum = rt.async([&rt]() -> hs::Coroutine<int> {
      auto const a = rt.async([] { return 1; });
      int total = co_await a;
      std::atomic<int> children{0};
      for (int k = 0; k < 10; ++k) {
        rt.spawn()([&children] { ++children; });
      }
      rt.sync(); // of its children, as before the first wait
      total += children.load();
      auto const b = rt.async([&rt] { return rt.async(fibonacci, 10).get(); });
      co_return total + static_cast<int>(b.get());
    });
    CHECK(sum.get() == 66);
  }
}

// ---- random programs ----

/// A tree of calls that depends on the seed alone; so does the sum over it.
hs::Coroutine<std::uint64_t> forks(std::uint64_t seed, int depth) {
  std::mt19937_64 random(seed);
  auto const value = random();
  if (depth == 0 || random() % 8 == 0) {
    if (value % 16 == 0) {
      std::this_thread::yield();
    }
    co_return value;
  }
  switch (random() % 4) {
  case 0:
    co_return value + co_await forks(random(), depth - 1);
  case 1: {
    auto const s = random();
    auto const t = random();
    auto const [a, b] = co_await hs::when_all(forks(s, depth - 1), forks(t, depth - 1));
    co_return value ^ (a + 3 * b);
  }
  case 2: {
    std::vector<hs::Coroutine<std::uint64_t>> several;
    for (auto left = 1 + random() % 4; left > 0; --left) {
      several.push_back(forks(random(), depth < 2 ? 0 : depth - 2));
    }
    auto sum = value;
    auto const all = co_await hs::when_all(std::move(several));
    for (auto const one : all) {
      sum = sum * 31 + one;
    }
    co_return sum;
  }
  default: {
    auto const s = random();
    auto const t = random();
    auto const [a, b] = co_await hs::when_all(forks(s, depth - 1), forks(t, depth - 1));
    auto const c = co_await forks(a ^ b, depth / 2);
    co_return value + a + b + c;
  }
  }
}

/// The same by calls alone.
std::uint64_t serially(std::uint64_t seed, int depth) {
  std::mt19937_64 random(seed);
  auto const value = random();
  if (depth == 0 || random() % 8 == 0) {
    return value;
  }
  switch (random() % 4) {
  case 0:
    return value + serially(random(), depth - 1);
  case 1: {
    auto const s = random();
    auto const t = random();
    return value ^ (serially(s, depth - 1) + 3 * serially(t, depth - 1));
  }
  case 2: {
    std::vector<std::uint64_t> all;
    for (auto left = 1 + random() % 4; left > 0; --left) {
      all.push_back(serially(random(), depth < 2 ? 0 : depth - 2));
    }
    auto sum = value;
    for (auto const one : all) {
      sum = sum * 31 + one;
    }
    return sum;
  }
  default: {
    auto const s = random();
    auto const t = random();
    auto const a = serially(s, depth - 1);
    auto const b = serially(t, depth - 1);
    return value + a + b + serially(a ^ b, depth / 2);
  }
  }
}

template <template <class...> class Scheduler>
void run_random(int cpus, std::uint64_t seed) {
  hs::Runtime<Scheduler<>> rt(on_cpus(cpus));
  std::vector<hs::Future<std::uint64_t>> all;
  for (std::uint64_t k = 0; k < 4; ++k) { // several at a time, which wait for each other, too
    auto const before = all.empty() ? hs::Future<std::uint64_t>() : all.back();
    all.push_back(rt.async([&rt, before, seed, k]() -> hs::Coroutine<std::uint64_t> {
      auto sum = co_await forks(seed + k, 9);
      auto const child = rt.async(forks, seed * 7 + k, 6);
      if (before) {
        sum += co_await before;
      }
      sum ^= co_await forks(seed ^ k, 7);
      co_return sum + co_await child;
    }));
  }
  std::uint64_t expected = 0;
  bool equal = true;
  for (std::uint64_t k = 0; k < 4; ++k) {
    auto sum = serially(seed + k, 9) + expected;
    sum ^= serially(seed ^ k, 7);
    expected = sum + serially(seed * 7 + k, 6);
    equal = equal && all[k].get() == expected;
  }
  CAPTURE(seed);
  CAPTURE(cpus);
  CHECK(equal);
  rt.sync();
}

TEST_CASE("coroutine: random programs equal serial ones, with any scheduler") {
  for (std::uint64_t seed = 1; seed <= seeds(40, 6); ++seed) {
    run_random<hs::policies::WorkStealing>(1 + static_cast<int>(seed % 8), seed);
    run_random<hs::policies::Eager>(1 + static_cast<int>(seed % 5), seed + 1000);
    run_random<hs::policies::Random>(1 + static_cast<int>(seed % 3), seed + 2000);
  }
}

TEST_SUITE_END();

} // namespace coroutine_test
