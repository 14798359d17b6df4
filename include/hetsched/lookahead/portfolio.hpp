// SPDX-License-Identifier: MIT
#pragma once
// Which of several policies suits a known graph on a described machine: all are simulated.

#include <hetsched/detail/lookahead/expected_run.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/perf_models/no_model.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/runtime/runtime.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

/// The result of one candidate. As text: "heft 1.5 s".
struct PortfolioEntry {
  std::size_t candidate = 0; // its place among the candidates
  Duration makespan;         // until all data are home, if transfers cost time
  std::string failure; // why it could not run the graph: there is then no makespan; else empty
};

/// Candidates for a graph: schedulers, each with its defaults. Stateless. The simulations are those
/// of SimulatedRuntime, with the same limits. A call takes as long as one simulation of the graph
/// under each candidate. Thread-safe: calls share nothing.
template <class... Candidates>
class Portfolio {
  static_assert(sizeof...(Candidates) > 0, "hetsched: Portfolio<Candidates...> needs a candidate");

public:
  static constexpr std::size_t count = sizeof...(Candidates);

  using Ranking = std::vector<PortfolioEntry>;

  /// Runs the graph under each candidate, as `simulation` says, but without noise, explanations and
  /// traces. The shortest makespan comes first, and of equals the first candidate. Candidates that
  /// failed come last. Throws Error(bad_config) if `simulation` is invalid. Throws Error(bad_call),
  /// with the first candidate's reason, if all failed.
  template <class Cache = policies::Lru>
  [[nodiscard]] static Ranking rank(TaskGraph const& graph, Simulation simulation) {
    simulation.noise = 0;
    simulation.time_decisions = false;
    simulation.explain.clear();
    simulation.memory_trace.clear();
    simulation.on_task = {};
    detail::check_simulation(simulation);
    Ranking ranking;
    (ranking.push_back(entry<Candidates, Cache>(ranking.size(), graph, simulation)), ...);
    if (std::all_of(ranking.begin(), ranking.end(), [](auto const& entry) {
          return !entry.failure.empty();
        })) {
      throw Error(ErrorCode::bad_call, "portfolio", "no candidate ran: " + ranking[0].failure);
    }
    std::sort(ranking.begin(), ranking.end(), [](auto const& a, auto const& b) {
      return a.failure.empty() != b.failure.empty() ? a.failure.empty()
             : a.makespan != b.makespan             ? a.makespan < b.makespan
                                                    : a.candidate < b.candidate;
    });
    return ranking;
  }

  /// The same for the times and workers that a scheduler's `prepare` is told of, transfers free,
  /// cores served first. Empty if a task has no time on a class of worker that can run it.
  template <class Cache = policies::Lru>
  [[nodiscard]] static Ranking rank(TaskGraph const& graph,
                                    std::span<ExpectedTimes const> expected,
                                    std::span<WorkerInfo const> workers) {
    if (!detail::all_expected(expected)) {
      return {};
    }
    detail::ExpectedRun const run(graph, expected, workers);
    return rank<Cache>(run.graph(), run.simulation());
  }

  /// Calls `use(std::type_identity<Candidate>{})` with the best candidate and returns what that
  /// returns. The type returned is the same for all.
  template <class Use>
  static decltype(auto) with_best(Ranking const& ranking, Use&& use) {
    return with<Use, 0, Candidates...>(ranking.front().candidate, std::forward<Use>(use));
  }

  /// "heftp 1.2 s, heft 1.25 s": a name for each candidate, in their order.
  [[nodiscard]] static std::string text(Ranking const& ranking,
                                        std::array<std::string_view, count> const& names) {
    std::string line;
    for (auto const& entry : ranking) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, " %.6g s", entry.makespan.seconds());
      line += (line.empty() ? "" : ", ") + std::string(names[entry.candidate]) +
              (entry.failure.empty() ? seconds : " failed");
    }
    return line;
  }

private:
  template <class Scheduler, class Cache>
  static PortfolioEntry
  entry(std::size_t candidate, TaskGraph const& graph, Simulation const& simulation) {
    PortfolioEntry entry{candidate, {}, {}};
    try {
      SimulatedRuntime<Scheduler, Cache> rt(simulation);
      rt.run(graph);
      entry.makespan = rt.stats().elapsed;
    } catch (Error const& error) {
      entry.failure = error.what();
    }
    return entry;
  }

  template <class Use, std::size_t Number, class First, class... Others>
  static decltype(auto) with(std::size_t candidate, Use&& use) {
    if constexpr (sizeof...(Others) > 0) {
      if (candidate != Number) {
        return with<Use, Number + 1, Others...>(candidate, std::forward<Use>(use));
      }
    }
    return std::forward<Use>(use)(std::type_identity<First>{});
  }
};

/// The policies of a runtime on threads beside its scheduler.
template <class Cache = policies::Lru, class PerfModel = policies::NoModel>
struct OnThreads {};

/// Runs a program's graph on threads under the candidate that is the best in virtual time, and
/// answers the ranking. `program(rt)` registers data with any runtime and returns a function that
/// spawns the tasks. Both are called twice: once to capture the graph, and once for the run. The
/// names of the task types are those of the kernels of `simulation`. The call returns when all
/// tasks are complete, as `sync()` does. Throws what Portfolio::rank, capture and run throw.
///
///     hs::run_best<hs::policies::WorkStealing<>, hs::policies::Dmdas>(
///         {.platform = platform, .algorithm = "cholesky", .tile = 960},
///         [&](auto& rt) {
///           return [&rt, a = hs::linalg::TiledMatrix(rt, elements, n, n, n, 960)] {
///             hs::linalg::cholesky(rt, a);
///           };
///         },
///         {.cpus = 4},
///         hs::OnThreads<hs::policies::Lru, hs::policies::History>{});
template <class... Candidates,
          class Program,
          class Cache = policies::Lru,
          class PerfModel = policies::NoModel>
typename Portfolio<Candidates...>::Ranking run_best(Simulation const& simulation,
                                                    Program&& program,
                                                    Config const& config = {},
                                                    OnThreads<Cache, PerfModel> = {}) {
  using Those = Portfolio<Candidates...>;
  auto const ranking = [&] {
    Config one;
    one.cpus = 1; // this runtime runs no task
    one.devices = "none";
    Runtime<> scout(one);
    auto const graph = scout.capture(program(scout));
    return Those::rank(graph.tasks(), simulation);
  }();
  Those::with_best(ranking, [&]<class Scheduler>(std::type_identity<Scheduler>) {
    Runtime<Scheduler, Cache, PerfModel> rt(config);
    auto const spawns = program(rt);
    rt.run(rt.capture(spawns));
  });
  return ranking;
}

} // namespace hetsched
