// SPDX-License-Identifier: MIT
// Parameters that are lists of data.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/recording.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::message_of;
using support::on_cpus;

namespace lists_test {

using Vector = hs::VectorView<int>;
using Vectors = hs::Each<Vector>;
using ConstVectors = hs::Each<hs::VectorView<int const>>;

static_assert(std::is_same_v<Vectors::View, Vector>);
static_assert(std::is_same_v<ConstVectors::View, hs::VectorView<int const>>);
static_assert(std::is_same_v<hs::Each<int>::View, int&>);
static_assert(std::is_same_v<hs::Each<int const>::View, int const&>);
static_assert(std::is_convertible_v<Vectors, ConstVectors>);
static_assert(!std::is_convertible_v<ConstVectors, Vectors>);

/// Lists before, between and behind other parameters.
struct Mixed : hs::Task<6>::Signature<hs::R<Vectors>,
                                      int,
                                      hs::RW<int>,
                                      hs::RW<Vectors>,
                                      hs::V<std::string>,
                                      hs::R<Vector>> {
  static void cpu(ConstVectors in,
                  int factor,
                  int& sum,
                  Vectors out,
                  std::string const& text,
                  hs::VectorView<int const> last) {
    for (auto const v : in) {
      sum += factor * v[0];
    }
    for (auto const v : out) {
      v[0] += static_cast<int>(text.size()) * last[0];
    }
  }
};

/// Some vectors of one element with their handles.
template <class Rt>
struct Data {
  Data(Rt& rt, std::size_t count) : values(count) {
    for (std::size_t k = 0; k < count; ++k) {
      values[k] = {static_cast<int>(k)};
      handles.push_back(rt.data(values[k]));
    }
  }

  std::vector<std::vector<int>> values;
  std::vector<hs::Handle<Vector>> handles;
};

template <class Rt>
Data(Rt&, std::size_t) -> Data<Rt>;

/// Notes the reuse index of each task, and of its data.
struct Noting : OldestFirst {
  static inline std::vector<std::vector<int>> noted;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    auto const view = ctx.task(task);
    noted.push_back({view.reuse()});
    for (std::size_t k = 0; k < view.arguments; ++k) {
      noted.back().push_back(view.argument(k).reuse);
    }
    return OldestFirst::push(ctx, task, worker);
  }
};

TEST_SUITE_BEGIN("lists");

TEST_CASE("lists: any length, among other parameters") {
  hs::Runtime<> rt(on_cpus(2));
  for (std::size_t const in : {0U, 1U, 3U, 12U, 13U, 100U}) {
    for (std::size_t const out : {0U, 1U, 40U}) {
      Data read(rt, in);
      Data written(rt, out);
      int sum = 5;
      std::vector<int> last{7};
      auto const hsum = rt.data(sum);
      auto const hlast = rt.data(last);
      rt.spawn<Mixed>(hs::label("a label"))(
          read.handles, 2, hsum, written.handles, std::string(30, 'x'), hlast);
      rt.sync();
      CHECK(sum == 5 + static_cast<int>(in == 0 ? 0 : in * (in - 1)));
      for (std::size_t k = 0; k < out; ++k) {
        CHECK(written.values[k][0] == static_cast<int>(k) + 210);
      }
    }
  }
}

TEST_CASE("lists: whatever has handles in it") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> v{1, 2, 3, 4};
  auto const hv = rt.data(v);
  auto parts = rt.partition(hv, hs::block_rows(2));
  auto const twice = [](Vectors all) {
    for (auto const part : all) {
      for (auto& x : part) {
        x *= 2;
      }
    }
  };
  rt.spawn()(twice, hs::read_write(parts));
  std::array<hs::Handle<Vector>, 1> const first{parts[0]};
  rt.spawn()(twice, hs::read_write(first));
  std::deque<hs::Handle<Vector>> const second{parts[1]};
  rt.spawn()(twice, hs::read_write(second));
  rt.spawn()(twice, hs::read_write(std::span(first)));
  rt.join(parts);
  rt.sync();
  CHECK(v == std::vector<int>{8, 16, 12, 16});
}

TEST_CASE("lists: tasks wait for each datum of them, and for no other") {
  hs::Runtime<OldestFirst> rt(on_cpus(2));
  Data data(rt, 3);
  support::Gate gate;
  rt.spawn()(
      [&gate](Vector v) {
        REQUIRE(gate.pass());
        v[0] = 100;
      },
      hs::write(data.handles[1]));
  std::span const all(data.handles);
  int before = 0;
  int after = 0;
  auto const hb = rt.data(before);
  auto const ha = rt.data(after);
  auto const sum = [](ConstVectors list, int& into) {
    for (auto const v : list) {
      into += v[0];
    }
  };
  rt.spawn()(sum, hs::read(all), hs::write(ha));
  std::vector<hs::Handle<Vector>> const others{data.handles[0], data.handles[2]};
  rt.spawn()(sum, hs::read(others), hs::write(hb));
  rt.spawn()([&gate](int const&) { gate.open(); }, hs::read(hb)); // the first has not ended
  rt.sync();
  CHECK(before == 2);
  CHECK(after == 102);
}

