// SPDX-License-Identifier: MIT
#pragma once
// What the programs print: a table, or JSON lines.

#include <hetsched/trace/formats/write_trace.hpp>

#include "measure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace example {

inline constexpr char const* linear_algebra_help =
    "Times are those of the run of median length (the lower one if --repeat is even), with the\n"
    "shortest and longest beside it. %gemm: of the rate of tile-size products on all workers,\n"
    "measured in the same run. %bound: lower bound / time, the bound being the larger of area "
    "bound\n"
    "and critical path with each task type's mean time of that run. idle: of all workers' time.\n"
    "JSON keys: kernel, matrix, n, tile, scheduler, cpus, group, repeat, seconds,\n"
    "seconds_min, seconds_max, gflops, gemm_gflops, bound_s, idle (0 to 1), tasks, steals, "
    "residual; for\n"
    "cholesky, lu and qr also factor_residual and backward_error, for qr orthogonality,\n"
    "||Q'Q - I|| / sqrt(n): residual is the largest of these.\n"
    "devices lists what went through each device's memory: name, hits, misses, evictions_clean,\n"
    "evictions_dirty, bytes_from_host, bytes_to_host, bytes_from_peers, and of what came there\n"
    "bytes_ahead, sent before a task asked, and bytes_ahead_used. Where there are devices,\n"
    "there is no bound.\n"
    "Exit status: 0; 1 if a residual exceeds max(1e-13, n * 2.2e-16) or something unforeseen\n"
    "failed; 2 if the input is at fault: options, environment, file, a matrix that cannot be\n"
    "factorised. One line on stderr says what.";

/// For programs whose rate is not comparable with that of a matrix product.
inline constexpr char const* other_help =
    "Times are those of the run of median length (the lower one if --repeat is even), with the\n"
    "shortest and longest beside it. GB/s: what the algorithm must move, caches left aside. "
    "%bound:\n"
    "lower bound / time, the bound being the larger of area bound and critical path with each "
    "task\n"
    "type's mean time of that run. idle: of all workers' time.\n"
    "JSON keys: kernel, matrix, n, tile, scheduler, cpus, group, repeat, seconds,\n"
    "seconds_min, seconds_max, gflops, gemm_gflops, bound_s, idle (0 to 1), tasks, steals, "
    "residual, null "
    "where\n"
    "they mean nothing, and gbytes_s or ns_per_task. residual is that of the result, compared "
    "with\n"
    "a sequential program's. devices lists what went through each device's memory: name, hits,\n"
    "misses, evictions_clean, evictions_dirty, bytes_from_host, bytes_to_host, "
    "bytes_from_peers,\n"
    "and of what came there bytes_ahead, sent before a task asked, and bytes_ahead_used.\n"
    "Where there are devices, there is no bound.\n"
    "Exit status: 0; 1 if a residual exceeds max(1e-13, n * 2.2e-16) or something unforeseen\n"
    "failed; 2 if the input is at fault: options, environment. One line on stderr says what.";

struct Row {
  std::string_view scheduler;
  std::string matrix; // a description
  std::size_t n = 0;
  std::size_t workers = 0;
  int group = 1;                                  // cores of each on cores
  std::optional<double> flops = std::nullopt;     // none: the tasks count
  std::optional<double> gemm_rate = std::nullopt; // flop/s, to compare with
  Measured measured;
  double residual = 0;           // the largest of the following if there are any
  std::string_view factors = {}; // what factor_residual is
  std::optional<double> factor_residual = std::nullopt;
  std::optional<double> backward_error = std::nullopt;
  std::optional<double> bytes = std::nullopt; // that a run must move, if memory bandwidth bounds it
  std::optional<double> orthogonality = std::nullopt;
};

/// Prints one row per scheduler, under a head before the first; remembers wrong results.
class Report {
public:
  Report(Program program, Options options)
      : program_(std::move(program)), options_(std::move(options)) {}

  void add(Row const& row) {
    auto const limit = std::max(1e-13, static_cast<double>(row.n) * 2.2e-16);
    wrong_ = wrong_ || !(row.residual <= limit);
    options_.json ? print_json(row) : print_table(row);
    std::fflush(stdout);
    if (!options_.trace.empty()) {
      write_trace_of(row);
    }
  }

