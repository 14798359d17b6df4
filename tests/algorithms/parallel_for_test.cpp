// SPDX-License-Identifier: MIT
#include <hetsched/algorithms.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using support::error_of;
using support::on_cpus;

namespace parallel_for_test {

TEST_SUITE_BEGIN("algorithms/parallel_for");

constexpr std::size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 255, 1000, 4097, 30011};
constexpr hs::LoopOptions ways[] = {{},
                                    {.grain = 1},
                                    {.grain = 7},
                                    {.grain = 1000},
                                    {.fixed_order = true},
                                    {.grain = 64, .fixed_order = true}};

/// A slow element now and then, so that loops are shared in every build.
inline int slow(int value) {
  if (value % 512 == 0) {
    auto const until = hs::detail::monotonic_ns() + 20000;
    while (hs::detail::monotonic_ns() < until) {
    }
  }
  return 3 * value + 1;
}

template <class Rt>
void check_all(Rt& rt, std::size_t n, hs::LoopOptions options) {
  CAPTURE(n);
  CAPTURE(options.grain);
  std::vector<int> x(n);
  std::iota(x.begin(), x.end(), 1);
  std::vector<int> expected(n);
  std::transform(x.begin(), x.end(), expected.begin(), slow);

  std::vector<int> visits(n);
  hs::parallel_for(rt, std::size_t{0}, n, [&](std::size_t i) { ++visits[i]; }, options);
  CHECK(std::all_of(visits.begin(), visits.end(), [](int v) { return v == 1; }));

  std::vector<int> y(n);
  CHECK(hs::transform(rt, x.begin(), x.end(), y.begin(), slow, options) == y.end());
  CHECK(y == expected);
  hs::for_each(rt, y.begin(), y.end(), [](int& v) { v = slow(v); }, options);
  std::transform(expected.begin(), expected.end(), expected.begin(), slow);
  CHECK(y == expected);
  hs::transform(rt, x.begin(), x.end(), y.begin(), y.begin(), std::minus<>(), options);
  for (std::size_t i = 0; i < n; ++i) {
    expected[i] = x[i] - expected[i];
  }
  CHECK(y == expected);

  auto const sum = std::accumulate(x.begin(), x.end(), std::int64_t{5});
  CHECK(hs::reduce(rt, x.begin(), x.end(), std::int64_t{5}, std::plus<>(), options) == sum);
  auto const square = [](int v) { return std::int64_t{v} * slow(v); };
  auto const squares =
      std::transform_reduce(x.begin(), x.end(), std::int64_t{0}, std::plus<>(), square);
  CHECK(hs::transform_reduce(
            rt, x.begin(), x.end(), std::int64_t{0}, std::plus<>(), square, options) == squares);
  auto const dot = std::inner_product(x.begin(), x.end(), x.begin(), std::int64_t{1});
  CHECK(hs::transform_reduce(
            rt,
            x.begin(),
            x.end(),
            x.begin(),
            std::int64_t{1},
            std::plus<>(),
            [](std::int64_t a, std::int64_t b) { return a * b; },
            options) == dot);

  std::vector<std::int64_t> from(x.begin(), x.end()), to(n), sums(n);
  auto const add = [](std::int64_t a, std::int64_t b) {
    (void)slow(static_cast<int>(b));
    return a + b;
  };
  std::partial_sum(from.begin(), from.end(), sums.begin());
  CHECK(hs::inclusive_scan(rt, from.begin(), from.end(), to.begin(), add, options) == to.end());
  CHECK(to == sums);
  hs::inclusive_scan(rt, from.begin(), from.end(), from.begin(), add, options); // in place
  CHECK(from == sums);
}

TEST_CASE_TEMPLATE("algorithms: results are those of one thread",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const workers : {1, 2, 3, 8}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    for (auto const n : sizes) {
      for (auto const& options : ways) {
        check_all(rt, n, options);
      }
    }
    rt.sync();
  }
}

/// Sums and prefix sums of numbers of very different sizes.
struct Sums {
  double sum;
  double dot;
  std::vector<double> prefixes;

  bool operator==(Sums const&) const = default;
};

