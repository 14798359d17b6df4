// SPDX-License-Identifier: MIT
// Data in memory of the runtime's own, whose handles go before the tasks on them.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::contains;
using support::Gate;
using support::message_of;
using support::on_cpus;

namespace temporary_test {

using Vector = hs::VectorView<int>;
using ConstVector = hs::VectorView<int const>;
using Tile = hs::TileView<int>;

void fill(Vector v, int value) {
  std::fill(v.begin(), v.end(), value);
}

void add_one(ConstVector from, Vector to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = from[i] + 1;
  }
}

void sum_up(ConstVector v, int& sum) {
  sum = std::accumulate(v.begin(), v.end(), 0);
}

void count(Vector v) {
  for (auto& element : v) {
    ++element;
  }
}

struct Product {
  static constexpr int neutral() { return 1; }

  static constexpr int combine(int a, int b) { return a * b; }
};

TEST_SUITE_BEGIN("temporary");

TEST_CASE("temporary: its handle goes before its tasks run, and nobody waits") {
  for (int const cpus : {1, 2}) {
    hs::Runtime<> rt(on_cpus(cpus));
    int sum = 0;
    auto const out = rt.data(sum);
    Gate gate;
    bool passed = false;
    {
      auto const v = rt.temporary<int>(100);
      CHECK(v.rows() == 100);
      rt.spawn()(
          [&](Vector it) {
            passed = gate.pass();
            fill(it, 3);
          },
          hs::write(v));
      rt.spawn()(sum_up, hs::read(v), hs::write(out));
    }
    gate.open();
    rt.sync();
    CHECK(passed);
    CHECK(sum == 300);
  }
}

TEST_CASE("temporary: one element, and a matrix") {
  hs::Runtime<> rt(on_cpus(2));
  int result = 0;
  auto const out = rt.data(result);
  {
    auto const one = rt.temporary<int>();
    auto const matrix = rt.temporary<int>(3, 4);
    CHECK(matrix.cols() == 4);
    rt.spawn()([](int& it) { it = 5; }, hs::write(one));
    rt.spawn()(
        [](int const& factor, Tile it) {
          for (std::size_t j = 0; j < it.cols(); ++j) {
            for (std::size_t i = 0; i < it.rows(); ++i) {
              it(i, j) = factor * static_cast<int>(i + 10 * j);
            }
          }
        },
        hs::read(one),
        hs::write(matrix));
    rt.spawn()([](hs::TileView<int const> it, int& to) { to = it(2, 3); },
               hs::read(matrix),
               hs::write(out));
  }
  rt.sync();
  CHECK(result == 160);
}

TEST_CASE("temporary: without a value it can only be written") {
  hs::Runtime<> rt(on_cpus(1));
  auto v = rt.temporary<int>(4);
  v.named("scratch");
  int sum = 0;
  auto const out = rt.data(sum);
  CHECK(message_of([&] { rt.spawn()(sum_up, hs::read(v), hs::write(out)); }) ==
        "hetsched: data 'scratch': is temporary and has no value: the first task on it must write "
        "it, and this one's mode is R");
  CHECK(contains(message_of([&] { rt.spawn()(count, hs::read_write(v)); }), "mode is RW"));
  CHECK(contains(message_of([&] { rt.spawn()(count, hs::commute(v)); }), "mode is Commute"));
  rt.spawn()(fill, hs::write(v), 7);
  rt.spawn()(count, hs::read_write(v));
  rt.spawn()(sum_up, hs::read(v), hs::write(out));
  rt.sync();
  CHECK(sum == 32);
}

TEST_CASE("temporary: the first contributions find neutral elements") {
  hs::Runtime<> rt(on_cpus(2));
  int product = 0;
  int sum = 0;
  auto const out = rt.data(product);
  auto const out_sum = rt.data(sum);
  for (int round = 0; round < 3; ++round) { // memory that was used
    auto const one = rt.temporary<int>();
    auto const other = rt.temporary<int>(1000);
    for (int k = 1; k <= 5; ++k) {
      rt.spawn()([](int& into, int factor) { into *= factor; }, hs::reduce<Product>(one), k);
      rt.spawn()([](Vector into) { ++into[999]; }, hs::reduce<hs::Sum<int>>(other));
    }
    rt.spawn()([](int const& from, int& to) { to = from; }, hs::read(one), hs::write(out));
    rt.spawn()([](ConstVector from, int& to) { to = from[0] + from[999]; },
               hs::read(other),
               hs::write(out_sum));
  }
  rt.sync();
  CHECK(product == 120);
  CHECK(sum == 5);
}

TEST_CASE("temporary: contributions that nobody reads are no error") {
  hs::Runtime<> rt(on_cpus(2));
  for (int k = 0; k < 20; ++k) {
    auto const v = rt.temporary<int>(10);
    rt.spawn()(count, hs::reduce<hs::Sum<int>>(v));
  }
  CHECK_NOTHROW(rt.sync());
}

TEST_CASE("temporary: in parts, written and read as such and as a whole") {
  hs::Runtime<> rt(on_cpus(2));
  int sum = 0;
  auto const out = rt.data(sum);
  {
    auto const v = rt.temporary<int>(100);
    auto parts = rt.partition(v, hs::block_rows(30));
    CHECK(
        contains(message_of([&] { rt.spawn()(count, hs::read_write(parts[1])); }), "has no value"));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      rt.spawn()(fill, hs::write(parts[k]), static_cast<int>(k));
    }
    rt.join(parts);
    rt.spawn()(sum_up, hs::read(v), hs::write(out));
    auto again = rt.partition(v, hs::block_rows(50));
    rt.spawn()(count, hs::read_write(again[0])); // goes with its parts, not joined
  }
  rt.sync();
  CHECK(sum == 30 * 0 + 30 * 1 + 30 * 2 + 10 * 3);
}

