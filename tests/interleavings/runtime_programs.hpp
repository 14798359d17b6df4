// SPDX-License-Identifier: MIT
#pragma once
// Small programs of a runtime, for any scheduler: `Setup::make(config)` gives the runtime.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/testing/interleavings.hpp>

#include "beside.hpp"
#include "programs.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace interleavings {

namespace hs = hetsched;
using hs::testing::expect;
using Numbers = hs::VectorView<long>;

constexpr auto increment = [](long& v) { ++v; };
constexpr auto twice = [](long& v) { v *= 2; };
constexpr auto copy = [](long const& from, long& to) { to = from; };
constexpr auto increment_all = [](Numbers all) {
  for (auto& one : all) {
    ++one;
  }
};

/// Whether `f` throws an exception with that message.
template <class F>
bool throws(std::string_view message, F&& f) {
  try {
    f();
  } catch (std::exception const& error) {
    return error.what() == message;
  }
  return false;
}

template <class Setup>
struct Programs {
  using Rt = typename Setup::Runtime;

  // ---- tasks and data ----

  static void chain() {
    long x = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x);
    rt.spawn()(increment, hs::read_write(hx));
    rt.spawn()(twice, hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hx));
    rt.sync();
    expect(x == 3, "x = 3");
  }

  static void readers_and_writers() {
    long x = 0, a = 0, b = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x), ha = rt.data(a), hb = rt.data(b);
    rt.spawn()(increment, hs::read_write(hx));
    rt.spawn()(copy, hs::read(hx), hs::write(ha));
    rt.spawn()(copy, hs::read(hx), hs::write(hb));
    rt.spawn()(twice, hs::read_write(hx));
    rt.sync();
    expect(x == 2 && a == 1 && b == 1, "x = 2, a = 1, b = 1");
  }

  static void without_data() {
    std::array<int, 4> ran{};
    auto rt = Setup::make(on_cores(3));
    for (auto& one : ran) {
      rt.spawn()([&one] { ++one; });
    }
    rt.sync();
    expect(ran == std::array{1, 1, 1, 1}, "each task runs once");
  }

  static void reduction() {
    long sum = 1, seen = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hs_sum = rt.data(sum), h_seen = rt.data(seen);
    for (int k = 0; k < 3; ++k) {
      rt.spawn()(increment, hs::reduce<hs::Sum<long>>(hs_sum));
    }
    rt.spawn()(copy, hs::read(hs_sum), hs::write(h_seen));
    rt.sync();
    expect(sum == 4 && seen == 4, "the sum is 4");
  }

  static void commuting() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x), hy = rt.data(y);
    constexpr auto both = [](long& a, long& b) {
      ++a;
      b += a;
    };
    rt.spawn()(both, hs::commute(hx), hs::commute(hy));
    rt.spawn()(both, hs::commute(hx), hs::commute(hy));
    rt.spawn()(increment, hs::commute(hx));
    rt.sync();
    expect(x == 3 && y >= 3 && y <= 5, "x = 3, y is a sum of two of 1, 2, 3");
  }

  static void handle_gone_before_its_tasks() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hy = rt.data(y);
    {
      auto const hx = rt.data(x);
      rt.spawn()(increment, hs::read_write(hx));
      rt.spawn()(copy, hs::read(hx), hs::write(hy));
    }
    expect(x == 1 && y == 1, "the handle's destructor waits");
    try {
      rt.sync();
    } catch (hs::Error const&) { // told if the tasks were not through
    }
  }

  /// The last handle is the program's or the body's.
  static void handle_gone_beside_a_body() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    {
      auto const hx = rt.data(x);
      rt.spawn()([](Rt& in, hs::Handle<long> all) { in.spawn()(increment, hs::read_write(all)); },
                 hs::read_write(hx));
      rt.spawn()(increment, hs::read_write(hx));
    }
    try {
      rt.sync();
    } catch (hs::Error const&) { // told if the tasks were not through
    }
    expect(x == 2, "x = 2");
    (void)rt.data(x);
  }

  static void runtime_gone_before_its_tasks() {
    std::array<int, 3> ran{};
    {
      auto rt = Setup::make(on_cores(3));
      for (auto& one : ran) {
        rt.spawn()([&one] { ++one; });
      }
    }
    expect(ran == std::array{1, 1, 1}, "each task runs once");
  }

  static void priorities() {
    std::array<int, 4> ran{};
    auto rt = Setup::make(on_cores(2));
    for (int k = 0; k < 4; ++k) {
      rt.spawn(hs::priority(k % 3))([&ran, k] { ++ran[static_cast<std::size_t>(k)]; });
    }
    rt.sync();
    rt.spawn(hs::priority(-1))([&ran] { ++ran[0]; });
    rt.sync();
    expect(ran == std::array{2, 1, 1, 1}, "each task runs once");
  }

  // ---- waiting ----

  static void sync_of_a_datum() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.spawn()(increment, hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hy));
    rt.sync(hx);
    expect(x == 1, "x = 1 after its sync");
    rt.spawn()(increment, hs::read_write(hx));
    rt.sync(hx);
    expect(x == 2, "x = 2 after its sync");
    rt.sync();
    expect(y == 1, "y = 1");
  }

  static void nested_sync() {
    long x = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x);
    rt.spawn()(
        [](Rt& in, hs::Handle<long> all) {
          in.spawn()(increment, hs::read_write(all));
          in.spawn()(increment, hs::read_write(all));
          in.sync();
          in.spawn()(twice, hs::read_write(all));
        },
        hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hx));
    rt.sync();
    expect(x == 5, "x = 5");
  }

  static void nested_sync_of_a_datum() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.spawn()(
        [&x](Rt& in, hs::Handle<long> inner) {
          in.spawn()(increment, hs::read_write(inner));
          in.sync(inner);
          expect(x == 1, "x = 1 in the body");
        },
        hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hy));
    rt.sync();
    expect(x == 1 && y == 1, "x = 1, y = 1");
  }

  static void two_levels() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x);
    for (int k = 0; k < 2; ++k) {
      rt.spawn()(
          [](Rt& in, hs::Handle<long> all) {
            in.spawn()(
                [](Rt& deep, hs::Handle<long> same) {
                  deep.spawn()(increment, hs::read_write(same));
                  deep.sync();
                },
                hs::read_write(all));
            in.spawn()(increment, hs::read_write(all));
          },
          hs::read_write(hx));
    }
    rt.sync();
    expect(x == 4, "x = 4");
  }

  static void several_syncs() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x);
    for (long k = 1; k <= 3; ++k) {
      rt.spawn()(increment, hs::read_write(hx));
      rt.sync();
      expect(x == k, "a sync waits for all tasks");
    }
  }

  static void throttled() {
    auto config = on_cores(2);
    config.max_live_tasks = 2;
    std::array<int, 5> ran{};
    auto rt = Setup::make(config);
    for (auto& one : ran) {
      rt.spawn()([&one] { ++one; });
    }
    rt.sync();
    expect(ran == std::array{1, 1, 1, 1, 1}, "each task runs once");
  }

  // ---- as many tasks as workers run at the same time ----

  /// Each caller waits for all others.
  class Meeting {
  public:
    explicit Meeting(int members) : missing_(members) {}

    void attend() {
      if (missing_.fetch_sub(1) == 1) {
        all_there_.store(1);
        all_there_.notify_all();
      }
      all_there_.wait(0);
    }

  private:
    hs::detail::Atomic<int> missing_;
    hs::detail::Atomic<int> all_there_{0};
  };

  static void spawned_tasks_meet() {
    auto rt = Setup::make(on_cores(2));
    for (int k = 0; k < 2; ++k) {
      Meeting meeting(2);
      rt.spawn()([&meeting] { meeting.attend(); });
      rt.spawn()([&meeting] { meeting.attend(); });
      rt.sync();
    }
  }

  static void three_tasks_meet() {
    auto rt = Setup::make(on_cores(3));
    Meeting meeting(3);
    for (int k = 0; k < 3; ++k) {
      rt.spawn()([&meeting] { meeting.attend(); });
    }
    rt.sync();
  }

  /// The spawning thread runs none of them: each wake-up counts.
  static void spawner_meets_its_tasks() {
    auto rt = Setup::make(on_cores(3));
    Meeting meeting(3);
    rt.spawn()([&meeting] { meeting.attend(); });
    rt.spawn()([&meeting] { meeting.attend(); });
    meeting.attend();
    rt.sync();
  }

  static void released_tasks_meet() {
    long x = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x);
    Meeting meeting(3);
    rt.spawn()(increment, hs::read_write(hx));
    for (int k = 0; k < 3; ++k) {
      rt.spawn()([&meeting](long const&) { meeting.attend(); }, hs::read(hx));
    }
    rt.sync();
  }

  static void children_meet() {
    auto rt = Setup::make(on_cores(2));
    Meeting meeting(2);
    rt.spawn()([&meeting](Rt& in) {
      in.spawn()([&meeting] { meeting.attend(); });
      in.spawn()([&meeting] { meeting.attend(); });
      in.sync();
    });
    rt.sync();
  }

  // ---- groups ----

  static void group() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x), hy = rt.data(y);
    {
      hs::TaskGroup group(rt);
      rt.spawn(hs::in(group))(increment, hs::read_write(hx));
      rt.spawn()(increment, hs::read_write(hy));
      rt.spawn(hs::in(group))(increment, hs::read_write(hx));
      rt.sync(group);
      expect(x == 2, "x = 2 after the group's sync");
    }
    rt.sync();
    expect(y == 1, "y = 1");
  }

  static void group_gone_before_its_tasks() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x);
    {
      hs::TaskGroup group(rt);
      rt.spawn(hs::in(group))(increment, hs::read_write(hx));
      rt.spawn(hs::in(group))(increment, hs::read_write(hx));
    }
    rt.sync();
    expect(x == 2, "x = 2");
  }

  static void cancelled_group() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x), hy = rt.data(y);
    hs::TaskGroup group(rt);
    for (int k = 0; k < 3; ++k) {
      rt.spawn(hs::in(group))(increment, hs::read_write(hx));
    }
    rt.spawn()(copy, hs::read(hx), hs::write(hy));
    group.cancel();
    rt.sync(group);
    rt.sync();
    expect(x >= 0 && x <= 3 && y == x, "y = x, which is 0 to 3");
  }

  /// A waits for its group g. B waits for its group, and the one task of that needs what A holds.
  static void groups_in_bodies() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x);
    hs::TaskGroup g(rt), h(rt);
    rt.spawn()([&g](Rt& in, hs::Handle<long>) { in.sync(g); }, hs::read_write(hx));
    rt.spawn()([&h](Rt& in) { in.sync(h); });
    rt.spawn(hs::in(h))(increment, hs::read_write(hx));
    rt.spawn(hs::in(g))([] {});
    rt.sync();
    expect(x == 1, "x = 1");
  }

  static void group_of_a_body() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    rt.spawn()([&x](Rt& in) {
      hs::TaskGroup group(in);
      auto const hx = in.data(x);
      in.spawn(hs::in(group))(increment, hs::read_write(hx));
      in.spawn(hs::in(group))(increment, hs::read_write(hx));
      in.sync(group);
      expect(x == 2, "x = 2 in the body");
    });
    rt.sync();
  }

  // ---- failures ----

  static void failing_task() {
    long x = 1, y = 5;
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.spawn()([](long&) { throw std::runtime_error("no"); }, hs::read_write(hx));
    rt.spawn()(copy, hs::read(hx), hs::write(hy));
    expect(throws("no", [&] { rt.sync(); }), "the sync throws");
    expect(y == 5, "what depends on it does not run");
    rt.spawn()([](long& v) { v = 2; }, hs::write(hx));
    rt.sync();
    expect(x == 2, "x = 2");
  }

  static void failing_child() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.spawn()(
        [](Rt& in, hs::Handle<long> all) {
          in.spawn()([](long&) { throw std::runtime_error("child"); }, hs::read_write(all));
        },
        hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hy));
    expect(throws("child", [&] { rt.sync(); }), "the sync throws");
    rt.sync();
    expect(y == 1, "y = 1");
  }

  static void caught_in_a_body() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x);
    rt.spawn()(
        [](Rt& in, hs::Handle<long>) {
          long z = 0;
          auto const hz = in.data(z);
          in.spawn()([](long&) { throw std::runtime_error("inner"); }, hs::read_write(hz));
          expect(throws("inner", [&] { in.sync(); }), "the inner sync throws");
        },
        hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hx));
    rt.sync();
    expect(x == 1, "x = 1");
  }

  static void failing_series() {
    long sum = 1;
    auto rt = Setup::make(on_cores(3));
    auto const h = rt.data(sum);
    rt.spawn()(increment, hs::reduce<hs::Sum<long>>(h));
    rt.spawn()(
        [](long& v) {
          v = 100;
          throw std::runtime_error("part");
        },
        hs::reduce<hs::Sum<long>>(h));
    expect(throws("part", [&] { rt.sync(); }), "the sync throws");
    rt.spawn()([](long& v) { v = 1; }, hs::write(h));
    rt.spawn()(increment, hs::reduce<hs::Sum<long>>(h));
    rt.sync();
    expect(sum == 2, "nothing of the failed series is left");
  }

  // ---- partitions ----

  static void partition() {
    std::vector<long> v(4);
    auto rt = Setup::make(on_cores(3));
    auto const h = rt.data(v);
    rt.spawn()(increment_all, hs::read_write(h));
    auto parts = rt.partition(h, hs::block_rows(2));
    rt.spawn()(increment_all, hs::read_write(parts[0]));
    rt.spawn()(increment_all, hs::read_write(parts[1]));
    rt.join(parts);
    rt.spawn()(increment_all, hs::read_write(h));
    rt.sync();
    expect(v == std::vector<long>(4, 3), "all are 3");
  }

  static void partitions_in_any_order() {
    std::vector<long> v(4);
    auto rt = Setup::make(on_cores(2));
    auto const h = rt.data(v);
    {
      std::vector<hs::Partition<Numbers>> both;
      both.push_back(rt.partition(h, hs::block_rows(2)));
      both.push_back(rt.partition(both[0][0], hs::block_rows(1)));
      rt.spawn()(increment_all, hs::read_write(both[1][0]));
      rt.spawn()(increment_all, hs::read_write(both[0][1]));
    }
    rt.spawn()(increment_all, hs::read_write(h));
    rt.sync();
    expect(v == std::vector<long>{2, 1, 2, 2}, "2 1 2 2");
  }

  static void partition_in_a_body() {
    std::vector<long> v(4);
    auto rt = Setup::make(on_cores(2));
    auto const h = rt.data(v);
    for (int k = 0; k < 2; ++k) {
      rt.spawn()(
          [](Rt& in, hs::Handle<Numbers> all) {
            auto parts = in.partition(all, hs::block_rows(2));
            for (std::size_t p = 0; p < parts.size(); ++p) {
              in.spawn()(increment_all, hs::reduce<hs::Sum<long>>(parts[p]));
            }
            in.join(parts);
          },
          hs::read_write(h));
    }
    rt.sync();
    expect(v == std::vector<long>(4, 2), "all are 2");
  }

  // ---- captured graphs, abortable tasks, teams ----

  static void captured() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y);
    auto const graph = rt.capture([&] {
      rt.spawn()(increment, hs::read_write(hx));
      rt.spawn()(copy, hs::read(hx), hs::write(hy));
    });
    rt.run(graph);
    rt.run(graph);
    rt.sync();
    expect(x == 2 && y == 2, "x = 2, y = 2");
  }

  /// Runs that are not spawned anew: a loop whose two tasks are joined by a third one.
  static void replayed() {
    long x = 0, y = 0, go = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y), hgo = rt.data(go);
    auto const graph = rt.capture([&] {
      rt.spawn()([](long& g) { g = 2; }, hs::write(hgo));
      rt.spawn_while(hgo, [&] {
        rt.spawn()([](long& g) { --g; }, hs::read_write(hgo));
        rt.spawn()(increment, hs::read_write(hx));
        rt.spawn()([](long const& g, long const& v, long& to) { to = 100 * to + 10 * g + v; },
                   hs::read(hgo),
                   hs::read(hx),
                   hs::read_write(hy));
      });
    });
    rt.run(graph);
    rt.run(graph);
    expect(y == 11021304, "y = 11 02 13 04");
  }

  static void replayed_beside_a_thread() {
    long x = 0, y = 0, z = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    auto const graph = rt.capture([&] {
      rt.spawn()(increment, hs::read_write(hx));
      rt.spawn()(increment, hs::read_write(hx));
      rt.spawn()(copy, hs::read(hx), hs::write(hy));
    });
    rt.run(graph);
    {
      Beside const other([&] { rt.spawn()(copy, hs::read(hx), hs::write(hz)); });
      rt.run(graph);
    }
    rt.sync();
    expect(y == 4, "y = 4");
    expect(z == 2 || z == 4, "z = 2 or 4, as before or after the run");
  }

  static void abortable() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.spawn(hs::abortable)(increment, hs::read_write(hx));
    rt.spawn(hs::abortable, hs::priority(1))(increment, hs::read_write(hy));
    rt.spawn(hs::abortable, hs::priority(2))(increment, hs::read_write(hx));
    rt.sync();
    expect(x == 2 && y == 1, "x = 2, y = 1");
  }

  /// With OwnQueues, two workers wait for tasks in each other's queue, while the third one executes
  /// a task that they might take over.
  static void crossed_beside_an_abortable() {
    long x = 0;
    std::array<int, 2> ran{};
    auto rt = Setup::make(on_cores(3));
    auto const hx = rt.data(x);
    rt.spawn(hs::abortable, hs::priority(2))(increment, hs::read_write(hx));
    for (int k = 0; k < 2; ++k) {
      rt.spawn(hs::priority(k))([&ran, k](Rt& in) {
        in.spawn(hs::priority(1 - k))([&ran, k] { ++ran[static_cast<std::size_t>(k)]; });
        in.sync();
      });
    }
    rt.sync();
    expect(x == 1 && ran == std::array{1, 1}, "each task runs once");
  }

  static void team() {
    auto config = on_cores(2);
    config.group = 2;
    std::array<int, 4> calls{};
    auto rt = Setup::make(config);
    for (std::size_t k = 0; k < 2; ++k) {
      rt.spawn()([&calls, k] {
        hs::team().run([&](int member) { ++calls[k * 2 + static_cast<std::size_t>(member)]; });
      });
    }
    rt.sync();
    expect(calls == std::array{1, 1, 1, 1}, "each member is called once for each task");
  }

  // ---- threads that are no worker's ----

  static void two_threads_spawn() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y);
    {
      Beside const other([&] {
        rt.spawn()(increment, hs::read_write(hx));
        rt.spawn()(increment, hs::read_write(hy));
      });
      rt.spawn()(increment, hs::read_write(hy));
      rt.spawn()(increment, hs::read_write(hx));
    }
    rt.sync();
    expect(x == 2 && y == 2, "x = 2, y = 2");
  }

  static void two_threads_sync() {
    long x = 0, y = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x), hy = rt.data(y);
    Beside const other([&] {
      rt.spawn()(increment, hs::read_write(hx));
      rt.sync(hx);
      expect(x == 1, "x = 1 after its sync");
    });
    rt.spawn()(increment, hs::read_write(hy));
    rt.sync();
    expect(y == 1, "y = 1 after the sync");
  }

  static void three_threads_wait() {
    long x = 0;
    auto rt = Setup::make(on_cores(1));
    auto const hx = rt.data(x);
    hs::TaskGroup group(rt);
    rt.spawn(hs::in(group))(increment, hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hx));
    auto const wait_for_all = [&] {
      rt.sync();
      expect(x == 2, "x = 2 after the sync");
    };
    Beside const second(wait_for_all);
    Beside const third([&] {
      rt.sync(group);
      expect(x >= 1, "x >= 1 after the group's sync");
    });
    rt.sync(hx);
    expect(x == 2, "x = 2 after its sync");
  }

  static void asked_while_it_works() {
    long x = 0;
    auto rt = Setup::make(on_cores(2));
    auto const hx = rt.data(x);
    Beside const other([&] {
      auto const stats = rt.stats();
      expect(stats.executed <= stats.spawned, "no more tasks complete than are spawned");
      rt.reset_stats();
    });
    rt.spawn()(increment, hs::read_write(hx));
    rt.spawn()(increment, hs::read_write(hx));
    rt.sync();
    expect(x == 2, "x = 2");
  }

  static constexpr Program all[] = {
      {"chain", chain},
      {"readers and writers", readers_and_writers},
      {"without data", without_data},
      {"reduction", reduction},
      {"commuting", commuting},
      {"handle gone before its tasks", handle_gone_before_its_tasks},
      {"handle gone beside a body", handle_gone_beside_a_body},
      {"runtime gone before its tasks", runtime_gone_before_its_tasks},
      {"priorities", priorities},
      {"sync of a datum", sync_of_a_datum},
      {"nested sync", nested_sync},
      {"nested sync of a datum", nested_sync_of_a_datum},
      {"two levels", two_levels},
      {"several syncs", several_syncs},
      {"throttled", throttled},
      {"group", group},
      {"group gone before its tasks", group_gone_before_its_tasks},
      {"cancelled group", cancelled_group},
      {"groups in bodies", groups_in_bodies},
      {"group of a body", group_of_a_body},
      {"failing task", failing_task},
      {"failing child", failing_child},
      {"caught in a body", caught_in_a_body},
      {"failing series", failing_series},
      {"partition", partition},
      {"partitions in any order", partitions_in_any_order},
      {"partition in a body", partition_in_a_body},
      {"captured", captured},
      {"replayed", replayed},
      {"replayed beside a thread", replayed_beside_a_thread},
      {"abortable", abortable},
      {"crossed beside an abortable task", crossed_beside_an_abortable},
      {"team", team},
      {"two threads spawn", two_threads_spawn},
      {"two threads sync", two_threads_sync},
      {"three threads wait", three_threads_wait},
      {"asked while it works", asked_while_it_works},
  };

  /// Right only where idle workers take tasks from others.
  static constexpr Program meetings[] = {
      {"spawned tasks meet", spawned_tasks_meet},
      {"three tasks meet", three_tasks_meet},
      {"spawner meets its tasks", spawner_meets_its_tasks},
      {"released tasks meet", released_tasks_meet},
      {"children meet", children_meet},
  };
};

} // namespace interleavings
