// SPDX-License-Identifier: MIT
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/bounds/cholesky_bound.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/best_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using schedules::best_assignment;
using schedules::BestSchedule;
using schedules::graph_of;
using schedules::random_graph;

namespace bounds_test {

TEST_SUITE_BEGIN("bounds");

TEST_CASE("bounds: a diamond") {
  //      1 (5)
  //     /     \            worker 0  |0|1    |3 |
  // 0 (1)      3 (2)       worker 1    |2 |
  //     \     /            time      0 1  4  6 8
  //      2 (3)
  auto const graph = graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  std::vector<Duration> const durations{{1}, {5}, {3}, {2}};
  CHECK(hs::critical_path(graph, durations) == Duration{8});
  CHECK(hs::bottom_levels(graph, durations) == std::vector<Duration>{{8}, {7}, {5}, {2}});
  CHECK(hs::area_bound(graph, durations, 1) == Duration{11});
  CHECK(hs::area_bound(graph, durations, 2) == Duration{6}); // 5.5 rounded up
  CHECK(hs::makespan_bound(graph, durations, 1) == Duration{11});
  CHECK(hs::makespan_bound(graph, durations, 2) == Duration{8});
  CHECK(BestSchedule(graph, durations, 2).makespan() == 8);
}

TEST_CASE("bounds: neither bound is reached") {
  // Three independent tasks of 2 on two workers:   |0 |1 |
  //                                                |2 |
  auto const graph = graph_of(3, {});
  std::vector<Duration> const durations(3, Duration{2});
  CHECK(hs::critical_path(graph, durations) == Duration{2});
  CHECK(hs::area_bound(graph, durations, 2) == Duration{3});
  CHECK(BestSchedule(graph, durations, 2).makespan() == 4);
}

TEST_CASE("bounds: no tasks, tasks of no length") {
  hs::TaskGraph const nothing;
  CHECK(hs::critical_path(nothing, {}) == Duration{});
  CHECK(hs::area_bound(nothing, {}, 3) == Duration{});
  CHECK(hs::mean_durations(nothing, {}).empty());
  auto const chain = graph_of(2, {{0, 1}});
  CHECK(hs::makespan_bound(chain, std::vector<Duration>(2), 1) == Duration{});
}

TEST_CASE("bounds: never above the best schedule of random graphs") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    auto const tasks = 1 + random() % 5;
    auto const graph = random_graph(tasks, random);
    std::vector<Duration> durations;
    std::int64_t work = 0;
    for (std::size_t v = 0; v < tasks; ++v) {
      durations.push_back({static_cast<std::int64_t>(random() % 10)});
      work += durations.back().ns;
    }
    for (int workers = 1; workers <= 3; ++workers) {
      auto const best = BestSchedule(graph, durations, workers).makespan();
      auto const bound = hs::makespan_bound(graph, durations, workers).ns;
      CHECK(bound <= best);
      CHECK(best <= hs::area_bound(graph, durations, workers).ns +
                        hs::critical_path(graph, durations).ns); // Graham's list scheduling
    }
    CHECK(hs::makespan_bound(graph, durations, 1).ns == work);
    CHECK(BestSchedule(graph, durations, static_cast<int>(tasks)).makespan() ==
          hs::critical_path(graph, durations).ns);
  }
}

TEST_CASE("bounds: means of measured types") {
  std::vector<hs::TaskGraph::Node> nodes(3);
  nodes[0].type = "a";
  nodes[1].type = "b";
  nodes[2].type = "a";
  hs::TaskGraph const graph(std::move(nodes), {});
  std::vector<hs::TypeStats> types{{"a", hs::ArchHost, 2, {7}, {3}, {4}},
                                   {"b", hs::ArchHost, 1, {9}, {9}, {9}},
                                   {"b", hs::ArchCUDA, 2, {4}, {2}, {2}},
                                   {"b", hs::Arch{2}, 0, {}, {}, {}}};
  CHECK(hs::mean_durations(graph, types) == std::vector<Duration>{{3}, {2}, {3}});
  types.erase(types.begin());
  CHECK_THROWS_WITH_AS((void)hs::mean_durations(graph, types),
                       "hetsched: task type 'a': has no measured times (is Config::timing on?)",
                       hs::Error);
}

