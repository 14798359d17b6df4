// SPDX-License-Identifier: MIT
// The best distribution, which needs Cbc, against exhaustive search.

#include <hetsched/cluster/loopback_rma.hpp>
#include <hetsched/collections.hpp>
#include <hetsched/collections/optimal_distribution.hpp>
#include <hetsched/hetsched.hpp>

#include "../cluster/on_ranks.hpp"
#include "../support/dice.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace optimal_distribution_test {

using Tasks = std::vector<hs::TaskToPlace>;
using Loads = std::vector<std::int64_t>; // of all CPUs, then of all GPUs

/// Up to `most` tasks of up to `longest` ns. Some have one time only, some none; every other
/// instance has few different ones.
Tasks random_tasks(support::Dice& dice, int most, int longest) {
  Tasks tasks;
  bool const alike = dice.chance(50);
  for (int k = 1 + dice.below(most); k > 0; --k) {
    if (alike && !tasks.empty() && dice.chance(60)) {
      tasks.push_back(tasks[static_cast<std::size_t>(dice.below(static_cast<int>(tasks.size())))]);
      continue;
    }
    hs::TaskToPlace task;
    task.cpu = {dice.chance(15) ? 0 : 1 + dice.below(longest)};
    task.gpu = {dice.chance(15) ? 0 : 1 + dice.below(longest)};
    tasks.push_back(task);
  }
  return tasks;
}

/// Tasks of 10 to 100 ms on a CPU, and of half to 3.5 times the speed on a GPU.
Tasks many_tasks(int count) {
  support::Dice dice(1);
  Tasks tasks;
  for (int k = 0; k < count; ++k) {
    hs::TaskToPlace task;
    task.cpu = {10'000'000 + dice.below(90'000'000)};
    task.gpu = {task.cpu.ns * 1000 / (500 + dice.below(3000))};
    tasks.push_back(task);
  }
  return tasks;
}

/// Tasks without a time take a nanosecond on a CPU. 0 if the task cannot run there.
std::int64_t time_on(hs::TaskToPlace const& task, bool gpu) {
  if (task.cpu.ns == 0 && task.gpu.ns == 0) {
    return gpu ? 0 : 1;
  }
  return (gpu ? task.gpu : task.cpu).ns;
}

/// Goes through all distributions of the tasks from `next` on.
void search(Tasks const& tasks, std::size_t next, Loads& loads, std::int64_t& best) {
  if (next == tasks.size()) {
    best = std::min(best, *std::max_element(loads.begin(), loads.end()));
    return;
  }
  for (std::size_t w = 0; w < loads.size(); ++w) {
    auto const time = time_on(tasks[next], w >= loads.size() / 2);
    if (time != 0 && loads[w] + time < best) {
      loads[w] += time;
      search(tasks, next + 1, loads, best);
      loads[w] -= time;
    }
  }
}

std::int64_t shortest(Tasks const& tasks, int ranks) {
  Loads loads(2 * static_cast<std::size_t>(ranks));
  auto best = std::numeric_limits<std::int64_t>::max();
  search(tasks, 0, loads, best);
  return best;
}

template <class OnGpu>
std::int64_t makespan_of(Tasks const& tasks, int ranks, OnGpu const& on_gpu) {
  Loads loads(2 * static_cast<std::size_t>(ranks));
  for (std::size_t v = 0; v < tasks.size(); ++v) {
    REQUIRE(tasks[v].rank >= 0);
    REQUIRE(tasks[v].rank < ranks);
    auto const time = time_on(tasks[v], on_gpu(v));
    REQUIRE(time != 0);
    loads[static_cast<std::size_t>(tasks[v].rank + (on_gpu(v) ? ranks : 0))] += time;
  }
  return *std::max_element(loads.begin(), loads.end());
}

std::int64_t longest_first(Tasks tasks, int ranks) {
  hs::LongestFirst::place(tasks, ranks);
  return makespan_of(tasks, ranks, [&](std::size_t v) {
    return tasks[v].gpu.ns != 0 && (tasks[v].cpu.ns == 0 || tasks[v].cpu > tasks[v].gpu);
  });
}

/// Distributes tasks, and checks the certificate but for the bound.
hs::DistributionResult distribute(Tasks tasks, int ranks, hs::DistributionLimits const& limits) {
  auto const result = hs::distribute_optimally(tasks, ranks, limits);
  REQUIRE(result.on_gpu.size() == tasks.size());
  CHECK(result.makespan.ns ==
        makespan_of(tasks, ranks, [&](std::size_t v) { return bool{result.on_gpu[v]}; }));
  CHECK(result.makespan.ns <= longest_first(tasks, ranks));
  CHECK(result.lower_bound <= result.makespan);
  auto const makespan = static_cast<double>(result.makespan.ns);
  CHECK(result.proven ==
        (makespan - static_cast<double>(result.lower_bound.ns) <= limits.gap * makespan));
  return result;
}

TEST_SUITE_BEGIN("collections");

TEST_CASE("optimal distribution: the shortest of all where tasks are few, and it says so") {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    support::Dice dice(seed);
    int const ranks = 1 + dice.below(3);
    auto const tasks = random_tasks(dice, 7, 40);
    auto const best = shortest(tasks, ranks);
    auto const result = distribute(tasks, ranks, {});
    CHECK(result.proven);
    CHECK(result.makespan.ns == best);
    CHECK(result.lower_bound.ns == best);
    better += best < longest_first(tasks, ranks) ? 1 : 0;
  }
  CHECK(better >= 40);
}

