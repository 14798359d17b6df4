// SPDX-License-Identifier: MIT
// Algorithms over tasks beside those of other libraries: sum, saxpy, sort and inclusive scan of n
// elements, and pipelines of n items. One process; in each round every library has a turn, so that
// ratios are of neighbours. Before a turn all threads fall asleep: those of libgomp spin for
// milliseconds, and would keep a core from the next library. Each answer is checked.

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include "../common/run_program.hpp"
#include "case.hpp"
#include "pipeline_case.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#ifdef ALGORITHMS_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <execution>
#endif
#ifdef _OPENMP
#include <omp.h>
#include <parallel/algorithm>
#endif

namespace hs = hetsched;

using namespace algorithms_benchmark;

namespace {

constexpr double a = 1e-3;

#ifdef ALGORITHMS_HAVE_TBB
double add(double l, double r) {
  return l + r;
}
#endif

Case sum_case(hs::Runtime<>& rt) {
  Case c{"sum",
         {},
         [](Data& d) { d.sum = 0; },
         [](Data const& d) {
           auto const exact = std::accumulate(d.x.begin(), d.x.end(), 0.0L);
           return std::fabs(d.sum - exact) <= 1e-9L * static_cast<long double>(d.x.size());
         }};
  c.peers.push_back(
      {"serial", [](Data& d) { d.sum = std::accumulate(d.x.begin(), d.x.end(), 0.0); }});
  c.peers.push_back(
      {"hetsched", [&rt](Data& d) { d.sum = hs::reduce(rt, d.x.begin(), d.x.end(), 0.0); }});
#ifdef ALGORITHMS_HAVE_TBB
  c.peers.push_back({"onetbb", [](Data& d) {
                       d.sum = tbb::parallel_reduce(
                           tbb::blocked_range<std::size_t>(0, d.x.size()),
                           0.0,
                           [&](auto const& r, double s) {
                             return std::accumulate(&d.x[0] + r.begin(), &d.x[0] + r.end(), s);
                           },
                           add);
                     }});
  c.peers.push_back({"libstdc++", [](Data& d) {
                       d.sum = std::reduce(std::execution::par_unseq, d.x.begin(), d.x.end(), 0.0);
                     }});
#endif
#ifdef _OPENMP
  c.peers.push_back({"openmp", [](Data& d) {
                       double s = 0;
                       auto const* x = d.x.data();
                       auto const n = d.x.size();
#pragma omp parallel for simd reduction(+ : s)
                       for (std::size_t i = 0; i < n; ++i) {
                         s += x[i];
                       }
                       d.sum = s;
                     }});
#endif
  return c;
}

Case saxpy_case(hs::Runtime<>& rt) {
  Case c{"saxpy",
         {},
         [](Data& d) { d.y = d.source; },
         [](Data const& d) {
           for (std::size_t i = 0; i < d.x.size(); ++i) {
             if (std::fabs(d.y[i] - (d.source[i] + a * d.x[i])) > 1e-12) {
               return false;
             }
           }
           return true;
         }};
  auto const f = [](double x, double y) { return a * x + y; };
  c.peers.push_back({"serial", [f](Data& d) {
                       std::transform(d.x.begin(), d.x.end(), d.y.begin(), d.y.begin(), f);
                     }});
  c.peers.push_back({"hetsched", [&rt, f](Data& d) {
                       hs::transform(rt, d.x.begin(), d.x.end(), d.y.begin(), d.y.begin(), f);
                     }});
#ifdef ALGORITHMS_HAVE_TBB
  c.peers.push_back({"onetbb", [](Data& d) {
                       tbb::parallel_for(tbb::blocked_range<std::size_t>(0, d.x.size()),
                                         [&](auto const& r) {
                                           auto const* x = d.x.data();
                                           auto* y = d.y.data();
                                           for (auto i = r.begin(); i < r.end(); ++i) {
                                             y[i] += a * x[i];
                                           }
                                         });
                     }});
  c.peers.push_back(
      {"libstdc++", [f](Data& d) {
         std::transform(
             std::execution::par_unseq, d.x.begin(), d.x.end(), d.y.begin(), d.y.begin(), f);
       }});
#endif
#ifdef _OPENMP
  c.peers.push_back({"openmp", [](Data& d) {
                       auto const* x = d.x.data();
                       auto* y = d.y.data();
                       auto const n = d.x.size();
#pragma omp parallel for simd
                       for (std::size_t i = 0; i < n; ++i) {
                         y[i] += a * x[i];
                       }
                     }});
#endif
  return c;
}

Case sort_case(hs::Runtime<>& rt) {
  Case c{"sort",
         {},
         [](Data& d) { d.y = d.source; },
         [](Data const& d) { return std::is_sorted(d.y.begin(), d.y.end()); }};
  c.peers.push_back({"serial", [](Data& d) { std::sort(d.y.begin(), d.y.end()); }});
  c.peers.push_back({"hetsched", [&rt](Data& d) { hs::sort(rt, d.y.begin(), d.y.end()); }});
#ifdef ALGORITHMS_HAVE_TBB
  c.peers.push_back({"onetbb", [](Data& d) { tbb::parallel_sort(d.y.begin(), d.y.end()); }});
  c.peers.push_back(
      {"libstdc++", [](Data& d) { std::sort(std::execution::par, d.y.begin(), d.y.end()); }});
#endif
#ifdef _OPENMP
  c.peers.push_back({"openmp", [](Data& d) { __gnu_parallel::sort(d.y.begin(), d.y.end()); }});
#endif
  return c;
}

Case scan_case(hs::Runtime<>& rt) {
  Case c{"scan",
         {},
         [](Data&) {},
         [](Data const& d) {
           return std::fabs(d.y.back() - std::accumulate(d.x.begin(), d.x.end(), 0.0)) <=
                  1e-9 * static_cast<double>(d.x.size());
         }};
  c.peers.push_back(
      {"serial", [](Data& d) { std::inclusive_scan(d.x.begin(), d.x.end(), d.y.begin()); }});
  c.peers.push_back({"hetsched", [&rt](Data& d) {
                       hs::inclusive_scan(rt, d.x.begin(), d.x.end(), d.y.begin());
                     }});
#ifdef ALGORITHMS_HAVE_TBB
  c.peers.push_back({"onetbb", [](Data& d) {
                       tbb::parallel_scan(
                           tbb::blocked_range<std::size_t>(0, d.x.size()),
                           0.0,
                           [&](auto const& r, double s, bool is_final) {
                             for (auto i = r.begin(); i < r.end(); ++i) {
                               s += d.x[i];
                               if (is_final) {
                                 d.y[i] = s;
                               }
                             }
                             return s;
                           },
                           add);
                     }});
  c.peers.push_back({"libstdc++", [](Data& d) {
                       std::inclusive_scan(
                           std::execution::par, d.x.begin(), d.x.end(), d.y.begin());
                     }});
#endif
#ifdef _OPENMP
  c.peers.push_back({"openmp", [](Data& d) {
                       double s = 0;
                       auto const* x = d.x.data();
                       auto* y = d.y.data();
                       auto const n = d.x.size();
// g++ 12 warns of a variable that it makes itself.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma omp parallel for reduction(inscan, + : s)
                       for (std::size_t i = 0; i < n; ++i) {
                         s += x[i];
#pragma omp scan inclusive(s)
                         y[i] = s;
                       }
#pragma GCC diagnostic pop
                     }});
#endif
  return c;
}

double seconds(std::function<void(Data&)> const& run, Data& data) {
  auto const begin = std::chrono::steady_clock::now();
  run(data);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The median and the interval that holds it with about 95 % (sign test).
std::string summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const n = static_cast<double>(values.size());
  auto const low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - 0.98 * std::sqrt(n))));
  char text[96];
  std::snprintf(text,
                sizeof text,
                "%.3g [%.3g, %.3g]",
                values[values.size() / 2],
                values[low],
                values[values.size() - 1 - low]);
  return text;
}

