// SPDX-License-Identifier: MIT

#include "runs.hpp"

#include <hetsched/core/error.hpp>

#include "../../common/progress.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace arafat2016 {

namespace {

using papers::Configuration;
using papers::Mean;

constexpr std::size_t several_nodes[] = {2, 4, 8, 16, 32}; // of figures 11 and 12

bool is_run(Configuration const& at) {
  return named(mixes(), at.workload) != nullptr || at.workload == "pipeline" ||
         (at.workload == "ccsd_t" && at.strategy != "hybrid");
}

Configuration with(Configuration at, std::string strategy) {
  at.strategy = std::move(strategy);
  return at;
}

/// Both rules with each distribution.
std::vector<Configuration> hybrids(papers::Point const& at) {
  std::vector<Configuration> all;
  for (auto const& how : distributions()) {
    all.push_back({"ccsd_t", at, how.name});
    all.push_back({"ccsd_t", at, how.name + double_ended_suffix});
  }
  return all;
}

/// What has to be run for all metrics of one.
std::vector<Configuration> needed(Configuration const& at) {
  if (at.workload == "stealing") {
    std::vector<Configuration> all;
    for (auto const nodes : several_nodes) {
      auto const those = hybrids(papers::Point({{"nodes", nodes}}));
      all.insert(all.end(), those.begin(), those.end());
    }
    return all;
  }
  auto all = at.strategy == "hybrid" ? hybrids(at.at) : std::vector{at};
  if (at.workload == "pipeline") {
    all.push_back(with(at, "g2-local"));
  } else if (is_run(all.front())) {
    all.push_back(with(at, "cpu"));
  } else {
    all.clear();
  }
  return all;
}

/// a / b.
Mean quotient(Mean const& a, Mean const& b) {
  auto const ratio = a.value / b.value;
  return {ratio, ratio * std::hypot(a.half / a.value, b.half / b.value)};
}

} // namespace

Runs::Runs(Settings const& settings, std::string const& folder, Options const& options)
    : settings_(settings),
      machine_(read_machine(folder + "/platforms/" + settings.platform + ".json",
                            folder + "/platforms/" + settings.cpu_platform + ".json",
                            folder + "/networks/" + settings.network + ".json")),
      options_(options), contraction_times_(machine_.both),
      product_estimates_{product_estimate(machine_.both, settings.mix.small),
                         product_estimate(machine_.both, settings.mix.large)} {
}

// ---- runs ----

/// The one that has the times of all workers of a machine's platform.
hs::Platform const& Runs::timed(hs::Platform const& platform) const {
  return &platform == &machine_.gpu ? machine_.both : platform;
}

Outcome Runs::once_of_mix(Configuration const& configuration, Setup setup) const {
  auto const& mix = *named(mixes(), configuration.workload);
  setup.thief = named(mix_strategies(), configuration.strategy)->thief;
  setup.ranks = settings_.nodes;
  auto sizes = settings_.mix;
  sizes.large_tasks *= mix.large;
  sizes.small_tasks *= mix.small;
  auto const skew = static_cast<double>(configuration.at["skew"]) / 100;
  auto const work = products(sizes, settings_.nodes, skew);
  setup.estimate = [this, small = sizes.small_tasks](std::size_t task) {
    return product_estimates_[task < static_cast<std::size_t>(small) ? 0 : 1];
  };
  return simulate(setup, machine_, product_times(timed(*setup.platform), "derived"), work);
}

Outcome Runs::once_of_pipeline(Configuration const& configuration, Setup setup) const {
  auto const& how = *named(pipeline_strategies(), configuration.strategy);
  setup.platform = &machine_.gpu;
  setup.ranks = how.local ? 1 : settings_.nodes;
  setup.gpu_tasks = how.on_gpu + how.in_pipeline; // between them they get and give
  setup.window = how.on_gpu;
  auto const work = equal_products(configuration.at["n"], settings_.pipelined_tasks, setup.ranks);
  return simulate(setup, machine_, product_times(timed(*setup.platform), "derived"), work);
}

