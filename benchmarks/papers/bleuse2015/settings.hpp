// SPDX-License-Identifier: MIT
#pragma once
// The claims, and settings of the runs that the paper does not state.

#include <hetsched/platform/platform.hpp>

#include "../common/claims.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace bleuse2015 {

/// A matrix to be factorised.
struct Matrix {
  std::size_t n = 0;
  hetsched::Precision precision = hetsched::Precision::double_precision;
};

struct Settings {
  int instances = 0; // of each size on each machine
  Matrix blocks;     // of fig. 4
  int cores = 0;     // of fig. 4, beside one GPU
  Matrix gpus;       // of table 2
  std::size_t tile = 0;
  int window = 0; // tasks to which a GPU commits itself
  std::vector<papers::Claim> claims;
};

/// Throws Error(bad_input) that names file and place.
[[nodiscard]] Settings read_settings(std::string const& path);

} // namespace bleuse2015
