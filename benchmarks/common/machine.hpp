// SPDX-License-Identifier: MIT
#pragma once
// What programs about described machines share: the machine and the graph, from the command line.

#include <hetsched/bounds/cholesky_bound.hpp>
#include <hetsched/graphs/graph_dot.hpp>
#include <hetsched/graphs/graph_json.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform_json.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/formats/read_trace.hpp>

#include "run_program.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// The options; `add_to` names them. Everything throws Error(bad_input).
struct Machine {
  std::string file;
  std::string dag = "cholesky";
  std::string algorithm;
  std::vector<std::size_t> tiles{4, 8, 12, 16, 20, 24, 32};
  std::string precision = "double";
  std::size_t tile = 960;
  std::string library;
  std::uint64_t graph_seed = 1;
  int cpus = -1;
  int gpus = -1;
  int group = 1;
  std::size_t sweeps = 10;

  void add_to(CLI::App& app) {
    app.add_option("--platform", file, "file that describes the machine")->required();
    app.add_option("--dag",
                   dag,
                   "cholesky (default), qr, lu (without pivoting), gemm, jacobi, a file that has "
                   "the graph (.dot, .gv: Graphviz; else JSON, also the trace of a run), or by lot "
                   "erdos:TASKS,P layered:LAYERS,WIDTH,P forkjoin:STAGES,WIDTH");
    app.add_option("--graph-seed", graph_seed, "of a graph by lot (default 1)");
    app.add_option(
        "--algorithm", algorithm, "whose kernels a file's tasks are, by type (cholesky)");
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

  [[nodiscard]] bool own_graph() const {
    return dag == "cholesky" || dag == "qr" || dag == "lu" || dag == "gemm" || dag == "jacobi";
  }

  [[nodiscard]] std::string kernels_of() const {
    return !algorithm.empty() ? algorithm : own_graph() && dag != "gemm" ? dag : "cholesky";
  }

  [[nodiscard]] hs::Precision arithmetic() const {
    return precision == "single" ? hs::Precision::single_precision
                                 : hs::Precision::double_precision;
  }

  [[nodiscard]] std::size_t element_bytes() const {
    return precision == "single" ? sizeof(float) : sizeof(double);
  }

  [[nodiscard]] std::size_t tile_bytes() const { return tile * tile * element_bytes(); }

  /// With as many workers as are asked for.
  [[nodiscard]] hs::Platform read() const {
    auto platform = hs::read_platform(file);
    auto& its_cpus = platform.classes[0].workers;
    auto& its_gpus = platform.classes[1].workers;
    auto const refuse = [&](char const* option, int value, std::string const& why) {
      throw hs::Error(hs::ErrorCode::bad_input, option, std::to_string(value) + " " + why);
    };
    if (gpus > its_gpus) {
      refuse("--gpus", gpus, "are more than the " + std::to_string(its_gpus) + " of the machine");
    }
    if (gpus >= 0) { // each GPU takes a core for itself (Lima et al. 2015, sec. 5)
      its_gpus = gpus;
      its_cpus = std::max(its_cpus, platform.cores - its_gpus);
    }
    auto const most = platform.cores - its_gpus;
    if (cpus > most) {
      refuse(
          "--cpus", cpus, "are more than the " + std::to_string(most) + " cores beside the GPUs");
    }
    its_cpus = cpus >= 0 ? cpus : its_cpus;
    if (its_cpus + its_gpus == 0) {
      refuse("--cpus", 0, "and no GPU: there is no worker");
    }
    if (group > its_cpus && group > 1) {
      refuse("--group", group, "are more than the " + std::to_string(its_cpus) + " cores");
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

  /// The library asked for, or the first that has all of the graph's kernels.
  [[nodiscard]] std::string library_of(hs::Platform const& platform,
                                       hs::TaskGraph const& graph) const {
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
      throw hs::Error(hs::ErrorCode::bad_input,
                      file,
                      "has no times for " + kernels_of() + " in " + precision + " on tiles of " +
                          std::to_string(tile) +
                          (library.empty() ? "" : " from library " + library));
    }
    return library;
  }

  /// The graph that the library's algorithm spawns; of LU, whose own pivots, the one that the
  /// platform's kernels are for.
  [[nodiscard]] hs::TaskGraph graph_of(hs::Platform const& platform, std::size_t in_a_row) const;

  /// Every graph, with its size: tiles, or nothing. Only one at a time is kept.
  template <class Visit>
  void each_graph(hs::Platform const& platform, Visit&& visit) const {
    if (own_graph()) {
      for (auto const in_a_row : tiles) {
        visit(graph_of(platform, in_a_row), std::optional(in_a_row));
      }
    } else if (auto const colon = dag.find(':'); colon != std::string::npos) {
      auto const types = kernel_names(platform);
      visit(random_graph(dag.substr(0, colon), dag.substr(colon + 1), types),
            std::optional<std::size_t>());
    } else {
      visit(read_graph().graph, std::optional<std::size_t>());
    }
  }

  /// The machine as a related one: what a GPU can run takes it a K-th of a core's time, K being the
  /// mean over the graph's tasks of their acceleration factors, in whole numbers as the thesis has
  /// them (Kumar 2017, sec. 2.4.3). Returns K.
  double make_related(hs::Platform& platform,
                      hs::TaskGraph const& graph,
                      std::string const& its_library) const {
    double sum = 0;
    std::size_t tasks = 0;
    for (auto const& node : graph.nodes()) {
      auto const* const kernel =
          platform.find(node.type, kernels_of(), arithmetic(), tile, its_library);
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

  /// Of Cholesky only; nothing elsewhere.
  [[nodiscard]] std::optional<hs::Duration> mixed_bound(hs::Platform const& platform,
                                                        std::optional<std::size_t> in_a_row,
                                                        std::string const& its_library) const {
    if (dag != "cholesky" || !in_a_row) {
      return std::nullopt;
    }
    hs::ClassTimes kernels;
    for (auto const& one_class : platform.classes) {
      kernels.workers.push_back(one_class.workers);
    }
    for (auto const* const name : {"potrf", "trsm", "syrk", "gemm"}) {
      auto const* const kernel = platform.find(name, dag, arithmetic(), tile, its_library);
      if (kernel == nullptr) { // one or two tiles need none
        return std::nullopt;
      }
      for (auto const& time : kernel->times) {
        kernels.times.push_back(time ? time->mean : hs::ClassTimes::never);
      }
    }
    return hs::cholesky_mixed_bound(*in_a_row, kernels);
  }

  /// Of the whole: n^3 / 3 for Cholesky, 4 n^3 / 3 for QR, 2 n^3 / 3 for LU, 2 n^3 for GEMM, 5 n^2
  /// for each sweep of Jacobi's.
  [[nodiscard]] double flops(std::size_t in_a_row) const {
    auto const n = static_cast<double>(in_a_row * tile);
    if (dag == "jacobi") {
      return 5 * n * n * static_cast<double>(sweeps);
    }
    return n * n * n * (dag == "qr" ? 4 : dag == "lu" ? 2 : dag == "gemm" ? 6 : 1) / 3;
  }

private:
  /// A file's: Graphviz's by its name; of JSON a graph, or what a recorded run spawned.
  [[nodiscard]] hs::NamedGraph read_graph() const {
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

  [[nodiscard]] hs::TaskGraph jacobi_graph(std::size_t in_a_row) const;
  [[nodiscard]] hs::TaskGraph lu_graph(hs::Platform const& platform, std::size_t in_a_row) const;

  /// Of the algorithm, from the library asked for or the first in the file.
  [[nodiscard]] std::vector<std::string_view> kernel_names(hs::Platform const& platform) const {
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

  /// "erdos:TASKS,P", "layered:LAYERS,WIDTH,P" or "forkjoin:STAGES,WIDTH".
  [[nodiscard]] hs::TaskGraph random_graph(std::string const& kind,
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

  [[noreturn]] void refuse_dag() const {
    throw hs::Error(hs::ErrorCode::bad_input,
                    "--dag " + dag,
                    "is none of erdos:TASKS,P layered:LAYERS,WIDTH,P forkjoin:STAGES,WIDTH");
  }

  static void add_for_all_libraries(hs::Platform& platform) {
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
};

} // namespace benchmarks
