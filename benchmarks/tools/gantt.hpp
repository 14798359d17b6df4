// SPDX-License-Identifier: MIT
#pragma once
// A schedule drawn: who ran what when, as SVG.

#include <hetsched/core/workers.hpp>
#include <hetsched/platform/simulation.hpp>

#include "../common/svg_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// Collects the executions of one run and draws a line for each worker, a colour for each task
/// type. What was aborted is not filled (as in Kumar 2017, fig. 3.9). Neighbours that are too
/// narrow to be told apart become one, so that a large run makes no large picture.
class Gantt {
public:
  void add(hs::SimulatedTask const& task) {
    auto known = std::find(types_.begin(), types_.end(), task.type);
    if (known == types_.end()) {
      known = types_.emplace(types_.end(), task.type);
    }
    boxes_.push_back({static_cast<std::size_t>(known - types_.begin()),
                      static_cast<std::size_t>(task.worker.index()),
                      task.begin,
                      task.end,
                      task.aborted});
  }

  /// `marks`: instants with names, such as lower bounds.
  [[nodiscard]] std::string svg(std::string const& title,
                                hs::Platform const& platform,
                                hs::Duration makespan,
                                std::vector<std::pair<std::string, hs::Duration>> const& marks) {
    std::vector<std::string> names;
    for (auto const& one_class : platform.classes) {
      for (int k = 0; k < one_class.workers; ++k) {
        names.push_back(one_class.name + " " + std::to_string(k));
      }
    }
    return svg(title, names, makespan, marks);
  }

  /// The same for workers with names.
  [[nodiscard]] std::string svg(std::string const& title,
                                std::vector<std::string> const& names,
                                hs::Duration makespan,
                                std::vector<std::pair<std::string, hs::Duration>> const& marks) {
    auto last = makespan;
    for (auto const& [name, at] : marks) {
      last = std::max(last, at);
    }
    sort_types();
    scale_ = plot_width / std::max(last.seconds(), 1e-9);
    row_ = std::clamp(900.0 / std::max(static_cast<double>(names.size()), 1.0), 2.0, 18.0);
    bottom_ = top + row_ * static_cast<double>(names.size());
    text_.clear();
    append(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" )",
           left + plot_width + 30,
           bottom_ + 62);
    text_ += "font-family=\"sans-serif\" font-size=\"11\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    write(left, 18, "start", "font-size=\"14\"", title);
    for (std::size_t w = 0; w < names.size(); ++w) {
      append("<rect x=\"%.0f\" y=\"%.2f\" width=\"%.0f\" height=\"%.2f\" fill=\"#eee\"/>\n",
             left,
             top + row_ * static_cast<double>(w),
             plot_width,
             row_ * 0.9);
      if (row_ >= 9 || w % static_cast<std::size_t>(std::ceil(9 / row_)) == 0) {
        write(left - 6, top + row_ * (static_cast<double>(w) + 0.75), "end", "", names[w]);
      }
    }
    draw_boxes();
    draw_axis(last);
    for (auto const& [name, at] : marks) {
      append("<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%.0f\" y2=\"%.2f\" stroke=\"black\" "
             "stroke-dasharray=\"6,3\"/>\n",
             x(at),
             x(at),
             top - 6,
             bottom_);
      write(x(at) - 3, top - 8, "end", "", name);
    }
    draw_legend();
    return text_ += "</svg>\n";
  }