struct Turns {
  std::size_t rounds = 15;
  std::size_t calls = 1; // of each, one after the other
  std::chrono::milliseconds pause{30};
};

void run_case(Case const& c, std::size_t n, Turns turns) {
  Data data{Vector(n), Vector(n), Vector(n)};
  std::uint64_t seed = n;
  for (std::size_t i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    data.x[i] = static_cast<double>(seed >> 40U) * 0x1p-24;
    data.source[i] = static_cast<double>(seed >> 33U);
  }
  auto const repeats =
      c.name == std::string("sort") ? 1 : std::max(100000 / (n * c.weight), turns.calls);
  std::vector<std::vector<double>> times(c.peers.size());
  for (std::size_t round = 0; round < turns.rounds + 2; ++round) { // the first two warm up
    for (std::size_t p = 0; p < c.peers.size(); ++p) {
      double total = 0;
      c.prepare(data);
      std::this_thread::sleep_for(turns.pause);
      total += seconds(c.peers[p].run, data);
      if (round == 0 && !c.is_right(data)) {
        throw hs::Error(hs::ErrorCode::numerical,
                        std::string(c.name) + " of " + c.peers[p].library,
                        "is wrong for n = " + std::to_string(n));
      }
      for (std::size_t k = 1; k < repeats; ++k) {
        total += seconds(c.peers[p].run, data);
      }
      if (round >= 2) {
        times[p].push_back(total / static_cast<double>(repeats) * 1e6);
      }
    }
  }
  for (std::size_t p = 0; p < c.peers.size(); ++p) {
    std::vector<double> ratios;
    for (std::size_t k = 0; k < turns.rounds; ++k) {
      ratios.push_back(times[1][k] / times[p][k]);
    }
    std::printf("%-9s %10zu  %-10s %-28s us, hetsched takes %s times as long\n",
                c.name,
                n,
                c.peers[p].library,
                summary(times[p]).c_str(),
                summary(ratios).c_str());
  }
}

} // namespace

