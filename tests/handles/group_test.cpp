// SPDX-License-Identifier: MIT
// Groups: waiting for some tasks, and cancelling them.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

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

/// Tasks on some data and in some groups, of which some wait for a group: in their bodies, or in
/// the bodies of children. Nothing waits in a circle.
class WaitingProgram {
public:
  explicit WaitingProgram(unsigned seed)
      : random_(seed), tasks_(5 + draw(30)), data_(1 + draw(6)), groups_(1 + draw(5)),
        before_(tasks_.size(), std::vector<char>(tasks_.size())) {
    std::vector<std::vector<std::size_t>> members(groups_);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      auto& task = tasks_[i];
      task.data = {draw(data_ + 1), draw(data_ + 1)};
      task.group = draw(2 * groups_);
      if (task.group < groups_) {
        members[task.group].push_back(i);
      }
      for (std::size_t j = 0; j < i; ++j) {
        before_[j][i] = task.shares_data(tasks_[j], data_) ? 1 : 0;
      }
    }
    close();
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      auto const i = draw(tasks_.size());
      auto const group = draw(groups_);
      auto const& needed = members[group];
      if (tasks_[i].waits == none && std::none_of(needed.begin(), needed.end(), [&](auto m) {
            return m == i || before_[i][m] != 0;
          })) {
        tasks_[i].waits = group;
        tasks_[i].how = draw(3);
        for (auto const m : needed) {
          before_[m][i] = 1;
        }
        close();
      }
    }
  }

  /// Whether every task has run.
  template <class Scheduler>
  [[nodiscard]] bool run(int cpus) {
    using Rt = hs::Runtime<Scheduler>;
    auto config = on_cpus(cpus);
    config.max_live_tasks = draw(3) == 0 ? 1 + draw(20) : 0;
    Rt rt(config);
    std::vector<int> values(data_ + 1); // the last is a task's own
    std::vector<hs::Handle<int>> handles;
    for (auto& value : values) {
      handles.push_back(rt.data(value));
    }
    std::deque<hs::TaskGroup> groups;
    for (std::size_t k = 0; k < 2 * groups_; ++k) {
      groups.emplace_back(rt);
    }
    std::atomic<std::size_t> ran{0};
    for (auto const& task : tasks_) {
      auto const wait = [&groups, &task](Rt& inner) {
        if (task.waits != none) {
          inner.sync(groups[task.waits]);
        }
      };
      auto const body = [&ran, &task, wait](Rt& inner, auto const&...) {
        ++ran;
        if (task.how == 0) {
          wait(inner);
        } else {
          inner.spawn()([wait](Rt& innermost) { wait(innermost); });
        }
        if (task.how != 1) {
          inner.spawn()([] {});
          inner.sync();
        }
      };
      auto const spawned = rt.spawn(hs::in(groups[task.group]));
      auto const [a, b] = task.data;
      if (a == data_ && b == data_) {
        spawned(body);
      } else {
        spawned(body,
                hs::read_write(handles[a == data_ ? b : a]),
                hs::read_write(handles[b == data_ ? a : b]));
      }
    }
    rt.sync();
    return ran == tasks_.size();
  }

private:
  static constexpr std::size_t none = SIZE_MAX;

  struct Task {
    std::array<std::size_t, 2> data;
    std::size_t group;
    std::size_t waits = none; // for that group
    std::size_t how = 2;      // 0: itself; 1: a child; 2: a child, for which it waits

    [[nodiscard]] bool shares_data(Task const& other, std::size_t no_data) const {
      return std::any_of(data.begin(), data.end(), [&](std::size_t datum) {
        return datum != no_data && (datum == other.data[0] || datum == other.data[1]);
      });
    }
  };

  std::size_t draw(std::size_t below) { return random_() % below; }

  /// What is before something that is before a task is before that task.
  void close() {
    auto const count = before_.size();
    for (std::size_t via = 0; via < count; ++via) {
      for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; before_[from][via] != 0 && to < count; ++to) {
          before_[from][to] |= before_[via][to];
        }
      }
    }
  }

  std::minstd_rand random_;
  std::vector<Task> tasks_;
  std::size_t data_;
  std::size_t groups_; // for which tasks wait; as many more are not waited for
  std::vector<std::vector<char>> before_;
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

