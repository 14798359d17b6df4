// SPDX-License-Identifier: MIT
// Simulations of clusters: graphs on several nodes of the described machine.

#include <hetsched/cluster/cluster_bounds.hpp>
#include <hetsched/cluster/distribution.hpp>
#include <hetsched/cluster/simulated_cluster.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/platform/network_json.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/trace/analysis/merge_ranks.hpp>
#include <hetsched/trace/formats/write_trace.hpp>

#include "../../../examples/common/chosen_cache.hpp"
#include "../../../examples/common/static_name.hpp"
#include "run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <utility>

namespace benchmarks {

namespace {

using Homes = std::vector<std::int32_t>;

[[noreturn]] void refuse(std::string const& option, std::string const& why) {
  throw hs::Error(hs::ErrorCode::bad_input, option, why);
}

/// A whole number from 1 to 1,000,000 that is all of the text; else 0.
int number_in(std::string_view text) {
  int number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool const all = error == std::errc{} && end == text.data() + text.size();
  return all && number >= 1 && number <= 1'000'000 ? number : 0;
}

/// Which node has which tile, and how many nodes that makes.
struct TileHomes {
  int nodes = 0;
  std::function<std::int32_t(std::size_t, std::size_t)> of;
};

/// --distribution for tiles: 2dbc:PxQ, sbc:R, sbc-basic:R. Nothing if it is none of these.
std::optional<TileHomes> tile_homes(std::string const& text) {
  auto const colon = text.find(':');
  auto const kind = text.substr(0, colon);
  auto const rest = colon == std::string::npos ? std::string() : text.substr(colon + 1);
  if (kind == "2dbc") {
    auto const cross = rest.find('x');
    auto const rows = number_in(std::string_view(rest).substr(0, cross));
    auto const columns =
        cross == std::string::npos ? 0 : number_in(std::string_view(rest).substr(cross + 1));
    if (rows == 0 || columns == 0 || rows > 1'000'000 / columns) {
      refuse("--distribution", "'" + text + "' is no 2dbc:ROWSxCOLUMNS");
    }
    hs::BlockCyclic const map{rows, columns};
    return TileHomes{map.ranks(), [map](auto i, auto j) { return map.rank_of(i, j); }};
  }
  if (kind == "sbc" || kind == "sbc-basic") {
    auto const size = number_in(rest);
    if (size < 2 || size > 1000 || (kind == "sbc-basic" && size % 2 != 0)) {
      refuse("--distribution",
             "'" + text + "' is no " + kind + ":SIZE, from 2 to 1000" +
                 (kind == "sbc" ? "" : " and even"));
    }
    hs::SymmetricBlockCyclic const map(size, kind == "sbc");
    return TileHomes{map.ranks(), [map](auto i, auto j) { return map.rank_of(i, j); }};
  }
  return std::nullopt;
}

/// The most square grid of so many nodes.
std::string square_grid(int nodes) {
  int rows = 1;
  for (int r = 1; r * r <= nodes; ++r) {
    rows = nodes % r == 0 ? r : rows;
  }
  return "2dbc:" + std::to_string(rows) + "x" + std::to_string(nodes / rows);
}

using Place = std::pair<std::size_t, std::size_t>;

/// Row and column of each datum of a graph that Machine makes: LU numbers its tiles by columns;
/// Cholesky's are in the order of their first use, all of which are in the first step.
std::vector<Place> places(hs::TaskGraph const& graph, bool lu, std::size_t in_a_row) {
  std::vector<Place> found(graph.data_bytes().size());
  if (lu) {
    for (std::size_t d = 0; d < found.size(); ++d) {
      found[d] = {d % in_a_row, d / in_a_row};
    }
    return found;
  }
  std::vector<char> known(found.size());
  std::size_t solved = 0;
  for (auto const& node : graph.nodes()) {
    auto const& accesses = node.accesses;
    auto const written = accesses.back().data;
    if (std::exchange(known[written], 1) != 0) {
      continue;
    }
    auto const row = [&](std::size_t k) { return found[accesses[k].data].first; };
    if (node.type == "trsm") {
      found[written] = {++solved, 0};
    } else if (node.type == "syrk") {
      found[written] = {row(0), row(0)};
    } else if (node.type == "gemm") {
      found[written] = {std::max(row(0), row(1)), std::min(row(0), row(1))};
    }
  }
  return found;
}

/// One node for each datum, a line each.
Homes read_homes(std::string const& path, std::size_t data, int nodes) {
  auto const text = hs::detail::read_text_file(path);
  Homes homes;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    auto const line = std::string_view(text).substr(at, end - at);
    auto const node = line == "0" ? 0 : number_in(line);
    if ((node == 0 && line != "0") || node >= nodes) {
      refuse(path,
             "line " + std::to_string(homes.size() + 1) + " is no node from 0 to " +
                 std::to_string(nodes - 1));
    }
    homes.push_back(node);
    at = end + 1;
  }
  if (homes.size() != data) {
    refuse(path,
           "has nodes for " + std::to_string(homes.size()) + " of " + std::to_string(data) +
               " data");
  }
  return homes;
}

/// Where the data of a graph are at home.
Homes homes_of(hs::TaskGraph const& graph,
               std::optional<std::size_t> in_a_row,
               Options const& options,
               std::string const& distribution) {
  auto const nodes = options.nodes;
  constexpr std::string_view of_file = "homes:";
  if (distribution.starts_with(of_file)) {
    return read_homes(distribution.substr(of_file.size()), graph.data_bytes().size(), nodes);
  }
  Homes homes(graph.data_bytes().size());
  auto const tiles = tile_homes(distribution);
  if (!tiles) {
    for (std::size_t d = 0; d < homes.size(); ++d) {
      homes[d] = static_cast<std::int32_t>(d % static_cast<std::size_t>(nodes));
    }
    return homes;
  }
  auto const where = places(graph, options.machine.dag == "lu", in_a_row.value_or(0));
  for (std::size_t d = 0; d < homes.size(); ++d) {
    homes[d] = tiles->of(where[d].first, where[d].second);
  }
  return homes;
}

/// What the options say of the distribution. Throws Error(bad_input).
std::string distribution_of(Options const& options) {
  bool const has_tiles = options.machine.dag == "cholesky" || options.machine.dag == "lu";
  auto const& text = options.distribution;
  if (text.empty()) {
    return has_tiles ? square_grid(options.nodes) : "cyclic";
  }
  if (text == "cyclic" || text.starts_with("homes:")) {
    return text;
  }
  auto const tiles = tile_homes(text);
  if (!tiles) {
    refuse("--distribution",
           "'" + text + "' is none of 2dbc:PxQ, sbc:R, sbc-basic:R, cyclic and homes:FILE");
  }
  if (!has_tiles) {
    refuse("--distribution",
           "'" + text + "' is for the tiles of cholesky and lu, not for " + options.machine.dag);
  }
  if (tiles->nodes != options.nodes) {
    refuse("--distribution",
           "'" + text + "' is for " + std::to_string(tiles->nodes) + " nodes, not " +
               std::to_string(options.nodes));
  }
  return text;
}

/// The name of the bound that is the largest.
char const* limit_of(hs::ClusterBounds const& bounds) {
  auto const best = bounds.best();
  return best == bounds.path    ? "path"
         : best == bounds.ports ? "ports"
         : best == bounds.busiest.value_or(hs::Duration{}) && bounds.busiest != bounds.area
             ? "busiest"
             : "area";
}

/// What all nodes did, in one trace.
void write_trace(Options const& options,
                 std::string const& scheduler,
                 std::string const& distribution,
                 hs::Network const& network,
                 Case const& instance,
                 hs::ClusterBounds const& bounds,
                 std::vector<hs::Trace> nodes) {
  auto trace = nodes.size() == 1 ? std::move(nodes.front()) : hs::merge_ranks(std::move(nodes));
  trace.scheduler = scheduler;
  for (auto const& [key, value] : {std::pair("platform", instance.platform.name),
                                   std::pair("network", network.name),
                                   std::pair("distribution", distribution),
                                   std::pair("graph", options.machine.dag),
                                   std::pair("rank", options.rank)}) {
    trace.about.emplace_back(key, value);
  }
  if (bounds.area) {
    trace.bounds.emplace_back("area", *bounds.area);
  }
  if (bounds.busiest) {
    trace.bounds.emplace_back("busiest node", *bounds.busiest);
  }
  trace.bounds.emplace_back("path", bounds.path);
  trace.bounds.emplace_back("ports", bounds.ports);
  hs::write_trace(trace, options.trace);
}

ordered_json seconds_or_null(std::optional<hs::Duration> const& time) {
  return time ? ordered_json(time->seconds()) : ordered_json(nullptr);
}

ordered_json row_of(Case const& instance,
                    Options const& options,
                    std::string const& scheduler,
                    std::uint64_t seed,
                    std::string const& distribution,
                    Homes const& homes,
                    hs::Network const& network) {
  hs::ClusterSimulation config{
      .node = simulation(instance, options, seed), .network = network, .nodes = options.nodes};
  config.node.time_decisions = false;
  config.node.record = !options.trace.empty();
  auto const begin = hs::detail::clock_seconds();
  hs::SimulatedCluster<hs::policies::AnyScheduler, example::ChosenCache> cluster(
      config, hs::policies::AnyScheduler::Config{scheduler});
  cluster.run(instance.graph, homes);
  auto const real = hs::detail::clock_seconds() - begin;
  auto const stats = cluster.stats();
  auto const bounds = hs::cluster_bounds(instance.graph,
                                         instance.times,
                                         network,
                                         homes,
                                         cluster.placed(instance.graph, homes),
                                         cluster.traffic());
  if (!options.trace.empty()) {
    std::vector<hs::Trace> traces;
    for (int node = 0; node < options.nodes; ++node) {
      traces.push_back(cluster.node(node).trace());
    }
    write_trace(options, scheduler, distribution, network, instance, bounds, std::move(traces));
  }
  std::uint64_t most_sent = 0;
  std::uint64_t most_received = 0;
  for (auto const& port : cluster.traffic()) {
    most_sent = std::max(most_sent, port.sent.bytes);
    most_received = std::max(most_received, port.received.bytes);
  }
  hs::Duration busy;
  for (auto const& node : stats.nodes) {
    busy += node.busy;
  }
  auto const workers = static_cast<double>(cluster.node(0).workers().size()) * options.nodes;
  ordered_json row;
  row["dag"] = options.machine.dag;
  row["platform"] = instance.platform.name;
  row["network"] = network.name;
  row["nodes"] = options.nodes;
  row["distribution"] = distribution;
  row["tiles"] = instance.tiles ? ordered_json(*instance.tiles) : ordered_json(nullptr);
  row["tasks"] = instance.graph.size();
  row["scheduler"] = scheduler;
  row["seed"] = seed;
  row["makespan_s"] = stats.elapsed.seconds();
  row["gflops"] =
      instance.tiles
          ? ordered_json(options.machine.flops(*instance.tiles) / stats.elapsed.seconds() / 1e9)
          : ordered_json(nullptr);
  row["area_bound_s"] = seconds_or_null(bounds.area);
  row["busiest_node_s"] = seconds_or_null(bounds.busiest);
  row["path_bound_s"] = bounds.path.seconds();
  row["ports_bound_s"] = bounds.ports.seconds();
  row["bound_s"] = bounds.best().seconds();
  row["limit"] = limit_of(bounds);
  row["ratio"] = stats.elapsed.seconds() / bounds.best().seconds();
  row["busy"] = busy.seconds() / workers / stats.elapsed.seconds();
  row["messages"] = stats.sent.messages;
  row["message_bytes"] = stats.sent.bytes;
  row["most_sent_bytes"] = most_sent;
  row["most_received_bytes"] = most_received;
  row["real_s"] = options.deterministic ? ordered_json(nullptr) : ordered_json(real);
  return row;
}

void print_row(ordered_json const& row) {
  std::printf("%5s %8zu  %-17s %6llu %12.6f %10.1f %8.4f %-8s %6.1f %10llu %10.3f %8.1f\n",
              row["tiles"].is_null() ? "-" : std::to_string(row["tiles"].get<int>()).c_str(),
              row["tasks"].get<std::size_t>(),
              row["scheduler"].get<std::string>().c_str(),
              row["seed"].get<unsigned long long>(),
              row["makespan_s"].get<double>(),
              row["gflops"].is_null() ? 0.0 : row["gflops"].get<double>(),
              row["ratio"].get<double>(),
              row["limit"].get<std::string>().c_str(),
              100 * row["busy"].get<double>(),
              row["messages"].get<unsigned long long>(),
              row["message_bytes"].get<double>() / 1e9,
              row["real_s"].is_null() ? 0.0 : row["real_s"].get<double>());
}

} // namespace

