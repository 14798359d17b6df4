// SPDX-License-Identifier: MIT
// The ends of runtimes and handles, several runtimes, and fork.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::message_of;
using support::on_cpus;

namespace lifetime_test {

#if defined(__SANITIZE_THREAD__)
constexpr bool can_start_threads_after_fork = false; // ThreadSanitizer ends such a process
#else
constexpr bool can_start_threads_after_fork = true;
#endif

using Vector = hs::VectorView<int>;

/// Takes long enough that whoever does not wait is ahead.
struct SlowFill {
  void operator()(Vector v, int value) const {
    for (auto& element : v) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      element = value;
    }
  }
};

TEST_SUITE_BEGIN("lifetime");

TEST_CASE_TEMPLATE("lifetime: a runtime destroyed without sync has run everything",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const cpus : {1, 3}) {
    std::atomic<int> ran{0};
    int sum = 0;
    hs::Handle<int> hsum;
    {
      using Rt = hs::Runtime<Scheduler>;
      Rt rt(on_cpus(cpus));
      hsum = rt.data(sum);
      for (int k = 0; k < 20; ++k) {
        rt.spawn()([&ran](Rt& inner) { inner.spawn()([&ran] { ++ran; }); });
        rt.spawn()([](int& mine) { ++mine; }, hs::reduce<hs::Sum<int>>(hsum));
      }
    }
    CHECK(ran == 20);
    CHECK(sum == 20); // merged
  }
}

TEST_CASE("lifetime: a runtime that did nothing ends") {
  for (int k = 0; k < 20; ++k) {
    hs::Runtime<> const rt(on_cpus(3));
  }
}

TEST_CASE("lifetime: Runtime({}) and Runtime{{}} have the settings of Runtime()") {
  hs::Runtime<> defaults;
  hs::Runtime<> rt({});
  hs::Runtime<> braces{{}};
  CHECK(rt.workers().size() == defaults.workers().size());
  CHECK(braces.workers().size() == defaults.workers().size());
  hs::Runtime<> one({.cpus = 1, .devices = "none"});
  CHECK(one.workers().size() == 1);
}

TEST_CASE("lifetime: a failure nobody asked for is told on stderr in one line") {
  auto const child = support::run_in_child([] {
    hs::Runtime<> rt(on_cpus(1));
    int x = 0;
    auto const hx = rt.data(x);
    rt.spawn(hs::label("first"))([](int&) { throw std::runtime_error("nobody asked"); },
                                 hs::write(hx));
    rt.spawn()([](int&) { throw std::runtime_error("not the first"); }, hs::write(hx));
    return 0;
  });
  CHECK(child.exit_code == 0);
  CHECK(child.errors == "hetsched: task 'first' failed and no sync asked: nobody asked\n");

  auto const silent = support::run_in_child([] {
    hs::Runtime<> rt(on_cpus(1));
    rt.spawn()([] { throw std::runtime_error("asked"); });
    (void)message_of([&] { rt.sync(); });
    return 0;
  });
  CHECK(silent.exit_code == 0);
  CHECK(silent.errors.empty());
}

TEST_CASE("lifetime: a group may outlive its runtime, and its failure is then told on stderr") {
  auto const child = support::run_in_child([] {
    std::optional<hs::TaskGroup> group;
    std::atomic<int> ran{0};
    {
      hs::Runtime<> rt(on_cpus(2));
      group.emplace(rt);
      for (int k = 0; k < 10; ++k) {
        rt.spawn(hs::in(*group))([&] { ++ran; });
      }
      rt.spawn(hs::in(*group), hs::label("last"))([] { throw std::runtime_error("of the group"); });
    }
    return ran == 10 ? 0 : 1;
  });
  CHECK(child.exit_code == 0);
  CHECK(child.errors == "hetsched: task 'last' failed and no sync asked: of the group\n");
}

TEST_CASE("lifetime: the last handle waits for the tasks, and the next sync reports it") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(5);
  {
    auto hv = rt.data(v);
    hv.named("local");
    rt.spawn()(SlowFill{}, hs::write(hv), 7);
  }
  CHECK(v == std::vector<int>(5, 7));
  auto const error = error_of([&] { rt.sync(); });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::data_in_use);
  CHECK(error->culprit() == "data 'local'");
  CHECK_NOTHROW(rt.sync());
  CHECK_NOTHROW((void)rt.data(v));
}

TEST_CASE("lifetime: contributions to data whose last handle goes are merged first") {
  hs::Runtime<> rt(on_cpus(2));
  int sum = 0;
  for (int k = 0; k < 2; ++k) {
    auto const hsum = rt.data(sum);
    rt.spawn()([](int& mine) { mine += 5; }, hs::reduce<hs::Sum<int>>(hsum));
  }
  CHECK(sum == 10);
  CHECK(code_of([&] { rt.sync(); }) == hs::ErrorCode::data_in_use);
}

