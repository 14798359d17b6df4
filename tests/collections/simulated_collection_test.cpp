// SPDX-License-Identifier: MIT
// Collections in virtual time: times by hand, and what holds whatever happens.
//
// HETSCHED_TEST_GRAPHS: how many random collections are run (default 60), from seed
// HETSCHED_TEST_SEED (default 1).

#include <hetsched/collections/simulated_collection.hpp>

#include "../cluster/cluster_graphs.hpp"
#include "../support/dice.hpp"
#include "../support/env_or.hpp"
#include "../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace simulated_collection_test {

using cluster_graphs::task;
using support::Dice;
using enum hs::AccessMode;

using Ranks = std::vector<std::int32_t>;

constexpr double endless = std::numeric_limits<double>::infinity();

/// 1 byte a nanosecond from rank to rank, and 5 us of latency; targets need no time.
hs::CollectionSimulation ranks_of(hs::Simulation node, int ranks) {
  hs::CollectionSimulation config;
  config.node = std::move(node);
  config.network = {.name = "by hand",
                    .out_bytes_per_s = 1e9,
                    .in_bytes_per_s = 1e9,
                    .latency = {5'000},
                    .sharing = hs::Network::Sharing::none};
  config.costs = {.at_target = {},
                  .accumulate_bytes_per_s = endless,
                  .progress = {},
                  .between_bodies = false,
                  .local_bytes_per_s = endless};
  config.ranks = ranks;
  return config;
}

/// Tasks of which each reads a datum and adds to one.
hs::TaskGraph pairs(std::size_t tasks, std::size_t bytes, std::string_view type = "Even") {
  std::vector<hs::TaskGraph::Node> nodes;
  for (std::uint32_t v = 0; v < tasks; ++v) {
    nodes.push_back(task(type, {{2 * v, read, nullptr}, {2 * v + 1, reduce, nullptr}}));
  }
  return {std::move(nodes), std::vector<std::size_t>(2 * tasks, bytes)};
}

/// One run of a graph.
struct Observed {
  std::map<int, std::pair<int, hs::SimulatedTask>> executed; // by number: where, and when
  hs::SimulatedCollectionStats stats;
  int executions = 0;
};

template <class Steal = hs::SingleEnded, class Distribution = hs::AsAdded>
Observed run(hs::CollectionSimulation config,
             hs::TaskGraph const& graph,
             Ranks const& homes,
             Ranks const& on) {
  Observed seen;
  config.on_task = [&](int rank, hs::SimulatedTask const& executed) {
    ++seen.executions;
    seen.executed.emplace(executed.node, std::pair(rank, executed));
  };
  hs::SimulatedCollection<Steal, Distribution> collection(config);
  collection.run(graph, homes, on);
  seen.stats = collection.stats();
  return seen;
}

std::uint64_t sum(hs::SimulatedCollectionStats const& stats,
                  std::uint64_t hs::CollectionStats::* part) {
  std::uint64_t all = 0;
  for (auto const& rank : stats.ranks) {
    all += rank.tasks.*part;
  }
  return all;
}

/// "" if nothing is thrown.
template <class F>
std::string thrown(F const& f) {
  try {
    f();
  } catch (hs::Error const& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("virtual collection: one rank is done when its workers are") {
  for (auto const tasks : {1, 2, 7, 100}) {
    auto const graph = pairs(static_cast<std::size_t>(tasks), 100);
    auto const seen =
        run(ranks_of(simulated::on(2, 0), 1), graph, Ranks(graph.data_bytes().size()), {});
    CHECK(seen.stats.elapsed.ns == (tasks + 1) / 2 * 10);
    CHECK(seen.executions == tasks);
    CHECK(seen.stats.values.messages == 0);
    CHECK(seen.stats.ranks[0].busy.ns == 10 * tasks);
  }
}

TEST_CASE("virtual collection: a get is a message there, and one back with the value") {
  auto const begin = [](std::size_t bytes, hs::OneSidedCosts const& costs) {
    auto config = ranks_of(simulated::on(1, 0), 2);
    config.costs = costs;
    auto const seen = run<hs::NoStealing>(config, pairs(1, bytes), {1, 0}, {0});
    CHECK(seen.stats.values.messages == 1);
    CHECK(seen.stats.values.bytes == bytes);
    CHECK(seen.stats.ranks[0].tasks.bytes_got == bytes);
    CHECK(seen.stats.ranks[0].tasks.bytes_put == bytes);
    return seen.executed.at(0).second.begin.ns;
  };
  auto costs = ranks_of(simulated::on(1, 0), 2).costs;
  auto const alone = begin(1, costs);
  CHECK(begin(1'001, costs) == alone + 1'000);
  costs.progress = {700};
  auto const seen_later = begin(1, costs);
  CHECK(seen_later >= alone + 700); // of the wave at the beginning, too
  costs.at_target = {300};
  CHECK(begin(1, costs) >= seen_later + 300);
}

TEST_CASE("virtual collection: sums are added one after the other at their target") {
  auto config = ranks_of(simulated::on(4, 0), 2);
  config.costs.accumulate_bytes_per_s = 1e8; // ten times as long as on the way
  auto const elapsed = [&](std::size_t tasks) {
    return run<hs::NoStealing>(
               config,
               pairs(tasks, 10'000),
               [&] {
                 Ranks homes;
                 for (std::size_t v = 0; v < tasks; ++v) {
                   homes.insert(homes.end(), {0, 1});
                 }
                 return homes;
               }(),
               Ranks(tasks))
        .stats.elapsed.ns;
  };
  auto const one = elapsed(1);
  CHECK(elapsed(4) >= one + 300'000);
  CHECK(elapsed(4) <= one + 310'000);
}

TEST_CASE("virtual collection: a target between two bodies sees to what came") {
  auto config = ranks_of(simulated::on(1, 0), 2);
  config.node.task_time = [](hs::TaskView const&, hs::Arch, hs::Duration) {
    return hs::Duration{1'000'000};
  };
  // Rank 1 begins with its own task at once; rank 0 wants something from there.
  auto const graph = pairs(2, 8);
  auto const begin = [&] {
    return run<hs::NoStealing>(config, graph, {1, 0, 1, 1}, {0, 1}).executed;
  };
  auto const quick = begin();
  CHECK(quick.at(0).second.begin.ns < 100'000);
  config.costs.between_bodies = true;
  auto const late = begin();
  CHECK(late.at(0).second.begin.ns > 1'000'000);
  CHECK(late.at(0).second.begin.ns < 1'100'000);
}

TEST_CASE("virtual collection: patches that were read stay on the rank") {
  std::vector<hs::TaskGraph::Node> nodes;
  for (std::uint32_t v = 0; v < 10; ++v) {
    nodes.push_back(task("Even", {{0, read, nullptr}, {1, reduce, nullptr}}));
  }
  hs::TaskGraph const graph(std::move(nodes), {4'000, 8});
  auto config = ranks_of(simulated::on(1, 0), 2);
  auto const seen = run<hs::NoStealing>(config, graph, {1, 0}, Ranks(10));
  CHECK(seen.stats.ranks[0].tasks.gets == 1);
  CHECK(seen.stats.ranks[0].tasks.get_hits == 9);
  CHECK(seen.stats.values.bytes == 4'000);
  config.options.kept_bytes = 0;
  config.options.cpu_tasks = 1;
  CHECK(run<hs::NoStealing>(config, graph, {1, 0}, Ranks(10)).stats.values.bytes == 40'000);
}

TEST_CASE("virtual collection: a datum that is too large for a GPU is worked on by a core") {
  auto node =
      simulated::with_memory(simulated::joined(1, 1, hs::Simulation::Transfers::model), 2'000);
  node.task_time = [](hs::TaskView const&, hs::Arch, hs::Duration) { return hs::Duration{10'000}; };
  auto const seen = run(ranks_of(node, 1), pairs(20, 1'200, "Fast"), Ranks(40), {});
  CHECK(seen.executions == 20);
  for (auto const& [v, executed] : seen.executed) {
    CHECK(executed.second.worker.index() == 0); // two data are more than 2,000 bytes
  }
  auto const fits = run(ranks_of(node, 1), pairs(20, 400, "Fast"), Ranks(40), {});
  CHECK(std::any_of(fits.executed.begin(), fits.executed.end(), [](auto const& one) {
    return one.second.second.worker.index() == 1;
  }));
}

/// Where three tasks ran, of which the first is short. `gpu`: which are expected to be faster on a
/// GPU. The core takes one from the queue, and the GPU two.
std::vector<std::size_t> workers_of_three(bool keep_kind, std::vector<bool> const& gpu) {
  auto node = simulated::joined(1, 1, hs::Simulation::Transfers::model);
  node.window = 1;
  node.task_time = [](hs::TaskView const& task, hs::Arch, hs::Duration) {
    return hs::Duration{task.argument(0).bytes == 10 ? 1'000 : 100'000};
  };
  auto config = ranks_of(node, 1);
  config.options.cpu_tasks = 1;
  config.options.gpu_tasks = 2;
  config.options.keep_kind = keep_kind;
  config.estimate = [gpu](std::size_t v) {
    return hs::EstimatedTimes{.cpu = {gpu[v] ? 20'000 : 10'000}, .gpu = {15'000}};
  };
  hs::TaskGraph const graph({task("Even", {{0, read, nullptr}}),
                             task("Even", {{1, read, nullptr}}),
                             task("Even", {{2, read, nullptr}})},
                            {10, 20, 20});
  auto const seen = run<hs::EitherEnd<>>(config, graph, Ranks(3), {});
  std::vector<std::size_t> workers;
  for (auto const& [v, executed] : seen.executed) {
    workers.push_back(executed.second.worker.index());
  }
  return workers;
}

TEST_CASE("virtual collection: tasks run on what they left the queue for, by the estimates") {
  using Workers = std::vector<std::size_t>;
  CHECK(workers_of_three(true, {false, true, true}) == Workers{0, 1, 1});
  CHECK(workers_of_three(true, {true, false, true}) == Workers{1, 0, 1});
  CHECK(workers_of_three(false, {false, true, true}) == Workers{0, 1, 0}); // the core was idle
  auto node =
      simulated::with_memory(simulated::joined(1, 1, hs::Simulation::Transfers::model), 2'000);
  auto config = ranks_of(node, 1);
  config.options.keep_kind = true;
  auto const seen = run(config, pairs(20, 1'200, "Fast"), Ranks(40), {});
  CHECK(seen.executions == 20); // on the core, as two data are too large for the GPU
}

/// How many of so many equal tasks the slower kind of worker ran, and how long all took. One kind
/// takes 10 us, the other one 100 us.
std::pair<int, hs::Duration> slower_ones(int tasks, bool gpu_is_faster, bool leave) {
  auto node = simulated::joined(1, 1, hs::Simulation::Transfers::free);
  node.task_time = [gpu_is_faster](hs::TaskView const&, hs::Arch arch, hs::Duration) {
    return hs::Duration{(arch == hs::ArchCUDA) == gpu_is_faster ? 10'000 : 100'000};
  };
  auto config = ranks_of(node, 1);
  config.options.cpu_tasks = 2;
  config.options.gpu_tasks = 2;
  config.options.keep_kind = true;
  config.options.leave_to_faster = leave;
  auto const graph = pairs(static_cast<std::size_t>(tasks), 8);
  auto const homes = Ranks(2 * static_cast<std::size_t>(tasks));
  auto const seen = run<hs::EitherEnd<>>(config, graph, homes, {});
  auto const slower =
      std::count_if(seen.executed.begin(), seen.executed.end(), [gpu_is_faster](auto const& one) {
        return (one.second.second.worker.index() == 0) == gpu_is_faster;
      });
  return {static_cast<int>(slower), seen.stats.elapsed};
}

TEST_CASE("virtual collection: a worker leaves tasks that the other kind does earlier") {
  using Ran = std::pair<int, hs::Duration>;
  for (bool const gpu_is_faster : {false, true}) {
    CAPTURE(gpu_is_faster);
    CHECK(slower_ones(9, gpu_is_faster, true) == Ran{0, {90'000}});
    CHECK(slower_ones(9, gpu_is_faster, false).second >= hs::Duration{100'000});
    CHECK(slower_ones(16, gpu_is_faster, true) == Ran{1, {150'000}}); // 160 us would be longer
    CHECK(slower_ones(16, gpu_is_faster, false) == Ran{3, {300'000}});
  }
}

TEST_CASE("virtual collection: runs follow each other") {
  hs::SimulatedCollection<> collection(ranks_of(simulated::on(2, 0), 3));
  auto const graph = pairs(9, 50);
  collection.run(graph, Ranks(18), {});
  auto const once = collection.stats();
  collection.run(graph, Ranks(18), {});
  auto const twice = collection.stats();
  CHECK(twice.elapsed > once.elapsed);
  CHECK(sum(once, &hs::CollectionStats::completed) == 9);
  CHECK(sum(twice, &hs::CollectionStats::completed) == 18);
  collection.run({}, {}, {});
  CHECK(sum(collection.stats(), &hs::CollectionStats::completed) == 18);
}

TEST_CASE("virtual collection: what begins on one rank is done nearly as soon as what is spread") {
  auto config = ranks_of(simulated::on(2, 0), 8);
  config.node.task_time = [](hs::TaskView const&, hs::Arch, hs::Duration) {
    return hs::Duration{500'000};
  };
  auto const graph = pairs(800, 8);
  Ranks homes;
  Ranks spread;
  for (std::int32_t v = 0; v < 800; ++v) {
    homes.insert(homes.end(), {v % 8, v % 8});
    spread.push_back(v % 8);
  }
  auto const best = run<hs::NoStealing>(config, graph, homes, spread).stats.elapsed;
  CHECK(best.ns >= 25'000'000);
  CHECK(best.ns < 26'000'000);
  auto const skewed = [&]<class Steal>(Steal) {
    return run<Steal>(config, graph, homes, Ranks(800)).stats.elapsed;
  };
  CHECK(skewed(hs::NoStealing{}).ns > 199'000'000);
  CHECK(static_cast<double>(best.ns) > 0.8 * static_cast<double>(skewed(hs::SingleEnded{}).ns));
  CHECK(static_cast<double>(best.ns) > 0.8 * static_cast<double>(skewed(hs::DoubleEnded<4>{}).ns));
}

TEST_CASE("virtual collection: thieves that know where data are move fewer bytes") {
  auto config = ranks_of(simulated::on(2, 0), 8);
  config.node.task_time = [](hs::TaskView const&, hs::Arch, hs::Duration) {
    return hs::Duration{500'000};
  };
  auto const graph = pairs(800, 1'000);
  Ranks homes;
  for (std::int32_t v = 0; v < 800; ++v) {
    homes.insert(homes.end(), {v % 8, v % 8});
  }
  auto const random = run<hs::SingleEnded>(config, graph, homes, Ranks(800)).stats;
  auto const aware = run<hs::DataAware<>>(config, graph, homes, Ranks(800)).stats;
  CHECK(random.values.bytes > 1'000'000); // of 1,600,000
  CHECK(aware.values.bytes < random.values.bytes / 4);
  CHECK(static_cast<double>(aware.elapsed.ns) < 1.2 * static_cast<double>(random.elapsed.ns));
}

/// Tasks in one unsorted queue, in parts.
struct KeepsParts {
  static constexpr hs::StealRule rule{.queues = hs::StealQueues::unsorted,
                                      .trigger = hs::StealTrigger::never,
                                      .tasks = hs::StealTasks::near};
};

TEST_CASE("virtual collection: a worker finds what it can run in any part") {
  auto const config = ranks_of(simulated::joined(1, 1, hs::Simulation::Transfers::free), 3);
  for (bool const gpu_first : {false, true}) { // near rank 1 and near rank 2, and all on rank 0
    hs::TaskGraph const graph({task(gpu_first ? "GpuOnly" : "HostOnly", {{0, read, nullptr}}),
                               task(gpu_first ? "HostOnly" : "GpuOnly", {{1, read, nullptr}})},
                              {8, 8});
    CHECK(run<KeepsParts>(config, graph, {1, 2}, {0, 0}).executions == 2);
  }
}

TEST_CASE("virtual collection: distributions") {
  auto const config = ranks_of(simulated::on(1, 1), 4);
  auto const graph = pairs(8, 8, "Fast");
  Ranks const homes{0, 3, 0, 3, 0, 2, 0, 2, 0, 1, 0, 1, 0, 0, 0, 0};
  auto const where = [&]<class Distribution>(Distribution) {
    Ranks ranks;
    for (auto const& [v, one] :
         run<hs::NoStealing, Distribution>(config, graph, homes, {}).executed) {
      ranks.push_back(one.first);
    }
    return ranks;
  };
  CHECK(where(hs::InBlocks{}) == Ranks{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(where(hs::NearOutputs{}) == Ranks{3, 3, 2, 2, 1, 1, 0, 0});
  CHECK(where(hs::AsAdded{}) == Ranks(8));
  auto const near =
      run<hs::NoStealing, hs::NearOutputs>(config, graph, homes, {0, -1, 0, -1, 0, -1, 0, -1});
  CHECK(near.executed.at(0).first == 0);
  CHECK(near.executed.at(1).first == 3);
}

/// Tasks, data and all settings by chance.
struct RandomCollection {
  hs::TaskGraph graph;
  Ranks homes;
  Ranks on;
  hs::CollectionSimulation config;
};

RandomCollection random_collection(std::uint64_t seed) {
  Dice dice(seed);
  auto const below = [&](int most) { return static_cast<std::uint32_t>(dice.below(most)); };
  auto const ranks = 1 + static_cast<int>(below(20));
  auto const transfers =
      below(2) == 0 ? hs::Simulation::Transfers::free : hs::Simulation::Transfers::shared;
  auto config = ranks_of(simulated::joined(1 + static_cast<int>(below(3)),
                                           static_cast<int>(below(3)),
                                           transfers,
                                           1 + static_cast<int>(below(4))),
                         ranks);
  config.network.sharing = static_cast<hs::Network::Sharing>(below(3));
  config.costs.at_target = {below(2) * 200};
  config.costs.progress = {below(2) * 1'000};
  config.costs.between_bodies = below(3) == 0;
  config.costs.local_bytes_per_s = below(2) == 0 ? endless : 1e9;
  config.options.cpu_tasks = static_cast<int>(below(4));
  config.options.gpu_tasks = static_cast<int>(below(4));
  config.options.shared_tasks = 1 + below(20);
  config.options.kept_bytes = below(3) * 1'000;
  config.options.keep_kind = seed % 3 == 0;
  config.options.leave_to_faster = seed % 4 == 0;
  config.options.seed = seed;

  std::vector<std::size_t> bytes;
  Ranks homes;
  for (auto data = 2 + below(60); data != 0; --data) {
    bytes.push_back(1 + below(500));
    homes.push_back(static_cast<std::int32_t>(below(ranks)));
  }
  auto const half = static_cast<int>(bytes.size() / 2); // are read, the others added to
  std::vector<hs::TaskGraph::Node> nodes;
  Ranks on;
  bool const gpus = config.node.platform.classes[1].workers != 0;
  char const* const types[]{"Even", "Fast", "Mix", "HostOnly", gpus ? "GpuOnly" : "Even"};
  for (auto tasks = below(300); tasks != 0; --tasks) {
    std::vector<hs::GraphAccess> accesses;
    accesses.reserve(2); // else g++ 12 warns at -O2 of what is not so
    if (below(5) != 0) {
      accesses.push_back({below(half), read, nullptr});
    }
    if (below(5) != 0) {
      accesses.push_back(
          {static_cast<std::uint32_t>(half) + below(static_cast<int>(bytes.size()) - half),
           reduce,
           nullptr});
    }
    nodes.push_back(task(types[below(5)], accesses));
    on.push_back(below(3) == 0 ? static_cast<std::int32_t>(below(ranks)) : 0);
  }
  return {{std::move(nodes), std::move(bytes)}, std::move(homes), std::move(on), std::move(config)};
}

template <class Steal, class Distribution = hs::AsAdded>
void check_random(std::uint64_t seed) {
  auto const random = random_collection(seed);
  auto const seen = run<Steal, Distribution>(random.config, random.graph, random.homes, random.on);
  auto const tasks = random.graph.size();
  CHECK(seen.executed.size() == tasks);
  CHECK(seen.executions == static_cast<int>(tasks));
  CHECK(sum(seen.stats, &hs::CollectionStats::completed) == tasks);
  CHECK(sum(seen.stats, &hs::CollectionStats::added) == tasks);
  for (auto const& [v, one] : seen.executed) {
    auto const type = random.graph.nodes()[static_cast<std::size_t>(v)].type;
    CHECK(one.second.type == type);
    CHECK(one.second.end <= hs::Instant{} + seen.stats.elapsed);
  }
  auto const again = run<Steal, Distribution>(random.config, random.graph, random.homes, random.on);
  CHECK(again.stats.elapsed == seen.stats.elapsed);
  CHECK(again.stats.one_sided == seen.stats.one_sided);
}

TEST_CASE("virtual collection: each task once, whatever the rules") {
  constexpr void (*checks[])(std::uint64_t) = {
      &check_random<hs::SingleEnded>,
      &check_random<hs::DoubleQueue>,
      &check_random<hs::DoubleEnded<0>>,
      &check_random<hs::DoubleEnded<3>>,
      &check_random<hs::GpuEnded<2>>,
      &check_random<hs::CpuEnded<2>>,
      &check_random<hs::EitherEnd<1>>,
      &check_random<hs::DataAware<hs::SingleEnded>>,
      &check_random<hs::DataAware<hs::GpuEnded<2>>>,
      &check_random<hs::DataAware<hs::EitherEnd<1>>>,
      &check_random<hs::DataAware<hs::DoubleQueue>>,
      &check_random<hs::NoStealing, hs::LongestFirst>,
  };
  auto const graphs = support::env_or("HETSCHED_TEST_GRAPHS", 60);
  auto const first = support::env_or("HETSCHED_TEST_SEED", 1);
  for (auto seed = first; seed < first + graphs; ++seed) {
    CAPTURE(seed);
    checks[seed % std::size(checks)](seed);
  }
}

TEST_CASE("virtual collection: what cannot be is refused in one line") {
  auto const graph = pairs(2, 8);
  auto const config = ranks_of(simulated::on(1, 0), 2);
  auto const of = [&](hs::TaskGraph const& tasks, Ranks const& homes, Ranks const& on) {
    return thrown([&] { hs::SimulatedCollection<>(config).run(tasks, homes, on); });
  };
  CHECK(of(graph, {0, 0, 0}, {}).find("3 homes for 4 data") != std::string::npos);
  CHECK(of(graph, {0, 0, 0, 2}, {}).find("no rank 2 among 2") != std::string::npos);
  CHECK(of(graph, {0, 0, 0, 0}, {0}).find("ranks for 1 of 2 tasks") != std::string::npos);
  CHECK(of(graph, {0, 0, 0, 0}, {0, 5}).find("no rank 5 among 2") != std::string::npos);
  auto const dependent = [&](hs::AccessMode first, hs::AccessMode second) {
    hs::TaskGraph const two(
        {task("Even", {{0, first, nullptr}}), task("Even", {{0, second, nullptr}})}, {8});
    return of(two, {0}, {});
  };
  for (auto const second : {write, reduce, read_write, read}) {
    CHECK(dependent(write, second).find("task 1: tasks of a collection are independent") !=
          std::string::npos);
  }
  CHECK(dependent(reduce, reduce).empty());
  CHECK(dependent(read, read).empty());
  CHECK(dependent(reduce, read).find("task 1") != std::string::npos);
  CHECK(dependent(read_write, read).find("task 0") != std::string::npos);
  CHECK(of({{task("Unknown", {})}, {}}, {}, {}).find("'Unknown'") != std::string::npos);

  auto const refused = [](hs::CollectionSimulation const& bad) {
    return thrown([&] { hs::SimulatedCollection<> const made(bad); });
  };
  auto bad = config;
  bad.ranks = 0;
  CHECK(refused(bad).find("CollectionSimulation::ranks") != std::string::npos);
  bad = config;
  bad.options.shared_tasks = 0;
  CHECK(refused(bad).find("shared_tasks is 0") != std::string::npos);
  bad = config;
  bad.costs.accumulate_bytes_per_s = 0;
  CHECK(refused(bad).find("OneSidedCosts::accumulate_bytes_per_s") != std::string::npos);
  bad = config;
  bad.node.record = true;
  CHECK(refused(bad).find("CollectionSimulation::node") != std::string::npos);
}

} // namespace simulated_collection_test