TEST_CASE("optimal distribution: bounds hold whatever the limits, and with long times") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    support::Dice dice(seed + 1000);
    int const ranks = 1 + dice.below(3);
    auto const tasks = random_tasks(dice, 8, 1'000'000'000);
    auto const best = shortest(tasks, ranks);
    for (auto const time : {0, 200'000, 2'000'000}) {
      auto const result = distribute(tasks, ranks, {.time = {time}});
      CHECK(result.lower_bound.ns <= best);
    }
    for (auto const gap : {0.0, 0.05}) {
      auto const result = distribute(tasks, ranks, {.gap = gap});
      CHECK(result.lower_bound.ns <= best);
      CHECK((result.proven || gap == 0));
    }
  }
}

TEST_CASE("optimal distribution: tasks with the same times are counted together") {
  Tasks const tasks(41, hs::TaskToPlace{.cpu = {10}, .gpu = {10}});
  auto const result = distribute(tasks, 10, {}); // 20 workers: no two tasks for each are enough
  CHECK(result.proven);
  CHECK(result.makespan == hs::Duration{30});
  CHECK(result.lower_bound == hs::Duration{30});
}

TEST_CASE("optimal distribution: ends in time, with what it has") {
  using std::chrono::steady_clock;
  auto const begin = steady_clock::now();
  auto const result = distribute(many_tasks(432), 32, {.time = {1'000'000'000}});
  CHECK(steady_clock::now() - begin < std::chrono::seconds(30)); // it takes about 1
  CHECK(!result.proven); // else this shows nothing of limits
  CHECK(result.lower_bound.ns > result.makespan.ns / 100 * 99);
  auto const large = distribute(many_tasks(800), 64, {}); // the program is too large
  CHECK(steady_clock::now() - begin < std::chrono::seconds(60));
  CHECK(large.lower_bound.ns > large.makespan.ns / 100 * 99);
}

TEST_CASE("optimal distribution: takes sensible input only") {
  Tasks tasks;
  auto const nothing = hs::distribute_optimally(tasks, 3);
  CHECK(nothing.proven);
  CHECK(nothing.makespan == hs::Duration{});
  CHECK(nothing.lower_bound == hs::Duration{});
  CHECK(nothing.on_gpu.empty());
  CHECK_THROWS_WITH_AS(
      hs::distribute_optimally(tasks, 0), "hetsched: ranks: 0 is less than 1", hs::Error);
  CHECK_THROWS_WITH_AS(hs::distribute_optimally(tasks, 1, {.time = {-5}}),
                       "hetsched: DistributionLimits: time is -5 ns",
                       hs::Error);
  CHECK_THROWS_WITH_AS(hs::distribute_optimally(tasks, 1, {.gap = 1.5}),
                       "hetsched: DistributionLimits: gap 1.500000 is not in [0, 1]",
                       hs::Error);
  tasks = {{.cpu = {1}, .gpu = {1}}, {.cpu = {3}, .gpu = {-1}}};
  CHECK_THROWS_WITH_AS(
      hs::distribute_optimally(tasks, 1), "hetsched: task 1: takes -1 ns", hs::Error);
  tasks[1].gpu.ns = std::numeric_limits<std::int64_t>::max();
  hs::DistributionLimits limits;
  limits.time.ns = std::numeric_limits<std::int64_t>::max();
  CHECK(distribute(tasks, 1, limits).makespan == hs::Duration{3});
  tasks[1].cpu.ns = 0;
  CHECK_THROWS_WITH_AS(hs::distribute_optimally(tasks, 1),
                       "hetsched: tasks: take 2^61 ns or more in all",
                       hs::Error);
}

/// What `f` writes to the standard output.
template <class F>
std::string printed_by(F const& f) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stdout);
  int const saved = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  f();
  std::fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  std::string text(1000, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST_CASE("optimal distribution: says nothing, also when several threads ask for one") {
  std::vector<std::int64_t> found(3);
  Tasks const tasks{{{7}, {9}}, {{5}, {5}}, {{4}, {6}}, {{9}, {8}}, {{3}, {2}}};
  auto const printed = printed_by([&] {
    std::vector<std::thread> threads;
    for (auto& makespan : found) {
      threads.emplace_back([&tasks, &makespan] {
        for (int k = 0; k < 20; ++k) {
          auto mine = tasks;
          makespan += hs::distribute_optimally(mine, 2).makespan.ns;
        }
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
  });
  CHECK(printed == "");
  CHECK(found == std::vector<std::int64_t>(3, 20 * shortest(tasks, 2)));
}

struct Nothing : hs::Task<1>::Signature<int> {
  static void cpu(int /*k*/) {}
};

TEST_CASE("optimal distribution: a collection's tasks begin there") {
  hs::LoopbackRmaNetwork net(2);
  std::vector<std::uint64_t> completed(2);
  auto const thrown = on_ranks::each(2, [&](int rank) {
    auto transport = net.transport(rank);
    hs::Runtime<> rt(on_ranks::one_core());
    hs::GlobalArrays arrays(transport);
    hs::TaskCollection<hs::TaskTypes<Nothing>, hs::Runtime<>, hs::NoStealing, hs::Optimally<1>>
        tasks(arrays, rt);
    tasks.estimate<Nothing>([](int k) { return hs::EstimatedTimes{.cpu = {k}, .gpu = {}}; });
    if (rank == 1) {
      for (int const k : {3000, 3000, 2000, 2000, 2000}) { // the longest first: 7000 and 5000
        tasks.add<Nothing>()(k);
      }
    }
    tasks.process();
    completed[static_cast<std::size_t>(rank)] = tasks.stats().completed;
  });
  CHECK(thrown == std::vector<std::string>(2));
  std::sort(completed.begin(), completed.end());
  CHECK(completed == std::vector<std::uint64_t>{2, 3});
}

} // namespace optimal_distribution_test
