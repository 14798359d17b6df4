// SPDX-License-Identifier: MIT
#pragma once
// One factorisation in virtual time.

#include <hetsched/platform/platform.hpp>
#include <hetsched/sparse/block_pattern.hpp>

#include "settings.hpp"

#include <cstddef>
#include <cstdint>

namespace multigrain {

namespace hs = hetsched;

/// What one run gave. Bytes and times of transfers are those of the GPU.
struct Outcome {
  double step3_seconds = 0; // between the barriers before and after step 3, of all iterations
  double all_seconds = 0;
  double bytes_in = 0;
  double bytes_out = 0;
  double transfer_seconds = 0; // cumulative
  double hit_percent = 0;      // of the data of tasks admitted there
  double kernel_seconds = 0;   // of the GPU
  double gpu_blocks = 0;       // percent of the updates that the GPU did
};

/// Seconds that kernels of so many blocks take on the GPU side by side: what a product takes alone,
/// and a full super-block, say what each block costs and what all of them together.
[[nodiscard]] double side_by_side(hs::Platform const& machine, std::size_t super, double blocks);

/// Factorises a matrix with this (filled) pattern. `memory`: of the GPU, in bytes; it counts with
/// the cache on. Throws Error(bad_input) that names the platform if it lacks a kernel.
[[nodiscard]] Outcome simulate(hs::Platform const& machine,
                               Settings const& settings,
                               Strategy const& strategy,
                               hs::sparse::BlockPattern const& filled,
                               std::size_t memory,
                               std::uint64_t seed);

} // namespace multigrain
