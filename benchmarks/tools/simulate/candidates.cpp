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

template <class... Others>
using Lookahead = hs::HeteroPrioLookahead<hs::EngineSimulator<example::ChosenCache>,
                                          ByName<"heteroprio">,
                                          ByName<"heftp">,
                                          ByName<"dualhp">,
                                          Others...>;

template <class Scheduler>
void add_lookahead_as(typename Scheduler::Config const& config) {
  hs::policies::add_scheduler<Scheduler>(
      {"heteroprio:lookahead", "as the best simulation of the whole graph says"}, config);
}

} // namespace

BestCandidate best_candidate(hs::TaskGraph const& graph, hs::Simulation const& simulation) {
  auto const ranking = Candidates::rank<example::ChosenCache>(graph, simulation);
  return {std::string(candidate_names[ranking.front().candidate]),
          Candidates::text(ranking, candidate_names)};
}

std::shared_ptr<hs::LookaheadPlan const> add_lookahead(std::uint64_t effort,
                                                       hs::Simulation const& simulation) {
  static auto const plan = std::make_shared<hs::LookaheadPlan>();
  if (simulation.transfers == hs::Simulation::Transfers::free) {
    add_lookahead_as<Lookahead<>>({.effort = effort, .plan = plan});
  } else {
    add_lookahead_as<Lookahead<ByName<"heterogeneous">,
                               ByName<"heteroprio:affinity">,
                               ByName<"multiprio">,
                               ByName<"darts">>>(
        {.effort = effort,
         .plan = plan,
         .transfers = std::make_shared<hs::Simulation const>(simulation)});
  }
  return plan;
}

} // namespace benchmarks