Outcome Runs::once_of_ccsd_t(Configuration const& configuration, Setup setup) {
  auto const& strategy = configuration.strategy;
  setup.ranks = static_cast<int>(configuration.at["nodes"]);
  setup.thief = Thief::single_ended;
  auto work = contractions(input_, setup.ranks);
  setup.estimate = [this](std::size_t task) {
    return contraction_times_.estimate(machine_.both, input_, input_.contractions[task]);
  };
  if (strategy == "gpu") {
    setup.platform = &machine_.gpu;
  } else if (strategy != "cpu") {
    bool const both_ends = strategy.ends_with(double_ended_suffix);
    setup.thief = both_ends ? Thief::double_ended : Thief::gpu_ended;
    auto const name = strategy.substr(0, strategy.find(double_ended_suffix));
    work.on = places(*named(distributions(), name), setup.ranks);
  }
  return simulate(setup, machine_, ContractionTimes(timed(*setup.platform)).of_tasks(), work);
}

Outcome Runs::once(Configuration const& configuration, std::uint64_t seed, std::string trace) {
  Setup setup{.platform = configuration.strategy == "cpu" ? &machine_.cpu : &machine_.both,
              .leave_to_faster = options_.leave_to_faster,
              .costs = options_.costs,
              .seed = seed,
              .trace = std::move(trace)};
  return configuration.workload == "pipeline" ? once_of_pipeline(configuration, std::move(setup))
         : configuration.workload == "ccsd_t" ? once_of_ccsd_t(configuration, std::move(setup))
                                              : once_of_mix(configuration, std::move(setup));
}

std::vector<std::int32_t> const& Runs::places(Distribution const& how, int ranks) {
  auto const [found, fresh] = places_.try_emplace({how.name, ranks});
  if (fresh) {
    std::vector<hs::TaskToPlace> tasks;
    auto const work = contractions(input_, ranks);
    for (auto const& contraction : input_.contractions) {
      auto const [cpu, gpu] = contraction_times_.estimate(machine_.both, input_, contraction);
      auto const output = work.graph.nodes()[tasks.size()].accesses.back().data;
      tasks.push_back({.cpu = cpu, .gpu = gpu, .output = work.homes[output]});
    }
    how.place(tasks, ranks);
    for (auto const& task : tasks) {
      found->second.push_back(task.rank);
    }
  }
  return found->second;
}

std::vector<Outcome> const& Runs::outcomes(Configuration const& configuration) {
  auto& known = known_[configuration];
  for (auto k = static_cast<int>(known.size()); k < options_.runs; ++k) {
    known.push_back(once(configuration, options_.seed + static_cast<std::uint64_t>(k), {}));
  }
  return known;
}

void Runs::run(std::vector<Configuration> const& those) {
  std::set<Configuration> missing;
  for (auto const& one : those) {
    for (auto const& run : needed(one)) {
      missing.insert(run);
    }
  }
  benchmarks::Progress progress(missing.size(), static_cast<double>(missing.size()));
  for (auto const& one : missing) {
    (void)outcomes(one);
    progress.done(1);
  }
}

Outcome Runs::trace(Configuration const& configuration, std::string const& file) {
  if (!is_run(configuration)) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    configuration.workload + " " + configuration.strategy,
                    "is no run that could have a trace");
  }
  return once(configuration, options_.seed, file);
}

// ---- metrics ----

Mean Runs::seconds(Configuration const& configuration) {
  if (configuration.strategy == "hybrid") {
    auto const all = hybrids(configuration.at);
    auto best = seconds(all.front());
    for (auto const& one : all) {
      auto const its = seconds(one);
      best = its.value < best.value ? its : best;
    }
    return best;
  }
  std::vector<double> values;
  for (auto const& outcome : outcomes(configuration)) {
    values.push_back(outcome.seconds);
  }
  return papers::mean_of(values);
}

