// SPDX-License-Identifier: MIT
// In a file of its own: virtual time takes long to compile.

#include "candidates.hpp"

#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/portfolio.hpp>

#include <array>
#include <string_view>

namespace example {

template <class Scheduler>
hs::SimulatedSchedule Simulator::run(hs::TaskGraph const& graph,
                                     std::span<hs::ExpectedTimes const> expected,
                                     std::span<hs::WorkerInfo const> workers) {
  return hs::EngineSimulator<>::run<Scheduler>(graph, expected, workers);
}

using Run = hs::SimulatedSchedule(hs::TaskGraph const&,
                                  std::span<hs::ExpectedTimes const>,
                                  std::span<hs::WorkerInfo const>);
template Run Simulator::run<hs::policies::HeteroPrio>;
template Run Simulator::run<hs::policies::DynamicHeftp<>>;
template Run Simulator::run<hs::policies::DualHP>;

std::pair<std::string_view, std::string> best_candidate(hs::TaskGraph const& graph,
                                                        std::span<hs::ExpectedTimes const> expected,
                                                        std::span<hs::WorkerInfo const> workers) {
  using Candidates = hs::Portfolio<hs::policies::Dmdas,
                                   hs::policies::HeteroPrio,
                                   hs::policies::DynamicHeft,
                                   hs::policies::DynamicHeftp<>,
                                   hs::policies::DualHP>;
  constexpr std::array<std::string_view, Candidates::count> names{
      first_candidate, "heteroprio", "heft", "heftp", "dualhp"};
  auto const ranking = Candidates::rank(graph, expected, workers);
  if (ranking.empty()) {
    return {first_candidate, std::string()};
  }
  return {names[ranking.front().candidate], Candidates::text(ranking, names)};
}

} // namespace example
