// SPDX-License-Identifier: MIT
#pragma once
// What programs about described machines share: the machine and the graph, from the command line.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/named_graph.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace benchmarks {

namespace hs = hetsched;

/// What --comm says: free, model or shared.
[[nodiscard]] hs::Simulation::Transfers transfers_of(std::string const& comm);

/// At most eight of the names, quoted and in order; the rest as a number.
[[nodiscard]] std::string listed(std::vector<std::string> names);

class MeasuredRun;

/// The options; `add_to` names them. Everything throws Error(bad_input).
struct Machine {
  std::string file;
  std::string trace_times; // of a recorded run: instead of a file and a graph
  std::vector<std::string> gpu_speedups;
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

  void add_to(CLI::App& app);

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
  [[nodiscard]] hs::Platform read() const;

  /// The library asked for, or the first that has all of the graph's kernels.
  [[nodiscard]] std::string library_of(hs::Platform const& platform,
                                       hs::TaskGraph const& graph) const;

  /// What the graph's tasks take on the machine, by that library.
  [[nodiscard]] hs::ClassTimes times_of(hs::Platform const& platform,
                                        hs::TaskGraph const& graph,
                                        std::string const& chosen_library) const {
    return hs::class_times(graph, platform, kernels_of(), arithmetic(), tile, chosen_library);
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
    } else if (auto const colon = dag.find(':');
               colon != std::string::npos && trace_times.empty()) {
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
                      std::string const& chosen_library) const;

  /// Of Cholesky only; nothing elsewhere.
  [[nodiscard]] std::optional<hs::Duration> mixed_bound(hs::Platform const& platform,
                                                        std::optional<std::size_t> in_a_row,
                                                        std::string const& chosen_library) const;

  /// Of the whole: n^3 / 3 for Cholesky, 4 n^3 / 3 for QR, 2 n^3 / 3 for LU, 2 n^3 for GEMM, 5 n^2
  /// for each sweep of Jacobi's.
  [[nodiscard]] double flops(std::size_t in_a_row) const;

  /// The run of --trace-times, read once.
  [[nodiscard]] MeasuredRun const& measured() const;

private:
  [[nodiscard]] hs::Platform read_measured() const;

  /// A file's: Graphviz's by its name; of JSON a graph, or what a recorded run spawned.
  [[nodiscard]] hs::NamedGraph read_graph() const;

  [[nodiscard]] hs::TaskGraph jacobi_graph(std::size_t in_a_row) const;
  [[nodiscard]] hs::TaskGraph lu_graph(hs::Platform const& platform, std::size_t in_a_row) const;

  /// Of the algorithm, from the library asked for or the first in the file.
  [[nodiscard]] std::vector<std::string_view> kernel_names(hs::Platform const& platform) const;

  /// "erdos:TASKS,P", "layered:LAYERS,WIDTH,P" or "forkjoin:STAGES,WIDTH".
  [[nodiscard]] hs::TaskGraph random_graph(std::string const& kind,
                                           std::string const& numbers,
                                           std::span<std::string_view const> types) const;

  [[noreturn]] void refuse_dag() const;

  mutable std::shared_ptr<MeasuredRun const> measured_; // null until it is asked for
};

} // namespace benchmarks
