// SPDX-License-Identifier: MIT
// How close the solvers for independent tasks come to their lower bounds, on random instances like
// those of Bleuse et al. 2015, sec. 5.2, beside its table 1; to the optimum on small ones; and what
// they take. Status 1 if a proven ratio is exceeded.

#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include "../tests/support/best_schedule.hpp"
#include "common/run_program.hpp"
#include "published_tasks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace {

using Tasks = std::vector<hs::TaskTimes>;
using Random = std::mt19937_64;
using benchmarks::draw;
using benchmarks::published_machine;
using benchmarks::published_machines;
using benchmarks::published_tasks;

struct Options {
  bool full = false;
  bool json = false;
  std::uint64_t seed = 1;
  double tolerance = 0.001; // of DualApprox43's search
};

/// Of any times, which differ more the greater the scale; one in ten tasks runs in one place only.
Tasks any_tasks(Random& random, std::int64_t number) {
  Tasks tasks;
  auto const most = std::int64_t{1} << draw(random, 1, 36);
  for (std::int64_t j = 0; j < number; ++j) {
    tasks.push_back({{draw(random, 0, most)}, {draw(random, 0, most)}});
    auto const where = draw(random, 0, 19);
    tasks.back().cpu = where == 0 ? hs::TaskTimes::never : tasks.back().cpu;
    tasks.back().gpu = where == 1 ? hs::TaskTimes::never : tasks.back().gpu;
  }
  return tasks;
}

/// Of makespans to a bound.
struct Deviations {
  std::uint64_t instances = 0;
  std::uint64_t exceeded = 0; // the proven ratio
  double sum = 0;
  double most = 0;

  void add(hs::Duration makespan, hs::Duration bound, double ratio) {
    auto const own_ratio =
        makespan == bound ? 1 : static_cast<double>(makespan.ns) / static_cast<double>(bound.ns);
    ++instances;
    exceeded += own_ratio > ratio * (1 + 1e-12) ? 1 : 0;
    sum += own_ratio - 1;
    most = std::max(most, own_ratio - 1);
  }

  [[nodiscard]] double mean() const {
    return instances == 0 ? 0 : sum / static_cast<double>(instances);
  }
};

class Program {
public:
  explicit Program(Options const& options) : options_(options), random_(options.seed) {}

  void run() {
    published();
    others();
    small();
    times();
    if (exceeded_ != 0) {
      throw std::runtime_error(std::to_string(exceeded_) + " proven ratios or times exceeded");
    }
  }

private:
  static constexpr int columns = 12;
  static constexpr std::array sizes{120, 160, 220, 260, 360, 380, 660, 700, 760, 780, 920, 940};
  using Row = std::array<double, columns>;
  static constexpr Row dp{
      76.88, 72.73, 70.37, 69.14, 70.00, 70.00, 67.42, 50.82, 42.77, 54.47, 91.77, 63.07};
  static constexpr Row heft{
      123.53, 98.44, 92.55, 91.90, 110.37, 91.78, 113.48, 98.10, 98.77, 103.15, 116.46, 96.31};
  static constexpr Row accel{
      46.15, 42.86, 50.00, 41.18, 37.82, 43.59, 36.36, 40.91, 32.52, 37.04, 48.24, 34.65};

  [[nodiscard]] hs::DualApprox43 dual43() const { return {.tolerance = options_.tolerance}; }

