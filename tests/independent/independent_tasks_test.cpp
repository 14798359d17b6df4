// SPDX-License-Identifier: MIT
// Solvers for independent tasks: their certificates, checked against every schedule there is.

#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include "../support/best_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace hs = hetsched;

using hs::Duration;
using hs::TaskTimes;
using hs::TwoClasses;

namespace independent_tasks_test {

using Tasks = std::vector<TaskTimes>;

/// DualApprox2 with its greedy choice.
struct Greedy2 {
  hs::BatchSchedule operator()(Tasks const& tasks, TwoClasses machine) const {
    return hs::DualApprox2{.most_states = 0}(tasks, machine);
  }
};

struct XkaapiHeft {
  hs::BatchSchedule operator()(Tasks const& tasks, TwoClasses machine) const {
    return hs::heft(tasks, machine);
  }
};

template <class Solver>
constexpr double ratio_of = std::numeric_limits<double>::infinity();
template <>
constexpr double ratio_of<hs::DualApprox2> = 2;
template <>
constexpr double ratio_of<Greedy2> = 2;
template <>
constexpr double ratio_of<hs::Accel32> = 1.5;
template <>
constexpr double ratio_of<hs::DualApprox43> = 4.0 / 3;

/// That it is a schedule of these tasks, and as long as it says.
void check_schedule(Tasks const& tasks, TwoClasses machine, hs::BatchSchedule const& schedule) {
  REQUIRE(schedule.worker.size() == tasks.size());
  REQUIRE(schedule.start.size() == tasks.size());
  REQUIRE(schedule.order.size() == tasks.size());
  std::map<int, std::int64_t> done; // of each worker that does something
  std::vector<bool> seen(tasks.size());
  hs::Instant last;
  for (auto const j : schedule.order) {
    REQUIRE(j < tasks.size());
    REQUIRE(!seen[j]);
    seen[j] = true;
    auto const worker = schedule.worker[j];
    REQUIRE(worker >= 0);
    REQUIRE(worker < machine.cpus + machine.gpus);
    auto const time = worker < machine.cpus ? tasks[j].cpu : tasks[j].gpu;
    REQUIRE(time != TaskTimes::never);
    auto& end = done[worker];
    REQUIRE(schedule.start[j].ns == end);
    REQUIRE(schedule.start[j] >= last);
    last = schedule.start[j];
    end += time.ns;
  }
  std::int64_t longest = 0;
  for (auto const& [worker, end] : done) {
    longest = std::max(longest, end);
  }
  REQUIRE(schedule.makespan == Duration{longest});
}

/// The certificate holds; lengths up to 2^53.
template <class Solver>
hs::BatchSchedule checked(Tasks const& tasks, TwoClasses machine, Solver const& solver = {}) {
  auto const schedule = solver(tasks, machine);
  check_schedule(tasks, machine, schedule);
  REQUIRE(schedule.lower_bound >= Duration{});
  REQUIRE(schedule.lower_bound <= schedule.makespan);
  if (schedule.ratio != std::numeric_limits<double>::infinity()) {
    REQUIRE(static_cast<double>(schedule.makespan.ns) <=
            schedule.ratio * static_cast<double>(schedule.lower_bound.ns) * (1 + 1e-12));
  }
  return schedule;
}

hs::ClassTimes class_times(Tasks const& tasks, TwoClasses machine) {
  hs::ClassTimes times{{machine.cpus, machine.gpus}, {}};
  for (auto const& task : tasks) {
    times.times.push_back(task.cpu);
    times.times.push_back(task.gpu);
  }
  return times;
}

using Random = std::mt19937_64;

std::int64_t draw(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// Of several kinds: any times, accelerated, few short ones, some for one class only, powers of
/// two, all of one acceleration factor, of two or three types.
Tasks random_tasks(Random& random, std::int64_t number, TwoClasses machine) {
  auto const kind = draw(random, 0, 6);
  auto const most = std::int64_t{1} << draw(random, 1, 20);
  auto const factor = draw(random, 1, 5);
  auto const one = [&]() -> TaskTimes {
    auto const any = draw(random, 1, most);
    switch (kind) {
    case 1:
      return {{any * draw(random, 1, 40)}, {any}};
    case 2:
      return {{draw(random, 0, 3)}, {draw(random, 0, 3)}};
    case 4:
      return {{std::int64_t{1} << draw(random, 0, 16)}, {std::int64_t{1} << draw(random, 0, 16)}};
    case 5:
      return {{any * factor}, {any}};
    default:
      return {{any}, {draw(random, 1, most)}};
    }
  };
  Tasks const types{one(), one(), one()};
  Tasks tasks;
  for (std::int64_t j = 0; j < number; ++j) {
    tasks.push_back(kind == 6 ? types[random() % 3] : one());
    if (kind == 3 && machine.cpus > 0 && machine.gpus > 0) {
      auto const where = draw(random, 0, 5);
      auto& task = tasks.back();
      task.cpu = where == 0 ? TaskTimes::never : task.cpu;
      task.gpu = where == 1 ? TaskTimes::never : task.gpu;
    }
  }
  return tasks;
}

TwoClasses random_machine(Random& random, int most) {
  for (;;) {
    TwoClasses const machine{static_cast<int>(draw(random, 0, most)),
                             static_cast<int>(draw(random, 0, most))};
    if (machine.cpus + machine.gpus > 0) {
      return machine;
    }
  }
}

#define ALL_SOLVERS hs::DualApprox2, Greedy2, hs::Accel32, hs::DualApprox43

TEST_SUITE_BEGIN("independent_tasks");

TEST_CASE_TEMPLATE("solvers: never more than the ratio times the best schedule",
                   Solver,
                   XkaapiHeft,
                   ALL_SOLVERS) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    auto const machine = random_machine(random, 3);
    auto const tasks = random_tasks(random, draw(random, 1, 7), machine);
    auto const best = schedules::best_assignment(class_times(tasks, machine));
    auto const schedule = checked<Solver>(tasks, machine);
    CHECK(schedule.lower_bound <= best);
    CHECK(schedule.makespan >= best);
    if (best > Duration{}) {
      CHECK(static_cast<double>(schedule.makespan.ns) / static_cast<double>(best.ns) <=
            ratio_of<Solver> * (1 + 1e-12));
    }
    CHECK(schedule.ratio == ratio_of<Solver>);
  }
}

