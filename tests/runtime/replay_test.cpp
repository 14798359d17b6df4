// SPDX-License-Identifier: MIT
// Captured graphs that run again: the same results as their spawns, with conditions, with other
// values, after failures, and beside what other threads spawn.

#include <hetsched/capture.hpp>
#include <hetsched/explaining.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/recording.hpp>

#include "../support/env_or.hpp"
#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::on_cpus;

namespace replay_test {

using Word = std::uint64_t;

/// Each depends on the order in which it is applied.
constexpr Word stirred(Word x, Word by) noexcept {
  return x * 6364136223846793005U + by + 1442695040888963407U;
}

struct Stir : hs::Task<2>::Signature<Word, hs::RW<Word>> {
  static void cpu(Word by, Word& x) { x = stirred(x, by); }
};

struct Mix : hs::Task<3>::Signature<hs::R<Word>, hs::R<Word>, hs::RW<Word>> {
  static void cpu(Word const& a, Word const& b, Word& x) { x = stirred(x, 3 * a + b); }
};

struct Set : hs::Task<3>::Signature<Word, hs::R<Word>, hs::W<Word>> {
  static void cpu(Word by, Word const& a, Word& x) { x = stirred(a, by); }
};

struct Add : hs::Task<2>::Signature<hs::R<Word>, hs::CW<Word, hs::Sum<Word>>> {
  static void cpu(Word const& a, Word& x) { x += a; }
};

struct Swap : hs::Task<2>::Signature<Word, hs::Commute<Word>> {
  static void cpu(Word by, Word& x) { x += by; }
};

/// A program that is drawn once, and means the same as tasks and as plain code.
struct Item {
  enum class Kind { stir, mix, set, add, commute, branch, loop };

  Kind kind = Kind::stir;
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t x = 0;
  Word value = 0;
  std::vector<Item> inner;
};

struct Program {
  static constexpr std::size_t data = 6;
  static constexpr std::size_t flags = 4; // behind the data: conditions, and what they are set by

  std::vector<Item> items;
};

struct Draw {
  std::uint64_t state;

  std::size_t operator()(std::size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33U) % below;
  }
};

/// `special`: with contributions and commuting tasks; such graphs are spawned anew.
std::vector<Item>
draw_items(Draw& draw, std::size_t count, std::size_t depth, bool conditions, bool special) {
  std::vector<Item> items;
  for (std::size_t k = 0; k < count; ++k) {
    Item item;
    item.a = draw(Program::data);
    item.b = draw(Program::data);
    item.x = draw(Program::data);
    item.value = draw(1000);
    auto const kind = draw(conditions && depth < 3 ? 12 : 9);
    if (kind >= 9) {
      // A loop over flag `depth`, which a first task sets to 0 to 3, and its last one takes to 0.
      item.kind = kind == 9 ? Item::Kind::branch : Item::Kind::loop;
      item.x = depth;
      item.inner = draw_items(draw, 1 + draw(5), depth + 1, conditions, special);
    } else if (special && kind >= 7) {
      item.kind = kind == 7 ? Item::Kind::add : Item::Kind::commute;
      item.a = item.a == item.x ? (item.x + 1) % Program::data : item.a;
    } else {
      item.kind = kind < 3 ? Item::Kind::stir : kind < 6 ? Item::Kind::mix : Item::Kind::set;
      item.a =
          item.kind == Item::Kind::set && item.a == item.x ? (item.x + 1) % Program::data : item.a;
    }
    items.push_back(std::move(item));
  }
  return items;
}

struct SetFlag : hs::Task<2>::Signature<hs::R<Word>, hs::W<int>> {
  static void cpu(Word const& from, int& flag) { flag = static_cast<int>((from >> 40U) % 4); }
};

struct CountDown : hs::Task<1>::Signature<hs::RW<int>> {
  static void cpu(int& flag) { --flag; }
};

struct Memory {
  std::array<Word, Program::data> words{};
  std::array<int, Program::flags> flags{};

  Memory() {
    for (std::size_t k = 0; k < words.size(); ++k) {
      words[k] = 1000 + k;
    }
  }

