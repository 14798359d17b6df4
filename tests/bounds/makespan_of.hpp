// SPDX-License-Identifier: MIT
#pragma once
// What a division of tasks among classes of workers takes.

#include <hetsched/bounds/area_shares.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bounds_test {

/// How long the classes take with these parts, in nanoseconds.
inline double makespan_of(hetsched::ClassTimes const& times, std::vector<double> const& shares) {
  double longest = 0;
  for (std::size_t c = 0; c < times.workers.size(); ++c) {
    double work = 0;
    for (std::size_t v = 0; v < times.tasks(); ++v) {
      work += shares[v * times.workers.size() + c] * static_cast<double>(times.on(v, c).ns);
    }
    longest = std::max(longest, work / std::max(times.workers[c], 1));
  }
  return longest;
}

} // namespace bounds_test
