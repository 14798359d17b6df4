// SPDX-License-Identifier: MIT
#pragma once
// Means of repeated runs.

#include <vector>

namespace papers {

/// A mean over the runs, and half of its 95 % confidence interval by Student's t; 0 for one run.
struct Mean {
  double value = 0;
  double half = 0;
};

/// There must be at least one value.
[[nodiscard]] Mean mean_of(std::vector<double> const& values);

} // namespace papers