  bool operator==(Memory const&) const = default;
};

void run_plain(std::vector<Item> const& items, Memory& m, Word more) {
  for (auto const& item : items) {
    auto& x = m.words[item.x];
    switch (item.kind) {
    case Item::Kind::stir:
      Stir::cpu(item.value + more, x);
      break;
    case Item::Kind::mix:
      Mix::cpu(m.words[item.a], m.words[item.b], x);
      break;
    case Item::Kind::set:
      Set::cpu(item.value + more, m.words[item.a], x);
      break;
    case Item::Kind::add:
      x += m.words[item.a];
      break;
    case Item::Kind::commute:
      x += item.value + more;
      break;
    case Item::Kind::branch:
      SetFlag::cpu(m.words[item.a], m.flags[item.x]);
      if (m.flags[item.x] != 0) {
        run_plain(item.inner, m, more);
      }
      break;
    case Item::Kind::loop:
      SetFlag::cpu(m.words[item.a], m.flags[item.x]);
      while (m.flags[item.x] != 0) {
        run_plain(item.inner, m, more);
        CountDown::cpu(m.flags[item.x]);
      }
      break;
    }
  }
}

template <class Rt>
class Tasks {
public:
  Tasks(Rt& rt, Memory& m) : rt_(rt) {
    for (auto& word : m.words) {
      words_.push_back(rt.data(word));
    }
    for (auto& flag : m.flags) {
      flags_.push_back(rt.data(flag));
    }
  }

  void spawn(std::vector<Item> const& items, Word more) {
    for (auto const& item : items) {
      auto const priority = hs::priority(static_cast<int>(item.value % 3));
      switch (item.kind) {
      case Item::Kind::stir:
        rt_.template spawn<Stir>(priority)(item.value + more, words_[item.x]);
        break;
      case Item::Kind::mix:
        rt_.template spawn<Mix>(hs::label("mix"))(words_[item.a], words_[item.b], words_[item.x]);
        break;
      case Item::Kind::set:
        rt_.template spawn<Set>()(item.value + more, words_[item.a], words_[item.x]);
        break;
      case Item::Kind::add:
        rt_.template spawn<Add>()(words_[item.a], words_[item.x]);
        break;
      case Item::Kind::commute:
        rt_.template spawn<Swap>()(item.value + more, words_[item.x]);
        break;
      case Item::Kind::branch:
        rt_.template spawn<SetFlag>()(words_[item.a], flags_[item.x]);
        rt_.spawn_if(flags_[item.x], [&] { spawn(item.inner, more); });
        break;
      case Item::Kind::loop:
        rt_.template spawn<SetFlag>()(words_[item.a], flags_[item.x]);
        rt_.spawn_while(flags_[item.x], [&] {
          spawn(item.inner, more);
          rt_.template spawn<CountDown>()(flags_[item.x]);
        });
        break;
      }
    }
  }

private:
  Rt& rt_;
  std::vector<hs::Handle<Word>> words_;
  std::vector<hs::Handle<int>> flags_;
};

/// Runs a program four times as a captured graph, with new values before the third.
template <class Scheduler>
void check_program(std::uint64_t seed, int workers, bool conditions, bool special) {
  CAPTURE(seed);
  Draw draw{seed};
  Program const program{draw_items(draw, 1 + draw(30), 0, conditions, special)};
  Memory plain;
  Memory memory;
  auto config = on_cpus(workers);
  config.seed = seed;
  hs::Runtime<Scheduler> rt(config);
  Tasks tasks(rt, memory);
  auto const graph = rt.capture([&] { tasks.spawn(program.items, 0); });
  for (Word run = 0; run < 4; ++run) {
    auto const more = run < 2 ? Word{0} : run;
    if (run >= 2) {
      rt.update(graph, [&] { tasks.spawn(program.items, more); });
    }
    rt.run(graph);
    run_plain(program.items, plain, more);
    REQUIRE(memory == plain);
  }
  tasks.spawn(program.items, 9); // spawns wait for conditions themselves
  rt.sync();
  run_plain(program.items, plain, 9);
  REQUIRE(memory == plain);
}

