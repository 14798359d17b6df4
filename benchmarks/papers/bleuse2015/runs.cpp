// SPDX-License-Identifier: MIT

#include "runs.hpp"

#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/independent/independent_tasks.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "../../common/progress.hpp"
#include "../../published_tasks.hpp"
#include "factorisation.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <utility>

namespace bleuse2015 {

namespace hs = hetsched;

namespace {

using Tasks = std::vector<hs::TaskTimes>;

hs::BatchSchedule
solve(std::string const& strategy, std::span<hs::TaskTimes const> tasks, hs::TwoClasses machine) {
  return strategy == "dp"      ? hs::DualApprox2{}(tasks, machine)
         : strategy == "accel" ? hs::Accel32{}(tasks, machine)
         : strategy == "heft"  ? hs::heft(tasks, machine)
                               : hs::DualApprox43{}(tasks, machine);
}

hs::TwoClasses machine_at(papers::Point const& at) {
  return {static_cast<int>(at["cpus"]), static_cast<int>(at["gpus"])};
}

/// The shortest of three times, in seconds, because others may use the machine.
double solving_time(std::string const& strategy, Tasks const& tasks, hs::TwoClasses machine) {
  double least = 0;
  for (int k = 0; k < 3; ++k) {
    auto const begin = std::chrono::steady_clock::now();
    (void)solve(strategy, tasks, machine);
    auto const took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    least = k == 0 ? took : std::min(least, took);
  }
  return least;
}

Facts lemma3(papers::Configuration const& configuration) {
  auto const cores = static_cast<std::int64_t>(configuration.at["cpus"]);
  auto const schedule =
      solve(configuration.strategy, lemma3_tasks(cores), {static_cast<int>(cores), 1});
  return {{"makespan", schedule.makespan.seconds()},
          {"lower_bound", schedule.lower_bound.seconds()}};
}

} // namespace

std::vector<hs::TaskTimes> lemma3_tasks(std::int64_t m) {
  auto const unit = 1'000'000'000 / (m * m);
  std::vector<hs::TaskTimes> tasks(static_cast<std::size_t>(m), {{m * m * unit}, {1}});
  for (std::int64_t i = 0; i < m; ++i) {
    hs::Duration const length{(m - i) * m * unit};
    tasks.push_back({length, length});
    tasks.insert(tasks.end(), static_cast<std::size_t>(m - 1), {length, {unit}});
  }
  return tasks;
}

Runs::Runs(Settings const& settings, std::string file, int instances, std::uint64_t seed)
    : settings_(settings), file_(std::move(file)), platform_(hs::read_platform(file_)),
      instances_(instances), seed_(seed) {
  if (platform_.links.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, file_, "says nothing of the links that routes share");
  }
}

/// Runs all three strategies on the same instances.
void Runs::draw_random(papers::Configuration const& configuration) {
  struct Deviations {
    std::string strategy;
    double sum = 0;
    double most = 0;
  };

  std::vector<Deviations> all{{"dp"}, {"heft"}, {"accel"}};
  auto const n = configuration.at["n"];
  std::mt19937_64 random(seed_ + n);
  auto const count = benchmarks::published_machines * instances_;
  for (int k = 0; k < count; ++k) {
    auto const machine = benchmarks::published_machine(k);
    auto const tasks = benchmarks::published_tasks(random, static_cast<std::int64_t>(n));
    hs::Duration bound; // DP's; HEFT is compared with it, too
    for (auto& on : all) {
      auto const schedule = solve(on.strategy, tasks, machine);
      bound = on.strategy == "heft" ? bound : schedule.lower_bound;
      auto const off = 100 * (schedule.makespan.seconds() / bound.seconds() - 1);
      on.sum += off;
      on.most = std::max(on.most, off);
    }
  }
  for (auto const& on : all) {
    known_[{configuration.workload, configuration.at, on.strategy}] = {
        {"most_percent", on.most}, {"mean_percent", on.sum / count}, {"instances", count}};
  }
}

Facts Runs::time(papers::Configuration const& configuration) const {
  std::mt19937_64 random(seed_);
  auto const tasks =
      benchmarks::published_tasks(random, static_cast<std::int64_t>(configuration.at["n"]));
  auto const machine = machine_at(configuration.at);
  auto const seconds = solving_time(configuration.strategy, tasks, machine);
  return {{"seconds", seconds}, {"times_heft", seconds / solving_time("heft", tasks, machine)}};
}

Facts Runs::guarantee(papers::Configuration const& configuration) const {
  std::mt19937_64 random(seed_);
  auto const machine = machine_at(configuration.at);
  auto const ratio = 4.0 / 3 + 1.0 / (3 * machine.gpus);
  double most = 0;
  for (int k = 0; k < instances_; ++k) {
    auto const tasks =
        benchmarks::published_tasks(random, static_cast<std::int64_t>(configuration.at["n"]));
    auto const schedule = solve(configuration.strategy, tasks, machine);
    most = std::max(most, schedule.makespan.seconds() / schedule.lower_bound.seconds());
  }
  return {{"guarantee_percent", 100 * most / ratio}, {"most_percent", 100 * (most - 1)}};
}

Facts Runs::simulate(papers::Configuration const& configuration) const {
  Factorisation what{
      configuration.strategy, settings_.gpus, settings_.tile, 0, 0, settings_.window};
  if (configuration.workload == "blocks") {
    what.matrix = settings_.blocks;
    what.tile = configuration.at["block"];
    what.cores = settings_.cores;
    what.gpus = 1;
  } else {
    what.gpus = static_cast<int>(configuration.at["gpus"]);
    what.cores = platform_.cores - what.gpus;
  }
  auto const result = factorise(platform_, file_, what);
  auto const seconds =
      result.seconds + (configuration.workload == "blocks" ? result.scheduling_seconds : 0.0);
  Facts facts{{"seconds", seconds},
              {"gflops", result.flops / seconds / 1e9},
              {"gigabytes", result.bytes / 1e9},
              {"tasks", static_cast<double>(result.tasks)},
              {"tasks_on_gpus_percent", result.on_gpus_percent}};
  if (configuration.workload == "blocks") {
    facts["scheduling_seconds"] = result.scheduling_seconds;
  }
  return facts;
}

Facts const& Runs::of(papers::Configuration const& configuration) {
  auto const found = known_.find(configuration);
  if (found != known_.end()) {
    return found->second;
  }
  if (configuration.workload == "random") {
    draw_random(configuration);
    if (!known_.contains(configuration)) {
      throw hs::Error(
          hs::ErrorCode::bad_input, configuration.strategy, "is not run on random instances");
    }
    return known_[configuration];
  }
  return known_[configuration] = configuration.workload == "time"        ? time(configuration)
                                 : configuration.workload == "guarantee" ? guarantee(configuration)
                                 : configuration.workload == "lemma3"    ? lemma3(configuration)
                                                                         : simulate(configuration);
}

void Runs::run(std::vector<papers::Configuration> const& those) {
  std::set<papers::Configuration> const missing(those.begin(), those.end());
  auto const weight = [](papers::Configuration const& configuration) {
    auto const& numbers = configuration.at.numbers();
    auto const n = numbers.find("n");
    return n == numbers.end() ? 1.0 : static_cast<double>(n->second);
  };
  double all = 0;
  for (auto const& configuration : missing) {
    all += weight(configuration);
  }
  benchmarks::Progress progress(missing.size(), all);
  for (auto const& configuration : missing) {
    (void)of(configuration);
    progress.done(weight(configuration));
  }
}

} // namespace bleuse2015
