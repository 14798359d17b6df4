// SPDX-License-Identifier: MIT
#pragma once
// What the linear algebra programs share: command line, schedulers by name, timing of captured
// graphs, this machine's GEMM rate, and the report as a table or as JSON lines.

#include <hetsched/bounds.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/kernels.hpp>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace example {

namespace hs = hetsched;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// ---- schedulers by name ----

template <class S>
struct Named {
  using Scheduler = S;
  std::string_view name;
};

/// The schedulers that every program knows: add new ones here.
inline constexpr auto schedulers = std::tuple(Named<hs::policies::WorkStealing<>>{"ws"},
                                              Named<hs::policies::Eager<>>{"eager"},
                                              Named<hs::policies::Random<>>{"random"},
                                              Named<hs::policies::Priority<>>{"priority"});

/// Calls `use(Named<S>)` for the scheduler `wanted`, or for each if it is "all"; how many were
/// called.
template <class Use>
int for_each_scheduler(std::string_view wanted, Use&& use) {
  int count = 0;
  auto consider = [&](auto named) {
    if (wanted == "all" || wanted == named.name) {
      use(named);
      ++count;
    }
  };
  std::apply([&](auto... named) { (consider(named), ...); }, schedulers);
  return count;
}

// ---- command line ----

struct Program {
  std::string kernel; // as printed
  std::string description;
  bool takes_matrix = false;
};

struct Options {
  std::string matrix; // a file; empty: generated
  std::size_t n = 1500;
  std::size_t tile = 128;
  std::string scheduler = "all";
  std::optional<int> cpus;
  std::size_t repeat = 3;
  std::uint64_t seed = 1;
  bool json = false;

  [[nodiscard]] hs::Config config() const {
    hs::Config config;
    config.cpus = cpus;
    config.seed = seed;
    config.timing = true;
    return config;
  }
};

[[noreturn]] inline void bad_input(std::string culprit, std::string const& message) {
  throw hs::Error(hs::ErrorCode::bad_input, std::move(culprit), message);
}

template <class Number>
void store(Number& number, std::uint64_t value) {
  number = static_cast<Number>(value);
}

inline void store(std::optional<int>& number, std::uint64_t value) {
  number = static_cast<int>(value);
}

/// An option that is a whole number from `low` to `high`.
template <class Number>
CLI::Option* add_number(CLI::App& app,
                        std::string const& name,
                        std::uint64_t low,
                        std::uint64_t high,
                        Number& number,
                        std::string const& help) {
  auto const parse = [=, &number](std::string const& text) {
    std::uint64_t value = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < low || value > high) {
      bad_input(name,
                "'" + text + "' is not a whole number from " + std::to_string(low) + " to " +
                    std::to_string(high));
    }
    store(number, value);
  };
  auto* const option = app.add_option_function<std::string>(name, parse, help);
  if constexpr (std::is_integral_v<Number>) {
    option->default_str(std::to_string(number));
  }
  return option->type_name("NUMBER");
}

inline constexpr char const* help_footer =
    "Times are those of the run of median length (the lower one if --repeat is even), with the\n"
    "shortest and longest beside it. %gemm: of the rate of tile-size products on all workers,\n"
    "measured in the same run. %bound: lower bound / time, the bound being the larger of area "
    "bound\n"
    "and critical path with each task type's mean time of that run. idle: of all workers' time.\n"
    "JSON keys: kernel, matrix, n, tile, scheduler, cpus, repeat, seconds, seconds_min,\n"
    "seconds_max, gflops, gemm_gflops, bound_s, idle (0 to 1), tasks, steals, residual; for\n"
    "cholesky also factor_residual and backward_error, the larger of which is residual.\n"
    "Exit status: 0; 1 if a residual exceeds max(1e-13, n * 2.2e-16) or something unforeseen\n"
    "failed; 2 if the input is at fault: options, environment, file, a matrix that is not "
    "symmetric\n"
    "positive definite. One line on stderr says what.";

