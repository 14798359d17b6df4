// SPDX-License-Identifier: MIT
// SparseLU and SparseCholesky on several ranks, of one process.
//
// HETSCHED_TEST_GRAPHS: how many random matrices are solved with (default 40), from seed
// HETSCHED_TEST_SEED (default 1) on.

#include <hetsched/cluster.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/sparse/cholesky.hpp>
#include <hetsched/sparse/lu.hpp>
#include <hetsched/sparse/on_ranks.hpp>

#include "../cluster/on_ranks.hpp"
#include "../support/env_or.hpp"
#include "../support/support.hpp"
#include "sparse_matrices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace hs = hetsched;
using hs::sparse::SparseCholesky;
using hs::sparse::SparseLU;
using sparse_matrices::convection_diffusion;
using sparse_matrices::laplacian;
using sparse_matrices::positive_definite;
using sparse_matrices::random_matrix;
using sparse_matrices::saddle_point;
using sparse_matrices::Sparse;

namespace sparse_ranks_test {

using Complex = std::complex<double>;
using Rt = hs::DistributedRuntime<hs::policies::WorkStealing<>,
                                  hs::policies::Lru,
                                  hs::policies::NoModel,
                                  hs::OwnerComputes,
                                  hs::LoopbackTransport>;

template <class Solver>
constexpr bool is_symmetric = false;

template <class T>
constexpr bool is_symmetric<SparseCholesky<T>> = true;

/// Tasks and tiles even for small matrices, and the same of them whatever the number of ranks.
template <class Solver>
auto small_tasks() {
  std::conditional_t<is_symmetric<Solver>,
                     hs::sparse::SparseCholeskyOptions,
                     hs::sparse::SparseLUOptions>
      options;
  options.panel = 8;
  options.block = 12;
  options.sequential_below = 0;
  options.deterministic = true;
  return options;
}

/// What solves give.
template <class V>
struct Solutions {
  Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic> x;
  Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic> transposed;
  hs::sparse::SparseReport report;
};

template <class Solver, class Runtime>
Solutions<typename Solver::Value>
solve(Runtime& rt, Solver& solver, typename Solver::Matrix const& a, Eigen::Index columns) {
  using V = typename Solver::Value;
  solver.factorize(rt, a);
  Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic> b(a.rows(), columns);
  for (Eigen::Index k = 0; k < b.size(); ++k) {
    b.data()[k] = V(static_cast<double>(k * 7919 % 101) - 50);
  }
  Solutions<V> result;
  result.x = solver.solve(rt, b);
  result.report = solver.report();
  if constexpr (!is_symmetric<Solver>) {
    result.transposed = solver.solve_transposed(rt, b);
  }
  return result;
}

hs::Config cores(int count) {
  auto config = on_ranks::one_core();
  config.cpus = count;
  return config;
}

/// Solves on a Runtime and on so many ranks: the same bits on all.
template <class Solver>
void check_ranks(typename Solver::Matrix const& a, int ranks, std::uint64_t seed) {
  auto const columns = static_cast<Eigen::Index>(1 + seed % 3);
  hs::Runtime<> alone(cores(1));
  Solver first(small_tasks<Solver>());
  auto const expected = solve(alone, first, a, columns);
  CHECK(expected.report.backward_error < 1e-14);
  hs::LoopbackOptions options;
  options.seed = seed;
  options.head_delay = 3;
  options.payload_delay = 5;
  hs::LoopbackNetwork net(ranks, options);
  std::vector<Solutions<typename Solver::Value>> got(static_cast<std::size_t>(ranks));
  auto const thrown = on_ranks::each(ranks, [&](int rank) {
    auto transport = net.transport(rank);
    Rt rt(transport, cores(1 + rank % 2));
    Solver solver(small_tasks<Solver>());
    got[static_cast<std::size_t>(rank)] = solve(rt, solver, a, columns);
  });
  for (auto const& what : thrown) {
    CHECK(what.empty());
  }
  for (auto const& one : got) {
    CHECK(one.x == expected.x);
    CHECK(one.transposed == expected.transposed);
    CHECK(one.report.backward_error == expected.report.backward_error);
    CHECK(one.report.perturbed == expected.report.perturbed);
    CHECK(one.report.growth == expected.report.growth);
    CHECK(one.report.tasks == expected.report.tasks);
  }
}

#ifdef HETSCHED_TEST_FEW
constexpr std::uint64_t kinds = 3;
#else
constexpr std::uint64_t kinds = 6;
#endif

TEST_SUITE_BEGIN("sparse");

TEST_CASE("sparse on ranks: random matrices, the same bits as on one rank") {
  auto const matrices = support::env_or("HETSCHED_TEST_GRAPHS", 40);
  auto const first = support::env_or("HETSCHED_TEST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + matrices; ++seed) {
    INFO("reproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=" << seed);
    auto const n = static_cast<int>(1 + seed * 7 % 90);
    auto const per_row = static_cast<int>(seed % 4);
    auto const ranks = static_cast<int>(1 + seed % 7);
    switch (seed / 7 % kinds) {
    case 0:
      check_ranks<SparseLU<double>>(random_matrix<double>(n, per_row, seed), ranks, seed);
      break;
    case 1:
      check_ranks<SparseLU<double>>(saddle_point<double>(n, seed), ranks, seed);
      break;
    case 2:
      check_ranks<SparseCholesky<double>>(positive_definite(n, seed), ranks, seed);
      break;
#ifndef HETSCHED_TEST_FEW
    case 3:
      check_ranks<SparseLU<Complex>>(random_matrix<Complex>(n, per_row, seed), ranks, seed);
      break;
    case 4:
      check_ranks<SparseLU<float>>(random_matrix<double>(n, per_row, seed), ranks, seed);
      break;
    case 5:
      check_ranks<SparseCholesky<float>>(laplacian(static_cast<int>(2 + seed % 5)), ranks, seed);
      break;
#endif
    }
  }
}

TEST_CASE("sparse on ranks: the factors are shared, and solves move right-hand sides alone") {
  constexpr int ranks = 4;
  auto const a = convection_diffusion<double>(14);
  hs::LoopbackNetwork net(ranks);
  std::vector<hs::sparse::SparseReport> reports(ranks);
  std::vector<std::uint64_t> factor_bytes(ranks);
  std::vector<std::uint64_t> solve_bytes(ranks);
  auto const sent = [&](int from) {
    std::uint64_t bytes = 0;
    for (int to = 0; to < ranks; ++to) {
      bytes += net.traffic(from, to).bytes;
    }
    return bytes;
  };
  auto const thrown = on_ranks::each(ranks, [&](int rank) {
    auto transport = net.transport(rank);
    Rt rt(transport, cores(1));
    hs::sparse::SparseLUOptions options;
    options.panel = 32;
    options.block = 48;
    options.sequential_below = 0;
    SparseLU<double> lu(options);
    auto const own = static_cast<std::size_t>(rank);
    lu.factorize(rt, a);
    rt.sync();
    factor_bytes[own] = sent(rank);
    rt.sync();
    Eigen::VectorXd const b = Eigen::VectorXd::Ones(a.rows());
    auto const x = lu.solve(rt, b);
    reports[own] = lu.report();
    rt.sync();
    solve_bytes[own] = sent(rank) - factor_bytes[own];
  });
  for (auto const& what : thrown) {
    CHECK(what.empty());
  }
  hs::Runtime<> alone(cores(1));
  SparseLU<double> whole;
  whole.factorize(alone, a);
  auto const numbers = static_cast<double>(whole.report().factor_entries * sizeof(double));
  for (std::size_t r = 0; r < ranks; ++r) {
    CAPTURE(r);
    // An even share of factors and contributions is a quarter; each has the matrix whole, and room
    // to work, and contributions are not freed for each other.
    CHECK(3 * reports[r].memory < 2 * whole.report().memory);
    CHECK(factor_bytes[r] > 0);
    CHECK(static_cast<double>(solve_bytes[r]) < 0.1 * numbers);
    CHECK(reports[r].backward_error < 1e-14);
  }
}

TEST_CASE("sparse on ranks: each number of the factors is at home on one rank, and work is even") {
  namespace detail = hs::sparse::detail;
  for (int const ranks : {1, 2, 3, 4, 7, 16}) {
    for (int const k : {1, 3, 8, 12}) {
      CAPTURE(ranks);
      CAPTURE(k);
      detail::AnalysisOptions options;
      options.cut = {16, 24};
      auto const analysis = detail::analysed("test", convection_diffusion<double>(k), options);
      auto const& plan = analysis.plan;
      auto const units = detail::make_units(plan, plan.flops / (64 * ranks));
      detail::RankLayout const layout(plan, units, ranks);
      std::vector<int> homes(plan.factor_size, 0);
      double most = 0;
      for (int r = 0; r < ranks; ++r) {
        double here = 0;
        layout.for_each_part(r, [&](std::size_t begin, std::size_t size) {
          for (auto number = begin; number < begin + size; ++number) {
            ++homes[number];
          }
          here += static_cast<double>(size);
        });
        most = std::max(most, here);
      }
      CHECK(std::all_of(homes.begin(), homes.end(), [](int count) { return count == 1; }));
      if (k == 12 && ranks <= 4) {
        CHECK(most * ranks < 1.5 * static_cast<double>(plan.factor_size));
      }
      for (std::size_t u = 0; u < units.units.size(); ++u) {
        CHECK(layout.unit(u) >= 0);
        CHECK(layout.unit(u) < ranks);
      }
    }
  }
}

TEST_CASE("sparse on ranks: again with other numbers, another scheduler, and after an error") {
  using Priority = hs::DistributedRuntime<hs::policies::Priority<>,
                                          hs::policies::Lru,
                                          hs::policies::NoModel,
                                          hs::LeastBytes,
                                          hs::LoopbackTransport>;
  constexpr int ranks = 3;
  auto const a = laplacian(6);
  Sparse<double> const negative = -a;
  Eigen::VectorXd const b = Eigen::VectorXd::LinSpaced(a.rows(), -1, 2);
  hs::LoopbackNetwork net(ranks);
  std::vector<std::string> first(ranks);
  auto const thrown = on_ranks::each(ranks, [&](int rank) {
    auto transport = net.transport(rank);
    Priority rt(transport, cores(1));
    SparseCholesky<double> cholesky(small_tasks<SparseCholesky<double>>());
    first[static_cast<std::size_t>(rank)] =
        support::message_of([&] { cholesky.factorize(rt, negative); });
    for (double const factor : {1.0, 3.0}) {
      cholesky.factorize(rt, factor * a);
      Eigen::VectorXd const x = cholesky.solve(rt, b);
      if (!((factor * a * x - b).norm() < 1e-12)) {
        throw std::runtime_error("a wrong solution");
      }
    }
  });
  for (auto const& what : thrown) {
    CHECK(what.empty());
  }
  // The rank that found a pivot says which; the others, that a task failed there.
  CHECK(std::count_if(first.begin(), first.end(), [](std::string const& what) {
          return what.starts_with("hetsched: SparseCholesky: -");
        }) >= 1);
  CHECK(std::none_of(first.begin(), first.end(), [](auto const& what) { return what.empty(); }));
}

TEST_CASE("sparse on ranks: small matrices need no messages, and other runtimes no factors") {
  constexpr int ranks = 2;
  hs::LoopbackNetwork net(ranks);
  auto const thrown = on_ranks::each(ranks, [&](int rank) {
    auto transport = net.transport(rank);
    Rt rt(transport, cores(1));
    auto const a = convection_diffusion<double>(5);
    Eigen::VectorXd const b = Eigen::VectorXd::Ones(a.rows());
    SparseLU<double> lu;
    lu.factorize(rt, a);
    hs::Runtime<> alone(cores(1));
    auto const x = lu.solve(alone, b);
    if (lu.report().tasks != 0 || !((a * x - b).norm() < 1e-10)) {
      throw std::runtime_error("a small matrix");
    }
    SparseLU<double> shared(small_tasks<SparseLU<double>>());
    shared.factorize(rt, a);
    (void)shared.solve(alone, b);
  });
  for (auto const& what : thrown) {
    CHECK(what == "hetsched: SparseLU: solve was called on 1 ranks, the factors are on 2");
  }
}

TEST_SUITE_END();

} // namespace sparse_ranks_test
