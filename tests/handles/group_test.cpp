// SPDX-License-Identifier: MIT
// Groups: waiting for some tasks, and cancelling them.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace hs = hetsched;
using support::message_of;
using support::on_cpus;

namespace group_test {

struct Set {
  void operator()(int& to, int value) const { to = value; }
};

struct Copy {
  void operator()(int const& from, int& to) const { to = from; }
};

TEST_SUITE_BEGIN("group");

TEST_CASE_TEMPLATE("group: sync(group) waits for its tasks, whatever else is going on",
                   Scheduler,
                   HETSCHED_BALANCING_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  support::Gate gate;
  std::atomic<bool> started{false};
  int x = 0;
  bool passed = false;
  auto const hx = rt.data(x);
  auto const hpassed = rt.data(passed);
  hs::TaskGroup group(rt);

  rt.spawn()( // runs on: occupies the other worker
      [&](bool& ok) {
        started = true;
        ok = gate.pass();
      },
      hs::write(hpassed));
  REQUIRE(support::eventually([&] { return started.load(); }));
  rt.spawn()([](int& v) { v = 1; }, hs::write(hx)); // not of the group, but needed by it
  rt.spawn(hs::in(group))([](int& v) { v = 10 * v + 2; }, hs::read_write(hx));
  rt.sync(group);
  CHECK(x == 12);
  gate.open();
  rt.sync();
  CHECK(passed);
}

TEST_CASE("group: one that is empty is complete") {
  hs::Runtime<> rt(on_cpus(1));
  hs::TaskGroup group(rt);

  CHECK_NOTHROW(rt.sync(group));
}

TEST_CASE_TEMPLATE("group: cancelled before it begins, it leaves data alone and dependents run",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int x = 5, y = 0;
  auto const hx = rt.data(x), hy = rt.data(y);
  hs::TaskGroup group(rt);

  group.cancel();
  rt.spawn(hs::in(group))(Set{}, hs::write(hx), 6);
  rt.spawn(hs::in(group))(Set{}, hs::read_write(hx), 7);
  rt.spawn()(Copy{}, hs::read(hx), hs::write(hy));
  rt.sync();

  CHECK(group.is_cancelled());
  CHECK(x == 5);
  CHECK(y == 5);
  CHECK(rt.stats().cancelled == 2);
  CHECK(rt.stats().executed == 1);
  CHECK_NOTHROW(rt.sync(group));
}

TEST_CASE("group: a skipped task makes no bad datum good") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 5, y = 0;
  auto const hx = rt.data(x), hy = rt.data(y);
  hs::TaskGroup group(rt);

  group.cancel();
  rt.spawn()([](int&) { throw std::runtime_error("bad"); }, hs::write(hx));
  rt.spawn(hs::in(group))(Set{}, hs::write(hx), 6); // would have repaired it
  rt.spawn()(Copy{}, hs::read(hx), hs::write(hy));

  CHECK(message_of([&] { rt.sync(); }) == "bad");
  CHECK(y == 0);
}

TEST_CASE("group: a skipped contribution contributes nothing, the others arrive") {
  hs::Runtime<> rt(on_cpus(2));
  int sum = 0;
  auto const hsum = rt.data(sum);
  hs::TaskGroup group(rt);
  auto const add = [](int& mine, int value) { mine += value; };

  group.cancel();
  rt.spawn()(add, hs::reduce<hs::Sum<int>>(hsum), 1);
  rt.spawn(hs::in(group))(add, hs::reduce<hs::Sum<int>>(hsum), 10);
  rt.spawn()(add, hs::reduce<hs::Sum<int>>(hsum), 100);
  rt.sync();

  CHECK(sum == 101);
}

TEST_CASE("group: cancelled by one of its bodies, what has not begun is skipped") {
  hs::Runtime<> rt(on_cpus(2));
  int last = 0;
  auto const hlast = rt.data(last);
  hs::TaskGroup group(rt);
  bool told = false;

  for (int k = 1; k <= 10; ++k) { // one after the other: all write
    rt.spawn(hs::in(group))(
        [&](int& v, int number) {
          v = number;
          if (number == 4) {
            group.cancel();
            told = group.is_cancelled();
          }
        },
        hs::read_write(hlast),
        k);
  }
  rt.sync(group);

  CHECK(last == 4);
  CHECK(told);
  CHECK(rt.stats().executed == 4);
  CHECK(rt.stats().cancelled == 6);
}

TEST_CASE("group: a running body sees that its group was cancelled") {
  hs::Runtime<> rt(on_cpus(2));
  hs::TaskGroup group(rt);
  std::atomic<bool> running{false};
  bool seen = false;

  rt.spawn(hs::in(group))([&] {
    running = true;
    seen = support::eventually([&] { return group.is_cancelled(); });
  });
  std::thread other([&] {
    (void)support::eventually([&] { return running.load(); });
    group.cancel();
  });
  rt.sync(group);
  other.join();

  CHECK(seen);
}

