// SPDX-License-Identifier: MIT
// The command line's machine and graph: options, files, bounds.

#include <hetsched/bounds/cholesky_bound.hpp>
#include <hetsched/graphs/graph_dot.hpp>
#include <hetsched/graphs/graph_json.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/platform/platform_json.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/formats/read_trace.hpp>

#include "machine.hpp"
#include "measured_run.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>

namespace benchmarks {

namespace {

void add_for_all_libraries(hs::Platform& platform) {
  auto const check = platform.kernels.back();
  std::set<std::string> others;
  for (auto const& kernel : platform.kernels) {
    others.insert(kernel.library);
  }
  others.erase(check.library);
  for (auto const& other : others) {
    platform.kernels.push_back(check);
    platform.kernels.back().library = other;
  }
}

} // namespace

void Machine::add_to(CLI::App& app) {
  auto* const platform = app.add_option("--platform", file, "file that describes the machine");
  auto* const graph = app.add_option(
      "--dag",
      dag,
      "cholesky (default), qr, lu (without pivoting), gemm, jacobi, a file that has "
      "the graph (.dot, .gv: Graphviz; else JSON, also the trace of a run), or by lot "
      "erdos:TASKS,P layered:LAYERS,WIDTH,P forkjoin:STAGES,WIDTH");
  app.add_option("--trace-times",
                 trace_times,
                 "trace of a run: its graph, on other cores and GPUs, with its times")
      ->each([this](std::string const& path) { dag = path; })
      ->excludes(platform)
      ->excludes(graph);
  app.add_option(
         "--gpu-speedup",
         gpu_speedups,
         "TYPE=FACTOR, of --trace-times: assumed where a type never ran on a GPU; TYPE=none: "
         "it stays on cores")
      ->delimiter(',');
  app.add_option("--graph-seed", graph_seed, "of a graph by lot (default 1)");
  app.add_option("--algorithm", algorithm, "whose kernels a file's tasks are, by type (cholesky)");
  app.add_option("--tiles", tiles, "tiles in a row of the matrix, such as 8,16,32")
      ->delimiter(',')
      ->check(CLI::Range(1, 200));
  app.add_option("--sweeps", sweeps, "of jacobi (default 10)")->check(CLI::Range(1, 100'000));
  app.add_option("--precision", precision, "single or double (default)")
      ->check(CLI::IsMember({"single", "double"}));
  app.add_option("--tile", tile, "size of the tiles (default 960)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--library", library, "whose kernels; by default the first with all");
  app.add_option("--cpus", cpus, "workers on cores; by default the file's")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--group", group, "cores that work as one, each group a worker (default 1)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--gpus", gpus, "by default the file's; each takes a core")
      ->check(CLI::Range(0, 1000));
}

MeasuredRun const& Machine::measured() const {
  if (!measured_) {
    measured_ = std::make_shared<MeasuredRun>(trace_times);
  }
  return *measured_;
}

hs::Platform Machine::read_measured() const {
  auto const& run = measured();
  int there[2] = {0, 0};
  for (auto const& worker : run.trace().workers) {
    there[worker.arch == hs::ArchHost ? 0 : 1] += worker.cores;
  }
  auto const cores = cpus >= 0 ? cpus : there[0];
  auto const devices = gpus >= 0 ? gpus : there[1];
  if (cores + devices == 0) {
    throw hs::Error(hs::ErrorCode::bad_input, "--cpus", "0 and no GPU: there is no worker");
  }
  if (group > 1) {
    throw hs::Error(
        hs::ErrorCode::bad_input, "--group", "of --trace-times no group of cores has times");
  }
  hs::Platform::Kernel like;
  like.precision = arithmetic();
  like.tile = tile;
  like.library = "measured";
  like.algorithms = {kernels_of()};
  return run.machine(cores, devices, parse_speedups(gpu_speedups), like);
}

hs::Platform Machine::read() const {
  if (!trace_times.empty()) {
    return read_measured();
  }
  if (file.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, "--platform", "is required, or --trace-times");
  }
  if (!gpu_speedups.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, "--gpu-speedup", "goes with --trace-times");
  }
  auto platform = hs::read_platform(file);
  auto& cpu_workers = platform.classes[0].workers;
  auto& gpu_workers = platform.classes[1].workers;
  auto const refuse = [&](char const* option, int value, std::string const& why) {
    throw hs::Error(hs::ErrorCode::bad_input, option, std::to_string(value) + " " + why);
  };
  if (gpus > gpu_workers) {
    refuse("--gpus", gpus, "are more than the " + std::to_string(gpu_workers) + " of the machine");
  }
  if (gpus >= 0) { // each GPU takes a core for itself (Lima et al. 2015, sec. 5)
    gpu_workers = gpus;
    cpu_workers = std::max(cpu_workers, platform.cores - gpu_workers);
  }
  auto const most = platform.cores - gpu_workers;
  if (cpus > most) {
    refuse("--cpus", cpus, "are more than the " + std::to_string(most) + " cores beside the GPUs");
  }
  cpu_workers = cpus >= 0 ? cpus : cpu_workers;
  if (cpu_workers + gpu_workers == 0) {
    refuse("--cpus", 0, "and no GPU: there is no worker");
  }
  if (group > cpu_workers && group > 1) {
    refuse("--group", group, "are more than the " + std::to_string(cpu_workers) + " cores");
  }
  platform = platform.in_groups(group);
  if (dag == "qr") { // looks for NaN in a tile: next to nothing
    auto& check = platform.kernels.emplace_back(platform.kernels.front());
    check.name = "qr_check";
    check.precision = arithmetic();
    check.tile = tile;
    check.algorithms = {kernels_of()};
    check.measured = false;
    check.times.assign(platform.classes.size(), hs::Platform::KernelTime{{1}, {}, {}});
    check.on_groups.clear();
    add_for_all_libraries(platform);
  }
  return platform;
}

namespace {

/// The types that the platform knows by no tile and from no library.
std::vector<std::string> unknown_types(hs::Platform const& platform,
                                       std::set<std::string> const& types,
                                       std::string const& algorithm) {
  std::vector<std::string> unknown;
  for (auto const& type : types) {
    bool const known = std::any_of(
        platform.kernels.begin(), platform.kernels.end(), [&](hs::Platform::Kernel const& kernel) {
          return kernel.name == type && kernel.is_part_of(algorithm);
        });
    if (!known) {
      unknown.push_back(type);
    }
  }
  return unknown;
}

} // namespace

std::string listed(std::vector<std::string> names) {
  constexpr std::size_t most = 8;
  std::sort(names.begin(), names.end());
  std::string list;
  for (std::size_t k = 0; k < std::min(names.size(), most); ++k) {
    list += (k == 0 ? "'" : ", '") + names[k] + "'";
  }
  return list +
         (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
}

std::string Machine::library_of(hs::Platform const& platform, hs::TaskGraph const& graph) const {
  std::set<std::string> kernels;
  for (auto const& node : graph.nodes()) {
    kernels.emplace(node.type);
  }
  auto const found =
      platform.libraries({kernels.begin(), kernels.end()}, kernels_of(), arithmetic(), tile);
  if (library.empty() && !found.empty()) {
    return found.front();
  }
  if (std::find(found.begin(), found.end(), library) == found.end()) {
    if (auto const unknown = unknown_types(platform, kernels, kernels_of()); !unknown.empty()) {
      throw hs::Error(hs::ErrorCode::bad_input,
                      file,
                      "has no kernel for " + kernels_of() + " named " + listed(unknown) +
                          ", as tasks of --dag " + dag + " are");
    }
    throw hs::Error(hs::ErrorCode::bad_input,
                    file,
                    "has no times for " + kernels_of() + " in " + precision + " on tiles of " +
                        std::to_string(tile) + (library.empty() ? "" : " from library " + library));
  }
  return library;
}

double Machine::make_related(hs::Platform& platform,
                             hs::TaskGraph const& graph,
                             std::string const& chosen_library) const {
  double sum = 0;
  std::size_t tasks = 0;
  for (auto const& node : graph.nodes()) {
    auto const* const kernel =
        platform.find(node.type, kernels_of(), arithmetic(), tile, chosen_library);
    if (kernel->on(0) && kernel->on(1)) {
      sum += std::round(kernel->on(0)->mean.seconds() / kernel->on(1)->mean.seconds());
      ++tasks;
    }
  }
  if (tasks == 0) {
    throw hs::Error(hs::ErrorCode::bad_input, "--related", "no task runs on cores and GPUs");
  }
  auto const factor = sum / static_cast<double>(tasks);
  for (auto& kernel : platform.kernels) {
    if (kernel.on(0) && kernel.on(1)) {
      auto const ns = static_cast<double>(kernel.on(0)->mean.ns) / factor;
      kernel.times[1]->mean = {std::max<std::int64_t>(1, std::llround(ns))};
    }
  }
  return factor;
}

std::optional<hs::Duration> Machine::mixed_bound(hs::Platform const& platform,
                                                 std::optional<std::size_t> in_a_row,
                                                 std::string const& chosen_library) const {
  if (dag != "cholesky" || !in_a_row) {
    return std::nullopt;
  }
  hs::ClassTimes kernels;
  for (auto const& one_class : platform.classes) {
    kernels.workers.push_back(one_class.workers);
  }
  for (auto const* const name : {"potrf", "trsm", "syrk", "gemm"}) {
    auto const* const kernel = platform.find(name, dag, arithmetic(), tile, chosen_library);
    if (kernel == nullptr) { // one or two tiles need none
      return std::nullopt;
    }
    for (auto const& time : kernel->times) {
      kernels.times.push_back(time ? time->mean : hs::ClassTimes::never);
    }
  }
  return hs::cholesky_mixed_bound(*in_a_row, kernels);
}

double Machine::flops(std::size_t in_a_row) const {
  auto const n = static_cast<double>(in_a_row * tile);
  if (dag == "jacobi") {
    return 5 * n * n * static_cast<double>(sweeps);
  }
  return n * n * n * (dag == "qr" ? 4 : dag == "lu" ? 2 : dag == "gemm" ? 6 : 1) / 3;
}

hs::NamedGraph Machine::read_graph() const {
  if (!trace_times.empty()) {
    return measured().graph();
  }
  if (dag.ends_with(".dot") || dag.ends_with(".gv")) {
    return hs::read_dot(dag);
  }
  auto const text = hs::detail::read_text_file(dag, hs::largest_trace_file);
  if (!hs::says_trace(text)) {
    return hs::parse_graph(text, dag);
  }
  auto const trace = hs::parse_trace(text, dag);
  if (auto const lost = hs::edges_without_data(trace); lost != 0) {
    std::fprintf(stderr,
                 "%s: %zu of %zu dependencies come from partitions of data and are left out\n",
                 dag.c_str(),
                 lost,
                 trace.edges.size());
  }
  return hs::task_graph_of(trace);
}

std::vector<std::string_view> Machine::kernel_names(hs::Platform const& platform) const {
  std::vector<std::string_view> names;
  std::string_view chosen = library;
  for (auto const& kernel : platform.kernels) {
    if (platform.find(kernel.name, kernels_of(), arithmetic(), tile, kernel.library) != &kernel) {
      continue;
    }
    chosen = chosen.empty() ? kernel.library : chosen;
    if (kernel.library == chosen) {
      names.emplace_back(kernel.name);
    }
  }
  return names;
}

hs::TaskGraph Machine::random_graph(std::string const& kind,
                                    std::string const& numbers,
                                    std::span<std::string_view const> types) const {
  hs::RandomGraph const common{types, graph_seed, tile_bytes()};
  std::vector<double> given;
  for (auto const& text : CLI::detail::split(numbers, ',')) {
    double number = 0;
    if (!CLI::detail::lexical_cast(text, number) || !(number >= 0 && number <= 1e7)) {
      refuse_dag();
    }
    given.push_back(number);
  }
  auto const whole = [&](std::size_t k) {
    if (given[k] != std::floor(given[k])) {
      refuse_dag();
    }
    return static_cast<std::size_t>(given[k]);
  };
  if (types.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    file,
                    "has no times for " + kernels_of() + " in " + precision + " on tiles of " +
                        std::to_string(tile));
  }
  if (kind == "erdos" && given.size() == 2) {
    return hs::erdos_graph(common, whole(0), given[1]);
  }
  if (kind == "layered" && given.size() == 3) {
    return hs::layered_graph(common, whole(0), whole(1), given[2]);
  }
  if (kind != "forkjoin" || given.size() != 2) {
    refuse_dag();
  }
  return hs::fork_join_graph(common, whole(0), whole(1));
}

void Machine::refuse_dag() const {
  throw hs::Error(hs::ErrorCode::bad_input,
                  "--dag " + dag,
                  "is none of erdos:TASKS,P layered:LAYERS,WIDTH,P forkjoin:STAGES,WIDTH");
}

} // namespace benchmarks
