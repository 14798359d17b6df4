// SPDX-License-Identifier: MIT
#pragma once
// A figure with lines, as SVG.

#include <string>
#include <utility>
#include <vector>

namespace papers {

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points; // x and y, by rising x
};

struct LinePlot {
  std::string title;
  std::string x;
  std::string y;
  std::vector<Line> lines;

  /// With both axes from 0, a scale on each, and a legend.
  [[nodiscard]] std::string svg() const;

  /// Throws Error(bad_input) that names the file.
  void write(std::string const& file) const;
};

} // namespace papers
