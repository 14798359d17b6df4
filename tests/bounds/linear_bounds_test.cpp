// SPDX-License-Identifier: MIT
// The bounds that need Clp, against exhaustive search and against other ways to write the same
// linear programs.

#include <hetsched/bounds/area_shares.hpp>
#include <hetsched/bounds/cholesky_bound.hpp>
#include <hetsched/bounds/linear_bounds.hpp>

#include "../support/best_schedule.hpp"
#include "makespan_of.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using schedules::BestSchedule;
using schedules::graph_of;
using schedules::random_graph;

namespace {

/// Of each task on each class, from 1 to `longest`. The first class, which has workers, runs all;
/// some tasks are missing on another.
hs::ClassTimes random_times(std::vector<int> workers,
                            std::size_t tasks,
                            std::uint64_t longest,
                            std::mt19937_64& random) {
  hs::ClassTimes times{std::move(workers), {}};
  for (std::size_t v = 0; v < tasks; ++v) {
    auto const missing = 1 + random() % 6;
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      Duration const time{1 + static_cast<std::int64_t>(random() % longest)};
      times.times.push_back(c == missing ? hs::ClassTimes::never : time);
    }
  }
  return times;
}

using Terms = std::vector<std::pair<int, double>>; // columns and their factors
using Program = std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)>;

