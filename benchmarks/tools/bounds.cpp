// SPDX-License-Identifier: MIT
// Lower bounds on the time that a tile Cholesky factorisation, or the graph in a file, takes on a
// machine that a file describes (docs/platforms.md): no schedule is shorter than any of them. Only
// the transfer bound includes transfers.

#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/graphs/graph_json.hpp>

#include "../common/run_program.hpp"
#include "graph_bounds.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace hs = hetsched;

namespace {

struct Options {
  benchmarks::Machine machine;
  benchmarks::BoundChoice bounds;
  std::string comm = "free";
  std::string save;
  bool json = false;
};

std::string seconds_text(std::optional<hs::Duration> duration) {
  char text[32] = "-";
  if (duration) {
    std::snprintf(text, sizeof text, "%.9f", duration->seconds());
  }
  return text;
}

void print(Options const& options, hs::Platform const& platform) {
  auto const cpus = platform.classes[0].workers;
  auto const gpus = platform.classes[1].workers;
  bool first = true;
  auto const& machine = options.machine;
  machine.each_graph(platform, [&](hs::TaskGraph const& graph, std::optional<std::size_t> tiles) {
    auto const library = machine.library_of(platform, graph);
    auto const times = machine.times_of(platform, graph, library);
    auto const bounds =
        options.bounds.of(graph, machine, platform, library, tiles, times, options.comm);
    auto const best = bounds.best();
    auto const gflops = tiles && best ? machine.flops(*tiles) / static_cast<double>(best->ns) : 0;
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
      line["comm"] = options.comm;
      line["tasks"] = graph.size();
      bounds.add_to(line);
      line["gflops_at_most"] = gflops != 0 ? nlohmann::ordered_json(gflops) : nullptr;
      std::printf("%s\n", line.dump().c_str());
    } else {
      if (std::exchange(first, false)) {
        std::printf("%s on %s: %d cores and %d GPUs, %s, tiles of %zu\n"
                    "tiles   tasks      area bound s     mixed bound s   critical path s "
                    "iterative bound s  transfer bound s   GFlop/s at most  kernels of\n",
                    machine.dag.c_str(),
                    platform.name.c_str(),
                    cpus,
                    gpus,
                    machine.precision.c_str(),
                    machine.tile);
      }
      std::printf("%5s %7zu %17s %17s %17s %17s %17s %17.1f  %s\n",
                  tiles ? std::to_string(*tiles).c_str() : "-",
                  graph.size(),
                  seconds_text(bounds.area).c_str(),
                  seconds_text(bounds.mixed).c_str(),
                  seconds_text(bounds.path).c_str(),
                  seconds_text(bounds.iterative).c_str(),
                  seconds_text(bounds.transfer).c_str(),
                  gflops,
                  library.c_str());
    }
  });
}

/// Throws Error(bad_input).
void save(Options const& options, hs::Platform const& platform) {
  auto const& machine = options.machine;
  if (machine.tiles.size() != 1 || !machine.own_graph()) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    "--save",
                    "takes one graph of cholesky, qr, lu or gemm: --tiles N");
  }
  auto const text = hs::graph_text(machine.graph_of(platform, machine.tiles.front()));
  hs::detail::replace_file(options.save, text);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Prints lower bounds on the time of a task graph on a described machine.");
  options.machine.add_to(app);
  options.bounds.add_to(app);
  app.add_option("--comm",
                 options.comm,
                 "cost of transfers in the transfer bound: free (default), model or shared, as in "
                 "simulate")
      ->check(CLI::IsMember({"free", "model", "shared"}));
  app.add_option("--save", options.save, "file to write the graph to; nothing is printed");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("bounds", app, argc, argv, [&] {
    auto const platform = options.machine.read();
    if (options.save.empty()) {
      print(options, platform);
    } else {
      save(options, platform);
    }
  });
}