TEST_SUITE_BEGIN("replay");

TEST_CASE_TEMPLATE("replay: random graphs with conditions, loops and new values are as plain code",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  auto const all = support::env_or("HETSCHED_TEST_GRAPHS", support::seeds(60, 20));
  for (std::uint64_t seed = 1; seed <= all; ++seed) {
    check_program<Scheduler>(seed, 1 + static_cast<int>(seed % 4), seed % 3 != 0, seed % 5 == 0);
  }
}

/// Notes which records the scheduler was given, in the order of the graph.
struct Noting : OldestFirst {
  static inline std::vector<std::uint64_t> records;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    records.push_back(task.value & ((std::uint64_t{1} << 48U) - 1));
    return OldestFirst::push(ctx, task, worker);
  }
};

TEST_CASE(
    "replay: from the second run on the same records are run, until something else needs them") {
  hs::Runtime<Noting> rt(on_cpus(1));
  Word x = 1;
  auto const hx = rt.data(x);
  auto const run = [&](hs::CapturedGraph const& graph) {
    Noting::records.clear();
    rt.run(graph);
    return Noting::records;
  };
  auto const spawns = [&] {
    for (Word k = 0; k < 5; ++k) {
      rt.spawn<Stir>()(k, hx);
    }
  };
  auto const graph = rt.capture(spawns);
  (void)run(graph);
  auto const second = run(graph);
  CHECK(second.size() == 5);
  spawns(); // takes other records
  rt.sync();
  CHECK(run(graph) == second);
  CHECK(rt.stats().executed == 20);
  CHECK(rt.stats().spawned == 20);

  Word y = 1;
  auto const hy = rt.data(y);
  auto const commuting = rt.capture([&] { rt.spawn<Swap>()(1, hy); });
  for (int k = 0; k < 3; ++k) {
    rt.run(commuting);
  }
  CHECK(y == 4);
}

TEST_CASE("replay: every task is given its by-value arguments anew, and they are destroyed") {
  auto const shared = std::make_shared<int>(1);
  int sum = 0;
  {
    hs::Runtime<> rt(on_cpus(2));
    auto const h = rt.data(sum);
    auto const graph = rt.capture([&] {
      for (int k = 0; k < 3; ++k) {
        rt.spawn()(
            [](int& s, std::vector<int>& mine, std::shared_ptr<int>& p) {
              s += mine.back() + *p;
              mine.push_back(1000); // only in its own copy
              p.reset();
            },
            hs::read_write(h),
            std::vector<int>{1, k},
            shared);
      }
    });
    CHECK(shared.use_count() == 4);
    for (int run = 1; run <= 3; ++run) {
      rt.run(graph);
      CHECK(sum == 6 * run);
      CHECK(shared.use_count() == 4);
    }
  }
  CHECK(shared.use_count() == 1);
}

struct Picky {
  static inline int copies_left = 0;
  static inline int alive = 0;

  Picky() { ++alive; }

  Picky(Picky const&) {
    if (copies_left-- == 0) {
      throw std::runtime_error("no copy");
    }
    ++alive;
  }

  ~Picky() { --alive; }
};

TEST_CASE("replay: a copy of a by-value argument that throws ends the run before it begins") {
  Picky::alive = 0;
  {
    hs::Runtime<> rt(on_cpus(2));
    int x = 0;
    int go = 0;
    auto const hx = rt.data(x);
    auto const hgo = rt.data(go);
    Picky::copies_left = 1000;
    Picky const picky;
    auto const count = [&] {
      rt.spawn()([](int& v, Picky const&) { ++v; }, hs::read_write(hx), picky);
    };
    auto const graph = rt.capture([&] {
      count();
      count();
      rt.spawn_if(hgo, [&] { count(); });
    });
    rt.run(graph);
    auto const before = Picky::alive;
    Picky::copies_left = 1;
    CHECK_THROWS_AS(rt.run(graph), std::runtime_error);
    CHECK(Picky::alive == before);
    CHECK(x == 2);
    go = 1;
    Picky::copies_left = 2; // those outside, not that of the block
    CHECK_THROWS_AS(rt.run(graph), std::runtime_error);
    CHECK(Picky::alive == before);
    CHECK(x == 4);
    Picky::copies_left = 1000;
    rt.run(graph);
    CHECK(x == 7);
  }
  CHECK(Picky::alive == 0);
}

