// SPDX-License-Identifier: MIT
// Whether virtual time puts strategies for a cluster in the order in which real runs have them: a
// tile Cholesky graph by several distributions and schedulers, as a SimulatedCluster and on ranks
// of this process. There, bodies sleep for the times that the simulator is given, so that all
// workers fit on a few cores, and messages take the time that the network says.

#include <hetsched/cluster/distribution.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/priority.hpp>

#include "../common/run_program.hpp"
#include "sleeping_cholesky.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cluster_order {

namespace {

// ---- strategies ----

struct Distribution {
  std::string name;
  std::function<std::int32_t(std::size_t, std::size_t)> rank_of;
};

Distribution block_cyclic(int rows, int columns) {
  return {"2dbc:" + std::to_string(rows) + "x" + std::to_string(columns),
          [grid = hs::BlockCyclic{rows, columns}](std::size_t i, std::size_t j) {
            return grid.rank_of(i, j);
          }};
}

/// Grids of all shapes, as many whole rows for each rank, and SBC if it is for so many ranks.
std::vector<Distribution> distributions(int ranks, std::size_t tiles) {
  std::vector<Distribution> found;
  for (int rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows == 0) {
      found.push_back(block_cyclic(rows, ranks / rows));
    }
  }
  found.push_back({"rows", [=](std::size_t i, std::size_t) {
                     return static_cast<std::int32_t>(i * static_cast<std::size_t>(ranks) / tiles);
                   }});
  for (int size = 3; size <= 2 * ranks; ++size) {
    for (bool const extended : {true, false}) {
      if (!extended && size % 2 != 0) {
        continue;
      }
      hs::SymmetricBlockCyclic const pattern(size, extended);
      if (pattern.ranks() == ranks) {
        found.push_back(
            {(extended ? "sbc:" : "sbc-basic:") + std::to_string(size),
             [pattern](std::size_t i, std::size_t j) { return pattern.rank_of(i, j); }});
      }
    }
  }
  return found;
}

struct Scheduler {
  char const* name;
  Outcome (*in_virtual_time)(Run const&, double noise, std::uint64_t seed);
  Outcome (*for_real)(Run const&);
};

template <class S>
constexpr Scheduler scheduler(char const* name) {
  return {name, &run_virtual<S>, &run_real<S>};
}

constexpr Scheduler schedulers[] = {scheduler<hs::policies::Priority<>>("priority"),
                                    scheduler<hs::policies::WorkStealing<>>("ws"),
                                    scheduler<hs::policies::Eager<>>("eager")};

/// Makespans of several runs, in seconds, ascending.
struct Makespans {
  std::vector<double> seconds = {};

  void add(hs::Duration makespan) {
    auto const place = std::upper_bound(seconds.begin(), seconds.end(), makespan.seconds());
    seconds.insert(place, makespan.seconds());
  }

  [[nodiscard]] double least() const { return seconds.front(); }

  [[nodiscard]] double median() const { return seconds[(seconds.size() - 1) / 2]; }

  [[nodiscard]] double most() const { return seconds.back(); }
};

/// A distribution and a scheduler.
struct Row {
  std::string distribution;
  Scheduler const* scheduler;
  Run run;
  Outcome predicted = {};
  Makespans varied = {}; // in virtual time, where tasks take a little more or less
  Makespans real = {};
  hs::Traffic sent = {};    // of all ranks, in virtual time
  bool same_traffic = true; // in all real runs, between any two ranks

  [[nodiscard]] std::string name() const { return distribution + " " + scheduler->name; }
};

constexpr double variation = 0.02; // of the times of tasks
constexpr int varied_runs = 21;

std::vector<Row> rows_of(hs::TaskGraph const& graph, std::size_t tiles, int ranks, int workers) {
  std::vector<Row> rows;
  for (auto const& distribution : distributions(ranks, tiles)) {
    std::vector<std::int32_t> homes;
    for (std::size_t i = 0; i < tiles; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        homes.push_back(distribution.rank_of(i, j));
      }
    }
    for (auto const& scheduler : schedulers) {
      Run const run{graph, homes, ranks, workers};
      auto& row = rows.emplace_back(distribution.name, &scheduler, run);
      row.predicted = scheduler.in_virtual_time(run, 0, 1);
      for (std::uint64_t k = 1; k <= varied_runs; ++k) {
        row.varied.add(scheduler.in_virtual_time(run, variation, 1000 * k).makespan);
      }
      for (auto const& sent : row.predicted.sent) {
        row.sent.messages += sent.messages;
        row.sent.bytes += sent.bytes;
      }
    }
  }
  return rows;
}

