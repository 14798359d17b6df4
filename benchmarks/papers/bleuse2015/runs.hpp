// SPDX-License-Identifier: MIT
#pragma once
// The results of the claims' configurations. Each is run once.

#include <hetsched/independent/independent_tasks.hpp>
#include <hetsched/platform/platform.hpp>

#include "settings.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bleuse2015 {

/// Metrics and further figures by name.
using Facts = std::map<std::string, double>;

/// Lemma 3's instance, in units of 10^9 / m^2 ns: m tasks of 1 and next to nothing, and m rows of
/// one task A and m - 1 tasks B.
[[nodiscard]] std::vector<hetsched::TaskTimes> lemma3_tasks(std::int64_t m);

class Runs {
public:
  /// `file` describes the machine of fig. 4 and table 2. Of random instances, `instances` for each
  /// size and machine, drawn by `seed`.
  Runs(Settings const& settings, std::string file, int instances, std::uint64_t seed);

  /// Runs the configuration, unless that was done. Throws Error(bad_input).
  Facts const& of(papers::Configuration const& configuration);

  /// Runs those that were not run yet. Shows the progress on a terminal.
  void run(std::vector<papers::Configuration> const& those);

private:
  void draw_random(papers::Configuration const& configuration);
  [[nodiscard]] Facts time(papers::Configuration const& configuration) const;
  [[nodiscard]] Facts guarantee(papers::Configuration const& configuration) const;
  [[nodiscard]] Facts simulate(papers::Configuration const& configuration) const;

  Settings const& settings_;
  std::string const file_;
  hetsched::Platform const platform_;
  int const instances_;
  std::uint64_t const seed_;
  std::map<papers::Configuration, Facts> known_;
};

} // namespace bleuse2015