TEST_CASE_TEMPLATE("replay: a failure skips what needs the data, is rethrown, and is over then",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  Word x = 1, y = 1, z = 1, w = 1;
  int go = 0;
  std::atomic<bool> fails{false};
  auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z), hw = rt.data(w);
  auto const hgo = rt.data(go);
  auto const graph = rt.capture([&] {
    rt.spawn()([](int& g) { g = 2; }, hs::write(hgo));
    rt.spawn()(
        [&](Word& v) {
          if (fails) {
            throw std::logic_error("as it was told to");
          }
          v += 1;
        },
        hs::read_write(hx));
    rt.template spawn<Set>()(1, hx, hy);                     // needs x
    rt.spawn()([](Word& v) { v += 1; }, hs::read_write(hz)); // does not
    rt.spawn_while(hgo, [&] {
      rt.spawn()([](Word const&, int& g) { --g; }, hs::read(hy), hs::read_write(hgo));
      rt.spawn()([](Word& v) { v += 1; }, hs::read_write(hw));
    });
    rt.spawn()([](Word& v) { v = 7; }, hs::write(hx)); // x is good again
    rt.spawn()([](Word const& v, Word& to) { to += v; }, hs::read(hx), hs::read_write(hz));
  });
  for (int run = 0; run < 4; ++run) {
    CAPTURE(run);
    auto const before = std::array{x, y, z, w};
    fails = run % 2 == 1;
    if (!fails) {
      CHECK_NOTHROW(rt.run(graph));
      CHECK(x == 7);
      CHECK(y == stirred(before[0] + 1, 1));
      CHECK(w == before[3] + 2);
    } else {
      CHECK_THROWS_AS(rt.run(graph), std::logic_error);
      CHECK(y == before[1]);
      // The loop wants y for its first step, but it may have begun: what it does besides is its
      // own.
      CHECK(w - before[3] <= 1);
      CHECK(x == 7);
    }
    CHECK(z == before[2] + 8);
    CHECK_NOTHROW(rt.sync());
  }
}

TEST_CASE("replay: tasks of a cancelled group are skipped, and a loop of them ends") {
  hs::Runtime<> rt(on_cpus(2));
  int go = 1, x = 0;
  auto const hgo = rt.data(go);
  auto const hx = rt.data(x);
  hs::TaskGroup group(rt);
  auto const graph = rt.capture([&] {
    rt.spawn_while(hgo, [&] {
      rt.spawn(hs::in(group))(
          [](int& g, int& v) { g = ++v % 3; }, hs::read_write(hgo), hs::read_write(hx));
    });
    rt.spawn(hs::in(group))([](int& v) { v += 100; }, hs::read_write(hx));
  });
  for (int run = 0; run < 3; ++run) { // spawned, replayed, replayed
    go = 1;
    x = 0;
    rt.run(graph);
    CHECK(x == 103);
    rt.sync(group);
  }
  go = 1;
  x = 0;
  group.cancel();
  rt.run(graph);
  CHECK(x == 0);
  CHECK(go == 1);
}

