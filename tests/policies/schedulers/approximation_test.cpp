// SPDX-License-Identifier: MIT
// How far from the best schedule of independent tasks schedulers are: never farther than proven,
// and as far where the papers prove it.

#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>

#include "../../../benchmarks/worst_cases.hpp"
#include "../../support/best_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace hs = hetsched;

using hs::policies::HeteroPrio;
using worst_cases::Kind;

namespace approximation_test {

/// Of times that differ more the greater the scale; one in ten runs in one place only.
std::vector<Kind> random_tasks(std::mt19937_64& random, std::size_t number) {
  auto const draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  std::vector<Kind> tasks;
  auto const most = std::int64_t{1} << draw(1, 36);
  for (std::size_t j = 0; j < number; ++j) {
    Kind task{{{draw(1, most)}, {draw(1, most)}}};
    auto const where = draw(0, 19);
    task.times.cpu = where == 0 ? hs::TaskTimes::never : task.times.cpu;
    task.times.gpu = where == 1 ? hs::TaskTimes::never : task.times.gpu;
    tasks.push_back(task);
  }
  return tasks;
}

TEST_SUITE_BEGIN("policies/schedulers");

TEST_CASE("HeteroPrio: never farther from the best schedule than proven") {
  constexpr auto phi = std::numbers::phi;
  std::mt19937_64 random(17);
  std::array<double, 3> worst{}; // of one core, one GPU; one GPU; more
  for (int k = 0; k < 1000; ++k) {
    auto const kind = static_cast<std::size_t>(k % 3);
    hs::TwoClasses const machine{kind == 0 ? 1 : static_cast<int>(2 + random() % 2),
                                 kind == 2 ? 2 : 1};
    auto const tasks = random_tasks(random, 1 + random() % 7);
    hs::ClassTimes times{{machine.cpus, machine.gpus}, {}};
    for (auto const& task : tasks) {
      times.times.insert(times.times.end(), {task.times.cpu, task.times.gpu});
    }
    auto const best = schedules::best_assignment(times);
    auto const found = worst_cases::run<HeteroPrio>(machine, tasks);
    CAPTURE(k);
    REQUIRE(found >= best);
    worst[kind] = std::max(worst[kind], found.seconds() / best.seconds());
  }
  CHECK(worst[0] <= phi);
  CHECK(worst[1] <= 1 + phi);
  CHECK(worst[2] <= 2 + std::numbers::sqrt2);
  CHECK(*std::min_element(worst.begin(), worst.end()) > 1.2); // the instances are not all easy
}

TEST_CASE("HeteroPrio: as far from the best schedule as proven") {
  using worst_cases::ratio;
  auto const reaches = [](worst_cases::Instance const& instance, double least) {
    CAPTURE(instance.name);
    auto const found = ratio<HeteroPrio>(instance);
    CHECK(found >= least);
    CHECK(found <= instance.limit + 1e-6);
  };
  reaches(worst_cases::two_tasks(), 1.618);
  reaches(worst_cases::one_gpu(200, 20), 2.5);
  reaches(worst_cases::two_gpus(200), 2.7);
  reaches(worst_cases::six_equal(), 1.8333);
  reaches(worst_cases::six_gpus(300, 20), 2.6);
  reaches(worst_cases::many_gpus(2, 10), 2.4);
}

TEST_CASE("worst cases: their good schedules are the best of the small ones") {
  for (int k = 1; k < 6; ++k) { // theorem 5.15's is full to its end
    auto const instance = worst_cases::six_equal(k);
    std::int64_t work = 0;
    for (auto const& kind : instance.kinds) {
      work += kind.times.gpu.ns;
    }
    CHECK(worst_cases::good_makespan(instance).ns * instance.machine.gpus == work);
  }
  auto const rounding = [](worst_cases::Instance const& instance, double best) {
    auto const good = worst_cases::good_makespan(instance).seconds();
    CHECK(good >= best - 1e-6);
    CHECK(good <= best * 1.05);
  };
  rounding(worst_cases::one_gpu(200), 1);
  rounding(worst_cases::two_gpus(200), 2);
  rounding(worst_cases::six_gpus(200), 6);
  rounding(worst_cases::lemma_3(20), 1);
}

TEST_CASE("HEFT: lemma 3 of Bleuse et al. 2015, in a batch and as a policy") {
  auto const instance = worst_cases::lemma_3(20);
  auto const good = worst_cases::good_makespan(instance).seconds();
  auto const batch = hs::heft(instance.tasks(), instance.machine).makespan.seconds();
  CHECK(batch / good == doctest::Approx(instance.limit).epsilon(1e-6));
  CHECK(worst_cases::ratio<hs::policies::Heft>(instance) ==
        doctest::Approx(instance.limit).epsilon(1e-6));
  CHECK(worst_cases::ratio<HeteroPrio>(instance) <= 1 + std::numbers::phi);
}

TEST_SUITE_END();

} // namespace approximation_test
