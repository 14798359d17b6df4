// SPDX-License-Identifier: MIT
// What becomes of an exception in a body.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::message_of;
using support::on_cpus;

namespace exceptions_test {

struct Pivot : hs::Task<1>::Signature<hs::RW<double>> {};

[[noreturn]] void fail(char const* why) {
  throw std::runtime_error(why);
}

struct Copy {
  void operator()(int const& from, int& to) const { to = from; }
};

constexpr Copy copy;

/// Does not take every third task.
struct Refusing : OldestFirst {
  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    if (++pushed % 3 == 0) {
      throw std::bad_alloc();
    }
    return OldestFirst::push(ctx, task, worker);
  }

  int pushed = 0;
};

/// The same of what becomes ready together.
struct RefusingSome : Refusing {
  void push_activated(hs::placement_context auto const& ctx,
                      std::span<hs::TaskId const> tasks,
                      hs::WorkerId worker,
                      std::span<hs::Wake> wakes) {
    for (std::size_t k = tasks.size(); k-- > 0;) {
      wakes[k] = push(ctx, tasks[k], worker);
    }
  }
};

/// Takes none of the first two tasks.
struct Failing : OldestFirst {
  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    if (++pushed <= 2) {
      fail("no such task");
    }
    return OldestFirst::push(ctx, task, worker);
  }

  int pushed = 0;
};

} // namespace exceptions_test

template <>
struct hetsched::TaskBodyCPU<exceptions_test::Pivot> {
  void operator()(double& /*x*/) { exceptions_test::fail("zero pivot"); }
};

namespace exceptions_test {

TEST_SUITE_BEGIN("exceptions");

//   fail(a) --> b = a --> c = b        all but d are cancelled
//   d = 1
TEST_CASE_TEMPLATE("exceptions: cancel what depends on the task, at any distance, and nothing else",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int a = 10, b = 20, c = 30, d = 40;
  auto const ha = rt.data(a), hb = rt.data(b), hc = rt.data(c), hd = rt.data(d);

  rt.spawn()([](int&) { fail("first"); }, hs::read_write(ha));
  rt.spawn()(copy, hs::read(ha), hs::write(hb));
  rt.spawn()(copy, hs::read(hb), hs::write(hc));
  rt.spawn()([](int& v) { v = 1; }, hs::write(hd));

  CHECK(message_of([&] { rt.sync(); }) == "first");
  CHECK(b == 20);
  CHECK(c == 30);
  CHECK(d == 1);
  auto const stats = rt.stats();
  CHECK(stats.spawned == 4);
  CHECK(stats.executed == 2);
  CHECK(stats.failed == 1);
  CHECK(stats.cancelled == 2);
}

TEST_CASE("exceptions: a reader that fails spoils nothing for the next") {
  hs::Runtime<> rt(on_cpus(2));
  int a = 1;
  auto const ha = rt.data(a);

  rt.spawn()([](int const&) { fail("reader"); }, hs::read(ha));
  rt.spawn()([](int& v) { v = 2; }, hs::read_write(ha));

  CHECK(message_of([&] { rt.sync(); }) == "reader");
  CHECK(a == 2);
}

TEST_CASE("exceptions: overwriting makes a datum good again") {
  hs::Runtime<> rt(on_cpus(2));
  int a = 1, b = 0;
  auto const ha = rt.data(a), hb = rt.data(b);

  rt.spawn()([](int&) { fail("first"); }, hs::write(ha));
  rt.spawn()([](int& v) { v = 7; }, hs::write(ha));
  rt.spawn()(copy, hs::read(ha), hs::write(hb));

  CHECK(message_of([&] { rt.sync(); }) == "first");
  CHECK(b == 7);
}

TEST_CASE("exceptions: after sync the same data are usable, and nothing is thrown twice") {
  hs::Runtime<> rt(on_cpus(2));
  int a = 5, b = 0;
  auto const ha = rt.data(a), hb = rt.data(b);
  for (int round = 0; round < 3; ++round) {
    rt.spawn()([](int&) { fail("again"); }, hs::read_write(ha));
    CHECK(message_of([&] { rt.sync(); }) == "again");
    rt.spawn()(copy, hs::read(ha), hs::write(hb));
    CHECK(message_of([&] { rt.sync(); }).empty());
    CHECK(b == a);
    ++a;
  }
  CHECK(rt.failures().size() == 3);
}

TEST_CASE("exceptions: sync rethrows the first of several") {
  hs::Runtime<> rt(on_cpus(1));
  int a = 0;
  auto const ha = rt.data(a);

  rt.spawn()([](int&) { fail("one"); }, hs::write(ha));
  rt.spawn()([](int&) { fail("two"); }, hs::write(ha));
  rt.spawn()([](int&) { fail("three"); }, hs::write(ha));

  CHECK(message_of([&] { rt.sync(); }) == "one");
  REQUIRE(rt.failures().size() == 3);
  CHECK(rt.failures()[0].message == "one");
  CHECK(rt.failures()[2].message == "three");
}

TEST_CASE("exceptions: failures name the task, its label and the message; not the cancelled") {
  hs::Runtime<> rt(on_cpus(1));
  double x = 0;
  auto const hx = rt.data(x);

  rt.spawn<Pivot>(hs::label("column 3"))(hx);
  rt.spawn<Pivot>(hs::label("column 4"))(hx); // cancelled
  rt.spawn()([](double&) { throw 42; }, hs::write(hx));
  CHECK_THROWS_WITH(rt.sync(), "zero pivot");

  auto const failures = rt.failures();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].task.find("Pivot") != std::string::npos);
  CHECK(failures[0].label == "column 3");
  CHECK(failures[0].message == "zero pivot");
  CHECK(failures[1].task.starts_with("exceptions_test.cpp:")); // where it was spawned
  CHECK(failures[1].label.empty());
  CHECK(failures[1].message == "unknown exception");
  CHECK(rt.stats().cancelled == 1);
}

