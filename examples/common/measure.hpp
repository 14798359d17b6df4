// SPDX-License-Identifier: MIT
#pragma once
// What the linear algebra programs share: generated matrices, timing of captured graphs, and this
// machine's GEMM rate.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/runtime/progress.hpp>
#include <hetsched/trace/trace.hpp>

#include "program.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace example {

using Eigen::MatrixXd;
using Eigen::VectorXd;

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

[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Measured {
  double seconds = 0; // of the median run, like stats and bound
  double shortest = 0;
  double longest = 0;
  hs::Stats stats;
  std::optional<hs::Duration> bound; // a lower bound on that run's length under any schedule
  std::optional<hs::Trace> trace;    // of that run, if runs are recorded
};

/// Measures `run()`, which waits for its tasks, `repeat` times. Calls `restore()` before each,
/// which is not measured. Sets no bound.
template <class Rt, class Restore, class Run>
Measured measure_runs(Rt& rt, std::size_t repeat, Restore&& restore, Run&& run) {
  std::vector<Measured> runs;
  for (std::size_t r = 0; r < repeat; ++r) {
    restore();
    rt.reset_stats();
    hs::Progress const progress(rt);
    auto const begin = now();
    run();
    auto& measured = runs.emplace_back();
    measured.seconds = now() - begin;
    measured.stats = rt.stats();
    if (rt.records()) {
      measured.trace = rt.trace();
    }
  }
  std::sort(runs.begin(), runs.end(), [](Measured const& a, Measured const& b) {
    return a.seconds < b.seconds;
  });
  auto const shortest = runs.front().seconds;
  auto const longest = runs.back().seconds;
  auto result = std::move(runs[(repeat - 1) / 2]);
  result.shortest = shortest;
  result.longest = longest;
  return result;
}

/// The same for a graph. The bound is the larger of area bound and critical path, from that run's
/// mean times. With devices there is no bound, because the workers differ.
template <class Rt, class Restore>
Measured measure(Rt& rt, hs::CapturedGraph const& graph, std::size_t repeat, Restore&& restore) {
  auto result = measure_runs(rt, repeat, restore, [&] { rt.run(graph); });
  if (result.stats.devices.empty()) {
    result.bound = hs::makespan_bound(graph.tasks(),
                                      hs::mean_durations(graph.tasks(), result.stats.types),
                                      static_cast<int>(rt.workers().size()));
  }
  return result;
}

/// The time of all bodies divided by the number of workers: a bound where the tasks are not known
/// beforehand. None with devices.
template <class Rt>
std::optional<hs::Duration> busy_bound(Rt& rt, hs::Stats const& stats) {
  std::int64_t busy = 0;
  for (auto const& type : stats.types) {
    busy += type.total.ns;
  }
  return stats.devices.empty()
             ? std::optional(hs::Duration{busy / static_cast<std::int64_t>(rt.workers().size())})
             : std::nullopt;
}

/// The same for a graph whose tasks spawn others and do not wait for them.
template <class Rt, class Restore>
Measured
measure_nested(Rt& rt, hs::CapturedGraph const& graph, std::size_t repeat, Restore&& restore) {
  auto result = measure_runs(rt, repeat, restore, [&] { rt.run(graph); });
  result.bound = busy_bound(rt, result.stats);
  return result;
}

/// Flop/s of products of tile x tile matrices that stay in the caches, with all workers on cores
/// busy. It is the best of three runs of a tenth of a second.
template <class Rt = Runtime<hs::policies::WorkStealing<>>>
[[nodiscard]] double gemm_rate(Options const& options, std::size_t tile) {
  tile = std::max<std::size_t>(tile, 1);
  hs::linalg::use_one_blas_thread();
  auto config = options.config();
  config.devices = "none";
  config.record = false;
  Rt rt(config);
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
          hs::linalg::kernels::gemm_update(all(abc[0]), all(abc[1]), all(abc[2]));
          ++products;
        } while (now() - begin < 0.1);
      });
    }
    rt.sync();
    best = std::max(best, products * flops / (now() - begin));
  }
  return best;
}

} // namespace example