  /// Table 1: of each number of tasks all machines of 2^0 to 2^6 cores and 2^0 to 2^3 GPUs.
  void published() {
    int const repeats = options_.full ? 30 : 1;
    if (!options_.json) {
      std::printf("table 1: greatest deviation from the lower bound, %% (published); 28 machines, "
                  "each %d times\n    n      dual2              accel32            heft\n",
                  repeats);
    }
    std::array<Deviations, 3> all;
    for (std::size_t column = 0; column < columns; ++column) {
      std::array<Deviations, 3> of_column;
      for (int k = 0; k < published_machines * repeats; ++k) {
        auto const machine = published_machine(k);
        auto const tasks = published_tasks(random_, sizes[column]);
        auto const two = hs::DualApprox2{}(tasks, machine);
        auto const three_halves = hs::Accel32{}(tasks, machine);
        auto const baseline = hs::heft(tasks, machine);
        for (auto* those : {&of_column, &all}) {
          (*those)[0].add(two.makespan, two.lower_bound, two.ratio);
          (*those)[1].add(three_halves.makespan, three_halves.lower_bound, three_halves.ratio);
          (*those)[2].add(baseline.makespan, two.lower_bound, baseline.ratio);
        }
      }
      if (options_.json) {
        line("table 1", "dual2", sizes[column], of_column[0], dp[column]);
        line("table 1", "accel32", sizes[column], of_column[1], accel[column]);
        line("table 1", "heft", sizes[column], of_column[2], heft[column]);
      } else {
        std::printf("%5d %8.2f (%6.2f)   %8.2f (%6.2f)   %8.2f (%6.2f)\n",
                    sizes[column],
                    100 * of_column[0].most,
                    dp[column],
                    100 * of_column[1].most,
                    accel[column],
                    100 * of_column[2].most,
                    heft[column]);
      }
    }
    report("as published", "dual2", all[0]);
    report("as published", "accel32", all[1]);
    report("as published", "heft", all[2]);
    Deviations four_thirds;
    for (int k = 0; k < 15 * (options_.full ? 667 : 4); ++k) {
      hs::TwoClasses const machine{1 << k % 5, 1 << k / 5 % 3};
      auto const schedule = dual43()(published_tasks(random_, draw(random_, 1, 100)), machine);
      four_thirds.add(schedule.makespan, schedule.lower_bound, schedule.ratio);
    }
    report("as published, n <= 100", "dual43", four_thirds);
  }

  void others() {
    int const count = options_.full ? 10'000 : 100;
    std::array<Deviations, 3> all;
    for (int k = 0; k < count; ++k) {
      hs::TwoClasses const machine{static_cast<int>(draw(random_, 1, 16)),
                                   static_cast<int>(draw(random_, 1, 4))};
      auto const tasks = any_tasks(random_, draw(random_, 1, 100));
      auto const two = hs::DualApprox2{}(tasks, machine);
      auto const three_halves = hs::Accel32{}(tasks, machine);
      all[0].add(two.makespan, two.lower_bound, two.ratio);
      all[1].add(three_halves.makespan, three_halves.lower_bound, three_halves.ratio);
      if (options_.full || k % 10 == 0) { // it takes the longest
        auto const four_thirds = dual43()(tasks, machine);
        all[2].add(four_thirds.makespan, four_thirds.lower_bound, four_thirds.ratio);
      }
    }
    report("any times, n <= 100", "dual2", all[0]);
    report("any times, n <= 100", "accel32", all[1]);
    report("any times, n <= 100", "dual43", all[2]);
  }

  /// Against the best schedule of all.
  void small() {
    std::array<Deviations, 3> all;
    for (int k = 0; k < (options_.full ? 1000 : 200); ++k) {
      hs::TwoClasses const machine{static_cast<int>(draw(random_, 1, 3)),
                                   static_cast<int>(draw(random_, 1, 2))};
      auto const number = draw(random_, 1, 9);
      auto const tasks = k % 2 == 0 ? published_tasks(random_, number) : any_tasks(random_, number);
      hs::ClassTimes times{{machine.cpus, machine.gpus}, {}};
      for (auto const& task : tasks) {
        times.times.insert(times.times.end(), {task.cpu, task.gpu});
      }
      auto const best = schedules::best_assignment(times);
      all[0].add(hs::DualApprox2{}(tasks, machine).makespan, best, 2);
      all[1].add(hs::Accel32{}(tasks, machine).makespan, best, 1.5);
      all[2].add(hs::DualApprox43{}(tasks, machine).makespan, best, 4.0 / 3);
    }
    report("small, from the optimum", "dual2", all[0]);
    report("small, from the optimum", "accel32", all[1]);
    report("small, from the optimum", "dual43", all[2]);
  }

