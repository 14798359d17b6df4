// SPDX-License-Identifier: MIT

#include "figures.hpp"

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/new_file.hpp>

#include "chart.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace kumar2017 {

namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<std::size_t>;

struct Figure {
  enum class Over {
    n,        // a line for each strategy
    draws,    // a dot for each draw
    boxes,    // of the draws, or of all ways to group
    clusters, // a dot for each way to group
    top       // the tenth of the ways to group that is best
  };

  std::string name;
  std::string title;
  std::string experiment;
  std::string metric;
  Names strategies;
  Sizes sizes;
  Over over = Over::n;
};

Names const hp{"heteroprio:hp",
               "heteroprio:sp",
               "heteroprio:cgv",
               "heteroprio:pp",
               "heteroprio:pc",
               "heteroprio:pcep",
               "heteroprio:pcept"};
Names const seven{"heteroprio",
                  "heteroprio@avg",
                  "dualhp",
                  "dualhp@avg",
                  "dualhp@fifo",
                  "heft:static",
                  "heft:static@avg"};
Names const on_groups{"heft", "heteroprio:area", "heteroprio:hetindex"};

std::vector<Figure> figures(bool full) {
  using enum Figure::Over;
  Sizes const small = full ? Sizes{4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32}
                           : Sizes{4, 8, 12, 16, 20, 24, 28, 32};
  Sizes const dags = full ? Sizes{4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64}
                          : Sizes{4, 6, 8, 10, 12, 16, 20, 24, 32, 48};
  Sizes const searched = full ? small : Sizes{4, 6, 8, 10, 12, 16, 20, 24}; // by search: seconds
  Sizes const noisy{8, 12, 16, 24};
  Sizes const grouped{4, 8, 12, 16, 24, 32};
  Names everything{"heft", "heftp", "heftp:let", "heftp:gb"};
  everything.insert(everything.end(), hp.begin() + 1, hp.end()); // without HP, which is far away
  everything.insert(everything.end(), {"ss", "ss+g", "ss+gs"});
  Names variants = hp;
  variants.emplace_back("iterative");
  std::vector<Figure> all{
      {"2.2",
       "bounds, mirage",
       "unrelated",
       "gflops",
       {"gemm-peak", "area", "critical", "mixed"},
       small},
      {"2.4", "9 cores", "homogeneous", "gflops", {"random", "dmda", "dmdas", "mixed"}, small},
      {"2.5", "related", "related", "gflops", {"random", "dmda", "dmdas", "mixed"}, small},
      {"2.7", "unrelated", "unrelated", "gflops", {"random", "dmda", "dmdas", "mixed"}, small},
      {"2.8",
       "gap to the mixed bound",
       "unrelated",
       "ratio",
       {"dmda", "dmdas", "related/dmda", "related/dmdas"},
       small},
      {"2.10",
       "hints and static schedules",
       "unrelated",
       "gflops",
       {"dmda", "dmdas", "dmdas+gemm", "dmdas+trsm", "dmdas+classes", "ss", "mixed"},
       searched},
      {"3.2",
       "bounds and static schedules",
       "original",
       "gflops",
       {"gemm-peak", "area", "critical", "mixed", "iterative", "ss"},
       searched},
      {"3.3",
       "static schedule, 12 tiles, times off by up to 10 %",
       "types",
       "ratio",
       {"ss", "ss+g", "ss+gs"},
       {12},
       draws},
      {"3.6",
       "heft variants",
       "original",
       "gflops",
       {"heft", "heftp", "heftp:let", "heftp:gb", "heftp:mms", "iterative"},
       {4, 8, 12, 16, 20, 24, 28}},
      {"3.10", "HeteroPrio variants", "original", "gflops", variants, small},
      {"3.11",
       "the best of each kind",
       "original",
       "gflops",
       {"ss", "ss+gs", "heftp:mms", "heteroprio:pcept", "iterative"},
       {4, 8, 12, 16, 20, 24, 28}},
      {"3.12", "times off by up to 10 %, 30 draws", "types", "ratio", everything, noisy, boxes},
      {"3.12-hp",
       "times off by up to 10 %, 30 draws: HP",
       "types",
       "ratio",
       {"heteroprio:hp", "heteroprio:sp"},
       noisy,
       boxes},
      {"3.13",
       "each execution off by up to 10 %, 30 seeds",
       "tasks",
       "ratio",
       {"ss", "ss+g", "ss+gs", "heteroprio:pcept"},
       {12},
       boxes},
  };
  for (auto const n : grouped) {
    all.push_back({"4.3",
                   "Cholesky, ways to group 20 cores",
                   "groups-cholesky",
                   "gflops",
                   on_groups,
                   {n},
                   clusters});
    all.push_back(
        {"4.4", "QR, ways to group 20 cores", "groups-qr", "gflops", on_groups, {n}, clusters});
  }
  all.push_back({"4.5-cholesky",
                 "Cholesky, the best tenth",
                 "groups-cholesky",
                 "gflops",
                 on_groups,
                 grouped,
                 top});
  all.push_back({"4.5-qr", "QR, the best tenth", "groups-qr", "gflops", on_groups, grouped, top});
  all.push_back({"4.9",
                 "Cholesky, best groups and single cores",
                 "groups-cholesky",
                 "best_gflops",
                 {"heft/single", "heft", "heteroprio:hetindex"},
                 {12, 24, 32}});
  for (auto const* const dag : {"cholesky", "qr", "lu"}) {
    std::string const name = dag;
    all.push_back({"5.11-" + name,
                   "independent tasks, ratio to the area bound",
                   "independent-" + name,
                   "ratio",
                   {"heteroprio", "dualhp", "heft:static"},
                   dags});
    all.push_back(
        {"5.12-" + name, "ratio to the lower bound", "dag-" + name, "ratio", seven, dags});
    for (auto const* const side : {"cpu", "gpu"}) {
      auto const of = std::string("-") + side + "-";
      all.push_back({"5.13" + of + name,
                     "acceleration factor of what ran there",
                     "dag-" + name,
                     side[0] == 'c' ? "accel_cpu" : "accel_gpu",
                     seven,
                     dags});
      all.push_back({"5.14" + of + name,
                     "idle time by use in the bound's solution",
                     "dag-" + name,
                     side[0] == 'c' ? "idle_cpu_norm" : "idle_gpu_norm",
                     seven,
                     dags});
    }
  }
  return all;
}