TEST_CASE_TEMPLATE("replay: what other threads spawn on the data comes before or after a run",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(3));
  std::array<int, 8> v{};
  std::vector<hs::Handle<int>> h;
  for (auto& x : v) {
    h.push_back(rt.data(x));
  }
  // A run leaves all equal; so does each task of the other thread.
  auto const graph = rt.capture([&] {
    for (int round = 0; round < 3; ++round) {
      for (auto const& x : h) {
        rt.spawn()([](int& value) { ++value; }, hs::read_write(x));
      }
    }
  });
  rt.run(graph); // by spawns, between which others would come
  std::atomic<bool> mixed{false};
  constexpr int extra = 300; // a run waits for them, too, so there is an end
  std::atomic<int> spawned{0};
  std::thread other([&] {
    for (int task = 0; task < extra; ++task) {
      rt.spawn()(
          [&](hs::Each<int> const& all) {
            for (std::size_t k = 0; k < all.size(); ++k) {
              mixed = mixed || all[k] != all[0];
            }
            for (std::size_t k = 0; k < all.size(); ++k) {
              ++all[k];
            }
          },
          hs::read_write(h));
      ++spawned;
      std::this_thread::yield();
    }
  });
  int runs = 1;
  for (; runs < 20 || spawned < extra; ++runs) {
    rt.run(graph);
  }
  other.join();
  rt.sync();
  CHECK(!mixed);
  for (int const x : v) {
    CHECK(x == 3 * runs + extra);
  }
}

TEST_CASE("replay: recorded, explained, limited and by classes of worker, runs are spawned anew") {
  auto const check = [](hs::Config const& config, bool classes) {
    hs::Runtime<> rt(config);
    Word x = 1;
    int go = 0;
    auto const hx = rt.data(x);
    auto const hgo = rt.data(go);
    auto const graph = rt.capture([&] {
      rt.spawn()([](int& g) { g = 3; }, hs::write(hgo));
      rt.spawn_while(hgo, [&] {
        rt.spawn<Stir>()(1, hx);
        rt.spawn()([](int& g) { --g; }, hs::read_write(hgo));
      });
      rt.spawn_if(hgo, [&] { rt.spawn<Stir>()(2, hx); });
    });
    std::vector<hs::ArchMask> const allowed(4, hs::ArchMask::only(hs::ArchHost));
    for (int run = 0; run < 3; ++run) {
      rt.run(graph,
             classes ? std::span<hs::ArchMask const>(allowed) : std::span<hs::ArchMask const>());
    }
    Word expected = 1;
    for (int k = 0; k < 9; ++k) {
      expected = stirred(expected, 1);
    }
    CHECK(x == expected);
    return rt.stats().executed;
  };
  auto config = on_cpus(2);
  CHECK(check(config, true) == 21);
  config.max_live_tasks = 2;
  CHECK(check(config, false) == 21);
  config = on_cpus(2);
  config.explain = "replay_test";
  CHECK(check(config, false) == 21);
  config = on_cpus(2);
  config.record = true;
  CHECK(check(config, false) == 21);
}

TEST_CASE("replay: one graph can be run by several threads at once") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 0;
  auto const h = rt.data(x);
  auto const graph = rt.capture([&] {
    for (int k = 0; k < 4; ++k) {
      rt.spawn()([](int& v) { ++v; }, hs::read_write(h));
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int run = 0; run < 40; ++run) {
        rt.run(graph);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(x == 3 * 40 * 4);
}

TEST_CASE("replay: the graph and its copies may outlive the runtime") {
  std::optional<hs::CapturedGraph> graph;
  int x = 0;
  {
    hs::Runtime<> rt(on_cpus(2));
    auto const h = rt.data(x);
    graph = rt.capture([&] {
      rt.spawn()([](int& v, std::string const& s) { v += static_cast<int>(s.size()); },
                 hs::read_write(h),
                 std::string(100, 'x'));
    });
    rt.run(*graph);
    rt.run(*graph);
  }
  CHECK(x == 200);
  graph.reset();
}

TEST_CASE("replay: data that a task may not use are refused, and may be used again later") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4, 0);
  auto const h = rt.data(v);
  auto const graph =
      rt.capture([&] { rt.spawn()([](hs::VectorView<int> all) { ++all[0]; }, hs::read_write(h)); });
  rt.run(graph);
  rt.run(graph);
  {
    auto parts = rt.partition(h, hs::block_rows(2));
    CHECK(code_of([&] { rt.run(graph); }) == hs::ErrorCode::bad_access);
    rt.join(parts);
  }
  rt.run(graph);
  CHECK(v[0] == 3);
}

