// SPDX-License-Identifier: MIT
// Each kind of violation is planted in a body, on the host: in data that fill pages, and in data
// that share them. access_on_devices_test.cpp has the same for kernels.
#include <hetsched/capture.hpp>
#include <hetsched/checking.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/runtime/coroutine.hpp>
#include <hetsched/runtime/team.hpp>

#include "../support/support.hpp"
#include "checked.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace access_test {

TEST_SUITE_BEGIN("checking/access");

using checked::check_told;
using checked::config;
using checked::in_a_page;
using checked::Layout;
using checked::Memory;
using checked::Reads;
using checked::told;
using checked::Vector;

/// What a body does that reads x and writes y; z is a datum that it did not declare.
using Deed = void (*)(Reads x, Vector y, double* z);

double volatile sink = 0;

void nothing(Reads x, Vector y, double* /*z*/) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = 2 * x[i];
  }
}

/// Behind the first page of data that do not begin with one.
constexpr std::size_t inside = 300;

std::size_t place(Reads x) {
  return x.size() > in_a_page ? inside : 5;
}

void writes_read(Reads x, Vector y, double* z) {
  nothing(x, y, z);
  const_cast<double&>(x[place(x)]) = 3.0; // NOLINT
}

void writes_read_the_same(Reads x, Vector y, double* z) {
  nothing(x, y, z);
  const_cast<double volatile&>(x[place(x)]) = x[place(x)]; // NOLINT
}

void reads_other(Reads x, Vector y, double* z) {
  nothing(x, y, z);
  sink = z[place(x)];
}

void writes_other(Reads x, Vector y, double* z) {
  nothing(x, y, z);
  z[place(x)] = 3.0;
}

void writes_other_the_same(Reads x, Vector y, double* z) {
  nothing(x, y, z);
  const_cast<double volatile&>(z[place(x)]) = 1.0;
}

struct Planted {
  Deed deed;
  bool page_faults; // only closed pages tell
  std::vector<std::string> words;
};

std::vector<Planted> const planted{
    {writes_read, false, {"task 'deed'", "column 0 of data argument 1", "R;"}},
    {writes_read_the_same, true, {"task 'deed'", "writes row", "of data argument 1", "declared R"}},
    {reads_other, true, {"task 'deed'", "reads row", "column 0 of data 'z'", "did not declare"}},
    {writes_other, false, {"task 'deed'", "writes row", "column 0 of data 'z'", "did not declare"}},
    {writes_other_the_same, true, {"task 'deed'", "writes row", "data 'z'", "did not declare"}},
};

TEST_CASE("access: a body on the host is told of what it did not declare") {
  for (auto const layout : {Layout::pages, Layout::shared, Layout::spread}) {
    CAPTURE(static_cast<int>(layout));
    Memory const memory(layout);
    hs::Runtime<> rt(config());
    auto const x = rt.data(memory[0], memory.length).named("x");
    auto const y = rt.data(memory[1], memory.length).named("y");
    auto const z = rt.data(memory[2], memory.length).named("z");
    auto const run = [&](Deed deed) {
      auto* const other = memory[2];
      std::fill_n(memory[0], memory.length, 1.0); // between two waits all is the program's
      std::fill_n(other, memory.length, 1.0);
      rt.spawn(hs::label("deed"))(
          [=](Reads a, Vector b) { deed(a, b, other); }, hs::read(x), hs::write(y));
      return told(rt);
    };
    CHECK(run(nothing) == "");
    for (auto const& [deed, page_faults, words] : planted) {
      if (layout == Layout::shared && page_faults) {
        CHECK(run(deed) == ""); // as the documentation says
      } else {
        check_told(run(deed), words);
      }
      CHECK(run(nothing) == "");
    }
  }
}

/// Strided parts of one matrix: columns of several lie in one page, or a column fills one.
TEST_CASE("access: a body on the host does not touch the neighbouring part") {
  for (std::size_t const rows : {2 * in_a_page, std::size_t{20}}) {
    CAPTURE(rows);
    std::unique_ptr<double, void (*)(void*)> const memory(
        static_cast<double*>(
            std::aligned_alloc(4096, rows * 8 * sizeof(double) / 4096 * 4096 + 4096)),
        &std::free);
    std::fill_n(memory.get(), rows * 8, 1.0);
    hs::Runtime<> rt(config());
    auto const parts =
        rt.partition(rt.data(memory.get(), rows, 8, rows).named("A"), hs::tiles(rows / 2, 4));
    using Tile = hs::TileView<double>;
    auto const run = [&](void (*body)(Tile)) {
      rt.spawn(hs::label("part"))(body, hs::read_write(parts(0, 0)));
      return told(rt);
    };
    CHECK(run([](Tile t) { t(0, 0) = t(t.rows() - 1, 3); }) == "");
    check_told(run([](Tile t) { t.data()[t.rows() + t.ld()] = 2.0; }),
               {"task 'part'", "writes row 0, column 1 of data at", "of data 'A'"});
    check_told(run([](Tile t) { t.data()[4 * t.ld() + 2] = 2.0; }),
               {"task 'part'", "writes row 2, column 0 of data at", "of data 'A'"});
    if (rows > in_a_page) {
      check_told(run([](Tile t) { sink = t.data()[t.rows()]; }),
                 {"task 'part'", "reads row 0, column 0 of data at", "of data 'A'"});
      check_told(run([](Tile t) { sink = t.data()[4 * t.ld() + 2]; }),
                 {"task 'part'", "reads row 2, column 0 of data at", "of data 'A'"});
    }
  }
}

