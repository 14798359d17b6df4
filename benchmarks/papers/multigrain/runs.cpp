// SPDX-License-Identifier: MIT

#include "runs.hpp"

#include <hetsched/core/error.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "../../common/progress.hpp"
#include "workload.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace multigrain {

namespace {

constexpr std::size_t streams = 20; // products side by side in figure 2a

[[noreturn]] void refuse(std::string const& strategy, std::string const& metric) {
  throw hs::Error(hs::ErrorCode::bad_input, strategy, "has no " + metric);
}

std::size_t n_of(papers::Configuration const& configuration) {
  return configuration.at["n"];
}

} // namespace

Runs::Runs(Settings const& settings, std::string const& folder, int runs, std::uint64_t seed)
    : settings_(settings), runs_(runs), seed_(seed) {
  for (auto const& name : settings.platforms) {
    auto const& machine = machines_.emplace_back(hs::read_platform(folder + "/" + name + ".json"));
    if (machine.links.empty() || machine.nodes.size() < 2) {
      throw hs::Error(hs::ErrorCode::bad_input, name, "has no GPU, or says nothing of its links");
    }
  }
}

Runs::Matrix const& Runs::matrix(std::size_t n) {
  auto const found = matrices_.find(n);
  if (found != matrices_.end()) {
    return found->second;
  }
  auto const pattern = matrix_pattern(n);
  auto const begin = std::chrono::steady_clock::now();
  auto filled = pattern.filled();
  auto const took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto const flops = hs::sparse::block_lu_flops(filled, settings_.block);
  return matrices_.emplace(n, Matrix{std::move(filled), flops, took}).first->second;
}

double Runs::detection_seconds(std::size_t n) {
  return matrix(n).detection_seconds;
}

int Runs::runs_of(std::string const& strategy, std::size_t n) const {
  constexpr std::size_t many_blocks = 100;
  bool const draws_lots = strategy_of(strategy)->where != Strategy::Where::gpu;
  return draws_lots && n <= many_blocks ? runs_ : 1;
}

std::vector<Outcome> const& Runs::outcomes(std::string const& strategy, std::size_t n, int runs) {
  auto& known = known_[{strategy, n}];
  auto const* const what = strategy_of(strategy);
  if (what == nullptr) {
    refuse(strategy, "run of its own");
  }
  auto const& machine = machines_[system_of(strategy)];
  auto const& memory_of = what->memory == Strategy::Memory::as_system_1 ? machines_[0] : machine;
  for (auto k = known.size(); k < static_cast<std::size_t>(runs); ++k) {
    known.push_back(simulate(
        machine, settings_, *what, matrix(n).filled, memory_of.nodes[1].capacity_bytes, seed_ + k));
  }
  return known;
}

papers::Mean Runs::mean(std::string const& strategy, std::size_t n, auto const& member) {
  std::vector<double> values;
  for (auto const& outcome : outcomes(strategy, n, runs_of(strategy, n))) {
    values.push_back(member(outcome));
  }
  return papers::mean_of(values);
}

papers::Mean Runs::speed(std::string const& workload, std::string const& strategy, std::size_t n) {
  auto const suffix = suffix_of(strategy);
  auto const base = strategy.substr(0, strategy.size() - suffix.size());
  if (base == "streamed") {
    auto const side = static_cast<double>(settings_.block);
    auto const seconds = side_by_side(machines_[system_of(strategy)], settings_.super, streams);
    return {2 * side * side * side * static_cast<double>(streams) / seconds / 1e9, 0};
  }
  if (base == "sum") {
    auto const cpus = speed(workload, "cpus-fine" + suffix, n);
    auto const gpu = speed(workload, "gpu-guided" + suffix, n);
    return {cpus.value + gpu.value, std::hypot(cpus.half, gpu.half)};
  }
  auto const& flops = matrix(n).flops;
  return mean(strategy, n, [&](Outcome const& outcome) {
    return workload == "all" ? flops.all / outcome.all_seconds / 1e9
                             : flops.updates / outcome.step3_seconds / 1e9;
  });
}

double Runs::percent_over(std::string const& strategy, std::string const& other, std::size_t n) {
  auto const suffix = suffix_of(strategy);
  auto const own = speed("step3", strategy, n).value;
  return 100 * (own / speed("step3", other + suffix, n).value - 1);
}

double Runs::gain(std::string const& strategy, std::size_t n) {
  auto const* const what = strategy_of(strategy);
  if (what == nullptr || what->without_cache.empty()) {
    refuse(strategy, "counterpart with the cache off");
  }
  return percent_over(strategy, what->without_cache, n);
}

/// GFlop per second of transfers.
double Runs::ratio(std::string const& strategy, std::size_t n) {
  auto const seconds =
      mean(strategy, n, [](Outcome const& outcome) { return outcome.transfer_seconds; }).value;
  if (!(seconds > 0)) {
    refuse(strategy, "transfers");
  }
  return matrix(n).flops.updates / seconds / 1e9;
}

