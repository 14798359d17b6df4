// SPDX-License-Identifier: MIT
// What it gains or costs to compute dependencies only when another worker wants tasks
// (Config::dependencies), beside the ordinary way: rounds of both in turn, and their ratio.
//
//     chain      tasks on one datum, spawned by a body
//     fib        Fibonacci numbers by tasks whose results are temporaries: nested, nobody waits
//     cholesky   the tile Cholesky graph of 40 x 40 tiles with empty tasks, spawned by a body
//     recursive  linalg::recursive_cholesky on 512 x 512 elements, leaves of 16 x 16
//     tree       as fib, a binary tree of depth 6 whose 64 leaves take 100 us each
//     beside     a body spawns 8 tasks of 100 us, works for 800 us itself, and waits

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/recursive_cholesky.hpp>
#include <hetsched/when_stolen.hpp>

#include "common/run_program.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace {

constexpr std::size_t tiles = 40;
constexpr std::size_t rows = 512;
constexpr std::size_t leaf = 16;
constexpr int fibonacci = 18;

} // namespace

struct Update : hs::Task<1>::Signature<hs::RW<int>> {
  static void cpu(int& /*x*/) {}
};

struct Solve : hs::Task<2>::Signature<hs::R<int>, hs::RW<int>> {
  static void cpu(int const& /*l*/, int& /*a*/) {}
};

struct Multiply : hs::Task<3>::Signature<hs::R<int>, hs::R<int>, hs::RW<int>> {
  static void cpu(int const& /*l*/, int const& /*r*/, int& /*a*/) {}
};

struct Fib : hs::Task<2>::Signature<hs::V<int>, hs::W<long>> {};

struct Number : hs::Task<2>::Signature<hs::V<int>, hs::W<long>> {
  static void cpu(int n, long& f) { f = n; }
};

struct Add : hs::Task<3>::Signature<hs::R<long>, hs::R<long>, hs::W<long>> {
  static void cpu(long const& a, long const& b, long& sum) { sum = a + b; }
};

namespace {

constexpr int leaf_us = 100;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void work_for(int us) {
  auto const end = now() + us * 1e-6;
  while (now() < end) {
  }
}

} // namespace

struct Tree : hs::Task<2>::Signature<hs::V<int>, hs::W<long>> {};

struct Leaf : hs::Task<1>::Signature<hs::W<long>> {
  static void cpu(long& one) {
    work_for(leaf_us);
    one = 1;
  }
};

template <>
struct hetsched::TaskBodyCPU<Tree> {
  template <class Rt>
  void operator()(Rt& rt, int depth, hs::Handle<long> const& sum) const {
    auto const a = rt.template temporary<long>();
    auto const b = rt.template temporary<long>();
    for (auto const& half : {a, b}) {
      if (depth == 1) {
        rt.template spawn<Leaf>()(half);
      } else {
        rt.template spawn<Tree>()(depth - 1, half);
      }
    }
    rt.template spawn<Add>()(a, b, sum);
  }
};

template <>
struct hetsched::TaskBodyCPU<Fib> {
  template <class Rt>
  void operator()(Rt& rt, int n, hs::Handle<long> const& f) const {
    auto const a = rt.template temporary<long>();
    auto const b = rt.template temporary<long>();
    auto const part = [&](int m, hs::Handle<long> const& into) {
      if (m < 2) {
        rt.template spawn<Number>()(m, into);
      } else {
        rt.template spawn<Fib>()(m, into);
      }
    };
    part(n - 1, a);
    part(n - 2, b);
    rt.template spawn<Add>()(a, b, f);
  }
};

namespace {

using Rt = hs::Runtime<>;

struct Options {
  std::string only = "all";
  int cpus = 1;
  std::size_t repeat = 51;
  bool json = false;
};

/// Seconds of `f()`.
template <class F>
double seconds_of(F&& f) {
  auto const begin = now();
  f();
  return now() - begin;
}

double chain(Rt& rt) {
  int x = 0;
  auto const handle = rt.data(x);
  return seconds_of([&] {
    rt.spawn()(
        [&handle](Rt& inner, int& /*x*/) {
          for (int i = 0; i < 10000; ++i) {
            inner.spawn<Update>()(handle);
          }
        },
        hs::read_write(handle));
    rt.sync();
  });
}

double fib(Rt& rt) {
  long f = 0;
  auto const handle = rt.data(f);
  return seconds_of([&] {
    rt.spawn<Fib>()(fibonacci, handle);
    rt.sync();
  });
}

/// The data are registered in the body, and the graph is measured there.
double cholesky(Rt& rt) {
  double seconds = 0;
  rt.spawn()([&seconds](Rt& inner) {
    std::vector<int> numbers(tiles * tiles);
    std::vector<hs::Handle<int>> data;
    for (auto& number : numbers) {
      data.push_back(inner.data(number));
    }
    auto const a = [&](std::size_t i, std::size_t j) { return data[i * tiles + j]; };
    seconds = seconds_of([&] {
      for (std::size_t k = 0; k < tiles; ++k) {
        inner.spawn<Update>()(a(k, k));
        for (auto i = k + 1; i < tiles; ++i) {
          inner.spawn<Solve>()(a(k, k), a(i, k));
        }
        for (auto j = k + 1; j < tiles; ++j) {
          inner.spawn<Solve>()(a(j, k), a(j, j));
          for (auto i = j + 1; i < tiles; ++i) {
            inner.spawn<Multiply>()(a(i, k), a(j, k), a(i, j));
          }
        }
      }
      inner.sync();
    });
  });
  rt.sync();
  return seconds;
}

double recursive(Rt& rt) {
  std::vector<double> elements(rows * rows);
  for (std::size_t j = 0; j < rows; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      auto const distance = static_cast<double>(i > j ? i - j : j - i);
      elements[i + j * rows] = i == j ? 2 * static_cast<double>(rows) : 1 / (1 + distance);
    }
  }
  auto const a = rt.data(elements.data(), rows, rows, rows);
  return seconds_of([&] {
    hs::linalg::recursive_cholesky(rt, a, leaf);
    rt.sync();
  });
}