Program empty_program() {
  Program program(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(program.get(), 0);
  return program;
}

/// From 0; the first is to be least.
void add_columns(Clp_Simplex* program, std::vector<double> const& upper) {
  std::vector<double> const lower(upper.size(), 0);
  std::vector<double> cost(upper.size(), 0);
  cost[0] = 1;
  std::vector<CoinBigIndex> const none(upper.size() + 1, 0);
  Clp_addColumns(program,
                 static_cast<int>(upper.size()),
                 lower.data(),
                 upper.data(),
                 cost.data(),
                 none.data(),
                 nullptr,
                 nullptr);
}

void add_row(Clp_Simplex* program, Terms const& terms, double low, double high) {
  std::vector<int> where;
  std::vector<double> what;
  for (auto const& [column, factor] : terms) {
    where.push_back(column);
    what.push_back(factor);
  }
  CoinBigIndex const ends[] = {0, static_cast<CoinBigIndex>(terms.size())};
  Clp_addRows(program, 1, &low, &high, ends, where.data(), what.data());
}

double optimum(Clp_Simplex* program) {
  Clp_primal(program, 0);
  REQUIRE(Clp_status(program) == 0);
  return Clp_objectiveValue(program);
}

/// Each path from a task without predecessors to one without successors.
template <class Path>
void each_path(hs::TaskGraph const& graph, std::vector<std::size_t>& path, Path const& found) {
  auto const next = graph.successors(path.back());
  for (auto const v : next) {
    path.push_back(v);
    each_path(graph, path, found);
    path.pop_back();
  }
  if (next.empty()) {
    found(path);
  }
}

/// The iterative bound as a program with a row for every path of a small graph.
double by_paths(hs::TaskGraph const& graph, hs::ClassTimes const& times) {
  auto const classes = times.workers.size();
  auto const program = empty_program();
  auto const fraction = [&](std::size_t v, std::size_t c) {
    return static_cast<int>(1 + v * classes + c);
  };
  std::vector<double> upper(1 + graph.size() * classes, HUGE_VAL);
  for (std::size_t k = 0; k < times.times.size(); ++k) {
    bool const runs = times.workers[k % classes] > 0 && times.times[k] != hs::ClassTimes::never;
    upper[1 + k] = runs ? 1 : 0;
  }
  add_columns(program.get(), upper);
  for (std::size_t c = 0; c < classes; ++c) {
    Terms terms{{0, -times.workers[c]}};
    for (std::size_t v = 0; v < graph.size(); ++v) {
      terms.emplace_back(fraction(v, c), static_cast<double>(times.on(v, c).ns));
    }
    add_row(program.get(), terms, -HUGE_VAL, 0);
  }
  for (std::size_t v = 0; v < graph.size(); ++v) {
    Terms whole;
    for (std::size_t c = 0; c < classes; ++c) {
      whole.emplace_back(fraction(v, c), 1);
    }
    add_row(program.get(), whole, 1, 1);
    if (graph.predecessor_count(v) == 0) {
      std::vector<std::size_t> path{v};
      each_path(graph, path, [&](std::vector<std::size_t> const& tasks) {
        Terms terms{{0, -1}};
        for (auto const w : tasks) {
          for (std::size_t c = 0; c < classes; ++c) {
            terms.emplace_back(fraction(w, c), static_cast<double>(times.on(w, c).ns));
          }
        }
        add_row(program.get(), terms, -HUGE_VAL, 0);
      });
    }
  }
  return optimum(program.get());
}

/// The iterative bound as a program with a variable for each task and class, and one for each start
/// (Kumar 2017, sec. 3.4).
double by_starts(hs::TaskGraph const& graph, hs::ClassTimes const& times) {
  auto const tasks = graph.size();
  auto const classes = times.workers.size();
  auto const model = empty_program();
  auto const columns = 1 + tasks + tasks * classes; // makespan, starts, fractions
  auto const start = [&](std::size_t v) { return static_cast<int>(1 + v); };
  auto const fraction = [&](std::size_t v, std::size_t c) {
    return static_cast<int>(1 + tasks + v * classes + c);
  };
  auto const runs = [&](std::size_t v, std::size_t c) {
    return times.workers[c] > 0 && times.on(v, c) != hs::ClassTimes::never;
  };
  std::vector<double> upper(columns, HUGE_VAL);
  for (std::size_t v = 0; v < tasks; ++v) {
    for (std::size_t c = 0; c < classes; ++c) {
      upper[static_cast<std::size_t>(fraction(v, c))] = runs(v, c) ? 1 : 0;
    }
  }
  add_columns(model.get(), upper);
  auto const row = [&](Terms const& terms, double low, double high) {
    add_row(model.get(), terms, low, high);
  };
  for (std::size_t c = 0; c < classes; ++c) {
    if (times.workers[c] > 0) {
      Terms terms{{0, -times.workers[c]}};
      for (std::size_t v = 0; v < tasks; ++v) {
        if (runs(v, c)) {
          terms.emplace_back(fraction(v, c), static_cast<double>(times.on(v, c).ns));
        }
      }
      row(terms, -HUGE_VAL, 0);
    }
  }
  for (std::size_t v = 0; v < tasks; ++v) {
    Terms whole;
    Terms end{{start(v), 1}};
    for (std::size_t c = 0; c < classes; ++c) {
      if (runs(v, c)) {
        whole.emplace_back(fraction(v, c), 1);
        end.emplace_back(fraction(v, c), static_cast<double>(times.on(v, c).ns));
      }
    }
    row(whole, 1, 1);
    auto in_time = end;
    in_time.emplace_back(0, -1);
    row(in_time, -HUGE_VAL, 0);
    for (auto const next : graph.successors(v)) {
      auto before = end;
      before.emplace_back(start(next), -1);
      row(before, -HUGE_VAL, 0);
    }
  }
  return optimum(model.get());
}

/// Of random graphs with up to `most` tasks, the iterative bound is what `optimum(graph, times)`
/// finds, in nanoseconds.
template <class Optimum>
void check_optimum(int graphs, std::size_t most, unsigned seed, Optimum const& optimum) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int>> const machines{{4, 1}, {2, 2}, {5, 2, 1}, {1, 1, 1, 1}, {3}};
  for (int repeat = 0; repeat < graphs; ++repeat) {
    CAPTURE(repeat);
    auto const tasks = 1 + random() % most;
    auto const graph = random_graph(tasks, random);
    auto const times =
        random_times(machines[random() % machines.size()], tasks, 1'000'000'000, random);
    auto const expected = optimum(graph, times);
    auto const found = static_cast<double>(hs::iterative_bound(graph, times).ns);
    REQUIRE(std::abs(found - expected) <= 1 + 1e-7 * expected);
  }
}

} // namespace

TEST_SUITE_BEGIN("bounds");