// ---- agreement ----

/// How many pairs of rows there are of a kind, and how many have the same order in real runs.
struct Agreement {
  int pairs = 0;
  int agree = 0;
};

/// Whether the ranges of makespans in virtual time have a gap between them. Else which one is
/// faster depends on a few per cent of the tasks' times.
bool are_distinct(Row const& a, Row const& b) {
  return a.varied.most() < b.varied.least() || b.varied.most() < a.varied.least();
}

/// By what part the slower one takes longer in virtual time.
double apart(Row const& a, Row const& b) {
  auto const [less, more] = std::minmax(a.predicted.makespan, b.predicted.makespan);
  return more.seconds() / less.seconds() - 1;
}

/// Calls f(faster, slower), as in virtual time, for each pair that `counts`, if they are not equal.
template <class Counts, class F>
void for_each_pair(std::vector<Row> const& rows, Counts const& counts, F const& f) {
  for (auto a = rows.begin(); a != rows.end(); ++a) {
    for (auto b = a + 1; b != rows.end(); ++b) {
      if (apart(*a, *b) > 0 && counts(*a, *b)) {
        a->predicted.makespan < b->predicted.makespan ? f(*a, *b) : f(*b, *a);
      }
    }
  }
}

template <class Counts>
Agreement agreement(std::vector<Row> const& rows, Counts const& counts) {
  Agreement found;
  for_each_pair(rows, counts, [&](Row const& faster, Row const& slower) {
    ++found.pairs;
    found.agree += faster.real.median() < slower.real.median() ? 1 : 0;
  });
  return found;
}

/// Pairs in the same order less pairs in the other, by all that are not equal in virtual time.
double kendall_tau(std::vector<Row> const& rows) {
  auto const all = agreement(rows, [](auto const&...) { return true; });
  return all.pairs != 0 ? (2.0 * all.agree - all.pairs) / all.pairs : 1;
}

// ---- the program ----

struct Options {
  std::size_t tiles = 12;
  std::vector<int> ranks = {4, 6};
  int workers = 2;
  int repeat = 3;
  bool json = false;
};

void print_json(Row const& row, Options const& options) {
  std::printf("{\"tiles\": %zu, \"ranks\": %d, \"workers\": %d, \"distribution\": \"%s\", "
              "\"scheduler\": \"%s\", \"tasks\": %zu, \"virtual_s\": %.6f, "
              "\"varied_min_s\": %.6f, \"varied_max_s\": %.6f, \"real_s\": %.6f, "
              "\"real_min_s\": %.6f, \"real_max_s\": %.6f, \"messages\": %llu, \"bytes\": %llu, "
              "\"same_traffic\": %s}\n",
              options.tiles,
              row.run.ranks,
              row.run.workers,
              row.distribution.c_str(),
              row.scheduler->name,
              row.run.graph.size(),
              row.predicted.makespan.seconds(),
              row.varied.least(),
              row.varied.most(),
              row.real.median(),
              row.real.least(),
              row.real.most(),
              static_cast<unsigned long long>(row.sent.messages),
              static_cast<unsigned long long>(row.sent.bytes),
              row.same_traffic ? "true" : "false");
}

void print_row(Row const& row) {
  auto const predicted = row.predicted.makespan.seconds();
  std::printf("%5d  %-12s %-9s %10.1f %6.1f-%5.1f %8.1f %6.1f-%5.1f %6.3f %9llu %6.2f  %s\n",
              row.run.ranks,
              row.distribution.c_str(),
              row.scheduler->name,
              predicted * 1e3,
              row.varied.least() * 1e3,
              row.varied.most() * 1e3,
              row.real.median() * 1e3,
              row.real.least() * 1e3,
              row.real.most() * 1e3,
              row.real.median() / predicted,
              static_cast<unsigned long long>(row.sent.messages),
              static_cast<double>(row.sent.bytes) / 1e6,
              row.same_traffic ? "the same" : "DIFFERS");
}

