// SPDX-License-Identifier: MIT

#include "figures.hpp"

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/new_file.hpp>

#include "../common/line_plot.hpp"
#include "../common/text.hpp"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>

namespace multigrain {

namespace {

struct Figure {
  std::string name;
  std::string title;
  std::string workload;
  std::string metric;
  std::string unit;
  std::vector<std::string> strategies;
};

std::vector<Figure> figures() {
  std::vector<std::string> const on_gpu{"gpu-coarse", "gpu-cached"};
  return {{"4a",
           "step 3, one kind of worker, system 1",
           "step3",
           "gflops",
           "GFlop/s",
           {"cpus-fine", "cpus-coarse", "gpu-fine", "gpu-coarse"}},
          {"4b",
           "step 3 on both, no cache, system 1",
           "step3",
           "gflops",
           "GFlop/s",
           {"both-off", "both-fine", "both-coarse"}},
          {"6a", "all transfers, GPU of system 1", "step3", "transfer_seconds", "s", on_gpu},
          {"6b", "workload over transfers, GPU of system 1", "step3", "ratio", "GFlop/s", on_gpu},
          {"6c", "step 3, GPU of system 1", "step3", "gflops", "GFlop/s", on_gpu},
          {"6d",
           "step 3 on both, system 1",
           "step3",
           "gflops",
           "GFlop/s",
           {"both-off", "both-unguided", "both-guided"}},
          {"7a",
           "step 3, system 1",
           "step3",
           "gflops",
           "GFlop/s",
           {"sum", "both-guided", "gpu-guided", "cpus-fine"}},
          {"7b",
           "step 3, system 2",
           "step3",
           "gflops",
           "GFlop/s",
           {"sum@2", "both-guided@2", "gpu-guided@2", "cpus-fine@2"}},
          {"7c",
           "all steps, system 1",
           "all",
           "gflops",
           "GFlop/s",
           {"both-guided", "gpu-guided", "cpus-fine"}},
          {"7d",
           "all steps, system 2",
           "all",
           "gflops",
           "GFlop/s",
           {"both-guided@2", "gpu-guided@2", "cpus-fine@2"}}};
}

} // namespace

void write_figures(Runs& runs, Settings const& settings, std::string const& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw hs::Error(hs::ErrorCode::bad_input, folder, failed.message());
  }
  for (auto const& figure : figures()) {
    papers::LinePlot plot;
    plot.title = "Fig. " + figure.name + ", virtual time: " + figure.title;
    plot.x = "blocks";
    plot.y = figure.unit;
    std::string table = "strategy,blocks," + figure.metric + "\n";
    for (auto const& strategy : figure.strategies) {
      auto& line = plot.lines.emplace_back(papers::Line{strategy, {}});
      for (auto const n : settings.sizes) {
        papers::Configuration const at{figure.workload, papers::Point({{"n", n}}), strategy};
        auto const value = runs.metric(at, figure.metric).value;
        line.points.emplace_back(static_cast<double>(n * n), value);
        table += papers::text("%s,%zu,%.6g\n", strategy.c_str(), n * n, value);
      }
    }
    hs::detail::replace_file(folder + "/fig" + figure.name + ".csv", table);
    plot.write(folder + "/fig" + figure.name + ".svg");
  }
}

} // namespace multigrain