/// Standard deviation over five seeds, of the mean.
double Runs::deviation_percent(std::string const& strategy, std::size_t n) {
  constexpr int least = 5;
  auto const& all = outcomes(strategy, n, std::max(least, runs_of(strategy, n)));
  double sum = 0;
  double squares = 0;
  for (auto const& outcome : all) {
    sum += outcome.step3_seconds;
    squares += outcome.step3_seconds * outcome.step3_seconds;
  }
  auto const count = static_cast<double>(all.size());
  auto const mean = sum / count;
  return 100 * std::sqrt(std::max(0.0, squares / count - mean * mean)) / mean;
}

/// The size at which the metric is largest.
std::size_t Runs::best_size(auto const& metric) const {
  return *std::max_element(settings_.sizes.begin(),
                           settings_.sizes.end(),
                           [&](std::size_t a, std::size_t b) { return metric(a) < metric(b); });
}

papers::Mean Runs::metric(papers::Configuration const& configuration, std::string const& name) {
  auto const n = n_of(configuration);
  auto const& strategy = configuration.strategy;
  auto const gain_at = [&](std::size_t size) { return gain(strategy, size); };
  auto const ratio_at = [&](std::size_t size) { return ratio(strategy, size); };
  auto const blocks = [](std::size_t size) {
    return papers::Mean{static_cast<double>(size * size), 0};
  };
  if (name == "gflops") {
    return speed(configuration.workload, strategy, n);
  }
  if (name == "gain_percent") {
    return {gain_at(n), 0};
  }
  if (name == "gain_peak") {
    return blocks(best_size(gain_at));
  }
  if (name == "most_gain_percent") {
    return {gain_at(best_size(gain_at)), 0};
  }
  if (name == "ratio") {
    return {ratio_at(n), 0};
  }
  if (name == "ratio_peak") {
    return blocks(best_size(ratio_at));
  }
  if (name == "deviation_percent") {
    return {deviation_percent(strategy, n), 0};
  }
  if (name == "lead_percent") {
    auto const* const what = strategy_of(strategy);
    if (what == nullptr || what->coarse.empty()) {
      refuse(strategy, "counterpart of coarse grain");
    }
    return {percent_over(strategy, what->coarse, n), 0};
  }
  auto const bytes = [](Outcome const& outcome) { return outcome.bytes_in + outcome.bytes_out; };
  auto const block = static_cast<double>(settings_.block * settings_.block * sizeof(float));
  return mean(strategy, n, [&](Outcome const& outcome) {
    return name == "transfer_seconds"        ? outcome.transfer_seconds
           : name == "transfers"             ? bytes(outcome) / block
           : name == "gigabytes"             ? bytes(outcome) / 1e9
           : name == "detection_percent"     ? 100 * detection_seconds(n) / outcome.all_seconds
           : configuration.workload == "all" ? outcome.all_seconds
                                             : outcome.step3_seconds;
  });
}

papers::Facts Runs::facts(papers::Configuration const& configuration) {
  papers::Facts facts{{"gflops", metric(configuration, "gflops").value}};
  auto const n = n_of(configuration);
  auto const* const what = strategy_of(configuration.strategy);
  if (what == nullptr) {
    return facts;
  }
  auto const add = [&](char const* name, auto const& member) {
    facts.emplace_back(name, mean(configuration.strategy, n, member).value);
  };
  facts.emplace_back("seconds", metric(configuration, "seconds").value);
  facts.emplace_back("runs", runs_of(configuration.strategy, n));
  if (what->where != Strategy::Where::cpus) {
    add("gigabytes_in", [](Outcome const& outcome) { return outcome.bytes_in / 1e9; });
    add("gigabytes_out", [](Outcome const& outcome) { return outcome.bytes_out / 1e9; });
    add("transfer_seconds", [](Outcome const& outcome) { return outcome.transfer_seconds; });
    add("kernel_seconds", [](Outcome const& outcome) { return outcome.kernel_seconds; });
    add("hit_percent", [](Outcome const& outcome) { return outcome.hit_percent; });
    if (what->tasks != Strategy::Tasks::coarse || what->where == Strategy::Where::gpu) {
      add("gpu_blocks_percent", [](Outcome const& outcome) { return outcome.gpu_blocks; });
    }
  }
  return facts;
}

void Runs::run(std::vector<papers::Configuration> const& those) {
  std::set<std::pair<std::size_t, std::string>> missing;
  for (auto const& configuration : those) {
    if (strategy_of(configuration.strategy) != nullptr) {
      missing.insert({n_of(configuration), configuration.strategy});
    }
  }
  auto const weight = [&](std::size_t n, std::string const& strategy) {
    return std::pow(static_cast<double>(n), 3) * runs_of(strategy, n);
  };
  double all = 0;
  for (auto const& [n, strategy] : missing) {
    all += weight(n, strategy);
  }
  benchmarks::Progress progress(missing.size(), all);
  for (auto const& [n, strategy] : missing) {
    (void)outcomes(strategy, n, runs_of(strategy, n));
    progress.done(weight(n, strategy));
  }
}

} // namespace multigrain
