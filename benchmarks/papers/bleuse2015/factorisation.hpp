// SPDX-License-Identifier: MIT
#pragma once
// Cholesky factorisations in virtual time, on the machine of table 2.

#include "settings.hpp"

#include <cstddef>
#include <string>

namespace bleuse2015 {

struct Factorisation {
  std::string strategy;
  Matrix matrix;
  std::size_t tile = 0;
  int cores = 0;
  int gpus = 0;
  int window = 0;
};

struct Result {
  double seconds = 0; // virtual, until the factor is in host memory
  double bytes = 0;   // from and to GPU memories
  double flops = 0;
  double scheduling_seconds = 0; // real, in all hooks of the scheduler
  double on_gpus_percent = 0;    // of the tasks
  std::size_t tasks = 0;
};

/// Runs once, because no strategy is random. One GPU of each switch is used before two of any.
/// potrf runs on cores only, links are shared, and no data are sent ahead of a GPU's window. Throws
/// Error(bad_input) if the file lacks kernels or GPUs, and for "accel", which does not run in this
/// way.
[[nodiscard]] Result
factorise(hetsched::Platform const& platform, std::string const& file, Factorisation const& what);

} // namespace bleuse2015