TEST_CASE("linear bounds: never above the best schedule of random graphs on classes") {
  std::mt19937_64 random(11);
  std::vector<std::vector<int>> const machines{{1, 1}, {2, 1}, {1, 2}, {1, 1, 1}, {3, 0}, {2}};
  int above = 0;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    CAPTURE(repeat);
    auto const tasks = 1 + random() % 7;
    auto const graph = random_graph(tasks, random);
    auto const times = random_times(machines[random() % machines.size()], tasks, 30, random);
    auto const best = BestSchedule(graph, times).makespan();
    auto const path = hs::critical_path(graph, hs::shortest_times(times)).ns;
    auto const area = hs::linear_area_bound(times).ns;
    auto const iterative = hs::iterative_bound(graph, times).ns;
    REQUIRE(std::max(path, area) <= iterative);
    REQUIRE(iterative <= best);
    above += iterative > std::max(path, area) ? 1 : 0;
    if (auto const closed = hs::area_bound(times)) {
      REQUIRE(closed->ns == area);
    }
  }
  CHECK(above > 50);
}

TEST_CASE("linear bounds: the optimum, as the program with starts finds it") {
  check_optimum(200, 40, 12, by_starts);
}

TEST_CASE("linear bounds: the optimum, as the program with all paths finds it") {
  check_optimum(300, 12, 15, by_paths);
}

TEST_CASE("linear bounds: any weights prove a bound") {
  // Whatever a solver answers: none, some or all of the weights are wrong.
  std::mt19937_64 random(16);
  std::vector<std::vector<int>> const machines{{2, 1}, {1, 2}, {1, 1, 1}};
  int positive = 0;
  for (int repeat = 0; repeat < 500; ++repeat) {
    CAPTURE(repeat);
    auto const tasks = 1 + random() % 6;
    auto const graph = random_graph(tasks, random);
    auto const times = random_times(machines[random() % machines.size()], tasks, 30, random);
    hs::detail::BoundModel const model(graph, times);
    using Kind = hs::detail::BoundRow::Kind;
    std::vector<hs::detail::BoundRow> rows;
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      rows.push_back({Kind::area, c});
    }
    for (std::size_t a = 0; a < model.arcs.size(); ++a) {
      rows.push_back({Kind::arc, a});
    }
    for (std::size_t v = 0; v < tasks; ++v) {
      rows.push_back({Kind::end, v});
    }
    std::vector<double> dual(rows.size());
    for (auto& weight : dual) {
      auto const kind = random() % 20;
      weight = kind == 0   ? -1.0
               : kind == 1 ? std::nan("")
               : kind == 2 ? 1e30
               : kind < 8  ? 0
                           : static_cast<double>(random() % 1000) / 1000;
    }
    auto const bound = hs::detail::BoundProof(model, {}, rows, dual.data()).bound().ns;
    REQUIRE(bound <= BestSchedule(graph, times).makespan());
    positive += bound > 0 ? 1 : 0;
  }
  CHECK(positive > 200);
}

TEST_CASE("linear bounds: three classes, two of which are alike, are two") {
  std::mt19937_64 random(13);
  for (int repeat = 0; repeat < 300; ++repeat) {
    hs::ClassTimes three{{1 + static_cast<int>(random() % 4), 1, 2}, {}};
    hs::ClassTimes two{{three.workers[0], 3}, {}};
    for (auto tasks = 1 + random() % 50; tasks-- > 0;) {
      Duration const slow{1 + static_cast<std::int64_t>(random() % 1000)};
      Duration const fast{1 + static_cast<std::int64_t>(random() % 100)};
      three.times.insert(three.times.end(), {slow, fast, fast});
      two.times.insert(two.times.end(), {slow, fast});
    }
    REQUIRE(hs::linear_area_bound(three) == hs::area_bound(two).value());
  }
}

TEST_CASE("linear bounds: the area bound's parts by classes without a solver") {
  std::mt19937_64 random(14);
  std::vector<std::vector<int>> const machines{{4, 1, 2}, {1, 1, 1}, {20, 0, 4, 2}, {7}};
  for (int repeat = 0; repeat < 300; ++repeat) {
    auto const times =
        random_times(machines[random() % machines.size()], 1 + random() % 12, 1'000'000, random);
    auto const shares = hs::area_shares(times);
    auto const longest = bounds_test::makespan_of(times, shares);
    auto const bound = static_cast<double>(hs::linear_area_bound(times).ns);
    REQUIRE(longest <= bound * (1 + 1e-7)); // the shares are a solution, so not below it either
  }
}