TEST_CASE("replay: tasks may name a datum twice, take lists, and spawn") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  std::vector<Word> v(20, 1);
  std::vector<hs::Handle<Word>> h;
  for (auto& x : v) {
    h.push_back(rt.data(x));
  }
  Word sum = 0;
  auto const hsum = rt.data(sum);
  auto const graph = rt.capture([&] {
    for (auto const& x : h) {
      rt.spawn<Mix>()(x, x, x);
    }
    rt.spawn()(
        [](hs::Each<Word const> const& all, Word& s) {
          for (std::size_t k = 0; k < all.size(); ++k) {
            s += all[k];
          }
        },
        hs::read(h),
        hs::read_write(hsum));
    rt.spawn()(
        [](Rt& inner, hs::Handle<Word> const& s) {
          inner.spawn<Stir>()(5, s);
          inner.spawn<Stir>()(6, s);
        },
        hs::read_write(hsum));
  });
  auto plain = v;
  Word plain_sum = 0;
  for (int run = 0; run < 4; ++run) {
    rt.run(graph);
    for (auto& x : plain) {
      x = stirred(x, 4 * x);
      plain_sum += x;
    }
    plain_sum = stirred(stirred(plain_sum, 5), 6);
    CHECK(v == plain);
    CHECK(sum == plain_sum);
  }
}

TEST_CASE("replay: a temporary is written anew by each run") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 1;
  auto const h = rt.data(x);
  auto const t = rt.temporary<int>();
  auto const graph = rt.capture([&] {
    rt.spawn()([](int const& v, int& to) { to = 2 * v; }, hs::read(h), hs::write(t));
    rt.spawn()([](int const& from, int& v) { v += from; }, hs::read(t), hs::read_write(h));
  });
  for (int run = 0; run < 4; ++run) {
    rt.run(graph);
  }
  CHECK(x == 81);
}

TEST_CASE("update: names the first task that is another one, and changes nothing then") {
  hs::Runtime<> rt(on_cpus(1));
  Word x = 0, y = 0;
  int go = 1;
  auto const hx = rt.data(x), hy = rt.data(y);
  auto const hgo = rt.data(go);
  auto const graph = rt.capture([&] {
    rt.spawn<Stir>()(1, hx);
    rt.spawn<Stir>()(2, hy);
    rt.spawn_if(hgo, [&] { rt.spawn<Stir>()(3, hx); });
  });
  auto const refused = [&](auto&& spawns, std::string const& why) {
    auto const error = error_of([&] { rt.update(graph, spawns); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_call);
    CHECK(std::string(error->what()).find(why) != std::string::npos);
  };
  refused(
      [&] {
        rt.spawn<Stir>()(10, hx);
        rt.spawn<Stir>()(20, hx);
      },
      "task 1 was '");
  refused([&] { rt.spawn<Stir>(hs::priority(1))(10, hx); }, "task 0");
  refused([&] { rt.spawn<Stir>()(10, hx); }, "was given 1 tasks for a graph of 3");
  refused(
      [&] {
        rt.spawn<Stir>()(10, hx);
        rt.spawn<Stir>()(20, hy);
        rt.spawn<Stir>()(30, hx);
      },
      "other conditions");
  refused(
      [&] {
        rt.spawn<Stir>()(10, hx);
        rt.spawn<Stir>()(20, hy);
        rt.spawn_while(hgo, [&] { rt.spawn<Stir>()(30, hx); });
      },
      "other conditions");
  rt.run(graph);
  CHECK(x == stirred(stirred(0, 1), 3));
  CHECK(y == stirred(0, 2));
  auto const copy = graph;
  rt.update(copy, [&] {
    rt.spawn<Stir>()(10, hx);
    rt.spawn<Stir>()(20, hy);
    rt.spawn_if(hgo, [&] { rt.spawn<Stir>()(30, hx); });
  });
  x = 0;
  rt.run(graph);
  CHECK(x == stirred(stirred(0, 10), 30));

  hs::Runtime<> other(on_cpus(1));
  CHECK(code_of([&] { other.update(graph, [] {}); }) == hs::ErrorCode::bad_call);
}

TEST_CASE("conditions: in a body, by other types, and of blocks without tasks") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  double left = 3;
  bool never = false;
  int x = 0;
  auto const hleft = rt.data(left);
  auto const hnever = rt.data(never);
  auto const hx = rt.data(x);
  auto const steps = [](auto& runtime, auto const& l, auto const& n, auto const& v) {
    runtime.spawn_while(l, [&] {
      runtime.spawn()(
          [](double& d, int& i) {
            d -= 1;
            ++i;
          },
          hs::read_write(l),
          hs::read_write(v));
      runtime.spawn_if(n, [&] { runtime.spawn()([](int& i) { i = -1000; }, hs::write(v)); });
      runtime.spawn_if(l, [] {});
    });
  };
  rt.spawn()([&](Rt& inner,
                 hs::Handle<double> const& l,
                 hs::Handle<bool> const& n,
                 hs::Handle<int> const& v) { steps(inner, l, n, v); },
             hs::read_write(hleft),
             hs::read(hnever),
             hs::read_write(hx));
  rt.sync();
  CHECK(x == 3);
  auto const graph = rt.capture([&] { steps(rt, hleft, hnever, hx); });
  CHECK(graph.tasks().size() == 2);
  for (int run = 0; run < 3; ++run) {
    left = 2;
    rt.run(graph);
  }
  CHECK(x == 9);
  CHECK(left == 0);
}

