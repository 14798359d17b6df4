// SPDX-License-Identifier: MIT
#pragma once
// The lower bounds that programs print, as the command line asks for them.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/platform/simulation.hpp>

#include "../common/machine.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

/// Of one graph on one machine; nothing: not asked for, not known for such a graph, or not computed
/// without Clp.
struct GraphBounds {
  std::optional<hs::Duration> area;
  std::optional<hs::Duration> mixed;
  std::optional<hs::Duration> path;
  std::optional<hs::Duration> iterative;
  std::optional<hs::Duration> transfer;
  std::vector<hs::Duration> area_use; // see AreaSolution; none for more than two classes
  std::optional<double> gemm_peak;    // GFlop/s if all workers did nothing but gemm

  [[nodiscard]] std::optional<hs::Duration> best() const;

  /// Under the names that all programs use.
  void add_to(nlohmann::ordered_json& row) const;
};

/// Which of them.
class BoundChoice {
public:
  void add_to(CLI::App& app);

  /// The transfer bound is for runs with this cost of moving data.
  [[nodiscard]] GraphBounds of(hs::TaskGraph const& graph,
                               Machine const& machine,
                               hs::Platform const& platform,
                               std::string const& library,
                               std::optional<std::size_t> tiles,
                               hs::ClassTimes const& times,
                               std::string const& comm) const;

private:
  [[nodiscard]] bool wants(std::string_view name) const;

  std::vector<std::string> names_;
};

} // namespace benchmarks
