// SPDX-License-Identifier: MIT
#pragma once
// A machine measured into a file.

#include <hetsched/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// What is measured, and where to.
struct Calibration {
  std::string out;
  std::string name = "here";
  std::vector<std::string> algorithms{"cholesky", "qr"};
  std::vector<std::size_t> tiles{128, 256, 512};
  std::string precision = "double";
  std::string devices = "none";
  int cpus = 0;
  int repeat = 3;
  std::vector<int> groups;

  /// Workers that are groups of so many cores; without devices if these are several.
  [[nodiscard]] hs::Config config(int group = 1) const {
    hs::Config config;
    if (cpus != 0) {
      config.cpus = std::max(1, cpus / group);
    }
    config.group = group;
    config.devices = group == 1 ? devices : "none";
    return config;
  }
};

/// Measures, and writes the file. Throws Error(bad_input).
void calibrate(Calibration options);

} // namespace benchmarks