double tree(Rt& rt) {
  long leaves = 0;
  auto const handle = rt.data(leaves);
  return seconds_of([&] {
    rt.spawn<Tree>()(6, handle);
    rt.sync();
  });
}

double beside(Rt& rt) {
  constexpr std::size_t tasks = 8;
  double seconds = 0;
  rt.spawn()([&seconds](Rt& inner) {
    std::array<long, tasks> numbers{};
    std::vector<hs::Handle<long>> data;
    for (auto& number : numbers) {
      data.push_back(inner.data(number));
    }
    seconds = seconds_of([&] {
      for (auto const& one : data) {
        inner.spawn<Leaf>()(one);
      }
      work_for(static_cast<int>(tasks) * leaf_us);
      inner.sync();
    });
  });
  rt.sync();
  return seconds;
}

struct Case {
  std::string_view name;
  double (*round)(Rt& rt);
};

constexpr std::array cases{Case{"chain", chain},
                           Case{"fib", fib},
                           Case{"cholesky", cholesky},
                           Case{"recursive", recursive},
                           Case{"tree", tree},
                           Case{"beside", beside}};

Rt::Config config_of(Options const& options, hs::Dependencies dependencies) {
  Rt::Config config;
  config.cpus = options.cpus;
  config.devices = "none";
  config.dependencies = dependencies;
  return config;
}

/// The element so far along the sorted ones.
double at(std::vector<double>& values, double rank) {
  std::sort(values.begin(), values.end());
  auto const last = static_cast<double>(values.size()) - 1;
  return values[static_cast<std::size_t>(std::clamp(std::round(rank), 0.0, last))];
}

void print(Options const& options) {
  if (!options.json) {
    std::printf("%-10s %9s %9s %11s %7s [95 %% interval of the median]\n",
                "graph",
                "tasks",
                "at spawn",
                "when stolen",
                "ratio");
  }
  for (auto const& entry : cases) {
    if (options.only != "all" && options.only != entry.name) {
      continue;
    }
    Rt eager(config_of(options, hs::Dependencies::at_spawn));
    Rt stolen(config_of(options, hs::Dependencies::when_stolen));
    entry.round(eager); // finds no memory to recycle
    entry.round(stolen);
    eager.reset_stats();
    stolen.reset_stats();
    std::vector<double> at_spawn;
    std::vector<double> when_stolen;
    std::vector<double> ratios;
    for (std::size_t r = 0; r < options.repeat; ++r) {
      at_spawn.push_back(entry.round(eager));
      when_stolen.push_back(entry.round(stolen));
      ratios.push_back(when_stolen.back() / at_spawn.back());
    }
    auto const rounds = static_cast<double>(options.repeat);
    auto const middle = (rounds - 1) / 2;
    auto const half = 0.98 * std::sqrt(rounds); // ranks, of the normal approximation
    auto const tasks = stolen.stats().spawned / options.repeat;
    auto const ns = [&](std::vector<double>& seconds) {
      return at(seconds, middle) * 1e9 / static_cast<double>(tasks);
    };
    auto const low = at(ratios, middle - half);
    auto const high = at(ratios, middle + half);
    if (options.json) {
      std::printf("{\"graph\": \"%s\", \"cpus\": %d, \"tasks\": %zu, \"at_spawn_ns\": %.1f, "
                  "\"when_stolen_ns\": %.1f, \"ratio\": %.4f, \"low\": %.4f, \"high\": %.4f}\n",
                  std::string(entry.name).c_str(),
                  options.cpus,
                  static_cast<std::size_t>(tasks),
                  ns(at_spawn),
                  ns(when_stolen),
                  at(ratios, middle),
                  low,
                  high);
    } else {
      std::printf("%-10s %9zu %9.1f %11.1f %7.3f [%.3f, %.3f]\n",
                  std::string(entry.name).c_str(),
                  static_cast<std::size_t>(tasks),
                  ns(at_spawn),
                  ns(when_stolen),
                  at(ratios, middle),
                  low,
                  high);
    }
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Compares tasks whose dependencies are computed when stolen with ordinary ones.");
  app.add_option("--case", options.only, "one of the graphs, or all (default)")
      ->check(CLI::IsMember({"chain", "fib", "cholesky", "recursive", "tree", "beside", "all"}));
  app.add_option("--cpus", options.cpus, "workers (default 1)")->check(CLI::Range(1, 4096));
  app.add_option("--repeat", options.repeat, "rounds of each (default 51)")
      ->check(CLI::Range(1, 100'000));
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("when_stolen", app, argc, argv, [&] { print(options); });
}