TEST_CASE("lifetime: the last handle waits, too, while bodies have handles of the datum") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  int x = 0;
  rt.spawn()(
      [](Rt& inner, hs::Handle<int> const& mine) {
        inner.spawn()([](int& v) { v = 1; }, hs::write(mine));
        auto const copy = mine;
        inner.spawn()([](int& v) { ++v; }, hs::read_write(copy));
      },
      hs::write(rt.data(x)));
  CHECK(x == 2);
  CHECK(code_of([&] { rt.sync(); }) == hs::ErrorCode::data_in_use);
}

/// Spawns a task on data that only its body has a handle of: `then(rt, handle)` is its end.
template <class Rt, class Data, class Then>
void spawn_with_last_handle(Rt& rt, Data& data, Then then) {
  struct Progress {
    std::atomic<bool> has_handle{false};
    support::Gate gate;
  };

  auto const progress = std::make_shared<Progress>();
  {
    auto const handle = rt.data(data);
    rt.spawn()(
        [progress, then](Rt& inner, std::remove_const_t<decltype(handle)> mine) {
          progress->has_handle = true;
          (void)progress->gate.pass();
          then(inner, std::move(mine));
        },
        hs::read_write(handle));
    REQUIRE(support::eventually([&] { return progress->has_handle.load(); }));
  }
  progress->gate.open();
}

TEST_CASE("lifetime: a last handle that goes in the body that uses the datum waits for no end") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  for (bool const in_child : {false, true}) {
    std::vector<int> v(4, 1);
    spawn_with_last_handle(rt, v, [in_child](Rt& inner, hs::Handle<Vector> mine) {
      auto const parts = inner.partition(mine, hs::block_rows(2));
      inner.spawn()([](Vector part) { part[0] = 2; }, hs::write(parts[0]));
      if (in_child) {
        inner.spawn()([last = std::move(mine)] {});
        inner.sync();
      }
    });
    CHECK(code_of([&] { rt.sync(); }) == hs::ErrorCode::data_in_use);
    CHECK(v == std::vector<int>{2, 1, 1, 1});
    CHECK_NOTHROW((void)rt.data(v));
    CHECK_NOTHROW(rt.sync());
  }
}

TEST_CASE("lifetime: a datum whose last handle went in a body is registered anew") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  int x = 0;
  for (unsigned round = 0; round < 3; ++round) {
    spawn_with_last_handle(rt, x, [](Rt& inner, hs::Handle<int> mine) {
      inner.spawn()([](int& value) { ++value; }, hs::read_write(mine));
    });
    REQUIRE(support::eventually([&] { return rt.stats().executed >= 2 * round + 1; }));
    // Nothing but the program's next registration ends the old one, which waits for the child.
  }
  CHECK_NOTHROW((void)rt.data(x));
  CHECK(x == 3);
  CHECK(code_of([&] { rt.sync(); }) == hs::ErrorCode::data_in_use);
}

TEST_CASE("lifetime: the last handle waits, too, for a join and what comes after it") {
  hs::Runtime<> rt(on_cpus(2));
  for (int round = 0; round < 10; ++round) {
    std::vector<int> v(4);
    {
      auto const hv = rt.data(v);
      auto parts = rt.partition(hv, hs::block_rows(2));
      rt.spawn()(SlowFill{}, hs::write(parts[0]), 1);
      rt.spawn()(SlowFill{}, hs::write(parts[1]), 2);
      rt.join(parts);
      rt.spawn()([](Vector all) { ++all[0]; }, hs::read_write(hv));
    }
    CHECK(v == std::vector<int>{2, 1, 2, 2});
    CHECK(code_of([&] { rt.sync(); }) == hs::ErrorCode::data_in_use);
    CHECK_NOTHROW((void)rt.data(v));
  }
}

TEST_CASE("lifetime: a partition keeps its whole registered") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4);
  {
    auto const parts = rt.partition(rt.data(v), hs::block_rows(2));
    CHECK(code_of([&] { (void)rt.data(v); }) == hs::ErrorCode::bad_data);
    rt.spawn()(SlowFill{}, hs::write(parts[1]), 2);
    rt.sync();
  }
  CHECK(v == std::vector<int>{0, 0, 2, 2});
  CHECK_NOTHROW(rt.sync());
  CHECK_NOTHROW((void)rt.data(v));
}

