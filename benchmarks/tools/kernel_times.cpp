// SPDX-License-Identifier: MIT
#include "kernel_times.hpp"

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/qr.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/sparse/cholesky.hpp>
#include <hetsched/sparse/lu.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include "../sparse/matrices.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

namespace benchmarks {

namespace {

std::mutex samples_mutex;
std::map<std::string, Measured> samples; // of what runs now

/// Notes every execution time.
struct Sampler {
  static constexpr bool measures = true;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch) const {
    return std::nullopt;
  }

  void record(hs::TaskView const& task, hs::Arch arch, hs::Duration measured) {
    std::lock_guard const guard(samples_mutex);
    auto& sample = samples[std::string(task.type)];
    sample.on[arch == hs::ArchHost ? 0 : 1].add(measured.seconds());
    sample.bytes = std::max(sample.bytes, task.bytes());
    sample.flops += static_cast<double>(task.flops);
    sample.archs = task.archs;
  }

  [[nodiscard]] hs::Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const { return {}; }
};

/// Work for all workers alike, so that every class has its turn at everything it can run.
using Runtime = hs::Runtime<hs::policies::Random<>, hs::policies::Lru, Sampler>;

constexpr std::size_t in_a_row = 6; // tiles: enough for all kernels, several times each

template <class T>
void run_jacobi(Runtime& rt, std::size_t tile) {
  auto const n = in_a_row * tile;
  std::vector<T> u((n + 2) * (n + 2), T(1));
  std::vector<T> b(n * n, T(0));
  hs::stencil::PoissonGrid<T> const grid(
      rt, hs::TileView<T>(u.data(), n + 2, n + 2, n + 2), hs::TileView<T>(b.data(), n, n, n), tile);
  hs::stencil::jacobi(rt, grid, 3); // an odd number: with copies of tiles
  rt.sync();
}

/// A factorisation of the 3-D Laplacian, whose largest front is two to three tiles wide.
template <class T, template <class> class Solver, class Options>
void run_sparse(Runtime& rt, std::size_t tile, Options options) {
  options.block = tile;
  options.panel = (tile + 1) / 2;
  options.sequential_below = 0;
  auto const k = 3 + static_cast<int>(std::sqrt(2.5 * static_cast<double>(tile)));
  Solver<T> solver(options);
  solver.factorize(rt, sparse_peers::laplacian(k));
}

template <class T>
void run_algorithm(Runtime& rt, std::string const& algorithm, std::size_t tile) {
  if (algorithm == "jacobi") {
    run_jacobi<T>(rt, tile);
    return;
  }
  if (algorithm == "sparse_lu") {
    run_sparse<T, hs::sparse::SparseLU>(rt, tile, hs::sparse::SparseLUOptions());
    return;
  }
  if (algorithm == "sparse_cholesky") {
    run_sparse<T, hs::sparse::SparseCholesky>(rt, tile, hs::sparse::SparseCholeskyOptions());
    return;
  }
  auto const n = in_a_row * tile;
  auto const matrix = [&](double diagonal) {
    std::vector<T> elements(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        auto const distance = static_cast<double>(i > j ? i - j : j - i);
        elements[i + j * n] = static_cast<T>(i == j ? diagonal : 1 / (1 + distance));
      }
    }
    return elements;
  };
  auto a = matrix(2 * static_cast<double>(n)); // positive definite
  hs::linalg::TiledMatrix const tiles(rt, a.data(), n, n, n, tile);
  if (algorithm == "cholesky") {
    hs::linalg::cholesky(rt, tiles, hs::linalg::PotrfOn::any);
  } else if (algorithm == "qr") {
    hs::linalg::Reflections const q(rt, tiles);
    hs::linalg::qr(rt, tiles, q);
    rt.sync();
  } else {
    auto b = matrix(1);
    auto c = matrix(0);
    hs::linalg::TiledMatrix const right(rt, b.data(), n, n, n, tile);
    hs::linalg::TiledMatrix const result(rt, c.data(), n, n, n, tile);
    hs::linalg::gemm(rt, T(1), tiles, right, T(1), result);
    rt.sync();
  }
  rt.sync();
}

} // namespace

template <class T>
std::map<std::string, Measured> measure_kernels(hs::Config const& config,
                                                int repeat,
                                                std::string const& algorithm,
                                                std::size_t tile) {
  Runtime rt(config);
  run_algorithm<T>(rt, algorithm, tile); // memory is touched, caches and clocks are warm
  samples.clear();
  bool const gpus = rt.nodes().size() > 1;
  auto const enough = [&] {
    return std::all_of(samples.begin(), samples.end(), [&](auto const& sample) {
      return sample.second.enough(gpus);
    });
  };
  constexpr int most = 1000; // lots are drawn: whoever has no turn in so many never has
  for (int k = 0; k < repeat || (!enough() && k < most); ++k) {
    run_algorithm<T>(rt, algorithm, tile);
  }
  return samples;
}

template std::map<std::string, Measured>
measure_kernels<float>(hs::Config const&, int, std::string const&, std::size_t);
template std::map<std::string, Measured>
measure_kernels<double>(hs::Config const&, int, std::string const&, std::size_t);

} // namespace benchmarks