TEST_CASE_TEMPLATE("solvers: never more than the ratio times the lower bound",
                   Solver,
                   hs::DualApprox2,
                   Greedy2,
                   hs::Accel32) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    auto const machine = random_machine(random, 8);
    auto const tasks = random_tasks(random, draw(random, 8, 40), machine);
    (void)checked<Solver>(tasks, machine);
  }
}

TEST_CASE("DualApprox43: never more than the ratio times the lower bound") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    auto const machine = random_machine(random, 4);
    auto const tasks = random_tasks(random, draw(random, 8, 16), machine);
    (void)checked<hs::DualApprox43>(tasks, machine);
  }
}

/// How often the guess was refused.
template <class Allot>
int check_guesses(hs::detail::Batch const& batch,
                  std::vector<std::int64_t> const& guesses,
                  Duration best,
                  std::int64_t numerator, // of the ratio
                  std::int64_t denominator,
                  Allot const& allot) {
  int refused = 0;
  for (auto const guess : guesses) {
    CAPTURE(guess);
    if (auto const on_gpu = allot(guess)) {
      CHECK(batch.longest_first(*on_gpu).makespan.ns * denominator <= numerator * guess);
    } else {
      CHECK(best > Duration{guess});
      ++refused;
    }
  }
  return refused;
}

TEST_CASE("solvers: each guess is refused rightly, or leads to a schedule as promised") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    auto const machine = random_machine(random, 3);
    auto const tasks = random_tasks(random, draw(random, 2, 8), machine);
    auto const best = schedules::best_assignment(class_times(tasks, machine));
    if (best == Duration{}) {
      continue;
    }
    hs::detail::Batch const batch(tasks, machine);
    std::vector<std::int64_t> guesses{best.ns};
    for (int k = 0; k < 5; ++k) {
      guesses.push_back(draw(random, std::max<std::int64_t>(best.ns / 3, 1), best.ns));
    }
    refused += check_guesses(batch, guesses, best, 3, 2, [&](std::int64_t guess) {
      return hs::detail::CutAllotment(batch, guess)();
    });
    using Knapsack = hs::detail::AllotmentKnapsack;
    refused += check_guesses(batch, guesses, best, 4, 3, Knapsack(batch, 3, true, 1 << 20));
    refused += check_guesses(batch, guesses, best, 2, 1, Knapsack(batch, 1, false, 1 << 20));
  }
  CHECK(refused > 3000);
}