TEST_CASE("exceptions: one without a message comes through sync as it was") {
  struct Silent : std::exception {
    [[nodiscard]] char const* what() const noexcept override { return nullptr; }
  };

  hs::Runtime<> rt(on_cpus(2));

  rt.spawn()([] { throw Silent(); });

  bool came = false;
  try {
    rt.sync();
  } catch (Silent const&) { // doctest's own checks take the message
    came = true;
  }
  CHECK(came);
  REQUIRE(rt.failures().size() == 1);
  CHECK(rt.failures()[0].message == "unknown exception");
}

TEST_CASE("exceptions: what is not a std::exception comes through sync as it was") {
  hs::Runtime<> rt(on_cpus(2));

  rt.spawn()([] { throw 42; });

  CHECK_THROWS_AS(rt.sync(), int);
  CHECK_NOTHROW(rt.sync());
}

TEST_CASE("exceptions: of a child, at the parent's sync") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  int a = 0;
  auto const ha = rt.data(a);
  std::string seen;

  rt.spawn()(
      [&seen](Rt& inner, int& v) {
        inner.spawn()([] { fail("child"); });
        seen = message_of([&] { inner.sync(); });
        v = 3;
      },
      hs::write(ha));

  CHECK(message_of([&] { rt.sync(); }).empty());
  CHECK(seen == "child");
  CHECK(a == 3);
  CHECK(rt.failures().size() == 1);
}

TEST_CASE_TEMPLATE("exceptions: of a child nobody syncs on, the parent's",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  Rt rt(on_cpus(2));
  int a = 0, b = 0;
  auto const ha = rt.data(a), hb = rt.data(b);

  rt.spawn()(
      [](Rt& middle, int& v) {
        v = 1;
        middle.spawn()([](Rt& inner) { inner.spawn()([] { fail("grandchild"); }); });
      },
      hs::write(ha));
  rt.spawn()(copy, hs::read(ha), hs::write(hb));

  CHECK(message_of([&] { rt.sync(); }) == "grandchild");
  CHECK(b == 0); // was cancelled: the task that was to write `a` counts as failed
  CHECK(rt.stats().cancelled == 1);
}