  /// What is wrong with the results, if anything.
  [[nodiscard]] std::string complaint() const { return wrong_ ? "a residual is too large" : ""; }

private:
  struct Column {
    std::string head;
    std::string text;
    int width;
  };

  /// "run.json" of one row, else "run.dmda.json".
  [[nodiscard]] std::string trace_path(std::string_view scheduler) const {
    if (options_.scheduler != "all") {
      return options_.trace;
    }
    std::string name(scheduler);
    std::replace(name.begin(), name.end(), ':', '-');
    return hs::path_with_part(options_.trace, name);
  }

  void write_trace_of(Row const& row) const {
    auto trace = *row.measured.trace;
    trace.scheduler = row.scheduler;
    trace.about = {{"program", program_.kernel},
                   {"matrix", row.matrix},
                   {"n", std::to_string(row.n)},
                   {"tile", std::to_string(options_.tile)}};
    if (row.measured.bound) {
      trace.bounds.emplace_back("area or critical path", *row.measured.bound);
    }
    hs::write_trace(trace, trace_path(row.scheduler));
  }

  static double idle(Row const& row) {
    auto const& stats = row.measured.stats;
    auto const all = stats.elapsed.seconds() * static_cast<double>(row.workers);
    return all > 0 ? stats.idle.seconds() / all : 0;
  }

  /// The number of workers on cores: each device has one more worker.
  static std::size_t cores(Row const& row) {
    return row.workers - row.measured.stats.devices.size();
  }

  static std::vector<JsonLine> devices(hs::Stats const& stats) {
    std::vector<JsonLine> lines;
    for (auto const& device : stats.devices) {
      lines.emplace_back()
          .add("name", device.name)
          .add("hits", device.hits)
          .add("misses", device.misses)
          .add("evictions_clean", device.evictions_clean)
          .add("evictions_dirty", device.evictions_dirty)
          .add("bytes_from_host", device.bytes_from_host)
          .add("bytes_to_host", device.bytes_to_host)
          .add("bytes_from_peers", device.bytes_from_peers)
          .add("bytes_ahead", device.bytes_ahead)
          .add("bytes_ahead_used", device.bytes_ahead_used);
    }
    return lines;
  }

  static void print_devices(hs::Stats const& stats) {
    auto const mb = [](std::uint64_t bytes) { return static_cast<double>(bytes) * 0x1p-20; };
    for (auto const& device : stats.devices) {
      std::printf("  %s: %llu hits, %llu misses, %llu + %llu evictions (clean + dirty); MB from "
                  "host %.1f, to host %.1f, from peers %.1f; sent ahead %.1f, of these used %.1f\n",
                  device.name.c_str(),
                  static_cast<unsigned long long>(device.hits),
                  static_cast<unsigned long long>(device.misses),
                  static_cast<unsigned long long>(device.evictions_clean),
                  static_cast<unsigned long long>(device.evictions_dirty),
                  mb(device.bytes_from_host),
                  mb(device.bytes_to_host),
                  mb(device.bytes_from_peers),
                  mb(device.bytes_ahead),
                  mb(device.bytes_ahead_used));
    }
  }

  static double ns_per_task(Row const& row) {
    return row.measured.seconds * 1e9 / static_cast<double>(row.measured.stats.executed);
  }

  void print_json(Row const& row) const {
    constexpr auto none = std::numeric_limits<double>::quiet_NaN(); // null
    auto const& m = row.measured;
    JsonLine line;
    line.add("kernel", program_.kernel)
        .add("matrix", row.matrix)
        .add("n", row.n)
        .add("tile", options_.tile)
        .add("scheduler", row.scheduler)
        .add("cpus", cores(row))
        .add("group", row.group)
        .add("repeat", options_.repeat)
        .add("seconds", m.seconds)
        .add("seconds_min", m.shortest)
        .add("seconds_max", m.longest)
        .add("gflops", row.flops.value_or(none) / m.seconds * 1e-9)
        .add("gemm_gflops", row.gemm_rate.value_or(none) * 1e-9)
        .add("bound_s", m.bound ? m.bound->seconds() : none)
        .add("idle", idle(row))
        .add("tasks", m.stats.executed)
        .add("steals", m.stats.steals)
        .add("devices", devices(m.stats));
    if (row.bytes) {
      line.add("gbytes_s", *row.bytes / m.seconds * 1e-9);
    }
    if (!row.flops) {
      line.add("ns_per_task", ns_per_task(row));
    }
    if (row.factor_residual && row.backward_error) {
      line.add("factor_residual", *row.factor_residual).add("backward_error", *row.backward_error);
    }
    if (row.orthogonality) {
      line.add("orthogonality", *row.orthogonality);
    }
    line.add("residual", row.residual).print();
  }

