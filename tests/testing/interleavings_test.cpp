// SPDX-License-Identifier: MIT
// The controller of interleavings, on toys whose interleavings are known.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/testing/interleavings.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

namespace hs = hetsched;
using hs::testing::expect;
using hs::testing::explore_interleavings;

namespace interleavings_test {

using Number = hs::detail::Atomic<int>;

/// Calls its function on another thread.
struct Beside {
  explicit Beside(void (*function)()) {
    thread.start(
        [](void* of) -> void* {
          reinterpret_cast<void (*)()>(of)();
          return nullptr;
        },
        reinterpret_cast<void*>(function));
  }

  Beside(Beside const&) = delete;
  Beside& operator=(Beside const&) = delete;

  ~Beside() { thread.join(); }

  hs::testing::Thread thread;
};

Number x, y, go;
int plain = 0;

/// Two threads add 1, each by a load and a store.
void lost_update() {
  x = 0;
  constexpr auto add = [] { x.store(x.load() + 1); };
  {
    Beside const other(add);
    add();
  }
  expect(x.load() == 2, "x = 2");
}

/// The waiter looks, then sleeps; the waker notifies, then stores.
void lost_wake_up() {
  go = 0;
  Beside const waiter([] { go.wait(0); });
  go.notify_all();
  go.store(1);
}

hs::detail::Mutex first, second;

void deadlock() {
  Beside const other([] {
    std::lock_guard const outer(second);
    std::lock_guard const inner(first);
  });
  std::lock_guard const outer(first);
  std::lock_guard const inner(second);
}

/// The flag is stored before what it is to publish.
void published_too_early() {
  plain = 0;
  go = 0;
  Beside const reader([] {
    if (go.load() == 1) {
      expect(plain == 1, "the flag is seen after what it publishes");
    }
  });
  go.store(1);
  plain = 1;
}

void spins_for_ever() {
  go = 0;
  while (go.load() == 0) {
    hs::detail::yield_core();
  }
}

void throws() {
  throw std::runtime_error("no");
}

/// Right: each thread has its turn, though both spin.
void takes_turns() {
  x = 0;
  Beside const other([] {
    while (x.load() != 1) {
      hs::detail::yield_core();
    }
    x.store(2);
  });
  x.store(1);
  while (x.load() != 2) {
    hs::detail::yield_core();
  }
}

TEST_SUITE_BEGIN("testing");

TEST_CASE("interleavings: random ones find each kind of defect") {
  struct {
    void (*program)();
    char const* what;
  } const defects[] = {{lost_update, "x = 2"},
                       {lost_wake_up, "all threads sleep"},
                       {deadlock, "all threads sleep"},
                       {published_too_early, "the flag is seen after what it publishes"},
                       {spins_for_ever, "the run does not end"},
                       {throws, "no"}};

  for (auto const& defect : defects) {
    auto const found = explore_interleavings(defect.program, {.runs = 2000});
    CHECK_FALSE(found);
    CHECK(found.failure.substr(0, found.failure.find('\n')) == defect.what);
  }
}

TEST_CASE("interleavings: one switch away from a thread is enough for most") {
  for (auto* program : {lost_update, lost_wake_up, deadlock, published_too_early}) {
    CHECK_FALSE(explore_interleavings(program, {.runs = 2000, .preemptions = 1}));
  }
  auto const without = explore_interleavings(lost_update, {.preemptions = 0});
  CHECK(without);
  CHECK(without.all);
}

TEST_CASE("interleavings: a seed repeats its run, with all that is told of it") {
  auto const found = explore_interleavings(lost_update, {.runs = 2000, .seed = 7});
  REQUIRE_FALSE(found);
  auto const again = explore_interleavings(lost_update, {.runs = 1, .seed = found.seed});
  auto const message = [](std::string const& failure) {
    return failure.substr(0, failure.find("last steps"));
  };
  CHECK(message(again.failure) == message(found.failure));
  CHECK(again.seed == found.seed);
}

TEST_CASE("interleavings: all with few switches, each once") {
  // Two threads of two stores each: what is seen depends on the order alone.
  static std::multiset<std::string> seen;
  static std::string order;
  constexpr auto program = [] {
    order.clear();
    {
      Beside const other([] {
        x.store(1);
        order += 'a';
        x.store(2);
        order += 'b';
      });
      y.store(1);
      order += 'A';
      y.store(2);
      order += 'B';
    }
    seen.insert(order);
  };
  seen.clear();
  auto const result = explore_interleavings(program, {.runs = 100000, .preemptions = 8});
  CHECK(result.all);
  CHECK(result.threads == 2);
  for (auto const* one : {"abAB", "aAbB", "aABb", "AabB", "AaBb", "ABab"}) {
    CHECK_MESSAGE(seen.count(one) > 0, one);
  }
  std::set<std::string> const different(seen.begin(), seen.end());
  CHECK(different.size() == 6);
}

TEST_CASE("interleavings: a right program stays right") {
  CHECK(explore_interleavings(takes_turns, {.runs = 500}));
  auto const all = explore_interleavings(takes_turns, {.runs = 100000, .preemptions = 2});
  CHECK(all);
  CHECK(all.all);
}

TEST_CASE("interleavings: a pause moves the clock on by its length") {
  static std::int64_t passed = 0;
  CHECK(explore_interleavings(
      [] {
        auto const begin = hs::detail::controlled::now_ns();
        hs::detail::pause_for(500000);
        passed = hs::detail::controlled::now_ns() - begin;
      },
      {.runs = 1}));
  CHECK(passed >= 500000);
}

TEST_SUITE_END();

} // namespace interleavings_test