/// Parts of a vector, which do not begin with pages.
TEST_CASE("access: a body on the host does not touch the neighbouring block") {
  for (std::size_t const length : {std::size_t{16}, 3 * in_a_page}) {
    CAPTURE(length);
    std::vector<double> memory(4 * length, 1.0);
    hs::Runtime<> rt(config());
    auto const parts = rt.partition(rt.data(memory).named("v"), hs::block_rows(length));
    auto const run = [&](auto body) {
      rt.spawn(hs::label("block"))(body, hs::read_write(parts[1]));
      return told(rt);
    };
    CHECK(run([](Vector v) { std::fill(v.begin(), v.end(), 2.0); }) == "");
    check_told(run([](Vector v) { v.data()[-1] = 3.0; }), {"writes row", "of data 'v'"});
    check_told(run([](Vector v) { v.data()[v.size()] = 3.0; }), {"writes row 0", "of data 'v'"});
    check_told(run([](Vector v) { std::memset(v.data() + 8, 0, v.size() * sizeof(double)); }),
               {"writes row 0", "of data 'v'"});
    if (length > in_a_page) {
      check_told(run([](Vector v) { sink = v.data()[v.size() + in_a_page]; }),
                 {"reads row 512", "of data 'v'"});
      check_told(run([](Vector v) { sink = v.data()[-600]; }), {"reads row", "of data 'v'"});
    }
  }
}

TEST_CASE("access: nested, contributing, repeated and grouped bodies are checked") {
  std::vector<double> x(3 * in_a_page, 1.0), y(3 * in_a_page, 1.0);
  double total = 0;
  auto const* const other = y.data() + in_a_page; // in a page of y's own, wherever y begins
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x).named("x");
  auto const hy = rt.data(y).named("y");
  auto const sum = rt.data(total).named("total");

  SUBCASE("a child whose parent declared it") {
    rt.spawn(hs::label("parent"))(
        [other](hs::Runtime<>& runtime, hs::Handle<Vector> a, hs::Handle<Vector> b) {
          runtime.spawn(hs::label("child"))([other](Vector v) { v[0] = other[2]; },
                                            hs::read_write(a));
          runtime.sync();
          (void)b;
        },
        hs::read_write(hx),
        hs::read(hy));
    check_told(told(rt), {"task 'child'", "reads row 514, column 0 of data 'y'"});
  }
  SUBCASE("a parent, after its children") {
    rt.spawn(hs::label("parent"))(
        [other](hs::Runtime<>& runtime, Vector a) {
          runtime.spawn(hs::label("child"))([] {});
          runtime.sync();
          a[0] = other[2];
        },
        hs::read_write(hx));
    check_told(told(rt), {"task 'parent'", "reads row 514, column 0 of data 'y'"});
  }
  SUBCASE("what it declared, and data of its own") {
    rt.spawn(hs::label("parent"))(
        [&x](hs::Runtime<>& runtime, Vector a) {
          std::vector<double> own(3 * in_a_page, 1.0);
          auto const handle = runtime.data(own);
          runtime.spawn(hs::label("child"))([](Vector v) { v[0] = 3.0; }, hs::read_write(handle));
          runtime.sync();
          a[0] = own[0] + x[1];
        },
        hs::read_write(hx));
    CHECK(told(rt) == "");
    CHECK(x[0] == 4.0);
  }
  SUBCASE("a contribution") {
    rt.spawn(hs::label("adds"))([other](double& partial) { partial += other[0]; },
                                hs::reduce<hs::Sum<double>>(sum));
    check_told(told(rt), {"task 'adds'", "reads row 512, column 0 of data 'y'"});
  }
  SUBCASE("a contribution that writes the result") {
    auto* const result = &total;
    rt.spawn(hs::label("adds"))([result](double& partial) { *result = ++partial; },
                                hs::reduce<hs::Sum<double>>(sum));
    check_told(told(rt), {"task 'adds'", "data 'total' itself", "data argument 1 is CW"});
  }
  SUBCASE("contributions that are merged") {
    for (int k = 0; k < 4; ++k) {
      rt.spawn()([](double& partial) { partial += 1; }, hs::reduce<hs::Sum<double>>(sum));
    }
    CHECK(told(rt) == "");
    CHECK(total == 4.0);
  }
  SUBCASE("a graph that is run twice") {
    std::atomic<int> round{0};
    auto const graph = rt.capture([&] {
      rt.spawn(hs::label("node"))(
          [other, &round](Vector a) {
            if (round.fetch_add(1) == 1) {
              a[0] = other[7];
            }
          },
          hs::read_write(hx));
    });
    rt.run(graph);
    try {
      rt.run(graph);
      FAIL("not found");
    } catch (hs::Error const& error) {
      check_told(error.what(), {"task 'node'", "reads row 519, column 0 of data 'y'"});
    }
  }
  SUBCASE("no data at all") {
    rt.spawn(hs::label("bare"))([other] { sink = other[1]; });
    check_told(told(rt), {"task 'bare'", "reads row 513, column 0 of data 'y'"});
  }
}

