// SPDX-License-Identifier: MIT
#pragma once
// Medians, their intervals, and whether a target is met.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

namespace overhead {

/// In order, without what is not a number: processes that failed.
[[nodiscard]] inline std::vector<double> sorted(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  return values;
}

[[nodiscard]] inline double median(std::vector<double> const& values) {
  auto const order = sorted(values);
  auto const n = order.size();
  return n == 0 ? std::nan("") : (order[(n - 1) / 2] + order[n / 2]) / 2;
}

struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// The median and the order statistics between which the true one lies with 95 % confidence
/// (normal approximation of the binomial); all there is of few values.
[[nodiscard]] inline Interval interval(std::vector<double> const& values) {
  auto const order = sorted(values);
  if (order.empty()) {
    return {std::nan(""), std::nan(""), std::nan("")};
  }
  auto const n = static_cast<double>(order.size());
  auto const reach = 1.96 * std::sqrt(n) / 2;
  auto const low = std::max(0.0, std::floor(n / 2 - reach));
  auto const high = std::min(n - 1, std::ceil(n / 2 + reach) - 1);
  return {
      median(values), order[static_cast<std::size_t>(low)], order[static_cast<std::size_t>(high)]};
}

/// What is aimed at: hetsched is at least `goal` times as fast as `peer`, or as the "serial"
/// program; or, of hetsched alone, as fast with "two workers" as with one, or that share of what
/// the area "bound" allows.
struct Target {
  std::string_view graph;
  std::size_t n; // 0: any
  int workers;
  std::string_view peer;
  double goal;
};

inline constexpr Target targets[] = {{"independent", 0, 2, "libgomp", 1},
                                     {"independent", 0, 2, "llvm_openmp", 1},
                                     {"independent", 0, 2, "onetbb", 1},
                                     {"independent", 0, 2, "starpu", 15},
                                     {"chain", 0, 2, "libgomp", 3},
                                     {"chain", 0, 2, "starpu", 15},
                                     {"cholesky_graph", 0, 2, "libgomp", 3},
                                     {"cholesky_graph", 0, 2, "starpu", 15},
                                     {"cholesky_again", 0, 2, "libgomp", 1},
                                     {"cholesky_again", 0, 2, "llvm_openmp", 1},
                                     {"cholesky_again", 0, 2, "onetbb", 1},
                                     {"fibonacci", 0, 1, "libgomp", 2},
                                     {"fibonacci", 0, 1, "llvm_openmp", 2},
                                     {"fibonacci", 0, 1, "onetbb", 2},
                                     {"fibonacci", 0, 2, "two workers", 1 / 0.6},
                                     {"fork_join", 0, 1, "serial", 0.1},
                                     {"fork_join", 0, 2, "two workers", 1 / 0.6},
                                     {"cholesky", 8192, 2, "libgomp", 1},
                                     {"cholesky", 8192, 2, "starpu", 1},
                                     {"cholesky", 8192, 2, "openblas", 1},
                                     {"cholesky", 8192, 2, "bound", 0.95}};

/// The target for such a comparison, or null.
[[nodiscard]] inline Target const*
target_of(std::string_view graph, std::size_t n, int workers, std::string_view peer) noexcept {
  for (auto const& target : targets) {
    if (target.graph == graph && (target.n == 0 || target.n == n) && target.workers == workers &&
        target.peer == peer) {
      return &target;
    }
  }
  return nullptr;
}

/// What the interval of a value says about its target.
[[nodiscard]] inline std::string_view verdict(Interval const& value, double goal) noexcept {
  return value.low >= goal ? "met" : value.high < goal ? "missed" : "unresolved";
}

} // namespace overhead