TEST_CASE_TEMPLATE("solvers: three accelerated tasks on a core and a GPU", Solver, ALL_SOLVERS) {
  // All on the GPU: 3. Sec. 4 of the paper, read literally, has one on the GPU at most.
  auto const schedule = checked<Solver>(Tasks(3, {{30}, {1}}), {1, 1});
  CHECK(schedule.makespan == Duration{3});
  CHECK(schedule.lower_bound == Duration{3});
}

TEST_CASE("heft: by falling mean time, each to who ends it first") {
  //  core 0 |2     |      2 is the longest on average; the GPU ends 0 at 3, and 1 at 8, a core at 6
  //  core 1 |1    |
  //  GPU    |0 |
  Tasks const tasks{{{9}, {3}}, {{6}, {5}}, {{7}, {70}}};
  auto const schedule = checked<XkaapiHeft>(tasks, {2, 1});
  CHECK(schedule.worker == std::vector<int>{2, 1, 0});
  CHECK(schedule.makespan == Duration{7});
  CHECK(schedule.lower_bound == Duration{7});
}

TEST_CASE_TEMPLATE("solvers: the instance of lemma 3", Solver, XkaapiHeft, ALL_SOLVERS) {
  constexpr std::int64_t m = 8;
  constexpr std::int64_t one = 1000 * m * m;
  Tasks tasks(m, {{one}, {1}});
  for (std::int64_t i = 0; i < m; ++i) {
    Duration const time{one - i * one / m};
    tasks.push_back({time, time});                             // A
    tasks.insert(tasks.end(), m - 1, {time, {one / (m * m)}}); // B
  }
  auto const schedule = checked<Solver>(tasks, {m, 1});
  CHECK(schedule.lower_bound == Duration{one});
  CHECK(static_cast<double>(schedule.makespan.ns) <= ratio_of<Solver> * one);
  if constexpr (std::is_same_v<Solver, XkaapiHeft>) {
    CHECK(schedule.makespan == Duration{one}); // not m / 2 + 3 / 2 - 1 / m
  }
}

TEST_CASE_TEMPLATE("solvers: nothing to do, no time, one worker", Solver, XkaapiHeft, ALL_SOLVERS) {
  for (TwoClasses const machine : {TwoClasses{0, 0}, {1, 0}, {0, 1}, {3, 2}}) {
    auto const nothing = checked<Solver>({}, machine);
    CHECK(nothing.makespan == Duration{});
    CHECK(nothing.lower_bound == Duration{});
  }
  auto const no_time = checked<Solver>({{{0}, {0}}, {{0}, {5}}, {{7}, {0}}}, {1, 2});
  CHECK(no_time.makespan == Duration{});
  Tasks const tasks{{{2}, {0}}, {{3}, TaskTimes::never}, {{4}, {9}}};
  CHECK(checked<Solver>(tasks, {1, 0}).makespan == Duration{9});
  CHECK(checked<Solver>(tasks, {1, 0}).lower_bound == Duration{9});
  CHECK(checked<Solver>({{{2}, {5}}, {{2}, {5}}}, {0, 1}).makespan == Duration{10});
  CHECK(checked<Solver>({{{2}, {5}}}, {1, 1}).makespan == Duration{2});
}

TEST_CASE_TEMPLATE("solvers: where tasks can run", Solver, XkaapiHeft, ALL_SOLVERS) {
  Tasks const tasks{{{5}, TaskTimes::never}, {TaskTimes::never, {4}}, {{9}, {9}}};
  auto const schedule = checked<Solver>(tasks, {1, 1});
  CHECK(schedule.worker[0] == 0);
  CHECK(schedule.worker[1] == 1);
  CHECK(schedule.makespan <= Duration{14}); // 13 at best, with the third on the GPU
}

