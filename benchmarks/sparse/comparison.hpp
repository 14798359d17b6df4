// SPDX-License-Identifier: MIT
#pragma once
// All measurements with one matrix, and how they are printed.

#include <hetsched/detail/core/text.hpp>

#include "solvers.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparse_solvers {

inline constexpr double accurate = 1e-12; // largest backward error of a solver that is compared
inline constexpr double wrong = 1e-6;     // above this it is no solution

struct Settings {
  std::optional<int> cpus; // only so many workers
  std::size_t repeat = 7;
  Clock clock = Clock::elapsed;
  std::size_t limit = 60; // seconds of a solver's first process
  bool json = false;
};

/// Processes that want a core, of the last minute.
[[nodiscard]] inline double load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : std::nan("");
}

/// A solver with so many workers, and what its processes said.
struct Entry {
  Solver solver;
  int workers;
  std::string ordering = {};
  int rounds = 1;
  std::vector<Answer> answers = {};
  std::string failure = {};

  [[nodiscard]] std::string_view name() const { return solver.kind.name; }

  [[nodiscard]] bool is_ours() const { return name().starts_with("hetsched"); }

  [[nodiscard]] std::vector<double> values(std::size_t phase) const {
    std::vector<double> result;
    for (auto const& answer : answers) {
      result.push_back(answer.seconds[phase]);
    }
    return result;
  }

  [[nodiscard]] double seconds(std::size_t phase) const { return overhead::median(values(phase)); }

  [[nodiscard]] double memory() const {
    std::vector<double> result;
    for (auto const& answer : answers) {
      result.push_back(answer.memory);
    }
    return overhead::median(result);
  }

  [[nodiscard]] double error() const {
    double largest = 0;
    for (auto const& answer : answers) {
      largest = std::max(largest, answer.error);
    }
    return largest;
  }
};

/// All measurements with one matrix.
class Comparison {
public:
  Comparison(Settings const& settings, Which which)
      : settings_(settings), which_(std::move(which)) {}

  void measure(std::vector<Solver> const& solvers) {
    for (auto const& solver : solvers) {
      for (int const workers : workers_of(solver)) {
        add(solver, workers);
      }
    }
    for (std::size_t r = 0; r < settings_.repeat; ++r) {
      for (std::size_t k = 0; k < entries_.size(); ++k) {
        auto& entry = entries_[(k + r) % entries_.size()];
        if (!entry.failure.empty()) {
          continue;
        }
        auto const answer = ask(entry.solver,
                                which_,
                                entry.workers,
                                entry.rounds,
                                entry.ordering,
                                settings_.clock,
                                4 * settings_.limit);
        if (answer && !answer->cannot) {
          entry.answers.push_back(*answer);
        } else {
          entry.failure = "failed";
        }
      }
    }
  }

  void print() const {
    print_matrix();
    for (auto const& entry : entries_) {
      if (!settings_.json) {
        print_row(entry);
      } else {
        print_json(entry);
      }
    }
    if (!settings_.json) {
      for (auto const& entry : entries_) {
        if (entry.is_ours() && !entry.answers.empty()) {
          print_ratios(entry);
        }
      }
    }
    std::fflush(stdout);
  }

  /// What is wrong, or "".
  [[nodiscard]] std::string verdict() const {
    for (auto const& entry : entries_) {
      auto const where = std::string(entry.name()) + " on " + which_.name + ' ' + which_.size;
      if (entry.is_ours() && !entry.failure.empty()) {
        return where + ": " + entry.failure;
      }
      if (!(entry.error() <= (entry.is_ours() ? accurate : wrong))) {
        return where + ": " + hetsched::detail::text("backward error %.2g", entry.error());
      }
    }
    return "";
  }

private:
  [[nodiscard]] std::vector<int> workers_of(Solver const& solver) const {
    std::vector<int> result;
    auto const usual = settings_.clock == Clock::elapsed ? std::vector{1, 2} : std::vector{1};
    for (int const workers : settings_.cpus ? std::vector{*settings_.cpus} : usual) {
      bool const able = solver.kind.parallel != Parallel::none || workers == 1;
      if (able && workers >= solver.kind.fewest) {
        result.push_back(workers);
      }
    }
    return !solver.kind.definite_only || which_.definite ? result : std::vector<int>();
  }

  /// Tries every ordering and keeps the fastest. A solver that refuses the matrix is left out.
  void add(Solver const& solver, int workers) {
    Entry entry{solver, workers};
    std::optional<Answer> best;
    bool cannot = false;
    bool late = false;
    for (auto const& ordering : solver.orderings) {
      auto const begin = std::chrono::steady_clock::now();
      auto const answer =
          ask(solver, which_, workers, 1, ordering, settings_.clock, settings_.limit);
      late =
          late || std::chrono::steady_clock::now() - begin >= std::chrono::seconds(settings_.limit);
      cannot = cannot || (answer && answer->cannot);
      if (!answer || answer->cannot) {
        continue;
      }
      if (!best || answer->seconds[total] < best->seconds[total]) {
        best = answer;
        entry.ordering = ordering;
      }
    }
    if (!best) {
      if (!cannot) {
        entry.failure = late ? "more than " + std::to_string(settings_.limit) + " s" : "failed";
        entries_.push_back(entry);
      }
      return;
    }
    constexpr double enough = 0.1; // seconds of a process with a small matrix
    entry.rounds = static_cast<int>(std::clamp(enough / best->seconds[total], 1.0, 20.0));
    entries_.push_back(entry);
  }