  static std::string format(char const* how, double number) {
    char text[32];
    std::snprintf(text, sizeof text, how, number);
    return text;
  }

  static std::vector<Column> columns(Row const& row) {
    auto const& m = row.measured;
    auto const range =
        "(" + format("%8.4f", m.shortest) + " .. " + format("%8.4f", m.longest) + ")";
    std::vector<Column> result = {{"scheduler", std::string(row.scheduler), -13},
                                  {"seconds", format("%.4f", m.seconds), 9},
                                  {"(min .. max)", range, 22}};
    auto const rate = row.flops.value_or(0) / m.seconds;
    if (row.flops) {
      result.push_back({"GFlop/s", format("%.2f", rate * 1e-9), 7});
    } else {
      result.push_back({"ns/task", format("%.0f", ns_per_task(row)), 7});
    }
    if (row.gemm_rate) {
      result.push_back({"%gemm", format("%.1f", 100 * rate / *row.gemm_rate), 6});
    }
    if (row.bytes) {
      result.push_back({"GB/s", format("%.2f", *row.bytes / m.seconds * 1e-9), 6});
    }
    if (m.bound) {
      result.push_back({"%bound", format("%.1f", 100 * m.bound->seconds() / m.seconds), 7});
    }
    result.push_back({"idle%", format("%.1f", 100 * idle(row)), 6});
    result.push_back({"tasks", std::to_string(m.stats.executed), 7});
    result.push_back({"steals", std::to_string(m.stats.steals), 7});
    if (row.factor_residual && row.backward_error) {
      result.push_back({std::string(row.factors), format("%.2e", *row.factor_residual), 12});
      result.push_back({"backward error", format("%.2e", *row.backward_error), 14});
    } else {
      result.push_back({"error", format("%.2e", row.residual), 9});
    }
    if (row.orthogonality) {
      result.push_back({"|Q'Q-I|/sqrt(n)", format("%.2e", *row.orthogonality), 15});
    }
    return result;
  }

  void print_head(Row const& row) const {
    std::printf("%s of %s: n = %zu", program_.kernel.c_str(), row.matrix.c_str(), row.n);
    if (!program_.parts.empty()) {
      std::printf(", %s of %zu", program_.parts.c_str(), options_.tile);
    }
    std::printf(", %zu workers", cores(row));
    if (row.group > 1) {
      std::printf(" of %d cores", row.group);
    }
    if (auto const count = row.measured.stats.devices.size(); count != 0) {
      std::printf(" and %zu device%s", count, count == 1 ? "" : "s");
    }
    if (row.gemm_rate) {
      std::printf(", kernels by %s\ntile-size gemm on all workers: %.1f GFlop/s; ",
                  hs::linalg::kernel_library(),
                  *row.gemm_rate * 1e-9);
    } else {
      std::printf("\n");
    }
    std::printf("median of %zu runs (min .. max)\n\n", options_.repeat);
    for (auto const& column : columns(row)) {
      std::printf("%*s ", column.width, column.head.c_str());
    }
    std::printf("\n");
  }

  void print_table(Row const& row) {
    if (!std::exchange(headed_, true)) {
      print_head(row);
    }
    for (auto const& column : columns(row)) {
      std::printf("%*s ", column.width, column.text.c_str());
    }
    std::printf("\n");
    print_devices(row.measured.stats);
  }

  Program program_;
  Options options_;
  bool headed_ = false;
  bool wrong_ = false;
};

} // namespace example