int main(int argc, char** argv) {
  std::size_t least = 1000;
  std::size_t most = 10000000;
  Turns turns;
  int pause = 30;
  int cpus = 2;
  CLI::App app("Compares algorithms over tasks with those of oneTBB, libstdc++ and OpenMP, those "
               "that are installed, on 1000, 10000, ... elements.");
  app.add_option("--least", least, "the fewest elements (default 1000)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000000}));
  app.add_option("--most", most, "the most elements (default 10000000)")
      ->check(CLI::Range(std::size_t{1000}, std::size_t{1000000000}));
  app.add_option(
         "--rounds", turns.rounds, "rounds, in each of which every library has a turn (default 15)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--calls", turns.calls, "calls in a turn, at least; sorts have one (default 1)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--pause", pause, "milliseconds without work before each turn (default 30)")
      ->check(CLI::Range(0, 1000));
  app.add_option("--cpus", cpus, "workers of each library (default 2)")->check(CLI::Range(1, 1024));
  return benchmarks::run_program("algorithms", app, argc, argv, [&] {
    turns.pause = std::chrono::milliseconds(pause);
#ifdef ALGORITHMS_HAVE_TBB
    tbb::global_control const limit(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(cpus));
#endif
#ifdef _OPENMP
    omp_set_num_threads(cpus);
#endif
    hs::Runtime<> rt({.cpus = cpus});
    for (std::size_t n = least; n <= most; n *= 10) {
      for (auto const& c : {sum_case(rt),
                            saxpy_case(rt),
                            scan_case(rt),
                            sort_case(rt),
                            pipeline_case(rt, "pipe100", 100),
                            pipeline_case(rt, "pipe1000", 1000),
                            pipeline_case(rt, "pipe10000", 10000)}) {
        if (n * c.weight <= 100000000) { // what takes longer shows nothing new
          run_case(c, n, turns);
        }
      }
    }
  });
}