TEST_CASE("temporary: of a body, which ends before its children") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> sums(50);
  auto const out = rt.data(sums);
  rt.spawn()(
      [](hs::Runtime<>& inner, hs::Handle<Vector> all) {
        auto const cells = inner.partition(all, hs::block_rows(1));
        for (std::size_t k = 0; k < cells.size(); ++k) {
          auto const v = inner.temporary<int>(64);
          auto const next = inner.temporary<int>(64);
          inner.spawn()(fill, hs::write(v), static_cast<int>(k));
          inner.spawn()(add_one, hs::read(v), hs::write(next));
          inner.spawn()([](ConstVector from, Vector to) { to[0] = from[63]; },
                        hs::read(next),
                        hs::write(cells[k]));
        }
      },
      hs::write(out));
  rt.sync();
  std::vector<int> expected(50);
  std::iota(expected.begin(), expected.end(), 1);
  CHECK(sums == expected);
}

TEST_CASE("temporary: a body that gets the only handle left spawns on it, and may keep it") {
  hs::Runtime<> rt(on_cpus(2));
  int sum = 0;
  auto const out = rt.data(sum);
  std::optional<hs::Handle<Vector>> kept;
  {
    auto const v = rt.temporary<int>(10);
    rt.spawn()(
        [](hs::Runtime<>& inner, hs::Handle<Vector> it) { inner.spawn()(fill, hs::write(it), 4); },
        hs::write(v));
    rt.spawn()([&kept](hs::Runtime<>& /*rt*/, hs::Handle<Vector> it) { kept = it; },
               hs::read_write(v));
  }
  rt.sync();
  REQUIRE(kept);
  rt.spawn()(sum_up, hs::read(*kept), hs::write(out));
  kept.reset();
  rt.sync();
  CHECK(sum == 40);
}

TEST_CASE("temporary: behind one that failed, tasks are cancelled and the next ones run") {
  hs::Runtime<> rt(on_cpus(2));
  int sum = -1;
  auto const out = rt.data(sum);
  {
    auto const v = rt.temporary<int>(10);
    rt.spawn()([](Vector) { throw std::runtime_error("no value"); }, hs::write(v));
    rt.spawn()(sum_up, hs::read(v), hs::write(out));
  }
  CHECK(message_of([&] { rt.sync(); }) == "no value");
  CHECK(sum == -1);
  {
    auto const v = rt.temporary<int>(10);
    rt.spawn()(fill, hs::write(v), 1);
    rt.spawn()(sum_up, hs::read(v), hs::write(out));
  }
  rt.sync();
  CHECK(sum == 10);
}

TEST_CASE("temporary: handles outlive the runtime, and go in any thread") {
  hs::Handle<Vector> kept;
  {
    hs::Runtime<> rt(on_cpus(2));
    kept = rt.temporary<int>(10);
    rt.spawn()(fill, hs::write(kept), 1);
    for (int k = 0; k < 100; ++k) {
      auto v = rt.temporary<int>(10);
      rt.spawn()(fill, hs::write(v), 1);
      rt.spawn()([held = v] { static_cast<void>(held); }); // its handle goes with the task
    }
  }
  CHECK(kept.rows() == 10);
}

TEST_CASE("temporary: not in a capture, and memory in it is known") {
  hs::Runtime<> rt(on_cpus(1));
  CHECK(contains(message_of([&] { (void)rt.capture([&] { (void)rt.temporary<int>(1); }); }),
                 "not allowed inside"));
  auto const v = rt.temporary<int>(10);
  std::string said;
  rt.spawn()([&said](hs::Runtime<>& inner,
                     Vector it) { said = message_of([&] { (void)inner.data(it.data() + 3, 2); }); },
             hs::write(v));
  rt.sync();
  CHECK(contains(said, "overlaps temporary at"));
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

/// What the kernel says of this process's memory, in kB: "VmRSS" or "VmHWM", the most so far.
long memory_kb(char const* what) {
  long kb = -1;
  if (auto* const file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, what, std::strlen(what)) == 0) {
        kb = std::strtol(line + std::strlen(what) + 1, nullptr, 10);
      }
    }
    std::fclose(file);
  }
  return kb;
}

bool forget_peak() {
  auto* const file = std::fopen("/proc/self/clear_refs", "w");
  bool const done = file != nullptr && std::fputs("5", file) >= 0;
  return file != nullptr && std::fclose(file) == 0 && done;
}

TEST_CASE("temporary: memory is bounded by what has a value, not by what was spawned") {
  if (sanitized || !forget_peak()) {
    MESSAGE("skipped: memory cannot be measured here");
    return;
  }
  constexpr std::size_t elements = 1 << 18; // 1 MiB
  constexpr int length = 300;
  hs::Runtime<> rt(on_cpus(2));
  int sum = 0;
  auto const out = rt.data(sum);
  Gate gate;
  auto const before = memory_kb("VmRSS");
  {
    auto last = rt.temporary<int>(elements);
    rt.spawn()(
        [&gate](Vector it) {
          static_cast<void>(gate.pass());
          fill(it, 0);
        },
        hs::write(last));
    for (int k = 1; k < length; ++k) {
      auto const next = rt.temporary<int>(elements);
      rt.spawn()(add_one, hs::read(last), hs::write(next));
      last = next;
    }
    rt.spawn()(
        [](ConstVector it, int& to) { to = it[elements - 1]; }, hs::read(last), hs::write(out));
  }
  gate.open();
  rt.sync();
  CHECK(sum == length - 1);
  CHECK(memory_kb("VmHWM") - before < 20 * 1024); // of 300 MiB; 2 have a value at a time
}

TEST_SUITE_END();

} // namespace temporary_test