  void times() {
    auto const small = published_tasks(random_, 100);
    auto const medium = published_tasks(random_, 1000);
    auto const large = published_tasks(random_, 10'000);
    time("dual43", small, {16, 4}, 10, dual43());
    time("dual43", any_tasks(random_, 100), {16, 4}, 10, dual43());
    time("dual2", medium, {64, 8}, 1, hs::DualApprox2{});
    time("dual2", any_tasks(random_, 1000), {64, 16}, 1, hs::DualApprox2{});
    time("dual2", large, {64, 8}, std::nullopt, hs::DualApprox2{}); // greedy
    time("accel32", large, {64, 8}, 0.1, hs::Accel32{});
    time("accel32", any_tasks(random_, 10'000), {64, 8}, 0.1, hs::Accel32{});
    time("heft", large, {64, 8}, std::nullopt, hs::heft);
  }

  /// With --full the shortest of three, and limits count: tests run on busy machines.
  template <class Solver>
  void time(char const* name,
            Tasks const& tasks,
            hs::TwoClasses machine,
            std::optional<double> limit,
            Solver const& solver) {
    double seconds = 0;
    for (int k = 0; k < (options_.full ? 3 : 1); ++k) {
      auto const begin = std::chrono::steady_clock::now();
      auto const schedule = solver(std::span<hs::TaskTimes const>(tasks), machine);
      auto const took =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      seconds = k == 0 || took < seconds ? took : seconds;
    }
    bool const late = options_.full && limit && seconds > *limit;
    exceeded_ += late ? 1 : 0;
    if (options_.json) {
      std::printf("{\"part\":\"time\",\"solver\":\"%s\",\"n\":%zu,\"cpus\":%d,\"gpus\":%d,"
                  "\"seconds\":%.6f}\n",
                  name,
                  tasks.size(),
                  machine.cpus,
                  machine.gpus,
                  seconds);
    } else {
      std::printf("%-8s n = %5zu, m = %2d, k = %d: %9.6f s",
                  name,
                  tasks.size(),
                  machine.cpus,
                  machine.gpus,
                  seconds);
      std::printf(limit ? "  (limit %g s)%s\n" : "\n", limit.value_or(0), late ? "  EXCEEDED" : "");
    }
  }

  void report(char const* part, char const* solver, Deviations const& deviations) {
    exceeded_ += deviations.exceeded;
    if (options_.json) {
      line(part, solver, 0, deviations, 0);
    } else {
      std::printf("%-24s %-8s %6llu instances: deviation %6.2f%% at most, %5.2f%% on average%s\n",
                  part,
                  solver,
                  static_cast<unsigned long long>(deviations.instances),
                  100 * deviations.most,
                  100 * deviations.mean(),
                  deviations.exceeded == 0 ? "" : "  EXCEEDED");
    }
  }

  /// n and what is published: null if 0.
  static void line(char const* part,
                   char const* solver,
                   int n,
                   Deviations const& deviations,
                   double published_percent) {
    auto const or_null = [](double value, int digits) {
      char text[32] = "null";
      if (value != 0) {
        std::snprintf(text, sizeof text, "%.*f", digits, value);
      }
      return std::string(text);
    };
    std::printf("{\"part\":\"%s\",\"solver\":\"%s\",\"n\":%s,\"instances\":%llu,"
                "\"exceeded\":%llu,\"most_percent\":%.6f,\"mean_percent\":%.6f,"
                "\"published_most_percent\":%s}\n",
                part,
                solver,
                or_null(n, 0).c_str(),
                static_cast<unsigned long long>(deviations.instances),
                static_cast<unsigned long long>(deviations.exceeded),
                100 * deviations.most,
                100 * deviations.mean(),
                or_null(published_percent, 2).c_str());
  }

  Options options_;
  Random random_;
  std::uint64_t exceeded_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares schedules of independent tasks with their proven ratios.");
  app.add_flag("--full",
               options.full,
               "10,080 instances of table 1 (else 336), 10,005 for dual43 (else 60), 10,000 of any "
               "times (else 100), 1,000 small ones (else 200); times count");
  app.add_option("--seed", options.seed, "of the instances")->capture_default_str();
  app.add_option("--tolerance", options.tolerance, "of dual43's search")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object per line");
  return benchmarks::run_program(
      "approximation_ratios", app, argc, argv, [&] { Program(options).run(); });
}