TEST_CASE("lists: a datum more than once, in one mode or in two") {
  hs::Runtime<> rt(on_cpus(2));
  Data data(rt, 20);
  auto twice = data.handles;
  twice.insert(twice.end(), data.handles.begin(), data.handles.end());
  int sum = 0;
  auto const hsum = rt.data(sum);
  rt.spawn()(
      [](ConstVectors in, Vectors out, int& total) {
        for (auto const v : out) {
          v[0] += 1;
        }
        for (auto const v : in) {
          total += v[0];
        }
      },
      hs::read(data.handles),
      hs::read_write(twice),
      hs::write(hsum));
  rt.sync();
  CHECK(sum == 190 + 40);
  CHECK(rt.stats().executed == 1);
}

TEST_CASE("lists: of tasks that commute, and of contributions") {
  hs::Runtime<OldestFirst> rt(on_cpus(3));
  Data data(rt, 30);
  std::vector<int> sums(3);
  std::vector<hs::Handle<int>> handles;
  for (auto& sum : sums) {
    handles.push_back(rt.data(sum));
  }
  for (int k = 0; k < 50; ++k) {
    rt.spawn()(
        [k](Vectors all) {
          for (auto const v : all) {
            v[0] += k;
          }
        },
        hs::commute(data.handles));
    rt.spawn()(
        [k](hs::Each<int> all) {
          int factor = 1;
          for (auto& x : all) {
            x += factor * k;
            factor *= 10;
          }
        },
        hs::reduce<hs::Sum<int>>(handles));
  }
  rt.sync();
  CHECK(sums == std::vector<int>{1225, 12250, 122500});
  for (std::size_t k = 0; k < data.values.size(); ++k) {
    CHECK(data.values[k][0] == static_cast<int>(k) + 1225);
  }
  auto const error = error_of([&] {
    rt.spawn()(
        [](hs::Each<int>, int&) {}, hs::reduce<hs::Sum<int>>(handles), hs::read_write(handles[1]));
  });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_access);
}

TEST_CASE("lists: tasks that commute become ready while they are being registered") {
  hs::Runtime<> rt(on_cpus(3));
  Data data(rt, 300);
  std::span const all(data.handles);
  std::atomic<int> begun{0};
  std::atomic<int> round{0};
  constexpr int rounds = 1800; // six for each datum
  for (int k = 1; k <= rounds; ++k) {
    // This ends while the next task is being registered, and makes it ready.
    rt.spawn()(
        [&begun, &round, k](Vector v) {
          begun.store(k);
          while (round.load() < k) {
            std::this_thread::yield();
          }
          v[0] += 1;
        },
        hs::read_write(all[static_cast<std::size_t>(k) % all.size()]));
    while (begun.load() < k) {
      std::this_thread::yield();
    }
    round.store(k);
    rt.spawn()(
        [](Vectors some, Vectors again) {
          for (auto const list : {some, again}) {
            for (auto const v : list) {
              v[0] += 1;
            }
          }
        },
        hs::commute(all),
        hs::commute(all.first(3)));
  }
  rt.sync();
  for (std::size_t k = 0; k < all.size(); ++k) {
    CHECK(data.values[k][0] == static_cast<int>(k) + 6 + (k < 3 ? 2 : 1) * rounds);
  }
}

/// Spawns a task on each of its data, and one on all of them.
struct Split : hs::Task<1>::Signature<hs::RW<Vectors>> {
  template <class Rt>
  static void cpu(Rt& rt, hs::Each<hs::Handle<Vector>> all) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      rt.spawn()([](Vector v) { v[0] += 1; }, hs::read_write(all[k]));
    }
    rt.spawn()(
        [](Vectors list) {
          for (auto const v : list) {
            v[0] *= 2;
          }
        },
        hs::read_write(all));
  }
};

TEST_CASE("lists: a body hands its data on to tasks of its own") {
  hs::Runtime<> rt(on_cpus(2));
  Data data(rt, 25);
  rt.spawn<Split>()(data.handles);
  rt.spawn<Split>()(std::span(data.handles).subspan(20));
  rt.sync();
  for (std::size_t k = 0; k < data.values.size(); ++k) {
    auto const once = 2 * (static_cast<int>(k) + 1);
    CHECK(data.values[k][0] == (k < 20 ? once : 2 * (once + 1)));
  }
}

TEST_CASE("lists: a captured graph keeps them, any number of times") {
  hs::Runtime<> rt(on_cpus(2));
  Data data(rt, 15);
  int sum = 0;
  std::vector<int> last{1};
  auto const hsum = rt.data(sum);
  auto const hlast = rt.data(last);
  auto const graph = rt.capture([&] {
    std::vector<hs::Handle<Vector>> const few(data.handles.begin(), data.handles.begin() + 5);
    std::vector<hs::Handle<Vector>> const none;
    rt.spawn<Mixed>()(few, 1, hsum, data.handles, std::string("ab"), hlast);
    rt.spawn<Mixed>()(none, 1, hsum, few, std::string("c"), hlast);
  });
  REQUIRE(graph.tasks().size() == 2);
  CHECK(graph.tasks().nodes()[0].accesses.size() == 17); // few are in both lists
  CHECK(graph.tasks().nodes()[1].accesses.size() == 7);
  CHECK(graph.tasks().predecessor_count(1) == 1);
  for (int k = 0; k < 3; ++k) {
    rt.run(graph);
  }
  CHECK(sum == 10 + 25 + 40);
  CHECK(data.values[3][0] == 3 + 9);
  CHECK(data.values[14][0] == 14 + 6);
}

