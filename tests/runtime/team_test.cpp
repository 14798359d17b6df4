// SPDX-License-Identifier: MIT
// Workers that are groups of cores, and what bodies do with them.

#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using support::allowed_cpus;

namespace team_test {

using Numbers = hs::VectorView<int>;

hs::Config in_groups(int cpus, int group) {
  auto config = support::on_cpus(cpus);
  config.group = group;
  return config;
}

TEST_SUITE_BEGIN("team");

TEST_CASE("team: of one outside of tasks, and where workers are single cores") {
  std::vector<int> members;
  auto const note = [&](int member) { members.push_back(member); };
  CHECK(hs::team().size() == 1);
  hs::team().run(note);
  hs::Runtime<> rt(support::on_cpus(2));
  rt.spawn()([&] {
    CHECK(hs::team().size() == 1);
    hs::team().run(note);
  });
  rt.sync();
  CHECK(members == std::vector{0, 0});
}

TEST_CASE("team: its members run at the same time, on threads of their own") {
  hs::Runtime<> rt(in_groups(2, 3));
  CHECK(rt.workers().size() == 2);
  CHECK(rt.workers()[1].cores == 3);
  std::vector<std::set<std::thread::id>> threads(4);
  for (auto& members : threads) {
    rt.spawn()([&] {
      std::vector<std::thread::id> here(3);
      support::Meeting meeting(3);
      std::atomic<bool> met{true};
      REQUIRE(hs::team().size() == 3);
      hs::team().run([&](int member) {
        here[static_cast<std::size_t>(member)] = std::this_thread::get_id();
        met = meeting.meet() && met;
      });
      CHECK(met);
      CHECK(here[0] == std::this_thread::get_id());
      members.insert(here.begin(), here.end());
    });
  }
  rt.sync();
  for (auto const& members : threads) {
    CHECK(members.size() == 3);
  }
  CHECK(hs::team().size() == 1);
}

TEST_CASE("team: what two workers' teams write, later tasks see") {
  constexpr int rounds = 200;
  hs::Runtime<> rt(in_groups(2, 2));
  std::vector<std::vector<int>> numbers(6, std::vector<int>(100));
  std::vector<hs::Handle<Numbers>> handles;
  for (auto& vector : numbers) {
    handles.push_back(rt.data(vector));
  }
  auto const add_one = [](Numbers v) {
    hs::team().split(v.size(), 8, [&](std::size_t begin, std::size_t end) {
      for (auto k = begin; k < end; ++k) {
        ++v[k];
      }
    });
  };
  for (int round = 0; round < rounds; ++round) {
    for (auto const& handle : handles) {
      rt.spawn()(add_one, hs::read_write(handle));
    }
  }
  rt.sync();
  for (auto const& vector : numbers) {
    CHECK(vector == std::vector<int>(100, rounds));
  }
}

TEST_CASE("team: split leaves nothing out and divides at the grain") {
  hs::Runtime<> rt(in_groups(1, 3));
  rt.spawn()([] {
    for (std::size_t const grain : {1, 4, 7, 100}) {
      for (std::size_t count = 0; count < 50; ++count) {
        std::vector<std::atomic<int>> calls(count);
        std::atomic<int> parts{0};
        std::atomic<bool> at_grain{true};
        hs::team().split(count, grain, [&](std::size_t begin, std::size_t end) {
          ++parts;
          at_grain = at_grain && begin % grain == 0 && (end == count || end % grain == 0);
          for (auto k = begin; k < end; ++k) {
            ++calls[k];
          }
        });
        CAPTURE(count);
        CAPTURE(grain);
        CHECK(at_grain);
        CHECK(parts == static_cast<int>(std::min<std::size_t>(3, (count + grain - 1) / grain)));
        CHECK(std::all_of(
            calls.begin(), calls.end(), [](auto& calls_of_one) { return calls_of_one == 1; }));
      }
    }
  });
  rt.sync();
}

TEST_CASE("team: a team in a team is one core") {
  hs::Runtime<> rt(in_groups(1, 2));
  std::atomic<int> calls{0};
  rt.spawn()([&] {
    hs::team().run([&](int) {
      if (hs::team().size() == 1) {
        hs::team().run([&](int) { ++calls; });
      }
    });
    CHECK(hs::team().size() == 2);
  });
  rt.sync();
  CHECK(calls == 2);
}

TEST_CASE("team: an exception waits for the others, then it is the task's") {
  hs::Runtime<> rt(in_groups(1, 3));
  for (int const thrower : {0, 2}) {
    std::atomic<int> ended{0};
    rt.spawn()([&] {
      hs::team().run([&](int member) {
        if (member == thrower) {
          throw std::runtime_error("member " + std::to_string(member));
        }
        std::this_thread::yield();
        ++ended;
      });
    });
    auto const what = "member " + std::to_string(thrower);
    CHECK_THROWS_WITH_AS(rt.sync(), what.c_str(), std::runtime_error);
    CHECK(ended == 2);
  }
  std::atomic<int> ran{0}; // the team stays usable
  rt.spawn()([&] { hs::team().run([&](int) { ++ran; }); });
  rt.sync();
  CHECK(ran == 3);
}

TEST_CASE("team: a body in a sync gives its team to the tasks that run meanwhile") {
  hs::Runtime<> rt(in_groups(1, 2));
  std::vector<int> sizes;
  rt.spawn()([&](hs::Runtime<>& here) {
    here.spawn()([&] { sizes.push_back(hs::team().size()); });
    here.sync();
    sizes.push_back(hs::team().size());
  });
  rt.sync();
  CHECK(sizes == std::vector{2, 2});
}

TEST_CASE("team: as many workers as there are groups; cores are bound one by one") {
  auto const cores = static_cast<int>(allowed_cpus().size());
  if (cores < 2) {
    MESSAGE("not tested: this machine has one core");
    return;
  }
  hs::Config config{.bind = hs::Bind::cores};
  config.group = 2;
  hs::Runtime<> rt(config);
  CHECK(static_cast<int>(rt.workers().size()) <= cores / 2);
  std::vector<std::vector<int>> cpus(2);
  rt.spawn()([&] {
    hs::team().run([&](int member) { cpus[static_cast<std::size_t>(member)] = allowed_cpus(); });
  });
  rt.sync();
  CHECK(cpus[0].size() == 1);
  CHECK(cpus[1].size() == 1);
  CHECK(cpus[0] != cpus[1]);
}

TEST_SUITE_END();

} // namespace team_test
