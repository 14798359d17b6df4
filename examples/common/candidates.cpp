// SPDX-License-Identifier: MIT
// This is a file of its own because the engine of virtual time takes long to compile.

#include "candidates.hpp"

#include <hetsched/lookahead/hetero_prio_lookahead.hpp>
#include <hetsched/lookahead/portfolio.hpp>
#include <hetsched/policies/any_scheduler.hpp>

#include "by_name.hpp"
#include "static_name.hpp"

#ifdef HETSCHED_HAVE_JSON
#include <hetsched/plans/static_plan_json.hpp>
#endif

#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace example {

namespace {

namespace hs = hetsched;
using hs::policies::AnyScheduler;

using Lookahead = hs::HeteroPrioLookahead<hs::EngineSimulator<>,
                                          ByName<"heteroprio">,
                                          ByName<"heftp">,
                                          ByName<"dualhp">>;

using Candidates = hs::Portfolio<ByName<"dmdas">,
                                 ByName<"heteroprio">,
                                 ByName<"heft">,
                                 ByName<"heftp">,
                                 ByName<"dualhp">>;
constexpr std::array<std::string_view, Candidates::count> candidates{
    "dmdas", "heteroprio", "heft", "heftp", "dualhp"};

/// The candidate that ends a graph first if all tasks take the expected times and transfers are
/// free. As long as times are unknown it is the first candidate, which explores them.
class BestCandidate : public AnyScheduler {
public:
  explicit BestCandidate(std::span<hs::WorkerInfo const> workers)
      : AnyScheduler(workers, {std::string(candidates.front())}) {}

  /// For all candidates.
  template <class Ctx>
  [[nodiscard]] hs::SchedulerRules rules() const noexcept {
    return {hs::Threading::serialized,
            hs::PriorityScope::none,
            hs::hook_push | hs::hook_pop | hs::hook_push_activated | hs::hook_epilogue |
                hs::hook_prepare | hs::hook_peek | hs::hook_reconsider};
  }

  template <class Ctx>
  void
  prepare(Ctx const& ctx, hs::TaskGraph const& graph, std::span<hs::ExpectedTimes const> expected) {
    auto const ranking = Candidates::rank(graph, expected, ctx.workers());
    auto const best = std::string(candidates[ranking.empty() ? 0 : ranking.front().candidate]);
    AnyScheduler::operator=(AnyScheduler(ctx.workers(), {best}));
    std::fprintf(stderr,
                 "portfolio: %s\n",
                 ranking.empty() ? (best + ", as times are unknown").c_str()
                                 : Candidates::text(ranking, candidates).c_str());
    AnyScheduler::prepare(ctx, graph, expected);
  }
};

} // namespace

void add_simulating_schedulers() {
  hs::policies::add_scheduler<Lookahead>(
      {"heteroprio:lookahead", "as the best simulation of the whole graph says"},
      Lookahead::Config{.effort = 1'000'000});
  hs::policies::add_scheduler<BestCandidate>(
      {"portfolio", "the best in a simulation of the graph"});
}

void add_static_schedule(std::string_view name) {
  auto choice = StaticName::of(name).value();
  if (choice.from == "heft" || choice.from == "search" || choice.from == "solver") {
    throw hs::Error(
        hs::ErrorCode::bad_input,
        "--scheduler",
        "'" + std::string(name) +
            "' is computed by simulate, whose --save-schedule writes a file for static:FILE");
  }
#ifdef HETSCHED_HAVE_JSON
  choice.config.plan = std::make_shared<hs::StaticPlan const>(hs::read_plan(choice.from));
  hs::policies::add_scheduler<hs::policies::StaticSchedule>({name, "a schedule from a file"},
                                                            choice.config);
#else
  throw hs::Error(hs::ErrorCode::bad_input,
                  "--scheduler",
                  "static: needs nlohmann-json, and this program was built without");
#endif
}

} // namespace example
