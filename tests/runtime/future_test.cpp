// SPDX-License-Identifier: MIT
// Results of tasks.

#include <hetsched/futures.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::contains;
using support::Gate;
using support::message_of;
using support::on_cpus;

namespace future_test {

int twice(int x) {
  return 2 * x;
}

TEST_SUITE_BEGIN("future");

TEST_CASE("async: a result, and one made of others") {
  for (int const cpus : {1, 2}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const a = rt.async([] { return 20; });
    auto const b = rt.async(twice, 11);
    auto const sum = rt.async([](int x, int const& y) { return x + y; }, a, b);
    CHECK(sum.get() == 42);
    CHECK(sum.is_ready());
    CHECK(a.get() == 20);
    CHECK(a.get() == 20); // again
  }
}

TEST_CASE("async: results of any type, which live as long as somebody needs them") {
  struct Counted {
    explicit Counted(std::atomic<int>& of) : count(&of) { ++*count; }

    Counted(Counted&& other) noexcept : count(other.count) { ++*count; }

    Counted(Counted const&) = delete;
    Counted& operator=(Counted const&) = delete;

    ~Counted() { --*count; }

    std::atomic<int>* count;
  };

  std::atomic<int> alive{0};
  int seen = 0;
  {
    hs::Runtime<> rt(on_cpus(2));
    {
      auto const words = rt.async([] { return std::string(100, 'x'); });
      auto const owner = rt.async([] { return std::make_unique<int>(7); });
      auto const counted = rt.async([&alive] { return Counted(alive); });
      auto const more = rt.async(
          [](std::string const& text, std::unique_ptr<int> const& number, Counted const& it) {
            return static_cast<int>(text.size()) + *number + it.count->load();
          },
          words,
          owner,
          counted);
      CHECK(words.get().size() == 100);
      seen = more.get();
      CHECK(alive == 1);
    }
    rt.sync();
    CHECK(alive == 0);
  }
  CHECK(seen == 108);
}

TEST_CASE("async: of no result") {
  hs::Runtime<> rt(on_cpus(2));
  int steps = 0;
  auto const first = rt.async([&steps] { steps = 1; });
  auto const second = rt.async([&steps](auto const&) { steps = 10 * steps + 2; }, first);
  second.get();
  CHECK(steps == 12);
}

TEST_CASE("async: with data, values, attributes and the runtime") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> numbers{1, 2, 3};
  auto const data = rt.data(numbers);
  hs::TaskGroup group(rt);
  auto const sum = rt.async(
      hs::label("add"),
      hs::in(group),
      [](hs::Runtime<>& inner, hs::VectorView<int const> all, int start, std::string const& text) {
        auto const part = inner.async([](int x) { return x + 1; }, all[2]);
        return start + all[0] + part.get() + static_cast<int>(text.size());
      },
      hs::read(data),
      100,
      std::string("four"));
  rt.sync(group);
  CHECK(sum.is_ready());
  CHECK(sum.get() == 109);
}

TEST_CASE("async: a task may take the result, and change it") {
  hs::Runtime<> rt(on_cpus(2));
  auto const number = rt.async([] { return 3; });
  rt.spawn()([](int& it) { it *= 5; }, hs::read_write(number.handle()));
  CHECK(number.get() == 15);
}

TEST_CASE("async: nobody waits for a future that goes") {
  hs::Runtime<> rt(on_cpus(2));
  Gate gate;
  bool passed = false;
  {
    auto const first = rt.async([&] {
      passed = gate.pass();
      return 5;
    });
    auto const second =
        rt.async([](int x) { return std::string(static_cast<std::size_t>(x), 'y'); }, first);
    CHECK_FALSE(second.is_ready());
  }
  gate.open();
  rt.sync();
  CHECK(passed);
}

TEST_CASE("async: what the task throws is told by get, and only there") {
  hs::Runtime<> rt(on_cpus(2));
  auto const bad =
      rt.async([](int x) -> int { throw std::runtime_error("no " + std::to_string(x)); }, 3);
  auto const after = rt.async([](int x) { return x; }, bad);
  CHECK(contains(message_of([&] { (void)bad.get(); }), "no 3"));
  CHECK(contains(message_of([&] { (void)bad.get(); }), "no 3")); // again
  CHECK(contains(message_of([&] { (void)after.get(); }), "hetsched:"));
  CHECK_NOTHROW(rt.sync());
  CHECK(rt.failures().size() == 1);
}

TEST_CASE("async: a failure that nobody asked for is the next sync's") {
  hs::Runtime<> rt(on_cpus(2));
  {
    auto const bad = rt.async([]() -> int { throw std::runtime_error("unasked"); });
  }
  CHECK(message_of([&] { rt.sync(); }) == "unasked");
  auto const good = rt.async([] { return 1; });
  CHECK(good.get() == 1);
}

TEST_CASE("async: of a cancelled group") {
  hs::Runtime<> rt(on_cpus(1));
  hs::TaskGroup group(rt);
  group.cancel();
  auto const skipped = rt.async(hs::in(group), [] { return std::string("value"); });
  CHECK(message_of([&] { (void)skipped.get(); }) ==
        "hetsched: future: its task did not run: its group was cancelled");
}

TEST_CASE("async: the future outlives its runtime") {
  hs::Future<std::string> text;
  CHECK_FALSE(text);
  {
    hs::Runtime<> rt(on_cpus(2));
    text = rt.async([] { return std::string("still here"); });
  }
  CHECK(text.get() == "still here");
}

std::uint64_t fib(hs::Runtime<>& rt, unsigned n) {
  if (n < 2) {
    return n;
  }
  auto const left = rt.async([](hs::Runtime<>& inner, unsigned m) { return fib(inner, m); }, n - 1);
  auto const right = fib(rt, n - 2);
  return left.get() + right;
}

TEST_CASE("async: recursion") {
  hs::Runtime<> rt(on_cpus(2));
  auto const root = rt.async([](hs::Runtime<>& inner) { return fib(inner, 15); });
  CHECK(root.get() == 610);
}

TEST_CASE("async: many at a time, from several threads") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<std::uint64_t> sums(3);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&rt, &sums, t] {
      auto sum = rt.async([t] { return std::uint64_t{t}; });
      for (std::uint64_t k = 0; k < 300; ++k) {
        sum = rt.async([](std::uint64_t x, std::uint64_t y) { return x + y; }, sum, k);
      }
      sums[t] = sum.get();
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(sums == std::vector<std::uint64_t>{44850, 44851, 44852});
}

TEST_SUITE_END();

} // namespace future_test