TEST_CASE("bounds: what they refuse") {
  auto const graph = graph_of(2, {});
  std::vector<Duration> const one(1);
  CHECK_THROWS_WITH_AS((void)hs::critical_path(graph, one),
                       "hetsched: durations: 1 given for a graph of 2 tasks",
                       hs::Error);
  CHECK_THROWS_AS((void)hs::bottom_levels(graph, one), hs::Error);
  CHECK_THROWS_AS((void)hs::area_bound(graph, one, 1), hs::Error);
  CHECK_THROWS_WITH_AS((void)hs::area_bound(graph, std::vector<Duration>(2), 0),
                       "hetsched: workers: 0 is less than 1",
                       hs::Error);
}

TEST_CASE("bounds: never above a measured run, each task as short as its type's shortest") {
  hs::Runtime<> rt({.cpus = 2, .bind = hs::Bind::none, .timing = true});
  double x = 0;
  double y = 0;
  auto const first = rt.data(x);
  auto const second = rt.data(y);
  auto const captured = rt.capture([&] {
    auto work = [](double& value) {
      for (int i = 0; i < 20'000; ++i) {
        value = value * 0.5 + 1;
      }
    };
    for (int i = 0; i < 50; ++i) {
      rt.spawn()(work, hs::read_write(first));
      rt.spawn()(work, hs::read_write(second));
    }
  });
  rt.reset_stats();
  rt.run(captured);
  auto const stats = rt.stats();
  auto const& graph = captured.tasks();
  REQUIRE(stats.types.size() == 1);
  CHECK(hs::area_bound(graph, hs::mean_durations(graph, stats.types), 2) <= stats.elapsed);
  std::vector<Duration> const shortest(graph.size(), stats.types[0].shortest);
  CHECK(hs::makespan_bound(graph, shortest, 2) <= stats.elapsed);
}

/// The dual of the area bound's linear program, at its best: with prices x and 1 - x for the time
/// of the classes, each task costs at least the cheaper of the two. The best x is 0, 1, or makes
/// some task equally dear on both.
double dual_of_area(hs::ClassTimes const& times) {
  auto const cpus = static_cast<double>(times.workers[0]);
  auto const gpus = static_cast<double>(times.workers[1]);
  auto const value = [&](double x) {
    double sum = 0;
    for (std::size_t v = 0; v < times.tasks(); ++v) {
      auto const on_cpu = x / cpus * static_cast<double>(times.on(v, 0).ns);
      auto const on_gpu = (1 - x) / gpus * static_cast<double>(times.on(v, 1).ns);
      sum += times.on(v, 0) == hs::ClassTimes::never   ? on_gpu
             : times.on(v, 1) == hs::ClassTimes::never ? on_cpu
                                                       : std::min(on_cpu, on_gpu);
    }
    return sum;
  };
  double best = std::max(value(0), value(1));
  for (std::size_t v = 0; v < times.tasks(); ++v) {
    auto const p = static_cast<double>(times.on(v, 0).ns) / cpus;
    auto const q = static_cast<double>(times.on(v, 1).ns) / gpus;
    if (p > 0 && q > 0) {
      best = std::max(best, value(q / (p + q)));
    }
  }
  return best;
}

TEST_CASE("bounds: the area bound of two classes is that of the linear program") {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    hs::ClassTimes times;
    times.workers = {1 + static_cast<int>(random() % 2), 1};
    auto const tasks = 1 + random() % 7;
    for (std::size_t v = 0; v < tasks; ++v) {
      auto const where = random() % 6; // one in six on the host only, one on GPUs only
      auto const time = [&](std::uint32_t other) {
        return where == other ? hs::ClassTimes::never
                              : Duration{1 + static_cast<std::int64_t>(random() % 1000)};
      };
      times.times.push_back(time(0));
      times.times.push_back(time(1));
    }
    auto const area = hs::area_bound(times);
    REQUIRE(area.has_value());
    CHECK(*area <= best_assignment(times));
    CHECK(area->ns == doctest::Approx(std::ceil(dual_of_area(times) - 1e-6)).epsilon(1e-9));
    auto const use = hs::area_solution(times)->use; // one class is used to the full, none more
    auto const cores = static_cast<double>(use[0].ns) / times.workers[0];
    CHECK(std::abs(std::max(cores, static_cast<double>(use[1].ns)) -
                   static_cast<double>(area->ns)) < 1.5);
  }
}