TEST_CASE("exceptions: children are cancelled by each other's data, the parent goes on") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  int a = 0;
  bool dependent_ran = false;
  bool later_ran = false;
  auto const ha = rt.data(a);

  rt.spawn()(
      [&](Rt& inner, hs::Handle<int> const& mine) {
        inner.spawn()([](int&) { fail("child"); }, hs::read_write(mine));
        inner.spawn()([&](int const&) { dependent_ran = true; }, hs::read(mine));
        (void)message_of([&] { inner.sync(); });
        inner.spawn()([&](int const&) { later_ran = true; }, hs::read(mine));
      },
      hs::read_write(ha));

  CHECK(message_of([&] { rt.sync(); }).empty());
  CHECK(!dependent_ran);
  CHECK(later_ran);
}

TEST_CASE("exceptions: a group's go to sync(group) and not to others") {
  hs::Runtime<> rt(on_cpus(2));
  hs::TaskGroup failing(rt);
  hs::TaskGroup other(rt);

  rt.spawn(hs::in(failing))([] { fail("in group"); });
  rt.spawn(hs::in(other))([] {});

  CHECK(message_of([&] { rt.sync(other); }).empty());
  CHECK(message_of([&] { rt.sync(); }).empty());
  CHECK(message_of([&] { rt.sync(failing); }) == "in group");
  CHECK(message_of([&] { rt.sync(failing); }).empty());
}

TEST_CASE("exceptions: of a group that nobody syncs on, sync's after the group is gone") {
  hs::Runtime<> rt(on_cpus(2));
  {
    hs::TaskGroup group(rt);
    rt.spawn(hs::in(group))([] { fail("in group"); });
  }

  CHECK(message_of([&] { rt.sync(); }) == "in group");
}

TEST_CASE("exceptions: sync(handle) throws for the datum concerned and leaves the rest") {
  hs::Runtime<> rt(on_cpus(2));
  int a = 0, b = 0, c = 0;
  auto const ha = rt.data(a), hb = rt.data(b), hc = rt.data(c);

  rt.spawn()([](int&) { fail("of a"); }, hs::write(ha));
  rt.spawn()([](int const&, int& v) { v = 1; }, hs::read(ha), hs::write(hb));
  rt.spawn()([](int& v) { v = 1; }, hs::write(hc));

  CHECK(message_of([&] { rt.sync(hc); }).empty());
  CHECK(c == 1);
  CHECK(message_of([&] { rt.sync(ha); }) == "of a");
  CHECK(message_of([&] { rt.sync(hb); }) == "of a"); // cancelled because of it
  CHECK(message_of([&] { rt.sync(); }) == "of a");
  CHECK(message_of([&] { rt.sync(ha); }).empty());
}

TEST_CASE("exceptions: sync(handle) throws, too, when a group has the exception") {
  hs::Runtime<> rt(on_cpus(2));
  int a = 0;
  auto const ha = rt.data(a);
  hs::TaskGroup group(rt);

  rt.spawn(hs::in(group))([](int&) { fail("in group"); }, hs::write(ha));
  CHECK(message_of([&] { rt.sync(group); }) == "in group");

  CHECK(support::code_of([&] { rt.sync(ha); }) == hs::ErrorCode::cancelled);
  CHECK(message_of([&] { rt.sync(); }).empty());
  CHECK(message_of([&] { rt.sync(ha); }).empty()); // sync() made it usable
}

