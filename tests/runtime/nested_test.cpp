// SPDX-License-Identifier: MIT
// Tasks that spawn.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::on_cpus;

namespace nested_test {

using Longs = hs::VectorView<long>;

/// Sums a vector by halves; the sums of the halves live on its stack.
struct SumOf : hs::Task<2>::Signature<hs::R<Longs>, hs::W<long>> {};

/// Adds one to all elements by halves; nothing is waited for.
struct AddOne : hs::Task<1>::Signature<hs::RW<Longs>> {};

struct Increment {
  void operator()(long& x) const { ++x; }
};

struct Copy {
  void operator()(long const& from, long& to) const { to = from; }
};

} // namespace nested_test

template <>
struct hetsched::TaskBodyCPU<nested_test::SumOf> {
  template <class Rt>
  void operator()(Rt& rt, Handle<nested_test::Longs> const& v, long& sum) const {
    if (v.rows() == 1) {
      long only = 0; // the child may not write the parent's datum
      rt.spawn()([&only](VectorView<long const> one) { only = one[0]; }, read(v));
      rt.sync();
      sum = only;
      return;
    }
    long left = 0, right = 0;
    auto const hleft = rt.data(left), hright = rt.data(right);
    auto const halves = rt.partition(v, block_rows((v.rows() + 1) / 2));
    rt.template spawn<nested_test::SumOf>()(halves[0], hleft);
    rt.template spawn<nested_test::SumOf>()(halves[1], hright);
    rt.sync();
    sum = left + right;
  }
};

template <>
struct hetsched::TaskBodyCPU<nested_test::AddOne> {
  template <class Rt>
  void operator()(Rt& rt, Handle<nested_test::Longs> const& v) const {
    if (v.rows() <= 8) {
      rt.spawn()(
          [](nested_test::Longs all) {
            for (auto& element : all) {
              ++element;
            }
          },
          read_write(v));
      return;
    }
    auto const halves = rt.partition(v, block_rows((v.rows() + 1) / 2));
    rt.template spawn<nested_test::AddOne>()(halves[0]);
    rt.template spawn<nested_test::AddOne>()(halves[1]);
  }
};

namespace nested_test {

TEST_SUITE_BEGIN("nested");

TEST_CASE_TEMPLATE("nested: recursion with sync gives the sum, under any limit on live tasks",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const cpus : {1, 2, 4}) {
    for (std::uint64_t const max_live : {0, 1, 5}) {
      CAPTURE(cpus);
      CAPTURE(max_live);
      auto config = on_cpus(cpus);
      config.max_live_tasks = max_live;
      hs::Runtime<Scheduler> rt(config);
      std::vector<long> v(33);
      std::iota(v.begin(), v.end(), 0);
      std::vector<long> sums(4);
      auto const hv = rt.data(v);
      std::vector<hs::Handle<long>> hsums;
      for (auto& sum : sums) {
        hsums.push_back(rt.data(sum));
        rt.template spawn<SumOf>()(hv, hsums.back());
      }
      rt.sync();
      REQUIRE(sums == std::vector<long>(4, 32 * 33 / 2));
    }
  }
}

TEST_CASE_TEMPLATE("nested: a parent is complete, for others, when its descendants are",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(3));
  std::vector<long> v(100, 0);
  auto const hv = rt.data(v);
  for (int round = 1; round <= 20; ++round) {
    long seen = -1;
    auto const hseen = rt.data(seen);
    rt.template spawn<AddOne>()(hv);
    rt.spawn()([](hs::VectorView<long const> all,
                  long& sum) { sum = std::accumulate(all.begin(), all.end(), 0L); },
               hs::read(hv),
               hs::write(hseen));
    rt.sync(hseen);
    REQUIRE(seen == 100 * round);
  }
}

TEST_CASE("nested: siblings keep the order of their data; others' children interleave") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(3));
  std::vector<long> numbers(10, 0);
  std::vector<hs::Handle<long>> handles;
  for (auto& number : numbers) {
    handles.push_back(rt.data(number));
    rt.spawn()(
        [](Rt& inner, hs::Handle<long> const& mine) {
          for (int digit = 1; digit <= 9; ++digit) {
            inner.spawn()([](long& n, int d) { n = n * 10 + d; }, hs::read_write(mine), digit);
          }
        },
        hs::write(handles.back()));
  }
  rt.sync();
  CHECK(numbers == std::vector<long>(10, 123456789));
}

TEST_CASE("nested: sync waits for the children of the calling task only") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  support::Gate gate;
  std::atomic<bool> started{false};
  bool passed = false;
  long children = -1;

  rt.spawn()([&] {
    started = true;
    passed = gate.pass();
  });
  REQUIRE(support::eventually([&] { return started.load(); })); // occupies the other worker
  rt.spawn()([&](Rt& inner) {
    std::atomic<long> count{0};
    for (int k = 0; k < 10; ++k) {
      inner.spawn()([&count] { ++count; });
    }
    inner.sync();
    children = count;
    gate.open();
  });
  rt.sync();
  CHECK(children == 10);
  CHECK(passed);
}