TEST_CASE("group: usable again and again, also after a failure") {
  hs::Runtime<> rt(on_cpus(2));
  hs::TaskGroup group(rt);
  std::atomic<int> ran{0};
  for (int round = 0; round < 3; ++round) {
    rt.spawn(hs::in(group))([&] { ++ran; });
    rt.spawn(hs::in(group))([] { throw std::runtime_error("round"); });
    CHECK(message_of([&] { rt.sync(group); }) == "round");
    rt.spawn(hs::in(group))([&] { ++ran; });
    CHECK(message_of([&] { rt.sync(group); }).empty());
    CHECK(ran == 2 * (round + 1));
  }
  CHECK_NOTHROW(rt.sync());
}

TEST_CASE("group: sync(group) from one of its tasks, or a child of one, is an error") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  hs::TaskGroup group(rt);
  std::optional<hs::ErrorCode> own, childs;

  rt.spawn(hs::in(group))([&](Rt& inner) {
    own = support::code_of([&] { inner.sync(group); });
    inner.spawn()(
        [&](Rt& innermost) { childs = support::code_of([&] { innermost.sync(group); }); });
  });
  rt.sync();

  CHECK(own == hs::ErrorCode::bad_call);
  CHECK(childs == hs::ErrorCode::bad_call);
}

TEST_CASE("group: a child's failure in it spoils the data of the parent that did not sync") {
  for (bool const asks : {false, true}) {
    hs::Runtime<> rt(on_cpus(2));
    int x = 0;
    int y = 0;
    auto const hx = rt.data(x);
    auto const hy = rt.data(y);
    hs::TaskGroup group(rt);
    rt.spawn()(
        [&](hs::Runtime<>& inner, int& /*v*/) {
          inner.spawn(hs::in(group))([](int& /*v*/) { throw std::runtime_error("bad child"); },
                                     hs::write(hx));
          if (asks) { // then the parent has seen to it
            inner.sync();
          }
        },
        hs::write(hx));
    rt.spawn()([](int const& /*from*/, int& to) { to = 1; }, hs::read(hx), hs::write(hy));
    rt.sync();
    CHECK(y == (asks ? 1 : 0));
    CHECK(message_of([&] { rt.sync(group); }) == "bad child");
    CHECK(rt.stats().cancelled == (asks ? 0 : 1));
  }
}

TEST_CASE_TEMPLATE("group: a body may make one for its children, and sync on it",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  Rt rt(on_cpus(2));
  std::atomic<int> ran{0};
  std::atomic<int> at_sync{0};

  for (int k = 0; k < 4; ++k) {
    rt.spawn()([&](Rt& inner) {
      hs::TaskGroup group(inner);
      std::atomic<int> mine{0};
      for (int child = 0; child < 5; ++child) {
        inner.spawn(hs::in(group))([&] {
          ++mine;
          ++ran;
        });
      }
      inner.sync(group);
      at_sync += mine;
    });
  }
  rt.sync();

  CHECK(at_sync == 20);
  CHECK(ran == 20);
}

TEST_CASE("group: its destructor waits") {
  hs::Runtime<> rt(on_cpus(2));
  std::atomic<int> ran{0};
  {
    hs::TaskGroup group(rt);
    for (int k = 0; k < 50; ++k) {
      rt.spawn(hs::in(group))([&] { ++ran; });
    }
  }
  CHECK(ran == 50);
}

TEST_CASE("group: one of another runtime is refused") {
  hs::Runtime<> one(on_cpus(1));
  hs::Runtime<> two(on_cpus(1));
  hs::TaskGroup group(one);
  CHECK(support::code_of([&] { two.spawn(hs::in(group))([] {}); }) == hs::ErrorCode::bad_call);
  CHECK(support::code_of([&] { two.sync(group); }) == hs::ErrorCode::bad_call);
  CHECK_NOTHROW(one.sync(group));
}

TEST_CASE("group: several threads may wait for one") {
  hs::Runtime<> rt(on_cpus(2));
  hs::TaskGroup group(rt);
  std::atomic<int> ran{0};
  std::atomic<int> seen{0};
  for (int k = 0; k < 200; ++k) {
    rt.spawn(hs::in(group))([&] { ++ran; });
  }
  auto const wait = [&] {
    rt.sync(group);
    seen += ran;
  };
  std::thread one(wait), two(wait);
  wait();
  one.join();
  two.join();
  CHECK(seen == 600);
}

TEST_SUITE_END();

} // namespace group_test