/// A sum into the first of a list; it may be begun anew.
struct Abortable : hs::Task<2>::Signature<std::string, hs::RW<Vectors>> {
  static void cpu(std::string const& text, Vectors all) {
    for (auto const v : all) {
      v[0] += static_cast<int>(text.size());
    }
  }
};

TEST_CASE("lists: of an abortable task") {
  hs::Runtime<> rt(on_cpus(2));
  for (std::size_t const count : {0U, 1U, 7U, 50U}) {
    Data data(rt, count);
    for (int k = 0; k < 10; ++k) {
      rt.spawn<Abortable>(hs::abortable, hs::label("again"))(std::string(40, 'y'), data.handles);
    }
    rt.sync();
    for (std::size_t k = 0; k < count; ++k) {
      CHECK(data.values[k][0] == static_cast<int>(k) + 400);
    }
  }
}

TEST_CASE("lists: what is wrong with one of them leaves nothing behind") {
  hs::Runtime<> rt(on_cpus(1));
  Data data(rt, 3);
  auto with_empty = data.handles;
  with_empty.emplace_back();
  auto const twice = [](Vectors) {};
  CHECK(code_of([&] { rt.spawn()(twice, hs::read_write(with_empty)); }) == hs::ErrorCode::bad_data);
  hs::Runtime<> other(on_cpus(1));
  Data others(other, 2);
  with_empty.back() = others.handles[1];
  CHECK(code_of([&] { rt.spawn()(twice, hs::read_write(with_empty)); }) ==
        hs::ErrorCode::bad_access);

  rt.spawn()([](Vectors) { throw std::runtime_error("list"); }, hs::write(data.handles));
  int ran = 0;
  auto const hran = rt.data(ran);
  rt.spawn()([](ConstVectors, int& n) { n = 1; }, hs::read(data.handles), hs::write(hran));
  CHECK_THROWS_AS(rt.sync(), std::runtime_error);
  CHECK(ran == 0);
  rt.spawn()(twice, hs::read_write(data.handles));
  rt.sync();
}

/// Longer than a task can have; no handle of it is ever looked at.
struct Endless {
  hs::Handle<Vector> handle;

  [[nodiscard]] std::size_t size() const { return std::size_t{1} << 40U; }

  hs::Handle<Vector> const& operator[](std::size_t) const { return handle; }
};

TEST_CASE("lists: too long for a task") {
  hs::Runtime<> rt(on_cpus(1));
  Endless const endless;
  auto const message = message_of([&] { rt.spawn()([](Vectors) {}, hs::read_write(endless)); });
  CHECK(support::contains(message, "was given more data than a task may have: 10000000"));
}

TEST_CASE("lists: schedulers and recorded runs see each datum") {
  auto config = on_cpus(1);
  config.record = true;
  hs::Runtime<> rt(config);
  Data data(rt, 14);
  rt.spawn()([](ConstVectors) {}, hs::read(data.handles));
  rt.spawn<Split>()(data.handles);
  rt.sync();
  auto const trace = rt.trace();
  REQUIRE(trace.tasks.size() == 2 + 15);
  CHECK(trace.accesses_of(0).size() == 14);
  CHECK(trace.accesses_of(1).size() == 14);
}

TEST_CASE("lists: schedulers see how much each datum, or task, will be used again") {
  Noting::noted.clear();
  hs::Runtime<Noting> rt(on_cpus(1));
  Data data(rt, 3);
  data.handles[0].reuse(-5);
  data.handles[1].reuse(7);
  rt.spawn()([](Vectors) {}, hs::read_write(data.handles));
  rt.spawn(hs::reuse(-2))([](ConstVectors) {}, hs::read(data.handles));
  rt.spawn()([](Vector) {}, hs::read_write(data.handles[0]));
  rt.spawn(hs::reuse(9))([] {});
  // What it writes counts.
  rt.spawn()([](hs::VectorView<int const>, Vector, hs::VectorView<int const>) {},
             hs::read(data.handles[1]),
             hs::read_write(data.handles[0]),
             hs::read(data.handles[2]));
  rt.spawn()([](hs::VectorView<int const>, Vector, Vector) {},
             hs::read(data.handles[1]),
             hs::read_write(data.handles[0]),
             hs::read_write(data.handles[2]));
  rt.sync();
  CHECK(Noting::noted ==
        std::vector<std::vector<int>>{
            {7, -5, 7, 0}, {0}, {-2, -2, -2, -2}, {-5, -5}, {-5, 7, -5, 0}, {0, 7, -5, 0}});
}

TEST_SUITE_END();

} // namespace lists_test