TEST_CASE("linear bounds: Cholesky's mixed bound lies between area and iterative bound") {
  // The graph of tile Cholesky, by its definition.
  auto const cholesky = [](std::size_t n, std::vector<std::size_t>& types) {
    std::vector<hs::TaskGraph::Node> nodes;
    auto const tile = [&](std::size_t i, std::size_t j) {
      return static_cast<std::uint32_t>(i * n + j);
    };
    using enum hs::AccessMode;
    auto const add = [&](std::size_t type, std::vector<hs::GraphAccess> accesses) {
      nodes.emplace_back().accesses = std::move(accesses);
      nodes.back().type = "task";
      types.push_back(type);
    };
    for (std::size_t k = 0; k < n; ++k) {
      add(0, {{tile(k, k), read_write, nullptr}});
      for (std::size_t i = k + 1; i < n; ++i) {
        add(1, {{tile(k, k), read, nullptr}, {tile(i, k), read_write, nullptr}});
      }
      for (std::size_t i = k + 1; i < n; ++i) {
        add(2, {{tile(i, k), read, nullptr}, {tile(i, i), read_write, nullptr}});
        for (std::size_t j = k + 1; j < i; ++j) {
          add(3,
              {{tile(i, k), read, nullptr},
               {tile(j, k), read, nullptr},
               {tile(i, j), read_write, nullptr}});
        }
      }
    }
    return hs::TaskGraph(std::move(nodes), std::vector<std::size_t>(n * n, 8));
  };
  std::mt19937_64 random(14);
  int searched = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    CAPTURE(repeat);
    auto const n = 1 + random() % 7;
    bool const small = n <= 2;
    hs::ClassTimes kernels{{1 + static_cast<int>(random() % (small ? 2 : 6)), 1}, {}};
    for (int k = 0; k < 8; ++k) {
      kernels.times.push_back({1 + static_cast<std::int64_t>(random() % 1000)});
    }
    std::vector<std::size_t> types;
    auto const graph = cholesky(n, types);
    hs::ClassTimes times{kernels.workers, {}};
    for (auto const type : types) {
      times.times.insert(times.times.end(), {kernels.on(type, 0), kernels.on(type, 1)});
    }
    auto const mixed = hs::cholesky_mixed_bound(n, kernels).value();
    REQUIRE(hs::area_bound(times).value() <= mixed);
    REQUIRE(mixed <= hs::iterative_bound(graph, times));
    if (small) {
      REQUIRE(mixed.ns <= BestSchedule(graph, times).makespan());
      ++searched;
    }
  }
  CHECK(searched > 30);
}

TEST_CASE("linear bounds: by hand, and what they refuse") {
  // A chain of two on a core (10 each) and a GPU (4): one alone at a time, so 8. Beside it a task
  // that takes 6 anywhere: the GPU has 8 of its own, the core 6.
  auto const graph = graph_of(3, {{0, 1}});
  hs::ClassTimes times{{1, 1}, {{10}, {4}, {10}, {4}, {6}, {6}}};
  CHECK(hs::iterative_bound(graph, times) == Duration{8});
  // A third class that is faster at the chain: what is left is the third task, a path of its own.
  hs::ClassTimes const faster{{1, 1, 1}, {{10}, {4}, {2}, {10}, {4}, {2}, {6}, {6}, {6}}};
  CHECK(hs::iterative_bound(graph, faster) == Duration{6});
  CHECK(hs::iterative_bound(hs::TaskGraph(), hs::ClassTimes{{1, 1}, {}}) == Duration{0});
  CHECK_THROWS_WITH_AS((void)hs::iterative_bound(graph_of(2, {}), times),
                       "hetsched: times: of 3 tasks for a graph of 2",
                       hs::Error);
  times.workers = {1, 0};
  CHECK(hs::iterative_bound(graph, times) == Duration{26});
  times.times[0] = hs::ClassTimes::never;
  CHECK_THROWS_WITH_AS((void)hs::linear_area_bound(times),
                       "hetsched: task 0: can run on no worker of this machine",
                       hs::Error);
}

TEST_SUITE_END();
