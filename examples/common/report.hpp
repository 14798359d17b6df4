// SPDX-License-Identifier: MIT
#pragma once
// What the linear algebra programs print: a table, or JSON lines.

#include "measure.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace example {

inline constexpr char const* linear_algebra_help =
    "Times are those of the run of median length (the lower one if --repeat is even), with the\n"
    "shortest and longest beside it. %gemm: of the rate of tile-size products on all workers,\n"
    "measured in the same run. %bound: lower bound / time, the bound being the larger of area "
    "bound\n"
    "and critical path with each task type's mean time of that run. idle: of all workers' time.\n"
    "JSON keys: kernel, matrix, n, tile, scheduler, cpus, repeat, seconds, seconds_min,\n"
    "seconds_max, gflops, gemm_gflops, bound_s, idle (0 to 1), tasks, steals, residual; for\n"
    "cholesky, lu and qr also factor_residual and backward_error, for qr orthogonality,\n"
    "||Q'Q - I|| / sqrt(n): residual is the largest of these.\n"
    "Exit status: 0; 1 if a residual exceeds max(1e-13, n * 2.2e-16) or something unforeseen\n"
    "failed; 2 if the input is at fault: options, environment, file, a matrix that cannot be\n"
    "factorised. One line on stderr says what.";

struct Row {
  std::string_view scheduler;
  std::string matrix; // what it is, in words
  std::size_t n = 0;
  std::size_t workers = 0;
  double flops = 0;
  double gemm_rate = 0; // flop/s
  Measured measured;
  double residual = 0;           // the largest of the following if there are any
  std::string_view factors = {}; // what factor_residual is
  std::optional<double> factor_residual = std::nullopt;
  std::optional<double> backward_error = std::nullopt;
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
  }

  /// What is wrong with the results, if anything.
  [[nodiscard]] std::string complaint() const { return wrong_ ? "a residual is too large" : ""; }

private:
  static double idle(Row const& row) {
    auto const& stats = row.measured.stats;
    auto const all = stats.elapsed.seconds() * static_cast<double>(row.workers);
    return all > 0 ? stats.idle.seconds() / all : 0;
  }

  static std::string heads(Row const& row) {
    if (!row.factor_residual) {
      return "error";
    }
    return std::string(row.factors) + "  backward error" +
           (row.orthogonality ? "  |Q'Q-I|/sqrt(n)" : "");
  }

  void print_json(Row const& row) const {
    auto const& m = row.measured;
    JsonLine line;
    line.add("kernel", program_.kernel)
        .add("matrix", row.matrix)
        .add("n", row.n)
        .add("tile", options_.tile)
        .add("scheduler", row.scheduler)
        .add("cpus", row.workers)
        .add("repeat", options_.repeat)
        .add("seconds", m.seconds)
        .add("seconds_min", m.shortest)
        .add("seconds_max", m.longest)
        .add("gflops", row.flops / m.seconds * 1e-9)
        .add("gemm_gflops", row.gemm_rate * 1e-9)
        .add("bound_s", m.bound.seconds())
        .add("idle", idle(row))
        .add("tasks", m.stats.executed)
        .add("steals", m.stats.steals);
    if (row.factor_residual && row.backward_error) {
      line.add("factor_residual", *row.factor_residual).add("backward_error", *row.backward_error);
    }
    if (row.orthogonality) {
      line.add("orthogonality", *row.orthogonality);
    }
    line.add("residual", row.residual).print();
  }

  void print_table(Row const& row) {
    if (!std::exchange(headed_, true)) {
      std::printf("%s of %s: n = %zu, tiles of %zu, %zu workers, kernels by %s\n"
                  "tile-size gemm on all workers: %.1f GFlop/s; median of %zu runs (min .. max)\n\n"
                  "%-10s %9s %21s %8s %6s %7s %6s %7s %7s  %s\n",
                  program_.kernel.c_str(),
                  row.matrix.c_str(),
                  row.n,
                  options_.tile,
                  row.workers,
                  hs::linalg::kernel_library(),
                  row.gemm_rate * 1e-9,
                  options_.repeat,
                  "scheduler",
                  "seconds",
                  "(min .. max)",
                  "GFlop/s",
                  "%gemm",
                  "%bound",
                  "idle%",
                  "tasks",
                  "steals",
                  heads(row).c_str());
    }
    auto const& m = row.measured;
    auto const rate = row.flops / m.seconds;
    std::printf("%-10s %9.4f (%8.4f .. %8.4f) %7.2f %6.1f %7.1f %6.1f %7llu %7llu  ",
                std::string(row.scheduler).c_str(),
                m.seconds,
                m.shortest,
                m.longest,
                rate * 1e-9,
                100 * rate / row.gemm_rate,
                100 * m.bound.seconds() / m.seconds,
                100 * idle(row),
                static_cast<unsigned long long>(m.stats.executed),
                static_cast<unsigned long long>(m.stats.steals));
    if (row.factor_residual && row.backward_error) {
      std::printf("%11.2e  %14.2e", *row.factor_residual, *row.backward_error);
    } else {
      std::printf("%.2e", row.residual);
    }
    row.orthogonality ? std::printf("  %15.2e\n", *row.orthogonality) : std::printf("\n");
  }

  Program program_;
  Options options_;
  bool headed_ = false;
  bool wrong_ = false;
};

} // namespace example