TEST_CASE_TEMPLATE("exceptions: in a contribution, no contribution of the series arrives",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int sum = 100, seen = -1;
  auto const hsum = rt.data(sum), hseen = rt.data(seen);
  for (int k = 0; k < 10; ++k) {
    rt.spawn()(
        [](int& mine, int number) {
          mine += number;
          if (number == 5) {
            fail("five");
          }
        },
        hs::reduce<hs::Sum<int>>(hsum),
        k);
  }
  rt.spawn()(copy, hs::read(hsum), hs::write(hseen));

  CHECK(message_of([&] { rt.sync(); }) == "five");
  CHECK(sum == 100);
  CHECK(seen == -1);

  rt.spawn()([](int& mine) { mine += 1; }, hs::reduce<hs::Sum<int>>(hsum));
  CHECK(message_of([&] { rt.sync(); }).empty());
  CHECK(sum == 101);
}

TEST_CASE_TEMPLATE("exceptions: in a commuting task, what comes after the series is cancelled",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int count = 0, seen = -1;
  auto const hcount = rt.data(count), hseen = rt.data(seen);
  for (int k = 0; k < 10; ++k) {
    rt.spawn()(
        [](int& v, int number) {
          ++v;
          if (number == 9) {
            fail("nine");
          }
        },
        hs::commute(hcount),
        k);
  }
  rt.spawn()(copy, hs::read(hcount), hs::write(hseen));

  CHECK(message_of([&] { rt.sync(); }) == "nine");
  CHECK(count == 10); // the token was given back, whatever happened
  CHECK(seen == -1);
}

TEST_CASE_TEMPLATE("exceptions: in the run of a captured graph, run throws and may be repeated",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int a = 0, b = 0;
  bool bad = true;
  auto const ha = rt.data(a), hb = rt.data(b);
  auto const graph = rt.capture([&] {
    rt.spawn()(
        [&bad](int& v) {
          if (bad) {
            fail("captured");
          }
          ++v;
        },
        hs::read_write(ha));
    rt.spawn()(copy, hs::read(ha), hs::write(hb));
  });

  CHECK(message_of([&] { rt.run(graph); }) == "captured");
  CHECK(b == 0);
  bad = false;
  CHECK(message_of([&] { rt.run(graph); }).empty());
  CHECK(b == 1);
}

TEST_CASE("exceptions: by-value arguments of failed and cancelled tasks are destroyed") {
  auto const counted = std::make_shared<int>(0);
  {
    hs::Runtime<> rt(on_cpus(2));
    int a = 0;
    auto const ha = rt.data(a);
    rt.spawn()([](int&, std::shared_ptr<int> const&) { fail("one"); }, hs::write(ha), counted);
    rt.spawn()([](int const&, std::shared_ptr<int> const&) {}, hs::read(ha), counted);
    CHECK_THROWS(rt.sync());
    CHECK(counted.use_count() == 1);
  }
}

TEST_CASE_TEMPLATE("exceptions: for lack of memory in a scheduler's push, no task is lost",
                   Scheduler,
                   Refusing,
                   RefusingSome) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int a = 0;
  std::atomic<int> ran{0};
  auto const ha = rt.data(a);
  for (int round = 0; round < 5; ++round) {
    rt.spawn()([](int& x) { ++x; }, hs::read_write(ha));
    for (int k = 0; k < 20; ++k) {
      rt.spawn()([&ran](int const&) { ++ran; }, hs::read(ha));
    }
    rt.spawn()([&ran] { ++ran; });
  }
  rt.sync();
  CHECK(a == 5);
  CHECK(ran == 105);
}

#if HETSCHED_CHECK_POLICIES == 0 // with checks the program ends
TEST_CASE("exceptions: in a scheduler's push, the sync throws the first one") {
  hs::Runtime<Failing> rt(on_cpus(2));
  std::atomic<int> ran{0};
  for (int k = 0; k < 3; ++k) {
    rt.spawn()([&ran] { ++ran; });
  }
  CHECK(message_of([&] { rt.sync(); }) == "no such task");
  CHECK(ran == 3);
  rt.sync();
}
#endif

TEST_SUITE_END();

} // namespace exceptions_test