TEST_CASE("lifetime: partitions may outlive their runtime, joined or not") {
  std::vector<int> v(8);
  hs::Partition<hs::VectorView<int>> open;
  hs::Partition<hs::VectorView<int>> joined;
  {
    hs::Runtime<> rt(on_cpus(2));
    open = rt.partition(rt.data(v.data(), 4), hs::block_rows(2));
    joined = rt.partition(rt.data(v.data() + 4, 4), hs::block_rows(2));
    rt.spawn()(SlowFill{}, hs::write(open[1]), 2);
    rt.spawn()(SlowFill{}, hs::write(joined[0]), 3);
    rt.join(joined);
  }
  CHECK(v == std::vector<int>{0, 0, 2, 2, 3, 3, 0, 0});
}

TEST_CASE_TEMPLATE("lifetime: two runtimes side by side, one used in bodies of the other",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> outer(on_cpus(2));
  hs::Runtime<> inner(on_cpus(2));
  std::vector<int> results(10);
  auto const hresults = outer.data(results);
  auto parts = outer.partition(hresults, hs::block_rows(1));
  for (std::size_t k = 0; k < results.size(); ++k) {
    outer.spawn()(
        [&inner](Vector mine, int number) {
          int sum = 0;
          auto const hsum = inner.data(sum);
          for (int n = 1; n <= number; ++n) {
            inner.spawn()([n](int& v) { v += n; }, hs::reduce<hs::Sum<int>>(hsum));
          }
          inner.sync(hsum);
          mine[0] = sum;
        },
        hs::write(parts[k]),
        static_cast<int>(k));
  }
  outer.sync();
  CHECK(results == std::vector<int>{0, 1, 3, 6, 10, 15, 21, 28, 36, 45});
  CHECK(outer.stats().executed == 10);
  CHECK(inner.stats().executed == 45);
}

TEST_CASE("lifetime: a body may have a runtime of its own") {
  hs::Runtime<> rt(on_cpus(2));
  std::atomic<int> ran{0};
  for (int k = 0; k < 3; ++k) {
    rt.spawn()([&ran] {
      hs::Runtime<> own(on_cpus(2));
      for (int task = 0; task < 10; ++task) {
        own.spawn()([&ran] { ++ran; });
      }
    });
  }
  rt.sync();
  CHECK(ran == 30);
}

TEST_CASE("lifetime: after fork the parent's runtime refuses, and is destroyed without waiting") {
  auto rt = std::make_unique<hs::Runtime<>>(on_cpus(2));
  support::Gate gate;
  std::atomic<bool> started{false};
  int x = 0;
  std::vector<int> v(4);
  auto hx = std::make_unique<hs::Handle<int>>(rt->data(x));
  auto const hv = rt->data(v);
  auto parts = std::make_unique<hs::Partition<Vector>>(rt->partition(hv, hs::block_rows(2)));
  auto group = std::make_unique<hs::TaskGroup>(*rt);
  bool passed = false;
  rt->spawn(hs::in(*group))(
      [&](int&) {
        started = true;
        passed = gate.pass();
      },
      hs::write(*hx));
  REQUIRE(support::eventually([&] { return started.load(); }));

  auto const child = support::run_in_child([&] {
    auto const refused = [](auto&& call) {
      return code_of(call) == hs::ErrorCode::bad_call ? 0 : 1;
    };
    int wrong = 0;
    wrong += refused([&] { rt->spawn()([] {}); });
    wrong += refused([&] { rt->sync(); });
    wrong += refused([&] { rt->sync(*hx); });
    wrong += refused([&] { rt->sync(*group); });
    wrong += refused([&] { (void)rt->data(wrong); });
    wrong += refused([&] { (void)rt->capture([] {}); });
    group.reset(); // none of these waits for the task, which is the parent process's
    parts.reset();
    hx.reset();
    rt.reset();
    return wrong;
  });
  gate.open();
  CHECK(child.exit_code == 0);

  rt->sync(); // goes on in the parent process
  CHECK(passed);
}

TEST_CASE("lifetime: after fork new runtimes work") {
  if (!can_start_threads_after_fork) {
    MESSAGE("skipped: ThreadSanitizer cannot start threads after a fork");
    return;
  }
  hs::Runtime<> rt(on_cpus(2));
  auto const child = support::run_in_child([] {
    hs::Runtime<> fresh(on_cpus(2));
    std::atomic<int> ran{0};
    for (int k = 0; k < 100; ++k) {
      fresh.spawn()([&ran] { ++ran; });
    }
    fresh.sync();
    return ran == 100 ? 0 : 1;
  });
  CHECK(child.exit_code == 0);
  CHECK_NOTHROW(rt.sync());
}

TEST_SUITE_END();

} // namespace lifetime_test