template <class Rt>
Sums sums_of(Rt& rt, std::vector<double> const& x, hs::LoopOptions options) {
  Sums sums{
      hs::reduce(rt, x.begin(), x.end(), 0.5, std::plus<>(), options),
      hs::transform_reduce(
          rt, x.begin(), x.end(), x.rbegin(), 0.5, std::plus<>(), std::multiplies<>(), options),
      std::vector<double>(x.size())};
  hs::inclusive_scan(rt, x.begin(), x.end(), sums.prefixes.begin(), std::plus<>(), options);
  return sums;
}

TEST_CASE(
    "algorithms: floating-point sums are within the bound, and equal bit by bit in fixed order") {
  std::vector<double> x(50021);
  std::uint64_t seed = 7;
  for (auto& value : x) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    value = std::ldexp(static_cast<double>(seed >> 40U) - 8e6, static_cast<int>(seed >> 33U & 31U));
  }
  long double exact = 0.5L;
  long double moduli = 0.5L;
  std::vector<long double> prefixes;
  for (auto const value : x) {
    exact += value;
    moduli += std::fabs(value);
    prefixes.push_back(exact - 0.5L);
  }
  auto const bound = static_cast<long double>(x.size() + 1) * 0x1p-53L * moduli;
  hs::Runtime<> one(on_cpus(1));
  hs::LoopOptions const fixed{.fixed_order = true};
  hs::LoopOptions const fixed_grain{.grain = 100, .fixed_order = true};
  auto const first = sums_of(one, x, fixed);
  auto const first_of_grain = sums_of(one, x, fixed_grain);
  auto const check = [&](auto& rt) {
    for (int round = 0; round < 5; ++round) {
      CHECK(sums_of(rt, x, fixed) == first);
      CHECK(sums_of(rt, x, fixed_grain) == first_of_grain);
      auto const any = sums_of(rt, x, {});
      CHECK(std::fabs(any.sum - exact) <= bound);
      bool within = true;
      for (std::size_t i = 0; i < x.size(); ++i) {
        within = within && std::fabs(any.prefixes[i] - prefixes[i]) <= bound;
      }
      CHECK(within);
    }
  };
  check(one);
  for (int const workers : {2, 5, 8}) {
    hs::Runtime<> rt(on_cpus(workers));
    check(rt);
    hs::Runtime<OldestFirst> other(on_cpus(workers));
    check(other);
  }
}

TEST_CASE("algorithms: values that are no numbers keep their order") {
  hs::Runtime<> rt(on_cpus(3));
  std::vector<std::string> words;
  std::string all = ">";
  for (int k = 0; k < 300; ++k) {
    words.push_back(std::to_string(k));
    all += words.back();
  }
  for (auto const& options : ways) {
    CHECK(hs::reduce(rt, words.begin(), words.end(), std::string(">"), std::plus<>(), options) ==
          all);
    std::vector<std::string> out(words.size());
    hs::inclusive_scan(rt, words.begin(), words.end(), out.begin(), std::plus<>(), options);
    CHECK(">" + out.back() == all);
  }
}

TEST_CASE_TEMPLATE("algorithms: inside bodies, nested and beside other tasks",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const workers : {1, 2, 4}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    std::vector<std::int64_t> sums(12);
    std::atomic<bool> released{false};
    std::atomic<bool> child_ran{false};
    for (std::size_t t = 0; t < sums.size(); ++t) {
      rt.spawn()(
          [&sums](hs::Runtime<Scheduler>& inner, std::size_t task) {
            std::vector<std::int64_t> part(40);
            hs::parallel_for(inner,
                             0,
                             40,
                             [&](int i) {
                               std::vector<int> x(100, i);
                               part[static_cast<std::size_t>(i)] = hs::reduce(
                                   inner, x.begin(), x.end(), std::int64_t{0}, {}, {.grain = 9});
                             },
                             {.grain = 1});
            sums[task] = hs::reduce(inner, part.begin(), part.end(), std::int64_t{0});
          },
          t);
    }
    rt.sync();
    CHECK(std::all_of(sums.begin(), sums.end(), [](std::int64_t s) { return s == 78000; }));

    // A call in a body waits for its own work only: not for a child that was spawned before.
    if (workers > 1) {
      rt.spawn()([&](hs::Runtime<Scheduler>& inner) {
        inner.spawn()([&] { child_ran = support::eventually([&] { return released.load(); }); });
        hs::parallel_for(inner, 0, 100, [](int) {}, {.grain = 1});
        released = true;
      });
      rt.sync();
      CHECK(child_ran.load());
    }
  }
}

