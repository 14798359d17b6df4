// SPDX-License-Identifier: MIT
#pragma once
// Machines, graphs and bounds of the experiments.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>

#include "../../common/machine.hpp"
#include "claims.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kumar2017 {

namespace hs = hetsched;

/// How many groups there are of each size; the sizes add up to the machine's cores.
using Grouping = std::map<int, int, std::greater<>>;

/// All ways to group so many cores in groups of the sizes given, the one with the fewest groups
/// first and single cores last.
[[nodiscard]] std::vector<Grouping> groupings(int cores, std::vector<int> const& sizes);

[[nodiscard]] int clusters(Grouping const& groups);

/// A graph on a machine.
struct Case {
  hs::Platform platform;
  hs::TaskGraph graph;
  hs::ClassTimes times;
  std::string algorithm;
  std::string library;
  std::size_t n = 0;
  double flops = 0;
  double related = 0;      // the common acceleration factor; 0: the machine's own factors
  bool gpus_first = false; // idle GPUs are served before idle cores
};

/// Cases and bounds of one experiment. The tile is 960, the arithmetic double.
class Setting {
public:
  /// `folder` has the platforms' files. Throws Error(bad_input).
  Setting(Experiment const& experiment, std::string const& folder);

  [[nodiscard]] Case at(std::size_t n) const;

  /// With cores in groups. A time that the platform has not for a size of group is interpolated in
  /// the speed, between the sizes next to it.
  [[nodiscard]] Case with_groups(Case const& instance, Grouping const& groups) const;

  /// Times of each type on each class off by a factor from 1 - noise to 1 + noise, and then all by
  /// one, so that the area bound is as before (sec. 3.5).
  [[nodiscard]] Case perturbed(Case const& instance, std::uint64_t seed) const;

  /// Cores for tasks: of all sizes of group.
  [[nodiscard]] int cores() const { return platform_.classes[0].workers; }

  /// area, critical, mixed, iterative or gemm-peak (the time that the machine would take at the
  /// speed of gemm). Instead of some iterative bounds: the larger of area and critical path.
  [[nodiscard]] hs::Duration bound(Case const& instance, std::string const& name) const;

private:
  [[nodiscard]] Case finished(hs::Platform platform, hs::TaskGraph graph, std::size_t n) const;
  [[nodiscard]] hs::TaskGraph graph_of(std::size_t n) const;

  Experiment const experiment_;
  benchmarks::Machine machine_;
  hs::Platform platform_;
};

/// The case with kernels that cores, or GPUs, do not run.
void forbid(Case& instance, std::string const& kernel, hs::Arch arch);

} // namespace kumar2017
