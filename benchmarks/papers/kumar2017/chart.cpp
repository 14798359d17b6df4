// SPDX-License-Identifier: MIT

#include "chart.hpp"

#include "../../common/svg_text.hpp"
#include "../common/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>

namespace kumar2017 {

using papers::text;

namespace {

constexpr double width = 560;
constexpr double height = 340;
constexpr double left_edge = 70;
constexpr double top_edge = 34;
constexpr std::array colours{"#1b6ca8",
                             "#d1495b",
                             "#2e8b57",
                             "#e08e0b",
                             "#6a4c93",
                             "#444444",
                             "#17a2b8",
                             "#a0522d",
                             "#8fb339",
                             "#c77dff",
                             "#000080",
                             "#b5b35c",
                             "#7a9e9f",
                             "#ff6f91"};

/// A step of 1, 2 or 5 times a power of ten. About six steps make the span.
double step_of(double span) {
  auto const power = std::pow(10, std::floor(std::log10(span / 6)));
  for (double const digit : {1.0, 2.0, 5.0}) {
    if (span / (digit * power) <= 7) {
      return digit * power;
    }
  }
  return 10 * power;
}

class Drawing {
public:
  explicit Drawing(Chart const& chart) : chart_(chart) {
    bool first = true;
    for (auto const& series : chart.series) {
      for (auto const& [at, y] : series.points) {
        categories_.insert(at);
      }
    }
    for (auto const& series : chart.series) {
      for (auto const& [at, y] : series.points) {
        auto const x = place(at);
        low_x_ = first ? x : std::min(low_x_, x);
        high_x_ = first ? x : std::max(high_x_, x);
        low_y_ = first ? y : std::min(low_y_, y);
        high_y_ = first ? y : std::max(high_y_, y);
        first = false;
      }
    }
    if (chart.kind == Chart::Kind::boxes) { // half a place on both sides
      low_x_ = -0.5;
      high_x_ = static_cast<double>(categories_.size()) - 0.5;
    } else {
      widen(low_x_, high_x_, 0.02);
    }
    widen(low_y_, high_y_, 0.05);
  }

  [[nodiscard]] std::string svg() {
    auto const legend = 18.0 * static_cast<double>(chart_.series.size()) + top_edge;
    svg_ = text(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" )",
                left_edge + width + 190,
                std::max(top_edge + height + 50, legend)) +
           "font-family=\"sans-serif\" font-size=\"12\">\n"
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    write(left_edge, 20, "start", chart_.title);
    axes();
    std::size_t k = 0;
    for (auto const& series : chart_.series) {
      auto const* const colour = colours[k % colours.size()];
      if (chart_.kind == Chart::Kind::boxes) {
        boxes(series, k, colour);
      } else {
        points(series, colour);
      }
      auto const y = top_edge + 18.0 * static_cast<double>(k);
      svg_ += text("<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
                   left_edge + width + 14,
                   y,
                   colour);
      write(left_edge + width + 32, y + 11, "start", series.name);
      ++k;
    }
    return svg_ + "</svg>\n";
  }

private:
  static void widen(double& low, double& high, double by) {
    auto const margin = high > low ? (high - low) * by : std::max(1e-9, std::abs(high) * 0.1);
    low -= margin;
    high += margin;
  }

  /// Boxes are in the order of their numbers, at equal distances.
  [[nodiscard]] double place(double x) const {
    return chart_.kind != Chart::Kind::boxes
               ? x
               : static_cast<double>(std::distance(categories_.begin(), categories_.find(x)));
  }

  [[nodiscard]] double x_of(double x) const {
    return left_edge + width * (place(x) - low_x_) / (high_x_ - low_x_);
  }

  [[nodiscard]] double y_of(double y) const {
    return top_edge + height * (high_y_ - y) / (high_y_ - low_y_);
  }

  void write(double x, double y, char const* anchor, std::string const& what) {
    svg_ += text(R"(<text x="%.1f" y="%.1f" text-anchor="%s">)", x, y, anchor) +
            benchmarks::svg_text(what) + "</text>\n";
  }

  void line(double x1, double y1, double x2, double y2, char const* colour) {
    svg_ += text("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                 x1,
                 y1,
                 x2,
                 y2,
                 colour);
  }

  void tick(double x) {
    line(x_of(x), top_edge + height, x_of(x), top_edge + height + 4, "#000000");
    write(x_of(x), top_edge + height + 18, "middle", text("%g", x));
  }

  void axes() {
    auto const step_y = step_of(high_y_ - low_y_);
    for (auto y = std::ceil(low_y_ / step_y) * step_y; y <= high_y_; y += step_y) {
      line(left_edge, y_of(y), left_edge + width, y_of(y), "#dddddd");
      write(left_edge - 6, y_of(y) + 4, "end", text("%g", std::abs(y) < step_y / 1e6 ? 0.0 : y));
    }
    if (chart_.kind == Chart::Kind::boxes) {
      for (auto const x : categories_) {
        tick(x);
      }
    } else {
      auto const step_x = step_of(high_x_ - low_x_);
      for (auto x = std::ceil(low_x_ / step_x) * step_x; x <= high_x_; x += step_x) {
        tick(x);
      }
    }
    line(left_edge, top_edge, left_edge, top_edge + height, "#000000");
    line(left_edge, top_edge + height, left_edge + width, top_edge + height, "#000000");
    write(left_edge + width / 2, top_edge + height + 38, "middle", chart_.x);
    write(left_edge, top_edge - 2, "end", chart_.y);
  }

  void points(Series const& series, char const* colour) {
    if (chart_.kind == Chart::Kind::lines) {
      svg_ += text("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
      for (auto const& [x, y] : series.points) {
        svg_ += text("%.1f,%.1f ", x_of(x), y_of(y));
      }
      svg_ += "\"/>\n";
    }
    for (auto const& [x, y] : series.points) {
      svg_ += text(
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", x_of(x), y_of(y), colour);
    }
  }

  void boxes(Series const& series, std::size_t number, char const* colour) {
    std::map<double, std::vector<double>> by_x;
    for (auto const& [x, y] : series.points) {
      by_x[x].push_back(y);
    }
    auto const all = static_cast<double>(chart_.series.size());
    auto const room = width / static_cast<double>(categories_.size()) / (all + 1);
    auto const half = std::min(8.0, 0.42 * room);
    auto const shift = (static_cast<double>(number) - (all - 1) / 2) * room;
    for (auto& [x, values] : by_x) {
      std::sort(values.begin(), values.end());
      auto const at = [&](double part) {
        return values[static_cast<std::size_t>(
            std::lround(part * static_cast<double>(values.size() - 1)))];
      };
      auto const middle = x_of(x) + shift;
      line(middle, y_of(at(0)), middle, y_of(at(1)), colour);
      svg_ += text("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"white\" "
                   "stroke=\"%s\"/>\n",
                   middle - half,
                   y_of(at(0.75)),
                   2 * half,
                   y_of(at(0.25)) - y_of(at(0.75)),
                   colour);
      line(middle - half, y_of(at(0.5)), middle + half, y_of(at(0.5)), colour);
    }
  }

  Chart const& chart_;
  std::set<double> categories_; // all x
  double low_x_ = 0;
  double high_x_ = 1;
  double low_y_ = 0;
  double high_y_ = 1;
  std::string svg_;
};

} // namespace

std::string Chart::svg() const {
  return Drawing(*this).svg();
}

} // namespace kumar2017