private:
  struct Box {
    std::size_t type;
    std::size_t worker;
    hs::Instant begin;
    hs::Instant end;
    bool aborted;
  };

  static constexpr double left = 70;
  static constexpr double top = 44;
  static constexpr double plot_width = 1200;
  static constexpr double narrow = 0.3; // what nobody can tell from its neighbour

  // Okabe and Ito's colours, which most people can tell apart.
  static constexpr std::array colours{
      "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"};

  template <class... Numbers>
  void append(char const* format, Numbers... numbers) {
    std::array<char, 256> line;
    std::snprintf(line.data(), line.size(), format, numbers...);
    text_ += line.data();
  }

  void write(double at_x, double at_y, char const* anchor, char const* how, std::string_view what) {
    append("<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" %s>", at_x, at_y, anchor, how);
    text_ += svg_text(what) + "</text>\n";
  }

  [[nodiscard]] double x(hs::Duration at) const { return left + at.seconds() * scale_; }

  [[nodiscard]] static char const* colour(std::size_t type) {
    return colours[type % colours.size()];
  }

  /// By name, so that the same types have the same colours in every picture.
  void sort_types() {
    auto sorted = types_;
    std::sort(sorted.begin(), sorted.end());
    for (auto& box : boxes_) {
      auto const place = std::lower_bound(sorted.begin(), sorted.end(), types_[box.type]);
      box.type = static_cast<std::size_t>(place - sorted.begin());
    }
    types_ = std::move(sorted);
  }

  void draw_boxes() {
    std::sort(boxes_.begin(), boxes_.end(), [](Box const& a, Box const& b) {
      return std::tuple(a.type, a.aborted, a.worker, a.begin, a.end) <
             std::tuple(b.type, b.aborted, b.worker, b.begin, b.end);
    });
    for (std::size_t k = 0; k < boxes_.size();) {
      auto const type = boxes_[k].type;
      append("<g fill=\"%s\" stroke=\"%s\" stroke-width=\"0\">\n", colour(type), colour(type));
      while (k < boxes_.size() && boxes_[k].type == type) {
        auto const& first = boxes_[k];
        auto const from = x(first.begin - hs::Instant{});
        auto to = x(first.end - hs::Instant{});
        for (++k;
             k < boxes_.size() && boxes_[k].type == type && boxes_[k].aborted == first.aborted &&
             boxes_[k].worker == first.worker && x(boxes_[k].end - hs::Instant{}) - to < narrow &&
             x(boxes_[k].begin - hs::Instant{}) - to < narrow;
             ++k) {
          to = std::max(to, x(boxes_[k].end - hs::Instant{}));
        }
        append("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"%s/>\n",
               from,
               top + row_ * static_cast<double>(first.worker) + row_ * 0.05,
               std::max(to - from - 0.2, 0.1), // a gap between neighbours
               row_ * 0.8,
               first.aborted ? R"( fill="none" stroke-width="1" stroke-dasharray="2,1")" : "");
      }
      text_ += "</g>\n";
    }
  }

  /// Some eight round instants.
  void draw_axis(hs::Duration last) {
    auto const power = std::pow(10, std::floor(std::log10(std::max(last.seconds(), 1e-9) / 8)));
    auto const rough = last.seconds() / 8 / power;
    auto const step = power * (rough < 2 ? 2 : rough < 5 ? 5 : 10);
    for (int k = 0; k * step <= last.seconds() * (1 + 1e-9); ++k) {
      auto const at = left + k * step * scale_;
      append("<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\" stroke=\"black\"/>\n",
             at,
             at,
             bottom_,
             bottom_ + 5);
      std::array<char, 32> text;
      std::snprintf(text.data(), text.size(), "%g s", k * step);
      write(at, bottom_ + 18, "middle", "", text.data());
    }
  }

  void draw_legend() {
    double at = left;
    bool const aborted =
        std::any_of(boxes_.begin(), boxes_.end(), [](Box const& box) { return box.aborted; });
    for (std::size_t t = 0; t < types_.size() + (aborted ? 1 : 0); ++t) {
      bool const type = t < types_.size();
      append("<rect x=\"%.0f\" y=\"%.2f\" width=\"12\" height=\"12\" %s%s\"/>\n",
             at,
             bottom_ + 36,
             type ? "fill=\"" : "fill=\"none\" stroke-dasharray=\"2,1\" stroke=\"",
             type ? colour(t) : "black");
      std::string const name(type ? types_[t] : "aborted");
      write(at + 17, bottom_ + 46, "start", "", name);
      at += 40 + 7 * static_cast<double>(name.size());
    }
  }

  std::vector<std::string> types_;
  std::vector<Box> boxes_;
  std::string text_;
  double scale_ = 1; // units for a second
  double row_ = 1;   // height for a worker
  double bottom_ = 0;
};

} // namespace benchmarks