/// The options, or nothing if help was asked for and given.
inline std::optional<Options> parse(int argc, char** argv, Program const& program) {
  Options options;
  CLI::App app(program.description);
  app.footer(help_footer);
  auto* const n = add_number(app, "--n", 0, 1'000'000, options.n, "size of a generated problem");
  if (program.takes_matrix) {
    app.add_option("--matrix", options.matrix, "Matrix Market or Harwell-Boeing file")
        ->type_name("FILE")
        ->excludes(n);
  }
  add_number(app, "--tile", 1, 1'000'000, options.tile, "rows and columns of a tile");
  app.add_option("--scheduler", options.scheduler, "ws, eager, random, priority or all")
      ->type_name("NAME")
      ->default_str(options.scheduler);
  add_number(app, "--cpus", 1, 4096, options.cpus, "workers");
  add_number(app, "--repeat", 1, 1'000'000, options.repeat, "timed runs per scheduler");
  add_number(app, "--seed", 0, UINT64_MAX, options.seed, "of generated data and of schedulers");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const& help) {
    app.exit(help);
    return std::nullopt;
  }
  if (for_each_scheduler(options.scheduler, [](auto) {}) == 0) {
    bad_input("--scheduler",
              "'" + options.scheduler + "' is none of ws, eager, random, priority, all");
  }
  if (program.takes_matrix && app.count("--matrix") != 0 && options.matrix.empty()) {
    bad_input("--matrix", "is empty");
  }
  return options;
}

/// Throws unless this machine can hold `count` matrices of n x n doubles.
inline void check_memory(std::string const& culprit, std::size_t n, int count) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  auto const size = static_cast<double>(n) * static_cast<double>(n) * sizeof(double) / gib;
  auto const memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<double>(::sysconf(_SC_PAGESIZE)) / gib;
  if (size * count > memory) {
    bad_input(culprit,
              "n = " + std::to_string(n) + " needs " + std::to_string(count) + " matrices of " +
                  std::to_string(static_cast<long long>(size + 1)) + " GiB, more than this " +
                  "machine's memory");
  }
}

/// n x n numbers from -1 to 1, the same for a seed everywhere.
inline MatrixXd random_matrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return MatrixXd::NullaryExpr(
      rows, cols, [&] { return static_cast<double>(random() >> 11U) * 0x1p-52 - 1.0; });
}

/// The block of rows x cols elements that begins at (i, j).
template <class Matrix>
auto block(Matrix& m, Eigen::Index i, Eigen::Index j, Eigen::Index rows, Eigen::Index cols) {
  auto const size = [](Eigen::Index value) { return static_cast<std::size_t>(value); };
  return hs::TileView(&m(i, j), size(rows), size(cols), size(m.outerStride()));
}

// ---- measuring ----

[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Measured {
  double seconds = 0; // of the median run, as are stats and bound
  double shortest = 0;
  double longest = 0;
  hs::Stats stats;
  hs::Duration bound; // the larger of area bound and critical path, from that run's mean times
};

/// Runs the graph `repeat` times, each after `restore()`, which is not timed.
template <class Rt, class Restore>
Measured measure(Rt& rt, hs::CapturedGraph const& graph, std::size_t repeat, Restore&& restore) {
  std::vector<std::pair<double, hs::Stats>> runs;
  for (std::size_t r = 0; r < repeat; ++r) {
    restore();
    rt.reset_stats();
    auto const begin = now();
    rt.run(graph);
    runs.emplace_back(now() - begin, hs::Stats{});
    runs.back().second = rt.stats();
  }
  std::sort(
      runs.begin(), runs.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  auto const& [seconds, stats] = runs[(repeat - 1) / 2];
  auto const durations = hs::mean_durations(graph.tasks(), stats.types);
  auto const workers = static_cast<int>(rt.workers().size());
  return {seconds,
          runs.front().first,
          runs.back().first,
          stats,
          hs::makespan_bound(graph.tasks(), durations, workers)};
}

/// Flop/s of products of tile x tile matrices that stay in the caches, all workers busy: the best
/// of three tenths of a second.
[[nodiscard]] inline double gemm_rate(Options const& options, std::size_t tile) {
  tile = std::max<std::size_t>(tile, 1);
  hs::linalg::use_one_blas_thread();
  hs::Runtime<hs::policies::Eager<>> rt(options.config());
  auto const size = static_cast<Eigen::Index>(tile);
  auto const flops =
      2.0 * static_cast<double>(tile) * static_cast<double>(tile) * static_cast<double>(tile);
  std::vector<std::vector<MatrixXd>> operands(rt.workers().size(),
                                              {3, random_matrix(size, size, options.seed)});
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::atomic<int> products = 0;
    auto const begin = now();
    for (auto& abc : operands) {
      rt.spawn()([&abc, &products, begin, size] {
        auto const all = [size](MatrixXd& m) { return block(m, 0, 0, size, size); };
        do {
          hs::linalg::kernels::gemm_update<double>(all(abc[0]), all(abc[1]), all(abc[2]));
          ++products;
        } while (now() - begin < 0.1);
      });
    }
    rt.sync();
    best = std::max(best, products * flops / (now() - begin));
  }
  return best;
}

// ---- report ----

struct Row {
  std::string_view scheduler;
  std::string matrix; // what it is, in words
  std::size_t n = 0;
  std::size_t workers = 0;
  double flops = 0;
  double gemm_rate = 0; // flop/s
  Measured measured;
  double residual = 0; // the larger of the two if there are two
  std::optional<double> factor_residual = std::nullopt;
  std::optional<double> backward_error = std::nullopt;
};

[[nodiscard]] inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (char const c : text) {
    char escape[8];
    if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      quoted += escape;
    } else {
      quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
  }
  return quoted + '"';
}

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

  [[nodiscard]] bool wrong() const noexcept { return wrong_; }

