// SPDX-License-Identifier: MIT
#pragma once
// What the kernels of the library's algorithms take on this machine.

#include <hetsched/core/config.hpp>
#include <hetsched/core/types.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace benchmarks {

namespace hs = hetsched;

/// Means and deviations of one kernel on one class of worker.
struct Sampled {
  std::uint64_t count = 0;
  double mean = 0;
  double squares = 0; // of the distances to the mean

  void add(double seconds) { // Welford's
    ++count;
    auto const before = seconds - mean;
    mean += before / static_cast<double>(count);
    squares += before * (seconds - mean);
  }

  /// Of at least two.
  [[nodiscard]] double deviation() const {
    return std::sqrt(squares / static_cast<double>(count - 1));
  }
};

/// A kernel's times by class, and how much data it has.
struct Measured {
  std::array<Sampled, 2> on; // cores, GPUs
  std::size_t bytes = 0;
  double flops = 0;   // of all executions together, where tasks tell theirs
  hs::ArchMask archs; // classes that have a body

  /// Of one execution, in the mean; 0: unknown.
  [[nodiscard]] double mean_flops() const {
    auto const count = on[0].count + on[1].count;
    return count == 0 ? 0 : flops / static_cast<double>(count);
  }

  [[nodiscard]] bool enough(bool gpus) const {
    constexpr std::uint64_t least = 3;
    return (!archs.has(hs::ArchHost) || on[0].count >= least) &&
           (!gpus || !archs.has(hs::ArchCUDA) || on[1].count >= least);
  }
};

/// The kernels of `algorithm` (cholesky, qr, gemm or jacobi) by name, on 6 x 6 tiles; or those of a
/// sparse solver (sparse_lu, sparse_cholesky) whose tiles have so many rows: `repeat` runs, and
/// more until there are some times of each kernel. For float and double; one thread at a time.
template <class T>
[[nodiscard]] std::map<std::string, Measured> measure_kernels(hs::Config const& config,
                                                              int repeat,
                                                              std::string const& algorithm,
                                                              std::size_t tile);

} // namespace benchmarks