class Writer {
public:
  Writer(Laboratory& laboratory, std::string folder)
      : laboratory_(laboratory), folder_(std::move(folder)) {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
  }

  void write(Figure const& figure) const {
    Chart chart;
    using enum Figure::Over;
    auto name = figure.name;
    chart.title = "Fig. " + name + ", virtual time: " + figure.title;
    chart.y = figure.metric;
    chart.x = figure.over == draws      ? "draw"
              : figure.over == clusters ? "clusters"
                                        : "tiles in a row";
    chart.kind = figure.over == boxes || figure.over == top ? Chart::Kind::boxes
                 : figure.over == n                         ? Chart::Kind::lines
                                                            : Chart::Kind::dots;
    if (figure.over == clusters) {
      name += "-" + std::to_string(figure.sizes.front());
      chart.title += ", " + std::to_string(figure.sizes.front()) + " tiles";
    }
    for (auto const& strategy : figure.strategies) {
      chart.series.push_back({strategy, points(figure, strategy)});
    }
    std::string table = "strategy," + chart.x + "," + chart.y + "\n";
    for (auto const& series : chart.series) {
      for (auto const& [x, y] : series.points) {
        char line[80];
        std::snprintf(line, sizeof line, ",%g,%.6g\n", x, y);
        table += series.name + line;
      }
    }
    save(name + ".csv", table);
    save(name + ".svg", chart.svg());
  }

private:
  [[nodiscard]] std::vector<std::pair<double, double>> points(Figure const& figure,
                                                              std::string const& strategy) const {
    using enum Figure::Over;
    std::vector<std::pair<double, double>> all;
    for (auto const size : figure.sizes) {
      Place const at{figure.experiment, size};
      auto const x = static_cast<double>(size);
      if (figure.over == n) {
        all.emplace_back(x, laboratory_.figure(at, strategy, figure.metric));
      } else if (figure.over == clusters || figure.over == top) {
        auto speeds = laboratory_.speeds(at, strategy);
        if (figure.over == top) {
          std::sort(speeds.begin(), speeds.end(), std::greater<>());
          speeds.resize(std::max<std::size_t>(1, speeds.size() / 10));
        }
        for (std::size_t k = 0; k < speeds.size(); ++k) {
          auto const count = kumar2017::clusters(laboratory_.ways(figure.experiment)[k]);
          all.emplace_back(figure.over == top ? x : static_cast<double>(count), speeds[k]);
        }
      } else {
        auto const values = laboratory_.draws(at, strategy, figure.metric);
        for (std::size_t k = 0; k < values.size(); ++k) {
          all.emplace_back(figure.over == draws ? static_cast<double>(k + 1) : x, values[k]);
        }
      }
    }
    return all;
  }

  void save(std::string const& name, std::string const& text) const {
    hs::detail::replace_file(folder_ + "/" + name, text);
  }

  Laboratory& laboratory_;
  std::string const folder_;
};

} // namespace

void check_figures(std::vector<std::string> const& only) {
  auto const all = figures(false);
  for (auto const& name : only) {
    auto const same = [&](Figure const& known) { return known.name == name; };
    if (std::none_of(all.begin(), all.end(), same)) {
      throw hs::Error(hs::ErrorCode::bad_input, "--figure", name + " is not here");
    }
  }
}

void write_figures(Laboratory& laboratory,
                   std::string const& folder,
                   std::vector<std::string> const& only,
                   bool full) {
  Writer const writer(laboratory, folder);
  for (auto const& figure : figures(full)) {
    if (only.empty() || std::find(only.begin(), only.end(), figure.name) != only.end()) {
      writer.write(figure);
    }
  }
}

} // namespace kumar2017
