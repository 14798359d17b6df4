// SPDX-License-Identifier: MIT
#include "graph_bounds.hpp"

#ifdef HETSCHED_HAVE_CLP
#include <hetsched/bounds/linear_bounds.hpp>
#include <hetsched/bounds/transfer_bound.hpp>
#endif

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace benchmarks {

std::optional<hs::Duration> GraphBounds::best() const {
  return std::max({area, mixed, path, iterative, transfer}); // nothing is less than all
}

void GraphBounds::add_to(nlohmann::ordered_json& row) const {
  auto const seconds = [&](char const* name, std::optional<hs::Duration> bound) {
    row[name] = bound ? nlohmann::ordered_json(bound->seconds()) : nullptr;
  };
  seconds("area_bound_s", area);
  seconds("mixed_bound_s", mixed);
  seconds("critical_path_s", path);
  seconds("iterative_bound_s", iterative);
  seconds("transfer_bound_s", transfer);
  row["gemm_peak_gflops"] = gemm_peak ? nlohmann::ordered_json(*gemm_peak) : nullptr;
}

void BoundChoice::add_to(CLI::App& app) {
  app.add_option("--bounds",
                 names_,
                 "some of area,mixed,critical,iterative,transfer; by default the first three, and "
                 "all for cholesky, qr and lu of up to 32 tiles, where the last take a moment; "
                 "transfer by default only with --comm shared")
      ->delimiter(',')
      ->check(CLI::IsMember({"area", "mixed", "critical", "iterative", "transfer"}));
}

GraphBounds BoundChoice::of(hs::TaskGraph const& graph,
                            Machine const& machine,
                            hs::Platform const& platform,
                            std::string const& library,
                            std::optional<std::size_t> tiles,
                            hs::ClassTimes const& times,
                            std::string const& comm) const {
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
  bool const quick = tiles && *tiles <= 32 &&
                     (machine.dag == "cholesky" || machine.dag == "qr" || machine.dag == "lu");
  if (names_.empty() ? quick : wants("iterative")) {
    bounds.iterative = hs::iterative_bound(graph, times);
  }
  if (names_.empty() ? quick && comm == "shared" : wants("transfer")) {
    bounds.transfer = hs::transfer_bound(graph, times, platform, transfers_of(comm));
  }
#endif
  if (auto const* const gemm = platform.find(
          "gemm", machine.kernels_of(), machine.arithmetic(), machine.tile, library)) {
    bounds.gemm_peak = hs::peak_gflops(platform, *gemm);
  }
  return bounds;
}

bool BoundChoice::wants(std::string_view name) const {
  return names_.empty() || std::find(names_.begin(), names_.end(), name) != names_.end();
}

} // namespace benchmarks
