// SPDX-License-Identifier: MIT
// Coroutines that call each other in parallel, and that wait for what other threads make.

#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/testing/interleavings.hpp>

#include "beside.hpp"
#include "programs.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace interleavings {

namespace hs = hetsched;
using hs::testing::expect;

namespace {

hs::Coroutine<long> sum(long from, long to) {
  if (to - from == 1) {
    co_return from;
  }
  auto const middle = (from + to) / 2;
  auto const [a, b] = co_await hs::when_all(sum(from, middle), sum(middle, to));
  co_return a + b;
}

hs::Coroutine<long> one(long value) {
  co_return value;
}

/// Each call has calls in parallel and then one alone, so that what is left to others goes on.
hs::Coroutine<long> uneven(long n) {
  if (n == 0) {
    co_return 1;
  }
  auto const [a, b] = co_await hs::when_all(uneven(n - 1), one(n));
  auto const [c, d] = co_await hs::when_all(one(a), one(b));
  co_return co_await one(c + d);
}

template <class Rt, int cpus = 3>
struct Coroutines {
  static void forks() {
    Rt rt(on_cores(cpus));
    expect(rt.async(sum, 0, 5).get() == 10, "the sum is 10");
  }

  static void forks_in_turns() {
    Rt rt(on_cores(cpus));
    expect(rt.async(uneven, 3).get() == 7, "1 + 3 + 2 + 1");
  }

  static void many_forks() {
    Rt rt(on_cores(cpus));
    auto const total = rt.async([]() -> hs::Coroutine<long> {
      std::vector<hs::Coroutine<long>> all;
      for (long k = 0; k < 4; ++k) {
        all.push_back(k == 2 ? sum(0, 3) : one(k));
      }
      long result = 0;
      auto const values = co_await hs::when_all(std::move(all));
      for (auto const value : values) {
        result += value;
      }
      co_return result;
    });
    expect(total.get() == 7, "0 + 1 + 3 + 3");
  }

  static void forks_of_two() {
    Rt rt(on_cores(cpus));
    auto const a = rt.async(sum, 0, 3);
    auto const b = rt.async(sum, 0, 4);
    expect(a.get() == 3 && b.get() == 6, "3 and 6");
  }

  static void waits_for_future() {
    Rt rt(on_cores(cpus));
    auto const first = rt.async([] { return 1L; });
    auto const both = rt.async([&rt, first]() -> hs::Coroutine<long> {
      auto const own = rt.async([] { return 2L; });
      co_return co_await first + co_await own;
    });
    expect(both.get() == 3, "1 + 2");
  }

  static void waits_for_data() {
    long x = 1;
    Rt rt(on_cores(cpus));
    auto const hx = rt.data(x);
    auto const seen = rt.async(
        [](auto& runtime, hs::Handle<long> own) -> hs::Coroutine<long> {
          runtime.spawn()([](long& value) { value *= 3; }, hs::read_write(own));
          co_await own;
          runtime.spawn()([](long& value) { ++value; }, hs::read_write(own));
          co_await own;
          co_return 7;
        },
        hs::read_write(hx));
    rt.spawn()([](long& value) { value *= 2; }, hs::read_write(hx));
    expect(seen.get() == 7, "7");
    rt.sync();
    expect(x == 8, "(1 * 3 + 1) * 2");
  }

  static void waits_for_group() {
    Rt rt(on_cores(cpus));
    auto const done = rt.async([&rt]() -> hs::Coroutine<int> {
      int a = 0;
      int b = 0;
      hs::TaskGroup group(rt);
      rt.spawn(hs::in(group))([&a] { a = 1; });
      rt.spawn(hs::in(group))([&b] { b = 2; });
      co_await group;
      co_return a + b; // the group goes at once
    });
    expect(done.get() == 3, "1 + 2");
  }

  static void two_wait_for_one_group() {
    Rt rt(on_cores(cpus));
    hs::TaskGroup group(rt);
    rt.spawn(hs::in(group))([] {});
    auto const wait = [&group]() -> hs::Coroutine<> { co_await group; };
    (void)rt.async(wait);
    (void)rt.async(wait);
    rt.sync(group);
    rt.sync();
  }

  static void failure_is_awaited() {
    Rt rt(on_cores(cpus));
    auto const bad = rt.async([]() -> int { throw std::runtime_error("bad"); });
    auto const caught = rt.async([bad]() -> hs::Coroutine<bool> {
      try {
        co_await bad;
      } catch (std::exception const& error) {
        co_return std::string(error.what()) == "bad";
      }
      co_return false;
    });
    expect(caught.get(), "the failure arrives");
    try {
      rt.sync();
    } catch (std::exception const&) { // unless `get` has told it
    }
  }

  static void spawned_beside() {
    Rt rt(on_cores(cpus));
    hs::Future<long> a;
    {
      Beside const other([&] { a = rt.async(sum, 0, 3); });
      expect(rt.async(sum, 0, 4).get() == 6, "6");
    }
    expect(a.get() == 3, "3");
  }
};

using Stealing = Coroutines<hs::Runtime<>>;
using OfTwo = Coroutines<hs::Runtime<>, 2>;
using Central = Coroutines<hs::Runtime<hs::policies::Eager<>>>;

constexpr Program all[] = {
    {"coroutines: forks", Stealing::forks},
    {"coroutines: forks in turns", Stealing::forks_in_turns},
    {"coroutines: many forks", Stealing::many_forks},
    {"coroutines: forks of two tasks", Stealing::forks_of_two},
    {"coroutines: a future", Stealing::waits_for_future},
    {"coroutines: data", Stealing::waits_for_data},
    {"coroutines: a group", Stealing::waits_for_group},
    {"coroutines: two wait for a group", Stealing::two_wait_for_one_group},
    {"coroutines: a failure", Stealing::failure_is_awaited},
    {"coroutines: spawned beside", Stealing::spawned_beside},
    {"coroutines: forks by two", OfTwo::forks},
    {"coroutines: forks in turns by two", OfTwo::forks_in_turns},
    {"coroutines: a future, by two", OfTwo::waits_for_future},
    {"coroutines: a group, by two", OfTwo::waits_for_group},
    {"coroutines: forks, oldest first", Central::forks},
    {"coroutines: forks in turns, oldest first", Central::forks_in_turns},
    {"coroutines: data, oldest first", Central::waits_for_data},
};

} // namespace

std::span<Program const> coroutine_programs() {
  return all;
}

} // namespace interleavings
