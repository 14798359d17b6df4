// SPDX-License-Identifier: MIT

#include "threads.hpp"

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/sparse/block_lu.hpp>

#include "../../../examples/common/block_matrices.hpp"
#include "workload.hpp"

#include <Eigen/Dense>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace multigrain {

namespace {

using hs::sparse::BlockMatrix;
using hs::sparse::BlockPattern;

struct Row {
  char const* cache;
  double seconds = 0;
  double backward_error = 0;
  std::uint64_t super_tasks = 0; // of the device
  hs::DeviceStats device = {};
};

/// y := A x and ||A||_F, in double precision.
struct Product {
  Eigen::VectorXd y;
  double norm = 0;

  Product(BlockMatrix<float> const& a, Eigen::VectorXd const& x)
      : y(Eigen::VectorXd::Zero(x.size())) {
    auto const width = static_cast<Eigen::Index>(a.block_size());
    for (std::size_t j = 0; j < a.size(); ++j) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (a.pattern().at(i, j)) {
          Eigen::MatrixXd const block =
              hs::linalg::kernels::as_eigen(a.elements(i, j)).template cast<double>();
          y.segment(static_cast<Eigen::Index>(i) * width, width) +=
              block * x.segment(static_cast<Eigen::Index>(j) * width, width);
          norm += block.squaredNorm();
        }
      }
    }
    norm = std::sqrt(norm);
  }
};

/// ||b - A x|| / (||A|| ||x|| + ||b||) of the x that the factors give.
template <class Rt>
double backward_error(Rt& rt,
                      BlockMatrix<float> const& factors,
                      BlockPattern const& pattern,
                      ThreadOptions const& options) {
  BlockMatrix<float> const a(rt, pattern, options.block, options.super);
  example::fill_blocks(a, pattern, options.seed);
  std::mt19937_64 random(options.seed + 1);
  std::vector<float> x(a.rows());
  for (auto& one : x) {
    one = static_cast<float>(random() >> 40U) * 0x1p-23F - 1.0F;
  }
  auto const as_double = [&] {
    auto const size = static_cast<Eigen::Index>(x.size());
    return Eigen::VectorXd(Eigen::Map<Eigen::VectorXf const>(x.data(), size).cast<double>());
  };
  auto const b = as_double();
  hs::sparse::block_solve(factors, x);
  auto const solved = as_double();
  Product const product(a, solved);
  return (b - product.y).norm() / (product.norm * solved.norm() + b.norm());
}

Row factorise(char const* cache,
              bool guided,
              std::size_t memory,
              BlockPattern const& pattern,
              ThreadOptions const& options) {
  using Scheduler = hs::policies::Multigrain<>;
  hs::Config config;
  config.cpus = options.cpus;
  config.devices = "emu:1@" + std::to_string(memory);
  hs::Runtime<Scheduler, hs::policies::ReuseGuided> rt(config, Scheduler::Config{guided});
  BlockMatrix<float> const a(rt, pattern.filled(), options.block, options.super);
  example::fill_blocks(a, pattern, options.seed);
  Row row{cache};
  auto const begin = std::chrono::steady_clock::now();
  hs::sparse::block_lu(rt, a, {.barriers = true, .solves_on_cores = true});
  rt.sync();
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  row.device = rt.stats().devices.at(0);
  row.super_tasks = rt.stats().workers.back().executed;
  row.backward_error = backward_error(rt, a, pattern, options);
  return row;
}

void print(Row const& row, ThreadOptions const& options, std::size_t memory, bool json) {
  auto const& device = row.device;
  if (json) {
    nlohmann::ordered_json const line{{"cache", row.cache},
                                      {"emulated", device.name},
                                      {"n", options.n},
                                      {"block", options.block},
                                      {"cpus", options.cpus},
                                      {"memory_bytes", memory},
                                      {"seconds", row.seconds},
                                      {"super_tasks", row.super_tasks},
                                      {"bytes_from_host", device.bytes_from_host},
                                      {"bytes_to_host", device.bytes_to_host},
                                      {"hits", device.hits},
                                      {"misses", device.misses},
                                      {"backward_error", row.backward_error}};
    std::printf("%s\n", line.dump().c_str());
    return;
  }
  std::printf("%-9s %10.3f %12llu %10.2f %10.2f %10llu %10llu %15.2g\n",
              row.cache,
              row.seconds,
              static_cast<unsigned long long>(row.super_tasks),
              static_cast<double>(device.bytes_from_host) / 1e6,
              static_cast<double>(device.bytes_to_host) / 1e6,
              static_cast<unsigned long long>(device.hits),
              static_cast<unsigned long long>(device.misses),
              row.backward_error);
}

} // namespace

bool run_on_threads(ThreadOptions const& options, bool json) {
  auto const pattern = matrix_pattern(options.n);
  auto const block = options.block * options.block * sizeof(float);
  // The memory of a device is handed out in pieces of 256 bytes.
  auto const place = (block + 255) / 256 * 256;
  auto const one_task = (options.super * options.super + 2 * options.super) * place;
  auto const part = std::max(one_task, pattern.filled().count() * place * options.memory / 100);
  if (!json) {
    std::printf(
        "%zu x %zu blocks of %zu x %zu, single precision, %d cores and one emulated "
        "device, which computes as a core does\n\n%-9s %10s %12s %10s %10s %10s %10s %15s\n",
        options.n,
        options.n,
        options.block,
        options.block,
        options.cpus,
        "cache",
        "seconds",
        "super-tasks",
        "MB in",
        "MB out",
        "hits",
        "misses",
        "backward error");
  }
  bool good = true;

  struct Mode {
    char const* cache;
    bool guided;
    std::size_t memory;
  };

  for (auto const& mode :
       {Mode{"off", false, one_task}, Mode{"unguided", false, part}, Mode{"guided", true, part}}) {
    auto const row = factorise(mode.cache, mode.guided, mode.memory, pattern, options);
    print(row, options, mode.memory, json);
    constexpr double most = 100 * static_cast<double>(std::numeric_limits<float>::epsilon());
    good = good && row.backward_error < most;
  }
  return good;
}

} // namespace multigrain
