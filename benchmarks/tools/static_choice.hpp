// SPDX-License-Identifier: MIT
#pragma once
// Static schedules on simulate's command line.

#include <hetsched/plans/allocation.hpp>
#include <hetsched/plans/annealing.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>

#include "../../examples/common/static_name.hpp"
#include "../common/machine.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

/// A schedule to follow, and what the solver has proved of it.
struct ChosenPlan {
  hs::policies::StaticSchedule::Config config;
  std::optional<hs::Duration> bound; // no schedule is shorter; nothing: not by the solver
};

/// "static:FILE", "static:heft", "static:search" or "static:solver", with options behind it:
/// example::StaticName.
class StaticChoice {
public:
  /// What the program can simulate on a platform when a schedule is computed.
  struct Simulations {
    hs::Simulation::Transfers transfers;
    std::function<std::vector<hs::StaticPlan>(hs::Platform const&)> heuristics; // where it begins
    /// How long the graph takes by a schedule, transfers as they are.
    std::function<hs::Duration(hs::Platform const&, hs::policies::StaticSchedule::Config const&)>
        follow;
  };

  /// Nothing if it is another scheduler's name.
  [[nodiscard]] static std::optional<StaticChoice> of(std::string_view name);

  [[nodiscard]] bool searches() const noexcept { return name_.from == "search"; }

  [[nodiscard]] bool solves() const noexcept { return name_.from == "solver"; }

  [[nodiscard]] bool computes() const noexcept {
    return name_.from == "heft" || searches() || solves();
  }

  /// For that graph there, whose cores take so much longer when it is computed. A search begins
  /// with the best of what the heuristics and list scheduling have. Only static:search knows of
  /// transfers.
  [[nodiscard]] ChosenPlan config_for(hs::TaskGraph const& graph,
                                      hs::Platform const& platform,
                                      Machine const& machine,
                                      std::string const& library,
                                      hs::Priorities rank,
                                      double slower_cores,
                                      hs::SearchLimits const& limits,
                                      Simulations const& simulations) const;

private:
  [[nodiscard]] hs::StaticPlan search(hs::TaskGraph const& graph,
                                      hs::Platform const& platform,
                                      hs::ClassTimes const& times,
                                      hs::StaticPlan start,
                                      hs::SearchLimits const& limits,
                                      Simulations const& simulations) const;

  example::StaticName name_;
};

/// Options about schedules that are saved, and about classes of worker that tasks are kept to.
struct PlanOptions {
  std::string save;
  std::string allocation;
  double inflate = 0; // per cent
  int trsm_on_cores = 0;
  std::optional<double> search_seconds;
  std::uint64_t search_evaluations = 0;

  void add_to(CLI::App& app);

  [[nodiscard]] hs::SearchLimits limits(std::uint64_t seed, hs::Duration enough) const {
    return {.seconds = search_seconds.value_or(search_evaluations != 0 ? 0 : 10),
            .evaluations = search_evaluations,
            .enough = enough,
            .seed = seed};
  }

  /// Classes that tasks are kept to; empty: all.
  [[nodiscard]] hs::Allocation
  allowed(hs::TaskGraph const& graph, hs::Platform const& platform, Machine const& machine) const;
};

} // namespace benchmarks