double Runs::of_dgemm(Configuration const& at, std::string const& metric) const {
  auto const n = at.at["n"];
  bool const on_gpu = at.strategy == "gpu";
  auto const [team, gpu] = product_estimate(machine_.both, n);
  auto const computes = product_time(machine_.both, "derived", n, hs::ArchCUDA).seconds();
  return metric == "seconds" ? (on_gpu ? gpu : team).seconds()
                             : 100 * (gpu.seconds() - computes) / computes;
}

double Runs::ratio(Contraction const& contraction) const {
  auto const [cpu, gpu] = contraction_times_.estimate(machine_.both, input_, contraction);
  return cpu.seconds() / gpu.seconds();
}

std::vector<double> Runs::ratios() const {
  std::vector<double> all;
  for (auto const& contraction : input_.contractions) {
    all.push_back(ratio(contraction));
  }
  return all;
}

double Runs::of_ratios(std::string const& metric) const {
  double flops[2] = {}; // better on cores, on the GPU
  double tasks[2] = {};
  for (auto const& contraction : input_.contractions) {
    auto const kind = ratio(contraction) > 1 ? 1 : 0;
    flops[kind] += contraction.flops();
    tasks[kind] += 1;
  }
  return metric == "heavier" ? (flops[1] / tasks[1]) / (flops[0] / tasks[0])
                             : 100 * tasks[1] / (tasks[0] + tasks[1]);
}

double Runs::of_stealing(std::string const& metric) {
  double faster = 0;
  double lead = 0;
  double cases = 0;
  for (auto const nodes : several_nodes) {
    for (auto const& how : distributions()) {
      Configuration const at{"ccsd_t", papers::Point({{"nodes", nodes}}), how.name};
      auto const by =
          seconds(with(at, how.name + double_ended_suffix)).value / seconds(at).value - 1;
      faster += by > 0 ? 1 : 0;
      lead += by;
      cases += 1;
    }
  }
  return 100 * (metric == "faster_percent" ? faster : lead) / cases;
}

Mean Runs::metric(Configuration const& configuration, std::string const& name) {
  auto const& workload = configuration.workload;
  if (workload == "dgemm") {
    return {of_dgemm(configuration, name), 0};
  }
  if (workload == "ratios") {
    return {of_ratios(name), 0};
  }
  if (workload == "stealing") {
    return {of_stealing(name), 0};
  }
  auto const own = seconds(configuration);
  return name == "speedup"    ? quotient(seconds(with(configuration, "cpu")), own)
         : name == "slowdown" ? quotient(own, seconds(with(configuration, "g2-local")))
                              : own;
}

papers::Facts Runs::facts(Configuration const& configuration) {
  auto const& workload = configuration.workload;
  papers::Facts facts;
  auto const tell = [&](std::initializer_list<char const*> metrics) {
    for (auto const* const metric : metrics) {
      facts.emplace_back(metric, this->metric(configuration, metric).value);
    }
  };
  if (workload == "dgemm") {
    tell({"seconds"});
    if (configuration.strategy == "gpu") {
      tell({"transfer_percent"});
    }
  } else if (workload == "ratios") {
    tell({"gpu_tasks_percent", "heavier"});
  } else if (workload == "stealing") {
    tell({"faster_percent", "lead_percent"});
  } else {
    tell({"seconds"});
    workload == "pipeline" ? tell({"slowdown"}) : tell({"speedup"});
  }
  if (is_run(configuration)) {
    auto const& all = outcomes(configuration);
    for (auto const& [name, member] : {std::pair("gigabytes", &Outcome::gigabytes),
                                       {"steals", &Outcome::steals},
                                       {"tries", &Outcome::tries},
                                       {"stolen", &Outcome::stolen},
                                       {"gpu_tasks_percent", &Outcome::gpu_tasks},
                                       {"cpu_busy_percent", &Outcome::cpu_busy_percent},
                                       {"gpu_busy_percent", &Outcome::gpu_busy_percent}}) {
      double sum = 0;
      for (auto const& outcome : all) {
        sum += outcome.*member;
      }
      facts.emplace_back(name, sum / static_cast<double>(all.size()));
    }
  }
  return facts;
}

} // namespace arafat2016
