// SPDX-License-Identifier: MIT
#pragma once
// The lower bounds that programs print, as the command line asks for them.

#include <hetsched/bounds/bounds.hpp>
#ifdef HETSCHED_HAVE_CLP
#include <hetsched/bounds/linear_bounds.hpp>
#endif

#include "../common/machine.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace benchmarks {

/// Of one graph on one machine; nothing: not asked for, not known for such a graph, or not computed
/// without Clp.
struct GraphBounds {
  std::optional<hs::Duration> area;
  std::optional<hs::Duration> mixed;
  std::optional<hs::Duration> path;
  std::optional<hs::Duration> iterative;
  std::vector<hs::Duration> area_use; // see AreaSolution; none for more than two classes
  std::optional<double> gemm_peak;    // GFlop/s if all workers did nothing but gemm

  [[nodiscard]] std::optional<hs::Duration> best() const {
    return std::max({area, mixed, path, iterative}); // nothing is less than all
  }

  /// Under the names that all programs use.
  void add_to(nlohmann::ordered_json& row) const {
    auto const seconds = [&](char const* name, std::optional<hs::Duration> bound) {
      row[name] = bound ? nlohmann::ordered_json(bound->seconds()) : nullptr;
    };
    seconds("area_bound_s", area);
    seconds("mixed_bound_s", mixed);
    seconds("critical_path_s", path);
    seconds("iterative_bound_s", iterative);
    row["gemm_peak_gflops"] = gemm_peak ? nlohmann::ordered_json(*gemm_peak) : nullptr;
  }
};

/// Which of them.
class BoundChoice {
public:
  void add_to(CLI::App& app) {
    app.add_option("--bounds",
                   names_,
                   "some of area,mixed,critical,iterative; by default the first three, and all for "
                   "cholesky of up to 32 tiles, where the last takes a moment only")
        ->delimiter(',')
        ->check(CLI::IsMember({"area", "mixed", "critical", "iterative"}));
  }

  [[nodiscard]] GraphBounds of(hs::TaskGraph const& graph,
                               Machine const& machine,
                               hs::Platform const& platform,
                               std::string const& library,
                               std::optional<std::size_t> tiles,
                               hs::ClassTimes const& times) const {
    GraphBounds bounds;
    if (auto const solution = hs::area_solution(times)) {
      bounds.area_use = solution->use;
      bounds.area = wants("area") ? std::optional(solution->bound) : std::nullopt;
    }
    if (wants("mixed")) {
      bounds.mixed = machine.mixed_bound(platform, tiles, library);
    }
    if (wants("critical")) {
      bounds.path = hs::critical_path(graph, hs::shortest_times(times));
    }
#ifdef HETSCHED_HAVE_CLP
    bool const quick = machine.dag == "cholesky" && tiles <= std::size_t{32};
    if (names_.empty() ? quick : wants("iterative")) {
      bounds.iterative = hs::iterative_bound(graph, times);
    }
#endif
    if (auto const* const gemm = platform.find(
            "gemm", machine.kernels_of(), machine.arithmetic(), machine.tile, library)) {
      bounds.gemm_peak = hs::peak_gflops(platform, *gemm);
    }
    return bounds;
  }

private:
  [[nodiscard]] bool wants(std::string const& name) const {
    return names_.empty() || std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  std::vector<std::string> names_;
};

} // namespace benchmarks