// A waits for D, B for C, and C for what A holds. B runs while A waits, C needs the end of A.
TEST_CASE_TEMPLATE("group: bodies that wait for groups do not wait for each other's stacks",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  for (int cpus = 1; cpus <= 4; ++cpus) {
    Rt rt(on_cpus(cpus));
    support::Gate all_spawned;
    int x = 0;
    int seen = 0; // of x, which B may not read
    bool ran = false;
    auto const hx = rt.data(x);
    hs::TaskGroup before_a(rt);
    hs::TaskGroup before_b(rt);
    rt.spawn()(
        [&](Rt& inner, hs::Handle<int> const&) {
          (void)all_spawned.pass();
          inner.sync(before_a);
        },
        hs::read_write(hx));
    rt.spawn()([&](Rt& inner) {
      (void)all_spawned.pass();
      inner.sync(before_b);
      ran = seen == 1;
    });
    rt.spawn(hs::in(before_b))([&](int& v) { seen = ++v; }, hs::read_write(hx));
    rt.spawn(hs::in(before_a))([] {});
    all_spawned.open();
    rt.sync();
    CHECK(ran);
  }
}

// Each task waits for the next one's group.
TEST_CASE_TEMPLATE("group: as many bodies may wait as there are tasks",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  for (int cpus = 1; cpus <= 2; ++cpus) {
    Rt rt(on_cpus(cpus));
    constexpr std::size_t count = 30;
    support::Gate all_spawned;
    std::deque<hs::TaskGroup> groups;
    std::array<int, count> values{};
    std::array<int, count> seen{}; // of values, which the others may not read
    std::vector<hs::Handle<int>> handles;
    for (auto& value : values) {
      groups.emplace_back(rt);
      handles.push_back(rt.data(value));
    }
    for (std::size_t k = 0; k + 1 < count; ++k) {
      rt.spawn(hs::in(groups[k]))(
          [&, k](Rt& inner, int& value) {
            (void)all_spawned.pass();
            inner.sync(groups[k + 1]);
            value = seen[k] = seen[k + 1] + 1;
            inner.spawn()([] {});
            inner.sync(); // with others of this worker waiting, too
          },
          hs::write(handles[k]));
    }
    rt.spawn(hs::in(groups[count - 1]))([&](int& value) { value = seen[count - 1] = 1; },
                                        hs::write(handles[count - 1]));
    all_spawned.open();
    rt.sync(groups[0]);
    CHECK(values[0] == static_cast<int>(count));
    rt.sync();
  }
}

// K, a child of A, waits for M, which comes after B. B has what it waited for, but A sits where B
// was.
TEST_CASE_TEMPLATE("group: a body goes on while another one of its worker waits for children",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  for (int cpus = 1; cpus <= 3; ++cpus) {
    Rt rt(on_cpus(cpus));
    int x = 0;
    int seen = 0; // of x, which K may not read
    bool right = false;
    auto const hx = rt.data(x);
    hs::TaskGroup before_b(rt);
    hs::TaskGroup of_m(rt);
    rt.spawn()(
        [&](Rt& inner, int& v) {
          inner.sync(before_b);
          v = 1;
        },
        hs::read_write(hx));
    rt.spawn(hs::in(of_m))([&](int& v) { seen = v = 2 * v + 1; }, hs::read_write(hx));
    rt.spawn(hs::in(before_b))([&](Rt& inner) { inner.sync(); });
    rt.spawn()([&](Rt& inner) {
      inner.spawn()([&](Rt& innermost) { innermost.sync(of_m); });
      inner.sync();
      right = seen == 3;
    });
    rt.sync();
    CHECK(right);
  }
}

// The last handle of x dies in a body and waits for C, which waits for what B below holds.
TEST_CASE("group: the end of a last handle in a body waits for no stack either") {
  using Rt = hs::Runtime<OldestFirst>;
  Rt rt(on_cpus(1));
  int x = 0;
  int y = 0;
  auto const hy = rt.data(y);
  hs::TaskGroup group(rt);
  auto last = std::make_shared<hs::Handle<int>>(rt.data(x));
  rt.spawn()([&](Rt& inner, hs::Handle<int> const&) { inner.sync(group); }, hs::read_write(hy));
  rt.spawn()([](int const&, int& v) { v = 1; }, hs::read(hy), hs::write(*last));
  auto handle = std::make_shared<std::shared_ptr<hs::Handle<int>>>(std::move(last));
  rt.spawn()([handle] { handle->reset(); });
  rt.spawn(hs::in(group))([] {});
  CHECK(support::code_of([&] { rt.sync(); }) == hs::ErrorCode::data_in_use);
  CHECK(x == 1);
}

TEST_CASE_TEMPLATE("group: random programs whose bodies wait for groups",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    WaitingProgram program(seed);
    for (int cpus = 1; cpus <= 4; ++cpus) {
      CHECK(program.template run<Scheduler>(cpus));
    }
  }
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