TEST_CASE("algorithms: the first exception is rethrown, and the runtime stays usable") {
  for (int const workers : {1, 2, 8}) {
    hs::Runtime<> rt(on_cpus(workers));
    std::vector<int> x(5000, 1);
    std::iota(x.begin(), x.end(), 0);
    auto const fails = [](int value) {
      if (value % 1000 == 777) {
        throw std::runtime_error("777");
      }
      return slow(value);
    };
    auto const add = [&](int a, int b) { return a + (b == 777 ? fails(b) : b); };
    std::vector<int> y(x.size());
    for (auto const& options : ways) {
      CHECK_THROWS_WITH(hs::parallel_for(rt, 0, 5000, fails, options), "777");
      CHECK_THROWS_WITH(hs::for_each(rt, x.begin(), x.end(), fails, options), "777");
      CHECK_THROWS_WITH(hs::transform(rt, x.begin(), x.end(), y.begin(), fails, options), "777");
      CHECK_THROWS_WITH(
          (void)hs::transform_reduce(rt, x.begin(), x.end(), 0, std::plus<>(), fails, options),
          "777");
      CHECK_THROWS_WITH(hs::inclusive_scan(rt, x.begin(), x.end(), y.begin(), add, options), "777");
      CHECK(hs::reduce(rt, x.begin(), x.end(), 0, std::plus<>(), options) == 5000 * 4999 / 2);
    }
    rt.sync(); // helpers have no failure of their own
    CHECK(rt.failures().empty());
  }
}

TEST_CASE("algorithms: refused inside a capture") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> x(10, 1);
  (void)rt.capture([&] {
    auto const error = error_of([&] { hs::for_each(rt, x.begin(), x.end(), [](int&) {}); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_call);
    CHECK(std::string(error->what()) == "hetsched: for_each: not allowed inside capture");
  });
}

TEST_CASE("algorithms: several threads, while the workers do other things") {
  hs::Runtime<> rt(on_cpus(4));
  std::atomic<bool> ended{false};
  rt.spawn()([&] { (void)support::eventually([&] { return ended.load(); }); });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::vector<int> x(2000, 2);
      for (int round = 0; round < 50; ++round) {
        right += hs::reduce(rt, x.begin(), x.end(), 0, {}, {.grain = 10}) == 4000 ? 1 : 0;
        hs::inclusive_scan(rt, x.begin(), x.end(), x.begin(), {}, {.grain = 10});
        hs::parallel_for(
            rt, 0, 2000, [&](int i) { x[static_cast<std::size_t>(i)] = 2; }, {.grain = 3});
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  ended = true;
  rt.sync();
  CHECK(right.load() == 150);
}

TEST_CASE("algorithms: a loop that became slow is shared") {
  hs::Runtime<> rt(on_cpus(2));
  std::atomic<std::int64_t> pause_ns{0};
  std::vector<std::thread::id> who(64);
  auto const body = [&](int i) {
    who[static_cast<std::size_t>(i)] = std::this_thread::get_id();
    auto const until = hs::detail::monotonic_ns() + pause_ns.load();
    while (hs::detail::monotonic_ns() < until) {
      std::this_thread::yield();
    }
  };
  for (int k = 0; k < 100; ++k) {
    hs::parallel_for(rt, 0, 64, body);
  }
  pause_ns = 200000;
  bool shared = false;
  for (int k = 0; k < 200 && !shared; ++k) {
    hs::parallel_for(rt, 0, 64, body);
    shared = std::any_of(who.begin(), who.end(), [&](auto id) { return id != who.front(); });
  }
  CHECK(shared);
  rt.sync();
}

TEST_SUITE_END();

} // namespace parallel_for_test
