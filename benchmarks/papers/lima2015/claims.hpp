// SPDX-License-Identifier: MIT
#pragma once
// The paper's claims, read from a file, and settings of the runs that the paper does not state.

#include <hetsched/platform/platform.hpp>

#include "../common/claims.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace lima2015 {

using papers::Claim;
using papers::Configuration;

struct Workload {
  hetsched::Precision precision = hetsched::Precision::double_precision;
  std::size_t tile = 0; // of a vector: elements of a block
  std::size_t sweeps = 0;
};

/// Bandwidths that give the times of kernels bound by memory.
struct Memory {
  double gpu = 0;  // of a GPU's memory, bytes per second
  double core = 0; // for one core alone
  double host = 0; // of host memory, for all cores
};

struct Claims {
  int window = 0; // tasks to which a GPU commits itself
  std::map<std::string, Workload> workloads;
  Memory memory;
  std::vector<Claim> all;
};

/// Points are matrix or vector sizes, and how many of the machine's cores drive a GPU. Throws
/// Error(bad_input) that names file and place.
[[nodiscard]] Claims read_claims(std::string const& path);

} // namespace lima2015
