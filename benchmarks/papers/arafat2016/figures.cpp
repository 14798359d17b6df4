// SPDX-License-Identifier: MIT

#include "figures.hpp"

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/new_file.hpp>

#include "../common/line_plot.hpp"
#include "../common/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

namespace arafat2016 {

namespace {

/// Lines of a metric over the points of a workload.
struct Figure {
  std::string name;
  std::string title;
  std::string workload;
  std::string axis;
  std::vector<std::size_t> at;
  std::string metric;
  std::vector<std::string> strategies;
};

std::vector<Figure> figures() {
  std::vector<std::size_t> const sizes{10, 100, 200, 400, 500, 800, 1000, 1600};
  std::vector<std::size_t> const skews{0, 25, 50, 75, 100};
  std::vector<std::size_t> const nodes{1, 2, 4, 8, 16, 32};
  std::vector<std::string> thieves;
  for (auto const& strategy : mix_strategies()) {
    if (strategy.name != "cpu") {
      thieves.push_back(strategy.name);
    }
  }
  std::vector<Figure> all{{"7", "a product", "dgemm", "n", sizes, "seconds", {"team", "gpu"}}};
  for (auto const& mix : mixes()) {
    auto const letter = static_cast<char>('a' + (all.size() - 1));
    all.push_back({std::string("8") + letter,
                   "over cores only, " + mix.name,
                   mix.name,
                   "skew",
                   skews,
                   "speedup",
                   thieves});
  }
  for (auto const& [name, suffix] : {std::pair("11", ""), std::pair("12", double_ended_suffix)}) {
    auto& figure = all.emplace_back(Figure{
        name, "CCSD(T) over cores only", "ccsd_t", "nodes", nodes, "speedup", {"cpu", "gpu"}});
    for (auto const& how : distributions()) {
      figure.strategies.push_back(how.name + suffix);
    }
  }
  return all;
}

void write(papers::LinePlot const& plot,
           std::string const& folder,
           std::string const& name,
           std::string const& table) {
  hs::detail::replace_file(folder + "/fig" + name + ".csv", table);
  plot.write(folder + "/fig" + name + ".svg");
}

void write_lines(Figure const& figure, Runs& runs, std::string const& folder) {
  papers::LinePlot plot;
  plot.title = "Fig. " + figure.name + ", virtual time: " + figure.title;
  plot.x = figure.axis + (figure.axis == "skew" ? ", percent" : "");
  plot.y = figure.metric;
  std::string table = "strategy," + figure.axis + "," + figure.metric + "\n";
  for (auto const& strategy : figure.strategies) {
    auto& line = plot.lines.emplace_back(papers::Line{strategy, {}});
    for (auto const x : figure.at) {
      papers::Configuration const at{figure.workload, papers::Point({{figure.axis, x}}), strategy};
      auto const value = runs.metric(at, figure.metric).value;
      line.points.emplace_back(static_cast<double>(x), value);
      table += papers::text("%s,%zu,%.6g\n", strategy.c_str(), x, value);
    }
  }
  write(plot, folder, figure.name, table);
}

/// A line for each size, over the depths in the paper's order.
void write_pipelines(Runs& runs, std::string const& folder) {
  papers::LinePlot plot;
  plot.title = "Fig. 9, virtual time: 1 (1,*), 2 (2,*), 3 (2,2), 4 (2,4), 5 (2,6), 6 (4,8), "
               "7 (6,8), 8 (8,8)";
  plot.x = "pipeline";
  plot.y = "time over (2,*)";
  std::string table = "n,pipeline,seconds,slowdown\n";
  for (std::size_t const n : {10, 100, 500, 1000}) {
    auto& line = plot.lines.emplace_back(papers::Line{"n = " + std::to_string(n), {}});
    for (auto const& how : pipeline_strategies()) {
      papers::Configuration const at{"pipeline", papers::Point({{"n", n}}), how.name};
      auto const slowdown = runs.metric(at, "slowdown").value;
      line.points.emplace_back(static_cast<double>(line.points.size() + 1), slowdown);
      table += papers::text(
          "%zu,%s,%.6g,%.6g\n", n, how.name.c_str(), runs.metric(at, "seconds").value, slowdown);
    }
  }
  write(plot, folder, "9", table);
}

/// How many contractions have which ratio.
void write_histogram(Runs const& runs, std::string const& folder) {
  constexpr double width = 0.25;
  std::vector<int> counts;
  for (auto const ratio : runs.ratios()) {
    auto const bin = static_cast<std::size_t>(std::floor(ratio / width));
    counts.resize(std::max(counts.size(), bin + 1));
    ++counts[bin];
  }
  papers::LinePlot plot;
  plot.title = "Fig. 10: contractions of CCSD(T), expected time on a team over that on the GPU";
  plot.x = "ratio";
  plot.y = "contractions";
  auto& line = plot.lines.emplace_back(papers::Line{"contractions", {}});
  std::string table = "from,to,contractions\n";
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    auto const from = width * static_cast<double>(bin);
    line.points.emplace_back(from + width / 2, counts[bin]);
    table += papers::text("%.2f,%.2f,%d\n", from, from + width, counts[bin]);
  }
  write(plot, folder, "10", table);
}

struct Writer {
  std::string name;
  std::function<void(Runs&, std::string const&)> write;
};

std::vector<Writer> writers() {
  std::vector<Writer> all{{"9", &write_pipelines}, {"10", &write_histogram}};
  for (auto const& figure : figures()) {
    all.push_back({figure.name, [figure](Runs& runs, std::string const& folder) {
                     write_lines(figure, runs, folder);
                   }});
  }
  return all;
}

} // namespace

void check_figures(std::vector<std::string> const& only) {
  auto const all = writers();
  for (auto const& name : only) {
    if (named(all, name) == nullptr) {
      throw hs::Error(hs::ErrorCode::bad_input, "--figure", name + " is no figure");
    }
  }
}

void write_figures(Runs& runs, std::string const& folder, std::vector<std::string> const& only) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw hs::Error(hs::ErrorCode::bad_input, folder, failed.message());
  }
  for (auto const& [name, write] : writers()) {
    if (only.empty() || std::find(only.begin(), only.end(), name) != only.end()) {
      write(runs, folder);
    }
  }
}

} // namespace arafat2016