struct Preparing : OldestFirst {
  static inline std::vector<std::size_t> sizes;
  static inline std::vector<int> nodes;

  void prepare(hs::placement_context auto const&, hs::TaskGraph const& graph) {
    sizes.push_back(graph.size());
  }

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    nodes.push_back(ctx.task(task).graph_node);
    return OldestFirst::push(ctx, task, worker);
  }
};

TEST_CASE("conditions: one that prepares is shown each part without conditions as a graph") {
  hs::Runtime<Preparing> rt(on_cpus(1));
  int go = 0, x = 0;
  auto const hgo = rt.data(go);
  auto const hx = rt.data(x);
  auto const graph = rt.capture([&] {
    rt.spawn()([](int& g) { g = 2; }, hs::write(hgo));
    rt.spawn()([](int& v) { ++v; }, hs::read_write(hx));
    rt.spawn_while(hgo, [&] {
      rt.spawn()([](int& g, int& v) { v += --g; }, hs::read_write(hgo), hs::read_write(hx));
    });
    rt.spawn()([](int& v) { v *= 10; }, hs::read_write(hx));
  });
  for (int run = 0; run < 2; ++run) {
    Preparing::sizes.clear();
    Preparing::nodes.clear();
    rt.run(graph);
    CHECK(Preparing::sizes == std::vector<std::size_t>{2, 1, 1, 1});
    CHECK(Preparing::nodes == std::vector<int>{0, 1, 0, 0, 0});
  }
  CHECK(x == 220);
  CHECK(graph.tasks().size() == 4);
  CHECK(graph.tasks().predecessor_count(2) == 2); // what sets its condition, and x
}

TEST_CASE("conditions: refused where they make no sense") {
  hs::Runtime<> rt(on_cpus(1));
  hs::Runtime<> other(on_cpus(1));
  int go = 1, x = 0;
  auto const hgo = other.data(go);
  auto const hx = rt.data(x);
  CHECK(code_of([&] {
          (void)rt.capture([&] {
            rt.spawn_if(hgo, [&] { rt.spawn()([](int& v) { ++v; }, hs::read_write(hx)); });
          });
        }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { rt.spawn_while(hs::Handle<int>(), [] {}); }) == hs::ErrorCode::bad_data);

  auto const graph = rt.capture([&] {
    CHECK_THROWS_AS(rt.spawn_if(hx,
                                [&] {
                                  rt.spawn()([](int& v) { ++v; }, hs::read_write(hx));
                                  throw std::logic_error("in a block");
                                }),
                    std::logic_error);
    rt.spawn()([](int& v) { v += 10; }, hs::read_write(hx));
  });
  CHECK(graph.tasks().size() == 2);
  x = 1;
  rt.run(graph);
  rt.run(graph);
  CHECK(x == 23);
}

TEST_SUITE_END();

} // namespace replay_test
