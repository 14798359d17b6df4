// SPDX-License-Identifier: MIT

#include "line_plot.hpp"

#include <hetsched/detail/files/new_file.hpp>

#include "../../common/svg_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace papers {

namespace {

constexpr double left = 70;
constexpr double top = 40;
constexpr double width = 520;
constexpr double height = 300;
constexpr std::array colours{
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"};

std::string format(char const* how, auto... values) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, how, values...);
  return buffer;
}

/// 1, 2 or 5 times a power of ten: about five steps to `most`.
double step_to(double most) {
  auto const rough = std::max(most, 1e-12) / 5;
  auto const power = std::pow(10, std::floor(std::log10(rough)));
  auto const digit = rough / power;
  return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

std::string label(double x, double y, char const* anchor, std::string const& text) {
  return format(R"(<text x="%.1f" y="%.1f" text-anchor="%s">)", x, y, anchor) +
         benchmarks::svg_text(text) + "</text>\n";
}

} // namespace

std::string LinePlot::svg() const {
  double most_x = 0;
  double most_y = 0;
  for (auto const& line : lines) {
    for (auto const& [px, py] : line.points) {
      most_x = std::max(most_x, px);
      most_y = std::max(most_y, py);
    }
  }
  auto const step_x = step_to(most_x);
  auto const step_y = step_to(most_y);
  auto const end_x = std::max(1.0, std::ceil(most_x / step_x)) * step_x;
  auto const end_y = std::max(1.0, std::ceil(most_y / step_y)) * step_y;
  auto const at_x = [&](double value) { return left + width * value / end_x; };
  auto const at_y = [&](double value) { return top + height * (1 - value / end_y); };
  auto text = format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" )",
                     left + width + 110,
                     top + height + 60) +
              "font-family=\"sans-serif\" font-size=\"12\">\n" +
              "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  text += label(left + width / 2, top - 16, "middle", title);
  text += label(left + width / 2, top + height + 44, "middle", x);
  text += label(left, top - 4, "end", y);
  for (double value = 0; value <= end_x * (1 + 1e-9); value += step_x) {
    text += format(R"(<path d="M%.1f %.1fV%.1f" stroke="#ddd"/>)", at_x(value), top, top + height);
    text += '\n';
    text += label(at_x(value), top + height + 18, "middle", format("%g", value));
  }
  for (double value = 0; value <= end_y * (1 + 1e-9); value += step_y) {
    text += format(R"(<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>)", left, at_y(value), left + width);
    text += '\n';
    text += label(left - 6, at_y(value) + 4, "end", format("%g", value));
  }
  for (std::size_t k = 0; k < lines.size(); ++k) {
    auto const* const colour = colours[k % colours.size()];
    auto const& points = lines[k].points;
    std::string path;
    for (auto const& [px, py] : points) {
      path += format("%s%.1f %.1f", path.empty() ? "M" : "L", at_x(px), at_y(py));
      text +=
          format(R"(<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>)", at_x(px), at_y(py), colour);
      text += "\n";
    }
    text += format(R"(<path stroke="%s" fill="none" d=")", colour) + path + "\"/>\n";
    auto const row = top + 16 * static_cast<double>(k) + 10; // of the legend, beside the figure
    text += format(R"(<path stroke="%s" stroke-width="3" d="M%.1f %.1fh14"/>)",
                   colour,
                   left + width + 8,
                   row - 4);
    text += '\n';
    text += label(left + width + 26, row, "start", lines[k].name);
  }
  return text + "</svg>\n";
}

void LinePlot::write(std::string const& file) const {
  hetsched::detail::replace_file(file, svg());
}

} // namespace papers
