// SPDX-License-Identifier: MIT
#pragma once
// The experiments' runs, each made once, and their figures.

#include "claims.hpp"
#include "machines.hpp"
#include "schedulers.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace kumar2017 {

/// A strategy at a place: as many runs as the experiment has draws, seeds or ways to group.
struct Runs {
  std::vector<Outcome> outcomes;
};

class Laboratory {
public:
  /// `folder` has the platforms' files. `interpolate`: groups may also have sizes that were not
  /// measured, see Setting.
  Laboratory(Claims const& claims, std::string folder, bool interpolate);

  /// The metric of a strategy, bound or kernel at a place. "EXPERIMENT/NAME" means one of another
  /// experiment. Throws Error(bad_input).
  [[nodiscard]] double figure(Place const& at, std::string const& name, std::string const& metric);

  /// A number for each draw.
  [[nodiscard]] std::vector<double>
  draws(Place const& at, std::string const& name, std::string const& metric);

  /// Speeds of all ways to group, in the order of `ways`.
  [[nodiscard]] std::vector<double> speeds(Place const& at, std::string const& name);
  [[nodiscard]] std::vector<Grouping> const& ways(std::string const& experiment);

  [[nodiscard]] Experiment const& experiment(std::string const& name) const;

private:
  struct Lab {
    Experiment experiment;
    Setting setting;
    std::vector<Grouping> ways;
    std::map<std::size_t, Case> cases;
    std::map<std::pair<std::size_t, int>, Case> drawn;                        // n, draw
    std::map<std::tuple<std::size_t, int, std::string>, hs::Duration> bounds; // n, number, name
    std::map<std::pair<std::size_t, std::string>, Runs> runs;
  };

  Lab& lab(std::string const& name);
  Case const& case_at(Lab& lab, std::size_t n);
  Case const& drawn(Lab& lab, std::size_t n, int draw);
  Case grouped(Lab& lab, std::size_t n, std::size_t way);
  Runs& runs(Lab& lab, std::size_t n, std::string const& name);
  Outcome once(Lab& lab, std::string const& name, Case const& instance, RunOptions options);
  Outcome
  hinted(Lab& lab, std::string const& name, Case const& instance, RunOptions const& options);
  hs::Duration
  bound(Lab& lab, std::size_t n, int number, std::string const& name); // number: draw or way
  std::vector<double> ratios(Lab& lab, std::size_t n, std::string const& name);
  double of_groups(Lab& lab, std::size_t n, std::string const& name, std::string const& metric);
  double of_outcome(Lab& lab, std::size_t n, Outcome const& outcome, std::string const& metric);
  /// A plan for the machine's unperturbed times: "ss" by search, "heft:static" by rank.
  hs::StaticPlan const&
  plan(Lab& lab, std::string const& kind, std::string const& rank, std::size_t n);
  double unperturbed_ratio(Lab& lab, std::size_t n, std::string const& name);

  Claims const& claims_;
  std::string const folder_;
  bool const interpolate_;
  std::map<std::string, std::unique_ptr<Lab>> labs_;
  std::map<std::tuple<std::string, std::string, std::size_t>, hs::StaticPlan> plans_;
};

[[nodiscard]] double median(std::vector<double> values);

} // namespace kumar2017