TEST_CASE("access: bodies print, lock, start threads and wait for other threads") {
  std::vector<double> x(8, 1.0), y(8, 1.0);
  auto const flag = std::make_unique<std::atomic<int>>(0);
  auto const mutex = std::make_unique<std::mutex>();
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x);
  auto const hy = rt.data(y);
  rt.spawn()(
      [&](Vector a) {
        std::printf("printed by a body\n");
        int ran = 0;
        std::thread([&] { ran = 1; }).join();
        while (flag->load() == 0) {
        }
        std::lock_guard const guard(*mutex);
        std::string text(100, 'x');
        a[0] = ran + static_cast<double>(text.size());
      },
      hs::read_write(hx));
  {
    std::lock_guard const guard(*mutex);
    flag->store(1);
  }
  CHECK(told(rt) == "");
  CHECK(x[0] == 101.0);
  rt.spawn()([](Vector a) { a[0] = 1; }, hs::read_write(hy));
  CHECK(told(rt) == "");
}

TEST_CASE("access: bodies begin processes") {
  std::vector<double> x(8, 1.0), y(8, 1.0);
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x);
  auto const hy = rt.data(y);
  int by_shell = -1;
  int by_fork = -1;
  rt.spawn()(
      [&](Vector a) {
        by_shell = std::system("exit 3"); // NOLINT
        // The child has a copy, and may read what it likes.
        by_fork = support::run_in_child([&] { return a[1] + x[0] == 2.0 ? 5 : 4; }).exit_code;
        a[0] = 2.0;
      },
      hs::read_write(hy));
  CHECK(told(rt) == "");
  CHECK(WEXITSTATUS(by_shell) == 3);
  CHECK(by_fork == 5);
  CHECK(y[0] == 2.0);
}

namespace genuine {

void* address = nullptr;
std::sig_atomic_t volatile caught = 0;

void handler(int, siginfo_t* info, void*) {
  caught = caught + 1;
  address = info->si_addr;
  mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE);
}

} // namespace genuine

/// Of the program's own, at memory that is no datum.
TEST_CASE("access: a segmentation fault reaches the program's handler, or ends the program") {
  auto* const page =
      static_cast<double*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(page != MAP_FAILED);
  std::vector<double> x(8, 1.0);
  hs::Runtime<> rt(config());
  auto const hx = rt.data(x);
  auto const touch = [page](Vector a) { a[0] = *static_cast<double volatile*>(page); };
  struct sigaction mine{};
  struct sigaction before{};
  mine.sa_sigaction = &genuine::handler;
  mine.sa_flags = SA_SIGINFO;
  SUBCASE("set before the first body") {
    sigaction(SIGSEGV, &mine, &before);
  }
  SUBCASE("set after it") {
    rt.spawn()([](Vector a) { a[0] = 2; }, hs::read_write(hx));
    rt.sync();
    sigaction(SIGSEGV, &mine, &before);
  }
  SUBCASE("none") {
    auto const child = support::run_in_child([] {
      signal(SIGSEGV, SIG_DFL);
      std::vector<double> own(8, 1.0);
      hs::Runtime<> runtime(config());
      auto const handle = runtime.data(own);
      std::uintptr_t volatile nowhere = 64; // the compiler need not know
      runtime.spawn()(
          [&](Vector a) { a[0] = *reinterpret_cast<double volatile*>(nowhere); }, // NOLINT
          hs::read_write(handle));
      runtime.sync();
      return 0;
    });
    CHECK(child.exit_code == -1); // by a signal
    munmap(page, 4096);
    return;
  }
  genuine::caught = 0;
  rt.spawn()(touch, hs::read_write(hx));
  CHECK(told(rt) == "");
  sigaction(SIGSEGV, &before, nullptr);
  CHECK(genuine::caught == 1);
  CHECK(genuine::address == page);
  CHECK(x[0] == 0.0);
  munmap(page, 4096);
}

TEST_CASE("access: all threads of a group are watched") {
  std::vector<double> x(8, 1.0), y(3 * in_a_page, 1.0);
  auto own = config();
  own.cpus = 1;
  own.group = 2;
  hs::Runtime<> rt(own);
  auto const hx = rt.data(x);
  auto const hy = rt.data(y).named("y");
  auto* const other = y.data() + in_a_page;
  rt.spawn(hs::label("group"))(
      [other](Vector a) {
        auto const team = hs::team();
        auto const last = team.size() - 1;
        team.run([&](int member) {
          if (member == last) {
            a[0] = other[3];
          }
        });
      },
      hs::read_write(hx));
  check_told(told(rt), {"task 'group'", "reads row 515, column 0 of data 'y'"});
}

TEST_SUITE_END();

} // namespace access_test