TEST_CASE("nested: sync(handle) in a body waits for the children on that datum") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  long x = 1, y = 1, at_sync = 0;
  auto const hx = rt.data(x), hy = rt.data(y);

  rt.spawn()(
      [&](Rt& inner, hs::Handle<long> const& mine, hs::Handle<long> const& other) {
        inner.spawn()(Increment{}, hs::read_write(mine));
        inner.spawn()(Increment{}, hs::read_write(mine));
        inner.spawn()(Increment{}, hs::read_write(other));
        inner.sync(mine);
        at_sync = x;
      },
      hs::read_write(hx),
      hs::read_write(hy));
  rt.sync();
  CHECK(at_sync == 3);
  CHECK(y == 2);
}

TEST_CASE("nested: a child uses what its parent declared, in no stronger mode, and local data") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  long declared = 1, foreign = 1;
  auto const hdeclared = rt.data(declared);
  auto hforeign = rt.data(foreign);
  hforeign.named("foreign");
  std::optional<hs::Error> stronger, undeclared;
  std::optional<hs::ErrorCode> contributing;
  long local_result = 0;

  rt.spawn()(
      [&](Rt& inner, hs::Handle<long> const& mine) {
        stronger = error_of([&] { inner.spawn()(Increment{}, hs::read_write(mine)); });
        contributing =
            code_of([&] { inner.spawn()(Increment{}, hs::reduce<hs::Sum<long>>(mine)); });
        undeclared = error_of([&] { inner.spawn()(Increment{}, hs::read_write(hforeign)); });
        long local = 0;
        auto const hlocal = inner.data(local);
        inner.spawn()(Copy{}, hs::read(mine), hs::write(hlocal));
        inner.spawn()(Increment{}, hs::read_write(hlocal));
        inner.sync();
        local_result = local;
      },
      hs::read(hdeclared));
  rt.sync();

  REQUIRE(stronger);
  CHECK(stronger->code() == hs::ErrorCode::bad_access);
  CHECK(std::string(stronger->what()).find("wants mode RW, but the parent declared R") !=
        std::string::npos);
  CHECK(contributing == hs::ErrorCode::bad_access);
  REQUIRE(undeclared);
  CHECK(undeclared->code() == hs::ErrorCode::bad_access);
  CHECK(undeclared->culprit() == "data 'foreign'");
  CHECK(local_result == 2);
  CHECK(declared == 1);
  CHECK(foreign == 1);
}

TEST_CASE("nested: parts of what a parent only reads may only be read") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  std::vector<long> v(4, 1);
  std::optional<hs::ErrorCode> code;
  auto const hv = rt.data(v);
  rt.spawn()(
      [&](Rt& inner, hs::Handle<Longs> const& mine) {
        auto const parts = inner.partition(mine, hs::block_rows(2));
        code = code_of([&] { inner.spawn()([](Longs) {}, hs::read_write(parts[0])); });
        inner.spawn()([](hs::VectorView<long const>) {}, hs::read(parts[0]));
      },
      hs::read(hv));
  rt.sync();
  CHECK(code == hs::ErrorCode::bad_access);
  CHECK(rt.stats().executed == 2);
}

TEST_CASE_TEMPLATE("nested: children of a contributing parent contribute, with the same operator",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  Rt rt(on_cpus(3));
  long sum = 1000;
  std::atomic<int> refused{0};
  auto const hsum = rt.data(sum);
  for (int k = 0; k < 5; ++k) {
    rt.spawn()(
        [&refused](Rt& inner, hs::Handle<long> const& mine) {
          for (int child = 0; child < 10; ++child) {
            inner.spawn()(Increment{}, hs::reduce<hs::Sum<long>>(mine));
          }
          refused += code_of([&] { inner.spawn()(Increment{}, hs::read_write(mine)); }) ? 1 : 0;
        },
        hs::reduce<hs::Sum<long>>(hsum));
  }
  rt.sync();
  CHECK(sum == 1050);
  CHECK(refused == 5);
}

TEST_CASE("nested: what a body registered is no business of tasks outside it") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(1));
  static long local;
  hs::Handle<long> escaped;
  rt.spawn()([&](Rt& inner) {
    escaped = inner.data(local);
    inner.spawn()(Increment{}, hs::write(escaped));
  });
  rt.sync();
  auto const error = error_of([&] { rt.spawn()(Increment{}, hs::write(escaped)); });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_access);
  CHECK(std::string(error->what()).find("registered inside a task") != std::string::npos);
}

TEST_CASE("nested: commuting parents exclude each other for all of their children") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(4));
  long count = 0;
  auto const hcount = rt.data(count);
  for (int k = 0; k < 50; ++k) {
    rt.spawn()(
        [](Rt& inner, hs::Handle<long> const& mine) {
          inner.spawn()(Increment{}, hs::commute(mine));
          inner.spawn()(Increment{}, hs::commute(mine));
        },
        hs::commute(hcount));
  }
  rt.sync();
  CHECK(count == 100);
}

TEST_CASE("nested: the runtime may come before values and views in any task type") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  long x = 0;
  Rt* seen = nullptr;
  auto const hx = rt.data(x);
  rt.spawn()(
      [&seen](Rt& inner, long& v, int value) {
        seen = &inner;
        v = value;
      },
      hs::write(hx),
      5);
  rt.sync();
  CHECK(seen == &rt);
  CHECK(x == 5);
}

TEST_SUITE_END();

} // namespace nested_test
