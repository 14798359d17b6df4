// SPDX-License-Identifier: MIT
#pragma once
// The same factorisations on real threads, with an emulated device.

#include <cstddef>
#include <cstdint>

namespace multigrain {

struct ThreadOptions {
  std::size_t n = 0;       // blocks in a row
  std::size_t block = 24;  // elements in a row of a block
  std::size_t super = 5;   // blocks in a row of a super-block
  int cpus = 2;            // threads that compute, beside the device's
  std::size_t memory = 50; // of the device, in percent of the matrix
  std::uint64_t seed = 1;  // of the values
};

/// Factorises with the cache off, unguided and guided, solves a system with each, and prints times,
/// bytes and backward errors, as a table or as JSON. Returns false if an error is too large.
[[nodiscard]] bool run_on_threads(ThreadOptions const& options, bool json);

} // namespace multigrain