  /// The least seconds of others, of those that are accurate and have no more workers.
  [[nodiscard]] Entry const* best_peer(Entry const& than, std::size_t phase) const {
    Entry const* best = nullptr;
    for (auto const& entry : entries_) {
      bool const eligible = !entry.is_ours() && entry.failure.empty() &&
                            entry.error() <= accurate && entry.workers <= than.workers;
      if (eligible && (best == nullptr || entry.seconds(phase) < best->seconds(phase))) {
        best = &entry;
      }
    }
    return best;
  }

  void print_matrix() const {
    Answer known;
    for (auto const& entry : entries_) {
      if (!entry.answers.empty()) {
        known = entry.answers.front();
        break;
      }
    }
    if (settings_.json) {
      return;
    }
    std::printf("\n%s %s: %.0f rows, %.0f entries, %.3g GFlop by hetsched's analysis; load %.2f\n"
                "%-17s %2s %-9s %9s %9s %9s %9s %9s %9s %8s %8s\n",
                which_.name.c_str(),
                which_.size.c_str(),
                known.rows,
                known.entries,
                known.flops / 1e9,
                load_average(),
                "ms",
                "",
                "ordering",
                "analyse",
                "factor",
                "solve",
                "total",
                "[95 %",
                "refactor",
                "MB",
                "error");
  }

  static void print_row(Entry const& entry) {
    std::printf("%-17s %2d %-9s ",
                std::string(entry.name()).c_str(),
                entry.workers,
                entry.ordering.c_str());
    if (!entry.failure.empty()) {
      std::printf("%s\n", entry.failure.c_str());
      return;
    }
    auto const whole = overhead::interval(entry.values(total));
    std::printf("%9.4g %9.4g %9.4g %9.4g [%.4g, %.4g] %9.4g %8.1f %8.1e%s\n",
                entry.seconds(0) * 1e3,
                entry.seconds(1) * 1e3,
                entry.seconds(2) * 1e3,
                whole.median * 1e3,
                whole.low * 1e3,
                whole.high * 1e3,
                entry.seconds(4) * 1e3,
                entry.memory() / 1e6,
                entry.error(),
                entry.error() <= accurate ? "" : "  NOT ACCURATE");
  }

  void print_ratios(Entry const& entry) const {
    if (best_peer(entry, total) == nullptr) {
      return;
    }
    std::printf(
        "%s %d takes, of the best peer's time:", std::string(entry.name()).c_str(), entry.workers);
    for (std::size_t p = 0; p < phases.size(); ++p) {
      auto const* const best = best_peer(entry, p);
      std::printf(" %s %.2f (%s %d)%s",
                  std::string(phases[p]).c_str(),
                  entry.seconds(p) / best->seconds(p),
                  std::string(best->name()).c_str(),
                  best->workers,
                  p + 1 < phases.size() ? "," : "\n");
    }
  }

  void print_json(Entry const& entry) const {
    example::JsonLine line;
    line.add("matrix", which_.name)
        .add("size", which_.size)
        .add("solver", entry.name())
        .add("version", entry.solver.version)
        .add("cpus", entry.workers)
        .add("load", load_average());
    if (!entry.failure.empty()) {
      line.add("failure", entry.failure).print();
      return;
    }
    auto const& first = entry.answers.front();
    line.add("rows", first.rows)
        .add("entries", first.entries)
        .add("ordering", entry.ordering)
        .add("repetitions", entry.answers.size())
        .add("rounds", entry.rounds);
    for (std::size_t p = 0; p < phases.size(); ++p) {
      auto const range = overhead::interval(entry.values(p));
      std::string const phase(phases[p]);
      line.add(phase + "_s", range.median)
          .add(phase + "_low_s", range.low)
          .add(phase + "_high_s", range.high);
      if (auto const* const best = best_peer(entry, p); best != nullptr) {
        line.add(phase + "_ratio", range.median / best->seconds(p))
            .add(phase + "_best", best->name());
      }
    }
    line.add("memory_bytes", entry.memory())
        .add("backward_error", entry.error())
        .add("accurate", entry.error() <= accurate ? 1 : 0);
    if (first.flops > 0) {
      line.add("flops", first.flops);
    }
    line.print();
  }

  Settings settings_;
  Which which_;
  std::vector<Entry> entries_;
};

} // namespace sparse_solvers