TEST_CASE("bounds: what each class does in the area bound's solution") {
  // On a core 40 and 20, on a GPU 10 each: the GPU does the first and a third of the second, since
  // 10 + 10 / 3 = 20 * 2 / 3 = 13 1/3.
  hs::ClassTimes times{{1, 1}, {Duration{40}, Duration{10}, Duration{20}, Duration{10}}};
  auto solution = hs::area_solution(times);
  REQUIRE(solution);
  CHECK(solution->bound == Duration{14});
  CHECK(solution->use == std::vector<Duration>{{13}, {13}});
  // Each can be done in one place only.
  times.times = {Duration{10}, hs::ClassTimes::never, hs::ClassTimes::never, Duration{30}};
  solution = hs::area_solution(times);
  REQUIRE(solution);
  CHECK(solution->bound == Duration{30});
  CHECK(solution->use == std::vector<Duration>{{10}, {30}});
  times.workers = {0, 3}; // of one class
  times.times = {Duration{1}, Duration{10}, Duration{1}, Duration{30}};
  solution = hs::area_solution(times);
  REQUIRE(solution);
  CHECK(solution->bound == Duration{14});
  CHECK(solution->use == std::vector<Duration>{{0}, {40}});
}

TEST_CASE("bounds: classes without workers, one class, and three") {
  hs::ClassTimes times;
  times.workers = {2, 0};
  times.times = {Duration{10}, Duration{1}, Duration{5}, Duration{1}};
  CHECK(hs::area_bound(times) == Duration{8});
  CHECK(hs::shortest_times(times) == std::vector<Duration>{{10}, {5}});
  times.workers = {0, 1};
  CHECK(hs::area_bound(times) == Duration{2});
  times.times[1] = hs::ClassTimes::never;
  CHECK_THROWS_WITH_AS((void)hs::area_bound(times),
                       "hetsched: task 0: can run on no worker of this machine",
                       hs::Error);
  times = {{1, 1, 1}, {Duration{1}, Duration{1}, Duration{1}}};
  CHECK(!hs::area_bound(times).has_value());
}

TEST_CASE("bounds: tasks of no length on either class change nothing") {
  hs::ClassTimes times{{1, 1}, {}};
  hs::ClassTimes more = times;
  std::mt19937 random(5);
  for (int v = 0; v < 200; ++v) { // enough for a sort to go wrong if they had a place in its order
    for (int c = 0; c < 2; ++c) {
      times.times.push_back({1 + static_cast<std::int64_t>(random() % 1000)});
      more.times.push_back(times.times.back());
    }
    more.times.insert(more.times.end(), 2, Duration{});
  }
  CHECK(hs::area_bound(more) == hs::area_bound(times));
  more.times.assign(8, Duration{});
  CHECK(hs::area_bound(more) == Duration{});
}

