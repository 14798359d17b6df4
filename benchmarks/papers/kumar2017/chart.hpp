// SPDX-License-Identifier: MIT
#pragma once
// A chart as SVG: lines, dots or boxes over numbers.

#include <string>
#include <utility>
#include <vector>

namespace kumar2017 {

/// Points of one colour, by x. Several at one x: dots, or a box of them.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  enum class Kind {
    lines, // through the points
    dots,
    boxes // median, quartiles and extremes of the points of each x, series side by side
  };

  std::string title;
  std::string x;
  std::string y;
  Kind kind = Kind::lines;
  std::vector<Series> series;

  [[nodiscard]] std::string svg() const;
};

} // namespace kumar2017