TEST_CASE_TEMPLATE("solvers: times of years, and of more workers than tasks",
                   Solver,
                   XkaapiHeft,
                   ALL_SOLVERS) {
  constexpr std::int64_t year = std::int64_t{365} * 24 * 3600 * 1'000'000'000;
  Tasks const tasks{{{10 * year}, {2 * year}},
                    {{20 * year}, {1}},
                    {{std::numeric_limits<std::int64_t>::max()}, {3 * year}},
                    {{2 * year}, {std::numeric_limits<std::int64_t>::max()}}};
  auto const one = checked<Solver>(tasks, {1, 1});
  CHECK(static_cast<double>(one.makespan.ns) <= std::min(ratio_of<Solver>, 2.0) * 5 * year);
  CHECK(one.lower_bound.ns <= 5 * year + 1);
  auto const many = checked<Solver>(tasks, {std::numeric_limits<int>::max() - 5, 5});
  CHECK(many.lower_bound == Duration{3 * year});
  Tasks const too_long(2, {{year * 40}, {year * 40}});
  CHECK_THROWS_WITH_AS(
      (void)Solver{}(too_long, {1, 1}), "hetsched: tasks: take 2^61 ns or more in all", hs::Error);
}

TEST_CASE_TEMPLATE("solvers: what they refuse", Solver, XkaapiHeft, ALL_SOLVERS) {
  auto const refused = [](Tasks const& tasks, TwoClasses machine, char const* message) {
    CHECK_THROWS_WITH_AS((void)Solver{}(tasks, machine), message, hs::Error);
  };
  refused({{{1}, {1}}, {TaskTimes::never, {1}}},
          {1, 0},
          "hetsched: task 1: can run on no worker of this machine");
  refused({{{1}, {1}}}, {0, 0}, "hetsched: task 0: can run on no worker of this machine");
  refused({{{-2}, {1}}}, {1, 1}, "hetsched: task 0: takes -2 ns on a core");
  refused({{{1}, {-7}}}, {1, 0}, "hetsched: task 0: takes -7 ns on a GPU");
  refused({}, {-1, 1}, "hetsched: cpus: -1 is less than 0");
  refused({}, {1, -3}, "hetsched: gpus: -3 is less than 0");
  refused({},
          {std::numeric_limits<int>::max(), 1},
          "hetsched: gpus: 1 are too many beside 2147483647 cores");
}

TEST_CASE("solvers: the search's tolerance is in the certificate") {
  Random random(11);
  auto const tasks = random_tasks(random, 14, {2, 1});
  for (double const tolerance : {0.25, 0.01}) {
    CHECK(checked(tasks, {2, 1}, hs::DualApprox2{tolerance}).ratio == 2 * (1 + tolerance));
    CHECK(checked(tasks, {2, 1}, hs::Accel32{tolerance}).ratio == 1.5 * (1 + tolerance));
    CHECK(checked(tasks, {2, 1}, hs::DualApprox43{tolerance}).ratio == 4.0 / 3 * (1 + tolerance));
  }
  CHECK_THROWS_WITH_AS((void)hs::Accel32{-0.5}(tasks, {2, 1}),
                       "hetsched: tolerance: -0.500000 is not in [0, 1]",
                       hs::Error);
  CHECK_THROWS_AS((void)hs::DualApprox2{std::nan("")}(tasks, {2, 1}), hs::Error);
}

TEST_CASE("DualApprox43: says when it would take too much memory") {
  Tasks const tasks(20, {{30}, {10}});
  CHECK_THROWS_WITH_AS((void)(hs::DualApprox43{.most_states = 1000}(tasks, {2, 1})),
                       "hetsched: tasks: 20 take more than 1000 states of the dynamic program",
                       hs::Error);
}

TEST_CASE("solvers: a guess is refused although area and longest task would fit") {
  // Three tasks of 6 on two workers: 12, though the area is 9; and two of them must share.
  Tasks const tasks(3, {{6}, {6}});
  CHECK(checked<hs::DualApprox43>(tasks, {1, 1}).lower_bound > Duration{9});
  CHECK(checked<hs::Accel32>(tasks, {1, 1}).lower_bound ==
        Duration{12}); // from 12 on, none is long
}

TEST_SUITE_END();

} // namespace independent_tasks_test
