// SPDX-License-Identifier: MIT
// Runs a task graph on a machine that a file describes, in virtual time, under one scheduler or
// all, and says how far each run is from the lower bounds (docs/simulation.md).

#include <hetsched/accel_32.hpp>
#include <hetsched/dual_approx_2.hpp>
#include <hetsched/dual_approx_43.hpp>
#include <hetsched/hetero_prio_lookahead.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_approx.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/dynamic_heft.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/portfolio.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/simulated_runtime.hpp>

#include "../examples/common/chosen_cache.hpp"
#include "progress.hpp"
#include "simulated_run.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hs = hetsched;
using benchmarks::Case;
using benchmarks::Options;
using benchmarks::Result;
using benchmarks::StaticChoice;

namespace {

using hs::policies::HeteroPrioTypes;
namespace hetero_prio = hs::policies::hetero_prio;

hs::Priorities priorities(std::string const& rank) {
  return rank == "min"   ? hs::Priorities::bottom_min
         : rank == "avg" ? hs::Priorities::bottom_avg
                         : hs::Priorities::own;
}

hs::Simulation simulation(Case const& its, Options const& options, std::uint64_t seed) {
  return {.platform = its.platform,
          .algorithm = options.machine.kernels_of(),
          .precision = options.machine.arithmetic(),
          .tile = options.machine.tile,
          .library = its.library,
          .serve = options.serve == "cpu" ? hs::Simulation::Serve::cpu : hs::Simulation::Serve::gpu,
          .transfers = options.comm == "model"    ? hs::Simulation::Transfers::model
                       : options.comm == "shared" ? hs::Simulation::Transfers::shared
                                                  : hs::Simulation::Transfers::free,
          .window = options.window,
          .explain = options.explain,
          .memory_trace = options.memory_trace,
          .noise = options.noise,
          .noise_is = options.noise_is == "task" ? hs::Simulation::Noise::per_task
                                                 : hs::Simulation::Noise::per_type,
          .seed = seed,
          .priorities = priorities(options.rank),
          .time_decisions = !options.deterministic && !options.speed};
}

template <class Scheduler, class... Knobs>
Result
simulate(Case const& its, Options const& options, std::uint64_t seed, Knobs const&... knobs) {
  auto config = simulation(its, options, seed);
  config.record = !options.trace.empty();
  Result result;
  hs::PlanRecorder recorder;
  if (options.comm != "free" || !options.gantt.empty() || options.record) {
    config.on_task = [&](hs::SimulatedTask const& task) {
      result.makespan = task.end - hs::Instant{};
      recorder(task);
      if (!options.gantt.empty()) {
        result.gantt.add(task);
      }
    };
  }
  hs::SimulatedRuntime<Scheduler, example::ChosenCache> rt(config, knobs...);
  auto const begin = std::chrono::steady_clock::now();
  rt.run(its.graph, its.allowed);
  result.real_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.stats = rt.stats();
  if (!options.trace.empty()) {
    result.trace = rt.trace();
  }
  if (options.record) {
    result.plan = recorder.plan(its.graph, its.platform);
  }
  if (options.comm == "free") {
    result.makespan = result.stats.elapsed;
  }
  for (auto const& type : result.stats.types) {
    auto const on = type.arch == hs::ArchHost ? 0 : 1;
    auto const* const kernel = its.platform.find(type.name,
                                                 options.machine.kernels_of(),
                                                 options.machine.arithmetic(),
                                                 options.machine.tile,
                                                 its.library);
    auto const count = static_cast<std::int64_t>(type.count);
    if (kernel->on(0) && kernel->on(1)) {
      result.equal_cpu[on] += {kernel->on(0)->mean.ns * count};
      result.equal_gpu[on] += {kernel->on(1)->mean.ns * count};
    } else {
      result.comparable[on] = false;
    }
  }
  return result;
}

Result follow(Case const& its, Options const& options, std::uint64_t seed) {
  return simulate<hs::policies::StaticSchedule>(its, options, seed, its.plan);
}

using Lookahead = hs::HeteroPrioLookahead<hs::EngineSimulator<example::ChosenCache>,
                                          hs::policies::HeteroPrio,
                                          hs::policies::DynamicHeftp<>,
                                          hs::policies::DualHP>;

/// Runs of one graph on one machine have one plan.
Result simulate_lookahead(Case const& its, Options const& options, std::uint64_t seed) {
  static auto const plan = std::make_shared<hs::LookaheadPlan>();
  return simulate<Lookahead>(
      its, options, seed, Lookahead::Config{.effort = options.effort, .plan = plan});
}

using Candidates = hs::Portfolio<hs::policies::HeteroPrio,
                                 hs::policies::DynamicHeft,
                                 hs::policies::DynamicHeftp<>,
                                 hs::policies::Dmdar,
                                 hs::policies::Dmdas,
                                 hs::policies::DualHP,
                                 hs::policies::LocalityAware<>>;

/// The best of these without noise. Its row has the ranking.
Result simulate_portfolio(Case const& its, Options const& options, std::uint64_t seed) {
  auto const ranking =
      Candidates::rank<example::ChosenCache>(its.graph, simulation(its, options, seed));
  auto result = Candidates::with_best(ranking, [&]<class Scheduler>(std::type_identity<Scheduler>) {
    return simulate<Scheduler>(its, options, seed);
  });
  result.ranking = Candidates::text(
      ranking, {"heteroprio", "heft", "heftp", "dmdar", "dmdas", "dualhp", "locality"});
  return result;
}

struct Policy {
  std::string_view name; // NAME[:VARIANT][:option=value,...]
  Result (*run)(Case const&, Options const&, std::uint64_t);
};

constexpr std::array policies{
    Policy{"ws", simulate<hs::policies::WorkStealing<>>},
    Policy{"eager", simulate<hs::policies::Eager<>>},
    Policy{"random", simulate<hs::policies::Random<>>},
    Policy{"priority", simulate<hs::policies::Priority<>>},
    Policy{"dataaware", simulate<hs::policies::DataAware<>>},
    Policy{"locality", simulate<hs::policies::LocalityAware<>>},
    Policy{"heft:xkaapi", simulate<hs::policies::Heft<>>},
    Policy{"heft", simulate<hs::policies::DynamicHeft>},
    Policy{"heftp", simulate<hs::policies::DynamicHeftp<>>},
    Policy{"heftp:let", simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::local_time>>},
    Policy{"heftp:gb", simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::gpus_busy>>},
    Policy{"heftp:mms",
           simulate<hs::policies::DynamicHeftp<hs::policies::LookAhead::min_makespan>>},
    Policy{"dmda", simulate<hs::policies::Dmda<>>},
    Policy{"dmdar", simulate<hs::policies::Dmdar>},
    Policy{"dmdas", simulate<hs::policies::Dmdas>},
    Policy{"heteroprio", simulate<hs::policies::HeteroPrio>},
    Policy{"heteroprio:hp", simulate<HeteroPrioTypes<hetero_prio::hp>>},
    Policy{"heteroprio:sp", simulate<HeteroPrioTypes<hetero_prio::sp>>},
    Policy{"heteroprio:cgv", simulate<HeteroPrioTypes<hetero_prio::cgv>>},
    Policy{"heteroprio:pp", simulate<HeteroPrioTypes<hetero_prio::pp>>},
    Policy{"heteroprio:pc", simulate<HeteroPrioTypes<hetero_prio::pc>>},
    Policy{"heteroprio:pcep", simulate<HeteroPrioTypes<hetero_prio::pcep>>},
    Policy{"heteroprio:pcept", simulate<HeteroPrioTypes<hetero_prio::pcept>>},
    Policy{"heteroprio:area", simulate<HeteroPrioTypes<hetero_prio::area>>},
    Policy{"heteroprio:hetindex", simulate<HeteroPrioTypes<hetero_prio::hetindex>>},
    Policy{"heteroprio:lookahead", simulate_lookahead},
    Policy{"portfolio", simulate_portfolio},
    Policy{"dualhp", simulate<hs::policies::DualHP>},
    Policy{"dual43", simulate<hs::policies::DualApprox<hs::DualApprox43>>},
    Policy{"accel32", simulate<hs::policies::DualApprox<hs::Accel32>>},
    Policy{"dual2", simulate<hs::policies::DualApprox<hs::DualApprox2>>},
    Policy{"scioto:single", simulate<hs::policies::SciotoSingle>},
    Policy{"scioto:double", simulate<hs::policies::SciotoDouble<>>},
    Policy{"ws:queue=fifo", simulate<hs::policies::WorkStealing<hs::policies::Fifo>>},
    Policy{"ws:victim=loaded",
           simulate<hs::policies::WorkStealing<hs::policies::WorkStealingDeque,
                                               hs::policies::MostLoadedVictim>>},
    Policy{"eager:queue=lifo", simulate<hs::policies::Eager<hs::policies::Lifo>>},
    Policy{"random:queue=priority", simulate<hs::policies::Random<hs::policies::PriorityHeap>>}};

/// Those without option=value are `all`, but for those that simulate others, or at each decision,
/// and HeteroPrio's forms.
std::vector<Policy> chosen(std::string const& name) {
  std::vector<Policy> found;
  if (StaticChoice::of(name)) {
    found.push_back({name, follow});
  }
  for (auto const& policy : policies) {
    bool const plain = policy.name.find('=') == std::string_view::npos &&
                       policy.name.find("heftp:") == std::string_view::npos &&
                       policy.name.find("heteroprio:") == std::string_view::npos &&
                       policy.name != "portfolio";
    if (name == policy.name || (name == "all" && plain)) {
      found.push_back(policy);
    }
  }
  return found;
}

/// What some of them do with a graph when transfers are free and times as they are: where a search
/// begins.
std::vector<hs::StaticPlan>
heuristics(Case const& its, hs::Platform const& platform, Options const& options) {
  auto alone = options;
  alone.rank = "min";
  alone.comm = "free";
  alone.noise = 0;
  alone.gantt.clear();
  alone.explain.clear();
  alone.trace.clear();
  alone.memory_trace.clear();
  alone.record = true;
  Case const there{platform, its.graph, its.tiles, its.library, its.related, its.times, {}};
  std::vector<hs::StaticPlan> plans;
  for (auto const* const name : {"heteroprio", "heftp", "dmdas", "dualhp"}) {
    plans.push_back(chosen(name).front().run(there, alone, options.seed).plan);
  }
  return plans;
}

void print(Options const& options) {
  auto described = options.machine.read();
  for (auto& node : described.nodes) {
    if (options.device_memory != 0 && &node != &described.nodes.front()) {
      node.capacity_bytes = options.device_memory;
    }
  }
  auto const& names = example::ChosenCache::names;
  example::ChosenCache::choose(static_cast<std::size_t>(
      std::find(names.begin(), names.end(), options.cache) - names.begin()));
  bool heading = !options.json;
  auto const those = chosen(options.scheduler);
  // What a run takes goes with its tasks, and their number with the cube of the tiles in a row.
  auto const weight = [](std::optional<std::size_t> tiles) {
    auto const n = static_cast<double>(tiles.value_or(1));
    return n * n * n;
  };
  auto const each = static_cast<std::size_t>(options.repeat) * those.size();
  auto const sizes =
      options.machine.own_graph() ? options.machine.tiles : std::vector{std::size_t{1}};
  double all = 0;
  for (auto const tiles : sizes) {
    all += weight(tiles) * static_cast<double>(each);
  }
  check_one_run(options, sizes.size() * each);
  auto const plan = StaticChoice::of(options.scheduler);
  auto const slower = options.plans.inflate / 100;
  benchmarks::Progress progress(sizes.size() * each, all);
  options.machine.each_graph(described, [&](hs::TaskGraph graph, std::optional<std::size_t> tiles) {
    auto platform = options.plans.save.empty() ? described : described.with_slower_cores(slower);
    auto const library = options.machine.library_of(platform, graph);
    std::optional<double> related;
    if (options.related) {
      related = options.machine.make_related(platform, graph, library);
    }
    auto times = hs::class_times(graph,
                                 platform,
                                 options.machine.kernels_of(),
                                 options.machine.arithmetic(),
                                 options.machine.tile,
                                 library);
    if (options.rank == "fifo") {
      graph = graph.with_priorities(std::vector<std::int32_t>(graph.size()));
    }
    Case its{platform, std::move(graph), tiles, library, related, std::move(times), {}};
    its.bounds = options.bounds.of(its.graph, options.machine, platform, library, tiles, its.times);
    its.allowed = options.plans.allowed(its.graph, platform, options.machine);
    if (plan) {
      auto const longer = options.plans.save.empty() ? slower : 0; // else they are already
      auto const bound = longer == 0 ? its.bounds.best() : std::nullopt;
      auto chosen_plan =
          plan->config_for(its.graph,
                           platform,
                           options.machine,
                           library,
                           priorities(options.rank),
                           longer,
                           options.plans.limits(options.seed, bound.value_or(hs::Duration{})),
                           [&](hs::Platform const& on) { return heuristics(its, on, options); });
      its.plan = std::move(chosen_plan.config);
      its.plan_bound = longer == 0 ? chosen_plan.bound : std::nullopt;
    }
    for (auto const& policy : those) {
      for (int k = 0; k < options.repeat; ++k) {
        auto const seed = options.seed + static_cast<std::uint64_t>(k);
        auto result = policy.run(its, options, seed);
        auto row = row_of(its, options, policy.name, seed, result);
        if (!result.ranking.empty()) {
          row["ranking"] = result.ranking;
        }
        if (options.record) {
          hs::write_plan(result.plan, options.plans.save);
        }
        if (!options.gantt.empty()) {
          draw(its, options, policy.name, result);
        }
        if (!options.trace.empty()) {
          write_trace(its, options, policy.name, result);
        }
        progress.clear();
        if (options.json) {
          std::printf("%s\n", row.dump().c_str());
          progress.done(weight(tiles));
          continue;
        }
        if (std::exchange(heading, false)) {
          std::printf(
              "%s on %s: %d cores and %d GPUs, %s, tiles of %zu, %s served first, virtual "
              "time\ntiles   tasks  scheduler       seed   makespan s    GFlop/s  ratio to bound  "
              "idle cores s   idle GPUs s\n",
              options.machine.dag.c_str(),
              platform.name.c_str(),
              platform.classes[0].workers,
              platform.classes[1].workers,
              options.machine.precision.c_str(),
              options.machine.tile,
              options.serve.c_str());
        }
        std::printf("%5s %7zu  %-13s %6llu %12.6f %10.1f %15.4f %13.3f %13.3f\n",
                    tiles ? std::to_string(*tiles).c_str() : "-",
                    its.graph.size(),
                    std::string(policy.name).c_str(),
                    static_cast<unsigned long long>(seed),
                    row["makespan_s"].get<double>(),
                    tiles ? row["gflops"].get<double>() : 0.0,
                    row["ratio"].is_null() ? 0.0 : row["ratio"].get<double>(),
                    row["idle_cpu_s"].get<double>(),
                    row["idle_gpu_s"].get<double>());
        if (!result.ranking.empty()) {
          std::printf("%15s %s\n", "", result.ranking.c_str());
        }
        progress.done(weight(tiles));
      }
    }
  });
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a task graph on a described machine in virtual time.");
  options.machine.add_to(app);
  options.bounds.add_to(app);
  options.plans.add_to(app);
  std::set<std::string> names{"all"};
  for (auto const& policy : policies) {
    names.emplace(policy.name);
  }
  app.add_option("--scheduler",
                 options.scheduler,
                 "NAME[:OPTION=VALUE], all without options (default), or "
                 "static:FILE[,g|,gs][,steal][,merge], static:heft[...], static:search[...], "
                 "static:solver[...]")
      ->check(StaticChoice::is_one() | CLI::IsMember(names));
  app.add_option("--rank", options.rank, "priorities: min, avg, fifo or the graph's own (default)")
      ->check(CLI::IsMember({"min", "avg", "fifo", "own"}));
  app.add_option("--serve", options.serve, "idle workers offered work first: cpu or gpu (default)")
      ->check(CLI::IsMember({"cpu", "gpu"}));
  app.add_option("--comm",
                 options.comm,
                 "transfers: free (default), model (latency + bytes / bandwidth x GPUs) or shared "
                 "(fair shares of links)")
      ->check(CLI::IsMember({"free", "model", "shared"}));
  app.add_option("--window", options.window, "tasks that a GPU commits itself to (default 4)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--cache", options.cache, "of GPU memories: lru (default), fifo, reuse, nextuse")
      ->check(CLI::IsMember({"lru", "fifo", "reuse", "nextuse"}));
  app.add_option("--device-memory", options.device_memory, "of each GPU, such as 2GB")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--memory-trace", options.memory_trace, "file for what decides which bytes move");
  app.add_option("--explain",
                 options.explain,
                 "says on stderr why tasks go where they go: TYPE, LABEL or #NUMBER in the graph");
  app.add_option("--gantt", options.gantt, "file for a picture of the one run, SVG");
  app.add_option("--trace", options.trace, "file for what happened in the one run");
  app.add_option("--effort",
                 options.effort,
                 "tasks that heteroprio:lookahead simulates beforehand (default 30000000)");
  app.add_flag(
      "--related", options.related, "GPUs as many times faster as on average, at anything");
  app.add_option("--noise", options.noise, "times are off by up to so much: 0 to below 1")
      ->check(CLI::Range(0.0, 0.999));
  app.add_option("--noise-is", options.noise_is, "one factor for each type (default) or task")
      ->check(CLI::IsMember({"type", "task"}));
  app.add_option("--seed", options.seed, "of schedulers and noise (default 1)");
  app.add_option("--repeat", options.repeat, "runs, with seeds from --seed on")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--deterministic", options.deterministic, "leave out what is measured");
  app.add_flag("--speed", options.speed, "measure how fast the simulation is, not the decisions")
      ->excludes("--deterministic");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("simulate", app, argc, argv, [&] {
    options.record = !options.plans.save.empty();
    print(options);
  });
}
