// SPDX-License-Identifier: MIT
// Tile Cholesky of a matrix that several ranks share. Under mpirun the ranks are processes:
//
//     mpirun -n 4 build/examples/distributed_cholesky --n 8000
//
// With --ranks they are threads of this process, which needs no MPI. Every rank runs `factorise`:
// the calls are those of one runtime, and each rank runs the tasks whose results are at home there.
//
// Arguments: --n 240 --tile 40 --ranks 4
// Expected output:
//   cholesky: n = 240, tiles of 40, 4 ranks in this process, ..., block-cyclic 2 x 2, double
//   56 tasks: ... s, ... GFlop/s, largest error 0
//   30 messages, 384.0 kB between ranks

#include <hetsched/cluster/distributed_matrix.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/recording.hpp> // HETSCHED_TRACE=run.json writes run.rank0.json, run.rank1.json, ...

#include "common/ranks.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace hs = hetsched;

struct Options {
  std::size_t n = 4000;
  std::size_t tile = 250;
  int cpus = 1;
  bool symmetric = false;
  bool single = false;
};

struct Count : hs::Task<2>::Signature<hs::CW<double, hs::Sum<double>>, hs::V<double>> {
  static void cpu(double& total, double amount) { total += amount; }
};

struct Largest {
  static double neutral() { return 0; }

  static double combine(double a, double b) { return std::fmax(a, b); }
};

struct Compare : hs::Task<2>::Signature<hs::CW<double, Largest>, hs::V<double>> {
  static void cpu(double& largest, double error) { largest = std::fmax(largest, error); }
};

/// The factor that the matrix has: three diagonals of small integers, so that nothing rounds.
int factor(std::size_t i, std::size_t j) {
  return i == j ? 2 : i == j + 1 ? 1 : i == j + 2 ? -1 : 0;
}

int element(std::size_t i, std::size_t j) {
  int sum = 0;
  for (std::size_t k = std::max(i, j) < 2 ? 0 : std::max(i, j) - 2; k <= std::min(i, j); ++k) {
    sum += factor(i, k) * factor(j, k);
  }
  return sum;
}

/// What each rank runs, with elements of type T.
template <class T, class Transport>
void factorise(Transport& transport, Options const& options, char const* where) {
  example::RuntimeOnRanks<Transport> rt(transport, {.cpus = options.cpus});
  int columns = 1; // of the grid of ranks, which is as square as it can be
  for (int c = 1; c * c <= rt.ranks(); ++c) {
    columns = rt.ranks() % c == 0 ? c : columns;
  }
  hs::BlockCyclic const grid{rt.ranks() / columns, columns};
  int pattern = 2; // the largest for so many ranks
  while (hs::SymmetricBlockCyclic(pattern + 1).ranks() <= rt.ranks()) {
    ++pattern;
  }
  hs::SymmetricBlockCyclic const symmetric(pattern);
  hs::DistributedMatrix<T> const a(
      rt, options.n, options.n, options.tile, [&](std::size_t i, std::size_t j) {
        return options.symmetric ? symmetric.rank_of(i, j) : grid.rank_of(i, j);
      });
  a.fill([](std::size_t i, std::size_t j) { return static_cast<T>(element(i, j)); });
  auto const show = rt.rank() == 0;
  if (show) {
    auto const layout =
        options.symmetric
            ? "symmetric block-cyclic, pattern of " + std::to_string(pattern)
            : "block-cyclic " + std::to_string(grid.rows) + " x " + std::to_string(grid.columns);
    std::printf("cholesky: n = %zu, tiles of %zu, %d ranks %s, %d workers each, %s, %s\n",
                options.n,
                options.tile,
                rt.ranks(),
                where,
                options.cpus,
                layout.c_str(),
                options.single ? "float" : "double");
  }
  rt.sync(); // so that all begin together
  auto const begin = std::chrono::steady_clock::now();
  hs::linalg::cholesky(rt, a);
  rt.sync();
  std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;

  double sums[3] = {0, 0, 0};
  auto const messages = rt.data(0, sums[0]);
  auto const bytes = rt.data(0, sums[1]);
  auto const largest = rt.data(0, sums[2]);
  auto const sent = example::sent_by(rt);
  double error = 0;
  for (std::size_t tj = 0; tj < a.tile_cols(); ++tj) {
    for (std::size_t ti = tj; ti < a.tile_rows(); ++ti) {
      if (a.is_here(ti, tj)) {
        auto const tile = a.here(ti, tj);
        for (std::size_t j = 0; j < tile.cols(); ++j) {
          for (std::size_t i = ti == tj ? j : 0; i < tile.rows(); ++i) {
            auto const right = factor(ti * options.tile + i, tj * options.tile + j);
            error = std::fmax(error, std::fabs(static_cast<double>(tile(i, j)) - right));
          }
        }
      }
    }
  }
  for (int r = 0; r < rt.ranks(); ++r) { // each rank contributes what it knows
    rt.template spawn<Count>(hs::on_rank(r))(messages, static_cast<double>(sent.messages));
    rt.template spawn<Count>(hs::on_rank(r))(bytes, static_cast<double>(sent.bytes));
    rt.template spawn<Compare>(hs::on_rank(r))(largest, error);
  }
  auto const all_messages = rt.value(messages);
  auto const all_bytes = rt.value(bytes);
  auto const all_error = rt.value(largest);
  if (show) {
    auto const tiles = a.tile_rows();
    auto const flops = std::pow(static_cast<double>(options.n), 3) / 3;
    std::printf("%zu tasks: %.3g s, %.3g GFlop/s, largest error %.2g\n",
                tiles * (tiles + 1) * (tiles + 2) / 6,
                time.count(),
                flops / time.count() / 1e9,
                all_error);
    std::printf("%.0f messages, %.1f kB between ranks\n", all_messages, all_bytes / 1e3);
  }
  if (!(all_error <= 1e-12)) {
    throw hs::Error(hs::ErrorCode::numerical, "cholesky", "the factor is wrong");
  }
}

template <class Transport>
void factorise_any(Transport& transport, Options const& options, char const* where) {
  if (options.single) {
    factorise<float>(transport, options, where);
  } else {
    factorise<double>(transport, options, where);
  }
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Factorises a matrix that several ranks share, by tile Cholesky.");
  app.add_option("--n", options.n, "rows of the matrix (4000)")->check(CLI::Range(1, 200000));
  app.add_option("--tile", options.tile, "rows of a tile (250)")->check(CLI::Range(1, 10000));
  app.add_flag("--single", options.single, "elements of 4 bytes");
  app.add_flag("--symmetric", options.symmetric, "tiles symmetric block-cyclic");
  return example::run_ranks(
      argc,
      argv,
      app,
      "distributed_cholesky",
      options.cpus,
      [&](auto& transport, char const* where) { factorise_any(transport, options, where); });
}