/// The mixed bound by floating-point search: the best share of potrf on the second class, and for
/// each share the makespan by bisection.
double mixed_by_search(double n, hs::ClassTimes const& kernels) {
  std::array<double, 4> const counts{
      n, n * (n - 1) / 2, n * (n - 1) / 2, n * (n - 1) * (n - 2) / 6};
  auto const time = [&](std::size_t k, std::size_t c) {
    return static_cast<double>(kernels.on(k, c).ns);
  };
  auto const fits = [&](double makespan, double share) {
    double room = makespan * kernels.workers[1] - share * time(0, 1);
    double work = (n - share) * time(0, 0);
    std::array<std::size_t, 3> order{1, 2, 3};
    std::sort(order.begin(), order.end(), [&](std::size_t v, std::size_t w) {
      return time(v, 0) / time(v, 1) > time(w, 0) / time(w, 1);
    });
    for (auto const k : order) {
      auto const moved = std::clamp(room / time(k, 1), 0.0, counts[k]);
      room -= moved * time(k, 1);
      work += (counts[k] - moved) * time(k, 0);
    }
    return room >= -1e-9 * makespan && work <= makespan * kernels.workers[0];
  };
  auto const best_with = [&](double share) {
    double low = (n - share) * time(0, 0) + share * time(0, 1);
    for (std::size_t k = 1; k < 3; ++k) {
      low += (n - 1) * std::min(time(k, 0), time(k, 1));
    }
    if (fits(low, share)) {
      return low;
    }
    double high = 2 * low;
    while (!fits(high, share)) {
      high *= 2;
    }
    for (int step = 0; step < 60; ++step) {
      auto const middle = (low + high) / 2;
      (fits(middle, share) ? high : low) = middle;
    }
    return high;
  };
  double left = 0;
  double right = n;
  for (int step = 0; step < 200; ++step) { // convex in the share
    auto const a = left + (right - left) / 3;
    auto const b = right - (right - left) / 3;
    (best_with(a) < best_with(b) ? right : left) = best_with(a) < best_with(b) ? b : a;
  }
  return best_with((left + right) / 2);
}

TEST_CASE("cholesky_mixed_bound: is the optimum of its linear program") {
  std::mt19937_64 random(7);
  auto const draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int above_area = 0;
  for (int k = 0; k < 150; ++k) {
    hs::ClassTimes kernels;
    kernels.workers = {static_cast<int>(draw(1, 20)), static_cast<int>(draw(1, 5))};
    for (int t = 0; t < 8; ++t) {
      kernels.times.push_back({draw(100'000, 10'000'000)});
    }
    auto const n = static_cast<std::size_t>(draw(1, 30));
    auto const bound = hs::cholesky_mixed_bound(n, kernels).value();
    auto const expected = mixed_by_search(static_cast<double>(n), kernels);
    CAPTURE(n);
    REQUIRE(std::abs(static_cast<double>(bound.ns) - expected) <= 2 + 1e-6 * expected);
    hs::ClassTimes all{kernels.workers, {}};
    std::array<std::size_t, 4> const counts{
        n, n * (n - 1) / 2, n * (n - 1) / 2, n * (n - 1) * (n - 2) / 6};
    for (std::size_t type = 0; type < 4; ++type) {
      for (std::size_t task = 0; n != 0 && task < (n == 1 && type == 3 ? 0 : counts[type]);
           ++task) {
        all.times.push_back(kernels.on(type, 0));
        all.times.push_back(kernels.on(type, 1));
      }
    }
    auto const area = hs::area_bound(all).value();
    REQUIRE(bound >= area);
    above_area += bound > area ? 1 : 0;
  }
  CHECK(above_area > 50);
}

TEST_CASE("cholesky_mixed_bound: one class, kernels that one class lacks, bad calls") {
  hs::ClassTimes kernels{{2, 0}, {}};
  for (std::int64_t const ns : {10, 1, 20, 2, 30, 3, 40, 4}) {
    kernels.times.push_back({ns});
  }
  // Three tiles: 3 potrf, 3 trsm, 3 syrk, 1 gemm: 30 + 60 + 90 + 40 on two; the chain is 30 + 100.
  CHECK(hs::cholesky_mixed_bound(3, kernels).value() == Duration{130});
  CHECK(hs::cholesky_mixed_bound(1, kernels).value() == Duration{10});
  kernels.workers = {1, 0};
  CHECK(hs::cholesky_mixed_bound(3, kernels).value() == Duration{220});
  kernels.workers = {1, 1};
  kernels.times[1] = hs::ClassTimes::never; // potrf on cores only
  // The chain: 30 + 2 (2 + 3) = 40; beside it the GPU does the rest in 19.
  CHECK(hs::cholesky_mixed_bound(3, kernels).value() == Duration{40});
  kernels.times[0] = hs::ClassTimes::never;
  CHECK_THROWS_AS((void)hs::cholesky_mixed_bound(3, kernels), hs::Error);
  CHECK_THROWS_AS((void)hs::cholesky_mixed_bound(0, hs::ClassTimes{{1}, kernels.times}), hs::Error);
}

TEST_SUITE_END();

} // namespace bounds_test