void print_cluster(Options const& options) {
  auto const network = hs::read_network(options.network);
  auto const distribution = distribution_of(options);
  auto schedulers = schedulers_of(options.scheduler);
  auto const of_one_machine = [](std::string const& name) {
    return name.starts_with(example::static_prefix) || name == "portfolio" ||
           name == "heteroprio:lookahead";
  };
  if (options.scheduler == "all") {
    std::erase_if(schedulers, of_one_machine);
  } else if (of_one_machine(options.scheduler)) {
    refuse("--scheduler", "'" + options.scheduler + "' plans for one machine, not for --nodes");
  }
  auto const platform = options.machine.read();
  if (!options.trace.empty()) {
    check_one_run(options,
                  (options.machine.own_graph() ? options.machine.tiles.size() : 1) *
                      schedulers.size() * static_cast<std::size_t>(options.repeat));
  }
  bool heading = !options.json;
  options.machine.each_graph(platform, [&](hs::TaskGraph graph, std::optional<std::size_t> tiles) {
    auto const library = options.machine.library_of(platform, graph);
    auto times = options.machine.times_of(platform, graph, library);
    Case const instance{platform, std::move(graph), tiles, library, {}, std::move(times), {}};
    auto const homes = homes_of(instance.graph, tiles, options, distribution);
    if (std::exchange(heading, false)) {
      std::printf("%s on %d nodes of %s, each with %d cores and %d GPUs, network %s, %s, virtual "
                  "time\ntiles    tasks  scheduler           seed   makespan s    GFlop/s    ratio "
                  "limit    busy %%   messages         GB   real s\n",
                  options.machine.dag.c_str(),
                  options.nodes,
                  platform.name.c_str(),
                  platform.classes[0].workers,
                  platform.classes[1].workers,
                  network.name.c_str(),
                  distribution.c_str());
    }
    for (auto const& scheduler : schedulers) {
      for (int k = 0; k < options.repeat; ++k) {
        auto const seed = options.seed + static_cast<std::uint64_t>(k);
        auto const row = row_of(instance, options, scheduler, seed, distribution, homes, network);
        if (options.json) {
          std::printf("%s\n", row.dump().c_str());
        } else {
          print_row(row);
        }
        std::fflush(stdout);
      }
    }
  });
}

} // namespace benchmarks
