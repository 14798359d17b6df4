// SPDX-License-Identifier: MIT
// Schedulers that are simulated beforehand.

#include <hetsched/lookahead/hetero_prio_lookahead.hpp>
#include <hetsched/lookahead/portfolio.hpp>

#include "../../../examples/common/by_name.hpp"
#include "../../../examples/common/chosen_cache.hpp"
#include "run.hpp"

#include <array>
#include <memory>

namespace benchmarks {

namespace {

using example::ByName;

using Candidates = hs::Portfolio<ByName<"heteroprio">,
                                 ByName<"heft">,
                                 ByName<"heftp">,
                                 ByName<"dmdar">,
                                 ByName<"dmdas">,
                                 ByName<"dualhp">,
                                 ByName<"locality">>;
constexpr std::array<std::string_view, Candidates::count> candidate_names{
    "heteroprio", "heft", "heftp", "dmdar", "dmdas", "dualhp", "locality"};

using Lookahead = hs::HeteroPrioLookahead<hs::EngineSimulator<example::ChosenCache>,
                                          ByName<"heteroprio">,
                                          ByName<"heftp">,
                                          ByName<"dualhp">>;

} // namespace

BestCandidate best_candidate(hs::TaskGraph const& graph, hs::Simulation const& simulation) {
  auto const ranking = Candidates::rank<example::ChosenCache>(graph, simulation);
  return {std::string(candidate_names[ranking.front().candidate]),
          Candidates::text(ranking, candidate_names)};
}

void add_lookahead(std::uint64_t effort) {
  static auto const plan = std::make_shared<hs::LookaheadPlan>();
  hs::policies::add_scheduler<Lookahead>(
      {"heteroprio:lookahead", "as the best simulation of the whole graph says"},
      Lookahead::Config{.effort = effort, .plan = plan});
}

} // namespace benchmarks
