// SPDX-License-Identifier: MIT
#include "static_choice.hpp"

#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/plans/static_plan_json.hpp>

#include "solve.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace benchmarks {

namespace {

/// For the search before the solver, and for that: it finds little that the search does not.
hs::SearchLimits half(hs::SearchLimits limits) {
  limits.seconds /= 2;
  limits.evaluations = (limits.evaluations + 1) / 2;
  return limits;
}

} // namespace

std::optional<StaticChoice> StaticChoice::of(std::string_view name) {
  auto name_read = example::StaticName::of(name);
  if (!name_read) {
    return std::nullopt;
  }
  StaticChoice choice;
  choice.name_ = std::move(*name_read);
#ifndef HETSCHED_HAVE_GECODE
  if (choice.solves()) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    "--scheduler",
                    "static:solver needs Gecode, and this program was built without");
  }
#endif
  return choice;
}

ChosenPlan StaticChoice::config_for(hs::TaskGraph const& graph,
                                    hs::Platform const& platform,
                                    Machine const& machine,
                                    std::string const& library,
                                    hs::Priorities rank,
                                    double slower_cores,
                                    hs::SearchLimits const& limits,
                                    Simulations const& simulations) const {
  ChosenPlan chosen{name_.config, {}};
  if (!computes()) {
    auto plan = hs::read_plan(name_.from);
    hs::check_plan_platform(plan, platform);
    chosen.config.plan = std::make_shared<hs::StaticPlan const>(std::move(plan));
    return chosen;
  }
  auto const slower = platform.with_slower_cores(slower_cores);
  auto const times = machine.times_of(slower, graph, library);
  auto plan = hs::heft_plan(graph, slower, times, rank);
  if (searches() || solves()) {
    plan = search(
        graph, slower, times, std::move(plan), solves() ? half(limits) : limits, simulations);
  }
#ifdef HETSCHED_HAVE_GECODE
  if (solves()) {
    auto solved = solve(graph, slower, times, plan, half(limits));
    plan = std::move(solved.plan);
    chosen.bound = solved.bound;
  }
#endif
  chosen.config.plan = std::make_shared<hs::StaticPlan const>(std::move(plan));
  return chosen;
}

hs::StaticPlan StaticChoice::search(hs::TaskGraph const& graph,
                                    hs::Platform const& platform,
                                    hs::ClassTimes const& times,
                                    hs::StaticPlan start,
                                    hs::SearchLimits const& limits,
                                    Simulations const& simulations) const {
  hs::PlannedTransfers transfers;
  if (searches() && simulations.transfers != hs::Simulation::Transfers::free) {
    transfers.kind = simulations.transfers;
    transfers.follow = [&](hs::StaticPlan const& plan) {
      auto config = name_.config;
      config.plan = std::make_shared<hs::StaticPlan const>(plan);
      return simulations.follow(platform, config);
    };
    start.makespan = transfers.follow(start);
  }
  for (auto& other : simulations.heuristics(platform)) {
    if (transfers.follow) {
      other.makespan = transfers.follow(other);
    }
    if (other.makespan < start.makespan) {
      start = std::move(other);
    }
  }
  return hs::search_plan(graph, platform, times, start, limits, transfers);
}

void PlanOptions::add_to(CLI::App& app) {
  app.add_option("--save-schedule", save, "file for who ran what in the one run, and when");
  app.add_option("--inflate-cpus",
                 inflate,
                 "per cent that cores take longer when a schedule is computed or saved")
      ->check(CLI::Range(0.0, 1000.0));
  app.add_option("--allocation",
                 allocation,
                 "file with a schedule, of which only the class of worker counts for each task");
  app.add_option("--trsm-on-cpus",
                 trsm_on_cores,
                 "cholesky: cores run each trsm so many tiles or more below the diagonal")
      ->check(CLI::Range(1, 200))
      ->excludes("--allocation");
  app.add_option("--search-seconds",
                 search_seconds,
                 "that static:search or static:solver may take (default 10, none with "
                 "--search-evaluations)")
      ->check(CLI::Range(0.001, 1e6));
  app.add_option(
         "--search-evaluations",
         search_evaluations,
         "schedules that static:search may try, or nodes static:solver: the same result always")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U));
}

hs::Allocation PlanOptions::allowed(hs::TaskGraph const& graph,
                                    hs::Platform const& platform,
                                    Machine const& machine) const {
  if (trsm_on_cores != 0 && machine.dag != "cholesky") {
    throw hs::Error(
        hs::ErrorCode::bad_input, "--trsm-on-cpus", "is for cholesky, not " + machine.dag);
  }
  if (trsm_on_cores != 0) {
    return hs::far_trsm_on_cores(graph, static_cast<std::size_t>(trsm_on_cores));
  }
  if (allocation.empty()) {
    return {};
  }
  auto const plan = hs::read_plan(allocation);
  hs::check_plan_platform(plan, platform);
  hs::check_plan(plan, graph, hs::workers_of(platform));
  return hs::allocation_of(plan);
}

} // namespace benchmarks