private:
  static double idle(Row const& row) {
    auto const& stats = row.measured.stats;
    auto const all = stats.elapsed.seconds() * static_cast<double>(row.workers);
    return all > 0 ? stats.idle.seconds() / all : 0;
  }

  void print_json(Row const& row) const {
    auto const& m = row.measured;
    std::printf("{\"kernel\": %s, \"matrix\": %s, \"n\": %zu, \"tile\": %zu, \"scheduler\": %s, "
                "\"cpus\": %zu, \"repeat\": %zu, \"seconds\": %.9g, \"seconds_min\": %.9g, "
                "\"seconds_max\": %.9g, \"gflops\": %.6g, \"gemm_gflops\": %.6g, "
                "\"bound_s\": %.9g, \"idle\": %.6g, \"tasks\": %llu, \"steals\": %llu, ",
                json_string(program_.kernel).c_str(),
                json_string(row.matrix).c_str(),
                row.n,
                options_.tile,
                json_string(row.scheduler).c_str(),
                row.workers,
                options_.repeat,
                m.seconds,
                m.shortest,
                m.longest,
                row.flops / m.seconds * 1e-9,
                row.gemm_rate * 1e-9,
                m.bound.seconds(),
                idle(row),
                static_cast<unsigned long long>(m.stats.executed),
                static_cast<unsigned long long>(m.stats.steals));
    if (row.factor_residual && row.backward_error) {
      std::printf("\"factor_residual\": %.3g, \"backward_error\": %.3g, ",
                  *row.factor_residual,
                  *row.backward_error);
    }
    std::printf("\"residual\": %.3g}\n", row.residual);
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
                  row.factor_residual ? "|A-LL'|/|A|  backward error" : "error");
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
      std::printf("%11.2e  %14.2e\n", *row.factor_residual, *row.backward_error);
    } else {
      std::printf("%.2e\n", row.residual);
    }
  }

  Program program_;
  Options options_;
  bool headed_ = false;
  bool wrong_ = false;
};

/// A program's main: parses, calls `body(options, report)`, turns failures into one line on stderr
/// and the exit status that --help tells of.
template <class Body>
int run_program(int argc, char** argv, Program const& program, Body&& body) {
  auto const fail = [](std::string line, int status) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "%s\n", line.c_str());
    return status;
  };
  auto const prefix = program.kernel + ": ";
  try {
    auto const options = parse(argc, argv, program);
    if (!options) {
      return 0;
    }
    Report report(program, *options);
    body(*options, report);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return fail(prefix + "cannot write to standard output", 1);
    }
    return report.wrong() ? fail(prefix + "wrong result: a residual is too large", 1) : 0;
  } catch (CLI::ParseError const& error) {
    return fail(prefix + error.what(), 2);
  } catch (hs::Error const& error) {
    auto const code = error.code();
    bool const input = code == hs::ErrorCode::bad_config || code == hs::ErrorCode::bad_input ||
                       code == hs::ErrorCode::numerical;
    return fail(error.what(), input ? 2 : 1);
  } catch (std::bad_alloc const&) {
    return fail(prefix + "out of memory", 1);
  } catch (std::exception const& error) {
    return fail(prefix + error.what(), 1);
  }
}

} // namespace example
