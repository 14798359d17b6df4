// SPDX-License-Identifier: MIT

#include "mean.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace papers {

namespace {

/// The factor of the two-sided 95 % interval, by degrees of freedom from 1 on. Beyond the table it
/// is the normal distribution's, which is less than 2 % smaller.
double students_t(std::size_t degrees) {
  constexpr std::array table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
                             2.040,  2.037, 2.035, 2.032, 2.030, 2.028, 2.026, 2.024, 2.023, 2.021,
                             2.020,  2.018, 2.017, 2.015, 2.014, 2.013, 2.012, 2.011, 2.010, 2.009};
  return degrees <= table.size() ? table[degrees - 1] : 1.96;
}

} // namespace

Mean mean_of(std::vector<double> const& values) {
  auto const n = static_cast<double>(values.size());
  double sum = 0;
  for (auto const value : values) {
    sum += value;
  }
  auto const mean = sum / n;
  if (values.size() < 2) {
    return {mean, 0};
  }
  double squares = 0;
  for (auto const value : values) {
    squares += (value - mean) * (value - mean);
  }
  if (squares <= 1e-20 * n * mean * mean) { // rounding errors only
    return {mean, 0};
  }
  return {mean, students_t(values.size() - 1) * std::sqrt(squares / (n - 1) / n)};
}

} // namespace papers
