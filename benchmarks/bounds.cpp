// SPDX-License-Identifier: MIT
// Lower bounds on the time that a tile Cholesky factorisation, or the graph in a file, takes on a
// machine that a file describes (docs/platforms.md), transfers left aside: no schedule is shorter
// than the area bound, nor than Cholesky's mixed bound, nor than the critical path.

#include <hetsched/bounds.hpp>

#include "machine.hpp"

#include <fstream>
#include <utility>

namespace hs = hetsched;

namespace {

struct Options {
  benchmarks::Machine machine;
  std::string save;
  bool json = false;
};

std::string seconds_text(hs::Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9f", duration.seconds());
  return text;
}

void print(Options const& options, hs::Platform const& platform) {
  auto const cpus = platform.classes[0].workers;
  auto const gpus = platform.classes[1].workers;
  bool first = true;
  auto const& machine = options.machine;
  machine.each_graph(platform, [&](hs::TaskGraph const& graph, std::optional<std::size_t> tiles) {
    auto const library = machine.library_of(platform, graph);
    auto const times = hs::class_times(
        graph, platform, machine.kernels_of(), machine.arithmetic(), machine.tile, library);
    auto const area = hs::area_bound(times);
    auto const path = hs::critical_path(graph, hs::shortest_times(times));
    auto const mixed = machine.mixed_bound(platform, tiles, library);
    auto const best = std::max({area.value_or(path), mixed.value_or(path), path});
    auto const gflops = tiles ? machine.flops(*tiles) / static_cast<double>(best.ns) : 0;
    if (options.json) {
      nlohmann::ordered_json line;
      line["platform"] = platform.name;
      line["dag"] = machine.dag;
      line["tiles"] = tiles ? nlohmann::ordered_json(*tiles) : nullptr;
      line["precision"] = machine.precision;
      line["tile"] = machine.tile;
      line["library"] = library;
      line["cpus"] = cpus;
      line["gpus"] = gpus;
      line["tasks"] = graph.size();
      line["area_bound_s"] = area ? nlohmann::ordered_json(area->seconds()) : nullptr;
      line["mixed_bound_s"] = mixed ? nlohmann::ordered_json(mixed->seconds()) : nullptr;
      line["critical_path_s"] = path.seconds();
      line["gflops_at_most"] = tiles ? nlohmann::ordered_json(gflops) : nullptr;
      std::printf("%s\n", line.dump().c_str());
    } else {
      if (std::exchange(first, false)) {
        std::printf("%s on %s: %d cores and %d GPUs, %s, tiles of %zu\n"
                    "tiles   tasks      area bound s     mixed bound s   critical path s   GFlop/s "
                    "at most  "
                    "kernels of\n",
                    machine.dag.c_str(),
                    platform.name.c_str(),
                    cpus,
                    gpus,
                    machine.precision.c_str(),
                    machine.tile);
      }
      std::printf("%5s %7zu %17.9f %17s %17.9f %17.1f  %s\n",
                  tiles ? std::to_string(*tiles).c_str() : "-",
                  graph.size(),
                  area ? area->seconds() : 0.0,
                  mixed ? seconds_text(*mixed).c_str() : "-",
                  path.seconds(),
                  gflops,
                  library.c_str());
    }
  });
}

/// Throws Error(bad_input).
void save(Options const& options) {
  auto const& machine = options.machine;
  if (machine.tiles.size() != 1 || !machine.own_graph()) {
    throw hs::Error(
        hs::ErrorCode::bad_input, "--save", "takes one graph of cholesky or qr: --tiles N");
  }
  auto const text = hs::graph_text(machine.graph_of(machine.tiles.front()));
  std::ofstream file(options.save, std::ios::binary);
  if (!(file << text).flush()) {
    throw hs::Error(hs::ErrorCode::bad_input, options.save, "cannot be written");
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Prints lower bounds on the time of a task graph on a described machine.");
  options.machine.add_to(app);
  app.add_option("--save", options.save, "file to write the graph to; nothing is printed");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("bounds", app, argc, argv, [&] {
    auto const platform = options.machine.read();
    if (options.save.empty()) {
      print(options, platform);
    } else {
      save(options);
    }
  });
}
