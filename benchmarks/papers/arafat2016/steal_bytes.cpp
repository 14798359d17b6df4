// SPDX-License-Identifier: MIT
// Bytes that move, and time, if thieves know where data are, beside thieves that do not: in virtual
// time, on the 32 nodes of the Scioto-ACC paper (derived), with its five skews, and with the
// contractions of its CCSD(T).

#include <hetsched/collections/simulated_collection.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/platform/network_json.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "../../common/run_program.hpp"
#include "ccsd_t.hpp"
#include "node_times.hpp"
#include "workloads.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace {

using arafat2016::Workload;

struct Options {
  std::string platform = "benchmarks/platforms/scioto_node.json";
  std::string network = "benchmarks/networks/scioto_ib.json";
  int ranks = 32;
  int large = 10; // tasks for each rank
  int seeds = 3;
};

/// The mean of some runs.
struct Moved {
  double seconds = 0;
  double bytes = 0;
  double steals = 0;
};

template <class Steal>
Moved run(hs::CollectionSimulation config, Workload const& work, int seeds) {
  Moved mean;
  for (int seed = 1; seed <= seeds; ++seed) {
    config.options.seed = static_cast<std::uint64_t>(seed);
    hs::SimulatedCollection<Steal> collection(config);
    collection.run(work.graph, work.homes, work.on);
    auto const stats = collection.stats();
    mean.seconds += stats.elapsed.seconds() / seeds;
    mean.bytes += static_cast<double>(stats.values.bytes) / seeds;
    for (auto const& rank : stats.ranks) {
      mean.steals += static_cast<double>(rank.tasks.steals) / seeds;
    }
  }
  return mean;
}

/// A rule, and the same with StealTasks::near.
struct Rule {
  char const* name;
  Moved (*random)(hs::CollectionSimulation, Workload const&, int);
  Moved (*aware)(hs::CollectionSimulation, Workload const&, int);
};

template <class Steal>
constexpr Rule rule(char const* name) {
  return {name, &run<Steal>, &run<hs::DataAware<Steal>>};
}

constexpr Rule rules[] = {rule<hs::SingleEnded>("SingleEnded"),
                          rule<hs::DoubleEnded<2>>("DoubleEnded<2>"),
                          rule<hs::GpuEnded<2>>("GpuEnded<2>"),
                          rule<hs::EitherEnd<2>>("EitherEnd<2>")};

class Table {
public:
  Table(hs::CollectionSimulation config, int seeds) : config_(std::move(config)), seeds_(seeds) {
    std::printf("%-22s %-15s %9s %9s %8s %9s %9s %8s\n",
                "",
                "",
                "random s",
                "GB",
                "steals",
                "aware s",
                "GB",
                "steals");
  }

  void add(std::string const& name, Workload const& work) {
    for (auto const& rule : rules) {
      auto const random = rule.random(config_, work, seeds_);
      auto const aware = rule.aware(config_, work, seeds_);
      std::printf("%-22s %-15s %9.4f %9.3f %8.0f %9.4f %9.3f %8.0f\n",
                  name.c_str(),
                  rule.name,
                  random.seconds,
                  random.bytes / 1e9,
                  random.steals,
                  aware.seconds,
                  aware.bytes / 1e9,
                  aware.steals);
      std::fflush(stdout);
      ++rows_;
      fewer_ += aware.bytes < random.bytes ? 1 : 0;
      longest_ = std::max(longest_, aware.seconds / random.seconds);
    }
  }

  void sum_up() const {
    std::printf(
        "data-aware thieves move fewer bytes in %d of %d rows, and take at most %.3f times as "
        "long\n",
        fewer_,
        rows_,
        longest_);
  }

private:
  hs::CollectionSimulation config_;
  int seeds_;
  int rows_ = 0;
  int fewer_ = 0;
  double longest_ = 0;
};

void compare(Options const& options) {
  auto const platform = hs::read_platform(options.platform).in_groups(arafat2016::team_cores);
  hs::CollectionSimulation config;
  config.node.platform = platform;
  config.node.algorithm = "scioto";
  config.node.library = "derived_figure7"; // large products for the GPU, small ones for cores
  config.node.tile = 1000;
  config.node.transfers = hs::Simulation::Transfers::shared;
  config.node.task_time = arafat2016::product_times(platform, config.node.library);
  config.network = hs::read_network(options.network);
  config.network.sharing = hs::Network::Sharing::fair;
  config.ranks = options.ranks;
  config.options.keep_kind = true;
  config.options.leave_to_faster = true;
  Table table(config, options.seeds);
  for (auto const& [mix, large, small] : {std::tuple("1:1", 1, 1), {"2:1", 2, 1}, {"1:2", 1, 2}}) {
    arafat2016::Products const sizes{.small_tasks = 8 * small * options.large * options.ranks,
                                     .large_tasks = large * options.large * options.ranks};
    for (auto const skew : {1.0, 0.75, 0.5, 0.25, 0.0}) {
      char name[40];
      std::snprintf(name, sizeof name, "products %s, skew %.2f", mix, skew);
      table.add(name, arafat2016::products(sizes, options.ranks, skew));
    }
  }
  table.sum_up();
  config.node.library = "derived";
  config.node.task_time = arafat2016::ContractionTimes(platform).of_tasks();
  Table contraction_table(config, options.seeds);
  using arafat2016::PointSymmetry;
  for (auto const& [name, symmetry] :
       {std::tuple("CCSD(T)", PointSymmetry::none), {"CCSD(T), Cs", PointSymmetry::cs}}) {
    contraction_table.add(name,
                          arafat2016::contractions(arafat2016::ccsd_t(symmetry), options.ranks));
  }
  contraction_table.sum_up();
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app("steal_bytes: what thieves gain that know where data are");
  Options options;
  app.add_option("--platform", options.platform, "of each node (" + options.platform + ")");
  app.add_option("--network", options.network, "between them (" + options.network + ")");
  app.add_option("--ranks", options.ranks, "nodes (32)")->check(CLI::Range(2, 1024));
  app.add_option("--large", options.large, "large products for each rank (10)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--seeds", options.seeds, "runs, of which the mean counts (3)")
      ->check(CLI::Range(1, 1000));
  return benchmarks::run_program("steal_bytes", app, argc, argv, [&] { compare(options); });
}
