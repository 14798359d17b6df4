// SPDX-License-Identifier: MIT
// Lower bounds on the time that a tile Cholesky factorisation, or the graph in a file, takes on a
// machine that a file describes (docs/platforms.md), transfers left aside: no schedule is shorter
// than the area bound, nor than the critical path.
//
// Cholesky's graph is the one that linalg::cholesky spawns, captured; the bounds only look at its
// tasks' types and order, so its tiles are of one element here.

#include <hetsched/bounds.hpp>
#include <hetsched/graph_json.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/platform_json.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace {

struct Options {
  std::string platform;
  std::string dag = "cholesky";
  std::string algorithm = "cholesky";
  std::string save;
  std::vector<std::size_t> tiles{4, 8, 12, 16, 20, 24, 32};
  std::string precision = "double";
  std::size_t tile = 960;
  std::string library;
  int cpus = -1;
  int gpus = -1;
  bool json = false;
};

constexpr char const* own_graph = "cholesky";

hs::Precision precision_of(Options const& options) {
  return options.precision == "single" ? hs::Precision::single_precision
                                       : hs::Precision::double_precision;
}

/// Throws Error(bad_input).
hs::Platform read(Options const& options) {
  auto platform = hs::read_platform(options.platform);
  auto& cpus = platform.classes[0].workers;
  auto& gpus = platform.classes[1].workers;
  auto const refuse = [&](char const* option, int value, std::string const& why) {
    throw hs::Error(hs::ErrorCode::bad_input, option, std::to_string(value) + " " + why);
  };
  if (options.gpus > gpus) {
    refuse("--gpus", options.gpus, "are more than the " + std::to_string(gpus) + " of the machine");
  }
  if (options.gpus >= 0) { // each GPU takes a core for itself (Lima et al. 2015, sec. 5)
    gpus = options.gpus;
    cpus = std::max(cpus, platform.cores - gpus);
  }
  if (options.cpus > platform.cores - gpus) {
    refuse("--cpus",
           options.cpus,
           "are more than the " + std::to_string(platform.cores - gpus) + " cores beside the GPUs");
  }
  cpus = options.cpus >= 0 ? options.cpus : cpus;
  if (cpus + gpus == 0) {
    refuse("--cpus", 0, "and no GPU: there is no worker");
  }
  return platform;
}

/// The one asked for, or the first that has all of the graph's kernels. Throws Error(bad_input).
std::string
library_of(hs::Platform const& platform, hs::TaskGraph const& graph, Options const& options) {
  std::set<std::string> kernels;
  for (auto const& node : graph.nodes()) {
    kernels.emplace(node.type);
  }
  auto const found = platform.libraries(
      {kernels.begin(), kernels.end()}, options.algorithm, precision_of(options), options.tile);
  if (options.library.empty() && !found.empty()) {
    return found.front();
  }
  if (std::find(found.begin(), found.end(), options.library) == found.end()) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    options.platform,
                    "has no times for " + options.algorithm + " in " + options.precision +
                        " on tiles of " + std::to_string(options.tile) +
                        (options.library.empty() ? "" : " from library " + options.library));
  }
  return options.library;
}

hs::TaskGraph graph_of(std::size_t tiles) {
  hs::Runtime<> rt({.cpus = 1, .bind = hs::Bind::none, .devices = "none"});
  std::vector<double> elements(tiles * tiles);
  hs::linalg::TiledMatrix const a(rt, elements.data(), tiles, tiles, tiles, 1);
  return rt.capture([&] { hs::linalg::cholesky(rt, a); }).tasks();
}

/// Every graph, with its size: tiles, or nothing. Only one at a time is kept.
template <class Visit>
void each_graph(Options const& options, Visit&& visit) {
  if (options.dag == own_graph) {
    for (auto const tiles : options.tiles) {
      visit(graph_of(tiles), std::optional(tiles));
    }
  } else {
    visit(hs::read_graph(options.dag).graph, std::optional<std::size_t>());
  }
}