void print_agreement(std::vector<Row> const& rows, int ranks) {
  auto const print = [ranks](Agreement const& found, char const* which) {
    std::printf("%d ranks: %d of %d pairs %s come in the same order\n",
                ranks,
                found.agree,
                found.pairs,
                which);
  };
  auto const more_than = [](double least) {
    return [least](Row const& a, Row const& b) { return apart(a, b) > least; };
  };
  print(agreement(rows, more_than(0.05)), "more than 5 % apart in virtual time");
  print(agreement(rows, more_than(0.1)), "more than 10 % apart in virtual time");
  print(agreement(
            rows,
            [](Row const& a, Row const& b) { return apart(a, b) > 0.05 && are_distinct(a, b); }),
        "more than 5 % apart whose ranges do not overlap");
  std::printf("%d ranks: Kendall's tau %.3f\n", ranks, kendall_tau(rows));
  for_each_pair(rows, more_than(0.05), [](Row const& faster, Row const& slower) {
    if (faster.real.median() >= slower.real.median()) {
      std::printf("  not so: %s before %s, %.1f and %.1f ms in virtual time%s, %.1f and %.1f ms\n",
                  faster.name().c_str(),
                  slower.name().c_str(),
                  faster.predicted.makespan.seconds() * 1e3,
                  slower.predicted.makespan.seconds() * 1e3,
                  are_distinct(faster, slower) ? "" : " with ranges that overlap",
                  faster.real.median() * 1e3,
                  slower.real.median() * 1e3);
    }
  });
}

void print_head(std::size_t tasks, Options const& options) {
  std::printf(
      "%zu tasks, %d workers on each rank. Virtual: with the times as they are, and the range "
      "of %d runs\nwhose tasks take up to %.0f %% more or less. Real: median and range of %d "
      "runs whose bodies sleep.\n"
      "ranks  distribution scheduler virtual ms     (range)  real ms     (range)  ratio  "
      "messages     MB  traffic\n",
      tasks,
      options.workers,
      varied_runs,
      100 * variation,
      options.repeat);
}

void compare(Options const& options) {
  auto const graph = cholesky(options.tiles);
  if (!options.json) {
    print_head(graph.size(), options);
  }
  bool same = true;
  for (auto const ranks : options.ranks) {
    auto rows = rows_of(graph, options.tiles, ranks, options.workers);
    for (int k = 0; k < options.repeat; ++k) { // the machine's load is spread over the rows
      for (auto& row : rows) {
        auto const real = row.scheduler->for_real(row.run);
        row.real.add(real.makespan);
        row.same_traffic = row.same_traffic && same_traffic(real.sent, row.predicted.sent);
      }
    }
    for (auto const& row : rows) {
      options.json ? print_json(row, options) : print_row(row);
      same = same && row.same_traffic;
    }
    if (!options.json) {
      print_agreement(rows, ranks);
    }
    std::fflush(stdout);
  }
  if (!same) {
    throw std::runtime_error("messages or bytes of a real run are not those of virtual time");
  }
}

} // namespace

} // namespace cluster_order

int main(int argc, char** argv) {
  cluster_order::Options options;
  CLI::App app(
      "Compares the order of strategies on a cluster in virtual time with that of real runs "
      "on ranks of this process, whose tasks sleep.");
  app.add_option("--tiles", options.tiles, "tiles in a row of the matrix (default 12)")
      ->check(CLI::Range(1, 64));
  app.add_option("--ranks", options.ranks, "numbers of ranks (default 4 6)")
      ->check(CLI::Range(1, 16));
  app.add_option("--workers", options.workers, "workers of each rank (default 2)")
      ->check(CLI::Range(1, 16));
  app.add_option("--repeat", options.repeat, "real runs of each strategy (default 3)")
      ->check(CLI::Range(1, 100));
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program(
      "cluster_order", app, argc, argv, [&] { cluster_order::compare(options); });
}