void print(Options const& options, hs::Platform const& platform) {
  auto const cpus = platform.classes[0].workers;
  auto const gpus = platform.classes[1].workers;
  bool first = true;
  each_graph(options, [&](hs::TaskGraph const& graph, std::optional<std::size_t> tiles) {
    auto const library = library_of(platform, graph, options);
    auto const times = hs::class_times(
        graph, platform, options.algorithm, precision_of(options), options.tile, library);
    auto const area = hs::area_bound(times);
    auto const path = hs::critical_path(graph, hs::shortest_times(times));
    auto const best = std::max(area.value_or(path), path);
    auto const n = static_cast<double>(tiles.value_or(0) * options.tile);
    auto const gflops = n == 0 ? 0 : n * n * n / 3 / static_cast<double>(best.ns);
    if (options.json) {
      nlohmann::ordered_json line;
      line["platform"] = platform.name;
      line["dag"] = options.dag;
      line["tiles"] = tiles ? nlohmann::ordered_json(*tiles) : nullptr;
      line["precision"] = options.precision;
      line["tile"] = options.tile;
      line["library"] = library;
      line["cpus"] = cpus;
      line["gpus"] = gpus;
      line["tasks"] = graph.size();
      line["area_bound_s"] = area ? nlohmann::ordered_json(area->seconds()) : nullptr;
      line["critical_path_s"] = path.seconds();
      line["gflops_at_most"] = tiles ? nlohmann::ordered_json(gflops) : nullptr;
      std::printf("%s\n", line.dump().c_str());
    } else {
      if (std::exchange(first, false)) {
        std::printf("%s on %s: %d cores and %d GPUs, %s, tiles of %zu\n"
                    "tiles   tasks      area bound s   critical path s   GFlop/s at most  "
                    "kernels of\n",
                    options.dag.c_str(),
                    platform.name.c_str(),
                    cpus,
                    gpus,
                    options.precision.c_str(),
                    options.tile);
      }
      std::printf("%5s %7zu %17.9f %17.9f %17.1f  %s\n",
                  tiles ? std::to_string(*tiles).c_str() : "-",
                  graph.size(),
                  area ? area->seconds() : 0.0,
                  path.seconds(),
                  gflops,
                  library.c_str());
    }
  });
}

/// Throws Error(bad_input).
void save(Options const& options) {
  if (options.tiles.size() != 1 || options.dag != own_graph) {
    throw hs::Error(hs::ErrorCode::bad_input, "--save", "takes one Cholesky graph: --tiles N");
  }
  auto const graph = graph_of(options.tiles.front());
  auto const element = options.precision == "single" ? sizeof(float) : sizeof(double);
  std::vector<std::size_t> const bytes(graph.data_bytes().size(),
                                       options.tile * options.tile * element);
  std::vector<hs::TaskGraph::Node> const nodes(graph.nodes().begin(), graph.nodes().end());
  auto const text = hs::graph_text(hs::TaskGraph(nodes, bytes));
  std::ofstream file(options.save, std::ios::binary);
  if (!(file << text).flush()) {
    throw hs::Error(hs::ErrorCode::bad_input, options.save, "cannot be written");
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Prints lower bounds on the time of a task graph on a described machine.");
  app.add_option("--platform", options.platform, "file that describes the machine")->required();
  app.add_option("--dag", options.dag, "cholesky (default), or a file that has the graph");
  app.add_option("--algorithm", options.algorithm, "whose kernels a file's tasks are, by type");
  app.add_option("--save", options.save, "file to write the graph to; nothing is printed");
  app.add_option("--tiles", options.tiles, "tiles in a row of the matrix, such as 8,16,32")
      ->delimiter(',')
      ->check(CLI::Range(1, 200));
  app.add_option("--precision", options.precision, "single or double (default)")
      ->check(CLI::IsMember({"single", "double"}));
  app.add_option("--tile", options.tile, "size of the tiles (default 960)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--library", options.library, "whose kernels; by default the first with all");
  app.add_option("--cpus", options.cpus, "workers on cores; by default the file's")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--gpus", options.gpus, "by default the file's; each takes a core")
      ->check(CLI::Range(0, 62));
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  try {
    app.parse(argc, argv);
    auto const platform = read(options);
    if (options.save.empty()) {
      print(options, platform);
    } else {
      save(options);
    }
    return 0;
  } catch (CLI::CallForHelp const& help) {
    return app.exit(help);
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "bounds: %s\n", error.what());
    return 2;
  } catch (hs::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "bounds: %s\n", error.what());
    return 1;
  }
}
